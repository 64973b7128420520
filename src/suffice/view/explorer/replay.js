// Replay of episodes: current state, events so far, values, and continuation by hand.

const OFFERED = 6; // next events to choose from
const PACE = 1000; // milliseconds per step
const CUT = -2; // replaces a state: the logged episode ends here
const LOST = -1; // replaces a state: no logged history continues like this

const KINDS = {
  planned: "Simulated: follows the plan", behaved: "Simulated: logged behaviour",
  logged: "From the log", own: "Your own episode",
};

const DRAWN = "An invented episode, drawn with the model's frequencies as probabilities";
const SOURCES = {
  planned: `${DRAWN}; actions are those of the plan.`, behaved: `${DRAWN}; actions are as frequent as in the log.`,
  logged: "An episode of the log, with its number there.", own: "An episode that you continued by hand.",
};

class Replay {
  constructor(models, replays) {
    [this.models, this.replays, this.step] = [models, replays, 0];
    this.build();
    if (replays.length) this.choose(0, false);
  }

  build() {
    const button = (text, label, does, id) => make("button", { type: "button", id, title: label, "aria-label": label, click: does }, make("span", { "aria-hidden": "true" }, text));
    this.select = make("select", { id: "episode", "aria-label": "Episode", change: () => this.choose(Number(this.select.value)) });
    this.slider = make("input", { type: "range", id: "step", min: "0", step: "1", "aria-label": "Step", input: () => this.go(Number(this.slider.value)) });
    this.player = button("▶", "Play", () => this.play(!this.timer), "play");
    this.source = make("p", { class: "note source" });
    this.now = make("p", { id: "now" });
    this.past = make("ol", { class: "past", "aria-label": "The episode so far" });
    this.next = make("div", { class: "next" });
    this.chart = make("div", { class: "chart" });
    byId("replay").append(
      make("div", { class: "controls" },
        make("h2", { class: "unseen" }, "Replay"), this.select,
        make("div", { class: "buttons" },
          button("|◀", "First step", () => this.go(0), "first"), button("◀", "Previous step", () => this.go(this.step - 1), "back"),
          this.player, button("▶|", "Next step", () => this.go(this.step + 1), "on")),
        this.slider, this.source, this.chart),
      make("div", { class: "story" }, this.now, this.past), this.next);
    this.list();
  }

  list() {
    const groups = new Map();
    let simulated = 0;
    this.replays.forEach((replay, i) => {
      const decisions = Math.max(0, replay.action.length - 1);
      const sum = replay.reward.reduce((total, reward) => total + reward, 0);
      const name = { logged: `Logged ${fullNumber(replay.number)}`, own: "Own" }[replay.kind] ?? `Simulated ${++simulated}`;
      const option = make("option", { value: i }, `${name}: return ${shortNumber(sum)}, ${plural(decisions, "decision")}`);
      groups.set(replay.kind, [...(groups.get(replay.kind) ?? []), option]);
    });
    this.select.replaceChildren(...[...groups].map(([kind, options]) => make("optgroup", { label: KINDS[kind] }, options)));
  }

  choose(i, begin = true) {
    this.replay = this.replays[i];
    this.select.value = String(i);
    this.source.textContent = `${KINDS[this.replay.kind]}.`;
    this.source.title = SOURCES[this.replay.kind];
    this.select.title = SOURCES[this.replay.kind];
    this.paths = this.models.map((model, m) => pathOf(model, this.replay.symbols[m], this.replay.observation));
    this.slider.max = String(this.replay.action.length);
    if (begin) this.go(0);
    else this.showStep();
  }

  go(step) {
    const last = this.replay.action.length;
    this.step = Math.max(0, Math.min(step, last));
    if (this.step === last) this.play(false);
    this.showStep();
    announce(this.now.textContent);
    notify("here", this.paths.map((path) => path[this.step]), this.models.map((model, m) => trailOf(model, this.paths[m], this.step)));
  }

  play(on) {
    clearInterval(this.timer);
    this.timer = 0;
    if (on) {
      if (this.step === this.replay.action.length) this.go(0);
      this.timer = setInterval(() => this.go(this.step + 1), PACE);
    }
    this.player.firstChild.textContent = on ? "❚❚" : "▶";
    this.player.setAttribute("aria-label", on ? "Pause" : "Play");
    this.player.title = on ? "Pause" : "Play";
  }

  // ---- texts

  showStep() {
    const { action, observation, reward } = this.replay;
    const { step } = this;
    const collected = reward.slice(0, step).reduce((total, value) => total + value, 0);
    const seen = step && (observation[step - 1] ?? "the end");
    const event = step === 0 ? "Before the first observation." : action[step - 1] === null ? `First observation: ${seen}.` : `${action[step - 1]} → ${seen}, reward ${shortNumber(reward[step - 1])}.`;
    const count = step === 0 ? "Start" : `Decision ${step - 1} of ${action.length - 1}`;
    this.now.replaceChildren(
      make("span", { class: "count" }, count), make("strong", {}, event), " ",
      ...this.models.map((model, m) => make("span", { title: model.hasPlan ? ON_AUTOMATON : null }, `${whereNow(model, this.paths[m][step], step)} `)),
      step ? make("span", {}, `Return so far: ${shortNumber(collected)}.`) : "");
    this.slider.value = String(step);
    this.slider.setAttribute("aria-valuetext", `${count}: ${event}`);
    byId("back").disabled = byId("first").disabled = step === 0;
    byId("on").disabled = step === action.length;
    this.showPast();
    this.showNext();
    this.chart.replaceChildren(chartOf(this.models, this.paths, step));
  }

  // List the steps so far; a click goes back to one.
  showPast() {
    const { action, observation, reward } = this.replay;
    const events = observation.slice(0, this.step).map((seen, i) => (action[i] === null ? seen : `${action[i]} → ${seen ?? "the end"} : ${shortNumber(reward[i])}`));
    this.past.replaceChildren(...events.map((event, i) => make("li", {},
      make("button", { type: "button", class: "link", "aria-current": i + 1 === this.step ? "step" : null, click: () => this.go(i + 1) }, event))));
    this.past.scrollTop = this.past.scrollHeight;
  }

  // Offer the most likely next events.
  showNext() {
    const [model, q] = [this.models[0], this.paths[0][this.step]];
    const { planned } = q >= 0 ? model.at(this.step, q) : {};
    const events = q >= 0 && !model.over.has(q) ? model.likely(q, planned) : [];
    if (!events.length) {
      this.next.replaceChildren(make("p", { class: "note" }, q === LOST ? "The log does not show what happens next." : "The episode has ended."));
      return;
    }
    const left = events.length - OFFERED;
    const chips = events.slice(0, OFFERED).map((event) => {
      const paid = model.action(event.symbol) === DUMMY ? "" : ` : ${shortNumber(event.reward)}`;
      return make("button", { type: "button", class: event.chance ? "chip" : "chip rare", click: () => this.own(event) },
        `${model.shown(event.symbol)}${paid}`, make("small", {}, event.chance ? percent(event.chance) : "not planned"));
    });
    const how = q === 0 ? "" : model.hasPlan && planned !== BEHAVE ? " under the plan" : " under the logged behaviour";
    this.next.replaceChildren(make("p", { class: "note", id: "likely" }, `Likely next events${how}. Choose one to continue:`),
      make("div", { class: "chips", role: "group", "aria-labelledby": "likely" }, chips),
      left > 0 ? make("p", { class: "note" }, `${fullNumber(left)} less likely ${left === 1 ? "event" : "events"}: see the panel.`) : "");
  }

  // Continue the episode from the current step with the chosen event.
  own(event) {
    const [model, { replay, step }] = [this.models[0], this];
    const code = model.action(event.symbol);
    const cut = (column, last) => [...column.slice(0, step), last];
    const symbols = this.models.map((_, m) => cut(replay.symbols[m], m === 0 ? event.symbol : comparison.symbols[event.symbol]));
    const observation = model.observations[model.symbols.observation[event.symbol]];
    const own = {
      kind: "own", number: 0, symbols, action: cut(replay.action, code === DUMMY ? null : model.actions[code]),
      observation: cut(replay.observation, observation), reward: cut(replay.reward, event.reward),
    };
    const place = this.replays.findIndex(({ kind }) => kind === "own");
    if (place >= 0) this.replays[place] = own;
    else this.replays.push(own);
    this.list();
    this.play(false);
    this.choose(this.replays.indexOf(own), false);
    this.go(step + 1);
    this.next.querySelector("button")?.focus({ preventScroll: true });
  }
}

function pathOf(model, symbols, observations) {
  const path = [0];
  symbols.forEach((y, i) => {
    const next = path[i] < 0 ? path[i] : model.follow(path[i], y);
    path.push(next < 0 && model.stationary && path[i] >= 0 && observations[i] === null ? CUT : next);
  });
  return path;
}

function trailOf(model, path, step) {
  const arrows = [];
  for (let i = 0; i < step; i++) if (path[i] >= 0 && path[i + 1] >= 0) arrows.push(model.arrowBetween(path[i], path[i + 1]));
  return arrows.filter((i) => i >= 0);
}

function whereNow(model, q, step) {
  const of = comparison ? ` of ${model.title}` : "";
  if (q === CUT) return "Logged episodes end here.";
  if (q === LOST) return `This history was never logged: it leaves the automaton${of}.`;
  if (model.over.has(q)) return `State ${model.name(q)}${of}: the episode has ended.`;
  const { value, behaviour } = model.at(step, q);
  const plan = value === undefined ? "" : `${shortNumber(value)} under the plan, `;
  return `State ${model.name(q)}${of}. Value on the automaton: ${plan}${shortNumber(behaviour)} as logged.`;
}

// Chart of the value on the automaton at each step; later steps are faded.
function chartOf(models, paths, step) {
  const [width, height, left, top] = [300, 124, 42, 12];
  const expected = (m, which) => paths[m].map((q, t) => (q === CUT ? 0 : q < 0 ? null : models[m].at(t, q)[which] ?? null));
  const lines = [{ name: "plan", class: "by-plan", values: expected(0, "value") }, { name: "as logged", class: "by-log", values: expected(0, "behaviour") }];
  if (models.length > 1) {
    lines[0].name = models[0].title;
    lines[1] = { name: models[1].title, class: "by-log", values: expected(1, "value") };
  }
  const known = lines.flatMap(({ values }) => values.filter((value) => value !== null));
  let [low, high] = [Math.min(0, ...known), Math.max(0, ...known)];
  if (high - low < 1e-9) [low, high] = [low - 1, high + 1];
  const last = Math.max(1, paths[0].length - 1);
  const x = (t) => left + (t / last) * (width - left - 8);
  const y = (value) => top + ((high - value) / (high - low)) * (height - top - 22);
  const path = (values, from, to) => {
    let pen = "M";
    return values.slice(from, to + 1).map((value, i) => {
      if (value === null) { pen = "M"; return ""; }
      const point = `${pen}${x(from + i).toFixed(1)} ${y(value).toFixed(1)}`;
      pen = "L";
      return point;
    }).join("");
  };
  const parts = [make("svg:line", { class: "axis", x1: left, x2: width - 8, y1: y(0), y2: y(0) })];
  for (const value of new Set([low, 0, high])) parts.push(make("svg:text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, minus(String(Number(value.toPrecision(3))))));
  parts.push(make("svg:line", { class: "now", x1: x(step), x2: x(step), y1: top - 4, y2: height - 18 }));
  for (const { values, class: look } of lines) {
    parts.push(make("svg:path", { class: `${look} later`, d: path(values, step, last) }), make("svg:path", { class: look, d: path(values, 0, step) }));
    if (values[step] !== null && values[step] !== undefined) parts.push(make("svg:circle", { class: look, r: 4, cx: x(step), cy: y(values[step]) }));
  }
  parts.push(make("svg:text", { x: (left + width) / 2, y: height - 3, "text-anchor": "middle" }, "step"));
  const legend = lines.filter(({ values }) => values.some((value) => value !== null)).map(({ name, class: look }) => make("span", { class: look }, name));
  return make("figure", {}, make("figcaption", {}, models.length > 1 ? "Value on the automaton, plan of " : "Value ", legend),
    make("svg:svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Value on the automaton at each step; the text beside the chart has the numbers." }, parts));
}
