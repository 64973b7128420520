"""The commands about logs: whether one is enough to learn from, and learning. Heavy imports wait until then."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from cyclopts import Parameter

from suffice.cli.app import app
from suffice.cli.choosing import Stationary, choices_like, counting_by, learn_options
from suffice.cli.names import BoundName, EngineName, FileName, MetricName
from suffice.cli.options import (
    COMPARING,
    DEFAULT_LOG,
    DEFAULT_PLAN,
    RESOURCES,
    WHAT,
    Flag,
    LogOptions,
    Output,
    PlanOptions,
    Whole,
    read,
    read_logs,
    refuse_output,
    words,
)
from suffice.cli.printing import command, complain, named_after, say, say_next
from suffice.cli.saying import (
    describe,
    print_doubts,
    print_json,
    print_promises,
    print_table,
    print_witnesses,
)
from suffice.cli.waiting import peak_bytes, progress_bar, waiting
from suffice.engines.tables import USUAL_ENGINE
from suffice.errors import CheckpointError, SettingsError
from suffice.evidence.tables import USUAL_METRIC
from suffice.files.signals import if_interrupted, is_kept_in

if TYPE_CHECKING:
    from suffice.data.streaming import ExternalReader
    from suffice.learning.memory_choice import Stationarity
    from suffice.models.choices import Choices
    from suffice.models.model import Model


WHAT_TO_LEARN, COMPARED_BY, TAKES = (Parameter(group=group) for group in (WHAT, COMPARING, RESOURCES))


@app.command
def learn(
    log: FileName,
    /,
    *more: FileName,
    output: Annotated[Output, WHAT_TO_LEARN],
    stationary: Annotated[Stationary, WHAT_TO_LEARN] = "no",
    like: Annotated[FileName | None, WHAT_TO_LEARN] = None,
    json: Annotated[Flag, WHAT_TO_LEARN] = False,
    metric: Annotated[MetricName, COMPARED_BY] = USUAL_METRIC,
    family: Annotated[str | None, COMPARED_BY] = None,
    bound: Annotated[BoundName | None, COMPARED_BY] = None,
    delta: Annotated[float | None, COMPARED_BY] = None,
    confidence: Annotated[float | None, COMPARED_BY] = None,
    cut: Annotated[float, COMPARED_BY] = 0.0,
    seed: Annotated[Whole, TAKES] = 0,
    threads: Annotated[Whole | None, TAKES] = None,
    memory: Annotated[str | None, TAKES] = None,
    checkpoint: Annotated[FileName | None, TAKES] = None,
    engine: Annotated[EngineName, TAKES] = USUAL_ENGINE,
    workers: Annotated[Whole | None, TAKES] = None,
    plan: PlanOptions = DEFAULT_PLAN,
    options: LogOptions = DEFAULT_LOG,
) -> None:
    """Learn the automaton behind a log, and plan a policy on it.

    Histories end up in the same state unless their futures differ significantly. How futures are compared is the
    metric: by languages ("north and reward 4 within 5 steps"), by exact prefixes, or by a sketch of prefixes. The plan
    says what to do in each state and what that will bring; try it with suffice evaluate.

    Examples:

        suffice learn log.parquet -o maze.model
        suffice learn log.parquet -o cycle.model --stationary   # for all steps
        suffice learn log.parquet -o held.model --hold-out 0.2  # to evaluate
        suffice learn visits.csv -o visits.model --episode-column patient \\
            --step-column visit --action-column treatment --reward-column outcome

    Parameters
    ----------
    log
        Parquet, Arrow, CSV or JSON lines file, one row per decision or episode; a folder of Parquet files, or a pattern
        of them in quotes; or minari:ID, a Minari dataset.
    more
        Further logs to learn from together with the first. They have its columns and bins; equal ids in two logs are
        two episodes.
    output
        Model file to write.
    metric
        How futures are compared.
    family
        Languages to compare by: conjunctions (the default), I,J,K, such as 1,1,1 (the paper's hierarchy), or adaptive:
        small families first, larger ones where those leave histories undecided.
    bound
        Statistical test. Default: fisher, the sharpest; for sketches paper, whose proof covers estimated counts
        (the others then compare cell by cell: sharper, and slower).
    delta
        Failure probability of each test. Default: 0.001. With --split of everything together; default: 0.05.
    confidence
        Instead of --delta: make no false split at all with this probability, dividing the rest among the tests.
    cut
        Share of the episodes below which a candidate founds no state but joins the nearest (AdaCT-H-A).
    stationary
        Fold time: one automaton for all steps, which may lead back to earlier states. It needs far fewer episodes if
        the process is the same at all times. --stationary alone means yes; --stationary auto tries both on episodes
        held out, and takes what predicts better.
    like
        Learn again as an earlier model was learned: by its test and level, with its kind of plan, horizon and bins. A
        model does not keep its episodes: to add data to it, give its logs and the new ones.
    seed
        Seed of what is random: what auto holds out, the sketch's hash functions, and the halves of a split.
    threads
        Default: all cores; with --engine ray, of each worker, and 1. The result is the same to the bit.
    memory
        What the run may take of it, such as 4GB. A Parquet log that is larger is read in pieces, and kept in a file in
        the temporary folder. Default: half of the machine's. With --engine ray it is for this process; more workers
        need less each.
    checkpoint
        Folder for what has been found so far, layer by layer: the same command goes on from there, however it was
        ended. It is removed once the model is saved.
    engine
        Who counts: this process, or the workers of a Ray cluster, that of RAY_ADDRESS or one on this machine. The log
        is then one in Parquet, where all machines find it. The result is the same to the bit.
    workers
        With --engine ray: how many. Default: one for each CPU of the cluster.
    json
        Print JSON and nothing else.
    """
    from suffice.files.checkpoints import refuse_other_choices, steps_kept
    from suffice.models.choices import describe_choices
    from suffice.models.held_out import note_run
    from suffice.models.model import Model

    chosen = learn_options(metric, family, bound, delta, confidence, cut, stationary, plan, seed, threads, memory)
    logs = (log, *more)
    refuse_output(output, *logs, *filter(None, (like, options.schema)))
    if more and plan.hold_out is not None:
        raise SettingsError("--hold-out is for one log, in which suffice evaluate finds the episodes again; give one")
    earlier = None if like is None else Model.load(like)
    choices = chosen.choices() if earlier is None else choices_like(earlier, chosen, plan)
    folder = None if checkpoint is None else Path(checkpoint)
    counting = counting_by(engine, workers, threads, logs)
    if folder is not None:
        refuse_other_choices(folder, describe_choices(choices))
    before = 0 if folder is None else steps_kept(folder)  # of a run that was ended
    with _told_what_is_kept(folder if before else None):
        learned = _learn(logs, options, earlier, choices, counting, folder)
    with _told_what_is_kept(folder):
        learned.model.save(output)
    note_run(output, learned.seconds, peak_bytes(), logs)
    if folder is not None:
        _forget(folder)
    if json:
        folding = learned.folding
        print_json(describe(learned.model, output) | ({} if folding is None else {"stationarity": folding.summary()}))
        return
    _print_learned(learned, plan)
    if before:
        say(f"The run went on from {before:,} layers or rounds that were kept in {folder}.")
    say(f"Saved to {output}.")
    seen = command("explore", output, "-o", named_after(output, ".html"))
    if learned.model.plan is None:
        say_next(seen, command("info", output, "--states"))
    elif plan.hold_out:
        judged = command("evaluate", output, "--log", log, options=words(replace(options, bin=())))  # it has its bins
        say_next(judged, seen)
    else:
        say_next(seen, command("report", output))


def _told_what_is_kept(folder: Path | None) -> AbstractContextManager[None]:
    """For whoever interrupts, if there is something."""
    return nullcontext() if folder is None else if_interrupted(is_kept_in(folder))


class _TimedRun(NamedTuple):
    """What a run found, and what it took."""

    model: Model
    folding: Stationarity | None  # why time was folded, or not, where that was left to the log
    notes: Sequence[str]  # on how the log was read
    seconds: float


def _learn(
    logs: Sequence[str],
    options: LogOptions,
    earlier: Model | None,
    choices: Choices,
    counting: AbstractContextManager[ExternalReader | None],
    checkpoint: Path | None,
) -> _TimedRun:
    """Read and learn, with bars to watch."""
    from time import perf_counter

    from suffice.data.log import watched
    from suffice.data.streaming import MemoryBudget
    from suffice.models.api import learn_model

    with counting as elsewhere:
        with progress_bar(f"Reading {', '.join(logs)}", "rows") as progress:
            room = MemoryBudget(choices.settings.memory, choices.settings.threads, progress, elsewhere)
            reading = read_logs(logs, options, earlier, room)
        start = perf_counter()
        with progress_bar("Learning", "layers") as progress:
            model, folding = learn_model(reading, choices, watched(reading.episodes, progress), checkpoint)
        return _TimedRun(model, folding, reading.notes, perf_counter() - start)


def _forget(checkpoint: Path) -> None:
    """The model is saved: that a checkpoint stays is no failure any more."""
    from suffice.files.checkpoints import forget

    try:
        forget(checkpoint)
    except CheckpointError as error:
        complain(str(error))


def _print_learned(learned: _TimedRun, plan: PlanOptions) -> None:
    """What was learned, what it promises, and examples of why."""
    model = learned.model
    if learned.folding is not None:
        say(learned.folding.sentence)
        if not model.rdp.stationary and (plan.discount is not None or plan.strict):
            say("--discount and --strict are for an automaton without layers, and have no effect here.")
    say(f"{model.headline} in {learned.seconds:.2f} s")
    print_promises(model)
    print_witnesses(model, 3)
    print_doubts(model, 3)
    for note in learned.notes:
        say(f"{note}.", label="Note:", style="dim")


@app.command
def check(
    log: FileName, /, *, write_schema: FileName | None = None, json: Flag = False, options: LogOptions = DEFAULT_LOG
) -> None:
    """Say what is in a log, and whether it is enough to learn from.

    What is wrong with it is said in one line that names file, row, column and the fix. Parquet, Arrow, CSV and JSON
    lines are read, with a row for each decision or for each episode; usual column names are recognised.

    Examples:

        suffice check log.parquet
        suffice check visits.csv \\
            --columns episode=patient,step=visit,action=treatment,reward=outcome
        suffice check log.parquet --write-schema schema.json  # for --schema

    Parameters
    ----------
    log
        Parquet, Arrow, CSV or JSON lines file, one row per decision or episode; or minari:ID, a Minari dataset.
    write_schema
        Write the log's alphabet to this JSON file, for --schema.
    json
        Print JSON and nothing else.
    """
    from suffice.data.logs.schema import write_schema as save_schema
    from suffice.models.log_check import NO_PROBLEMS, check_episodes

    if write_schema:
        refuse_output(write_schema, log)
        if options.bin:
            raise SettingsError("--write-schema does not go with --bin: no schema can declare bins; bin the log first")
    with waiting(f"Reading {log}"):
        episodes, report = read(log, options)
    if write_schema:
        save_schema(episodes.alphabet, write_schema)
    with progress_bar("Trying a sample", "parts") as progress:
        found = check_episodes(episodes, report, progress)
    if json:
        print_json({"log": log} | found.to_dict())
        return
    print_table(found.contents)
    for note in found.notes:
        say(f"Note: {note}.")
    for sentence in (*found.sentences, NO_PROBLEMS):
        say(sentence)
    say_next(command("learn", log, "-o", named_after(log, ".model"), options=words(options)))
