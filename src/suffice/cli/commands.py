"""The commands. Heavy imports wait until a command needs them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from suffice.cli.app import app
from suffice.cli.choosing import choices_again, choices_of, engine_of, planning_of, settings_of
from suffice.cli.folding import Folding, refuse_folding
from suffice.cli.names import FileName, ModelOrDomain
from suffice.cli.options import (
    COMPARING,
    DEFAULT_DOMAIN,
    DEFAULT_LOG,
    DEFAULT_PLAN,
    RESOURCES,
    WHAT,
    DomainOptions,
    Flag,
    LogOptions,
    Output,
    PlanOptions,
    Whole,
    domain_of,
    names_domain_or_model,
    read,
    read_logs,
    refuse_domain_options,
    refuse_output,
    words,
)
from suffice.cli.printing import command, complain, named_after, say, say_next
from suffice.cli.saying import (
    contents,
    describe,
    print_contents,
    print_doubts,
    print_json,
    print_promises,
    print_states,
    print_table,
    print_witnesses,
    prospects,
)
from suffice.cli.waiting import peak_bytes, progress_bar, waiting
from suffice.errors import CheckpointError, ModelError, SettingsError

if TYPE_CHECKING:
    from suffice.model import Model


WHAT_TO_LEARN, COMPARED_BY, TAKES = (Parameter(group=group) for group in (WHAT, COMPARING, RESOURCES))


@app.command
def learn(
    log: FileName,
    /,
    *more: FileName,
    output: Annotated[Output, WHAT_TO_LEARN],
    stationary: Annotated[Folding, WHAT_TO_LEARN] = "no",
    like: Annotated[FileName | None, WHAT_TO_LEARN] = None,
    json: Annotated[Flag, WHAT_TO_LEARN] = False,
    metric: Annotated[Literal["languages", "prefixes", "sketch"], COMPARED_BY] = "languages",
    family: Annotated[str | None, COMPARED_BY] = None,
    bound: Annotated[Literal["paper", "two-sample", "likelihood-ratio", "fisher"] | None, COMPARED_BY] = None,
    delta: Annotated[float | None, COMPARED_BY] = None,
    confidence: Annotated[float | None, COMPARED_BY] = None,
    cut: Annotated[float, COMPARED_BY] = 0.0,
    seed: Annotated[Whole, TAKES] = 0,
    threads: Annotated[Whole | None, TAKES] = None,
    memory: Annotated[str | None, TAKES] = None,
    checkpoint: Annotated[FileName | None, TAKES] = None,
    engine: Annotated[Literal["local", "ray"], TAKES] = "local",
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
    from time import perf_counter

    from suffice.asking import watched
    from suffice.checkpoints import refuse_other_choices, steps_kept
    from suffice.learning import learn_model, told_of
    from suffice.model import Model
    from suffice.reading import refuse_for_workers
    from suffice.streaming import Room

    settings = settings_of(metric, family, bound, delta, confidence, cut, seed, threads, memory)
    settings = replace(settings, strict=plan.strict)
    chosen = metric != "languages" or any(x is not None for x in (family, bound, delta, confidence)) or bool(cut)
    how = planning_of(plan, delta, confidence, chosen)
    refuse_folding(stationary, metric, family, bound, plan)
    logs = (log, *more)
    refuse_output(output, *logs, *filter(None, (like, options.schema)))
    if more and plan.hold_out is not None:
        raise SettingsError("--hold-out is for one log, in which suffice evaluate finds the episodes again; give one")
    earlier = None if like is None else Model.load(like)
    if earlier is None:
        choices = choices_of(settings, how, stationary, plan.hold_out, seed)
    else:
        choices = choices_again(earlier, settings, chosen, stationary, plan, seed)
    if engine != "local":  # before it is started, which takes seconds
        for name in logs:
            refuse_for_workers(name)
    folder = None if checkpoint is None else Path(checkpoint)
    if folder is not None:
        refuse_other_choices(folder, told_of(choices))
    with ExitStack() as until_done:
        with waiting("Starting Ray") if engine != "local" else nullcontext():
            elsewhere = until_done.enter_context(engine_of(engine, workers, threads))
        with progress_bar(f"Reading {', '.join(logs)}", "rows") as progress:
            room = Room(choices.settings.memory, choices.settings.threads, progress, elsewhere)
            reading = read_logs(logs, options, earlier, room)
        start, steps = perf_counter(), 0 if folder is None else steps_kept(folder)
        with progress_bar("Learning", "layers") as progress:
            model, folding = learn_model(reading, choices, watched(reading.episodes, progress), folder)
        seconds = perf_counter() - start
    model.save(output)
    _note_run(output, seconds, logs)
    if checkpoint is not None:
        _forget(checkpoint)
    if json:
        print_json(describe(model, output) | ({} if folding is None else {"stationarity": folding.summary()}))
        return
    if folding is not None:
        say(folding.sentence)
        if not model.rdp.stationary and (plan.discount is not None or plan.strict):
            say("--discount and --strict are for an automaton without layers, and have no effect here.")
    _print_learned(model, seconds, reading.notes)
    if steps:
        say(f"The run went on from {steps:,} layers or rounds that were kept in {folder}.")
    say(f"Saved to {output}.")
    seen = command("explore", output, "-o", named_after(output, ".html"))
    if model.plan is None:
        say_next(seen, command("info", output, "--states"))
    elif plan.hold_out:
        judged = command("evaluate", output, "--log", log, options=words(replace(options, bin=())))  # it has its bins
        say_next(judged, seen)
    else:
        say_next(seen, command("report", output))


def _forget(checkpoint: str) -> None:
    """The model is saved: that a checkpoint stays is no failure any more."""
    from suffice.checkpoints import forget

    try:
        forget(Path(checkpoint))
    except CheckpointError as error:
        complain(str(error))


def _note_run(output: str, seconds: float, logs: Sequence[str]) -> None:
    """What the run took, and by what its logs are known again."""
    from suffice.files import fingerprint
    from suffice.logs import files_of
    from suffice.run_notes import RunNotes, save_run_notes

    known = [fingerprint(*files_of(log)) for log in logs]
    one, several = (known[0], []) if len(known) == 1 else ("", known)
    save_run_notes(output, RunNotes(round(seconds, 4), peak_bytes(), one, several))


def _print_learned(model: Model, seconds: float, notes: Sequence[str]) -> None:
    """What was learned, what it promises, and examples of why."""
    say(f"{model.headline} in {seconds:.2f} s")
    print_promises(model)
    print_witnesses(model, 3)
    print_doubts(model, 3)
    for note in notes:
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
    from suffice.logs import write_schema as save_schema
    from suffice.outlook import look_ahead

    if write_schema:
        refuse_output(write_schema, log)
        if options.bin:
            raise SettingsError("--write-schema does not go with --bin: no schema can declare bins; bin the log first")
    with waiting(f"Reading {log}"):
        episodes, report = read(log, options)
    if write_schema:
        save_schema(episodes.alphabet, write_schema)
    with progress_bar("Trying a sample", "parts") as progress:
        outlook = look_ahead(episodes, progress)
    found = contents(log, episodes, report)
    if json:
        print_json(found | prospects(outlook))
        return
    print_contents(episodes, report, outlook)
    for note in report.notes:
        say(f"Note: {note}.")
    for sentence in outlook.sentences:
        say(sentence)
    say("Nothing is wrong with it.")
    say_next(command("learn", log, "-o", named_after(log, ".model"), options=words(options)))


@app.command
def info(model: FileName, /, *, states: Flag = False, decisions: Whole = 0, json: Flag = False) -> None:
    """Show a model: its states, what it promises, and why.

    Examples:

        suffice info maze.model
        suffice info maze.model --states         # with a typical history of each
        suffice info maze.model --decisions 5    # why states were told apart
        suffice info maze.model --json           # for scripts

    Parameters
    ----------
    model
        Model file.
    states
        Also show every state with its share of the episodes, what the plan does in it, what that is worth, and a
        typical history.
    decisions
        Also show so many of the reasons why states were told apart, and of the merges that were undecided.
    json
        Print JSON and nothing else.
    """
    from suffice.model import Model

    loaded = Model.load(model)
    if json:
        print_json(describe(loaded, model))
        return
    say(loaded.headline)
    told = {k: v for k, v in describe(loaded, model).items() if k not in ("promise", "needed", "states", "plan", "cut")}
    print_table(told | ({"share too rare for a state": loaded.about.cut} if loaded.about.cut else {}))
    print_promises(loaded)
    if loaded.about.promise.paper_sentence:
        say(loaded.about.promise.paper_sentence)
    if states:
        print_states(loaded)
    print_witnesses(loaded, decisions)
    print_doubts(loaded, decisions)
    exported = command("export", model, "--format", "json", "-o", named_after(model, ".json"))
    tried = [command("evaluate", model, "--domain", "DOMAIN")] if loaded.plan else []
    say_next(exported if states else command("info", model, "--states"), *tried)


@app.command
def export(
    model: ModelOrDomain,
    /,
    *,
    format: Literal["json", "dot", "pomdp"],
    output: Output,
    options: DomainOptions = DEFAULT_DOMAIN,
) -> None:
    """Write a model for other programs, or a domain for POMDP solvers.

    Examples:

        suffice export maze.model --format json -o maze.json  # all of it
        suffice export maze.model --format dot -o maze.dot    # for Graphviz
        suffice export t-maze --format pomdp -o maze.POMDP    # for solvers

    Parameters
    ----------
    model
        Model file; with --format pomdp also the name of a domain.
    format
        json: every transition with counts and rewards. dot: a picture for Graphviz. pomdp: Cassandra's format, for
        POMDP solvers.
    output
        File to write.
    """
    from suffice.domains.pomdp import to_pomdp, write_pomdp
    from suffice.export import to_dot, to_json
    from suffice.files import replacing
    from suffice.model import Model

    refuse_output(output, model)
    if format == "pomdp" and names_domain_or_model(model):
        finite, _, horizon = domain_of(model, options)
        text = write_pomdp(finite, horizon, f"The domain {model} {words(options)}".rstrip())
    else:
        refuse_domain_options(options)
        loaded = Model.load(model)
        text = {"json": to_json, "dot": to_dot, "pomdp": to_pomdp}[format](loaded)
        horizon = loaded.rdp.horizon
    with replacing(Path(output)) as temporary:
        temporary.write_text(text, encoding="utf-8")
    say(f"Wrote {output}.")
    picture = str(Path(output).with_suffix(".svg"))
    hints = {
        "json": command("info", model),
        "dot": shlex.join(["dot", "-Tsvg", output, "-o", picture]),
        "pomdp": command("exact", output, "--horizon", str(horizon + 1)),  # one step shows the first observation
    }
    say_next(hints[format])


@app.command
def compare(
    first: FileName, second: ModelOrDomain, /, *, json: Flag = False, options: DomainOptions = DEFAULT_DOMAIN
) -> None:
    """Say whether two models are equal, or how they differ.

    They are equal, up to renaming of states, if the same histories were seen, lead to the same states, and brought the
    same rewards; how often does not matter, so models of different samples can be compared. If not, you see the
    shortest history that tells them apart. In place of the second model a domain may stand: then a model is compared
    with the truth. The exit code is 0 either way; scripts use --json.

    Examples:

        suffice compare maze.model other.model
        suffice compare maze.model t-maze                     # with the truth

    Parameters
    ----------
    first
        Model file.
    second
        Model file, or the name of a domain or a .POMDP file.
    json
        Print JSON and nothing else.
    """
    from suffice.exact import minimal_rdp
    from suffice.exact.stationary import stationary_rdp
    from suffice.model import Model
    from suffice.rdp import compare as compare_rdps
    from suffice.rdp import show

    loaded = Model.load(first)
    ours = loaded.rdp
    named = names_domain_or_model(second)
    if named and ours.stationary:
        finite, policy, _ = domain_of(second, options, ours.horizon)
        theirs = stationary_rdp(finite, policy).rdp(ours.horizon)
    elif named:
        finite, policy, horizon = domain_of(second, options, ours.horizon)
        minimal = minimal_rdp(finite, horizon, policy)
        if minimal.telling:
            raise ModelError(f"{second} has no automaton to compare with. {minimal.telling.sentence}")
        theirs = minimal.rdp()
    else:
        refuse_domain_options(options)
        theirs = Model.load(second).rdp
    difference = compare_rdps(ours, theirs)
    if json:
        told = None if difference is None else {"history": show(difference.history), "reason": difference.reason}
        print_json({"equal": difference is None, "difference": told})
        return
    if difference is None:
        say("Equal up to renaming of states.")
    else:
        say(f"Different. After {show(difference.history)}: {difference.reason}.")
    if named and difference is None and loaded.plan:
        choice = words(replace(options, horizon=None))  # the model has its own
        say_next(command("evaluate", first, "--domain", second, "--exact", options=choice))
    elif named and difference is not None:
        say_next(command("exact", second, options=words(options)))  # says how many episodes it takes
    else:
        say_next(command("info", first, *(("--states",) if difference is None else ("--decisions", "5"))))
