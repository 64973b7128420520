// The panel: details of the model and of the selected state.

function stateLink(model, q) {
  return make("button", { type: "button", class: "link state-link", click: () => notify("select", model.number, q) }, model.name(q));
}

function table(caption, heads, rows) {
  const cell = (content, i) => make("td", { class: heads[i].startsWith("#") ? "number" : null }, content);
  return make("table", {},
    make("caption", { class: "unseen" }, caption),
    make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col", class: head.startsWith("#") ? "number" : null }, head.replace("#", ""))))),
    make("tbody", {}, rows.map((row) => make("tr", {}, row.map(cell)))));
}

// A probability as a bar and a number.
function chance(share) {
  const bar = make("span", { class: "bar", "aria-hidden": "true" }, make("i"));
  bar.firstChild.style.width = `${100 * share}%`;
  return make("span", { class: "chance" }, bar, make("span", {}, percent(share)));
}

function section(title, ...content) {
  return make("section", {}, make("h3", {}, title), ...content);
}

function describeState(model, q) {
  const name = model.name(q);
  const parts = [
    make("h2", { id: "state-title", tabindex: "-1" }, `State ${name}`),
    make("p", { class: "note" }, whereabouts(model, q)),
    facts(model, q),
    partnersOf(model, q),
    onArrival(model, q),
    section("Typical history", wayHere(model, q)),
    section("What happens next", ...whatNext(model, q)),
    section("Transitions into this state", whoLeads(model, q)),
    section("What distinguishes this state", ...whyOwn(model, q)),
  ];
  const merges = model.undecided(q);
  if (merges.length) parts.push(section("Undecided merges", ...merges.map(undecided)));
  return parts.filter(Boolean);
}

function whereabouts(model, q) {
  if (q === 0) return "Every episode starts here, before the first observation.";
  if (!model.stationary && q === model.n - 1) return "All episodes end here.";
  const over = model.over.has(q) ? " The episode has ended." : "";
  const frequency = model.frequency(q);
  const step = model.stationary ? "" : `Step ${model.layerOf[q]} · `;
  return `${step}${step ? frequency : frequency[0].toUpperCase() + frequency.slice(1)}.${over}`;
}

// Why the values of states differ from the predicted return of the plan.
const ON_AUTOMATON = "Values on the automaton assume that all histories in a state have the same future. The predicted return of the plan is corrected for merged histories, so that it differs.";

function facts(model, q) {
  const list = make("dl", { class: "facts", title: model.hasPlan ? ON_AUTOMATON : null });
  const fact = (term, value, note, look) => list.append(make("div", {}, make("dt", {}, term), make("dd", { class: look }, value, note ? make("small", {}, note) : null)));
  if (model.over.has(q)) return list;
  if (model.hasPlan) {
    const value = shortNumber(model.states.value[q]);
    const lower = shortNumber(model.states.lower[q]);
    fact("value on the automaton, plan", value, lower === value ? "" : `lower estimate ${lower}`);
  }
  fact("value on the automaton, as logged", shortNumber(model.states.behaviour[q]));
  if (model.hasPlan && q > 0) {
    const planned = model.plannedIn(q);
    fact("planned action", planned === BEHAVE ? "as logged" : model.actions[planned], "", "word");
  }
  return list;
}

// What all arrivals share, then what varies among them and is therefore irrelevant in this state.
function onArrival(model, q) {
  const [common, varies] = [model.common(q), model.varies(q)];
  if (!common && !varies) return null;
  return section("Observed on arrival", make("p", { class: "common" }, common || "Nothing in common."),
    varies ? make("p", { class: "note varies" }, varies.split("; ").map((part) => make("span", {}, part))) : null);
}

function wayHere(model, q) {
  const symbols = model.history(q);
  if (!symbols.length) return make("p", { class: "note" }, q === 0 ? "This is the start." : "No logged transition leads here.");
  let at = 0;
  const steps = symbols.map((y) => {
    at = model.follow(at, y);
    return make("li", {}, make("span", {}, model.shown(y)), stateLink(model, at));
  });
  return make("ol", { class: "way" }, steps);
}

function whatNext(model, q) {
  const groups = model.met(q);
  if (!groups.length) return [make("p", { class: "note" }, "Nothing: the episode ends here.")];
  return groups.map((group) => {
    const special = group.action <= PAD;
    const planned = !special && group.action === model.plannedIn(q);
    const action = special ? (group.action === DUMMY ? "First observation" : "Ended") : model.actions[group.action];
    const worth = special || group.worth === undefined ? "" : `value ${shortNumber(group.worth)}`;
    return make("div", { class: planned ? "choice planned" : "choice" },
      make("h4", {}, make("span", { class: "act" }, action),
        planned ? make("span", { class: "badge" }, "planned") : null,
        special ? null : make("small", {}, `logged ${percent(group.share)}${worth ? `, ${worth}` : ""}`)),
      table(`Events after ${action}`, ["observation", "#reward", "#probability", "#count", "next"],
        group.events.map((event) => [model.seen(event.symbol), shortNumber(event.reward), chance(event.share), fullNumber(event.count), stateLink(model, event.target)])));
  });
}

function whoLeads(model, q) {
  const rows = model.led(q);
  if (!rows.length) return make("p", { class: "note" }, "None: every episode starts here.");
  const most = 12;
  const show = (some) => table("Transitions into this state", ["from", "by", "#count"], some.map((row) => [
    stateLink(model, row.source),
    make("span", {}, row.symbols.slice(0, 3).map((y) => model.shown(y)).join(" or ") + (row.symbols.length > 3 ? ` or ${row.symbols.length - 3} more` : "")),
    fullNumber(row.count)]));
  const box = make("div", {}, show(rows.slice(0, most)));
  if (rows.length > most) {
    box.append(make("button", { type: "button", class: "link", click: () => box.replaceChildren(show(rows)) }, `Show all ${fullNumber(rows.length)}`));
  }
  return box;
}

function whyOwn(model, q) {
  const reasons = model.why(q);
  if (!reasons.length) {
    const alone = !model.stationary && model.layers[model.layerOf[q]] === 1;
    return [make("p", { class: "note" }, alone ? "It is the only state of its step." : "No single distinguishing event is recorded.")];
  }
  const others = [...new Set(reasons.map((reason) => reason.other))];
  const because = (reason) => make("li", {},
    reason.first ? make("span", {}, "after ", make("q", {}, reason.first), ": ") : null, reason.text,
    reason.learned ? make("small", {}, " (found by the learner)") : null);
  const items = others.map((other) => make("li", {}, "Different from ", stateLink(model, other), ":",
    make("ul", {}, reasons.filter((reason) => reason.other === other).map(because))));
  return [make("ul", { class: "why" }, items)];
}

function undecided(merge) {
  return make("p", {}, make("q", {}, merge.candidate), " was merged into this state, although it may differ: ", make("span", {}, merge.text),
    `. If the difference is not due to chance, about ${fullNumber(merge.episodes)} episodes would show it.`);
}

function aboutModel(model) {
  const steps = model.stationary ? "that are the same at every step" : `in ${model.layers.length} layers`;
  const [arrows, ...rest] = model.legend;
  return [
    make("h2", {}, model.title),
    model.advice ? make("p", {}, model.advice) : "",
    model.advice ? make("p", { class: "note" }, ON_AUTOMATON) : "",
    make("p", {}, `${plural(model.n, "state")} ${steps}, learned from ${plural(model.episodes, "episode")} of up to ${plural(model.horizon, "decision")}.`),
    make("p", {}, "Each circle is a state: what must be remembered of a history to predict its future. Each arrow is a possible next step: ",
      make("b", {}, arrows.replace(/^arrows: /, "")), `; ${rest.join("; ")}. `, "Click a state for details, or press ? for help."),
    model.discount === null ? "" : make("p", {}, `Rewards are discounted by ${model.discount} per step.`),
    make("h3", {}, "Guarantees"),
    ...model.guarantees.map((sentence) => make("p", {}, sentence)),
  ];
}

// Tabs that follow the ARIA authoring practices: arrow keys move between them.
class Panel {
  constructor(models) {
    this.models = models;
    this.tabs = new Map();
    this.list = make("div", { role: "tablist", "aria-label": "Details" });
    this.list.addEventListener("keydown", (event) => this.press(event));
    byId("panel").append(this.list);
    this.add("state", "State").append(...models.flatMap(aboutModel));
  }

  add(name, title) {
    const tab = make("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `page-${name}`, click: () => this.open(name) }, title);
    const page = make("div", { role: "tabpanel", id: `page-${name}`, "aria-labelledby": `tab-${name}`, tabindex: "0" });
    this.list.append(tab);
    byId("panel").append(page);
    this.tabs.set(name, { tab, page });
    this.open("state");
    return page;
  }

  open(name) {
    for (const [each, { tab, page }] of this.tabs) {
      tab.setAttribute("aria-selected", String(each === name));
      tab.tabIndex = each === name ? 0 : -1;
      page.hidden = each !== name;
    }
    this.current = name;
  }

  press(event) {
    const names = [...this.tabs.keys()];
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    const name = names[(names.indexOf(this.current) + way + names.length) % names.length];
    this.open(name);
    this.tabs.get(name).tab.focus();
  }

  show(model, q, turn = true) {
    const { page } = this.tabs.get("state");
    page.replaceChildren(...(q < 0 ? this.models.flatMap(aboutModel) : describeState(model, q)));
    byId("panel").scrollTop = 0;
    if (turn) this.open("state");
  }
}
