"""A `.POMDP` file as a domain: the tables of the file, seen step by step.

The format shows nothing before the first action, so every episode begins with the observation `start`, a word that no
file can use as a name. Observations that a file only counts are their numbers as text, because a column of a log holds
values of one type. The format knows no end of an episode either: the horizon alone ends it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from suffice.domains.domain import Domain
from suffice.domains.finite import MAX_OUTCOMES, FiniteModel, Observation, Outcome
from suffice.domains.pomdp.reading import Pomdp, read_pomdp
from suffice.errors import ModelError

NOTHING_YET: Observation = ("start",)


@dataclass(frozen=True, slots=True)
class PomdpDomain(Domain):
    """The domain that a file defines, under the uniform policy."""

    DEFAULT_HORIZON: ClassVar[int] = 10
    features: ClassVar[tuple[str, ...]] = ("observation",)

    pomdp: Pomdp

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The domain of a file."""
        return cls(read_pomdp(path))

    @property
    def all_actions(self) -> tuple[Any, ...]:
        """As the file names or numbers them."""
        return self.pomdp.actions

    def start(self) -> list[Outcome]:
        """A state of the first belief, and nothing seen of it."""
        return [Outcome(p, state, NOTHING_YET) for state, p in self.pomdp.start.items()]

    def step(self, state: Any, action: Any) -> list[Outcome]:
        """T(s' | s, a) · O(o | a, s'), with R(a, s, s', o)."""
        pomdp, a, n = self.pomdp, self.pomdp.actions.index(action), len(self.pomdp.states)
        return [
            Outcome(p * q, after, (str(pomdp.observations[o]),), pomdp.rewards.of(a, state, after, o))
            for after, p in pomdp.transitions[a * n + state].items()
            for o, q in pomdp.seen[a * n + after].items()
        ]

    def render(self, state: int | None) -> str:
        """The name of a state."""
        return "the end" if state is None else str(self.pomdp.states[state])

    def model(self, horizon: int | None = None) -> FiniteModel:
        """All of it as tables."""
        if (size := self._size()) > MAX_OUTCOMES:
            reason = f"its states and actions have {size:,} outcomes, more than {MAX_OUTCOMES:,}"
            raise ModelError(f"{self.pomdp.path}: {reason}; use a smaller model")
        if "pad" in self.pomdp.actions:
            raise ModelError(f"{self.pomdp.path}: the action 'pad' stands for padding in logs; rename it")
        return Domain.model(self, horizon)

    def _size(self) -> int:
        """How many outcomes all rows have; rows that are shared are counted once and multiplied."""
        pomdp, n, sizes, size = self.pomdp, len(self.pomdp.states), dict[tuple[int, int], int](), 0
        for cell, row in enumerate(pomdp.transitions):
            a = cell // n
            if (a, id(row)) not in sizes:
                sizes[a, id(row)] = sum(len(pomdp.seen[a * n + after]) for after in row)
            size += sizes[a, id(row)]
        return size
