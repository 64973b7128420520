"""The commands. Heavy imports wait until a command needs them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from suffice.cli.app import app
from suffice.cli.choosing import choices_again, choices_of, planning_of, settings_of
from suffice.cli.folding import Folding, refuse_folding
from suffice.cli.options import (
    DEFAULT_DOMAIN,
    DEFAULT_LOG,
    DEFAULT_PLAN,
    DomainOptions,
    Flag,
    LogOptions,
    Output,
    PlanOptions,
    Whole,
    domain_of,
    names_domain,
    read,
    read_logs,
    refuse_domain_options,
    refuse_output,
    words,
)
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
from suffice.errors import ModelError, SettingsError

if TYPE_CHECKING:
    from suffice.model import Model


@app.command
def learn(
    log: str,
    /,
    *more: str,
    output: Output,
    metric: Literal["languages", "prefixes", "sketch"] = "languages",
    family: str | None = None,
    bound: Literal["paper", "two-sample", "likelihood-ratio", "fisher"] | None = None,
    delta: float | None = None,
    confidence: float | None = None,
    cut: float = 0.0,
    stationary: Folding = "no",
    like: str | None = None,
    seed: Whole = 0,
    threads: Whole | None = None,
    memory: str | None = None,
    json: Flag = False,
    plan: PlanOptions = DEFAULT_PLAN,
    options: LogOptions = DEFAULT_LOG,
) -> None:
    """Learn the automaton behind a log, and plan a policy on it.

    Histories end up in the same state unless their futures differ significantly. How futures are compared is the
    metric: by languages ("north and reward 4 within 5 steps"), by exact prefixes, or by a sketch of prefixes. The plan
    says what to do in each state and what that will bring; try it with suffice evaluate.

    Parameters
    ----------
    log
        Parquet, Arrow, CSV or JSON lines file, one row per decision or per episode; or minari:DATASET.
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
        Default: all cores. The result is the same to the bit.
    memory
        Limit for tables, such as 4GB. Default: half of the machine's.
    json
        Print JSON and nothing else.
    """
    from time import perf_counter

    from suffice.learning import learn_model
    from suffice.model import Model

    settings = settings_of(metric, family, bound, delta, confidence, cut, seed, threads, memory)
    settings = replace(settings, strict=plan.strict)
    chosen = metric != "languages" or any(x is not None for x in (family, bound, delta, confidence)) or bool(cut)
    how = planning_of(plan, delta, confidence, chosen)
    refuse_folding(stationary, metric, family, bound, plan)
    logs = (log, *more)
    refuse_output(output, *logs)
    if more and plan.hold_out is not None:
        raise SettingsError("--hold-out is for one log, in which suffice evaluate finds the episodes again; give one")
    earlier = None if like is None else Model.load(like)
    if earlier is None:
        choices = choices_of(settings, how, stationary, plan.hold_out, seed)
    else:
        choices = choices_again(earlier, settings, chosen, stationary, plan, seed)
    with waiting(f"Reading {', '.join(logs)}"):
        reading = read_logs(logs, options, earlier)
    start = perf_counter()
    with progress_bar("Learning") as progress:
        model, folding = learn_model(reading.episodes, choices, reading.bins, progress)
    seconds = perf_counter() - start
    model.save(output)
    _note_run(output, seconds, logs)
    if json:
        print_json(describe(model, output) | ({} if folding is None else {"stationarity": folding.summary()}))
        return
    if folding is not None:
        print(folding.sentence)
        if not model.rdp.stationary and (plan.discount is not None or plan.strict):
            print("--discount and --strict are for an automaton without layers, and have no effect here.")
    _print_learned(model, seconds, reading.notes)
    by = f"--log {_again(log, replace(options, bin=()))}" if plan.hold_out else "--domain DOMAIN"  # it has its bins
    planless = f"suffice export {output} --format dot -o FILE"
    further = planless if model.plan is None else f"suffice evaluate {output} {by}"
    print(f"Saved to {output}. Next: suffice info {output}   or   {further}")


def _note_run(output: str, seconds: float, logs: Sequence[str]) -> None:
    """What the run took, and by what its logs are known again."""
    from suffice.files import fingerprint
    from suffice.run_notes import RunNotes, save_run_notes

    known = [fingerprint(log) for log in logs]
    one, several = (known[0], []) if len(known) == 1 else ("", known)
    save_run_notes(output, RunNotes(round(seconds, 4), peak_bytes(), one, several))


def _print_learned(model: Model, seconds: float, notes: Sequence[str]) -> None:
    """What was learned, what it promises, and examples of why."""
    print(model.headline, f"in {seconds:.2f} s")
    print_promises(model)
    print_witnesses(model, 3)
    print_doubts(model, 3)
    for note in notes:
        print(f"Note: {note}.")


def _again(log: str, options: LogOptions) -> str:
    """The log and how it was read, to be read again."""
    return f"{shlex.quote(log)} {words(options)}".rstrip()


@app.command
def check(
    log: str, /, *, write_schema: str | None = None, json: Flag = False, options: LogOptions = DEFAULT_LOG
) -> None:
    """Say what is in a log, what is wrong with it, whether it is enough, and what learning would cost.

    Parameters
    ----------
    log
        Parquet, Arrow, CSV or JSON lines file, one row per decision or per episode; or minari:DATASET.
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
    with progress_bar("Trying a sample") as progress:
        outlook = look_ahead(episodes, progress)
    found = contents(log, episodes, report)
    if json:
        print_json(found | prospects(outlook))
        return
    print_contents(episodes, report, outlook)
    for note in report.notes:
        print(f"Note: {note}.")
    for sentence in outlook.sentences:
        print(sentence)
    print(f"Nothing is wrong with it. Next: suffice learn {_again(log, options)} -o MODEL")


@app.command
def info(model: str, /, *, states: Flag = False, decisions: Whole = 0, json: Flag = False) -> None:
    """Show a model: its states, what it promises, and why states were told apart.

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
    print(loaded.headline)
    told = {k: v for k, v in describe(loaded, model).items() if k not in ("promise", "needed", "states", "plan", "cut")}
    print_table(told | ({"share too rare for a state": loaded.about.cut} if loaded.about.cut else {}))
    print_promises(loaded)
    if loaded.about.promise.paper_sentence:
        print(loaded.about.promise.paper_sentence)
    if states:
        print_states(loaded)
    print_witnesses(loaded, decisions)
    print_doubts(loaded, decisions)
    print(f"Next: suffice evaluate {model} --domain DOMAIN   or   suffice export {model} --format json -o FILE")


@app.command
def export(
    model: str,
    /,
    *,
    format: Literal["json", "dot", "pomdp"],
    output: Output,
    options: DomainOptions = DEFAULT_DOMAIN,
) -> None:
    """Write a model for other programs, or a domain for POMDP solvers.

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
    if format == "pomdp" and names_domain(model):
        finite, _, horizon = domain_of(model, options)
        text = write_pomdp(finite, horizon, f"The domain {model} {words(options)}".rstrip())
    else:
        refuse_domain_options(options)
        loaded = Model.load(model)
        text = {"json": to_json, "dot": to_dot, "pomdp": to_pomdp}[format](loaded)
        horizon = loaded.rdp.horizon
    with replacing(Path(output)) as temporary:
        temporary.write_text(text, encoding="utf-8")
    hints = {
        "json": f"suffice info {model}",
        "dot": f"dot -Tsvg {output} -o {Path(output).with_suffix('.svg')}",
        "pomdp": f"suffice exact {output} --horizon {horizon + 1}",  # one step shows the first observation
    }
    print(f"Wrote {output}. Next: {hints[format]}")


@app.command
def compare(first: str, second: str, /, *, json: Flag = False, options: DomainOptions = DEFAULT_DOMAIN) -> None:
    """Say whether two models are equal up to renaming of states, or the shortest history that tells them apart.

    They are equal if the same histories were seen, lead to the same states, and brought the same rewards; how often
    does not matter, so models of different samples can be compared. In place of the second model a domain may stand:
    then a model is compared with the truth. The exit code is 0 either way; scripts use --json.

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

    ours = Model.load(first).rdp
    if names_domain(second) and ours.stationary:
        finite, policy, _ = domain_of(second, options, ours.horizon)
        theirs = stationary_rdp(finite, policy).rdp(ours.horizon)
    elif names_domain(second):
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
    elif difference is None:
        print("Equal up to renaming of states.")
    else:
        print(f"Different. After {show(difference.history)}: {difference.reason}.")
