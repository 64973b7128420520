// A model: columns of data made by data.py, and queries on them.

const BEHAVE = -1; // replaces an action: keep the logged behaviour
const DUMMY = 0;
const PAD = 1;

class Model {
  constructor(data, number) {
    Object.assign(this, data);
    this.number = number;
    this.n = this.states.x.length;
    this.over = new Set(this.states.over);
    this.offsets = [0];
    for (const size of this.layers) this.offsets.push(this.offsets.at(-1) + size);
    this.layerOf = new Int32Array(this.n);
    this.layers.forEach((_, t) => this.layerOf.fill(t, this.offsets[t], this.offsets[t + 1]));
    const ends = this.arrows.source.length;
    this.leaving = grouped(this.arrows.source, this.n);
    this.arriving = grouped(this.arrows.target, this.n);
    this.most = Math.max(1, ...chunkedMaxima(this.arrows.count, ends));
    this.values = this.states.value ?? this.states.behaviour;
    this.range = this.valueRange();
    this.places = this.at_steps && new Map(this.at_steps.step.map((t, i) => [t * this.n + this.at_steps.state[i], i]));
    this.doubtful = new Map();
    this.doubts.state.forEach((q, i) => this.doubtful.set(q, [...(this.doubtful.get(q) ?? []), i]));
  }

  get hasPlan() { return Boolean(this.states.value); }

  name(q) {
    return this.stationary ? String(q) : `${this.layerOf[q]}.${q - this.offsets[this.layerOf[q]]}`;
  }

  // The state with a name, or -1.
  named(text) {
    const parts = /^(\d+)(?:\.(\d+))?$/.exec(text);
    if (!parts || this.stationary !== (parts[2] === undefined)) return -1;
    const [first, place] = [Number(parts[1]), Number(parts[2] ?? 0)];
    if (this.stationary) return first < this.n ? first : -1;
    return place < (this.layers[first] ?? 0) ? this.offsets[first] + place : -1;
  }

  // Smallest and largest value of the states in which the episode continues.
  valueRange() {
    let [low, high] = [Infinity, -Infinity];
    this.values.forEach((value, q) => {
      if (!this.over.has(q)) [low, high] = [Math.min(low, value), Math.max(high, value)];
    });
    return low <= high ? [low, high] : [0, 0];
  }

  richness(q) {
    const [low, high] = this.range;
    return high > low + 1e-9 ? (this.values[q] - low) / (high - low) : 0.5;
  }

  plannedIn(q) { return this.hasPlan ? this.states.planned[q] : BEHAVE; }

  action(y) { return this.symbols.action[y]; }

  // A symbol as text, such as "E → (1, 0, 1)"; the first observation has no action.
  shown(y) {
    const [action, seen] = [this.action(y), this.seen(y)];
    return action === DUMMY ? seen : action === PAD ? "the episode has ended" : `${this.actions[action]} → ${seen}`;
  }

  seen(y) { return this.observations[this.symbols.observation[y]] ?? "end"; }

  // Logged events of a state by action, the most frequent first.
  met(q) {
    const { begin, symbol, reward, count, target } = this.events;
    const worth = new Map();
    for (let i = this.choices.begin[q]; i < this.choices.begin[q + 1]; i++) worth.set(this.choices.action[i], this.choices.worth[i]);
    const groups = [];
    for (let i = begin[q]; i < begin[q + 1]; i++) {
      const action = this.action(symbol[i]);
      if (groups.at(-1)?.action !== action) groups.push({ action, times: 0, worth: worth.get(action), events: [] });
      groups.at(-1).times += count[i];
      groups.at(-1).events.push({ symbol: symbol[i], reward: reward[i], count: count[i], target: target[i] });
    }
    const all = groups.reduce((sum, group) => sum + group.times, 0);
    groups.forEach((group) => {
      group.share = group.times / all;
      group.events.forEach((event) => { event.share = event.count / group.times; });
    });
    return groups;
  }

  // Possible next events under the plan, the most likely first.
  likely(q, planned = this.plannedIn(q)) {
    const groups = this.met(q);
    const follow = groups.some((group) => group.action === planned);
    return groups
      .flatMap((group) => group.events.map((event) => ({ ...event, chance: (follow ? Number(group.action === planned) : group.share) * event.share })))
      .sort((one, other) => other.chance - one.chance || one.symbol - other.symbol);
  }

  // Transitions into a state, the most frequent first.
  led(q) {
    return this.arriving(q)
      .map((i) => ({ source: this.arrows.source[i], count: this.arrows.count[i], symbols: this.arrows.symbols[i] }))
      .sort((one, other) => other.count - one.count || one.source - other.source);
  }

  follow(q, y) {
    const arrow = q < 0 || y < 0 ? undefined : this.leaving(q).find((i) => this.arrows.symbols[i].includes(y));
    return arrow === undefined ? -1 : this.arrows.target[arrow];
  }

  arrowBetween(q, r) { return this.leaving(q).find((i) => this.arrows.target[i] === r) ?? -1; }

  // A shortest history that leads to a state, as symbols.
  history(q) {
    const symbols = [];
    for (let at = q; this.states.before[at] >= 0 && symbols.length <= this.n; at = this.states.before[at]) symbols.unshift(this.states.by[at]);
    return symbols;
  }

  // What all arrivals at a state share, and what varies among them.
  common(q) { return this.texts[this.states.common[q]]; }

  varies(q) { return this.texts[this.states.varies[q]]; }

  // A short description of a state.
  standsFor(q) {
    const last = this.history(q).at(-1);
    return this.over.has(q) ? "ended" : this.common(q) || this.varies(q) || (last === undefined ? "start" : this.shown(last));
  }

  why(q) {
    const { begin, other, text, first, learned } = this.reasons;
    const found = [];
    for (let i = begin[q]; i < begin[q + 1]; i++) {
      found.push({ other: other[i], text: this.texts[text[i]], first: this.texts[first[i]], learned: learned[i] });
    }
    return found;
  }

  undecided(q) {
    const { candidate, text, episodes } = this.doubts;
    return (this.doubtful.get(q) ?? []).map((i) => ({ candidate: this.texts[candidate[i]], text: this.texts[text[i]], episodes: episodes[i] }));
  }

  // Expected returns and planned action in a state, at a step if they depend on it.
  at(step, q) {
    const place = this.places?.get(step * this.n + q);
    const from = place === undefined ? this.states : this.at_steps;
    const i = place ?? q;
    return { value: from.value?.[i], behaviour: from.behaviour[i], planned: this.hasPlan ? from.planned[i] : BEHAVE };
  }

  // How often episodes visit a state.
  frequency(q) {
    const visits = this.states.visits[q];
    if (this.stationary) return `visited ${plural(visits, "time")}, ${shortNumber(visits / this.episodes)} per episode`;
    return `in ${percent(visits / this.episodes)} of episodes (${fullNumber(visits)})`;
  }
}

// Map each state to the indices of a column at which it occurs, stored in one array.
function grouped(column, n) {
  const begin = new Int32Array(n + 1);
  for (const q of column) begin[q + 1]++;
  for (let q = 0; q < n; q++) begin[q + 1] += begin[q];
  const next = begin.slice();
  const places = new Int32Array(column.length);
  column.forEach((q, i) => { places[next[q]++] = i; });
  return (q) => [...places.subarray(begin[q], begin[q + 1])];
}

// Maxima of parts of a column, because Math.max takes a limited number of arguments.
function* chunkedMaxima(column, n) {
  for (let i = 0; i < n; i += 10000) yield Math.max(...column.slice(i, i + 10000));
}
