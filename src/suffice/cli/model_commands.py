"""The commands `info`, `export` and `compare`, which read model files."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from suffice.cli.app import app
from suffice.cli.names import FileName, ModelOrDomain
from suffice.cli.options import (
    DEFAULT_DOMAIN,
    DomainOptions,
    Flag,
    Output,
    Whole,
    domain_of,
    names_domain,
    names_domain_or_model,
    refuse_domain_options,
    refuse_output,
    words,
)
from suffice.cli.output import (
    describe,
    print_comparison,
    print_json,
    print_sentences,
    print_states,
    print_table,
    print_undecided,
    print_witnesses,
)
from suffice.cli.printing import command, named_after, say, say_block, say_next
from suffice.data.memory_limit import keep_to_memory
from suffice.errors import ModelError, SettingsError


@app.command
def info(
    model: FileName, /, *, states: Flag = False, decisions: Whole = 0, json: Flag = False, memory: str | None = None
) -> None:
    """Show advice, memory, guarantee and settings of a model.

    Examples:

        suffice info maze.model
        suffice info maze.model --states         # with a typical history of each
        suffice info maze.model --decisions 5    # why states are distinct
        suffice info maze.model --json           # for scripts

    Parameters
    ----------
    model
        Model file.
    states
        Also show each state with its share of the episodes, the plan's action, its value, and a typical history.
    decisions
        Also show this many events that distinguish states, and this many undecided merges.
    json
        Print JSON and nothing else.
    memory
        Most memory that the command may take, such as 4GB; what does not fit is refused. Default: half of all memory.
    """
    from suffice.models.model import Model
    from suffice.models.summary import summary_rows, warning_rows

    keep_to_memory(memory)
    loaded = Model.load(model)
    if json:
        print_json(describe(loaded, model))
        return
    about = describe(loaded, model)
    notes = [warning["text"] for warning in about["warnings"]]
    warnings = warning_rows(loaded.about, loaded.undecided_if_known(), notes)
    say_block([*summary_rows(loaded.rdp, loaded.about, "see below"), *warnings])
    print_table(_settings(about))
    print_comparison(loaded)
    print_sentences(loaded)
    if loaded.about.promise.paper_sentence:
        say(loaded.about.promise.paper_sentence)
    if states:
        print_states(loaded)
    print_witnesses(loaded, decisions)
    print_undecided(loaded, decisions)
    exported = command("export", model, "--format", "json", "-o", named_after(model, ".json"))
    say_next(exported if states else command("info", model, "--states"), command("report", model))


SUMMARISED = (
    "states", "promise", "needed", "plan", "verdict", "verdict_reasons", "memory", "columns", "columns_ignored",
    "columns_evidence", "predicted", "lower_bound", "logged", "warnings", "memory_comparison",
)  # fmt: skip


def _settings(about: dict[str, Any]) -> dict[str, Any]:
    """Return the settings and sizes of a model that its summary does not show."""
    found = {name: value for name, value in about.items() if name not in SUMMARISED}
    cut = found.pop("cut")
    if found["stationary"]:  # one set of states for all steps, without languages
        found = {name: value for name, value in found.items() if name not in ("layers", "languages", "family")}
    if (ends := found.pop("ends", None)) is not None:
        found["ends"] = f"{ends['kind']}, assumed" if ends["assumed"] else ends["kind"]
    if found["bytes"] is not None:
        found["bytes"] = f"{found['bytes'] / 1e6:,.0f} MB"
    return found | ({"share too rare for a state": cut} if cut else {})


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

        suffice export maze.model --format json -o maze.json  # everything
        suffice export maze.model --format dot -o maze.dot    # for Graphviz
        suffice export t-maze --format pomdp -o maze.POMDP    # for solvers

    Parameters
    ----------
    model
        Model file; with --format pomdp also the name of a domain.
    format
        json: all transitions with counts and rewards, and the policy. dot: a graph for Graphviz. pomdp: Cassandra's
        format for POMDP solvers.
    output
        File to write.
    """
    from suffice.domains.pomdp.writing import write_pomdp
    from suffice.files.atomic import replacing
    from suffice.models.model import Model

    refuse_output(output, model)
    if format == "pomdp" and names_domain_or_model(model):
        finite, _, horizon = domain_of(model, options)
        text = write_pomdp(finite, horizon, f"The domain {model} {words(options)}".rstrip())
    else:
        if names_domain(model):
            raise SettingsError(f"--format {format}: {model} is a domain. Use --format pomdp, or name a model file.")
        refuse_domain_options(options)
        loaded = Model.load(model)
        text = str(loaded.export(format=format))
        horizon = loaded.rdp.horizon
    with replacing(Path(output)) as temporary:
        temporary.write_text(text, encoding="utf-8")
    say(f"Wrote {output}.")
    picture = str(Path(output).with_suffix(".svg"))
    hints = {
        "json": command("info", model),
        "dot": shlex.join(["dot", "-Tsvg", output, "-o", picture]),
        "pomdp": command("exact", output, "--horizon", str(horizon + 1)),  # the first step only shows an observation
    }
    say_next(hints[format])


@app.command
def compare(
    first: FileName, second: ModelOrDomain, /, *, json: Flag = False, options: DomainOptions = DEFAULT_DOMAIN
) -> None:
    """Compare two models, or a model with a domain.

    Two models are equal up to renaming of states if the same histories were seen, lead to corresponding states, and had
    the same rewards. Counts do not matter, so that models of different samples can be compared. Otherwise the shortest
    history on which they differ is shown. The exit code is 0 in both cases; scripts use --json.

    Examples:

        suffice compare maze.model other.model
        suffice compare maze.model t-maze                     # with the truth

    Parameters
    ----------
    first
        Model file.
    second
        Model file, name of a domain, or .POMDP file. The exact automaton of a domain is compared.
    json
        Print JSON and nothing else.
    """
    from suffice.automata.compare import compare as compare_rdps
    from suffice.automata.histories import show
    from suffice.domains.exact.automaton import NoAutomatonError, exact_rdp
    from suffice.domains.observed_columns import observe_columns
    from suffice.models.model import Model

    loaded = Model.load(first)
    ours = loaded.rdp
    named = names_domain_or_model(second)
    if named:
        finite, policy, horizon = domain_of(second, options, ours.horizon)
        seen = observe_columns(finite, loaded.encoder)
        try:
            theirs = exact_rdp(seen, horizon, policy if seen is finite else None, stationary=ours.stationary)
        except NoAutomatonError as error:
            raise ModelError(f"{second}: there is no automaton to compare with. {error}") from error
    else:
        refuse_domain_options(options)
        theirs = Model.load(second).rdp
    difference = compare_rdps(ours, theirs)
    if json:
        found = None if difference is None else {"history": show(difference.history), "reason": difference.reason}
        print_json({"equal": difference is None, "difference": found})
        return
    if difference is None:
        say("Equal up to renaming of states.")
    else:
        say(f"Different. After {show(difference.history)}: {difference.reason}.")
    if named and difference is None and loaded.plan:
        choice = words(replace(options, horizon=None))  # the model has its own horizon
        say_next(command("evaluate", first, "--domain", second, "--exact", options=choice))
    elif named and difference is not None:
        say_next(command("exact", second, options=words(options)))  # shows how many episodes are needed
    else:
        say_next(command("info", first, *(("--states",) if difference is None else ("--decisions", "5"))))
