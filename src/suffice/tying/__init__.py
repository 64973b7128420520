"""Automata that fold time: one set of states for all steps of an episode (theory.md §8; docs/stationary.md).

Rounds of pointers (`pointers`), each with labels of the last (`labels`), until the automaton is as before; after each,
rare transitions are settled (`settling`). A long log is first tried on a part of it, and the last round is for all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.bounds import Promise
from suffice.episodes import Episodes, Int64
from suffice.errors import SufficeError
from suffice.learner import Decision, Learned, Settings
from suffice.merging import Verdict
from suffice.rdp import RDP, UNSEEN
from suffice.tying.labels import Labelling, Steps, completed, last_observation
from suffice.tying.pointers import END, START, Choice, Edge, Outcome, Round
from suffice.tying.settling import settle

Int32 = NDArray[np.int32]

ROUNDS = 8
SAMPLE = 1 << 14  # episodes that say what the labels are


class _Found(NamedTuple):
    """An automaton and the round it comes from."""

    tau: Int32  # settled
    outcome: Outcome

    @classmethod
    def of(cls, steps: Steps, outcome: Outcome) -> _Found:
        return cls(settle(steps, outcome.tau), outcome)

    def apart(self) -> dict[Edge, Edge]:
        """What proved to be distinct from its state, and has not been settled elsewhere since."""
        tau = self.outcome.tau
        return {edge: founder for edge, founder in self.outcome.apart.items() if self.tau[edge] == tau[edge]}


def tie(
    episodes: Episodes, settings: Settings | None = None, progress: Callable[[int, int], None] = lambda done, of: None
) -> Learned:
    """Learn the stationary RDP of a log. Of the settings δ, confidence, cut and memory matter; there are no others."""
    settings = settings or Settings()
    if episodes.horizon < 2:
        raise SufficeError("a stationary automaton needs episodes of at least two decisions; leave --stationary out")
    needed = 16 * episodes.word.size
    if needed > settings.memory:
        raise SufficeError(
            f"tying the layers of this log needs about {needed / 1e9:.1f} GB, more than the "
            f"{settings.memory / 1e9:.1f} GB it may take; raise --memory"
        )
    stride = -(-episodes.n // SAMPLE)
    sample = Steps.of(episodes if stride == 1 else episodes.columns(np.arange(0, episodes.n, stride)))
    found = _rounds(sample, settings, lambda done: progress(done, ROUNDS + (stride > 1)))
    if stride > 1:
        steps = Steps.of(episodes)
        found = _Found.of(steps, _round(steps, completed(found.tau), settings, {}))
    progress(ROUNDS + (stride > 1), ROUNDS + (stride > 1))
    return _learned(episodes, settings, found)


def _rounds(steps: Steps, settings: Settings, progress: Callable[[int], None]) -> _Found:
    """Until an automaton comes again; of those that keep coming, the one that leaves least to be kept apart."""
    reference, apart = last_observation(steps), {}  # type: Int32, dict[Edge, Edge]
    known: dict[tuple[bytes, tuple[tuple[Edge, Edge], ...]], int] = {}
    found: list[_Found] = []
    begin = 0
    for i in range(ROUNDS):
        found.append(_Found.of(steps, _round(steps, reference, settings, apart)))
        apart = found[-1].apart() if i else {}  # the last observation is too little to go by
        progress(i + 1)
        key = (_renumbered(found[-1].tau).tobytes(), tuple(sorted(apart.items())))
        begin = known.setdefault(key, i)
        if begin < i:
            break
        reference = completed(found[-1].tau)
    return min(reversed(found[begin:]), key=lambda f: (len(f.apart()), len(_reached(f.tau))))


def _round(steps: Steps, reference: Int32, settings: Settings, apart: dict[Edge, Edge]) -> Outcome:
    def level(i: int) -> float:
        """δ of the i-th test: 6/π² Σ 1/i² = 1 divides what a confidence leaves to chance."""
        return (
            settings.delta if settings.confidence is None else (1 - settings.confidence) * 6 / (math.pi * (i + 1)) ** 2
        )

    return Round(steps, Labelling(steps, reference), level, settings.cut * steps.episodes.total, apart).run()


def _reached(tau: Int32) -> list[int]:
    """The states that histories lead to, breadth first; START and END are two of them."""
    order = [START, END]
    for q in order:
        for target in tau[q].tolist():
            if target != UNSEEN and target not in order:
                order.append(target)
    return order


def _renumbered(tau: Int32) -> Int32:
    """The same automaton, its states numbered as they are reached."""
    order = _reached(tau)
    place = np.full(len(tau) + 1, UNSEEN, np.int32)  # the last entry for UNSEEN
    place[order] = np.arange(len(order))
    return np.asarray(place[tau[order]])


def _learned(episodes: Episodes, settings: Settings, found: _Found) -> Learned:
    """States that nothing leads to are left out; the end comes last, if there is one."""
    tau, path, counts = _walked(episodes, found.tau)
    kept = [q for q in sorted(set(_reached(tau))) if q != END] + [END] * bool((path == END).any())
    place = np.full(len(tau) + 1, UNSEEN, np.int32)
    place[kept] = np.arange(len(kept))
    symbols, _ = episodes.symbols()
    layers = np.array([len(kept)], np.int64)
    rdp = RDP(
        episodes.alphabet, episodes.letters, symbols, layers, place[tau[kept]], counts[kept], steps=episodes.horizon
    )
    decisions = tuple(
        Decision(0, int(place[c.state]), c.symbol, c.n, _renamed(c, tau, place))
        for c in found.outcome.choices
        if place[c.state] != UNSEEN and rdp.tau[place[c.state], c.symbol] != UNSEEN
    )
    tests = found.outcome.tests
    return Learned(
        rdp=rdp,
        decisions=decisions,
        promise=Promise(sum(tests), len(tests), None, None, 1.0, stationary=True),
        candidates=(len(found.outcome.choices),),
        languages=(),
        deltas=(max(tests, default=settings.delta),),
        forced_share=sum(d.n for d in decisions if d.verdict.forced) / max(1, sum(d.n for d in decisions)),
        settings=settings,
    )


def _walked(episodes: Episodes, tau: Int32) -> tuple[Int32, Int32, Int64]:
    """Only transitions that the log takes, the states of its steps [H+1, N], and what each state met, [Q, X]."""
    whole, steps = completed(tau), episodes.horizon
    _, of_letter = episodes.symbols()
    weight = np.ones(episodes.n, np.int64) if episodes.weight is None else episodes.weight
    path, counts = np.zeros((steps + 1, episodes.n), np.int32), np.zeros((len(tau), len(episodes.letters)), np.int64)
    taken = np.full(tau.shape, UNSEEN, np.int32)
    for t in range(steps):
        symbols = of_letter[episodes.word[t]]
        np.add.at(counts, (path[t], episodes.word[t]), weight)
        path[t + 1] = whole[path[t], symbols]
        taken[path[t], symbols] = path[t + 1]
    return taken, path, counts


def _renamed(choice: Choice, tau: Int32, place: Int32) -> Verdict:
    """The verdict of a choice with the numbers that states have in the end; it leads to where it was settled."""
    verdict = choice.verdict
    nearest = None if verdict.nearest is None or place[verdict.nearest] == UNSEEN else int(place[verdict.nearest])
    target = int(place[tau[choice.state, choice.symbol]])
    promoted = verdict.promoted and int(place[verdict.target]) == target
    return verdict._replace(target=target, promoted=promoted, nearest=nearest)
