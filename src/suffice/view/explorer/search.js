// Search for states by name, text or conditions, and the list of all states.

const SHOWN = 100; // states added to the list at a time

const MEASURES = {
  value: (model, q) => model.values[q],
  visits: (model, q) => model.states.visits[q],
  step: (model, q) => (model.stationary ? model.history(q).length : model.layerOf[q]),
};
const COMPARED = {
  "<": (one, other) => one < other, "<=": (one, other) => one <= other, ">": (one, other) => one > other,
  ">=": (one, other) => one >= other, "=": (one, other) => one === other,
};

// All texts about a state in lower case, computed on first use.
function wordsOf(model, q) {
  model.words ??= new Array(model.n);
  model.words[q] ??= [
    model.common(q), model.varies(q),
    ...model.history(q).map((y) => model.shown(y)),
    ...model.met(q).flatMap((group) => group.events.map((event) => `${model.shown(event.symbol)} reward ${event.reward}`)),
    ...model.leaving(q).flatMap((i) => model.arrows.lines[i].map((number) => model.texts[number])), // labels on the map
    model.over.has(q) ? "ended" : "",
  ].join(" ; ").toLowerCase();
  return model.words[q];
}

// Translate a query into tests: conditions such as "value>3" and "plan=E", a name, or text.
function asked(model, query) {
  const parts = query.trim().split(/\s+/).filter(Boolean);
  const plain = [];
  const tests = [];
  for (const part of parts) {
    const [, measure, how, number] = /^(value|visits|step)(<=|>=|<|>|=)(-?[\d.]+)$/.exec(part.replace("−", "-")) ?? [];
    const [, plan] = /^plan=(.+)$/.exec(part) ?? [];
    if (measure) tests.push((q) => COMPARED[how](MEASURES[measure](model, q), Number(number)));
    else if (plan) tests.push((q) => model.actions[model.plannedIn(q)] === plan);
    else plain.push(part);
  }
  const text = plain.join(" ").toLowerCase();
  const state = model.named(text.replace(/^state /, ""));
  if (state >= 0) tests.push((q) => q === state);
  else if (text) tests.push((q) => wordsOf(model, q).includes(text));
  return tests;
}

// Rank states: text common to all arrivals first, then text that varies, then text elsewhere.
function ranked(model, query, states) {
  const text = query.trim().toLowerCase();
  if (!text) return states;
  const rank = (q) => (model.common(q).toLowerCase().includes(text) ? 0 : model.varies(q).toLowerCase().includes(text) ? 1 : 2);
  return states.map((q) => [rank(q), q]).sort(([one, q], [other, r]) => one - other || q - r).map(([, q]) => q);
}

class Search {
  constructor(models, panel) {
    [this.models, this.panel] = [models, panel];
    this.input = byId("search");
    this.page = panel.add("all", "All states");
    this.found = make("p", { id: "found", class: "note", role: "status" });
    this.list = make("ul", { class: "states", "aria-label": "States" });
    this.page.append(this.found, this.list);
    this.page.addEventListener("keydown", (event) => this.press(event));
    this.input.addEventListener("input", () => this.look());
    this.input.addEventListener("keydown", (event) => this.typed(event));
    this.look(false);
  }

  look(turn = true) {
    const query = this.input.value;
    this.matches = this.models.flatMap((model) => {
      const tests = asked(model, query);
      const states = [];
      for (let q = 0; q < model.n; q++) if (tests.every((test) => test(q))) states.push(q);
      return ranked(model, query, states).map((q) => ({ model, q }));
    });
    const n = this.matches.length;
    this.found.textContent = query.trim() ? (n ? `${plural(n, "state")} found.` : "No state found. Enter a name, an action or an observation.") : `${plural(n, "state")}.`;
    this.list.replaceChildren();
    this.more();
    if (turn) this.panel.open("all");
    const all = !query.trim();
    notify("found", this.models.map((model) => (all ? [] : this.matches.filter((match) => match.model === model).map((match) => match.q))));
  }

  more() {
    this.list.querySelector(".more")?.remove();
    const shown = this.list.children.length;
    this.list.append(...this.matches.slice(shown, shown + SHOWN).map((match) => this.item(match)));
    const left = this.matches.length - shown - SHOWN;
    if (left > 0) this.list.append(make("li", { class: "more" }, make("button", { type: "button", class: "link", click: () => this.more() }, `Show more (${fullNumber(left)} left)`)));
  }

  item({ model, q }) {
    const planned = model.plannedIn(q);
    const which = this.models.length > 1 ? ` of ${model.title}` : "";
    return make("li", {}, make("button", { type: "button", class: "row", click: () => notify("select", model.number, q) },
      make("b", {}, `${model.name(q)}${which}`),
      make("span", { class: "way-in", title: [model.common(q), model.varies(q)].filter(Boolean).join("; ") }, model.standsFor(q)),
      make("span", { class: "plan" }, planned === BEHAVE ? "" : model.actions[planned]),
      make("span", { class: "number" }, model.over.has(q) ? "ended" : shortNumber(model.values[q]))));
  }

  typed(event) {
    if (event.key === "Enter" && this.matches.length) {
      const { model, q } = this.matches[0];
      notify("select", model.number, q);
      notify("map", model.number);
    } else if (event.key === "ArrowDown") this.list.querySelector("button")?.focus();
    else if (event.key === "Escape") {
      this.input.value = "";
      this.look(false);
    } else return;
    event.preventDefault();
  }

  press(event) {
    const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const buttons = [...this.list.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    if (!way || at < 0) return;
    event.preventDefault();
    if (at + way < 0) this.input.focus();
    else buttons[Math.min(at + way, buttons.length - 1)].focus();
  }
}
