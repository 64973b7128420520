"""The greedy rule of AdaCT-H, by which candidates of a layer one after the other join a state or become one.

Every decision is stored with its evidence: as records, as columns of a model file, and in checkpoints.
Theory: docs/theory.md, section 2.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from suffice.data.alphabet import Alphabet
from suffice.evidence.bounds import Bound
from suffice.evidence.events import Witness, refuse_invalid_witness
from suffice.evidence.statistic import CandidateLayer, by_size
from suffice.files.archives import Shape
from suffice.files.checkpoints import CheckpointStage, StepRecord
from suffice.kernels.array_types import Array, Codes, Float, Int64


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The pairs of a state and a symbol that occur, ordered by state and symbol."""

    states: Int64  # [C] place of the state in layer t
    symbols: Int64  # [C]
    sizes: Int64  # [C] |Z|, the number of suffixes
    of_letter: Int64  # [Q_t · X] the candidate of a state and a letter
    order: Int64  # [C] largest first, ties by state, action and observation

    @classmethod
    def of(cls, counts: Int64, symbol_of_letter: Codes, n_symbols: int) -> Candidates:
        """Derive the candidates from the counts of letters in each state, [Q_t, X]."""
        by_symbol = np.zeros((len(counts), n_symbols), np.int64)
        np.add.at(by_symbol.T, symbol_of_letter, counts.T)
        states, symbols = np.nonzero(by_symbol)
        number = np.zeros_like(by_symbol)
        number[states, symbols] = np.arange(len(states))
        sizes = by_symbol[states, symbols]
        return cls(states, symbols, sizes, number[:, symbol_of_letter].ravel(), by_size(sizes))


class Placement(NamedTuple):
    """The state that a candidate became or joined, with the evidence.

    Attributes
    ----------
    target
        The state that the candidate became or joined: its place in the layer.
    promoted
        Whether the candidate became a state of its own.
    forced
        Whether the candidate was distinct from every state, but too rare to become one (AdaCT-H-A).
    nearest
        The state that it joined, or the nearest one if it was promoted; None for the first candidate of a layer.
    distance
        The statistic for the nearest state.
    threshold
        The value of the statistic from which on the test decides "distinct".
    detectable
        A difference in frequency that would have been significant.
    witness
        The event on which the candidate and the nearest state differ most.

    Examples
    --------
    >>> placement = model.decisions[3].placement
    >>> placement.promoted, placement.nearest
    (True, 0)
    >>> suffice.describe_witness(placement.witness, model.rdp.alphabet)
    'within 4 steps, observation = (1, 2, clear): 0.52 against 0.00'
    """

    target: int
    promoted: bool = False
    forced: bool = False
    nearest: int | None = None
    distance: float | None = None
    threshold: float | None = None
    detectable: float | None = None
    witness: Witness | None = None


class Merger:
    """Places the candidates of a layer, one after the other."""

    def __init__(
        self, layer: CandidateLayer, bound: Bound, sizes: Int64, size: int, delta: float, estimates: bool, cut: float
    ) -> None:
        self._layer, self._bound, self._sizes = layer, bound, sizes.tolist()
        self._size, self._delta, self._estimates = size, delta, estimates  # |X|, δ
        self._cut, self._total = cut, int(sizes.sum())  # candidates with a smaller share never become states
        self._n_states = 0
        self._state_sizes = np.zeros_like(sizes)  # at most as many states as candidates

    def place(self, c: int) -> Placement:
        """Promote candidate c, or merge it with the nearest state that it is not distinct from."""
        if not self._n_states:
            return Placement(self._promote(c), True)
        found = self._layer.judge(self._bound.kind, c, *self._thresholds(c), self._delta)
        q, size = found.nearest, self._sizes[c]
        detectable = self._bound.detectable(found.widest or found.threshold, size, int(self._state_sizes[q]))
        why = q, found.distance, found.threshold, detectable, self._witness(c, q, found.event)
        if found.alone and size / self._total >= self._cut:
            return Placement(self._promote(c), True, False, *why)
        self._layer.absorb(c, q)
        self._state_sizes[q] += size
        return Placement(q, False, found.alone, *why)

    def _promote(self, c: int) -> int:
        self._layer.promote(c)
        self._state_sizes[self._n_states] = self._sizes[c]
        self._n_states += 1
        return self._n_states - 1

    def _thresholds(self, c: int) -> tuple[Float, Float]:
        """Return lower and upper bounds of the threshold for each state."""
        sizes, events = self._state_sizes[: self._n_states], self._layer.events
        return self._bound.thresholds(self._sizes[c], sizes, self._size, events, self._delta, self._estimates)

    def _witness(self, c: int, q: int, event: int) -> Witness | None:
        return None if event < 0 else Witness(self._layer.event(event), *self._layer.counts(c, q, event))


class Decision(NamedTuple):
    """The placement of one candidate, with its reason.

    Attributes
    ----------
    layer
        Layer t+1 that the candidate belongs to; 0 for a stationary automaton.
    state
        The state that it comes from: its place in layer t.
    symbol
        Number of the symbol that leads on.
    n
        Number of episodes of the candidate, |Z|.
    placement
        The state that it became or joined, with the evidence.

    Examples
    --------
    >>> [(decision.layer, decision.n) for decision in model.decisions if decision.placement.promoted][:4]
    [(1, 153), (2, 157), (2, 143), (3, 84)]
    """

    layer: int
    state: int
    symbol: int
    n: int
    placement: Placement

    @property
    def verdict(self) -> Placement:
        """Deprecated alias of the attribute `placement`."""
        warnings.warn("Decision.verdict is deprecated. Use Decision.placement.", DeprecationWarning, stacklevel=2)
        return self.placement


_PLACES = ("layer", "state", "symbol", "n")


_PLACEMENT = ("target", "promoted", "forced", "nearest", "distance", "threshold", "detectable")


_FLOAT_COLUMNS = ("distance", "threshold", "detectable")


def shapes_of_decisions(n: int | str) -> dict[str, tuple[str, Shape]]:
    """Return names, types and shapes of the arrays of n decisions in an archive."""
    return {f"decision_{name}": ("f8" if name in _FLOAT_COLUMNS else "i8", (n,)) for name in (*_PLACES, *_PLACEMENT)}


def columns_of(decisions: Sequence[Decision]) -> dict[str, Array]:
    """Convert decisions, without their witnesses, to columns; −1 and NaN stand for None."""
    places = {f"decision_{name}": np.array([getattr(d, name) for d in decisions], np.int64) for name in _PLACES}
    for name in _PLACEMENT:
        kind, none = (np.float64, math.nan) if name in _FLOAT_COLUMNS else (np.int64, -1)
        values = [getattr(d.placement, name) for d in decisions]
        places[f"decision_{name}"] = np.array([none if v is None else v for v in values], kind)
    return places


def decisions_of(
    arrays: Mapping[str, Array], witnesses: Sequence[Witness | None], alphabet: Alphabet
) -> tuple[Decision, ...]:
    """Convert columns and witnesses to decisions; raise ValueError for witnesses that do not fit the alphabet."""
    if len(witnesses) != len(arrays["decision_n"]):
        raise ValueError("the number of witnesses is not that of decisions")
    for witness in witnesses:
        refuse_invalid_witness(witness, alphabet)
    columns = {name: arrays[f"decision_{name}"].tolist() for name in (*_PLACES, *_PLACEMENT)} | {"witness": witnesses}
    decisions = []
    for i in range(len(witnesses)):
        row = {name: column[i] for name, column in columns.items()}
        row |= {name: None for name in _FLOAT_COLUMNS if math.isnan(row[name])}
        row |= {"promoted": bool(row["promoted"]), "forced": bool(row["forced"])}
        row["nearest"] = None if row["nearest"] < 0 else row["nearest"]
        placement = Placement(**{name: row[name] for name in (*_PLACEMENT, "witness")})
        decisions.append(Decision(**{name: row[name] for name in _PLACES}, placement=placement))
    return tuple(decisions)


class LayerRecord(NamedTuple):
    """Decisions on the candidates of a layer, in their order, as checkpoints store them."""

    decisions: tuple[Decision, ...]
    figures: dict[str, list[str]]  # further numbers of the learner

    def join(self, candidates: Candidates) -> Int64:
        """Return [C], the state of the layer that each candidate became or joined."""
        join = np.zeros(len(candidates.sizes), np.int64)
        join[candidates.order] = [decision.placement.target for decision in self.decisions]
        return join

    def founders(self, candidates: Candidates) -> Int64:
        """Return [Q], the candidate that became each state of the layer."""
        return candidates.order[[decision.placement.promoted for decision in self.decisions]]

    def save(self, part: CheckpointStage, t: int) -> None:
        """Save the layer to a checkpoint."""
        if part.folder is None:
            return
        witnesses = [decision.placement.witness for decision in self.decisions]
        part.keep(t, StepRecord(self.figures, witnesses, columns_of(self.decisions)))

    @classmethod
    def load(cls, part: CheckpointStage, t: int, candidates: Candidates, alphabet: Alphabet) -> LayerRecord | None:
        """Load a layer from a checkpoint, if there is one; refuse decisions that do not fit these candidates."""
        if part.folder is None:
            return None
        found = part.recall(t, shapes_of_decisions(len(candidates.sizes)), list[Witness | None])
        if found is None:
            return None
        with part.validating(t):
            column = {name.removeprefix("decision_"): values for name, values in found.arrays.items()}
            due = {"state": candidates.states, "symbol": candidates.symbols, "n": candidates.sizes}
            same = all(np.array_equal(column[name], of[candidates.order]) for name, of in due.items())
            if not same or (column["layer"] != t + 1).any():
                raise ValueError("its candidates are not those of this log")
            promoted, target = column["promoted"] == 1, column["target"]
            states = np.cumsum(promoted)  # number of states so far
            right = np.where(promoted, target == states - 1, (target >= 0) & (target < states))
            if not right.all() or (column["nearest"] >= states).any():
                raise ValueError("it leads to states that do not exist")
            return cls(decisions_of(found.arrays, found.records, alphabet), found.figures)
