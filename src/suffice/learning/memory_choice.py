"""Choose between a stationary and a layered automaton by the prediction of held-out episodes.

Both automata are learned from the same episodes, and each predicts every step of the held-out ones from its current
state; a step of predicted probability p costs log₂ 1/p bits. A stationary automaton has far fewer states to learn, so
it predicts better where the process is stationary, and worse where it is not, given enough episodes. The differences
between episodes are independent, so their mean has a valid standard error. Theory: docs/theory.md, section 8.
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
from suffice.data.log import Log, require_log, run_query
from suffice.data.queries import EpisodesView
from suffice.errors import MemoryLimitError, parameter
from suffice.evidence.estimates import Moments
from suffice.files.checkpoints import NO_CHECKPOINT, CheckpointStage
from suffice.kernels.array_types import Codes, Float, Int64
from suffice.learning.adact_h import Settings
from suffice.learning.layers import learn_layers
from suffice.learning.stationary.learner import learn_stationary

HELD_OUT = 0.3  # share of the episodes
FEWEST_EPISODES = 20  # episodes below which the comparison is not made
CLEAR_STANDARD_ERRORS = 2.0  # standard errors by which layers must be better to be chosen


class Stationarity(NamedTuple):
    """Comparison of a stationary and a layered automaton on held-out episodes.

    Attributes
    ----------
    layered
        Mean number of bits that a held-out episode costs with the layered automaton: its cross-entropy.
    tied
        The same with the stationary automaton; infinite if the comparison could not be made.
    error
        Standard error of the difference, in bits.
    states
        Number of states of the layered and of the stationary automaton; 0 of one that was not learned.

    Examples
    --------
    >>> found = suffice.is_stationary(episodes)
    >>> found.stationary, found.states
    (True, (11, 8))
    """

    layered: float
    tied: float
    error: float
    states: tuple[int, int]

    @property
    def stationary(self) -> bool:
        """Whether the stationary automaton is chosen: yes, unless layers are better by two standard errors."""
        return self.tied - self.layered <= CLEAR_STANDARD_ERRORS * self.error

    def summary(self) -> dict[str, float | bool | None]:
        """Return the comparison as JSON data.

        Returns
        -------
        dict
            The choice, costs in bits and numbers of states; a cost is None if the comparison could not be made.
        """
        return {
            "stationary": self.stationary,
            "layered_bits": None if math.isinf(self.layered) else self.layered,
            "tied_bits": None if math.isinf(self.tied) else self.tied,
            "error_bits": self.error,
            "layered_states": self.states[0],
            "tied_states": self.states[1],
        }

    @property
    def sentence(self) -> str:
        """The choice and the costs as plain sentences."""
        if math.isinf(self.layered):
            return "Stationary automaton: some episodes were cut off, and layers need whole episodes."
        if math.isinf(self.tied) and self.states[0]:
            return (
                "Layered automaton: learning a stationary one needs more memory than the limit, so it was not tried; "
                f"raise {parameter('memory')} to compare."
            )
        if math.isinf(self.tied):
            few = f"fewer than {FEWEST_EPISODES} episodes"
            return f"Layered automaton: with one decision per episode, or {few}, stationarity cannot be tested."
        gap = self.layered - self.tied
        choice = (
            "Stationary automaton: layers do not predict held-out episodes clearly better"
            if self.stationary
            else "Layered automaton: it predicts held-out episodes clearly better, so the process depends on the step"
        )
        return (
            f"{choice}. A held-out episode costs {self.tied:.4g} bits with {self.states[1]} stationary states and "
            f"{self.layered:.4g} bits with {self.states[0]} states in layers (difference {gap:+.3g} ± "
            f"{self.error:.2g})."
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
    """Learn a layered and a stationary automaton from 70 % of the episodes, and compare them on the others.

    Parameters
    ----------
    episodes
        The logged episodes. Layers are chosen untested with one decision per episode, with fewer than 20 episodes, or
        if a stationary automaton does not fit into memory; a stationary automaton, if some episodes were cut off.
    settings
        Settings of both learners. Default: `Settings()`.
    second_look
        Refine the layered automaton (see `refine`).
    rng
        Random numbers that choose the held-out episodes. Default: seed 0.
    progress
        Function called with the number of finished steps and the number of all steps.
    kept
        Checkpoint to resume from and to save to. Default: none.

    Returns
    -------
    Stationarity
        Which automaton predicts held-out episodes better, and by how much.

    Examples
    --------
    >>> print(suffice.is_stationary(episodes).sentence.partition(".")[0])
    Stationary automaton: layers do not predict held-out episodes clearly better
    """
    require_log(episodes)
    settings = settings or Settings()
    if episodes.horizon < 2 or episodes.total < FEWEST_EPISODES:
        return Stationarity(0.0, math.inf, 0.0, (0, 0))
    if episodes.censored:
        return Stationarity(math.inf, 0.0, 0.0, (0, 0))
    some, others, _ = episodes.divide(HELD_OUT, rng or np.random.default_rng(0))
    layered = learn_layers(some, settings, second_look, lambda done, of: progress(done, 2 * of), kept).rdp
    try:
        stationary = learn_stationary(some, settings, lambda done, of: progress(of + done, 2 * of), kept).rdp
    except MemoryLimitError:  # layers fit, so the run goes on with them
        return Stationarity(0.0, math.inf, 0.0, (layered.n_states, 0))
    costs = _HeldOutCosts(Expectation.of(layered), Expectation.of(stationary))
    with_layers, without, difference = (moments.estimate() for moments in run_query(others, costs))
    return Stationarity(with_layers.value, without.value, difference.error, (layered.n_states, stationary.n_states))


class _HeldOutCosts(NamedTuple):
    """Query for the moments of the costs of episodes with two automata, and of their differences."""

    layered: Expectation
    stationary: Expectation

    def __call__(self, view: EpisodesView) -> list[Moments]:
        """Return the three moments for some episodes; see `Query`."""
        one, other = (expected.surprise(view.episodes) for expected in self)
        return [Moments.of(cost, view.episodes.weight) for cost in (one, other, one - other)]

    def combine(self, answers: list[list[Moments]]) -> list[Moments]:
        """Add up the moments of parts of the log; see `Query`."""
        return [sum(moments[1:], moments[0]) for moments in zip(*answers, strict=True)]


class Expectation(NamedTuple):
    """Costs of letters in the states of an automaton, computed once per run.

    Machines differ in the last bit of a logarithm, so all workers use the same table. Each state counts one more visit
    in which letters are as frequent as in the whole log. At the last step, where the log is cut, only action and reward
    count.
    """

    cost: Float  # [P, X] log₂ 1/p of each letter
    last: Float  # [P, X] log₂ 1/p of the letter's action and reward at the last step
    following: NDArray[np.int32]  # [P, Y]
    of_letter: Codes  # [X]

    @classmethod
    def of(cls, rdp: RDP) -> Expectation:
        """Compute the costs from the counts of an automaton."""
        memory = StateTracker.of(rdp)
        usual = rdp.counts.sum(axis=0) + 0.5
        usual /= usual.sum()
        counts = np.concatenate([rdp.counts, np.zeros((len(memory.astray) - rdp.n_states, len(usual)), np.int64)])
        cost = -np.log2((counts + usual) / (counts.sum(axis=1, keepdims=True) + 1))
        return cls(cost, _last(rdp, counts, usual), memory.following, rdp.symbol_of_letter())

    def surprise(self, episodes: Episodes) -> Float:
        """Return [N], Σ log₂ 1/p over the observed steps of each episode but its first.

        Letters must be the automaton's.
        """
        place, total = np.zeros(episodes.n, np.int32), np.zeros(episodes.n)
        last = np.full(episodes.n, episodes.horizon) if episodes.length is None else episodes.length - 1
        for t, word in enumerate(episodes.word[:-1]):
            if t:
                total += np.where(t < last, self.cost[place, word], 0.0)
            if episodes.length is not None:  # cut off here: only action and reward are known
                total += np.where(t == last, self.last[place, word], 0.0)
            place = self.following[place, self.of_letter[word]]
        total += np.where(last == episodes.horizon, self.last[place, episodes.word[-1]], 0.0)
        return total


def surprise(rdp: RDP, episodes: Episodes) -> Float:
    """Return [N], the cost of each episode with an automaton, in bits."""
    return Expectation.of(rdp).surprise(episodes)


def _last(rdp: RDP, counts: Int64, usual: Float) -> Float:
    """Return [P, X], the cost of the action and reward of each letter at the last step."""
    if rdp.cut is not None:
        counts = counts.copy()
        counts[: rdp.n_states] += rdp.cut
    pairs, of_letter = np.unique(rdp.letters[:, [0, 2]], axis=0, return_inverse=True)
    met = np.zeros((len(counts), len(pairs)))
    np.add.at(met.T, of_letter.reshape(-1), (counts + usual).T)
    cost = -np.log2(met / (counts.sum(axis=1, keepdims=True) + 1))
    return np.asarray(cost[:, of_letter.reshape(-1)])
