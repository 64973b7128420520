"""A domain that is defined by a `.POMDP` file.

The format has no observation before the first action, so every episode begins with the observation `start`, a reserved
word that no file can use as a name. If a file gives only the number of observations, they are numbers as text, because
a column of a log has values of one type. The format has no end of an episode either: only the horizon ends episodes.
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
    """Domain of a `.POMDP` file, logged under the uniform policy.

    Parameters
    ----------
    pomdp
        The tables of the file, as `read_pomdp` returns them.
    """

    DEFAULT_HORIZON: ClassVar[int] = 10
    features: ClassVar[tuple[str, ...]] = ("observation",)

    pomdp: Pomdp

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read the domain of a file.

        Parameters
        ----------
        path
            Path of the `.POMDP` file.

        Returns
        -------
        PomdpDomain
            The domain.
        """
        return cls(read_pomdp(path))

    @property
    def all_actions(self) -> tuple[Any, ...]:
        """All actions, as the file names or numbers them."""
        return self.pomdp.actions

    def start(self) -> list[Outcome]:
        """List the possible first states, all with the observation `start`."""
        return [Outcome(p, state, NOTHING_YET) for state, p in self.pomdp.start.items()]

    def step(self, state: Any, action: Any) -> list[Outcome]:
        """List the outcomes of an action: T(s' | s, a) · O(o | a, s') with reward R(a, s, s', o)."""
        pomdp, a, n = self.pomdp, self.pomdp.actions.index(action), len(self.pomdp.states)
        return [
            Outcome(p * q, after, (str(pomdp.observations[o]),), pomdp.rewards.of(a, state, after, o))
            for after, p in pomdp.transitions[a * n + state].items()
            for o, q in pomdp.seen[a * n + after].items()
        ]

    def render(self, state: int | None) -> str:
        """Return the name of a state."""
        return "the end" if state is None else str(self.pomdp.states[state])

    def model(self, horizon: int | None = None) -> FiniteModel:
        """Compute all states and outcomes as tables, if they fit into memory."""
        if (size := self._size()) > MAX_OUTCOMES:
            reason = f"its states and actions have {size:,} outcomes, more than {MAX_OUTCOMES:,}"
            raise ModelError(f"{self.pomdp.path}: {reason}. Use a smaller model.")
        if "pad" in self.pomdp.actions:
            raise ModelError(f"{self.pomdp.path}: the name 'pad' is reserved for padding in logs. Rename the action.")
        return Domain.model(self, horizon)

    def _size(self) -> int:
        """Return the number of outcomes of all rows; the sum of a shared row is computed once."""
        pomdp, n, sizes, size = self.pomdp, len(self.pomdp.states), dict[tuple[int, int], int](), 0
        for cell, row in enumerate(pomdp.transitions):
            a = cell // n
            if (a, id(row)) not in sizes:
                sizes[a, id(row)] = sum(len(pomdp.seen[a * n + after]) for after in row)
            size += sizes[a, id(row)]
        return size
