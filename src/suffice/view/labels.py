"""The few words that say what takes an arrow: `E → 101 : 0` is an action, what it shows and what it pays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from suffice.episodes import DUMMY, PAD, STOP
from suffice.rdp import RDP, UNSEEN
from suffice.view.arrows import Arrow

MOST_LINES = 3  # of one label
MOST_NAMED = 3  # values one after the other; more are counted
LONGEST = 40  # characters of a line

Key = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a label."""

    text: str
    actions: Key  # the codes of the actions it speaks of


def legend(rdp: RDP) -> str:
    """How labels are to be read."""
    short = all(len(str(value)) == 1 for values in rdp.alphabet.observations for value in values)
    return f"action → {(' ' if short else ',').join(rdp.alphabet.features)} : reward"


def in_short(value: float) -> str:
    """A number with a proper minus, and without what rounding leaves."""
    return f"{round(value, 9) + 0.0:.3g}".replace("-", "−")


def label(rdp: RDP, arrow: Arrow) -> list[Line]:
    """Symbols that differ in one thing share a line; nothing for padding, whose arrows are pale instead."""
    codes = [tuple(rdp.symbols[y].tolist()) for y in arrow.symbols]
    paid = {(a, o): _rewards(rdp, arrow.source, y) for (a, o), y in zip(codes, arrow.symbols, strict=True) if a != PAD}
    lines = [_line(rdp, arrow, *group) for group in _grouped(paid)]
    if len(lines) > MOST_LINES:
        rest = lines[MOST_LINES - 1 :]
        hidden = tuple(sorted({a for line in rest for a in line.actions}))
        lines[MOST_LINES - 1 :] = [Line(f"… {len(rest)} more", hidden)]
    return lines


def _rewards(rdp: RDP, q: int, y: int) -> Key:
    """Codes of the rewards that came with a symbol."""
    a, o = rdp.symbols[y]
    met = (rdp.letters[:, 0] == a) & (rdp.letters[:, 1] == o) & (rdp.counts[q] > 0)
    return tuple(rdp.letters[met, 2].tolist())


def _grouped(paid: dict[tuple[int, int], Key]) -> list[tuple[Key, Key, Key]]:
    """Actions, observations and rewards of each line: first actions that bring the same, then what they bring."""
    actions: dict[tuple[int, Key], list[int]] = {}
    for (a, o), rewards in paid.items():
        actions.setdefault((o, rewards), []).append(a)
    seen: dict[tuple[Key, Key], list[int]] = {}
    for (o, rewards), some in actions.items():
        seen.setdefault((tuple(some), rewards), []).append(o)
    return sorted((some, tuple(observations), rewards) for (some, rewards), observations in seen.items())


def _line(rdp: RDP, arrow: Arrow, actions: Key, observations: Key, rewards: Key) -> Line:
    alphabet, last = rdp.alphabet, not rdp.stationary and arrow.target == rdp.n_states - 1
    shown = "" if last and observations == (STOP,) else _observations(rdp, observations)
    if actions == (DUMMY,):  # before the first action nothing is done or paid
        return Line(shown, actions)
    paid = [in_short(alphabet.rewards[r]) for r in rewards]
    pays = _either(paid) if len(paid) <= MOST_NAMED else f"{paid[0]} to {paid[-1]}"
    done = _actions(rdp, arrow.source, actions)
    text = done + (f" → {shown}" if shown else "")
    if len(text) > LONGEST:
        text = text[: LONGEST - 1] + "…"
    return Line(text + (f" : {pays}" if pays else ""), actions)


def _actions(rdp: RDP, q: int, actions: Key) -> str:
    """Named, or by what they are not, if that is shorter."""
    known = rdp.tau[q] != UNSEEN
    left = [a for a in sorted(set(rdp.symbols[known, 0].tolist())) if a > PAD and a not in actions]
    names, others = ([str(rdp.alphabet.action(a)) for a in some] for some in (actions, left))
    if len(actions) <= max(len(left), 1):
        return _either(names, "actions")
    if not left:
        return "any"
    return f"not {others[0]}" if len(left) == 1 else f"all but {', '.join(others)}"


def _observations(rdp: RDP, codes: Key) -> str:
    """Each in full, or feature by feature where every combination is there."""
    seen = [rdp.alphabet.observation(o) for o in codes if o != STOP]
    texts = [tuple(map(str, values)) for values in seen if values is not None]
    choices = [tuple(dict.fromkeys(feature)) for feature in zip(*texts, strict=True)]
    named = [_values(values) for values in texts]
    if len(texts) > 1 and len(choices) > 1 and set(product(*choices)) == set(texts):
        named = [",".join("|".join(some) if len(some) <= MOST_NAMED else "*" for some in choices)]
    return _either([*named, "end"] if STOP in codes else named, "observations")


def _values(values: Sequence[str]) -> str:
    """Short ones as one word."""
    return ("" if all(len(value) == 1 for value in values) else ",").join(values)


def _either(texts: Sequence[str], of: str = "") -> str:
    if of and len(texts) > MOST_NAMED:
        return f"{len(texts)} {of}"
    return " or ".join([*filter(None, [", ".join(texts[:-1])]), *texts[-1:]])
