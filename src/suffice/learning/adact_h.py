"""AdaCT-H learns the layered automaton of logged episodes (paper, Appendix A).

Layer by layer, every pair of a state and a symbol `ao` is a candidate, with the suffixes that follow it. In descending
order of size, candidates either join the nearest state of the new layer that they are not distinct from, or become
states of their own. Every decision is returned with its evidence. Theory: docs/theory.md, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import repeat
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import STOP
from suffice.data.ends import refuse_cut_off
from suffice.data.episodes import Outline
from suffice.data.groups import group_sizes
from suffice.data.log import SMALL, Log, require_log, room_for_tables
from suffice.data.memory_limit import half_of_memory
from suffice.data.queries import EarlyQuery, NoQuery, Query
from suffice.engines.engine import Engine, running
from suffice.errors import MemoryLimitError, SettingsError, alternatives, gigabytes, parameter
from suffice.evidence.bounds import BOUNDS, Bound
from suffice.evidence.guarantees import Promise
from suffice.evidence.language_counts import LanguageCounts
from suffice.evidence.statistic import AdaptiveReport, CountingPlan, LayerCost, Statistic, SuffixCounts
from suffice.files.checkpoints import NO_CHECKPOINT, CheckpointStage
from suffice.kernels.array_types import Int64
from suffice.learning.memory_needs import automaton_bytes, layer_bytes
from suffice.learning.merging import Candidates, Decision, LayerRecord, Merger, Placement

LEAST_LEVEL = 1e-300  # of a test; smaller ones are not represented


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the automaton learners.

    Parameters
    ----------
    statistic
        How futures are compared: `LanguageCounts` (default), `AdaptiveLanguages`, `PrefixCounts` or `PrefixSketches`.
    bound
        The test that decides whether two samples are distinct. Default: the sharpest valid one that is fast for the
        statistic.
    delta
        Failure probability of each test.
    confidence
        Probability that no test fails; 1 − confidence is divided among all tests. Replaces `delta`.
    cut
        Share of the episodes below which a candidate never becomes a state (AdaCT-H-A).
    threads
        Number of threads.
    memory
        Bytes that tables may take. Default: half of the machine's memory.
    strict
        For stationary automata: compare futures only in ways for which the level of the tests is proved.
    adaptive_logger
        For stationary automata: the logger learned while it acted, so that its choices of actions are not evidence
        about states, only the outcomes of actions are. Logs of `Agent` say so in the column `adaptive_logger`.
    dependence
        Factor by which the evidence of every test is divided because episodes depend on each other. Default: 1, or the
        design effect of the groups if episodes belong to groups.

    Examples
    --------
    >>> frequent = suffice.Settings(bound=suffice.PAPER, cut=0.3)  # rarer candidates never become states
    >>> suffice.learn(episodes, settings=frequent).rdp
    <RDP: 8 states in layers 1 1 2 1 1 1 1>
    """

    statistic: Statistic = field(default_factory=LanguageCounts)
    bound: Bound | None = None
    delta: float = 1e-3
    confidence: float | None = None
    cut: float = 0.0
    threads: int = 1
    memory: int = field(default_factory=half_of_memory)  # bytes
    strict: bool = False
    dependence: float = 1.0
    adaptive_logger: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.statistic, str):
            raise SettingsError(
                f"statistic={self.statistic!r} is only a name. Give Settings an object such as suffice.PrefixCounts()."
            )
        if isinstance(self.bound, str):
            raise SettingsError(
                f"{parameter('bound', self.bound)} is only a name. Give Settings the bound: "
                f"suffice.BOUNDS[{self.bound!r}]."
            )
        if self.bound is not None and (lack := BOUNDS.lack(self.bound)):
            raise SettingsError(
                f"{parameter('bound', self.bound)} is not a bound, because {lack}. Choose {alternatives(BOUNDS)}."
            )
        for name in ("delta", "confidence", "cut", "threads", "memory", "dependence"):
            value = getattr(self, name)
            if not (isinstance(value, Real) or (value is None and name == "confidence")):
                given = f"{name}=None" if value is None else parameter(name, value)
                raise SettingsError(f"{given} is not a number. Leave it out for the default.")
        if not 0 < self.delta < 1:
            raise SettingsError(f"{parameter('delta', self.delta)} is not a probability between 0 and 1. Try 0.001.")
        if self.confidence is not None and not 0 < self.confidence < 1:
            raise SettingsError(
                f"{parameter('confidence', self.confidence)} is not a probability between 0 and 1. Try 0.95."
            )
        if not 0 <= self.cut < 1:
            raise SettingsError(
                f"{parameter('cut', self.cut)} is not a share of the episodes, from 0 to less than 1. Try 0.001."
            )
        if self.threads < 1:
            raise SettingsError(f"{parameter('threads', self.threads)} is not a number of threads. Use 1 or more.")
        if not 1 <= self.dependence < math.inf:
            raise SettingsError(f"dependence={self.dependence} is not a design effect. Use a number of at least 1.")
        if self.memory < 1:
            raise SettingsError(
                f"{parameter('memory', self.memory)} is not a number of bytes. Leave it out for half of the "
                "machine's memory."
            )

    @property
    def chosen_bound(self) -> Bound:
        """The bound in use; by default the one for the statistic (docs/decisions/0002).

        That is Fisher's exact test, but the paper's bound for sketches, because only that allows for their errors.
        """
        return self.bound or self.statistic.usual_bound

    def delta_at(self, horizon: int, candidates: int) -> float:
        """Return the failure probability of one test in a layer.

        Parameters
        ----------
        horizon
            Horizon of the log.
        candidates
            Number of candidates of the layer.

        Returns
        -------
        float
            `delta` or, with a confidence, (1 − confidence) / ((horizon + 1) · candidates).
        """
        return self.delta if self.confidence is None else (1 - self.confidence) / ((horizon + 1) * candidates)

    def of_dependent(self, delta: float) -> float:
        """Return the level of a test on dependent episodes: a p-value counts as its root of the order `dependence`.

        Parameters
        ----------
        delta
            Level of the test for independent episodes.

        Returns
        -------
        float
            δ to the power of `dependence`, but not less than 10⁻³⁰⁰.
        """
        return delta if self.dependence == 1 else max(delta**self.dependence, LEAST_LEVEL)


class Criterion(NamedTuple):
    """Names of the statistic, family and bound that futures were compared with, as in model files."""

    metric: str
    family: str | None
    bound: str


def for_groups(settings: Settings, episodes: Log) -> Settings:
    """Return the settings for a log: with groups, the evidence of tests is divided by their design effect."""
    sizes = group_sizes(episodes, settings.threads) if settings.dependence == 1 else None
    return settings if sizes is None else replace(settings, dependence=max(1.0, sizes.design_effect))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Learned:
    """A learned automaton, with every decision of the learner and its guarantee.

    Attributes
    ----------
    rdp
        The automaton.
    decisions
        The placement of every candidate, with the evidence.
    promise
        The guarantee: a bound on the probability of a false split, and the size of differences that were detectable.
    candidates
        Number of candidates of each layer 1..H+1.
    languages
        Number of languages |X| that were compared in each layer 1..H+1.
    deltas
        Failure probability of each test in each layer 1..H+1.
    forced_share
        Share of the data that joined a state only because its candidate was too rare to become one.
    settings
        Settings of the learner.
    second_look
        Whether the automaton was refined; then the decisions are those of the refinement.
    needed
        For an adaptive comparison, which languages or how many steps were needed to distinguish states.
    criterion
        How futures were compared, if not by the statistic and bound of the settings.
    grouped_observations
        Whether groups of observations were compared, because tables of all of them do not fit into memory.

    Examples
    --------
    >>> learned = suffice.adact_h(episodes)
    >>> learned
    <Learned: <RDP: 11 states in layers 1 1 2 2 2 2 1>, 20 decisions>
    >>> learned.candidates
    (2, 2, 4, 4, 4, 4)
    """

    rdp: RDP
    decisions: tuple[Decision, ...]
    promise: Promise
    candidates: tuple[int, ...]  # [H+1]
    languages: tuple[int, ...]  # [H+1]
    deltas: tuple[float, ...]  # [H+1]
    forced_share: float
    settings: Settings
    second_look: bool = False
    needed: AdaptiveReport | None = None
    criterion: Criterion | None = None
    grouped_observations: bool = False

    def __repr__(self) -> str:
        return f"<Learned: {self.rdp!r}, {len(self.decisions)} decisions>"


def adact_h(
    episodes: Log,
    settings: Settings | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
    *,
    ended_apart: bool = False,
    kept: CheckpointStage = NO_CHECKPOINT,
) -> Learned:
    """Learn the layered automaton of a log with AdaCT-H; with `settings.cut` this is AdaCT-H-A.

    Parameters
    ----------
    episodes
        The logged episodes.
    settings
        How futures are compared and at which level, such as `Settings(PrefixCounts(), confidence=0.95)`. Default:
        `Settings()`.
    progress
        Function called after every layer with the number of finished layers and the number of all layers.
    ended_apart
        Give terminated histories one state in each layer, without a test. The paper tests them like all others.
    kept
        Checkpoint to resume from and to save to. Default: none.

    Returns
    -------
    Learned
        The automaton, all decisions with their evidence, and the guarantee.

    Examples
    --------
    >>> suffice.adact_h(episodes).rdp
    <RDP: 11 states in layers 1 1 2 2 2 2 1>
    >>> suffice.adact_h(episodes, suffice.Settings(bound=suffice.PAPER)).rdp
    <RDP: 8 states in layers 1 1 2 1 1 1 1>
    """
    require_log(episodes)
    refuse_cut_off(episodes)
    settings = for_groups(settings or Settings(), episodes)
    outline = episodes.outline
    room = room_for_tables(settings.memory, episodes)
    plan = settings.statistic.plan(outline, settings.chosen_bound, room)
    threads = settings.threads if plan.divides else 1
    with running(episodes, threads, settings.memory, plan.prepared_bytes(outline.n), plan.rows) as engine:
        return _LayerLearner(outline, settings, plan, engine, ended_apart, room).learn(progress, kept)


def _placed(merger: Merger | None, candidates: Candidates, ended: NDArray[np.bool_]) -> list[Placement]:
    """Place the candidates in their order; without a merger if at most one of them is running.

    Terminated histories have the same future, which no running history has: they share one state, without a test.
    """
    placements: list[Placement] = []
    places: list[int] = []  # place in the layer of each state of the merger
    over: int | None = None
    for c in candidates.order.tolist():
        n_states = len(places) + (over is not None)
        if ended[c]:
            placements.append(
                Placement(n_states, True) if over is None else Placement(over, nearest=over, distance=0.0)
            )
            over = n_states if over is None else over
            continue
        placement = Placement(0, True) if merger is None else merger.place(c)
        if placement.promoted:
            places.append(n_states)
        nearest = None if placement.nearest is None else places[placement.nearest]
        placements.append(placement._replace(target=places[placement.target], nearest=nearest))
    return placements


class _LayerLearner:
    """One run of AdaCT-H over the layers, with the tables built so far."""

    def __init__(
        self, log: Outline, settings: Settings, plan: CountingPlan, engine: Engine, ended_apart: bool, room: int
    ) -> None:
        self._log, self._settings, self._plan, self._engine = log, settings, plan, engine
        self._ended_apart, self._room = ended_apart, room  # bytes for tables
        self._symbols, self._of_letter = log.symbols()
        self._tau: list[Int64] = []  # per layer [Q_t, Y]: places in the next layer
        self._counts: list[Int64] = []  # per layer [Q_t, X]
        self._n_states = 0  # in the layers so far
        self._decisions: list[Decision] = []
        self._candidates: list[int] = []
        self._languages: list[int] = []
        self._needed: list[int] = []  # per layer, the largest rung of an adaptive family
        self._deltas: list[float] = []

    def learn(self, progress: Callable[[int, int], None], kept: CheckpointStage) -> Learned:
        """Learn layer after layer, resuming from a checkpoint."""
        horizon = self._log.horizon
        join, n_states = np.zeros(1, np.int64), 1
        for t in range(horizon + 1):
            self._refuse_if_too_large(n_states)
            counts = self._engine.letters(t, join, n_states)
            candidates = Candidates.of(counts, self._of_letter, len(self._symbols))
            n = len(candidates.sizes)
            layer = LayerRecord.load(kept, t, candidates, self._log.alphabet)
            if layer is None:
                ended = (self._symbols[candidates.symbols, 1] == STOP) & self._ended_apart
                compares = n - int(np.count_nonzero(ended)) > 1
                part = self._count(t, join, candidates, compares)
                layer = self._merge(t + 1, candidates, ended, part, compares)
                layer.save(kept, t)
            else:
                self._engine.advance(t, join, candidates.of_letter, n, NoQuery())
                with kept.validating(t):
                    self._resume_from(layer)
            self._note(layer)
            join = layer.join(candidates)
            n_states = int(join.max()) + 1
            tau = np.full((len(counts), len(self._symbols)), UNSEEN, np.int64)
            tau[candidates.states, candidates.symbols] = join
            self._tau.append(tau)
            self._counts.append(counts)
            progress(t + 1, horizon + 1)
        return self._result()

    def _count(self, t: int, join: Int64, candidates: Candidates, compares: bool) -> Any:
        """Let all episodes read step t, and count their suffixes by candidate if any are compared.

        None if there are no counts, or if they are too large to be made at once.
        """
        n, of_letter = len(candidates.sizes), candidates.of_letter
        if compares and not self._plan.at_once(t + 1, n, self._engine.answers):
            return self._engine.advance(t, join, of_letter, n, NoQuery())
        query: Query[Any] = SuffixCounts(self._plan, t + 1, n) if compares else NoQuery()
        return self._engine.advance(t, join, of_letter, n, query, self._early(t + 2))

    def _early(self, t: int) -> Callable[[int], EarlyQuery[Any]] | None:
        """Return the query for candidates of layer t if it can run early, while the layer before is advanced."""
        if self._plan.again:
            return None
        return partial(SuffixCounts, self._plan, t) if self._plan.rows else lambda n: NoQuery()

    def _refuse_if_too_large(self, n_states: int) -> None:
        """Refuse more states than fit into memory: counts and transitions are dense tables."""
        letters = len(self._log.letters)
        self._n_states += n_states
        table = automaton_bytes(self._n_states, letters)
        needed = table + layer_bytes(n_states, letters, self._engine.answers)
        if table > self._room or needed > max(SMALL, self._room):  # little room to work is always allowed
            raise MemoryLimitError(
                f"the table of {self._n_states:,} states so far and {letters:,} distinct steps needs "
                f"{gigabytes(needed)} and does not fit into {gigabytes(self._room)}. Bin the observations with "
                f"{parameter('bins')}, use fewer columns with {parameter('observations')}, or raise "
                f"{parameter('memory')}."
            )

    def _merge(
        self, t: int, candidates: Candidates, ended: NDArray[np.bool_], part: Any, compares: bool
    ) -> LayerRecord:
        """Place the candidates of layer t, given their counts; unless it `compares`, at most one is running."""
        settings, sizes = self._settings, candidates.sizes
        length = self._log.horizon - t + 1
        delta = settings.of_dependent(settings.delta_at(self._log.horizon, len(sizes)))
        asked = LayerCost(0)
        if length == 0:  # no suffix, so no difference: one final state
            placements = [Placement(0, promoted=True)] + [Placement(0, nearest=0, distance=0.0)] * (len(sizes) - 1)
        elif not compares:
            placements = _placed(None, candidates, ended)
            asked = self._plan.asked(None, length, delta)
        else:
            layer, size = self._plan.layer(t, part, sizes, delta, self._engine), self._plan.size(length, delta)
            merger = Merger(layer, settings.chosen_bound, sizes, size, delta, self._plan.estimates, settings.cut)
            placements = _placed(merger, candidates, ended)
            asked = self._plan.asked(layer, length, delta)
        columns = (column[candidates.order].tolist() for column in (candidates.states, candidates.symbols, sizes))
        figures = {"languages": [str(asked.size)], "needed": [str(asked.rung)], **self._plan.figures()}
        return LayerRecord(tuple(map(Decision, repeat(t), *columns, placements)), figures)

    def _resume_from(self, layer: LayerRecord) -> None:
        """Restore the state of the run after a layer that was loaded from a checkpoint."""
        (size,), (needed,) = ([int(n) for n in layer.figures[name]] for name in ("languages", "needed"))
        self._plan.resume(layer.figures)
        if size < 0 or not -1 <= needed < self._plan.rungs:
            raise ValueError("its number of languages is impossible")

    def _note(self, layer: LayerRecord) -> None:
        """Append the results of a layer."""
        n = len(layer.decisions)
        self._candidates.append(n)
        self._deltas.append(self._settings.delta_at(self._log.horizon, n))
        self._languages += map(int, layer.figures["languages"])
        self._needed += map(int, layer.figures["needed"])
        self._decisions += layer.decisions

    def _result(self) -> Learned:
        log = self._log
        rdp = RDP.of_layers(log.alphabet, log.letters, self._symbols, self._tau, self._counts)
        forced = sum(d.n for d in self._decisions if d.placement.forced)
        return Learned(
            rdp=rdp,
            decisions=tuple(self._decisions),
            promise=self._promise(rdp.n_states),
            candidates=tuple(self._candidates),
            languages=tuple(self._languages),
            deltas=tuple(self._deltas),
            forced_share=forced / (log.total * max(1, log.horizon)),
            settings=self._settings,
            needed=self._plan.report(tuple(self._needed)),
        )

    def _promise(self, n_states: int) -> Promise:
        tested = [d for d in self._decisions if d.placement.threshold is not None]
        merged = sorted((d.placement.detectable or 0.0, d.n) for d in tested if not d.placement.promoted)
        reach = np.cumsum([n for _, n in merged])
        actions, observations, _ = self._log.suffix_alphabet()
        most = max(self._deltas)
        return Promise(
            split=math.fsum(self._deltas[d.layer - 1] for d in tested),
            tests=len(tested),
            detectable=merged[int(np.searchsorted(reach, reach[-1] / 2))][0] if merged else None,
            detectable_worst=merged[-1][0] if merged else None,
            paper=1 - 4 * len(actions) * len(observations) * n_states * most,
        )
