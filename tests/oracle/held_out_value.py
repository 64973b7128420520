"""The value of a plan on held-out episodes, its influences and the lack-of-fit test, episode by episode."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from suffice.automata.rdp import BEHAVE, RDP
from suffice.automata.state_tracker import StateTracker
from suffice.data.alphabet import PAD
from suffice.data.episodes import Episodes
from suffice.planning.backward_induction import behaviour_values
from suffice.planning.plan import Plan

Node = Hashable
Cell = tuple[Any, Node, int]  # table, node, action
Visit = tuple[float, float, Node | None]  # weight times 1/μ, 1/μ, and the node that followed
LAST = "last"
CUT = "cut"


class Decision(NamedTuple):
    """One decision of an episode: its table, its node with and without refinement, and what followed."""

    step: int
    table: Any  # decisions with the same table and node share their frequencies
    node: Node
    state: Node
    place: int
    action: int
    reward: float
    cut: bool = False  # the episode goes on, but where was not observed
    omega: float = 1.0  # 1/μ


class LiteralPlan:
    """A plan walked by held-out episodes, in dictionaries."""

    def __init__(
        self, rdp: RDP, plan: Plan, episodes: Episodes, spans: list[float], discount: float = 1.0, mu: Any = None
    ) -> None:
        self.mu = mu
        self.rdp, self.plan, self.spans, self.discount = rdp, plan, spans, discount
        steps = len(episodes.word)
        lengths = [steps] * episodes.n if episodes.length is None else episodes.length.tolist()
        self.cut_off = [length < steps for length in lengths]
        self.layered, self.origin = rdp.unroll()
        self.logged = behaviour_values(self.layered, discount)
        self.tracker = StateTracker.of(rdp)
        self.weight = [1] * episodes.n if episodes.weight is None else episodes.weight.tolist()
        self.episodes = [self.steps(episodes, i) for i in range(episodes.n)]

    def steps(self, episodes: Episodes, i: int) -> list[tuple[Any, Any, float]]:
        """List action, observation and reward of an episode up to its end."""
        codes = episodes.letters[episodes.word[:, i]].tolist()
        known = episodes.alphabet
        return [(known.action(a), known.observation(o), known.rewards[r]) for a, o, r in codes if a != PAD]

    def decisions(self, i: int, refinement: str | None) -> list[Decision]:
        """List the decisions of an episode."""
        steps, found, place = self.episodes[i], [], 0
        places: list[int] = []
        for t in range(1, len(steps)):
            place = self.tracker.after(place, steps[t - 1][:2])
            places.append(place)
            action, _, reward = steps[t]
            numbers = self.rdp.alphabet.actions
            number = numbers.index(action) if action in numbers else len(numbers)
            symbols = [step[:2] for step in steps[:t]]
            before: dict[str | None, Node] = {
                None: None,
                "edge": (tuple(places[-2:-1]), symbols[-1]),
                "two edges": (tuple(places[-3:-1]), tuple(symbols[-2:])),
                "first observation": symbols[0],
                "step": t,
                "history": tuple(symbols),
            }
            horizon = self.rdp.horizon
            table = t if not self.rdp.stationary else LAST if t == horizon else "inner"
            cut = self.cut_off[i] and t == len(steps) - 1
            omega = 1.0 if self.mu is None else 1 / self.mu[t][i]
            nodes = (place, before[refinement]), (place, None)
            found.append(Decision(t, table, *nodes, place, number, reward, cut, omega))
        return found

    def chance(self, t: int, place: int, action: int) -> float:
        """Return the probability of an action under the plan."""
        rdp, plan = self.rdp, self.plan
        if action == len(rdp.alphabet.actions):
            return 0.0
        usual = self.tracker.choices(np.full(rdp.n_states, BEHAVE))[place].tolist()
        planned = BEHAVE
        if place < rdp.n_states:
            copies = (
                [q for q in range(self.layered.n_states - 1) if self.origin[q] == place] if rdp.stationary else [place]
            )
            copies = [q for q in copies if self.layered.layer_of()[q] == t]
            planned = int(plan.actions[copies[0]]) if copies else BEHAVE
        if planned != BEHAVE:
            return float(action == planned)
        return usual[action] / sum(usual) if sum(usual) else 1 / len(usual)

    def prior(self, t: int, place: int) -> float:
        """Return the value of a place under the logged behaviour, from the training episodes."""
        layered, values = self.layered, self.logged
        if place < self.rdp.n_states:
            for q in range(layered.n_states - 1) if self.rdp.stationary else [place]:
                if layered.layer_of()[q] == t and (not self.rdp.stationary or self.origin[q] == place):
                    return float(values[q])
        inside = [q for q in range(layered.n_states) if layered.layer_of()[q] == t]
        visits = [int(layered.counts[q].sum()) for q in inside]
        return sum(v * float(values[q]) for v, q in zip(visits, inside, strict=True)) / max(sum(visits), 1)

    def estimate(self, refinement: str | None = None) -> tuple[float, list[float], float]:
        """Return value, influences and the variance that is added for rare cells."""
        horizon = self.rdp.horizon
        walks = [self.decisions(i, refinement) for i in range(len(self.episodes))]
        base = None if refinement is None else self.values([self.decisions(i, None) for i in range(len(walks))], None)
        q, v, visits = self.values(walks, base)
        total = sum(self.weight)
        value = sum(w * v[1, walk[0].node] for w, walk in zip(self.weight, walks, strict=True)) / total
        influence = [(v[1, walk[0].node] - value) / total for walk in walks]
        share: dict[Node, float] = defaultdict(float)
        for w, walk in zip(self.weight, walks, strict=True):
            share[walk[0].node] += w / total
        use: dict[tuple[int, Cell], float] = {}  # step and cell
        missing = 0.0
        places = {(d.node): d.place for walk in walks for d in walk}
        rare: dict[Cell, float] = defaultdict(float)
        for t in range(1, horizon + 1):
            left = sum(span * self.discount**k for k, span in enumerate(self.spans[t - 1 :]))
            table = t if not self.rdp.stationary else LAST if t == horizon else "inner"
            following: dict[Node, float] = defaultdict(float)
            for node, part in share.items():
                known = 0.0
                for action in range(len(self.rdp.alphabet.actions) + 1):
                    cell = (table, node, action)
                    flow = part * self.chance(t, places[node], action)
                    if not self.is_known(visits.get(cell, [])):
                        continue
                    known += flow
                    total, n = self.numbers(visits[cell])
                    use[t, cell] = flow / total * (1 if refinement is None else n / (n + 1))
                    rare[cell] += flow / (n + 1) * left / 2
                    for w, _, after in visits[cell]:
                        if after not in (None, CUT):
                            more = self.more(visits[cell])
                            following[after] += self.discount * more * flow * w / total
                missing += ((part - known) * left / 2) ** 2
            share = following
        for i, walk in enumerate(walks):
            for d, later in zip(walk, [*walk[1:], None], strict=True):
                cell = (d.table, d.node, d.action)
                for t in range(1, horizon + 1):
                    if (t, cell) in use:
                        after = 0.0
                        if d.table != LAST and t < horizon and (d.cut or later is not None):
                            mean = self.mean_after(visits[cell], t, v)
                            own = mean if d.cut or later is None else v.get((t + 1, later.node), 0.0)
                            after = mean + self.more(visits[cell]) * (own - mean)
                        gain = d.reward + self.discount * after
                        influence[i] += d.omega * use[t, cell] * (gain - q[t, cell])
        return value, influence, missing + sum(r**2 for r in rare.values())

    def numbers(self, visits: list[Visit]) -> tuple[float, float]:
        """Return the sum of the weights of visits, and their effective number."""
        total = sum(w for w, _, _ in visits)
        return total, total**2 / sum(w * omega for w, omega, _ in visits)

    def mean_after(self, visits: list[Visit], t: int, v: Any) -> float:
        """Return the mean value of the nodes that are known to have followed; 0 if there are none."""
        known = [(w, v.get((t + 1, after), 0.0)) for w, _, after in visits if after not in (None, CUT)]
        return sum(w * value for w, value in known) / sum(w for w, _ in known) if known else 0.0

    def is_known(self, visits: list[Visit]) -> bool:
        """Return whether it is known what follows: not if all visits that go on were cut off."""
        after = [node for _, _, node in visits]
        return bool(after) and (CUT not in after or any(node not in (None, CUT) for node in after))

    def more(self, visits: list[Visit]) -> float:
        """Return how many visits go on for each one of which it is known where."""
        known = sum(w for w, _, after in visits if after not in (None, CUT))
        return sum(w for w, _, after in visits if after is not None) / known if known else 1.0

    def values(self, walks: list[list[Decision]], base: Any) -> Any:
        """Return Q by step and cell, V by step and node, and the visits of each cell with the node that followed."""
        horizon = self.rdp.horizon
        visits: dict[Cell, list[Visit]] = defaultdict(list)
        rewards: dict[Cell, float] = defaultdict(float)
        state = {d.node: (d.state, d.place) for walk in walks for d in walk}
        nodes: dict[Any, set[Node]] = defaultdict(set)  # that may be asked for at each step
        for w, walk in zip(self.weight, walks, strict=True):
            for d, later in zip(walk, [*walk[1:], None], strict=True):
                after = CUT if d.cut else None if later is None else later.node
                visits[d.table, d.node, d.action].append((w * d.omega, d.omega, after))
                rewards[d.table, d.node, d.action] += w * d.omega * d.reward
                nodes[None if self.rdp.stationary else d.step].add(d.node)
        q: dict[tuple[int, Cell], float] = {}
        v: dict[tuple[int, Node], float] = {}
        for t in range(horizon, 0, -1):
            table = t if not self.rdp.stationary else LAST if t == horizon else "inner"
            for node in nodes[None if self.rdp.stationary else t]:
                plain, place = state[node]
                prior = self.prior(t, place) if base is None else base[1][t, plain]
                v[t, node] = 0.0
                known = 0.0
                for action in range(len(self.rdp.alphabet.actions) + 1):
                    cell = (table, node, action)
                    if cell not in visits:
                        continue
                    total, n = self.numbers(visits[cell])
                    later = 0.0
                    if t < horizon:
                        goes_on = sum(w for w, _, after in visits[cell] if after is not None)
                        later = goes_on * self.mean_after(visits[cell], t, v)
                    mean = (rewards[cell] + self.discount * later) / total
                    leans = None if base is None else base[0][t, (table, plain, action)]
                    q[t, cell] = mean if leans is None else (n * mean + leans) / (n + 1)
                    chance = self.chance(t, place, action) if self.is_known(visits[cell]) else 0.0
                    known += chance
                    v[t, node] += chance * q[t, cell]
                v[t, node] += (1 - known) * prior
        return q, v, visits


def exact_moments(rows: list[int], columns: list[int]) -> tuple[float, float]:
    """Return mean and variance of Pearson's X² over all orders of the columns."""
    found = [chi_square(rows, list(order)) for order in permutations(columns)]
    return float(np.mean(found)), float(np.var(found))


def chi_square(rows: list[int], columns: list[int]) -> float:
    """Return Pearson's X² of a contingency table, given as the row and the column of each observation."""
    n, total = len(rows), 0.0
    for i in set(rows):
        for j in set(columns):
            expected = rows.count(i) * columns.count(j) / n
            total += (sum(a == i and b == j for a, b in zip(rows, columns, strict=True)) - expected) ** 2 / expected
    return total
