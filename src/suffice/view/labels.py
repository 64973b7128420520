"""The few words that say what takes an arrow: `E → 101 : 0` is an action, what it shows and what it pays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import DUMMY, PAD, STOP
from suffice.view.arrows import Arrow

MOST_LINES = 3  # of one label
MOST_NAMED = 3  # values one after the other; of more the first are named
LONGEST_LABEL = 40  # characters of a line
ANY = "any"

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
    paid = {
        (a, o): rewards_of(rdp, arrow.source, y) for (a, o), y in zip(codes, arrow.symbols, strict=True) if a != PAD
    }
    return few([_line(rdp, arrow, *group) for group in grouped(paid)])


def few(lines: list[Line]) -> list[Line]:
    """As many as a label holds, and how many more there are."""
    if len(lines) <= MOST_LINES:
        return lines
    rest = lines[MOST_LINES - 1 :]
    hidden = tuple(sorted({a for line in rest for a in line.actions}))
    return [*lines[: MOST_LINES - 1], Line(f"… {len(rest)} more", hidden)]


def rewards_of(rdp: RDP, q: int, y: int) -> Key:
    """Codes of the rewards that came with a symbol."""
    a, o = rdp.symbols[y]
    met = (rdp.letters[:, 0] == a) & (rdp.letters[:, 1] == o) & (rdp.counts[q] > 0)
    return tuple(rdp.letters[met, 2].tolist())


def grouped(paid: dict[tuple[int, int], Key]) -> list[tuple[Key, Key, Key]]:
    """Actions, observations and rewards of each line: first actions that bring the same, then what they bring."""
    actions: dict[tuple[int, Key], list[int]] = {}
    for (a, o), rewards in paid.items():
        actions.setdefault((o, rewards), []).append(a)
    seen: dict[tuple[Key, Key], list[int]] = {}
    for (o, rewards), some in actions.items():
        seen.setdefault((tuple(some), rewards), []).append(o)
    return sorted((some, tuple(observations), rewards) for (some, rewards), observations in seen.items())


def _line(rdp: RDP, arrow: Arrow, actions: Key, observations: Key, rewards: Key) -> Line:
    last = arrow.target == rdp.final
    shown = "" if last and observations == (STOP,) else observations_in_words(rdp, observations)
    if actions == (DUMMY,):  # before the first action nothing is done or paid
        return Line(shown, actions)
    done = actions_in_words(rdp, arrow.source, actions)
    return Line(shortened(done + (f" → {shown}" if shown else "")) + paid_in_words(rdp, rewards), actions)


def shortened(text: str) -> str:
    """No longer than a line."""
    return text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"


def paid_in_words(rdp: RDP, rewards: Key) -> str:
    """What follows the colon, and the colon."""
    paid = [in_short(rdp.alphabet.rewards[r]) for r in rewards]
    return f" : {_either(paid) if len(paid) <= MOST_NAMED else f'{paid[0]} to {paid[-1]}'}" if paid else ""


def actions_in_words(rdp: RDP, q: int, actions: Key) -> str:
    """Named, or by what they are not, if that is shorter."""
    known = rdp.tau[q] != UNSEEN
    left = [a for a in sorted(set(rdp.symbols[known, 0].tolist())) if a > PAD and a not in actions]
    names, others = ([str(rdp.alphabet.action(a)) for a in some] for some in (actions, left))
    if len(actions) <= max(len(left), 1):
        return _either(names)
    if not left:
        return ANY
    return f"not {others[0]}" if len(left) == 1 else f"all but {', '.join(others)}"


def observations_in_words(rdp: RDP, codes: Key, features: Key | None = None, *, named: bool = False) -> str:
    """Each in full, or feature by feature where every combination is there; some features will do, by name or not."""
    features = tuple(range(len(rdp.alphabet.features))) if features is None else features
    seen = [rdp.alphabet.observation(o) for o in codes if o != STOP]
    texts = list(dict.fromkeys(tuple(str(values[i]) for i in features) for values in seen if values is not None))
    choices = [tuple(dict.fromkeys(values)) for values in zip(*texts, strict=True)]
    names = [f"{rdp.alphabet.features[i]}=" if named else "" for i in features]
    told = [_values(values, names) for values in texts]
    if len(texts) > 1 and len(choices) > 1 and set(product(*choices)) == set(texts):
        told = [",".join(n + _values_of(rdp, i, some) for n, i, some in zip(names, features, choices, strict=True))]
    return _either([*told, "end"] if STOP in codes else told)


def _values(values: Sequence[str], names: Sequence[str]) -> str:
    """Short ones as one word."""
    word = all(len(value) == 1 for value in values) and not any(names)
    return ("" if word else ",").join(name + value for name, value in zip(names, values, strict=True))


def _values_of(rdp: RDP, feature: int, some: tuple[str, ...]) -> str:
    """A star for all that there are."""
    if len(some) <= MOST_NAMED:
        return "|".join(some)
    every = {str(values[feature]) for values in rdp.alphabet.observations}
    return "*" if every == set(some) else f"{some[0]}|{some[1]}|… {len(some) - 2} more"


def _either(texts: Sequence[str]) -> str:
    """The first are always named, so that what excludes each other never reads the same."""
    if len(texts) > MOST_NAMED + 1:
        texts = [*texts[: MOST_NAMED - 1], f"{len(texts) - MOST_NAMED + 1} more"]
    return " or ".join([*filter(None, [", ".join(texts[:-1])]), *texts[-1:]])
