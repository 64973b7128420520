"""The commands `learn` and `check`, which read logs. Functions import heavy modules when they need them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from suffice.cli.app import app
from suffice.cli.choosing import Stationary, choices_like, counting_by, learn_options
from suffice.cli.learned_output import TimedRun, print_learned
from suffice.cli.names import BoundName, EngineName, FileName, MetricName
from suffice.cli.options import (
    COMMON,
    COMPARING,
    DEFAULT_LEARN_LOG,
    DEFAULT_PLAN,
    RESOURCES,
    RESULT,
    Flag,
    LearnLogOptions,
    Output,
    PlanOptions,
    Whole,
    read_logs,
    reading_options,
    refuse_output,
    words,
)
from suffice.cli.output import describe, print_json, print_table
from suffice.cli.printing import command, complain, named_after, say, say_next
from suffice.cli.progress import peak_bytes, progress_bar, waiting
from suffice.data.memory_limit import keep_to_memory
from suffice.engines.tables import USUAL_ENGINE
from suffice.errors import CheckpointError, SettingsError
from suffice.files.signals import if_interrupted, resume_message

if TYPE_CHECKING:
    from suffice.data.ends import LogEnds
    from suffice.data.streaming import ExternalReader
    from suffice.models.choices import Choices
    from suffice.models.learn_options import LearnOptions
    from suffice.models.model import Model


IN_COMMON, IN_RESULT, IN_COMPARING, IN_RESOURCES = (
    Parameter(group=group) for group in (COMMON, RESULT, COMPARING, RESOURCES)
)


@app.command
def learn(
    log: FileName,
    /,
    *more: FileName,
    output: Annotated[Output, IN_COMMON],
    stationary: Annotated[Stationary | None, IN_COMMON] = None,
    why: Annotated[Flag, IN_RESULT] = False,
    json: Annotated[Flag, IN_RESULT] = False,
    like: Annotated[FileName | None, IN_COMPARING] = None,
    metric: Annotated[MetricName | None, IN_COMPARING] = None,
    family: Annotated[str | None, IN_COMPARING] = None,
    bound: Annotated[BoundName | None, IN_COMPARING] = None,
    delta: Annotated[float | None, IN_COMPARING] = None,
    confidence: Annotated[float | None, IN_COMPARING] = None,
    cut: Annotated[float | None, IN_COMPARING] = None,
    seed: Annotated[Whole, IN_RESOURCES] = 0,
    threads: Annotated[Whole | None, IN_RESOURCES] = None,
    memory: Annotated[str | None, IN_RESOURCES] = None,
    checkpoint: Annotated[FileName | None, IN_RESOURCES] = None,
    engine: Annotated[EngineName, IN_RESOURCES] = USUAL_ENGINE,
    workers: Annotated[Whole | None, IN_RESOURCES] = None,
    plan: PlanOptions = DEFAULT_PLAN,
    options: LearnLogOptions = DEFAULT_LEARN_LOG,
) -> None:
    """Learn an automaton from a log, and plan a policy on it.

    Two histories lead to the same state unless their futures differ significantly. The plan gives an action for each
    state and its expected return. Without options the log needs only columns with usual names.

    Examples:

        suffice learn log.parquet -o maze.model
        suffice learn log.parquet -o layers.model --stationary no
        suffice learn log.parquet -o held.model --hold-out 0.2
        suffice learn visits.csv -o visits.model \\
            --columns episode=patient,step=visit,action=treatment,reward=outcome

    Parameters
    ----------
    log
        Parquet, Arrow, CSV or JSON lines file with one row per decision or per episode, a folder of them, a quoted
        pattern such as 'part-*.parquet', or minari:ID for a Minari dataset.
    more
        Further logs, read with the columns and bins of the first. Equal episode ids in two logs are two episodes.
    output
        Model file to write.
    stationary
        auto (default): compare kinds of memory on held-out episodes (nothing, the last observations, layers, one
        automaton for every step), and take the best. yes, or --stationary alone: one automaton that is the same at
        every step. no: one layer of states per step. A metric, family, test, level, cut, split or subsampled plan needs
        layers, so it implies no.
    why
        Also print the full guarantee, events that distinguish states, and undecided merges.
    json
        Print JSON and nothing else.
    like
        Use the test, level, kind of plan, horizon and bins of an earlier model. To add data to a model, pass its logs
        and the new ones: a model does not contain its episodes.
    metric
        How futures are compared: by languages ("north and reward 4 within 5 steps"; default), exact prefixes, or a
        sketch of prefix counts.
    family
        Languages to compare by: conjunctions (default), I,J,K such as 1,1,1 (hierarchy of the paper), or adaptive
        (small families first, larger ones where histories stay undecided).
    bound
        Statistical test. Default: fisher; with --metric sketch: paper, whose proof covers estimated counts.
    delta
        Failure probability of each test. Default: 0.001. With --split: of everything together; default: 0.05.
    confidence
        Instead of --delta: probability that no test makes a false split.
    cut
        Share of the episodes below which a candidate does not become a state but joins the nearest one (AdaCT-H-A).
        Default: 0.
    seed
        Seed of everything random: hash functions of the sketch, halves of --split.
    threads
        Number of threads. Default: all cores; with --engine ray: 1 per worker. The result does not depend on it.
    memory
        Memory that the run may use, such as 4GB. Default: half of the machine's. Larger logs are read in pieces
        and stored in the temporary folder.
    checkpoint
        Folder for intermediate results. The same command continues from there if it was stopped. The folder is removed
        when the model is saved.
    engine
        local: count in this process. ray: count on the workers of a Ray cluster (RAY_ADDRESS, or one on this machine);
        all machines must see the Parquet log. The result is the same.
    workers
        Number of workers with --engine ray. Default: one per CPU of the cluster.
    """
    from suffice.files.checkpoints import refuse_other_choices, stored_steps
    from suffice.files.run_notes import notes_path
    from suffice.models.choices import describe_choices
    from suffice.models.held_out import note_run
    from suffice.models.memory_texts import stationarity_json
    from suffice.models.model import Model

    chosen = learn_options(metric, family, bound, delta, confidence, cut, stationary, plan, seed, threads, memory)
    logs = (log, *more)
    for file in (output, str(notes_path(output))):
        refuse_output(file, *logs, *filter(None, (like, options.schema)))
    if more and plan.hold_out is not None:
        raise SettingsError(
            "--hold-out needs a single log, in which suffice evaluate finds the episodes. Pass one log."
        )
    earlier = None if like is None else Model.load(like)
    choices = chosen.choices() if earlier is None else choices_like(earlier, chosen, plan)
    folder = None if checkpoint is None else Path(checkpoint)
    counting = counting_by(engine, workers, threads, logs)
    if folder is not None:
        refuse_other_choices(folder, describe_choices(choices))
    before = 0 if folder is None else stored_steps(folder)  # of an earlier run that was stopped
    with _reporting_checkpoint(folder if before else None):
        learned = _learn(logs, options, earlier, choices, counting, folder, chosen)
    with _reporting_checkpoint(folder):
        learned.model.save(output)
    note_run(output, learned.seconds, peak_bytes(), logs, learned.model.warnings)
    if folder is not None:
        _remove_checkpoint(folder)
    if json:
        found = stationarity_json(learned.model.about) if stationary == "auto" else None
        print_json(describe(learned.model, output) | ({} if found is None else {"stationarity": found}))
        return
    notes = [*(warning.text for warning in learned.model.warnings), *learned.notes, *_ignored_options(learned, plan)]
    if before:
        notes.append(f"this run continued from {before:,} layers or rounds in {folder}")
    following = _next_commands(learned.model, output, log, plan, options)
    print_learned(learned, output, notes, following, why)


def _next_commands(model: Model, output: str, log: str, plan: PlanOptions, options: LearnLogOptions) -> list[str]:
    explore = command("explore", output, "-o", named_after(output, ".html"))
    if model.plan is None:
        return [explore, command("info", output, "--states")]
    if plan.hold_out:
        given = words(replace(options, bin=()))  # the model has the bins
        return [command("evaluate", output, "--log", log, options=given), explore]
    return [explore, command("report", output)]


def _ignored_options(learned: TimedRun, plan: PlanOptions) -> list[str]:
    layered = bool(learned.model.about.compared) and not learned.model.rdp.stationary
    return ["--discount and --strict have no effect on layers"] if layered and (plan.discount or plan.strict) else []


def _reporting_checkpoint(folder: Path | None) -> AbstractContextManager[None]:
    """Name the checkpoint folder in the message that a user sees after interrupting the block."""
    return nullcontext() if folder is None else if_interrupted(resume_message(folder))


def _learn(
    logs: Sequence[str],
    options: LearnLogOptions,
    earlier: Model | None,
    choices: Choices,
    counting: AbstractContextManager[ExternalReader | None],
    checkpoint: Path | None,
    chosen: LearnOptions,
) -> TimedRun:
    """Read the logs and learn, with progress bars."""
    from time import perf_counter

    from suffice.data.log import watched
    from suffice.data.streaming import MemoryBudget
    from suffice.models.api import learn_model

    with counting as elsewhere:
        with progress_bar(f"Reading {', '.join(logs)}", "rows") as progress:
            room = MemoryBudget(choices.settings.memory, choices.settings.threads, progress, elsewhere)
            reading = read_logs(logs, options, earlier, room, (chosen, choices.settings))
        start = perf_counter()
        with progress_bar("Learning", "layers") as progress:
            model = learn_model(reading, choices, watched(reading.episodes, progress), checkpoint)
        seconds = perf_counter() - start
        return TimedRun(model, [*_found_ends(reading.ends), *reading.notes], seconds)


def _found_ends(ends: LogEnds) -> list[str]:
    """Return a note on ends that were found in the log; what is only assumed is a warning."""
    return [ends.text] if ends.clear and ends.text else []


def _remove_checkpoint(checkpoint: Path) -> None:
    """Remove the checkpoint of a saved model; a failure is only reported, because the model is complete."""
    from suffice.files.checkpoints import forget

    try:
        forget(checkpoint)
    except CheckpointError as error:
        complain(str(error))


@app.command
def check(
    log: FileName,
    /,
    *,
    write_schema: FileName | None = None,
    seconds: float = 20.0,
    memory: str | None = None,
    json: Flag = False,
    options: LearnLogOptions = DEFAULT_LEARN_LOG,
) -> None:
    """Check a log before learning: contents, problems, columns.

    Reads the log as suffice learn would, learns from samples of it, and estimates time and memory. A problem is
    reported in one line that names file, row, column and the fix.

    Examples:

        suffice check log.parquet
        suffice check visits.csv \\
            --columns episode=patient,step=visit,action=treatment,reward=outcome
        suffice check log.parquet --write-schema schema.json  # for --schema

    Parameters
    ----------
    log
        Parquet, Arrow, CSV or JSON lines file with one row per decision or per episode, or minari:ID for a Minari
        dataset.
    write_schema
        JSON file to write the log's actions, observations and rewards to, for --schema.
    seconds
        Time for trial runs, of at most 20,000 episodes; with less time, fewer episodes are tried. Contents and problems
        are always reported, and printed first.
    memory
        Memory for trial runs, such as 500MB, and for the estimate; a log that does not fit is refused. Default: 1 GB,
        and what learn may take by default.
    json
        Print JSON and nothing else.
    """
    from suffice.data.logs.schema import write_schema as save_schema
    from suffice.data.whole_logs import read_whole
    from suffice.models.log_check import COST, check_episodes, choose_for_check, with_columns
    from suffice.models.trial import refuse_budget

    refuse_budget(seconds)
    if write_schema:
        refuse_output(write_schema, log, option="--write-schema")
        if options.bin:
            raise SettingsError(
                "--write-schema cannot be combined with --bin, because a schema has no bins. Leave one out."
            )
    keep_to_memory(memory)
    with waiting(f"Reading {log}"):
        given = reading_options(options)
        how, chosen = (given.read_options(), None) if write_schema else choose_for_check(log, given)
        episodes, report = read_whole(log, how)
    if write_schema:
        save_schema(episodes.alphabet, write_schema)
    with progress_bar("Trying a sample", "%") as progress:
        if json:
            found = with_columns(check_episodes(episodes, report, progress, seconds, memory), chosen)
            print_json({"log": log} | found.to_dict())
            return
        found = with_columns(check_episodes(episodes, report, progress, seconds, memory, _print_facts), chosen)
    print_table({COST: found.contents[COST]}, width=max(map(len, found.contents)))
    for sentence in (*found.sentences, found.conclusion):
        say(sentence)
    say_next(command("learn", log, "-o", named_after(log, ".model"), options=words(options)))


def _print_facts(contents: Mapping[str, str], remarks: Sequence[str]) -> None:
    """Print what is known about a log before the trial runs, at once."""
    print_table(contents)
    for remark in remarks:
        say(remark)
    sys.stdout.flush()
