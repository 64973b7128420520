"""The commands. Heavy imports wait until a command needs them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from suffice.cli.app import app
from suffice.cli.folding import Folding, refuse_folding
from suffice.cli.options import (
    DEFAULT_DOMAIN,
    DEFAULT_LOG,
    DEFAULT_PLAN,
    HOLD_OUT_SEED,
    DomainOptions,
    Flag,
    How,
    LogOptions,
    Output,
    PlanOptions,
    Whole,
    domain_of,
    names_domain,
    planning_of,
    read,
    refuse_domain_options,
    refuse_output,
    settings_of,
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
    summary,
)
from suffice.cli.waiting import peak_bytes, progress_bar, waiting
from suffice.errors import SufficeError

if TYPE_CHECKING:
    from suffice.episodes import Episodes
    from suffice.learner import Learned, Settings
    from suffice.model import Model
    from suffice.solution import Solution
    from suffice.stationarity import Stationarity


@app.command
def learn(
    log: str,
    /,
    *,
    output: Output,
    metric: Literal["languages", "prefixes", "sketch"] = "languages",
    family: str | None = None,
    bound: Literal["paper", "two-sample", "likelihood-ratio", "fisher"] | None = None,
    delta: float | None = None,
    confidence: float | None = None,
    cut: float = 0.0,
    stationary: Folding = "no",
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

    import numpy as np

    from suffice.files import fingerprint
    from suffice.model import Model
    from suffice.run_notes import RunNotes, save_run_notes

    settings = settings_of(metric, family, bound, delta, confidence, cut, seed, threads, memory)
    settings = replace(settings, strict=plan.strict)
    chosen = metric != "languages" or any(x is not None for x in (family, bound, delta, confidence)) or bool(cut)
    how = planning_of(plan, delta, confidence, chosen)
    refuse_folding(stationary, metric, family, bound, plan)
    refuse_output(output, log)
    with waiting(f"Reading {log}"):
        episodes, report = read(log, options)
    used = episodes
    if plan.hold_out is not None:
        used, *_ = episodes.divide(plan.hold_out, np.random.default_rng(HOLD_OUT_SEED))
    start = perf_counter()
    folding = _folding(used, settings, how, seed) if stationary == "auto" else None
    tied = stationary == "yes" or (folding is not None and folding.stationary)
    result = _learned(used, settings, how, seed, tied)
    seconds = perf_counter() - start
    model = Model.of(result, episodes, bins=report.bins, held_out=plan.hold_out or 0.0)
    model.save(output)
    save_run_notes(output, RunNotes(round(seconds, 4), peak_bytes(), fingerprint(log)))
    if json:
        print_json(describe(model, output) | ({} if folding is None else {"stationarity": folding.summary()}))
        return
    if folding is not None:
        print(folding.sentence)
        if not tied and (plan.discount is not None or plan.strict):
            print("--discount and --strict are for an automaton without layers, and have no effect here.")
    _print_learned(model, seconds, report.notes)
    by = f"--log {_again(log, replace(options, bin=()))}" if plan.hold_out else "--domain DOMAIN"  # it has its bins
    planless = f"suffice export {output} --format dot -o FILE"
    further = f"suffice evaluate {output} {by}" if how.planning else planless
    print(f"Saved to {output}. Next: suffice info {output}   or   {further}")


def _print_learned(model: Model, seconds: float, notes: Sequence[str]) -> None:
    """What was learned, what it promises, and examples of why."""
    print(summary(model), f"in {seconds:.2f} s")
    print_promises(model)
    print_witnesses(model, 3)
    print_doubts(model, 3)
    for note in notes:
        print(f"Note: {note}.")


def _folding(used: Episodes, settings: Settings, how: How, seed: int) -> Stationarity:
    """Whether the process is the same at all times."""
    import numpy as np

    from suffice.stationarity import is_stationary

    with progress_bar("Comparing with and without layers") as progress:
        rng = np.random.default_rng(seed)
        return is_stationary(used, settings, second_look=how.second_look, rng=rng, progress=progress)


def _learned(used: Episodes, settings: Settings, how: How, seed: int, tied: bool) -> Learned | Solution:
    """The automaton, with a plan unless none is wanted."""
    import numpy as np

    from suffice.solution import learn_layers, regorl
    from suffice.tying import tie

    with progress_bar("Learning") as progress:
        if how.planning is None:
            return tie(used, settings, progress) if tied else learn_layers(used, settings, how.second_look, progress)
        planning = how.planning if tied else replace(how.planning, discount=None)
        return regorl(
            used,
            settings,
            planning,
            split=how.split,
            second_look=how.second_look,
            stationary=tied,
            rng=np.random.default_rng(seed),
            progress=progress,
        )


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
            raise SufficeError("--write-schema does not go with --bin: a schema cannot declare bins; bin the log first")
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
    print(summary(loaded))
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
            raise SufficeError(f"{second} has no automaton to compare with. {minimal.telling.sentence}")
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
