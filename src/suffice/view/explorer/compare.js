// Comparison of two models: which states the same histories lead to, and which states have no counterpart.

let comparison = null; // data made by comparison.py
let partners = []; // for each model a map from its states to the states of the other

function readComparison(data) {
  comparison = data;
  if (!comparison) return;
  partners = [new Map(), new Map()];
  comparison.first.forEach((p, i) => {
    const q = comparison.second[i];
    partners[0].set(p, [...(partners[0].get(p) ?? []), q]);
    partners[1].set(q, [...(partners[1].get(q) ?? []), p]);
  });
}

// The first counterpart of a state, or -1.
const partnerOf = (m, q) => partners[m]?.get(q)?.[0] ?? -1;

const alone = (model) => (comparison ? Array.from({ length: model.n }, (_, q) => q).filter((q) => !partners[model.number].has(q)) : []);

// Describe the counterparts of a state for the panel.
function partnersOf(model, q) {
  if (!comparison) return null;
  const other = models[1 - model.number];
  const found = partners[model.number].get(q) ?? [];
  if (!found.length) return make("p", { class: "alone" }, `No state of ${other.title} corresponds to this one.`);
  const links = found.slice(0, 8).flatMap((r, i) => [i ? ", " : "", stateLink(other, r)]);
  return make("p", {}, `In ${other.title}: `, ...links, found.length > 8 ? ` and ${found.length - 8} more` : "", found.length > 1 ? ". Histories of this state lead to several states there." : "");
}

function fillComparison(page) {
  const verdict = comparison.equal
    ? [make("strong", {}, "Equal up to renaming of states.")]
    : [make("strong", {}, "Different."), " Shortest history that distinguishes them: ", make("q", {}, comparison.history), ". ", make("span", {}, comparison.reason), "."];
  page.append(make("h2", {}, "Comparison"), make("p", {}, verdict));
  page.append(make("p", { class: "note" }, "States correspond to each other if the same history leads to both. Frequencies are not compared."));
  for (const model of models) {
    const lone = alone(model);
    const several = [...partners[model.number]].filter(([, found]) => found.length > 1).map(([q]) => q);
    page.append(section(model.title,
      make("p", {}, `${plural(model.n, "state")}, ${fullNumber(lone.length)} without a counterpart, ${fullNumber(several.length)} with several.`),
      lone.length ? make("p", {}, "Without a counterpart (dashed on the map): ", links(model, lone)) : "",
      several.length ? make("p", {}, "With several counterparts: ", links(model, several)) : ""));
  }
}

function links(model, states) {
  const most = 60;
  const shown = states.slice(0, most).flatMap((q, i) => [i ? ", " : "", stateLink(model, q)]);
  return make("span", {}, shown, states.length > most ? ` and ${fullNumber(states.length - most)} more` : "");
}
