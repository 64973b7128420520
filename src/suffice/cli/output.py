"""Output that several commands share, as JSON for scripts, and as tables and sentences for people."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from suffice.cli.printing import WIDEST, put, say
from suffice.errors import visible

if TYPE_CHECKING:
    from suffice.data.episodes import Episodes
    from suffice.data.report import ReadReport
    from suffice.models.log_check import LogCheck
    from suffice.models.model import Model

WIDEST_INDENT = 80  # characters before the last column of a table, beyond which it gets lines of its own


def describe(model: Model, path: str) -> dict[str, Any]:
    """Return what `suffice info --json` prints about a model file."""
    from suffice.files.run_notes import load_run_notes
    from suffice.models.model_summary import summary_json
    from suffice.models.sentences import info_json

    about, notes = model.about, load_run_notes(path)
    names = (
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
        **{name: getattr(about, name) for name in names},
        "bins": {name: list(bins.edges) for name, bins in model.bins.items()},
        **info_json(about),
        "seconds": notes.seconds if notes else None,
        "bytes": notes.bytes if notes else None,
        "episodes": about.episodes,
        "log_hash": about.log_hash,
        "version": about.version,
        **summary_json(model.rdp, about),
    }


def contents(log: str, episodes: Episodes, report: ReadReport) -> dict[str, Any]:
    """Return the contents of a log for `suffice check --json`."""
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
    """Print the contents of a log and the expected cost of learning from it."""
    shortest, median, longest = report.lengths
    steps = f"{longest}" if shortest == longest else f"{shortest} to {longest} (median {median:g})"
    changed = [
        f"{count:,} {text}"
        for count, text in (
            (report.cut, f"cut to {report.horizon}"),
            (report.padded, "shorter"),
            (report.dropped, "truncated and left out"),
        )
        if count
    ]
    columns = report.columns
    *values, rewards = (f"{name} {count:,}" for name, count in report.values.items())
    action, features = values[0], values[1:]
    together = f"; {report.observations:,} combinations" if len(features) > 1 else ""
    roles = {role: getattr(columns, role) for role in ("episode", "step", "weight", "terminated", "truncated", "done")}
    rows = {
        "episodes": f"{episodes.total:,} of {steps} decisions, {report.rows:,} rows"
        + (f" (weighted; {report.episodes:,} without weights)" if episodes.weight is not None else ""),
        "of them": ", ".join(changed),
        "columns": ", ".join(f"{role} in {name!r}" for role, name in roles.items() if name not in (None, role)),
        "distinct values": f"{action}; {', '.join(features)}{together}; {rewards}",
        "bins": "; ".join(f"{name} from {', '.join(f'{e:.4g}' for e in b.edges)}" for name, b in report.bins.items()),
        "distinct steps": f"{len(episodes.letters):,} of (action, observation, reward)",
        "learning takes": f"about {outlook.seconds:.2g} s, and {math.ceil(outlook.bytes / 1e6):,} MB besides the log; "
        f"up to {max(outlook.languages):,} events are compared",
    }
    print_table(rows)


def prospects(outlook: LogCheck) -> dict[str, Any]:
    """Return the expected cost and result of learning from a log for `suffice check --json`."""
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


def print_sentences(model: Model) -> None:
    """Print the full guarantee, the refinement, the languages needed and the forecast of the plan."""
    from suffice.models.sentences import needed_sentence, plan_sentence

    promise, about = model.about.promise, model.about
    for sentence in (promise.sentence, promise.second_sentence, needed_sentence(about)):
        if sentence:
            say(sentence)
    if about.forced_share:
        say(f"{about.forced_share:.1%} of the data joined a state only because it is rarer than --cut.")
    if about.plan is not None:
        say(plan_sentence(about))


def print_states(model: Model) -> None:
    """Print each state with its share of the episodes, the plan's action and value, and a typical history.

    States in which the episode has ended share one line.
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
    """Print a table with aligned columns; those in `right` are aligned to the right.

    The last cell may be wrapped. If it starts too far to the right for that, it gets lines of its own.
    """
    rows = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    before_last = 2 + sum(widths[:-1]) + 2 * (len(widths) - 1)
    own_line = before_last > WIDEST_INDENT and before_last + widths[-1] > WIDEST
    for row in rows:
        cells = [
            f"{cell:{'>' if i in right else '<'}{width}}"
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        if own_line:
            put(f"  {'  '.join(cells[:-1])}".rstrip())
            put(f"{' ' * 8}{row[-1]}")
        else:
            put(f"  {'  '.join(cells)}".rstrip(), before_last + 5)


def print_undecided(model: Model, most: int) -> None:
    """Print up to `most` of the merges that more episodes might undo."""
    from suffice.automata.describe import apart, describe_witness

    model = model.in_words
    found = model.undecided_if_known() if most > 0 else []
    if found is None:
        say(f"Undecided merges are not known: the bound {model.about.bound!r} is not installed here.")
        return
    if found:
        say(f"Undecided merges ({len(found):,}), for example:")
    for merge in found[:most]:
        candidate, joined = apart(*merge.histories)
        where = "" if model.rdp.stationary else f"layer {merge.layer}: "
        put(f"  {where}{candidate}  with  {joined}")
        difference = describe_witness(merge.witness, model.rdp.alphabet)
        put(f"    {difference}; if this difference is real, about {merge.episodes:,.0f} episodes would show it")


def print_witnesses(model: Model, most: int) -> None:
    """Print up to `most` events whose frequencies distinguish two states."""
    from suffice.automata.describe import describe_witness

    most, alphabet = max(most, 0), model.in_words.rdp.alphabet
    promoted = [d for d in model.decisions if d.placement.promoted and d.placement.witness]
    if most and promoted:
        say("Examples of events that distinguish states:")
    for d in promoted[:most]:
        other = "another" if d.placement.nearest is None else d.placement.nearest
        where = "" if model.rdp.stationary else f"layer {d.layer}, "
        put(f"  {where}states {d.placement.target} and {other}: {describe_witness(d.placement.witness, alphabet)}")


def print_json(content: dict[str, Any]) -> None:
    """Print JSON, with characters that are not printable escaped."""
    lines = json.dumps(content, ensure_ascii=False, indent=1).split("\n")
    for line in lines:
        print(line if line.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line))


LABELS = {  # of JSON keys that do not explain themselves
    "bytes": "peak memory, bytes",
    "cut": "episodes cut",
    "dropped": "episodes dropped",
    "forced_share": "share merged by --cut",
    "languages": "|X| per layer",
    "learning_bytes": "learning needs, bytes",
    "learning_seconds": "learning takes, s",
    "lengths": "rows per episode",
    "letters": "distinct steps",
    "padded": "episodes padded",
    "second_look": "refinement",
    "sorted": "rows out of order",
    "total": "weights add up to",
    "values": "distinct values",
}


def print_table(content: dict[str, Any]) -> None:
    """Print names and values in two aligned columns, without empty values."""
    rows = {LABELS.get(name, name.replace("_", " ")): value for name, value in content.items()}
    width = max(map(len, rows))
    for name, value in rows.items():
        if value not in (None, [], {}, ""):
            say(_shown(value), label=f"  {name:<{width}} ", style="cyan")


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {_shown(v)}" for k, v in value.items())
    if isinstance(value, list | tuple):
        return " ".join(map(_shown, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)
