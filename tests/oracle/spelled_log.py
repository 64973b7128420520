"""A log in the form that the literal stationary learner reads: lists of letters, and paths in an automaton."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from suffice.data.alphabet import STOP
from suffice.data.episodes import Episodes

from .adact import spell

Letter = tuple[int, int | None, int]
Symbol = tuple[int, int]
Edge = tuple[int, Symbol]
Tau = dict[Edge, int]  # of a complete or a partial automaton
Kind = tuple[str | int, ...]  # "choice", "paid" of an action, "shown" of an action and a reward
Event = int | tuple[int, int] | Letter | None  # an action, an action with reward, a letter; None: new to the label
Visit = tuple[int, int]  # episode and step

START, END = 0, 1
SPECIAL = 2
ALIKE = 0.8  # share of the states with both symbols in which they must agree


class Log:
    """Episodes as lists of letters."""

    def __init__(self, episodes: Episodes) -> None:
        lengths = [episodes.horizon + 1] * episodes.n if episodes.length is None else episodes.length.tolist()
        self.words: list[list[Letter]] = [
            [*steps[: n - 1], (steps[n - 1][0], None, steps[n - 1][2])]
            for steps, n in zip(spell(episodes), lengths, strict=True)
        ]
        self.weights = [1] * episodes.n if episodes.weight is None else episodes.weight.tolist()
        self.symbols: list[Symbol] = [(a, o) for a, o in episodes.symbols()[0].tolist()]
        self.horizon, self.total = episodes.horizon, episodes.total
        self.n_observations = episodes.alphabet.n_observations
        letters = [(a, o, r) for a, o, r in episodes.letters.tolist()]  # includes those of the last step only
        self.letters: list[Letter] = [*letters, *sorted({(a, None, r) for a, _, r in letters})]

    def walk(self, tau: Mapping[Edge, int], e: int) -> list[int]:
        """Return the states of an episode as far as transitions are known; the log ends at the last letter."""
        path = [START]
        for a, o, _ in self.words[e][:-1]:
            target = END if o == STOP else tau.get((path[-1], (a, o)))
            if target is None:
                break
            path.append(target)
        return path

    def transitions(self, paths: list[list[int]]) -> dict[Edge, list[Visit]]:
        """Return the visits of each transition, in order."""
        found: dict[Edge, list[Visit]] = {}
        for e, path in enumerate(paths):
            for u, (a, o, _) in enumerate(self.words[e][:-1]):
                found.setdefault((path[u], (a, o)), []).append((e, u))
        return dict(sorted(found.items()))


def complete(tau: Tau, n_states: int, symbols: list[Symbol]) -> Tau:
    """Add missing transitions: to the usual target of the symbol, of equals the first; to 0 if it has none."""
    whole = dict(tau)
    for y in symbols:
        led = Counter(tau[q, y] for q in range(n_states) if (q, y) in tau)
        usual = min(led, key=lambda p: (-led[p], p)) if led else 0
        whole |= {(q, y): usual for q in range(n_states) if (q, y) not in tau}
    return whole
