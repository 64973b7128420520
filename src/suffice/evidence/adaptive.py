"""Adaptive choice of the language family: larger families are used only where smaller ones do not distinguish.

Families form a ladder, from small to large; the last rung, all prefixes, sees every difference. Rung r tests at level
δ·w_r with Σ w_r = 1, so two samples of the same distribution are judged distinct with probability at most δ, whichever
rungs were used (docs/theory.md, section 4).
Rungs above the first are counted when a layer first needs them. A rung that does not fit into memory is left out, and
its share of δ is not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import groupby
from threading import Lock
from typing import Any, ClassVar

from suffice.data.episodes import Episodes, Outline
from suffice.data.listing import listed
from suffice.data.queries import LetterCounts
from suffice.errors import SettingsError, parameter
from suffice.evidence.adaptive_layer import AdaptiveLayer, RungPlan
from suffice.evidence.bounds import Bound
from suffice.evidence.language_counts import LanguageCounts, LanguagePlan, SimpleShard, bytes_of_bits
from suffice.evidence.languages import CONJUNCTIONS, Family, FamilyTooLargeError
from suffice.evidence.prefix_rows import PREFIXES, AllPrefixes, PrefixRowsPlan
from suffice.evidence.statistic import CountingPlan, LayerCost, QueryRunner, Shard, Statistic, StatisticOptions
from suffice.evidence.tables import FAMILIES
from suffice.evidence.word_counts import BackwardAutomaton, WordShard
from suffice.kernels.array_types import Int64, UInt8, UInt32

Rung = Family | AllPrefixes

# first the families that are cheap and distinguish most, then one step along each of i, k and j (docs/decisions/0012),
# then a family that sees every difference (docs/decisions/0041)
LADDER = (Family(1, 1, 1), CONJUNCTIONS, Family(2, 1, 1), Family(1, 1, 2), Family(1, 2, 1), PREFIXES)
ADAPTIVE = "adaptive"  # name in files and on the command line
_NUMBERING_LOCK = Lock()  # shared by threads that number suffixes with one automaton
PATTERN_WORDS = 8  # machine words of 64 patterns per step, of all rungs together
WORD_BYTES = 1 << 27  # memory limit of the membership rows of a rung with words: larger ones are not worth the cost


@dataclass(frozen=True, slots=True)
class AdaptiveLanguages(Statistic):
    """Language families from small to large; a larger one is used where smaller ones do not distinguish two samples.

    Parameters
    ----------
    ladder
        The families, smallest first.

    Examples
    --------
    >>> learned = suffice.adact_h(episodes, suffice.Settings(suffice.AdaptiveLanguages()))
    >>> print(learned.needed.sentence)
    Languages needed: conjunctions in layers 2 to 5. Larger families were not needed.
    """

    name: ClassVar[str] = "languages"
    ladder: tuple[Rung, ...] = LADDER

    def __post_init__(self) -> None:
        if not self.ladder or len(set(self.ladder)) < len(self.ladder):
            raise SettingsError(
                f"{parameter('ladder')}: there are no families, or one occurs twice. List each once, smallest first."
            )

    @property
    def options(self) -> StatisticOptions:
        """The options that create this statistic again."""
        return StatisticOptions(self.name, ADAPTIVE, tuple(map(str, self.ladder)))

    def plan(self, log: Outline, bound: Bound, memory: int) -> AdaptivePlan:
        """Prepare counting on a log.

        Parameters
        ----------
        log
            Alphabet, horizon and size of the log.
        bound
            Test that compares samples.
        memory
            Memory limit in bytes.

        Returns
        -------
        AdaptivePlan
            The plan of counting, with the first rung prepared.
        """
        return AdaptivePlan(self.ladder, log, bound, memory)


def languages_of(options: StatisticOptions) -> LanguageCounts | AdaptiveLanguages:
    """Create the statistic of one family of languages, or of several from small to large."""
    if options.ladder:
        return AdaptiveLanguages(tuple(map(_rung, options.ladder)))
    name = str(CONJUNCTIONS) if options.family is None else options.family
    chosen = FAMILIES[name] if name in FAMILIES else Family.parse(name)
    return AdaptiveLanguages(chosen) if isinstance(chosen, tuple) else LanguageCounts(chosen)


def _rung(name: str) -> Rung:
    return PREFIXES if name == str(PREFIXES) else Family.parse(name)


@dataclass(frozen=True, slots=True)
class FamiliesNeeded:
    """The families that were needed to distinguish states."""

    ladder: tuple[Rung, ...]
    layers: tuple[int, ...]  # layers 1..H+1: the largest rung that distinguished a state, −1 if there is none
    left_out: tuple[object, ...]  # families that do not fit into memory, or their part that does not
    states: tuple[int, ...] = ()  # empty: states are not counted by family

    @property
    def sentence(self) -> str:
        """One or more sentences that name the families of each layer."""
        names = [str(family) for family in self.ladder]
        return languages_needed(names, [names[r] if r >= 0 else None for r in self.layers], map(str, self.left_out))


def languages_needed(ladder: Sequence[str], layers: Sequence[str | None], left_out: Iterable[str]) -> str:
    """Write which families were needed: the largest of each layer from layer 1 on, by name."""
    too_large, places = list(left_out), range(len(ladder))
    used = [r for r in places if ladder[r] in layers]
    parts = [
        f"{_spelt(ladder[r])} in {_ranges([t + 1 for t, name in enumerate(layers) if name == ladder[r]])}" for r in used
    ]
    text = f"Languages needed: {', '.join(parts) or 'none'}."
    if used and any(name not in too_large for name in ladder[used[-1] + 1 :]):
        text += " Larger families were not needed."
    if too_large:
        text += f" Left out, because they take too much memory or time: {', '.join(map(_spelt, too_large))}."
    return text


def _spelt(family: str) -> str:
    return f"X_{family}" if family[:1].isdigit() else family


def _ranges(layers: list[int]) -> str:
    """Write ascending numbers of layers as "layers 1 to 3, 5"."""
    runs = [[t for _, t in run] for _, run in groupby(enumerate(layers), lambda place: place[1] - place[0])]
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    return f"layer{'s' if len(layers) > 1 else ''} {listed(texts)}"


class AdaptivePlan(CountingPlan):
    """The families of a ladder on one log; those above the first are prepared when they are first needed."""

    divides = True
    estimates = False
    again = True
    rows = False

    def __init__(self, ladder: tuple[Rung, ...], log: Outline, bound: Bound, memory: int) -> None:
        self.ladder, self.bound = ladder, bound
        self._log, self._memory = log, memory
        self._plans: dict[int, RungPlan] = {0: self._plan(ladder[0], memory)}
        self._automata: dict[int, BackwardAutomaton] = {}
        self._left_out: set[int] = set()
        self._known: set[int] = set()  # rungs whose distinct futures are known to fit

    def _plan(self, family: Rung, memory: int) -> RungPlan:
        if isinstance(family, AllPrefixes):
            return PrefixRowsPlan(self._log)
        return LanguageCounts(family).plan(self._log, self.bound, memory)

    def size(self, length: int, delta: float) -> int:
        """Return |X| of the first rung; `asked` adds the others that a layer used."""
        return self._plans[0].size(length, delta)

    def shard(self, episodes: Episodes) -> AdaptiveShard:
        """Prepare some of the episodes for counting."""
        return AdaptiveShard(self, episodes)

    def prepared_bytes(self, episodes: int) -> int:
        """Return about the memory of prepared episodes; which rungs will be used is not known yet."""
        return PATTERN_WORDS * bytes_of_bits(64, self._log.horizon) * episodes

    def at_once(self, t: int, n_candidates: int, answers: int) -> bool:
        """Return whether the counts of all candidates on the first rung fit into memory."""
        return self._plans[0].at_once(t, n_candidates, answers)

    def combine(self, parts: list[Any]) -> Any:
        """Add up the parts of several shards on the first rung."""
        return self._plans[0].combine(parts)

    def layer(self, t: int, part: Any, sizes: Int64, delta: float, runner: QueryRunner | None = None) -> AdaptiveLayer:
        """Create the candidates of layer t from their counts."""
        if not delta * self.share(len(self.ladder) - 1):
            raise SettingsError(
                f"{parameter('delta', delta)} is too small to be divided among {len(self.ladder)} families. Raise it, "
                f"or choose one with {parameter('family')}."
            )
        return AdaptiveLayer(self, t, self._log.horizon - t + 1, part, sizes, delta, runner)

    def share(self, r: int) -> float:
        """Return w_r = 2^−(r+1), and for the last rung the same as for the one before: the first rungs lose little."""
        return 0.5 ** min(r + 1, len(self.ladder) - 1)

    def rung(self, r: int) -> RungPlan | None:
        """Return the family of a rung on this log; None if it does not fit into memory."""
        if r not in self._plans and r not in self._left_out:
            family = self.ladder[r]
            room = self._memory - sum(map(self._bytes, self._plans.values()))
            room = room if family.is_simple else min(room, WORD_BYTES)
            try:
                self._plans[r] = self._plan(family, room)
            except FamilyTooLargeError:
                self.leave_out(r)
        return self._plans.get(r)

    def leave_out(self, r: int) -> None:
        """Record that a rung does not fit into memory."""
        self._plans.pop(r, None)
        self._automata.pop(r, None)
        self._left_out.add(r)

    def needs_futures(self, r: int) -> bool:
        """Return whether the distinct futures of a rung with words must still be counted."""
        plan = self._plans[r]
        return r not in self._known and isinstance(plan, LanguagePlan) and not plan.family.is_simple

    def record_futures(self, r: int, futures: int) -> None:
        """Record the number of distinct futures of a rung; raise FamilyTooLargeError if they do not fit.

        The number does not depend on where the episodes are or how they are divided.
        """
        plan = self._plans[r]
        assert isinstance(plan, LanguagePlan), "only words have numbered futures"
        plan.automaton().refuse_if_more(futures)
        self._known.add(r)

    @property
    def rungs(self) -> int:
        """Number of families of the ladder."""
        return len(self.ladder)

    def asked(self, layer: Any, length: int, delta: float) -> LayerCost:
        """Return |X| and the largest rung that the layer needed."""
        return LayerCost(self.size(length, delta)) if layer is None else LayerCost(layer.size, layer.needed)

    def figures(self) -> dict[str, list[str]]:
        """Return the rungs that are in use and those left out, which later layers depend on."""
        return {
            "rungs": [str(r) for r in sorted(self._plans)],
            "left_out": [str(r) for r in sorted(self._left_out)],
            "steps": [str(plan.longest) for plan in self._plans.values() if isinstance(plan, PrefixRowsPlan)],
        }

    def resume(self, figures: Mapping[str, list[str]]) -> None:
        """Continue with the rungs of a checkpoint."""
        rungs, left_out = ([int(r) for r in figures[name]] for name in ("rungs", "left_out"))
        if not {*rungs, *left_out} <= {*range(len(self.ladder))} or 0 in left_out:
            raise ValueError("it names families that the ladder does not have")
        for r in left_out:
            self.leave_out(r)
        for r in rungs:
            plan = self.rung(r)
            if isinstance(plan, PrefixRowsPlan):
                (steps,) = (int(n) for n in figures["steps"])
                if not 0 <= steps <= self._log.horizon:
                    raise ValueError("its length of prefixes is impossible")
                plan.longest = steps

    def shard_of(self, r: int, episodes: Episodes) -> Shard:
        """Prepare some of the episodes for a rung.

        All shards share one automaton, because whether words fit must not depend on how episodes are divided.
        """
        plan = self._plans[r]
        if isinstance(plan, PrefixRowsPlan) or plan.family.is_simple:
            return plan.shard(episodes)
        with _NUMBERING_LOCK:
            return WordShard(self._automata.setdefault(r, plan.automaton()), episodes)

    def report(self, rungs: tuple[int, ...]) -> FamiliesNeeded:
        """Report which families distinguished states."""
        left_out: list[object] = [self.ladder[r] for r in sorted(self._left_out)]
        for plan in self._plans.values():
            if isinstance(plan, PrefixRowsPlan) and plan.longest < self._log.horizon:
                left_out.append(f"prefixes of more than {plan.longest} steps")
        return FamiliesNeeded(self.ladder, rungs, tuple(left_out))

    def _bytes(self, plan: RungPlan) -> int:
        n = self._log.n
        if isinstance(plan, PrefixRowsPlan):
            return plan.prepared_bytes(n)
        return plan.least_bytes(n) if plan.family.is_simple else WORD_BYTES + plan.prepared_bytes(n)


class AdaptiveShard:
    """Some of the episodes, prepared for the rungs used so far."""

    def __init__(self, plan: AdaptivePlan, episodes: Episodes) -> None:
        self._plan, self._episodes = plan, episodes
        self._shards: dict[int, tuple[int, Shard]] = {}
        self._chosen: Int64 | None = None  # episodes that are counted; None: all

    def rung(self, r: int, t: int) -> tuple[int, Shard]:
        """Return the first prepared step and the episodes prepared for a rung.

        Words are numbered only from the step before t, where they are first needed, so that earlier suffixes do not
        fill the table.
        """
        if r not in self._shards:
            since = t - 1 if r else 0
            self._shards[r] = since, self._plan.shard_of(r, self._episodes.columns(slice(None), since))
        return self._shards[r]

    def some(self, chosen: Int64) -> AdaptiveShard:
        """Return the chosen episodes only, prepared with all others."""
        few = copy(self)
        few._chosen = chosen
        return few

    def count_on(self, r: int, t: int, candidate: UInt32, n_candidates: int, met: LetterCounts | None = None) -> Any:
        """Count the suffixes from step t by candidate, on a rung."""
        since, shard = self.rung(r, t)
        if self._chosen is not None:
            assert isinstance(shard, SimpleShard), "words are counted at once"
            shard = shard.some(self._chosen)
        return shard.count(t - since, candidate, n_candidates, met)

    def count(self, t: int, candidate: UInt32, n_candidates: int, met: LetterCounts | None = None) -> Any:
        """Count the suffixes from step t by candidate, on the first rung."""
        return self.count_on(0, t, candidate, n_candidates, met)

    def futures(self, r: int, t: int) -> UInt8:
        """Return the distinct futures from step t on, on a rung with words, as bits."""
        _, shard = self.rung(r, t)
        assert isinstance(shard, WordShard), "only words are numbered"
        return shard.futures()
