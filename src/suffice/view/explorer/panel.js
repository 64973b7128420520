// What is to be known about a state, in words and tables.

function stateLink(model, q) {
  return make("button", { type: "button", class: "link state-link", click: () => tell("select", model.number, q) }, model.name(q));
}

function table(caption, heads, rows) {
  const cell = (content, i) => make("td", { class: heads[i].startsWith("#") ? "number" : null }, content);
  return make("table", {},
    make("caption", { class: "unseen" }, caption),
    make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col", class: head.startsWith("#") ? "number" : null }, head.replace("#", ""))))),
    make("tbody", {}, rows.map((row) => make("tr", {}, row.map(cell)))));
}

// A number with a bar, so that large and small are seen at once.
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
    section("For example, a way here", wayHere(model, q)),
    section("What comes next", ...whatNext(model, q)),
    section("Who leads here", whoLeads(model, q)),
    section("Why it is a state of its own", ...whyOwn(model, q)),
  ];
  const doubts = model.undecided(q);
  if (doubts.length) parts.push(section("Undecided, and merged for now", ...doubts.map(undecided)));
  return parts.filter(Boolean);
}

function whereabouts(model, q) {
  if (q === 0) return "Every episode begins here, before anything is seen.";
  if (!model.stationary && q === model.n - 1) return "All episodes end here.";
  const over = model.over.has(q) ? " The episode is over." : "";
  const frequency = model.frequency(q);
  const step = model.stationary ? "" : `Step ${model.layerOf[q]} · `;
  return `${step}${step ? frequency : frequency[0].toUpperCase() + frequency.slice(1)}.${over}`;
}

function facts(model, q) {
  const list = make("dl", { class: "facts" });
  const fact = (term, value, note, look) => list.append(make("div", {}, make("dt", {}, term), make("dd", { class: look }, value, note ? make("small", {}, note) : null)));
  if (model.over.has(q)) return list;
  if (model.hasPlan) {
    const value = inShort(model.states.value[q]);
    const lower = inShort(model.states.lower[q]);
    fact("still to come, by the plan", value, lower === value ? "" : `cautiously ${lower}`);
  }
  fact("still to come, as the log behaved", inShort(model.states.behaviour[q]));
  if (model.hasPlan && q > 0) {
    const planned = model.plannedIn(q);
    fact("the plan", planned === BEHAVE ? "as the log did" : model.actions[planned], "", "word");
  }
  return list;
}

// What all who come here have in common, then what varies and so does not matter here.
function onArrival(model, q) {
  const [common, varies] = [model.common(q), model.varies(q)];
  if (!common && !varies) return null;
  return section("Seen on arrival", make("p", { class: "common" }, common || "Nothing in common."),
    varies ? make("p", { class: "note varies" }, varies.split("; ").map((part) => make("span", {}, part))) : null);
}

function wayHere(model, q) {
  const symbols = model.history(q);
  if (!symbols.length) return make("p", { class: "note" }, q === 0 ? "The beginning." : "No transition that was taken leads here.");
  let at = 0;
  const steps = symbols.map((y) => {
    at = model.follow(at, y);
    return make("li", {}, make("span", {}, model.shown(y)), stateLink(model, at));
  });
  return make("ol", { class: "way" }, steps);
}

function whatNext(model, q) {
  const groups = model.met(q);
  if (!groups.length) return [make("p", { class: "note" }, "Nothing: this is the end.")];
  return groups.map((group) => {
    const special = group.action <= PAD;
    const planned = !special && group.action === model.plannedIn(q);
    const told = special ? (group.action === DUMMY ? "First observation" : "Over") : model.actions[group.action];
    const worth = special || group.worth === undefined ? "" : `then ${inShort(group.worth)} to come`;
    return make("div", { class: planned ? "choice planned" : "choice" },
      make("h4", {}, make("span", { class: "act" }, told),
        planned ? make("span", { class: "badge" }, "planned") : null,
        special ? null : make("small", {}, `${percent(group.share)} of the time${worth ? `, ${worth}` : ""}`)),
      table(`What follows ${told}`, ["seen", "#reward", "#probability", "#times", "next"],
        group.events.map((event) => [model.seen(event.symbol), inShort(event.reward), chance(event.share), inFull(event.count), stateLink(model, event.target)])));
  });
}

function whoLeads(model, q) {
  const rows = model.led(q);
  if (!rows.length) return make("p", { class: "note" }, "Nobody: every episode begins here.");
  const most = 12;
  const show = (some) => table("Who leads here", ["from", "by", "#times"], some.map((row) => [
    stateLink(model, row.source),
    make("span", {}, row.symbols.slice(0, 3).map((y) => model.shown(y)).join(" or ") + (row.symbols.length > 3 ? ` or ${row.symbols.length - 3} more` : "")),
    inFull(row.count)]));
  const box = make("div", {}, show(rows.slice(0, most)));
  if (rows.length > most) {
    box.append(make("button", { type: "button", class: "link", click: () => box.replaceChildren(show(rows)) }, `Show all ${inFull(rows.length)}`));
  }
  return box;
}

function whyOwn(model, q) {
  const reasons = model.why(q);
  if (!reasons.length) {
    const alone = !model.stationary && model.layers[model.layerOf[q]] === 1;
    return [make("p", { class: "note" }, alone ? "It is the only one of its step." : "No single difference is on record.")];
  }
  const others = [...new Set(reasons.map((reason) => reason.other))];
  const because = (reason) => make("li", {},
    reason.first ? make("span", {}, "after ", make("q", {}, reason.first), ": ") : null, reason.text,
    reason.learned ? make("small", {}, " (the learner's reason)") : null);
  const items = others.map((other) => make("li", {}, "Not ", stateLink(model, other), ", because",
    make("ul", {}, reasons.filter((reason) => reason.other === other).map(because))));
  return [make("ul", { class: "why" }, items)];
}

function undecided(doubt) {
  return make("p", {}, make("q", {}, doubt.candidate), " counts as this state, though it may differ: ", make("span", {}, doubt.text),
    `. If that is no chance, about ${inFull(doubt.episodes)} episodes would tell.`);
}

function aboutModel(model) {
  const steps = model.stationary ? "for all steps" : `in ${model.layers.length} layers`;
  const [legend, ...rest] = model.legend;
  const [shape] = legend.split(", only what tells them apart");
  return [
    make("h2", {}, model.title),
    make("p", {}, `${plural(model.n, "state")} ${steps}, learned from ${plural(model.episodes, "episode")} of up to ${plural(model.horizon, "decision")}.`),
    make("p", {}, "Each circle is a state: what one has to remember of what happened, to tell what comes next. Each arrow is something that may happen: ",
      make("b", {}, shape.replace(/^arrows: /, "")), `${[", only what tells them apart", ...rest].join("; ")}. `, "Click a state to read about it, or press ? for help."),
    model.discount === null ? "" : make("p", {}, `A reward is worth ${model.discount} of itself a step later.`),
    make("h3", {}, "What the learner says"),
    ...model.said.map((sentence) => make("p", {}, sentence)),
  ];
}

// Tabs as the ARIA practices have them: arrow keys move among them.
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
