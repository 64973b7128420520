"""Findings of the trial runs of a check, as data and as sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from suffice.errors import parameter
from suffice.models.memory_texts import LAST_OBSERVATION, NO_MEMORY, differences
from suffice.planning.cross_fitting import FEWEST_EPISODES
from suffice.planning.memory_comparison import MemoryComparison

SAME_STATES = 0.02  # relative change in the number of states that counts as none


@dataclass(frozen=True, slots=True)
class Trial:
    """What learning from a sample of a log found, and what learning from all of it will cost."""

    episodes: int  # of the log
    tried: int  # of these
    growth: tuple[tuple[int, int], ...]  # number of episodes, and of the states learned from them
    undecided: int  # merges that were close
    wanted: float | None  # episodes that would decide all of them
    blind: bool  # most merges rest on too few episodes to notice even a large difference
    ambiguous: float  # share of the decisions whose state step and last observation do not determine, in layers
    family: str | None  # the largest that was needed; None if there was no time to try
    languages: tuple[int, ...]  # |X| of the default family, layer by layer; empty if there was no time to count
    seconds: float | None  # to learn from the whole log; None if no run was completed
    bytes: int | None  # None if there was no time to find out
    horizon: int = 0  # of the log
    steps: int = 0  # of these, the first ones that were tried
    compared: int | None = None  # steps of the longest sequences that were compared; None: no limit
    memory: str | None = None  # kind of memory that held-out episodes show; None if there was no time to compare
    memories: MemoryComparison | None = None

    @property
    def states(self) -> int:
        """Return the number of states learned from the whole sample."""
        return self.growth[-1][1] if self.growth else 0

    @property
    def steady(self) -> int:
        """Return how often the last doublings of the episodes did not change the number of states."""
        found = [states for _, states in self.growth]
        steps = [after - before <= SAME_STATES * before for before, after in pairwise(found)]
        return next((i for i, same in enumerate(reversed(steps)) if not same), len(steps))

    @property
    def enough(self) -> bool:
        """Return whether more episodes are unlikely to show more."""
        return self.steady > 1 and not self.undecided and not self.blind

    @property
    def memory_matters(self) -> bool | None:
        """Return whether the last observation is clearly not enough; None if kinds of memory were not compared."""
        if self.memories is None:
            return None
        return self.memory not in (NO_MEMORY, LAST_OBSERVATION) and self.memories.matters

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return sentences about the amount of data and the need of memory."""
        return (self._is_it_enough(), self._is_memory_needed())

    def to_dict(self) -> dict[str, Any]:
        """Return the findings under the keys of `suffice check --json`."""
        return {
            "languages": [0, *self.languages, 0] if self.languages else [],
            "learning_seconds": None if self.seconds is None else round(self.seconds, 3),
            "learning_bytes": self.bytes,
            "episodes_tried": self.tried,
            "steps_tried": self.steps,
            "states_by_episodes": [list(pair) for pair in self.growth],
            "enough": self.enough,
            "undecided_merges": self.undecided,
            "episodes_wanted": None if self.wanted is None else round(self.wanted),
            "memory_matters": self.memory_matters,
            "compared_steps": self.compared,
            "memory": self.memory,
            "memory_comparison": None if self.memories is None else self.memories.to_dict(),
            "family_needed": self.family,
        }

    @property
    def cost(self) -> str:
        """Return what learning will take, in words; empty if nothing is known."""
        if self.seconds is None:
            return ""
        memory = "" if self.bytes is None else f", and {math.ceil(self.bytes / 1e6):,} MB beside the log"
        events = f"; up to {max(self.languages):,} events are compared" if self.languages else ""
        return f"about {float(f'{self.seconds:.2g}'):g} s{memory}{events}"

    def _is_it_enough(self) -> str:
        if not self.growth:
            return f"No trial run was completed in time. Allow more with {parameter('seconds')}."
        grown = ", ".join(f"{states:,} from {episodes:,}" for episodes, states in self.growth)
        grown += f" of {self.episodes:,} episodes" if self.tried < self.episodes else " episodes"
        grown += f", the first {self.steps:,} of {self.horizon:,} steps" if self.steps < self.horizon else ""
        if self.blind:
            return (
                f"Few episodes: most histories are too rare to distinguish states at each step (states in layers: "
                f"{grown}). Log more episodes."
            )
        if self.enough:
            return f"Probably enough: the number of states no longer changes ({grown}), and no merge was close."
        available = self.wanted is not None and self.wanted <= self.episodes  # though not within the sample
        if self.steady or available:
            answer = "Perhaps enough"
        else:
            answer = "All episodes will show more" if self.tried < self.episodes else "More episodes would show more"
        answer += f": states {grown}"
        if self.wanted is not None:
            what = "merge is" if self.undecided == 1 else "merges are"
            answer += f"; {self.undecided:,} {what} undecided, which takes about {self.wanted:,.0f} episodes"
            answer += " (the log has them)" if available else ""
        return f"{answer}. Learn anyway, and evaluate the plan on held-out episodes."

    def _is_memory_needed(self) -> str:
        if self.memories is None:
            return f"Memory: unknown, because there {self._too_little()}."
        if self.memory == NO_MEMORY and self.compared is not None:
            return (
                f"Memory: none found in sequences of up to {max(self.compared, 1)} steps; longer ones were not "
                "compared, because that takes too long."
            )
        if self.memory == NO_MEMORY:
            return "Memory: none needed, because nothing that was observed changes what follows."
        last = self.memories.of(LAST_OBSERVATION)
        if self.memory == LAST_OBSERVATION or last is None:
            return (
                "Memory: the last observation suffices, so methods for Markov decision processes do too. "
                f"Compared on held-out episodes: {', '.join(one.memory for one in self.memories.alternatives)}."
            )
        window = self.memory is not None and self.memory not in ("layers", "cycle")
        kind = f"the {self.memory}" if window else f"a memory of {self._described()},"
        many = "" if window else "s"  # the last k observations are many
        if not self.memories.matters:
            return f"Memory: {kind} predict{many} best, but add{many} nothing clear to the last observation."
        return f"Memory matters: {kind} add{many} {differences(last)} per held-out episode to the last observation."

    def _described(self) -> str:
        own = None if self.memories is None else self.memories.of(self.memories.memory)
        states = "states" if own is None else f"about {own.states:.0f} states"
        return f"{states} in layers, one per step" if self.memory == "layers" else f"{states}, the same at every step"

    def _too_little(self) -> str:
        return "are too few episodes" if 0 < self.tried < FEWEST_EPISODES else "was too little time"
