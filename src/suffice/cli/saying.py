"""What is said, to people and to machines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suffice.episodes import Episodes
    from suffice.logs import Report
    from suffice.model import Model


def summary(model: Model) -> str:
    """One line about a model."""
    about = model.about
    widths = " ".join(map(str, about.layers))
    return f"{model.rdp.n_states} states in layers {widths}, from {about.episodes:,} episodes"


def describe(model: Model, path: str) -> dict[str, Any]:
    """What `suffice info` promises."""
    from msgspec import to_builtins

    from suffice.model import load_run_notes

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
    )
    return {
        "states": model.rdp.n_states,
        "horizon": model.rdp.horizon,
        **{name: getattr(about, name) for name in kept},
        "promise": to_builtins(about.promise),
        "seconds": notes.seconds if notes else None,
        "bytes": notes.bytes if notes else None,
        "episodes": about.episodes,
        "log_hash": about.log_hash,
        "version": about.version,
    }


def contents(log: str, episodes: Episodes, report: Report) -> dict[str, Any]:
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
        "bins",
    )
    found: dict[str, Any] = {name: getattr(report, name) for name in names}
    if episodes.weight is not None:
        found["total"] = episodes.total
    return {"log": log} | found | {"letters": len(episodes.letters), "notes": list(report.notes)}


def cost(episodes: Episodes) -> dict[str, Any]:
    """|X| per layer, memory, and seconds extrapolated from a sample: the time is linear in the episodes."""
    from time import perf_counter

    from suffice.learner import Settings, adact_h
    from suffice.statistics.language_counts import LanguageCounts

    settings = Settings()
    plan = LanguageCounts().plan(episodes, settings.chosen_bound, settings.memory)
    sample = episodes.columns(slice(0, 10_000))
    adact_h(episodes.columns(slice(0, 100)))  # compile first
    start = perf_counter()
    adact_h(sample)
    seconds = (perf_counter() - start) * max(1.0, episodes.n / sample.n)
    return {
        "languages": [0, *(plan.size(length, settings.delta) for length in range(episodes.horizon, 0, -1)), 0],
        "learning_seconds": round(seconds, 3),
        "learning_bytes": plan.least_bytes(episodes.n) + 12 * episodes.n,
    }


def print_states(model: Model) -> None:
    """Every state with its share of the episodes and a typical history."""
    from suffice.rdp import show

    rdp = model.rdp
    layer, offsets, histories = rdp.layer_of(), rdp.offsets(), rdp.typical_histories()
    for q in range(rdp.n_states - 1):
        share = rdp.counts[q].sum() / model.about.episodes
        print(f"  layer {layer[q]} state {q - offsets[layer[q]]}  {share:6.1%}  {show(histories[q])}")


def print_witnesses(model: Model, most: int) -> None:
    """Some of the reasons why states were told apart."""
    most = max(most, 0)
    told = [d for d in model.decisions if d.verdict.promoted and d.verdict.witness]
    if most and told:
        print("Told apart, for example, by:")
    for d in told[:most]:
        print(f"  layer {d.layer}, states {d.verdict.target} and {d.verdict.nearest}: {d.verdict.witness}")


def print_json(content: dict[str, Any]) -> None:
    """For machines."""
    print(json.dumps(content, ensure_ascii=False, indent=1))


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
        if value not in (None, [], {}):
            print(f"  {name:<{width}}  {_shown(value)}")


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {_shown(v)}" for k, v in value.items())
    if isinstance(value, list | tuple):
        return " ".join(map(_shown, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)
