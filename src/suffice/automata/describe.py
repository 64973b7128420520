"""Describe histories, events and witnesses as text for users.

Events and witnesses hold codes; the alphabet translates them. With the alphabet of `Encoder.display`, bins are shown as
ranges of values instead of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from suffice.automata.histories import LONGEST, History, show, show_ends, show_symbol
from suffice.data.alphabet import PAD, STOP, Alphabet, Value
from suffice.errors import require_type
from suffice.evidence import events
from suffice.evidence.events import Event, OutcomeAt, Pattern, Witness

# ---------------------------------------------------------------- histories


def brief(history: History) -> str:
    """Format a history like `show`, but leave out the middle of a long one."""
    if len(history) <= LONGEST:
        return show(history)
    return show_ends(history[0], len(history), history[-LONGEST + 2 :])


def show_pair(one: History, other: History) -> tuple[str, str]:
    """Format two histories, without the steps they begin with in common where that makes them shorter."""
    equal = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    if equal < 2 or equal == min(len(one), len(other)):
        return brief(one), brief(other)
    before = f"… {equal} equal steps … · "
    return before + brief(one[equal:]), before + brief(other[equal:])


# ---------------------------------------------------------------- events and witnesses


def describe_witness(witness: Witness | None, alphabet: Alphabet) -> str:
    """Describe the event that distinguishes two samples, with its frequency in each.

    Parameters
    ----------
    witness
        The witness of a decision, `decision.placement.witness`; None if there is none.
    alphabet
        The alphabet of the automaton, `model.rdp.alphabet`. That of `model.in_words.rdp` shows bins as ranges.

    Returns
    -------
    str
        The event, its frequency in the candidate's sample, and after "against" that of the state it was compared with.
        Empty without a witness.

    Examples
    --------
    >>> witness = model.decisions[3].placement.witness
    >>> suffice.describe_witness(witness, model.rdp.alphabet)
    'within 4 steps, observation = (1, 2, clear): 0.52 against 0.00'
    """
    if witness is None:
        return ""
    require_type("witness", witness, Witness, "a witness. Pass one of model.decisions.")
    event, k1, n1, k2, n2 = witness
    text = f"{describe_event(event, alphabet)}:"
    if not isinstance(event, OutcomeAt):
        return f"{text} {_against(k1, n1, k2, n2)}"
    if isinstance(event.place, events.StepsLater):
        return f"{text} {_against(k1, n1, k2, n2)} ({k1:,} of {n1:,}, {k2:,} of {n2:,})"
    return f"{text} {k1} of {n1} against {k2} of {n2}"


def describe_event(event: Event, alphabet: Alphabet) -> str:
    """Describe an event, such as "within 4 steps, action = N and reward = 4"."""
    match event:
        case events.Within(steps, pattern):
            return f"within {steps} steps, {_pattern(pattern, alphabet)}"
        case events.Next(pattern):
            return f"at the next step, {_pattern(pattern, alphabet)}"
        case events.Last(pattern):
            return f"at the last step, {_pattern(pattern, alphabet)}"
        case events.Word(gaps, patterns):
            return _word(gaps, [_pattern(pattern, alphabet) for pattern in patterns])
        case events.EitherOf(left, right):
            return f"either ({describe_event(left, alphabet)}) or ({describe_event(right, alphabet)})"
        case events.BothOf(left, right):
            return f"both ({describe_event(left, alphabet)}) and ({describe_event(right, alphabet)})"
        case events.Prefix(letters):
            return "next " + ", ".join(_letter(letter, alphabet) for letter in letters)
        case events.SketchCell(length, row, column):
            return f"the next {length} steps are among those of sketch cell {row},{column}"
        case events.OutcomeAt(place, what):
            return f"{_place(place, alphabet)}, {_outcome(what, alphabet)}"


def _pattern(pattern: Pattern, alphabet: Alphabet) -> str:
    match pattern:
        case events.ActionIs(action):
            return f"action = {alphabet.action(action)}"
        case events.FeatureIs(feature, example):
            return f"{alphabet.features[feature]} = {_value(alphabet.observations[example - STOP - 1][feature])}"
        case events.ObservationIs(observation):
            seen = alphabet.observation(observation)
            return "the episode is over" if seen is None else f"observation = ({', '.join(map(_value, seen))})"
        case events.RewardIs(reward):
            return f"reward = {alphabet.rewards[reward]:g}"
        case events.Conjunction(conditions):
            return " and ".join(_pattern(condition, alphabet) for condition in conditions)
        case events.AnyOf(left, right):
            return f"({_pattern(left, alphabet)} or {_pattern(right, alphabet)})"
        case events.AllOf(left, right):
            return f"({_pattern(left, alphabet)} and {_pattern(right, alphabet)})"


def _value(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _word(gaps: Sequence[bool], patterns: Sequence[str]) -> str:
    """Describe a sequence of patterns, with the gaps before each and after the last."""
    joins = [("directly followed by", "later")[gap] for gap in gaps[:-1]]
    joins[:1] = [("at the next step", "at some point")[gap] for gap in gaps[:1]]
    phrases = [f"{join} {pattern}" for join, pattern in zip(joins, patterns, strict=True)]
    return ", ".join(phrases) + ("" if gaps[-1] else ", and then nothing")


def _letter(letter: events.Letter, alphabet: Alphabet) -> str:
    a, o, r = letter
    if a == PAD:
        return "nothing more"
    seen = alphabet.observation(o)
    shown = "the end" if seen is None else f"({', '.join(map(str, seen))})"
    return f"{alphabet.action(a)} → {shown} / {alphabet.rewards[r]:g}"


def _symbol(action: int, observation: int, alphabet: Alphabet) -> str:
    return show_symbol((alphabet.action(action), alphabet.observation(observation)))


def _place(place: events.After | events.Later | events.InState | events.StepsLater, alphabet: Alphabet) -> str:
    match place:
        case events.After(symbols):
            before = " · ".join(_symbol(*symbol, alphabet) for symbol in symbols)
            return f"after {before}" if before else "next"
        case events.Later():
            return "in a state that both reach later"
        case events.InState(layer, state):
            return f"at step {layer}, in state {layer}.{state} before refinement"
        case events.StepsLater(steps):
            return "next" if not steps else f"{steps} step{'s' if steps > 1 else ''} later"


def _outcome(
    what: events.Chosen | events.Paid | events.Shown | events.ShownAmong | events.New, alphabet: Alphabet
) -> str:
    match what:
        case events.Chosen(action):
            return "the episode is over" if action == PAD else f"{alphabet.action(action)} is chosen"
        case events.Paid(action, reward):
            return f"{alphabet.action(action)} with reward {alphabet.rewards[reward]:g}"
        case events.Shown(action, observation, reward):
            return f"{_symbol(action, observation, alphabet)} with reward {alphabet.rewards[reward]:g}"
        case events.ShownAmong(action, observation, reward):
            group = f"{_symbol(action, observation, alphabet)}, or an observation of its group"
            return f"{group}, with reward {alphabet.rewards[reward]:g}"
        case events.New(action):
            return "an unseen outcome" if action is None else f"{alphabet.action(action)} → an unseen outcome"


def _against(k1: int, n1: int, k2: int, n2: int) -> str:
    """Format two frequencies with enough digits to show their difference."""
    p1, p2 = k1 / max(n1, 1), k2 / max(n2, 1)
    difference, digits = abs(p1 - p2), 2
    while digits < 6 and difference < 10.0**-digits:
        digits += 1
    return f"{p1:.{digits}f} against {p2:.{digits}f}"
