"""Results of rounds of the stationary learner, saved to and loaded from checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from suffice.automata.rdp import UNSEEN
from suffice.evidence.events import Witness
from suffice.files.archives import Shape
from suffice.files.checkpoints import CheckpointStage, StepRecord
from suffice.kernels.array_types import Array, Int32
from suffice.kernels.evidence import DEPTH
from suffice.learning.merging import Decision, columns_of, decisions_of, shapes_of_decisions
from suffice.learning.stationary.labels import PointerLog
from suffice.learning.stationary.pointers import END, SPECIAL, Choice, Edge, RoundResult
from suffice.learning.stationary.settling import settle


class FoundRound(NamedTuple):
    """The result of a round, and its automaton after undecided transitions were settled."""

    tau: Int32  # [Q, Y] settled
    outcome: RoundResult

    @classmethod
    def of(cls, steps: PointerLog, outcome: RoundResult) -> FoundRound:
        """Settle the transitions of a round that its tests did not decide."""
        return cls(settle(steps, outcome.tau, outcome.excluded), outcome)

    def apart(self) -> dict[Edge, Edge]:
        """Return the transitions that were distinct from their target and have not been settled elsewhere since."""
        tau = self.outcome.tau
        return {edge: founder for edge, founder in self.outcome.apart.items() if self.tau[edge] == tau[edge]}


def save_round(part: CheckpointStage, i: int, found: FoundRound) -> None:
    """Save a round to a checkpoint; the automaton before settling follows from its choices."""
    outcome = found.outcome
    decisions = [Decision(0, c.state, c.symbol, c.n, c.placement) for c in outcome.choices]
    arrays: dict[str, Array] = {
        "settled": found.tau,
        "tests": np.array(outcome.tests, np.float64),
        "depths": np.array(outcome.depths, np.int64),
        "apart": np.array([[*edge, *founder] for edge, founder in outcome.apart.items()], np.int64).reshape(-1, 4),
    }
    part.keep(i, StepRecord({}, [d.placement.witness for d in decisions], arrays | columns_of(decisions)))


def load_round(part: CheckpointStage, i: int, steps: PointerLog, total: int) -> FoundRound | None:
    """Load a round of `total` episodes from a checkpoint, if there is one; refuse inconsistent contents."""
    shapes: dict[str, tuple[str, Shape]] = {"settled": ("i", ("Q", len(steps.symbols)))}
    shapes |= {"tests": ("f", ("T",)), "depths": ("i", ("D",)), "apart": ("i", ("K", 4))}
    found = part.recall(i, shapes | shapes_of_decisions("C"), list[Witness | None])
    if found is None:
        return None
    arrays = found.arrays
    with part.validating(i):
        settled = _within(arrays["settled"], UNSEEN, len(arrays["settled"]))
        if (settled[:, steps.ends()] != END).any():
            raise ValueError("its episodes continue after their end")
        _within(arrays["decision_n"], 1, total + 1)
        tau = _tau(arrays, steps)
        if len(tau) != len(settled):
            raise ValueError("its states are not those of its choices")
        apart = _within(arrays["apart"], 0, [*tau.shape, *tau.shape])
        tests, depths = arrays["tests"], _within(arrays["depths"], 0, DEPTH + 1)
        if not ((tests > 0) & (tests < 1)).all():
            raise ValueError("the levels of its tests are not probabilities")
        decisions = decisions_of(arrays, found.records, steps.episodes.alphabet)
    choices = [Choice(d.state, d.symbol, d.n, d.placement) for d in decisions]
    edges: dict[Edge, Edge] = {(a, b): (c, d) for a, b, c, d in apart.tolist()}
    outcome = RoundResult(tau, choices, tests.tolist(), depths.tolist(), edges, {})
    return FoundRound(settled.astype(np.int32), outcome)


def _tau(arrays: Mapping[str, Array], steps: PointerLog) -> Int32:
    """Derive transitions [Q, Y] from choices: each is for another transition, and promoted ones become states."""
    promoted, symbols = arrays["decision_promoted"] == 1, len(steps.symbols)
    n_states = SPECIAL + int(np.count_nonzero(promoted))
    state, symbol = _within(arrays["decision_state"], 0, n_states), _within(arrays["decision_symbol"], 0, symbols)
    target = _within(arrays["decision_target"], SPECIAL, n_states)
    _within(arrays["decision_nearest"], UNSEEN, n_states)
    if not np.array_equal(target[promoted], np.arange(SPECIAL, n_states)):
        raise ValueError("its states are not numbered in the order of promotion")
    if len(np.unique(state * symbols + symbol)) < len(state) or steps.ends()[symbol].any():
        raise ValueError("its choices are for repeated transitions, or for those after the end")
    tau = np.full((n_states, symbols), UNSEEN, np.int32)
    tau[:, steps.ends()] = END
    tau[state, symbol] = target
    return tau


def _within(numbers: Array, begin: int, end: int | list[int]) -> Array:
    """Return numbers that kernels use as indices, after checking their range."""
    if ((numbers < begin) | (numbers >= end)).any():
        raise ValueError("it has indices that are out of range")
    return numbers
