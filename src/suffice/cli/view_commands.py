"""The commands that show a model. Heavy imports wait until a command needs them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from suffice.cli.app import app
from suffice.cli.evaluating_logs import judge_by
from suffice.cli.options import DEFAULT_LOG, Flag, LogOptions, refuse_output, words
from suffice.cli.saying import print_json
from suffice.cli.waiting import waiting
from suffice.errors import SufficeError

OptionalOutput = Annotated[str | None, Parameter(name=["--output", "-o"])]


@app.command
def report(
    model: str,
    /,
    *,
    output: OptionalOutput = None,
    log: str | None = None,
    title: str | None = None,
    json: Flag = False,
    options: LogOptions = DEFAULT_LOG,
) -> None:
    """Write a page about a model for a colleague: what to do, what it would bring, and how far to trust it.

    One HTML file that needs nothing from elsewhere: send it, print it, keep it. It shows the data, what is promised,
    the automaton, the plan beside what the log did, its value with intervals, where more data would help, and what to
    be careful about. With a log of episodes that were not learned from it also has the figures of suffice evaluate.

    Examples:

        suffice report maze.model                        # writes maze.html
        suffice report maze.model -o for-you.html --title "What the maze teaches"
        suffice report held.model --log log.parquet      # also by held-out episodes
        suffice report maze.model --json                 # for machines, no page

    Parameters
    ----------
    model
        Model file.
    output
        HTML file to write. Default: the model's name with .html.
    log
        Log to evaluate the plan by; the one that was learned from if the model was learned with --hold-out.
    title
        Heading of the page. Default: the model's name.
    json
        Print the content as JSON and nothing else; no page is written.
    """
    from msgspec import to_builtins

    from suffice.files import replacing
    from suffice.model import Model
    from suffice.view.report import content_of, report_of

    page = Path(output) if output is not None else Path(model).with_suffix(".html")
    if not json:
        refuse_output(str(page) if output is None else output, model, *([log] if log else []))
    if log is None and words(options):
        raise SufficeError(f"{words(options)} is about a log, and none is named; leave it out, or say --log LOG")
    loaded = Model.load(model)
    heading = Path(model).stem if title is None else title
    judged = None if log is None else judge_by(loaded, model, log, options).judged
    if json:
        print_json(to_builtins(content_of(loaded, judged, heading)))
        return
    with waiting("Drawing"):
        text = report_of(loaded, evaluation=judged, title=heading)
    with replacing(page) as temporary:
        temporary.write_text(text, encoding="utf-8")
    print(f"Wrote {page} ({page.stat().st_size / 1000:,.0f} kB). Next: open it in a browser, or print it")
