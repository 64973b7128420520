"""Labels of arrows, such as `E → 101 : 0` for an action, the observation that follows and the reward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import DUMMY, PAD, STOP
from suffice.view.arrows import Arrow

MOST_LINES = 3  # lines of one label
MOST_NAMED = 3  # values listed one after the other; of more values only the first are listed
LONGEST_LABEL = 40  # characters of a line
ANY = "any"

Key = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an arrow's label."""

    text: str
    actions: Key  # codes of the actions that the line describes


def legend(rdp: RDP) -> str:
    """Explain how to read labels, with the names of the observation columns."""
    short = all(len(str(value)) == 1 for values in rdp.alphabet.observations for value in values)
    return f"action → {(' ' if short else ',').join(rdp.alphabet.features)} : reward"


def short_number(value: float) -> str:
    """Format a number with three digits and a typographic minus; rounding errors below 1e-9 are dropped."""
    return f"{round(value, 9) + 0.0:.3g}".replace("-", "−")


def label(rdp: RDP, arrow: Arrow) -> list[Line]:
    """Return the label of an arrow. Symbols that differ in one component share a line; padding is not labelled."""
    codes = [tuple(rdp.symbols[y].tolist()) for y in arrow.symbols]
    paid = {
        (a, o): rewards_of(rdp, arrow.source, y) for (a, o), y in zip(codes, arrow.symbols, strict=True) if a != PAD
    }
    return limit_lines([_line(rdp, arrow, *group) for group in grouped(paid)])


def limit_lines(lines: list[Line]) -> list[Line]:
    """Replace the lines beyond MOST_LINES by their number."""
    if len(lines) <= MOST_LINES:
        return lines
    rest = lines[MOST_LINES - 1 :]
    hidden = tuple(sorted({a for line in rest for a in line.actions}))
    return [*lines[: MOST_LINES - 1], Line(f"… {len(rest)} more", hidden)]


def rewards_of(rdp: RDP, q: int, y: int) -> Key:
    """Return the codes of the rewards that were logged with a symbol in state q."""
    a, o = rdp.symbols[y]
    met = (rdp.letters[:, 0] == a) & (rdp.letters[:, 1] == o) & (rdp.counts[q] > 0)
    return tuple(rdp.letters[met, 2].tolist())


def grouped(paid: dict[tuple[int, int], Key]) -> list[tuple[Key, Key, Key]]:
    """Group symbols into lines of (actions, observations, rewards).

    Actions with the same observation and rewards are combined first, then observations with the same actions.
    """
    actions: dict[tuple[int, Key], list[int]] = {}
    for (a, o), rewards in paid.items():
        actions.setdefault((o, rewards), []).append(a)
    seen: dict[tuple[Key, Key], list[int]] = {}
    for (o, rewards), some in actions.items():
        seen.setdefault((tuple(some), rewards), []).append(o)
    return sorted((some, tuple(observations), rewards) for (some, rewards), observations in seen.items())


def _line(rdp: RDP, arrow: Arrow, actions: Key, observations: Key, rewards: Key) -> Line:
    last = arrow.target == rdp.final
    shown = "" if last and observations == (STOP,) else describe_observations(rdp, observations)
    if actions == (DUMMY,):  # the first observation has neither action nor reward
        return Line(shown, actions)
    done = describe_actions(rdp, arrow.source, actions)
    return Line(shortened(done + (f" → {shown}" if shown else "")) + describe_rewards(rdp, rewards), actions)


def shortened(text: str) -> str:
    """Cut a text to LONGEST_LABEL characters."""
    return text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"


def describe_rewards(rdp: RDP, rewards: Key) -> str:
    """Return the rewards as the end of a line, with the colon before them."""
    paid = [short_number(rdp.alphabet.rewards[r]) for r in rewards]
    return f" : {_either(paid) if len(paid) <= MOST_NAMED else f'{paid[0]} to {paid[-1]}'}" if paid else ""


def describe_actions(rdp: RDP, q: int, actions: Key) -> str:
    """List actions by name, or name the other actions of the state if they are fewer."""
    known = rdp.tau[q] != UNSEEN
    left = [a for a in sorted(set(rdp.symbols[known, 0].tolist())) if a > PAD and a not in actions]
    names, others = ([str(rdp.alphabet.action(a)) for a in some] for some in (actions, left))
    if len(actions) <= max(len(left), 1):
        return _either(names)
    if not left:
        return ANY
    return f"not {others[0]}" if len(left) == 1 else f"all but {', '.join(others)}"


def describe_observations(rdp: RDP, codes: Key, features: Key | None = None, *, named: bool = False) -> str:
    """List observations, restricted to `features`; feature by feature if all combinations of values occur.

    With `named`, values are written as `name=value`.
    """
    features = tuple(range(len(rdp.alphabet.features))) if features is None else features
    seen = [rdp.alphabet.observation(o) for o in codes if o != STOP]
    texts = list(dict.fromkeys(tuple(str(values[i]) for i in features) for values in seen if values is not None))
    choices = [tuple(dict.fromkeys(values)) for values in zip(*texts, strict=True)]
    names = [f"{rdp.alphabet.features[i]}=" if named else "" for i in features]
    shown = [_values(values, names) for values in texts]
    if len(texts) > 1 and len(choices) > 1 and set(product(*choices)) == set(texts):
        shown = [",".join(n + _values_of(rdp, i, some) for n, i, some in zip(names, features, choices, strict=True))]
    return _either([*shown, "end"] if STOP in codes else shown)


def _values(values: Sequence[str], names: Sequence[str]) -> str:
    """Join the values of an observation; single characters are written without commas."""
    word = all(len(value) == 1 for value in values) and not any(names)
    return ("" if word else ",").join(name + value for name, value in zip(names, values, strict=True))


def _values_of(rdp: RDP, feature: int, some: tuple[str, ...]) -> str:
    """List the values of one feature; a star stands for all values."""
    if len(some) <= MOST_NAMED:
        return "|".join(some)
    every = {str(values[feature]) for values in rdp.alphabet.observations}
    return "*" if every == set(some) else f"{some[0]}|{some[1]}|… {len(some) - 2} more"


def _either(texts: Sequence[str]) -> str:
    """Join alternatives with "or"; the first are always named, so that labels of disjoint sets differ."""
    if len(texts) > MOST_NAMED + 1:
        texts = [*texts[: MOST_NAMED - 1], f"{len(texts) - MOST_NAMED + 1} more"]
    return " or ".join([*filter(None, [", ".join(texts[:-1])]), *texts[-1:]])
