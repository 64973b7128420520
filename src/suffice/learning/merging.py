"""The greedy rule of AdaCT-H: candidates of a layer, one after the other, join a state or become one.

Every decision is kept with the evidence for it, as records, as columns of a model file and in checkpoints.
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
from suffice.evidence.events import Witness, refuse_strange
from suffice.evidence.statistic import CandidateLayer
from suffice.files.archives import Shape
from suffice.files.checkpoints import CheckpointStage, StepRecord
from suffice.kernels.array_types import Array, Codes, Float, Int64


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The pairs (state, symbol) that occur, ordered by state and symbol."""

    states: Int64  # [C] place in layer t
    symbols: Int64  # [C]
    sizes: Int64  # [C] |Z|
    of_letter: Int64  # [Q_t · X] the candidate of a state and a letter
    order: Int64  # [C] largest first, ties by state, action and observation

    @classmethod
    def of(cls, counts: Int64, symbol_of_letter: Codes, n_symbols: int) -> Candidates:
        """From how often each state met each letter, [Q_t, X]."""
        by_symbol = np.zeros((len(counts), n_symbols), np.int64)
        np.add.at(by_symbol.T, symbol_of_letter, counts.T)
        states, symbols = np.nonzero(by_symbol)
        number = np.zeros_like(by_symbol)
        number[states, symbols] = np.arange(len(states))
        sizes = by_symbol[states, symbols]
        return cls(states, symbols, sizes, number[:, symbol_of_letter].ravel(), np.argsort(-sizes, kind="stable"))


class Placement(NamedTuple):
    """What becomes of a candidate; a tuple, because there is one for every candidate.

    >>> placement = model.decisions[3].placement
    >>> placement.promoted, placement.nearest
    (True, 0)
    >>> suffice.describe_witness(placement.witness, model.rdp.alphabet)
    'within 4 steps, observation = (1, 2, clear): 0.52 against 0.00'
    """

    target: int  # the state it becomes or joins
    promoted: bool = False
    forced: bool = False  # distinct from every state, but too rare to found one (AdaCT-H-A)
    nearest: int | None = None  # the state joined, or the nearest of all; None for the first of a layer
    distance: float | None = None
    threshold: float | None = None
    detectable: float | None = None  # a difference in frequency that would have made them distinct
    witness: Witness | None = None  # the event on which they differ most


class Merger:
    """Places the candidates of a layer in the order given."""

    def __init__(
        self, layer: CandidateLayer, bound: Bound, sizes: Int64, size: int, delta: float, estimates: bool, cut: float
    ) -> None:
        self._layer, self._bound, self._sizes = layer, bound, sizes.tolist()
        self._size, self._delta, self._estimates = size, delta, estimates  # |X|, δ
        self._cut, self._total = cut, int(sizes.sum())  # candidates with a smaller share found no states
        self._n_states = 0
        self._state_sizes = np.zeros_like(sizes)  # room for as many states as there are candidates

    def place(self, c: int) -> Placement:
        """Promote candidate c or let it join the nearest state it is not distinct from."""
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
        """Values between which the threshold for each state lies."""
        sizes, events = self._state_sizes[: self._n_states], self._layer.events
        return self._bound.thresholds(self._sizes[c], sizes, self._size, events, self._delta, self._estimates)

    def _witness(self, c: int, q: int, event: int) -> Witness | None:
        return None if event < 0 else Witness(self._layer.event(event), *self._layer.counts(c, q, event))


class Decision(NamedTuple):
    """What became of one candidate, and why.

    >>> [(decision.layer, decision.n) for decision in model.decisions if decision.placement.promoted][:4]
    [(1, 153), (2, 157), (2, 143), (3, 84)]
    """

    layer: int  # t+1: the layer the candidate would belong to
    state: int  # place in layer t of the state it comes from
    symbol: int  # and the symbol that leads on
    n: int  # |Z|
    placement: Placement

    @property
    def verdict(self) -> Placement:
        """Deprecated alias of `placement`."""
        warnings.warn("Decision.verdict is now Decision.placement", DeprecationWarning, stacklevel=2)
        return self.placement


_PLACES = ("layer", "state", "symbol", "n")


_PLACEMENT = ("target", "promoted", "forced", "nearest", "distance", "threshold", "detectable")


_FLOAT_COLUMNS = ("distance", "threshold", "detectable")


def shapes_of_decisions(n: int | str) -> dict[str, tuple[str, Shape]]:
    """What an archive must have of so many."""
    return {f"decision_{name}": ("f8" if name in _FLOAT_COLUMNS else "i8", (n,)) for name in (*_PLACES, *_PLACEMENT)}


def columns_of(decisions: Sequence[Decision]) -> dict[str, Array]:
    """Decisions as columns, but for their witnesses; −1 and NaN stand for none."""
    places = {f"decision_{name}": np.array([getattr(d, name) for d in decisions], np.int64) for name in _PLACES}
    for name in _PLACEMENT:
        kind, none = (np.float64, math.nan) if name in _FLOAT_COLUMNS else (np.int64, -1)
        values = [getattr(d.placement, name) for d in decisions]
        places[f"decision_{name}"] = np.array([none if v is None else v for v in values], kind)
    return places


def decisions_of(
    arrays: Mapping[str, Array], witnesses: Sequence[Witness | None], alphabet: Alphabet
) -> tuple[Decision, ...]:
    """The same the other way round; witnesses that do not fit are refused with a ValueError."""
    if len(witnesses) != len(arrays["decision_n"]):
        raise ValueError("it lacks witnesses")
    for witness in witnesses:
        refuse_strange(witness, alphabet)
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


class KeptLayer(NamedTuple):
    """What became of the candidates of a layer, in their order, and why."""

    decisions: tuple[Decision, ...]
    figures: dict[str, list[str]]  # whatever else there is to know

    def join(self, candidates: Candidates) -> Int64:
        """[C] the state of the layer that each became or joined."""
        join = np.zeros(len(candidates.sizes), np.int64)
        join[candidates.order] = [decision.placement.target for decision in self.decisions]
        return join

    def founders(self, candidates: Candidates) -> Int64:
        """[Q] the candidate that each state of the layer is founded by."""
        return candidates.order[[decision.placement.promoted for decision in self.decisions]]

    def keep(self, part: CheckpointStage, t: int) -> None:
        """Write it down."""
        if part.folder is None:
            return
        witnesses = [decision.placement.witness for decision in self.decisions]
        part.keep(t, StepRecord(self.figures, witnesses, columns_of(self.decisions)))

    @classmethod
    def recall(cls, part: CheckpointStage, t: int, candidates: Candidates, alphabet: Alphabet) -> KeptLayer | None:
        """Read it again, if the run got so far; refuse what cannot have become of these candidates."""
        if part.folder is None:
            return None
        found = part.recall(t, shapes_of_decisions(len(candidates.sizes)), list[Witness | None])
        if found is None:
            return None
        with part.doubting(t):
            column = {name.removeprefix("decision_"): values for name, values in found.arrays.items()}
            due = {"state": candidates.states, "symbol": candidates.symbols, "n": candidates.sizes}
            same = all(np.array_equal(column[name], of[candidates.order]) for name, of in due.items())
            if not same or (column["layer"] != t + 1).any():
                raise ValueError("it is not of this log")
            promoted, target = column["promoted"] == 1, column["target"]
            states = np.cumsum(promoted)  # so far
            right = np.where(promoted, target == states - 1, (target >= 0) & (target < states))
            if not right.all() or (column["nearest"] >= states).any():
                raise ValueError("it leads to states that do not exist")
            return cls(decisions_of(found.arrays, found.records, alphabet), found.figures)
