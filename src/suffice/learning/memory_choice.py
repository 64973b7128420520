"""Is a process the same at all times? Let two automata predict episodes that neither was learned from.

One has layers, one folds time. Each predicts every step of the held-out episodes from the state it is in there; what it
did not expect costs ln 1/p. The automaton that folds time has far fewer states to learn, so that it predicts better
where the process is stationary, and worse where it is not, once there are episodes enough to notice. The differences of
the episodes are independent, so their mean has an honest standard error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.automata.rdp import RDP
from suffice.automata.state_tracker import StateTracker
from suffice.data.episodes import Episodes
from suffice.data.log import Log, run_query
from suffice.data.queries import EpisodesView
from suffice.evidence.estimates import Moments
from suffice.files.checkpoints import NO_CHECKPOINT, CheckpointStage
from suffice.kernels.array_types import Codes, Float, Int64
from suffice.learning.adact_h import Settings
from suffice.learning.layers import learn_layers
from suffice.learning.stationary.learner import learn_stationary

HELD_OUT = 0.3  # of the episodes
FEWEST_EPISODES = 20  # episodes that can say anything
CLEAR_STANDARD_ERRORS = 2.0  # standard errors by which layers must be better


class Stationarity(NamedTuple):
    """How well both automata predict a held-out episode; in bits, what they did not expect.

    >>> found = suffice.is_stationary(episodes)
    >>> found.stationary, found.states
    (True, (11, 8))
    """

    layered: float
    tied: float
    error: float  # the standard error of the difference
    states: tuple[int, int]  # of both

    @property
    def stationary(self) -> bool:
        """Whether to fold time: unless layers are clearly better."""
        return self.tied - self.layered <= CLEAR_STANDARD_ERRORS * self.error

    def summary(self) -> dict[str, float | bool | None]:
        """For machines."""
        return {
            "stationary": self.stationary,
            "layered_bits": self.layered,
            "tied_bits": None if math.isinf(self.tied) else self.tied,
            "error_bits": self.error,
            "layered_states": self.states[0],
            "tied_states": self.states[1],
        }

    @property
    def sentence(self) -> str:
        """For a person."""
        if math.isinf(self.tied):
            few = f"fewer than {FEWEST_EPISODES} episodes"
            return f"Keep the layers: with one decision per episode, or {few}, nothing can be said."
        gap = self.layered - self.tied
        verdict = (
            "Fold time: one automaton for all steps predicts as well or better"
            if self.stationary
            else "Keep the layers: what happens depends on the step"
        )
        return (
            f"{verdict}. Held-out episodes cost {self.tied:.4g} bits with {self.states[1]} states for all steps, "
            f"{self.layered:.4g} bits with {self.states[0]} in layers (difference {gap:+.3g} ± {self.error:.2g})."
        )


def is_stationary(
    episodes: Log,
    settings: Settings | None = None,
    *,
    second_look: bool = True,
    rng: np.random.Generator | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
    kept: CheckpointStage = NO_CHECKPOINT,
) -> Stationarity:
    """Learn both automata from some of the episodes, and compare what they say of the others.

    >>> print(suffice.is_stationary(episodes).sentence.partition(".")[0])
    Fold time: one automaton for all steps predicts as well or better
    """
    settings = settings or Settings()
    if episodes.horizon < 2 or episodes.total < FEWEST_EPISODES:
        return Stationarity(0.0, math.inf, 0.0, (0, 0))
    some, others, _ = episodes.divide(HELD_OUT, rng or np.random.default_rng(0))
    layered = learn_layers(some, settings, second_look, lambda done, of: progress(done, 2 * of), kept).rdp
    tied = learn_stationary(some, settings, lambda done, of: progress(of + done, 2 * of), kept).rdp
    surprises = _Surprises(Expectation.of(layered), Expectation.of(tied))
    with_layers, without, difference = (moments.estimate() for moments in run_query(others, surprises))
    return Stationarity(with_layers.value, without.value, difference.error, (layered.n_states, tied.n_states))


class _Surprises(NamedTuple):
    """What episodes cost one automaton, another, and by how much these differ."""

    layered: Expectation
    tied: Expectation

    def __call__(self, view: EpisodesView) -> list[Moments]:
        """See `Query`."""
        one, other = (expected.surprise(view.episodes) for expected in self)
        return [Moments.of(cost, view.episodes.weight) for cost in (one, other, one - other)]

    def combine(self, answers: list[list[Moments]]) -> list[Moments]:
        """See `Query`."""
        return [sum(moments[1:], moments[0]) for moments in zip(*answers, strict=True)]


class Expectation(NamedTuple):
    """What an automaton expects: worked out once, since machines differ in the last bit of a logarithm.

    As if each state had been visited once more and met all letters as often as the log has them. Of the last step only
    action and reward count, because a log is cut there.
    """

    cost: Float  # [P, X] log₂ 1/p of each letter
    last: Float  # [P, X] the same of the action and reward of the last step
    following: NDArray[np.int32]  # [P, Y]
    of_letter: Codes  # [X]

    @classmethod
    def of(cls, rdp: RDP) -> Expectation:
        """By the frequencies of an automaton."""
        memory = StateTracker.of(rdp)
        usual = rdp.counts.sum(axis=0) + 0.5
        usual /= usual.sum()
        counts = np.concatenate([rdp.counts, np.zeros((len(memory.astray) - rdp.n_states, len(usual)), np.int64)])
        cost = -np.log2((counts + usual) / (counts.sum(axis=1, keepdims=True) + 1))
        return cls(cost, _last(rdp, counts, usual), memory.following, rdp.symbol_of_letter())

    def surprise(self, episodes: Episodes) -> Float:
        """[N] Σ log₂ 1/p of the steps of each episode but its first; letters must be those of the automaton's log."""
        place, total = np.zeros(episodes.n, np.int32), np.zeros(episodes.n)
        for t, word in enumerate(episodes.word[:-1]):
            if t:
                total += self.cost[place, word]
            place = self.following[place, self.of_letter[word]]
        total += self.last[place, episodes.word[-1]]
        return total


def surprise(rdp: RDP, episodes: Episodes) -> Float:
    """[N] what an automaton did not expect of each episode, in bits."""
    return Expectation.of(rdp).surprise(episodes)


def _last(rdp: RDP, counts: Int64, usual: Float) -> Float:
    """[P, X] what the action and the reward of each letter cost at the last step."""
    if rdp.cut is not None:
        counts = counts.copy()
        counts[: rdp.n_states] += rdp.cut
    pairs, of_letter = np.unique(rdp.letters[:, [0, 2]], axis=0, return_inverse=True)
    met = np.zeros((len(counts), len(pairs)))
    np.add.at(met.T, of_letter.reshape(-1), (counts + usual).T)
    cost = -np.log2(met / (counts.sum(axis=1, keepdims=True) + 1))
    return np.asarray(cost[:, of_letter.reshape(-1)])
