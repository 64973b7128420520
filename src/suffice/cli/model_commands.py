"""The commands about models: what is in one, how two differ, and what other programs read."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Literal

from suffice.cli.app import app
from suffice.cli.names import FileName, ModelOrDomain
from suffice.cli.options import (
    DEFAULT_DOMAIN,
    DomainOptions,
    Flag,
    Output,
    Whole,
    domain_of,
    names_domain_or_model,
    refuse_domain_options,
    refuse_output,
    words,
)
from suffice.cli.printing import command, named_after, say, say_next
from suffice.cli.saying import (
    describe,
    print_doubts,
    print_json,
    print_promises,
    print_states,
    print_table,
    print_witnesses,
)
from suffice.errors import ModelError


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
    from suffice.models.model import Model

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
    from suffice.domains.pomdp.writing import write_pomdp
    from suffice.files.atomic import replacing
    from suffice.models.model import Model

    refuse_output(output, model)
    if format == "pomdp" and names_domain_or_model(model):
        finite, _, horizon = domain_of(model, options)
        text = write_pomdp(finite, horizon, f"The domain {model} {words(options)}".rstrip())
    else:
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
    from suffice.automata.compare import compare as compare_rdps
    from suffice.automata.histories import show
    from suffice.domains.exact.automaton import NoAutomatonError, exact_rdp
    from suffice.models.model import Model

    loaded = Model.load(first)
    ours = loaded.rdp
    named = names_domain_or_model(second)
    if named:
        finite, policy, horizon = domain_of(second, options, ours.horizon)
        try:
            theirs = exact_rdp(finite, horizon, policy, stationary=ours.stationary)
        except NoAutomatonError as error:
            raise ModelError(f"{second} has no automaton to compare with. {error}") from error
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
