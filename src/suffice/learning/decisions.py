"""What became of every candidate and why, as records and as columns of a file."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from suffice.data.alphabet import Alphabet
from suffice.evidence.events import Witness, refuse_strange
from suffice.files.archives import Shape
from suffice.kernels.array_types import Array
from suffice.learning.merging import Placement


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
