// Start of the page: build maps, panel, search and replay from the data, and handle global keys.

const began = performance.now();
const data = JSON.parse(byId("data").textContent);
const models = data.models.map((each, number) => new Model(each, number));
readColours();
readComparison(data.comparison);

const stages = models.map((model) => new Stage(model));
byId("maps").classList.toggle("two", models.length > 1);
byId("maps").append(...stages.map((stage) => stage.root));
stages.forEach((stage) => {
  stage.resize();
  stage.change({ alone: alone(stage.model) });
});
byId("summary").textContent = models.map((model) => `${plural(model.n, "state")} · ${plural(model.horizon, "decision")} · ${plural(model.episodes, "episode")}`).join("   /   ");

const panel = new Panel(models);
const search = new Search(models, panel);
if (comparison) fillComparison(panel.add("compare", "Compare"));
const replay = new Replay(models, data.replays);

listen("select", (m, q, { show = true } = {}) => {
  if (q >= models[m].n) return;
  stages.forEach((stage, number) => {
    const state = number === m || q < 0 ? q : partnerOf(m, q);
    stage.change({ selected: state, here: -1, trail: [] });
    if (state >= 0 && (show || number !== m)) stage.show(state);
  });
  panel.show(models[m], q);
  if (q >= 0) announce(summary(models[m], q).map((part) => part.textContent).join(", "));
  history.replaceState(null, "", q < 0 ? "#" : `#${m ? "other:" : ""}${models[m].name(q)}`);
});

listen("here", (states, trails) => {
  stages.forEach((stage, m) => {
    stage.change({ here: states[m], selected: states[m], trail: trails[m] });
    if (states[m] >= 0) stage.show(states[m]);
  });
  if (states[0] >= 0) panel.show(models[0], states[0], false);
});

listen("found", (states) => stages.forEach((stage, m) => stage.change({ found: states[m] })));
listen("map", (m) => stages[m].root.focus());
listen("read", () => byId("state-title")?.focus());

// ---- colour scheme

const dark = matchMedia("(prefers-color-scheme: dark)");

function recolour() {
  readColours();
  stages.forEach((stage) => stage.request());
}

byId("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const now = root.dataset.theme ?? (dark.matches ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
  recolour();
});
dark.addEventListener("change", recolour);

// ---- help and keys

byId("ask").addEventListener("click", () => byId("help").showModal());
byId("help").addEventListener("click", (event) => { if (event.target === byId("help")) byId("help").close(); });

document.addEventListener("keydown", (event) => {
  const writes = event.target.matches("input:not([type=range]), select, textarea");
  if (writes || event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  const does = {
    "/": () => byId("search").focus(), "?": () => byId("help").showModal(), m: () => stages[0].root.focus(),
    ",": () => replay.go(replay.step - 1), ".": () => replay.go(replay.step + 1), p: () => replay.play(!replay.timer),
  }[event.key];
  if (!does) return;
  event.preventDefault();
  does();
});

const wanted = /^#(other:)?([\d.]+)$/.exec(location.hash);
const [which, found] = wanted ? [wanted[1] ? 1 : 0, models[wanted[1] ? 1 : 0]?.named(wanted[2]) ?? -1] : [0, -1];
if (found >= 0) notify("select", which, found);

// For tests: milliseconds until the first drawing, and the objects of the page.
document.documentElement.dataset.ready = String(Math.round(performance.now() - began));
window.explorer = { models, stages, replay, search };
