"""What is said, to people and to machines."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from suffice.cli.printing import put, say
from suffice.errors import visible

if TYPE_CHECKING:
    from suffice.data.episodes import Episodes
    from suffice.data.logs.reading import ReadReport
    from suffice.models.log_check import LogCheck
    from suffice.models.model import Model


def describe(model: Model, path: str) -> dict[str, Any]:
    """What `suffice info` promises."""
    from suffice.files.run_notes import load_run_notes
    from suffice.models.sentences import info_json

    about, notes = model.about, load_run_notes(path)
    kept = (
        "layers",
        "candidates",
        "languages",
        "metric",
        "family",
        "bound",
        "delta",
        "confidence",
        "cut",
        "forced_share",
        "second_look",
        "held_out",
    )
    return {
        "states": model.rdp.n_states,
        "horizon": model.rdp.horizon,
        "stationary": model.rdp.stationary,
        **{name: getattr(about, name) for name in kept},
        "bins": {name: list(bins.edges) for name, bins in model.bins.items()},
        **info_json(about),
        "seconds": notes.seconds if notes else None,
        "bytes": notes.bytes if notes else None,
        "episodes": about.episodes,
        "log_hash": about.log_hash,
        "version": about.version,
    }


def contents(log: str, episodes: Episodes, report: ReadReport) -> dict[str, Any]:
    """What is in a log."""
    names = (
        "rows",
        "episodes",
        "horizon",
        "lengths",
        "sorted",
        "cut",
        "padded",
        "dropped",
        "values",
        "observations",
    )
    found: dict[str, Any] = {name: getattr(report, name) for name in names}
    found["bins"] = {name: list(binned.edges) for name, binned in report.bins.items()}
    if episodes.weight is not None:
        found["total"] = episodes.total
    return {"log": log} | found | {"letters": len(episodes.letters), "notes": list(report.notes)}


def print_contents(episodes: Episodes, report: ReadReport, outlook: LogCheck) -> None:
    """What is in a log, and what learning from it would take."""
    shortest, median, longest = report.lengths
    steps = f"{longest}" if shortest == longest else f"{shortest} to {longest} (half of them up to {median:g})"
    changed = [
        f"{count:,} {told}"
        for count, told in (
            (report.cut, f"cut to {report.horizon}"),
            (report.padded, "end early"),
            (report.dropped, "truncated and left out"),
        )
        if count
    ]
    columns = report.columns
    *values, rewards = (f"{name} {count:,}" for name, count in report.values.items())
    action, features = values[0], values[1:]
    together = f"; {report.observations:,} different together" if len(features) > 1 else ""
    roles = {role: getattr(columns, role) for role in ("episode", "step", "weight", "terminated", "truncated", "done")}
    rows = {
        "episodes": f"{episodes.total:,} of {steps} decisions, {report.rows:,} rows"
        + (f" (weights counted; {report.episodes:,} different)" if episodes.weight is not None else ""),
        "of them": ", ".join(changed),
        "columns": ", ".join(f"{role} in {name!r}" for role, name in roles.items() if name not in (None, role)),
        "different values": f"{action}; {', '.join(features)}{together}; {rewards}",
        "bins": "; ".join(f"{name} from {', '.join(f'{e:.4g}' for e in b.edges)}" for name, b in report.bins.items()),
        "steps": f"{len(episodes.letters):,} different (action, observation, reward)",
        "learning takes": f"about {outlook.seconds:.2g} s, and {math.ceil(outlook.bytes / 1e6):,} MB beside the log; "
        f"up to {max(outlook.languages):,} events are compared",
    }
    print_table(rows)


def prospects(outlook: LogCheck) -> dict[str, Any]:
    """What learning would take and bring."""
    return {
        "languages": [0, *outlook.languages, 0],
        "learning_seconds": round(outlook.seconds, 3),
        "learning_bytes": outlook.bytes,
        "episodes_tried": outlook.tried,
        "states_by_episodes": [list(pair) for pair in outlook.growth],
        "enough": outlook.enough,
        "undecided_merges": outlook.undecided,
        "episodes_wanted": None if outlook.wanted is None else round(outlook.wanted),
        "memory_matters": outlook.untold > 0,
        "family_needed": outlook.family,
    }


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
    from suffice.automata.describe import brief
    from suffice.automata.state_summary import arrivals
    from suffice.view.arrows import over

    model = model.in_words
    rdp, plan = model.rdp, model.own_plan
    ended, shares = over(rdp), [f"{share:.1%}" for share in rdp.shares()]
    called = {"t": "layer", "state": "state"}
    names = [" ".join(f"{called[part]} {i}" for part, i in address.items()) for address in rdp.addresses()]
    rows = []
    for q, (arrival, history) in enumerate(zip(arrivals(rdp), rdp.typical_histories(), strict=True)):
        if q in ended:
            continue
        advice = []
        if plan is not None:
            action = "as logged" if plan.actions[q] < 0 else str(rdp.alphabet.actions[plan.actions[q]])
            advice = [action if q else "", f"{plan.values[q]:.4g}"]
        shared = arrival.common or ("nothing in common" if arrival.varies else "")
        rows.append([names[q], shares[q], *advice, shared, f"e.g. {brief(history)}" if q else "the beginning"])
    print_rows(rows, right=(1, 3) if plan is not None else (1,))
    if gathered := [f"{names[q]} {shares[q]}" for q in sorted(ended) if q != rdp.final]:
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
