"""Learning in one call, from data to a model with a plan.

    model = suffice.learn("log.parquet")
    model = suffice.learn(["old.parquet", "new.parquet"], like=model)

The parameters of `learn` become one `Choices` object (`models.choices`); the command line makes the same object from
its options, so that both give the same model to the byte.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs

from suffice.data.alphabet import Alphabet
from suffice.data.content import BYTES_TO_CHOOSE
from suffice.data.encoding.binning import Binning
from suffice.data.encoding.columns import Columns
from suffice.data.ends import Ends, otherwise, whole_if_assumed
from suffice.data.groups import groups_digest
from suffice.data.loading import Data, Reading, sources_of
from suffice.data.log import ITSELF, ExternalLog, Log, digest
from suffice.data.memory_limit import within_memory
from suffice.data.sampling import sample_of
from suffice.data.streaming import MemoryBudget
from suffice.engines.engine import EngineChoice, EngineOptions, engine_of
from suffice.engines.tables import ENGINES, USUAL_ENGINE
from suffice.errors import SettingsError, gigabytes, parameter, require_function, require_type
from suffice.evidence.bounds import Bound
from suffice.evidence.languages import Family
from suffice.files.checkpoints import NO_CHECKPOINT, CheckpointStage, checkpoint_in, refuse_other_choices
from suffice.learning.adact_h import Learned, Settings
from suffice.learning.memories import Cycle, Window
from suffice.learning.windows import WINDOW
from suffice.models.choices import Choices, describe_choices
from suffice.models.column_choice import columns_chosen_by, read_for_learning, settings_for
from suffice.models.held_out import learned_from, read_like
from suffice.models.learn_options import LearnOptions, Stationary
from suffice.models.log_options import MAX_VALUES, LogOptions
from suffice.models.log_warnings import log_warnings
from suffice.models.model import Model
from suffice.planning.memory_comparison import MemoryComparison
from suffice.planning.memory_plans import FOLD_SEED, learn_memory
from suffice.planning.objective import ObjectiveName
from suffice.planning.planner import Planning
from suffice.planning.regorl import Solution, Split, judge_memory, regorl

COMPARED_ENDS_STEPS = 1 << 16  # steps of the sample by which another assumption about ends is tried

Progress = Callable[[int, int], None]


def _silently(done: int, of: int) -> None:
    """Ignore progress; this is the default callback."""


def learn(
    data: Data,
    *,
    stationary: Stationary | None = None,
    like: Model | str | Path | None = None,
    hold_out: float | None = None,
    plan: bool = True,
    planning: Planning | str | None = None,
    strength: float | None = None,
    discount: float | None = None,
    objective: ObjectiveName | None = None,
    split: Split | bool | None = None,
    accuracy: float | None = None,
    max_states: int | None = None,
    metric: str | None = None,
    family: Family | str | Sequence[int] | None = None,
    bound: Bound | str | None = None,
    delta: float | None = None,
    confidence: float | None = None,
    cut: float | None = None,
    second_look: bool | None = None,
    strict: bool | None = None,
    columns: Columns | Mapping[str, Any] | str | None = None,
    observations: Sequence[str] | str | None = None,
    horizon: int | None = None,
    bins: Mapping[str, Binning | str] | None = None,
    drop_truncated: bool = False,
    ends: Ends = "auto",
    group_column: str | None = None,
    max_values: int = MAX_VALUES,
    schema: Alphabet | str | Path | None = None,
    seed: int = 0,
    threads: int | None = None,
    memory: int | str | None = None,
    checkpoint: str | Path | None = None,
    engine: EngineChoice | str | None = None,
    workers: int | None = None,
    settings: Settings | None = None,
    progress: Progress = _silently,
) -> Model:
    """Learn the automaton behind logged episodes, and plan a policy on it.

    Every option of `suffice learn` is a parameter with the same default; names are the same too, except `planning`
    (`--planner`), `bins` (`--bin`) and `columns` (`--columns` and `--…-column`). Both give the same model
    file. A model does not store its episodes: to add data, pass the old and the new log together.

    Parameters
    ----------
    data
        What `read_log` accepts, `Episodes`, or a list of several of these. Several logs are read with the columns and
        bins of the first and learned from together.
    stationary
        "auto" compares kinds of memory on held-out episodes (nothing, the last observations, layers, an automaton that
        is the same at every step) and takes the best; see `Model.compared`. True learns one automaton for every step,
        False layers, one per step. Default: "auto", but layers if a metric, family, bound, level, cut, split or
        subsampled plan is chosen.
    like
        Earlier model or its file: its test, level, kind of plan, horizon and columns are used unless given here, and
        its bins always.
    hold_out
        Share of the episodes to leave out, such as 0.2; `model.evaluate(data)` finds them again.
    plan
        Whether to plan. False is `--planner none`.
    planning
        Planner: "safe" (default), "pessimistic", "greedy", "subsampled" or "none", or a `Planning`.
    strength
        How cautious the plan is, the factor c of the penalties. Default 0.01; the theory's is 16.
    discount
        With the objective "discounted": factor per step by which rewards count less, such as 0.95. Otherwise, for
        stationary automata: plan without a horizon, with this factor per step, such as 0.99.
    objective
        What is maximised, predicted and compared with the log: "return" (default), the sum of an episode's rewards;
        "discounted", with `discount`; or "per-step", the expected return divided by the expected number of decisions.
    split
        True learns from one half of the log and plans on the other, as in the paper; `delta` is then for everything
        together (default 0.05). Or a `Split`.
    accuracy
        With a split and the subsampled planner: distance from the best policy that is to be proved.
    max_states
        With a split: upper bound on the number of states, among which the paper divides δ. Default 1000.
    metric
        How futures are compared: "languages" (default), "prefixes" or "sketch".
    family
        Languages to compare by: "conjunctions" (default), "adaptive", "I,J,K" such as "1,1,1", or a `Family`.
    bound
        Statistical test: "paper", "two-sample", "likelihood-ratio" or "fisher", or a `Bound`. Default: "fisher", for
        sketches "paper".
    delta
        Failure probability of each test. Default 0.001.
    confidence
        Instead of `delta`: probability of no false split at all; the rest is divided among the tests.
    cut
        Share of the episodes below which a candidate joins the nearest state without a test (AdaCT-H-A). Default 0.
    second_look
        Refine the layers after the AdaCT-H pass. Default: yes, unless a test, a level, a split or no plan is chosen.
    strict
        For stationary automata: compare only in ways whose level is proved. Needs several times the episodes.
    columns
        Names of columns by role: a `Columns`, a dict, or text such as "episode=patient,action=drug". Default: the
        usual names.
    observations
        Names of the observation columns, as a list or separated by commas; "auto": the columns that tell what follows
        (docs/theory.md, section 12), with cuts of numbers; "all": all other columns. Default: "auto", but with at
        most 24 distinct observations all columns unless held-out rewards are predicted better without some; and all if
        bins, a schema, a test, a level of layers or a split is given.
    horizon
        Cut longer episodes to this many decisions. Default: the longest episode.
    bins
        By column: a number of bins, edges, `EqualWidth(8)`, the `Bins` of an earlier report, or text as `--bin` takes.
    drop_truncated
        Leave out episodes that were truncated before the horizon.
    ends
        How episodes end that are shorter than the horizon, if no column marks it: "terminal" (by themselves),
        "censored" (observation stopped) or "auto" (default), which decides by whether anything predicts the end.
    group_column
        Column of the person, site or other group of an episode. Episodes of one group may depend on each other: folds
        keep them together, and standard errors allow for it.
    max_values
        Refuse columns with more distinct values.
    schema
        Alphabet of the log, or the JSON file that declares it.
    seed
        Seed of whatever is random: the hash functions of a sketch, the halves of a split.
    threads
        Number of threads. Default: all cores. The result does not depend on it.
    memory
        Memory that the run may use, in bytes or as text such as "4GB". A larger log is read in pieces. Default:
        half of the machine's.
    checkpoint
        Folder for intermediate results: the same call continues where an interrupted one stopped.
    engine
        "local" (default) or "ray", or an engine such as `Ray(workers=8)`. The result does not depend on it.
    workers
        With `engine="ray"`: number of workers. Default: one per CPU of the cluster.
    settings
        Statistic, bound, level, threads and memory as one `Settings` object, instead of the words above. Words that
        contradict it are refused.
    progress
        Called with the layers done and their number.

    Returns
    -------
    Model
        The automaton, the plan and how they were obtained; `print(model)` begins with the advice.

    Raises
    ------
    LogError
        If the data cannot be read.
    SettingsError
        If parameters are invalid or cannot be combined.

    Examples
    --------
    >>> suffice.learn("log.parquet").headline
    '8 states, the same at every step, from 300 episodes'
    >>> suffice.learn("log.parquet", stationary=False).headline
    '11 states in layers 1 1 2 2 2 2 1, from 300 episodes'
    >>> suffice.learn(["log.parquet", "more.parquet"], like=model).headline
    '11 states in layers 1 1 2 2 2 2 1, from 600 episodes'
    >>> suffice.learn(episodes, stationary=True, confidence=0.99).headline
    '8 states, the same at every step, from 300 episodes'
    >>> suffice.learn(episodes, bound="paper", family="1,1,1", planning="greedy").n_states
    7
    """
    options = LearnOptions(
        settings=settings,
        metric=metric,
        family=family,
        bound=bound,
        delta=delta,
        confidence=confidence,
        cut=cut,
        strict=strict,
        second_look=second_look,
        stationary=stationary,
        plan=plan,
        planning=planning,
        strength=strength,
        discount=discount,
        objective=objective,
        split=split,
        accuracy=accuracy,
        max_states=max_states,
        hold_out=hold_out,
        seed=seed,
        threads=threads,
        memory=memory,
    )
    earlier = Model.load(like) if isinstance(like, str | Path) else like
    require_type("like", earlier, Model | None, "a model. Pass what suffice.load or suffice.learn returns.")
    require_function("progress", progress)
    choices = options.choices(earlier)
    if earlier is not None and horizon is None:
        horizon = earlier.rdp.horizon
    log = LogOptions(
        columns=columns,
        observations=observations,
        horizon=horizon,
        bins=bins,
        drop_truncated=drop_truncated,
        ends=ends,
        group_column=group_column,
        max_values=max_values,
        schema=schema,
    )
    log.refuse_for_episodes(data)
    sources = sources_of(data)
    if hold_out is not None and len(sources) > 1:
        raise SettingsError(
            f"{parameter('hold_out', hold_out)} needs a single log, in which model.evaluate finds the episodes. Pass "
            "one log."
        )
    how = log.read_options(None if earlier is None else earlier.encoder)
    if earlier is not None:
        how = read_like(how, earlier)
    if checkpoint is not None:
        refuse_other_choices(Path(checkpoint), describe_choices(choices))
    chosen = _engine(engine, workers, threads)
    chosen.refuse(*sources)
    with chosen.reading() as elsewhere:
        room = MemoryBudget(choices.settings.memory, choices.settings.threads, elsewhere=elsewhere)
        chosen_by = columns_chosen_by(log, options, earlier)
        read = read_for_learning(
            data, replace(how, horizon=horizon, held_out=hold_out), room, choices.settings, chosen_by, earlier
        )
        return learn_model(read, choices, progress, None if checkpoint is None else Path(checkpoint))


def _engine(engine: EngineChoice | str | None, workers: int | None, threads: int | None) -> EngineChoice:
    """Make the engine of a name with its options; an object has its own."""
    if engine is None or isinstance(engine, str):
        name = USUAL_ENGINE if engine is None else engine
        made: EngineChoice = ENGINES[name](EngineOptions(workers, threads))
        return made
    if workers is not None:
        raise SettingsError(f"{parameter('workers')} is part of the engine {engine!r}. Leave one of them out.")
    return engine_of(engine)


def learn_model(
    read: Reading, choices: Choices, progress: Progress = _silently, checkpoint: Path | None = None
) -> Model:
    """Learn a model from a log that has been read."""
    stages = nullcontext(NO_CHECKPOINT) if checkpoint is None else checkpoint_in(checkpoint, _describe(read, choices))
    with within_memory(choices.settings.memory), stages as stage:
        return _learn_model(read, choices, progress, stage)


def _learn_model(read: Reading, choices: Choices, progress: Progress, stage: CheckpointStage) -> Model:
    if choices.stationary is False:
        episodes, ends = whole_if_assumed(read.episodes, read.ends)
        read = read._replace(episodes=episodes, ends=ends)
    share = choices.hold_out
    choices = replace(choices, settings=settings_for(read.encoder.columns, choices.settings))
    refuse_if_many(read.episodes, choices)
    used = learned_from(read.episodes, share, read.keys)
    result, compared = _learned(used, choices, progress, stage)
    if (read.ends.assumed or read.ends.doubtful) and isinstance(result, Solution) and result.learned.rdp.stationary:
        read = read._replace(ends=replace(read.ends, other_verdict=_other_verdict(used, result, choices.settings)))
    model = Model.of(
        result,
        read.episodes,
        encoder=read.encoder,
        held_out=share or 0.0,
        logs=read.digests,
        compared=compared,
        ends=read.ends,
    )
    if read.found is not None:
        model = replace(model, about=structs.replace(model.about, columns_found=read.found))
    return replace(model, warnings=log_warnings(read.episodes, read.encoder, read.ends))


def _other_verdict(log: Log, result: Solution, settings: Settings) -> str | None:
    """Return the verdict if episodes ended instead of being cut off, or the reverse; None if it is the same.

    Both assumptions are judged on one sample of the log, so that this takes seconds, with the memory of the result;
    None if the sample does not show the verdict of the result, or is not enough to judge a plan. That a part of the log
    shows no difference says nothing of the whole.
    """
    rng, how = np.random.default_rng(FOLD_SEED), result.learned.criterion
    kind = Window(int(how.family or 0)) if how is not None and how.metric == WINDOW else Cycle()
    sample = sample_of(log, COMPARED_ENDS_STEPS, settings.memory, rng, settings.threads)
    if judge_memory(sample, kind, settings, result.planning).code != result.verdict.code:
        return None
    other = judge_memory(otherwise(sample), kind, settings, result.planning)
    unknown = "too_few_episodes" in other.reasons or (other.code == "no difference" and sample.n < log.n)
    return None if unknown or other.code == result.verdict.code else other.code


def refuse_if_many(log: Log, choices: Choices) -> None:
    """Refuse random choices among more episodes than fit into memory by their hashes."""
    needed = ITSELF + BYTES_TO_CHOOSE * log.n
    if isinstance(log, ExternalLog) and choices.at_random and needed > choices.settings.memory:
        raise SettingsError(
            f"{parameter('hold_out')}, {parameter('split')}, {parameter('stationary')} and subsampled plans need "
            f"{gigabytes(needed)} to choose among {log.n:,} episodes. Raise {parameter('memory')}."
        )


def _learned(
    used: Log, choices: Choices, progress: Progress, stage: CheckpointStage
) -> tuple[Learned | Solution, MemoryComparison | None]:
    """Learn the automaton, with a plan if one is chosen, and return the comparison that chose its kind of memory."""
    settings, look, rng = choices.settings, choices.second_look, np.random.default_rng(choices.seed)
    if choices.planning is None:
        return learn_memory(used, settings, choices.stationary, look, progress, stage)
    solution = regorl(
        used,
        settings,
        choices.planning,
        split=choices.split,
        second_look=look,
        stationary=choices.stationary,
        rng=rng,
        progress=progress,
        kept=stage,
    )
    return solution, solution.compared


def _describe(read: Reading, choices: Choices) -> dict[str, object]:
    """Return what the result of a run depends on, for the check of a checkpoint."""
    log, threads = read.episodes, choices.settings.threads
    groups = groups_digest(log, threads)
    return {
        "episodes": log.total,
        "horizon": log.horizon,
        "distinct steps": len(log.letters),
        "content of the log": digest(log, threads=threads),
        **({} if groups is None else {"grouping of the episodes": groups}),
        **describe_choices(choices),
    }
