"""Trial runs on a sample of a log: how many states there are, whether memory matters, and what learning will cost.

How much a log shows cannot be computed beforehand, so a sample of its episodes is learned from, and parts of the
sample. If states still appear as episodes are added, or merges are undecided, more episodes would show more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np

from suffice.automata.rdp import RDP
from suffice.data.alphabet import STOP
from suffice.data.episodes import Episodes
from suffice.data.log import room_for_tables
from suffice.data.memory_limit import half_of_memory
from suffice.data.threads import ANSWERS_A_THREAD
from suffice.errors import MemoryLimitError, SettingsError, is_number, parameter
from suffice.evidence.adaptive import AdaptiveLanguages
from suffice.evidence.language_counts import LanguageCounts, LanguagePlan
from suffice.evidence.languages import CONJUNCTIONS
from suffice.evidence.statistic import PREPARED
from suffice.learning.adact_h import Learned, Settings, adact_h
from suffice.learning.borderline import borderline_merges
from suffice.learning.layers import learn_layers
from suffice.learning.memories import memories_of
from suffice.learning.memory_needs import automaton_bytes, counts_bytes, refinement_bytes
from suffice.models.choices import all_cores
from suffice.models.memory_texts import memory_of
from suffice.models.trial_findings import Trial
from suffice.planning.cross_fitting import BYTES_A_STEP, MOST_STEPS
from suffice.planning.memory_comparison import ComparedMemories
from suffice.planning.memory_plans import PlanMaker, choose_memory
from suffice.planning.planner import Planning

CHECK_MEMORY = 10**9  # bytes that the trial runs may take
CHECK_SAMPLE = 20_000  # episodes: enough to see how states grow, in a second or two
CHECK_STEPS = 1_000  # of longer episodes only the first steps are tried
FIRST_STEPS = 10  # of small runs that show what more steps will take
WHOLE_RUN = 3  # time of learning with a plan and its verdict, in that of a trial run
SECONDS = 20.0  # default time budget
RUNS_UNTIL, COMPARED_UNTIL, FAMILY_UNTIL = 0.6, 0.88, 0.93  # shares of the budget at which the parts of a check end
MOST_WAITING = 3.0  # elapsed time, in budgets, at which trial runs end on a machine that is busy with other programs
LEAST_SECONDS = 1.0  # for the first run, so that even a small budget shows something
FEWEST = 10  # episodes of a run
FIRST_RUNS = (FEWEST, 100)  # episodes; they show what other runs will take
FIRST_COMPARED, MOST_COMPARED = 1_000, 5_000  # episodes on which kinds of memory are compared, first and then
COMPILED_STEPS = 5  # horizon of a run whose only purpose is to compile
FAMILY_FACTOR = 4  # time of a run with all languages, in that of a usual one
SAMPLE_PARTS = (8, 4, 2)  # fractions of the sample that are learned from to see states grow
UNNOTICED_DIFFERENCE = 0.5  # of frequencies; if most merges would miss it, there are too few episodes
FAMILY_TRIAL_EPISODES = 2_000  # episodes on which all languages are tried
Progress = Callable[[int, int], None]


def silently(done: int, of: int) -> None:
    """Ignore progress; this is the default callback."""


class OutOfTimeError(Exception):
    """The time budget of the trial runs is used up."""


class _Clock:
    """The time budget of the trial runs, of which each part may use a share.

    On a busy machine CPU time counts, so that other programs do not change what is found, up to a few times the budget.
    """

    def __init__(self, seconds: float | None, progress: Progress) -> None:
        self._seconds, self._progress = seconds, progress
        self._begin, self._used = perf_counter(), process_time()
        self._share, self._least = 1.0, 0.0

    def until(self, share: float, least: float = 0.0) -> None:
        """Allow what follows to run until this share of the budget is used, but for at least `least` seconds."""
        self._share, self._least = share, least

    def left(self) -> float:
        """Return the seconds left of the share."""
        if self._seconds is None:
            return math.inf
        elapsed = perf_counter() - self._begin
        spent = max(min(elapsed, process_time() - self._used), elapsed / MOST_WAITING)
        return max(self._share * self._seconds, self._least) - spent

    def stop(self, done: int, of: int) -> None:
        """Abort a run, of which this is the progress callback, at the end of the share."""
        if self.left() <= 0:
            raise OutOfTimeError

    def watch(self, first: float, last: float) -> Progress:
        """Return a callback for a run that takes the progress from `first` to `last`, shares of the whole."""

        def report(done: int, of: int) -> None:
            self._progress(round(100 * (first + (last - first) * done / max(of, 1))), 100)
            if self.left() <= 0:
                raise OutOfTimeError

        report(0, 1)
        return report


class _Run(NamedTuple):
    """A trial run on some of the episodes, with its result and the time it took."""

    sample: Episodes
    learned: Learned
    seconds: float
    asked: bool  # one of the parts of the sample, not a smaller run to see what these would take

    def predicted(self, n: int, steps: int) -> float:
        """Return the seconds that n episodes may take: with new kinds of steps, the square of the ratio."""
        power = 1 if len(self.sample.letters) == steps else 2
        return self.seconds * (n / self.sample.n) ** power


def refuse_budget(seconds: float | None) -> None:
    """Refuse what is not a time budget; None means that time is not limited."""
    if seconds is not None and not (is_number(seconds) and seconds > 0):
        raise SettingsError(f"{parameter('seconds', seconds)} is not a time budget. Use a number above 0.")


def try_sample(
    episodes: Episodes, progress: Progress = silently, seconds: float | None = SECONDS, memory: int | None = None
) -> Trial:
    """Learn from a sample of the episodes and from parts of it, and with all languages from a smaller sample.

    Runs that would exceed the budget are not begun, and one that does exceed it is aborted after a layer. They take at
    most `memory`, by default CHECK_MEMORY, and what learning takes is estimated for as much; by default for what
    `learn` may take. `progress` is called with the percentage done and 100.
    """
    refuse_budget(seconds)
    settings = Settings(memory=memory or min(CHECK_MEMORY, half_of_memory()))
    few = _shorter(_spread(episodes, FEWEST), COMPILED_STEPS).compact()
    for kind in memories_of(few, few, settings):
        kind.learn(few, settings)  # compile first
    clock = _Clock(seconds, progress)
    runs = _growing_runs(_shorter(episodes, _affordable_steps(episodes, settings, clock)), settings, clock)
    complete = bool(runs) and runs[-1].asked and runs[-1].sample.n == min(episodes.n, CHECK_SAMPLE)
    shown = [run for run in runs if run.asked or not complete]
    compared = _compared(shown[-1], settings, clock) if shown else None
    family = _tried_family(shown[-1], settings, clock) if shown else None
    cost = _cost(episodes, shown[-1] if shown else None, settings, clock, memory)
    trial = Trial(
        episodes=episodes.total,
        tried=shown[-1].sample.total if shown else 0,
        growth=tuple((run.sample.total, run.learned.rdp.n_states) for run in shown),
        undecided=0,
        wanted=None,
        blind=True,
        ambiguous=0.0,
        family=family,
        languages=cost.languages,
        seconds=_whole_seconds(shown, episodes, complete),
        bytes=cost.bytes,
        horizon=episodes.horizon,
        steps=shown[-1].sample.horizon if shown else 0,
        memory=None if compared is None else _memory_of_folds(compared),
        memories=None if compared is None else compared.comparison,
    )
    if not shown:
        return trial
    sample, learned, *_ = shown[-1]
    close = borderline_merges(learned.rdp, learned.decisions, sample.total, settings.chosen_bound.measure.power)
    return replace(
        trial,
        undecided=len(close),
        wanted=max(merge.episodes for merge in close) if close else None,
        blind=(learned.promise.detectable or 0.0) > UNNOTICED_DIFFERENCE,
        ambiguous=_ambiguous(learned.rdp),
        compared=learned.promise.second_steps,
    )


def _shorter(episodes: Episodes, most: int) -> Episodes:
    """Cut the episodes to at most this many steps."""
    return episodes if episodes.horizon <= most else episodes.cut(most)


def _affordable_steps(episodes: Episodes, settings: Settings, clock: _Clock) -> int:
    """Return how many steps of the episodes are tried: ten times as many as long as a small run takes little time."""
    few, steps = _spread(episodes, FIRST_RUNS[0]), FIRST_STEPS
    while steps < min(episodes.horizon, CHECK_STEPS):
        start = process_time()
        learn_layers(_shorter(few, steps).compact(), settings)
        if 100 * (process_time() - start) > clock.left():
            break
        steps *= 10
    return min(steps, CHECK_STEPS)


def _growing_runs(episodes: Episodes, settings: Settings, clock: _Clock) -> list[_Run]:
    """Learn from a few episodes, then from parts of a sample and the sample, as far as time and memory allow."""
    sample = min(episodes.n, CHECK_SAMPLE)
    parts = [n for n in (sample // part for part in SAMPLE_PARTS) if n >= FEWEST] + [sample]
    clock.until(RUNS_UNTIL, LEAST_SECONDS)
    runs: list[_Run] = []
    sizes = [min(n, sample) for n in FIRST_RUNS]
    total = sum(sizes + parts)

    def run(n: int, asked: bool) -> _Run:
        some = _spread(episodes, n).compact()  # fewer distinct steps take less time
        done = min(sum(one.sample.n for one in runs) / total, 1)
        report = clock.watch(RUNS_UNTIL * done, RUNS_UNTIL * min(done + n / total, 1))
        start = process_time()
        learned = learn_layers(some, settings, progress=report)
        return _Run(some, learned, process_time() - start, asked)

    try:
        for n in sizes:
            runs.append(run(n, False))
            clock.until(RUNS_UNTIL)
        while parts:
            last, n = runs[-1], parts[0]
            if last.predicted(n, len(episodes.letters)) > clock.left():
                n = 2 * last.sample.n
                if n >= parts[0] or last.predicted(n, len(episodes.letters)) > clock.left():
                    break
            asked = n == parts[0]
            runs.append(run(n, asked))
            parts = parts[1:] if asked else parts
    except OutOfTimeError:
        pass
    except MemoryLimitError:
        if not runs:
            raise
    return runs


def _compared(last: _Run, settings: Settings, clock: _Clock) -> ComparedMemories | None:
    """Compare kinds of memory as `learn` does, on the sample of the last run; None if there is not enough time."""
    clock.until(COMPARED_UNTIL)
    maker, found = PlanMaker(settings, Planning(), np.random.default_rng(0)), None
    few, more = (_spread(last.sample, most) for most in (FIRST_COMPARED, MOST_COMPARED))
    start = process_time()
    for sample in (few, more) if few.n < more.n else (few,):
        if found is not None and (process_time() - start) * sample.n / few.n > clock.left():
            break
        try:
            found = choose_memory(sample.compact(), maker, watch=clock.stop)
        except (OutOfTimeError, MemoryLimitError):
            break
    return found


def _memory_of_folds(compared: ComparedMemories) -> str:
    """Return the kind of memory that the chosen automata have; the last observation may determine their states."""
    kind = compared.order[0]
    if kind.window is not None:
        return kind.name
    found = {memory_of(rdp) for rdp, _ in compared.plans}
    return found.pop() if len(found) == 1 else kind.name


def _tried_family(last: _Run, settings: Settings, clock: _Clock) -> str | None:
    """Return the family that a sample needs; None if there is not enough time to find out."""
    clock.until(FAMILY_UNTIL)
    sample = _spread(last.sample, FAMILY_TRIAL_EPISODES).compact()
    if FAMILY_FACTOR * last.predicted(sample.n, len(sample.letters)) > clock.left():
        return None
    try:
        return _needed_family(sample, settings, clock.watch(RUNS_UNTIL, FAMILY_UNTIL))
    except OutOfTimeError:
        return None


class _Cost(NamedTuple):
    """What learning from the whole log takes, as far as it is known."""

    languages: tuple[int, ...] = ()  # |X| of the default family, layer by layer
    bytes: int | None = None


def _cost(episodes: Episodes, last: _Run | None, settings: Settings, clock: _Clock, memory: int | None) -> _Cost:
    """Plan the comparison of the whole log, which takes time if it has many distinct steps."""
    clock.until(1.0)
    start = process_time()
    if last is not None and len(last.sample.letters) < len(episodes.letters):
        LanguageCounts().plan(last.sample.outline, settings.chosen_bound, settings.memory)
        ratio = len(episodes.letters) / len(last.sample.letters)
        if (process_time() - start) * ratio**2 > clock.left():
            return _Cost()
    plan = LanguageCounts().plan(episodes.outline, settings.chosen_bound, settings.memory)
    return _Cost(
        tuple(plan.size(length, settings.delta) for length in range(episodes.horizon, 0, -1)),
        None if last is None else _learning_bytes(episodes, last, plan, memory),
    )


def _learning_bytes(episodes: Episodes, last: _Run, plan: LanguagePlan, memory: int | None) -> int:
    """Estimate the largest memory that learning layers and a plan from the log takes beside the log and the program.

    Each layer has as many states as the last run showed, and candidates in proportion to the episodes, up to one for
    each state and symbol; steps that were not tried are like the others.
    """
    settings, rdp, n = all_cores(), last.learned.rdp, episodes.n
    room = room_for_tables(memory or settings.memory, episodes)
    letters, symbols, answers = len(episodes.letters), len(episodes.symbols()[0]), ANSWERS_A_THREAD * settings.threads
    longer = (episodes.horizon + 1) / (rdp.horizon + 1)
    n_states = math.ceil(longer * rdp.n_states)
    cells = math.ceil(longer * np.count_nonzero(rdp.counts)) + n_states * rdp.alphabet.n_actions
    states, counting, refining = rdp.layers.tolist(), 0, 0
    for t in range(1, rdp.horizon + 1):
        candidates = min(states[t - 1] * symbols, -(-last.learned.candidates[t - 1] * n // last.sample.n))
        counting = max(counting, counts_bytes(candidates, states[t], plan.columns(t), answers, room))
        refining = max(refining, counts_bytes(candidates, states[t], cells, answers, room))
    prepared = plan.prepared_bytes(n)
    prepared = prepared if 4 * prepared <= room else PREPARED * settings.threads
    first = plan.patterns_bytes + prepared + counting + automaton_bytes(n_states, letters)
    second = refining + refinement_bytes(2 * n_states, letters)
    judged = BYTES_A_STEP * min(n * (episodes.horizon + 1), MOST_STEPS)
    return 12 * n + max(first, second) + judged


def _whole_seconds(runs: Sequence[_Run], episodes: Episodes, complete: bool) -> float | None:
    """Extrapolate the time of the last run to the whole log, by the growth of the last two if not all could run."""
    if not runs:
        return None
    last, power = runs[-1], 1.0
    if not complete and len(runs) > 1:
        ratio = runs[-2].seconds / last.seconds
        power = min(max(math.log(ratio) / math.log(runs[-2].sample.n / last.sample.n), 1.0), 2.0)
    longer = (episodes.horizon + 1) / (last.sample.horizon + 1)
    return float(WHOLE_RUN * last.seconds * longer * (episodes.n / last.sample.n) ** power)


def _spread(episodes: Episodes, most: int) -> Episodes:
    """Take at most this many episodes, evenly spread, because logs are often ordered."""
    if episodes.n <= most:
        return episodes
    return episodes.columns(np.linspace(0, episodes.n - 1, most).astype(np.int64))


def _ambiguous(rdp: RDP) -> float:
    """Return the share of arrivals before a decision whose layer and observation occur in several states."""
    edges, layer = rdp.edges(), rdp.layer_of()
    shown = rdp.symbols[edges.symbol, 1] != STOP
    states, times = edges.target[shown], edges.times[shown]
    seen = layer[states] * rdp.alphabet.n_observations + rdp.symbols[edges.symbol[shown], 1]
    led = np.unique(np.stack([seen, states], axis=1), axis=0)[:, 0]
    several = led[:-1][np.diff(led) == 0]
    return float(times[np.isin(seen, several)].sum() / max(times.sum(), 1))


def _needed_family(episodes: Episodes, settings: Settings, progress: Progress = silently) -> str:
    """Return the largest family that distinguishes states, if there are more of them than with the default one."""
    usual = adact_h(episodes, settings, lambda done, of: progress(done, 4 * of))
    adaptive = replace(settings, statistic=AdaptiveLanguages())
    learned = adact_h(episodes, adaptive, lambda done, of: progress(of + 3 * done, 4 * of))
    assert learned.needed is not None
    rungs = [r for r in learned.needed.layers if r >= 0]
    if not rungs or learned.rdp.n_states <= usual.rdp.n_states:
        return str(CONJUNCTIONS) if rungs else "none"
    return str(learned.needed.ladder[max(rungs)])
