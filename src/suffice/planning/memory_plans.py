"""Automata of any kind of memory with plans on them, and the choice of the kind by held-out episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from suffice.automata.rdp import RDP
from suffice.automata.tally import Tally
from suffice.automata.training_ranges import training_ranges
from suffice.data.episodes import Episodes
from suffice.data.log import Log
from suffice.data.possible_returns import reward_ranges
from suffice.data.sampling import sample_of
from suffice.errors import MemoryLimitError
from suffice.files.checkpoints import NO_CHECKPOINT, CheckpointStage
from suffice.learning.adact_h import Learned, Settings
from suffice.learning.memories import Cycle, Layers, MemoryKind, Progress, memories_of, silently
from suffice.planning.backward_induction import unroll_plan
from suffice.planning.memory_comparison import COMPARED_STEPS, ComparedMemories, MemoryComparison, compare_memories
from suffice.planning.objective import RETURN
from suffice.planning.plan import Plan
from suffice.planning.planner import Planning, plan_on
from suffice.planning.subsampling import Bracket, prove, two_fold

FOLD_SEED = 2  # of the folds that judge a plan


@dataclass(frozen=True, slots=True, eq=False)
class PlanMaker:
    """Settings with which automata are learned and plans are made."""

    settings: Settings
    planning: Planning | None  # None: no plans
    rng: np.random.Generator

    def planning_of(self, kind: MemoryKind) -> Planning | None:
        """Return the planning for a kind of memory; layers have a last step, so they have no use for a discount."""
        planning = self.planning
        if planning is None or kind.stationary or planning.endless is None:
            return planning
        return replace(planning, discount=None)

    def make(
        self, kind: MemoryKind, log: Log, progress: Progress = silently, kept: CheckpointStage = NO_CHECKPOINT
    ) -> tuple[Learned, Plan | None]:
        """Learn an automaton of a kind of memory, and make a plan on its layers."""
        learned, planning = kind.learn(log, self.settings, progress, kept), self.planning_of(kind)
        if planning is None:
            return learned, None
        if kind.stationary:
            return learned, plan_stationary(learned.rdp, planning)
        return learned, plan_layers(learned, log, learned.rdp.own_tally(), planning, self.rng)[0]

    def first_that_fits(
        self, kinds: Sequence[MemoryKind], log: Log, progress: Progress, kept: CheckpointStage
    ) -> tuple[MemoryKind, Learned, Plan | None]:
        """Learn with the first of several kinds that the memory suffices for."""
        *others, last = kinds
        for kind in others:
            try:
                return kind, *self.make(kind, log, progress, kept)
            except MemoryLimitError:
                continue
        return last, *self.make(last, log, progress, kept)


def choose_memory(
    log: Log,
    maker: PlanMaker,
    second_look: bool = True,
    progress: Progress = silently,
    watch: Progress = silently,
) -> ComparedMemories | None:
    """Compare kinds of memory on a sample of a log; None if there are too few episodes.

    `watch` is called while each automaton is learned, and may raise an exception to abort.
    """
    settings = maker.settings
    sample = sample_of(log, COMPARED_STEPS, settings.memory, np.random.default_rng(FOLD_SEED), settings.threads)

    def make(kind: MemoryKind, part: Episodes) -> tuple[RDP, Plan | None]:
        learned, plan = maker.make(kind, part, watch)
        return learned.rdp, plan

    kinds = memories_of(log, sample, settings, second_look)
    objective = RETURN if maker.planning is None else maker.planning.aim
    return compare_memories(sample, kinds, make, np.random.default_rng(FOLD_SEED), progress, objective)


class ChosenKinds(NamedTuple):
    """Kinds of memory in the order in which they are tried, and the comparison that led to it."""

    kinds: Sequence[MemoryKind]
    compared: ComparedMemories | None
    progress: Progress  # of what is left to do


def chosen_kinds(
    log: Log, maker: PlanMaker, stationary: bool | Literal["auto"], second_look: bool, progress: Progress
) -> ChosenKinds:
    """Return the kind of memory that was asked for; with "auto" compare kinds, which is half of the progress."""
    if stationary != "auto":
        return ChosenKinds([Cycle() if stationary else Layers(second_look)], None, progress)
    compared = choose_memory(log, maker, second_look, lambda done, of: progress(done, 2 * of))
    usual: MemoryKind = Cycle() if log.censored else Layers(second_look)
    kinds: Sequence[MemoryKind] = [usual] if compared is None else compared.order
    return ChosenKinds(kinds, compared, lambda done, of: progress(of + done, 2 * of))


def learn_memory(
    log: Log,
    settings: Settings,
    stationary: bool | Literal["auto"],
    second_look: bool,
    progress: Progress,
    kept: CheckpointStage,
) -> tuple[Learned, MemoryComparison | None]:
    """Learn an automaton without a plan."""
    maker = PlanMaker(settings, None, np.random.default_rng(0))
    kinds, compared, rest = chosen_kinds(log, maker, stationary, second_look, progress)
    learned = maker.first_that_fits(kinds, log, rest, kept)[1]
    return learned, None if compared is None else compared.comparison


def plan_stationary(rdp: RDP, planning: Planning) -> Plan:
    """Make a plan on the layers of a stationary automaton, over the log's horizon or with a discount."""
    if planning.endless is not None:
        return unroll_plan(rdp, plan_on(rdp, planning))
    return plan_on(rdp.layered(), planning)


def plan_layers(
    learned: Learned, episodes: Log, tally: Tally | None, planning: Planning, rng: np.random.Generator
) -> tuple[Plan, Bracket | None, Log | None]:
    """Make a plan; with subsampling also return its proved bounds, and the episodes that only set sample sizes."""
    rdp = learned.rdp
    if not planning.subsample:
        return plan_on(rdp, planning, tally or rdp.tally(episodes)), None, None
    main, spare, _ = episodes.divide(0.5, rng)
    drawn = two_fold(rdp.tally(main), rdp.tally(spare), planning.delta, rng)
    plan = plan_on(rdp, planning, drawn)
    lower, upper = prove(rdp, plan, drawn, planning.delta)
    low, high = reward_ranges(episodes).joined(training_ranges(rdp)).returns()
    return plan, Bracket(max(lower, low), min(upper, high)), spare
