"""Style sheet of reports for screens, light and dark, and for print."""

PAGE_CSS = """
:root{--ink:#22272e;--note:#5f6873;--page:#fff;--panel:#f5f7fa;--line:#dbe0e7;--log:#6b737e;--plan:#bf4f0b;
--good:#1d6b3f;--good-page:#e9f5ee;--wait:#8a5a00;--wait-page:#fdf4e1;--link:#1f5a96;color-scheme:light dark}
@media (prefers-color-scheme:dark){:root{--ink:#e3e7ec;--note:#9aa4b0;--page:#16191d;--panel:#1f242a;--line:#363d46;
--log:#a5adb8;--plan:#ff9a57;--good:#7fd6a4;--good-page:#17291f;--wait:#f0c060;--wait-page:#2c2413;--link:#8fbbe6}}
*{box-sizing:border-box}
body{margin:0 auto;padding:2.2rem 1.4rem 4rem;max-width:62rem;background:var(--page);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .3rem}
h2{font-size:1.3rem;margin:2.6rem 0 .6rem;padding-top:.9rem;border-top:1px solid var(--line)}
h3{font-size:1.02rem;margin:1.5rem 0 .4rem}
p{margin:.5rem 0;max-width:46rem}
ul{margin:.4rem 0;padding-left:1.2rem;max-width:46rem}
li{margin:.35rem 0}
a{color:var(--link)}
.note,caption{color:var(--note);font-size:.9rem}
nav{margin:1rem 0 0;font-size:.92rem}
nav a{margin-right:1.1rem;white-space:nowrap}
.verdict{margin:1.4rem 0;padding:1.1rem 1.3rem;border-radius:.6rem;background:var(--panel);
border-left:6px solid var(--log)}
.verdict.good{background:var(--good-page);border-color:var(--good)}
.verdict.even{background:var(--panel);border-color:var(--line)}
.verdict.wait{background:var(--wait-page);border-color:var(--wait)}
.verdict strong{display:block;font-size:1.35rem;line-height:1.3}
.good strong{color:var(--good)}
.wait strong{color:var(--wait)}
.verdict p{margin:.3rem 0 0}
.caution{margin:-.6rem 0 1.4rem;padding:.8rem 1.3rem;border-radius:.6rem;background:var(--wait-page);
border-left:6px solid var(--wait)}
.caution b{color:var(--wait)}
.caution p{margin:.2rem 0 0}
dl.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(11rem,1fr));gap:.8rem;margin:1.2rem 0}
dl.figures div{background:var(--panel);border-radius:.6rem;padding:.8rem 1rem}
dl.figures dt{color:var(--note);font-size:.88rem}
dl.figures dd{margin:0;font-size:1.5rem;font-weight:600;font-variant-numeric:tabular-nums}
dl.figures dd small{display:block;font-size:.85rem;font-weight:400;color:var(--note)}
.wide{overflow-x:auto;margin:.9rem 0}
table{border-collapse:collapse;width:100%;font-size:.92rem}
caption{text-align:left;padding:0 0 .4rem;position:sticky;left:0;max-width:min(100%,calc(100vw - 4rem))}
th{text-align:left;font-weight:600;border-bottom:2px solid var(--line);padding:.35rem .7rem .35rem 0;
vertical-align:bottom}
td{border-bottom:1px solid var(--line);padding:.4rem .7rem .4rem 0;vertical-align:top;overflow-wrap:break-word}
td small{font-size:.88em}
td .note{font-size:.88em}
.sentence{min-width:12rem;width:30%}
tr:not(:has(.sentence~.sentence)) .sentence{width:60%}
.whole{white-space:nowrap}
.sentence .whole{white-space:normal}
.number{text-align:right;padding-right:1.3rem;font-variant-numeric:tabular-nums;white-space:nowrap}
th.number{white-space:normal}
td b{color:var(--plan)}
figure{margin:1rem 0}
figcaption{color:var(--note);font-size:.9rem;margin-top:.4rem}
.paper{background:#fff;border:1px solid var(--line);border-radius:.6rem;padding:.6rem;overflow-x:auto}
.paper svg{display:block;width:100%;height:auto;margin:0 auto}
svg.intervals{display:block;width:100%;max-width:800px;height:auto;font-size:14px}
svg.intervals text{fill:var(--ink)}
svg.intervals .tick{fill:var(--note);font-size:12px;text-anchor:middle}
svg.intervals .figure{font-weight:600}
svg.intervals .grid{stroke:var(--line);stroke-width:1}
svg.intervals .reach{stroke-width:4;stroke-linecap:round;opacity:.45}
svg.intervals .log{stroke:var(--log);fill:var(--log)}
svg.intervals .plan{stroke:var(--plan);fill:var(--plan)}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.9em}
pre{background:var(--panel);border-radius:.5rem;padding:.8rem 1rem;white-space:pre-wrap;overflow-wrap:anywhere}
footer{margin-top:3rem;color:var(--note);font-size:.85rem}
@page{size:A4;margin:16mm}
@media print{:root{--ink:#000;--note:#444;--page:#fff;--panel:#f4f4f4;--line:#bbb;--log:#555;--plan:#a84300;
--good:#14532d;--good-page:#f1f7f3;--wait:#6b4500;--wait-page:#fbf6ea;--link:#000}
html{font-size:12px}
body{max-width:none;padding:0;font-size:1rem}
dl.figures{grid-template-columns:repeat(4,1fr)}
nav{display:none}
h2,h3,caption{break-after:avoid}
tr,figure,.verdict,.caution,dl.figures div{break-inside:avoid}
thead{display:table-header-group}
.wide,.paper{overflow:visible}
.paper svg{min-width:0!important}
.verdict,.caution,dl.figures div,pre{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
"""
