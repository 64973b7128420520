"""Which family? A ladder of them, climbed only where a smaller one leaves two samples undecided.

Rung r tests at level δ·w_r with Σ w_r = 1, so two equal futures are still told apart with probability at most δ,
whichever rungs were asked. Rungs above the first are prepared and counted when a layer first needs them; one that does
not fit into memory is left out, and its share of δ is not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from threading import Lock
from typing import Any, ClassVar

from suffice.data.episodes import Episodes, Outline
from suffice.data.queries import LetterCounts
from suffice.errors import SettingsError
from suffice.evidence.adaptive_layer import AdaptiveLayer
from suffice.evidence.bounds import Bound
from suffice.evidence.language_counts import LanguageCounts, LanguagePlan, bytes_of_bits
from suffice.evidence.languages import CONJUNCTIONS, Family, FamilyTooLargeError
from suffice.evidence.statistic import CountingPlan, LayerCost, QueryRunner, Shard, Statistic, StatisticOptions
from suffice.evidence.tables import FAMILIES
from suffice.evidence.word_counts import BackwardAutomaton, WordShard
from suffice.kernels.array_types import Int64, UInt8, UInt32

# first what is cheap and sees most, then a step along each of i, k and j (docs/decisions/0012)
LADDER = (Family(1, 1, 1), CONJUNCTIONS, Family(2, 1, 1), Family(1, 1, 2), Family(1, 2, 1))
ADAPTIVE = "adaptive"  # what files and the command line call it
_NUMBERING_LOCK = Lock()  # of threads that number suffixes by one automaton
PATTERN_WORDS = 8  # a step of 64 patterns each, of all rungs together
WORD_BYTES = 1 << 27  # for the membership rows of a rung of words: beyond, they are too many to be worth it


@dataclass(frozen=True, slots=True)
class AdaptiveLanguages(Statistic):
    """Language families from small to large, as many as it takes.

    >>> learned = suffice.adact_h(episodes, suffice.Settings(suffice.AdaptiveLanguages()))
    >>> print(learned.needed.sentence)
    Languages needed: conjunctions in layers 2 to 5; nothing larger was needed.
    """

    name: ClassVar[str] = "languages"
    ladder: tuple[Family, ...] = LADDER

    def __post_init__(self) -> None:
        if not self.ladder or len(set(self.ladder)) < len(self.ladder):
            raise SettingsError("a ladder has one family or more, each once, the smallest first")

    @property
    def options(self) -> StatisticOptions:
        """See `Statistic`."""
        return StatisticOptions(self.name, ADAPTIVE, tuple(map(str, self.ladder)))

    def plan(self, log: Outline, bound: Bound, memory: int) -> AdaptivePlan:
        """See `Statistic`."""
        return AdaptivePlan(self.ladder, log, bound, memory)


def languages_of(options: StatisticOptions) -> LanguageCounts | AdaptiveLanguages:
    """The statistic of one family of languages, or of several from small to large; see `StatisticOptions`."""
    if options.ladder:
        return AdaptiveLanguages(tuple(map(Family.parse, options.ladder)))
    name = str(CONJUNCTIONS) if options.family is None else options.family
    chosen = FAMILIES[name] if name in FAMILIES else Family.parse(name)
    return AdaptiveLanguages(chosen) if isinstance(chosen, tuple) else LanguageCounts(chosen)


@dataclass(frozen=True, slots=True)
class FamiliesNeeded:
    """Which of the families it took to tell states apart."""

    ladder: tuple[Family, ...]
    layers: tuple[int, ...]  # layers 1..H+1: the largest rung that a state owes its being to, −1 if there is none
    left_out: tuple[Family, ...]  # which were too large to ask
    states: tuple[int, ...] = ()  # is not counted by family

    @property
    def sentence(self) -> str:
        """For a person."""
        names = [str(family) for family in self.ladder]
        return languages_needed(names, [names[r] if r >= 0 else None for r in self.layers], map(str, self.left_out))


def languages_needed(ladder: Sequence[str], layers: Sequence[str | None], left_out: Iterable[str]) -> str:
    """Say which families it took, by their names: of those of a ladder the largest of each layer from 1 on."""
    too_large, places = list(left_out), range(len(ladder))
    used = [r for r in places if ladder[r] in layers]
    parts = [
        f"{_spelt(ladder[r])} in {_ranges([t + 1 for t, name in enumerate(layers) if name == ladder[r]])}" for r in used
    ]
    said = f"Languages needed: {', '.join(parts) or 'none'}"
    if used and any(name not in too_large for name in ladder[used[-1] + 1 :]):
        said += "; nothing larger was needed"
    if too_large:
        said += f"; {', '.join(map(_spelt, too_large))} was too large to ask"
    return f"{said}."


def _spelt(family: str) -> str:
    return f"X_{family}" if family[:1].isdigit() else family


def _ranges(layers: list[int]) -> str:
    """Numbers in ascending order, as "layers 1 to 3, 5"."""
    runs = [[t for _, t in run] for _, run in groupby(enumerate(layers), lambda place: place[1] - place[0])]
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    return f"layer{'s' if len(layers) > 1 else ''} {', '.join(texts)}"


class AdaptivePlan(CountingPlan):
    """The families of a ladder on one log, those above the first as soon as they are asked for."""

    divides = True
    estimates = False
    again = True
    rows = False

    def __init__(self, ladder: tuple[Family, ...], log: Outline, bound: Bound, memory: int) -> None:
        self.ladder, self.bound = ladder, bound
        self._log, self._memory = log, memory
        self._plans: dict[int, LanguagePlan] = {0: LanguageCounts(ladder[0]).plan(log, bound, memory)}
        self._automata: dict[int, BackwardAutomaton] = {}
        self._left_out: set[int] = set()
        self._known: set[int] = set()  # rungs that the log is known not to be too varied for

    def size(self, length: int, delta: float) -> int:
        """|X| of the first rung; a layer says which others were asked."""
        return self._plans[0].size(length, delta)

    def shard(self, episodes: Episodes) -> AdaptiveShard:
        """See `CountingPlan`."""
        return AdaptiveShard(self, episodes)

    def prepared_bytes(self, episodes: int) -> int:
        """See `CountingPlan`; which rungs will be asked for is not known, so about."""
        return PATTERN_WORDS * bytes_of_bits(64, self._log.horizon) * episodes

    def combine(self, parts: list[Any]) -> Any:
        """See `CountingPlan`; of the first rung."""
        return self._plans[0].combine(parts)

    def layer(self, t: int, part: Any, sizes: Int64, delta: float, asker: QueryRunner | None = None) -> AdaptiveLayer:
        """See `CountingPlan`."""
        if not delta * self.share(len(self.ladder) - 1):
            raise SettingsError(f"δ = {delta:g} is too small to be divided among {len(self.ladder)} families")
        return AdaptiveLayer(self, t, self._log.horizon - t + 1, part, sizes, delta, asker)

    def share(self, r: int) -> float:
        """w_r = 2^−(r+1), and the last as much as the one before: the first rungs lose little."""
        return 0.5 ** min(r + 1, len(self.ladder) - 1)

    def rung(self, r: int) -> LanguagePlan | None:
        """The family of a rung on this log; None if it does not fit."""
        if r not in self._plans and r not in self._left_out:
            family = self.ladder[r]
            room = self._memory - sum(map(self._bytes, self._plans.values()))
            room = room if family.is_simple else min(room, WORD_BYTES)
            try:
                self._plans[r] = LanguageCounts(family).plan(self._log, self.bound, room)
            except FamilyTooLargeError:
                self.leave_out(r)
        return self._plans.get(r)

    def leave_out(self, r: int) -> None:
        """A rung that turns out not to fit."""
        self._plans.pop(r, None)
        self._automata.pop(r, None)
        self._left_out.add(r)

    def needs_futures(self, r: int) -> bool:
        """Whether the futures that a rung of words tells apart have to be counted."""
        return r not in self._known and not self._plans[r].family.is_simple

    def know(self, r: int, futures: int) -> None:
        """So many futures; refuses them if they do not fit, wherever the episodes are and however divided."""
        self._plans[r].automaton().refuse_if_more(futures)
        self._known.add(r)

    @property
    def rungs(self) -> int:
        """See `CountingPlan`."""
        return len(self.ladder)

    def asked(self, layer: Any, length: int, delta: float) -> LayerCost:
        """See `CountingPlan`."""
        return LayerCost(layer.size, layer.needed)

    def figures(self) -> dict[str, list[str]]:
        """Which rungs were asked for, and which were too large: what comes next depends on it."""
        return {"rungs": [str(r) for r in sorted(self._plans)], "left_out": [str(r) for r in sorted(self._left_out)]}

    def resume(self, figures: Mapping[str, list[str]]) -> None:
        """See `CountingPlan`."""
        rungs, left_out = ([int(r) for r in figures[name]] for name in ("rungs", "left_out"))
        if not {*rungs, *left_out} <= {*range(len(self.ladder))} or 0 in left_out:
            raise ValueError("it asks for families that there are not")
        for r in left_out:
            self.leave_out(r)
        for r in rungs:
            self.rung(r)

    def shard_of(self, r: int, episodes: Episodes) -> Shard:
        """Some of the episodes prepared for a rung; whether words fit must not depend on how episodes are divided, so
        all shards share one automaton.
        """
        plan = self._plans[r]
        if plan.family.is_simple:
            return plan.shard(episodes)
        with _NUMBERING_LOCK:
            return WordShard(self._automata.setdefault(r, plan.automaton()), episodes)

    def report(self, rungs: tuple[int, ...]) -> FamiliesNeeded:
        """See `CountingPlan`."""
        return FamiliesNeeded(self.ladder, rungs, tuple(self.ladder[r] for r in sorted(self._left_out)))

    def _bytes(self, plan: LanguagePlan) -> int:
        n = self._log.n
        return plan.least_bytes(n) if plan.family.is_simple else WORD_BYTES + plan.prepared_bytes(n)


class AdaptiveShard:
    """Some of the episodes, prepared for the rungs asked for so far."""

    def __init__(self, plan: AdaptivePlan, episodes: Episodes) -> None:
        self._plan, self._episodes = plan, episodes
        self._shards: dict[int, tuple[int, Shard]] = {}

    def rung(self, r: int, t: int) -> tuple[int, Shard]:
        """The episodes prepared for a rung, from some step on: words are numbered from before step t, where they are
        asked for first, since what matters no more must not fill their table.
        """
        if r not in self._shards:
            since = t - 1 if r else 0
            self._shards[r] = since, self._plan.shard_of(r, self._episodes.columns(slice(None), since))
        return self._shards[r]

    def count_on(self, r: int, t: int, candidate: UInt32, n_candidates: int, met: LetterCounts | None = None) -> Any:
        """See `Shard`; of a rung."""
        since, shard = self.rung(r, t)
        return shard.count(t - since, candidate, n_candidates, met)

    def count(self, t: int, candidate: UInt32, n_candidates: int, met: LetterCounts | None = None) -> Any:
        """See `Shard`; of the first rung, and others are asked for where a layer needs them."""
        return self.count_on(0, t, candidate, n_candidates, met)

    def futures(self, r: int, t: int) -> UInt8:
        """Those that a rung of words tells apart from step t on, as bits."""
        _, shard = self.rung(r, t)
        assert isinstance(shard, WordShard), "only words are numbered"
        return shard.futures()
