"""Sentences about the columns of a model: which matter, for what, with which evidence, and which do not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from suffice.data.alphabet import Value
from suffice.data.encoding.binning import LOWEST
from suffice.data.encoding.encoder import Encoder
from suffice.models.column_findings import ColumnExample, ColumnFinding, ColumnsFound
from suffice.models.header import Header

TELLS = {
    "reward": "the reward at once",
    "later reward": "a later reward",
    "state": "which states follow",
}
REASONS = {
    "constant": "always the same value",
    "identifier": "a different value in every row or episode",
    "many values": "too many distinct values for symbols",
}
MOST_LISTED = 10  # columns by name
MOST_UNDECIDED = 3  # columns with some evidence that are listed
SOME_EVIDENCE = 0.2  # share of the needed evidence from which more episodes may decide


def ignored_columns(about: Header) -> list[str]:
    """List the observation columns of the log that the model does not use."""
    return list(Encoder.from_data(about.encoder).ignored)


def columns_text(about: Header) -> str:
    """Return which columns matter, and how many do not, in one line."""
    observed, found = about.encoder.observations, about.columns_found or None
    edges = {name: kind.get("edges") for name, kind in about.encoder.kinds.items()}
    listed = _listed_columns(observed, edges, found)
    role_of = {about.encoder.roles.get(role, role): role for role in ("action", "reward")}
    binned = [name for name in about.encoder.kinds if name not in observed]
    shown = {name: name if name in ("action", "reward") else f"{role_of.get(name, 'column')} {name}" for name in binned}
    roles = [f"{shown[name]} ({_bins_text(edges.get(name) or ())})" for name in binned]
    others = len(ignored_columns(about))
    if not found:
        text = "; ".join(filter(None, [", ".join(listed), *roles]))
        return f"{text or 'none'}; {others} others are not used" if others else text
    return "; ".join([_matter_text(listed, len(observed), others, found), *roles])


def found_text(observed: Sequence[str], edges: Mapping[str, Sequence[float]], found: ColumnsFound, others: int) -> str:
    """Return which columns of a log matter, and how many others do not, in one line."""
    return _matter_text(_listed_columns(observed, edges, found), len(observed), others, found)


def _listed_columns(
    observed: Sequence[str], edges: Mapping[str, Sequence[float] | None], found: ColumnsFound | None
) -> list[str]:
    listed = [_column_text(name, edges.get(name), found) for name in observed[:MOST_LISTED]]
    more = len(observed) - MOST_LISTED
    return [*listed, f"and {more} more"] if more > 0 else listed


def _matter_text(listed: Sequence[str], used: int, others: int, found: ColumnsFound) -> str:
    text = ", ".join(listed)
    if found.kept_all:
        return f"{text} (all are kept: values are few)"
    rest = f"; {others} other{'s do' if others > 1 else ' does'} not" if others else ""
    if not used:
        return f"none of {others} matters for rewards"
    return f"{text} matter{'s' if used == 1 else ''}{rest}"


def _bins_text(edges: Sequence[float]) -> str:
    return f"{len(edges) + 1} bins"


def _column_text(name: str, edges: Sequence[float] | None, found: ColumnsFound | None) -> str:
    tells = [one.tells for one in found.chosen if name in one.columns] if found else []
    what = TELLS[tells[0]] if tells and tells[0] else ""
    if edges is None:
        return f"{name} ({what})" if what else name
    cuts = [edge for edge in edges if edge != LOWEST]
    listed = ", ".join(f"{edge:g}" for edge in cuts[:3]) + (" …" if len(cuts) > 3 else "")
    how = _bins_text(edges) if not found else f"cut at {listed}" if cuts else "missing or not"
    return f"{name} ({how}{', ' + what if what else ''})"


def column_sentences(found: ColumnsFound | None) -> Iterator[str]:
    """Yield the evidence for each column that was chosen, and for those that were not."""
    if not found:
        return
    for one in found.chosen:
        dropped = [name for name in one.columns if name in found.dropped]
        redundant = f" {_and(dropped)} turned out to be redundant." if dropped else ""
        yield f"{_and(one.columns)}: evidence {_odds(one)}{_example(one)}.{redundant}"
    undecided = sorted((one for one in found.others if _undecided(one)), key=lambda one: -one.log_e)
    for one in undecided[:MOST_UNDECIDED]:
        yield f"{_and(one.columns)}: evidence {_odds(one)}; about {_factor(one)} times the episodes may decide."
    rest = [one.columns[0] for one in found.others if one not in undecided[:MOST_UNDECIDED]]
    if rest:
        yield f"No evidence: {_listed(rest)}."
    for reason, text in REASONS.items():
        if names := [name for name, why in found.left_out.items() if why == reason]:
            yield f"Not tried, {text}: {_listed(names)}."
    level = f"At most {found.delta:g} of logs select a column that is independent of everything else"
    pairs = f"; {found.pairs:,} pairs of columns were tried" if found.pairs else ""
    yield f"{level} (docs/theory.md, section 12); chosen from {found.episodes:,} episodes{pairs}."
    if found.kept_all:
        yield "All columns are kept: values are few, and held-out rewards are predicted as well or better with them."


def evidence_rows(found: ColumnsFound) -> list[tuple[str, float, float]]:
    """Return name, log₁₀ of the evidence and of the evidence needed, chosen columns first."""
    rows = [*found.chosen, *sorted(found.others, key=lambda one: -one.log_e)]
    return [(" and ".join(one.columns), one.log_e / math.log(10), one.threshold / math.log(10)) for one in rows]


def _undecided(one: ColumnFinding) -> bool:
    return one.log_e > SOME_EVIDENCE * one.threshold


def _factor(one: ColumnFinding) -> str:
    return f"{max(one.threshold / one.log_e, 1.1):.1f}"


def _odds(one: ColumnFinding) -> str:
    return f"10^{one.log_e / math.log(10):.1f} to 1 (10^{one.threshold / math.log(10):.1f} needed)"


def _example(one: ColumnFinding) -> str:
    example = one.example
    if example is None:
        return ""
    first, second = (_condition(one.columns, values) for values in (example.values, example.others))
    counts = f"in {example.k1:,} of {example.n1:,} cases, with {second} in {example.k2:,} of {example.n2:,}"
    return f". For example, with {first} {_outcome(example)} {counts}"


def _outcome(example: ColumnExample) -> str:
    if example.reward is None:
        return f"action {example.action} leads to the same state"
    return f"action {example.action} yields reward {example.reward:g}"


def _condition(names: Sequence[str], values: Sequence[Value | list[float | None]]) -> str:
    parts = [_range(name, value) for name, value in zip(names, values, strict=False)]
    return " and ".join(parts)


def _range(name: str, value: Value | list[float | None]) -> str:
    if not isinstance(value, list):
        return f"{name} = {value}"
    low, high = (*value, None, None)[:2]
    if low is None:
        return f"{name} < {high:g}" if high is not None else name
    return f"{name} ≥ {low:g}" if high is None else f"{low:g} ≤ {name} < {high:g}"


def _and(names: Sequence[str]) -> str:
    return " and ".join(names)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return ", ".join(names[:MOST_LISTED]) + more
