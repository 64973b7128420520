"""Events of the future as data: statistics count them, and a witness names the one by which two samples differ most.

An event holds codes of the alphabet (see `data.alphabet`), never text; `automata.describe` writes it as a sentence.

    Pattern    a set of steps: conditions on action, feature, observation or reward, and combinations of them
    Event      a set of futures: a pattern at the next, the last or any step, words of patterns, a prefix, a sketch cell
    OutcomeAt  an event at one place, counted over the visits to that place

Every type is encoded as a short JSON list that begins with its tag. Decoded events come from untrusted sources: field
types bound every number, `refuse_invalid_witness` compares codes with an alphabet, and `files.json_text` limits size
and depth.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from suffice.data.alphabet import STOP, Alphabet

Number = Annotated[int, Meta(ge=0, lt=1 << 53)]
Symbol = tuple[Number, Number]  # codes of an action and an observation
Letter = tuple[Number, Number, Number]  # codes of an action, an observation and a reward


class EventNode(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A part of an event: immutable, hashable, encoded as a JSON list."""


# ---------------------------------------------------------------- patterns: sets of steps


class ActionIs(EventNode, frozen=True, tag="action"):
    """Steps with a given action."""

    action: Number


class FeatureIs(EventNode, frozen=True, tag="feature"):
    """Steps in which a feature has a given value."""

    feature: Number  # index of the feature
    example: Number  # code of an observation in which the feature has that value


class ObservationIs(EventNode, frozen=True, tag="observation"):
    """Steps with a given whole observation. STOP: the episode is over."""

    observation: Number


class RewardIs(EventNode, frozen=True, tag="reward"):
    """Steps with a given reward."""

    reward: Number


Condition = ActionIs | FeatureIs | ObservationIs | RewardIs


class Conjunction(EventNode, frozen=True, tag="conjunction"):
    """Steps in which all conditions hold."""

    conditions: tuple[Condition, ...]


class AnyOf(EventNode, frozen=True, tag="or"):
    """The union of two patterns."""

    left: Pattern
    right: Pattern


class AllOf(EventNode, frozen=True, tag="and"):
    """The intersection of two patterns."""

    left: Pattern
    right: Pattern


Pattern = ActionIs | FeatureIs | ObservationIs | RewardIs | Conjunction | AnyOf | AllOf


# ---------------------------------------------------------------- outcomes at a place


class Chosen(EventNode, frozen=True, tag="chosen"):
    """An action is chosen; for PAD, the episode is over."""

    action: Number


class Paid(EventNode, frozen=True, tag="paid"):
    """An action yields a reward."""

    action: Number
    reward: Number


class Shown(EventNode, frozen=True, tag="shown"):
    """An action leads to an observation and a reward."""

    action: Number
    observation: Number
    reward: Number


class ShownAmong(EventNode, frozen=True, tag="among"):
    """An action leads to a reward and to an observation of the group that a given one belongs to."""

    action: Number
    observation: Number
    reward: Number


class New(EventNode, frozen=True, tag="new"):
    """Something that was not seen at the place before, after a given action or after any."""

    action: Number | None = None


class After(EventNode, frozen=True, tag="after"):
    """The step after some symbols. No symbols: the next step."""

    symbols: tuple[Symbol, ...]


class Later(EventNode, frozen=True, tag="later"):
    """Any later step in a state that both samples reach."""


class InState(EventNode, frozen=True, tag="state"):
    """A state of the automaton that is refined, given by its layer and its number in the layer."""

    layer: Number
    state: Number


class StepsLater(EventNode, frozen=True, tag="steps"):
    """The step that is this many steps after the next one."""

    steps: Number


class OutcomeAt(EventNode, frozen=True, tag="outcome"):
    """An outcome at a place, counted over the visits to that place and not over the whole sample."""

    place: After | Later | InState | StepsLater
    what: Chosen | Paid | Shown | ShownAmong | New


# ---------------------------------------------------------------- events: sets of futures


class Within(EventNode, frozen=True, tag="within"):
    """Some remaining step is in a pattern."""

    steps: Number  # number of remaining steps
    pattern: Pattern


class Next(EventNode, frozen=True, tag="next"):
    """The next step is in a pattern."""

    pattern: Pattern


class Last(EventNode, frozen=True, tag="last"):
    """The last step is in a pattern."""

    pattern: Pattern


class Word(EventNode, frozen=True, tag="word"):
    """Steps in several patterns in this order, consecutive or with other steps between them."""

    gaps: tuple[bool, ...]  # [n+1] whether other steps may occur before each pattern, and after the last
    patterns: tuple[Pattern, ...]  # [n]


class EitherOf(EventNode, frozen=True, tag="either"):
    """The union of two events."""

    left: Event
    right: Event


class BothOf(EventNode, frozen=True, tag="both"):
    """The intersection of two events."""

    left: Event
    right: Event


class Prefix(EventNode, frozen=True, tag="prefix"):
    """The future begins with these steps."""

    letters: tuple[Letter, ...]


class SketchCell(EventNode, frozen=True, tag="cell"):
    """The prefix of a given length hashes to a cell of a Count-Min-Sketch."""

    length: Number
    row: Number
    column: Number


Event = Within | Next | Last | Word | EitherOf | BothOf | Prefix | SketchCell | OutcomeAt


class Witness(NamedTuple):
    """The event on which two samples differ most, and how often it occurs in each.

    Attributes
    ----------
    event
        The event, as data.
    k1, n1
        Occurrences of the event in the candidate, and size of the candidate. For a sketch, k1 is an estimate.
    k2, n2
        The same for the state that the candidate is compared with.

    Examples
    --------
    >>> witness = model.decisions[3].placement.witness
    >>> witness.k1, witness.n1, witness.k2, witness.n2
    (75, 143, 0, 157)
    """

    event: Event
    k1: Number
    n1: Number
    k2: Number
    n2: Number

    def swapped(self) -> Witness:
        """Exchange the two samples of the witness.

        Returns
        -------
        Witness
            The same event, with the counts of the second sample first.
        """
        return Witness(self.event, self.k2, self.n2, self.k1, self.n1)


# ---------------------------------------------------------------- events from untrusted sources


def refuse_invalid_witness(witness: Witness | None, alphabet: Alphabet) -> None:
    """Raise ValueError if a witness has codes that are not in the alphabet, or impossible counts."""
    if witness is None:
        return
    event, k1, n1, k2, n2 = witness
    if k1 > n1 or k2 > n2 or not _known(event, alphabet):
        raise ValueError("its witnesses are of another automaton")


def _known(node: Event | Pattern, alphabet: Alphabet) -> bool:
    match node:
        case ActionIs(action):
            return action < alphabet.n_actions
        case FeatureIs(feature, example):
            return feature < len(alphabet.features) and STOP < example < alphabet.n_observations
        case ObservationIs(observation):
            return observation < alphabet.n_observations
        case RewardIs(reward):
            return reward < len(alphabet.rewards)
        case Conjunction(conditions):
            return bool(conditions) and all(_known(condition, alphabet) for condition in conditions)
        case AnyOf(left, right) | AllOf(left, right) | EitherOf(left, right) | BothOf(left, right):
            return _known(left, alphabet) and _known(right, alphabet)
        case Within(_, pattern) | Next(pattern) | Last(pattern):
            return _known(pattern, alphabet)
        case Word(gaps, patterns):
            fits = len(patterns) > 0 and len(gaps) == len(patterns) + 1
            return fits and all(_known(pattern, alphabet) for pattern in patterns)
        case Prefix(letters):
            return bool(letters) and all(_is_letter(letter, alphabet) for letter in letters)
        case OutcomeAt(place, what):
            symbols = place.symbols if isinstance(place, After) else ()
            return _is_outcome(what, alphabet) and all(_is_letter((*symbol, 0), alphabet) for symbol in symbols)
        case SketchCell():
            return True


def _is_letter(letter: Letter, alphabet: Alphabet) -> bool:
    action, observation, reward = letter
    return action < alphabet.n_actions and observation < alphabet.n_observations and reward < len(alphabet.rewards)


def _is_outcome(what: Chosen | Paid | Shown | ShownAmong | New, alphabet: Alphabet) -> bool:
    match what:
        case Chosen(action):
            return action < alphabet.n_actions
        case Paid(action, reward):
            return _is_letter((action, STOP, reward), alphabet)
        case Shown(action, observation, reward) | ShownAmong(action, observation, reward):
            return _is_letter((action, observation, reward), alphabet)
        case New(action):
            return action is None or action < alphabet.n_actions
