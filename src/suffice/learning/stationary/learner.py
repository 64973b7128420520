"""Learn a stationary automaton, whose states are the same at every step of an episode.

The learner runs rounds of pointers (`pointers`), each with the labels of the round before (`labels`), until the
automaton repeats; after each round, rare transitions are settled (`settling`). For a long log, rounds run on a sample
of its episodes, and one last round on all; for a very long log, the last round uses as many episodes as fit into
memory, and the others are only counted. Episodes are shuffled first, in an order that depends on their content alone:
neither their order in the log nor where they are stored matters.
Theory: docs/theory.md, section 8; docs/stationary.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.episodes import Episodes, weights
from suffice.data.log import ITSELF, Log, require_log, room_for_tables, run_query
from suffice.data.queries import EpisodesView, added
from suffice.data.sampling import shuffled_sample
from suffice.errors import MemoryLimitError, SettingsError, gigabytes, parameter
from suffice.evidence.guarantees import Promise
from suffice.files.checkpoints import NO_CHECKPOINT, CheckpointStage
from suffice.kernels import walking
from suffice.kernels.array_types import Int32, Int64
from suffice.learning.adact_h import Criterion, Learned, Settings, for_groups
from suffice.learning.merging import Decision, Placement
from suffice.learning.stationary.division import verify
from suffice.learning.stationary.labels import Labelling, PointerLog
from suffice.learning.stationary.pointers import END, START, Choice, Edge, Round, RoundResult
from suffice.learning.stationary.reference import AIC, completed, description, first_reference
from suffice.learning.stationary.rounds import FoundRound, load_round, save_round
from suffice.learning.stationary.verification import Levels, extend

OUTCOMES, E_VALUES = "outcomes", "e-values"  # metric and bound of a stationary automaton
MOST_ROUNDS = 8
IN_VAIN = 2  # rounds in succession that may give no shorter description
EQUAL_LENGTH = 1e-6  # descriptions that differ by less are equal
DEPTH_NAMES = (
    "the next step",
    "two steps",
    "three steps",
    "later steps",
)  # one for each depth of the tree, and one for the automaton
MOST_LOG_STEPS = 1 << 25  # steps of a log; of longer logs only a sample determines the states, and all are counted
ORDER_SEED = 1  # of the order of the episodes
LABEL_SAMPLE = 1 << 12  # episodes, or up to twice as many, that determine the labels
SAMPLE_FROM = 1 << 16  # episodes of logs whose sample's automaton is kept if all episodes confirm it


@dataclass(frozen=True, slots=True)
class Depths:
    """Number of steps ahead that were needed to distinguish states; for layers, ladders of families correspond."""

    ladder: tuple[str, ...]
    layers: tuple[int, ...]  # [1] the largest depth
    left_out: tuple[str, ...]
    states: tuple[int, ...]  # number of states by depth

    @classmethod
    def of(cls, depths: list[int]) -> Depths:
        """Count states from the depth of each of them."""
        return cls.of_states([depths.count(r) for r in range(len(DEPTH_NAMES))])

    @classmethod
    def of_states(cls, states: Sequence[int]) -> Depths:
        """Make a report from the number of states by depth; missing depths have none."""
        by_rung = (*states, *[0] * (len(DEPTH_NAMES) - len(states)))
        return cls(DEPTH_NAMES, (max((r for r, n in enumerate(by_rung) if n), default=-1),), (), by_rung)

    @property
    def sentence(self) -> str:
        """The depths with their numbers of states, as a sentence."""
        parts = [f"{name} ({n})" for name, n in zip(self.ladder, self.states, strict=True) if n]
        return f"States are distinguished by {', '.join(parts)}." if parts else "No states had to be distinguished."


def learn_stationary(
    episodes: Log,
    settings: Settings | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
    kept: CheckpointStage = NO_CHECKPOINT,
) -> Learned:
    """Learn a stationary automaton, which is the same at every step, from logged episodes.

    Parameters
    ----------
    episodes
        The logged episodes, with at least two decisions.
    settings
        Settings of the learner, of which delta, confidence, cut, memory, threads, strict and adaptive_logger are used.
        Default: `Settings()`.
    progress
        Function called with the number of finished rounds and the largest number of rounds.
    kept
        Checkpoint to resume from and to save to. Default: none.

    Returns
    -------
    Learned
        The automaton, all decisions with their evidence, and the guarantee.

    Examples
    --------
    >>> suffice.learn_stationary(episodes).rdp
    <RDP: 8 states in one layer>
    """
    require_log(episodes)
    settings = for_groups(settings or Settings(), episodes)
    if episodes.horizon < 2:
        raise SettingsError(
            f"a stationary automaton needs episodes of at least two decisions, and these have {episodes.horizon}. "
            f"Learn layers instead, without {parameter('stationary', True)}."
        )
    size = -(-episodes.n // max(1, -(-episodes.n * (episodes.horizon + 1) // MOST_LOG_STEPS)))
    steps = size * (episodes.horizon + 1)
    in_memory = isinstance(episodes, Episodes)  # otherwise the limit includes the episodes and the process itself
    needed = 16 * steps if in_memory else ITSELF + 28 * steps
    room = room_for_tables(settings.memory, episodes)
    if needed > (room if in_memory else settings.memory):
        raise MemoryLimitError(
            f"learning a stationary automaton from this log needs about {gigabytes(needed)}, more than the "
            f"{gigabytes(settings.memory)} that it may take. Raise {parameter('memory')}."
        )
    chosen = shuffled_sample(episodes, size, np.random.default_rng(ORDER_SEED), settings.threads)
    stride = max(chosen.n // LABEL_SAMPLE, 1)
    within = replace(settings, memory=room)
    few, found = _sampled(chosen, stride, within, lambda done: progress(done, MOST_ROUNDS + (stride > 1)), kept)
    if stride > 1 or not settings.strict:
        found = _on_all(chosen, few, found, within, kept.part("whole"))
    progress(MOST_ROUNDS + (stride > 1), MOST_ROUNDS + (stride > 1))
    return replace(finished(episodes, settings, found), grouped_observations=few.grouped)


def _sampled(
    chosen: Episodes, stride: int, settings: Settings, progress: Callable[[int], None], kept: CheckpointStage
) -> tuple[PointerLog, FoundRound]:
    """Learn from one episode in `stride`; group observations if tables of all of them do not fit into memory."""
    part = chosen.columns(np.arange(0, chosen.n, stride))
    few = PointerLog.of(part, adaptive=settings.adaptive_logger)
    try:
        return few, _rounds(few, settings, progress, kept.part("rounds"))
    except MemoryLimitError:
        few = PointerLog.of(part, True, settings.adaptive_logger)
        return few, _rounds(few, settings, progress, kept.part("grouped"))


def _on_all(
    chosen: Episodes, few: PointerLog, found: FoundRound, settings: Settings, kept: CheckpointStage
) -> FoundRound:
    """Continue from the automaton of a sample with all episodes, and test every transition on all of them."""
    stride, steps = max(chosen.n // LABEL_SAMPLE, 1), PointerLog.of(chosen, few.grouped, few.adaptive)
    independent = settings.dependence == 1 and chosen.weight is None and settings.cut == 0
    levels = Levels(levels_of(settings), settings.cut * chosen.total, independent)

    def resume(part: PointerLog, tau: Int32) -> RoundResult:
        labelling = Labelling(few, completed(tau), settings.memory)
        return Round(part, labelling, levels.level, levels.least, {}, known=tau).run(again=False)

    candidates = []
    if not settings.strict:
        extended = extend(steps, stride, found, resume) if stride > 1 else found
        candidates = [verify(steps, extended, levels)]
        if stride == 1 or (chosen.n >= SAMPLE_FROM and len(candidates[0].tau) == len(extended.tau)):
            return candidates[0]
    last = load_round(kept, 0, few, chosen.total)
    if last is None:
        labelling = Labelling(few, completed(found.tau), settings.memory)
        last = FoundRound.of(steps, _round(steps, labelling, settings, {}, again=False))
        save_round(kept, 0, last)
    candidates.append(last if settings.strict else verify(steps, last, levels))
    return min(reversed(candidates), key=lambda c: description(steps, completed(c.tau), AIC))


def _rounds(
    steps: PointerLog, settings: Settings, progress: Callable[[int], None], kept: CheckpointStage = NO_CHECKPOINT
) -> FoundRound:
    """Run rounds until an automaton repeats or two do not improve; return that of the shortest description."""
    reference, apart = first_reference(steps), {}  # type: Int32, dict[Edge, Edge]
    known: set[tuple[bytes, tuple[tuple[Edge, Edge], ...]]] = set()
    best, shortest, since = None, math.inf, 0  # type: FoundRound | None, float, int
    for i in range(MOST_ROUNDS):
        again = not settings.strict
        this = load_round(kept, i, steps, steps.episodes.total)
        if this is None:
            labelling = Labelling(steps, reference, settings.memory)
            this = FoundRound.of(steps, _round(steps, labelling, settings, apart, again))
            del labelling  # its tables are large, and the next round makes its own
            save_round(kept, i, this)
        apart = this.apart() if i else {}  # labels by the last observation are too coarse for this
        progress(i + 1)
        reference = completed(this.tau)
        length, since = description(steps, reference), since + 1
        if best is None or length <= shortest + EQUAL_LENGTH:  # of equals the last
            best, shortest, since = this, length, 0 if length < shortest - EQUAL_LENGTH else since
        key = (_renumbered(this.tau).tobytes(), tuple(sorted(apart.items())))
        if key in known or since == IN_VAIN:
            break
        known.add(key)
    assert best is not None
    return best


def _round(
    steps: PointerLog, labelling: Labelling, settings: Settings, apart: dict[Edge, Edge], again: bool
) -> RoundResult:
    """Run one round on a log with the labels of the round before."""
    least = settings.cut * steps.episodes.total
    return Round(steps, labelling, levels_of(settings), least, apart, settings.strict).run(again)


def levels_of(settings: Settings) -> Callable[[int], float]:
    """Return δ of the i-th test; with a confidence its share of 1 − c, by 6/π² Σ 1/i² = 1."""
    if (confidence := settings.confidence) is None:
        return lambda i: settings.of_dependent(settings.delta)
    return lambda i: settings.of_dependent((1 - confidence) * 6 / (math.pi * (i + 1)) ** 2)


def reached_states(tau: Int32) -> list[int]:
    """List the states that histories lead to, breadth first, with START and END."""
    order = [START, END]
    for q in order:
        for target in tau[q].tolist():
            if target != UNSEEN and target not in order:
                order.append(target)
    return order


def _renumbered(tau: Int32) -> Int32:
    """Renumber the states of an automaton in the order in which they are reached."""
    order = reached_states(tau)
    place = np.full(len(tau) + 1, UNSEEN, np.int32)  # the last entry for UNSEEN
    place[order] = np.arange(len(order))
    return np.asarray(place[tau[order]])


def finished(episodes: Log, settings: Settings, found: FoundRound) -> Learned:
    """Make the result, without states that cannot be reached, and with the end, if there is one, as the last state."""
    tau, counts, cut = count_steps(episodes, found.tau, settings.threads)
    kept = [q for q in sorted(reached_states(tau)) if q != END] + [END] * bool((tau == END).any())
    place = np.full(len(tau) + 1, UNSEEN, np.int32)
    place[kept] = np.arange(len(kept))
    symbols, _ = episodes.symbols()
    layers = np.array([len(kept)], np.int64)
    moved = place[tau[kept]], counts[kept], episodes.horizon, cut[kept]
    rdp = RDP(episodes.alphabet, episodes.letters, symbols, layers, *moved)
    decisions = tuple(
        Decision(0, int(place[c.state]), c.symbol, c.n, _renamed(c, tau, place))
        for c in found.outcome.choices
        if place[c.state] != UNSEEN and rdp.tau[place[c.state], c.symbol] != UNSEEN
    )
    tests = [delta ** (1 / settings.dependence) for delta in found.outcome.tests]  # as for independent episodes
    return Learned(
        rdp=rdp,
        decisions=decisions,
        promise=Promise(math.fsum(tests), len(tests), None, None, 1.0, stationary=True, strict=settings.strict),
        candidates=(len(found.outcome.choices),),
        languages=(),
        deltas=(max(tests, default=settings.delta),),
        forced_share=sum(d.n for d in decisions if d.placement.forced) / max(1, sum(d.n for d in decisions)),
        settings=settings,
        needed=Depths.of(found.outcome.depths),
        criterion=Criterion(OUTCOMES, None, E_VALUES),
    )


def count_steps(log: Log, tau: Int32, threads: int) -> tuple[Int32, Int64, Int64]:
    """Return the transitions that the log takes, and counts [Q, X] of all steps before the last and of the last."""
    whole = completed(tau)
    _, of_letter = log.symbols()
    counts, cut = run_query(log, _LetterCounts(whole[:, of_letter]), threads)
    counts[END] += cut[END]  # ended episodes are not cut: padding follows padding
    cut[END] = 0
    taken = np.zeros(tau.shape, bool)
    states, letters = np.nonzero(counts)
    taken[states, of_letter[letters]] = True
    return np.where(taken, whole, UNSEEN).astype(np.int32), counts, cut


class _LetterCounts(NamedTuple):
    """Query that counts [2, Q, X], the letters in each state before the last observed step of an episode and at it."""

    after: Int32  # [Q, X] the next state

    def __call__(self, view: EpisodesView) -> Int64:
        """Count the letters of some episodes; see `Query`."""
        episodes, counts = view.episodes, np.zeros((2, *self.after.shape), np.int64)
        length = np.full(episodes.n, len(episodes.word)) if episodes.length is None else episodes.length
        walking.count_along(self.after, episodes.word, length.astype(np.int64), weights(episodes), counts)
        return counts

    def combine(self, answers: list[Int64]) -> Int64:
        """Add up the counts of parts of the log; see `Query`."""
        return added(answers)


def _renamed(choice: Choice, tau: Int32, place: Int32) -> Placement:
    """Return the placement of a choice with final state numbers; its target is where it was settled."""
    placement = choice.placement
    nearest = None if placement.nearest is None or place[placement.nearest] == UNSEEN else int(place[placement.nearest])
    target = int(place[tau[choice.state, choice.symbol]])
    promoted = placement.promoted and int(place[placement.target]) == target
    return placement._replace(target=target, promoted=promoted, nearest=nearest)
