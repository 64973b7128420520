"""What is said, to people and to machines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from suffice.cli.printing import put, say
from suffice.errors import visible

if TYPE_CHECKING:
    from suffice.models.model import Model


def describe(model: Model, path: str) -> dict[str, Any]:
    """What `suffice info` promises."""
    from suffice.files.run_notes import load_run_notes
    from suffice.models.summary import model_dict

    notes = load_run_notes(path)
    return model_dict(model, notes.seconds if notes else None, notes.bytes if notes else None)


def print_promises(model: Model) -> None:
    """What the automaton and the plan promise."""
    from suffice.models.sentences import needed_sentence, plan_sentence

    promise, about = model.about.promise, model.about
    for sentence in (promise.sentence, promise.second_sentence, needed_sentence(about)):
        if sentence:
            say(sentence)
    if model.about.forced_share:
        say(f"{model.about.forced_share:.1%} of the data joined a state only because it was rarer than --cut.")
    if about.plan is not None:
        say(plan_sentence(about))


def print_states(model: Model) -> None:
    """Every state with its share of the episodes, what to do in it, what all arrivals share, and one of them.

    Those in which the episode is over are gathered in a line.
    """
    from suffice.models.summary import state_rows

    rdp, rows, gathered = model.rdp, [], []
    called = {"t": "layer", "state": "state"}
    for row, address in zip(state_rows(model), rdp.addresses(), strict=True):
        name, share, q = (
            " ".join(f"{called[part]} {i}" for part, i in address.items()),
            f"{row['share']:.1%}",
            row["state"],
        )
        if row["ended"]:
            gathered += [] if q == rdp.final else [f"{name} {share}"]
            continue
        advice = [] if model.plan is None else [str(row["action"]) if q else "", f"{row['value']:.4g}"]
        shared = row["common"] or ("nothing in common" if row["varies"] else "")
        rows.append([name, share, *advice, shared, f"e.g. {row['example']}" if q else "the beginning"])
    print_rows(rows, right=(1, 3) if model.plan is not None else (1,))
    if gathered:
        put(f"  over: {', '.join(gathered)}")


def print_rows(rows: list[list[str]], right: tuple[int, ...] = ()) -> None:
    """In columns as wide as what is in them; those `right` are numbers."""
    rows = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            f"{cell:{'>' if i in right else '<'}{width}}"
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        put(f"  {'  '.join(cells)}".rstrip())


def print_doubts(model: Model, most: int) -> None:
    """Some of the merges that more episodes might undo."""
    from suffice.automata.describe import apart, describe_witness

    model = model.in_words
    found = model.undecided_if_known() if most > 0 else []
    if found is None:
        say(f"Which merges are undecided is not known: the bound {model.about.bound!r} is not available here.")
        return
    if found:
        say(f"Undecided, and merged for now ({len(found)}), for example:")
    for doubt in found[:most]:
        candidate, joined = apart(*doubt.histories)
        where = "" if model.rdp.stationary else f"layer {doubt.layer}: "
        put(f"  {where}{candidate}  with  {joined}")
        differs = describe_witness(doubt.witness, model.rdp.alphabet)
        put(f"    {differs}; if that is no chance, about {doubt.episodes:,.0f} episodes would tell")


def print_witnesses(model: Model, most: int) -> None:
    """Some of the reasons why states were told apart."""
    from suffice.automata.describe import describe_witness

    most, alphabet = max(most, 0), model.in_words.rdp.alphabet
    told = [d for d in model.decisions if d.placement.promoted and d.placement.witness]
    if most and told:
        say("Told apart, for example, by:")
    for d in told[:most]:
        other = "another" if d.placement.nearest is None else d.placement.nearest
        where = "" if model.rdp.stationary else f"layer {d.layer}, "
        put(f"  {where}states {d.placement.target} and {other}: {describe_witness(d.placement.witness, alphabet)}")


def print_json(content: dict[str, Any]) -> None:
    """For machines."""
    lines = json.dumps(content, ensure_ascii=False, indent=1).split("\n")
    for line in lines:
        print(line if line.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line))


LABELS = {  # where the name for machines does not explain itself
    "bytes": "peak memory, bytes",
    "cut": "episodes cut",
    "dropped": "episodes dropped",
    "languages": "|X| per layer",
    "learning_bytes": "learning needs, bytes",
    "learning_seconds": "learning takes, s",
    "lengths": "rows per episode",
    "letters": "distinct steps",
    "padded": "episodes padded",
    "sorted": "rows out of order",
    "total": "weights add up to",
    "values": "distinct values",
}


def print_table(content: dict[str, Any]) -> None:
    """For people: what is empty is left out."""
    rows = {LABELS.get(name, name.replace("_", " ")): value for name, value in content.items()}
    width = max(map(len, rows))
    for name, value in rows.items():
        if value not in (None, [], {}, ""):
            say(_shown(value), label=f"  {name:<{width}} ", style="cyan", wrap=False)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {_shown(v)}" for k, v in value.items())
    if isinstance(value, list | tuple):
        return " ".join(map(_shown, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)
