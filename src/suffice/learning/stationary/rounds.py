"""What a round came to, and how a checkpoint keeps it."""

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
    """An automaton and the round it comes from."""

    tau: Int32  # settled
    outcome: RoundResult

    @classmethod
    def of(cls, steps: PointerLog, outcome: RoundResult) -> FoundRound:
        return cls(settle(steps, outcome.tau), outcome)

    def apart(self) -> dict[Edge, Edge]:
        """What proved to be distinct from its state, and has not been settled elsewhere since."""
        tau = self.outcome.tau
        return {edge: founder for edge, founder in self.outcome.apart.items() if self.tau[edge] == tau[edge]}


def keep_round(part: CheckpointStage, i: int, found: FoundRound) -> None:
    """Write a round down; its automaton is that of its choices."""
    outcome = found.outcome
    decisions = [Decision(0, c.state, c.symbol, c.n, c.placement) for c in outcome.choices]
    arrays: dict[str, Array] = {
        "settled": found.tau,
        "tests": np.array(outcome.tests, np.float64),
        "depths": np.array(outcome.depths, np.int64),
        "apart": np.array([[*edge, *founder] for edge, founder in outcome.apart.items()], np.int64).reshape(-1, 4),
    }
    part.keep(i, StepRecord({}, [d.placement.witness for d in decisions], arrays | columns_of(decisions)))


def recall_round(part: CheckpointStage, i: int, steps: PointerLog, total: int) -> FoundRound | None:
    """Read a round of so many episodes again, if the run got so far; refuse what leads to states that there are not."""
    shapes: dict[str, tuple[str, Shape]] = {"settled": ("i", ("Q", len(steps.symbols)))}
    shapes |= {"tests": ("f", ("T",)), "depths": ("i", ("D",)), "apart": ("i", ("K", 4))}
    found = part.recall(i, shapes | shapes_of_decisions("C"), list[Witness | None])
    if found is None:
        return None
    arrays = found.arrays
    with part.doubting(i):
        settled = _within(arrays["settled"], UNSEEN, len(arrays["settled"]))
        if (settled[:, steps.ends()] != END).any():
            raise ValueError("episodes go on after their end")
        _within(arrays["decision_n"], 1, total + 1)
        tau = _tau(arrays, steps)
        if len(tau) != len(settled):
            raise ValueError("its states are not those of its choices")
        apart = _within(arrays["apart"], 0, [*tau.shape, *tau.shape])
        tests, depths = arrays["tests"], _within(arrays["depths"], 0, DEPTH + 1)
        if not ((tests > 0) & (tests < 1)).all():
            raise ValueError("the levels of its tests are no probabilities")
        decisions = decisions_of(arrays, found.records, steps.episodes.alphabet)
    choices = [Choice(d.state, d.symbol, d.n, d.placement) for d in decisions]
    edges: dict[Edge, Edge] = {(a, b): (c, d) for a, b, c, d in apart.tolist()}
    outcome = RoundResult(tau, choices, tests.tolist(), depths.tolist(), edges)
    return FoundRound(settled.astype(np.int32), outcome)


def _tau(arrays: Mapping[str, Array], steps: PointerLog) -> Int32:
    """[Q, Y] where choices lead, each of another transition; those that are promoted found a state."""
    promoted, symbols = arrays["decision_promoted"] == 1, len(steps.symbols)
    n_states = SPECIAL + int(np.count_nonzero(promoted))
    state, symbol = _within(arrays["decision_state"], 0, n_states), _within(arrays["decision_symbol"], 0, symbols)
    target = _within(arrays["decision_target"], SPECIAL, n_states)
    _within(arrays["decision_nearest"], UNSEEN, n_states)
    if not np.array_equal(target[promoted], np.arange(SPECIAL, n_states)):
        raise ValueError("its states are not founded one after the other")
    if len(np.unique(state * symbols + symbol)) < len(state) or steps.ends()[symbol].any():
        raise ValueError("its choices are of transitions that nobody can choose")
    tau = np.full((n_states, symbols), UNSEEN, np.int32)
    tau[:, steps.ends()] = END
    tau[state, symbol] = target
    return tau


def _within(numbers: Array, begin: int, end: int | list[int]) -> Array:
    """Numbers that kernels will take for places."""
    if ((numbers < begin) | (numbers >= end)).any():
        raise ValueError("it has numbers that nothing is counted by")
    return numbers
