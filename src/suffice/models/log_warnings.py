"""Warnings about problems of a log that would mislead a learner, found by tests with a stated level, and facts.

The tests are in `evidence.log_tests` and `evidence.leaks`. A warning is data; its sentence is made where it is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import msgspec
import numpy as np

from suffice.data.alphabet import PAD, STOP, Alphabet, Value
from suffice.data.encoding.encoder import Encoder
from suffice.data.ends import NO_EARLY_ENDS, LogEnds
from suffice.data.episodes import Episodes
from suffice.data.log import Log
from suffice.errors import parameter
from suffice.evidence.leaks import leaking_columns
from suffice.evidence.log_tests import Decisions, copies, dependent_rewards, drift
from suffice.files.run_notes import RunNotes
from suffice.kernels.array_types import Int64

LEVEL = 0.01  # probability that a log without these problems gets any warning from a test
TESTS = 4  # among which the level is divided
SEED = 0  # of the permutations, so that the same log has the same warnings
FEWEST_EPISODES = 20  # below which no log is unusual
HARDLY_REPEATED = 0.5  # share of decisions whose observation occurs in no other episode
MANY_VALUES = 20  # of a column, above which bins are advised
LISTED = 5  # column names in a sentence

Code = Literal["ends", "copies", "drift", "dependent_rewards", "leak", "constant", "identifier", "nearly_unique"]


@dataclass(frozen=True, slots=True)
class LogWarning:
    """A problem of a log that makes results misleading.

    Attributes
    ----------
    code : str
        "ends" (what was assumed about early ends), "copies", "drift", "dependent_rewards", "leak" (found by tests),
        "constant", "identifier" or "nearly_unique" (facts about columns).
    level : float or None
        Largest probability of this warning for a log without the problem. None for facts.
    columns : tuple of str
        The columns that it concerns.
    numbers : dict
        What was measured; the keys depend on the code.

    Examples
    --------
    >>> twice = suffice.Episodes.joined([episodes, episodes])
    >>> [warning.code for warning in suffice.check(twice).warnings]
    ['copies']
    """

    code: Code
    level: float | None = None
    columns: tuple[str, ...] = ()
    numbers: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Return the problem and what to do, in a sentence without a full stop."""
        return _SENTENCES[self.code](self)

    def to_dict(self) -> dict[str, Any]:
        """Return the warning under the keys of `--json`.

        Returns
        -------
        dict
            Code, level, columns, numbers and text.
        """
        return {
            "code": self.code,
            "level": self.level,
            "columns": list(self.columns),
            **self.numbers,
            "text": self.text,
        }


def stored_warnings(notes: RunNotes | None) -> tuple[LogWarning, ...]:
    """Return the warnings in the notes beside a model file; damaged ones are left out."""
    found = []
    for stored in notes.warnings if notes else ():
        with suppress(msgspec.ValidationError, LookupError, TypeError, ValueError):
            warning = msgspec.convert(stored, LogWarning)
            assert warning.text  # made from its numbers
            found.append(warning)
    return tuple(found)


def log_warnings(log: Log, encoder: Encoder, ends: LogEnds = NO_EARLY_ENDS) -> tuple[LogWarning, ...]:
    """Return the warnings about a log in memory, the most serious first.

    Of logs that are not in memory, only an assumption about ends is reported. Episodes with weights are counted, not
    logged one by one, so that only facts about their columns are reported. Of groups, whose episodes may depend on each
    other, tests use one episode each.
    """
    uncertain = ends.doubtful or (ends.assumed and not ends.clear)
    assumed = (LogWarning("ends", numbers=asdict(ends)),) if uncertain else ()
    if not isinstance(log, Episodes) or log.n < FEWEST_EPISODES or not log.horizon:
        return assumed
    used = log if log.group is None else log.columns(np.sort(np.unique(log.group, return_index=True)[1]))
    tested = _tested(used, encoder) if log.weight is None and used.n >= FEWEST_EPISODES else iter(())
    return (*assumed, *tested, *_facts(log))


def _tested(episodes: Episodes, encoder: Encoder) -> Iterator[LogWarning]:
    level, rng, names = LEVEL / TESTS, np.random.default_rng(SEED), episodes.alphabet.features
    copied = copies(episodes, level)
    if copied is not None:
        yield LogWarning("copies", level, numbers=copied._asdict())
    for leak in leaking_columns(episodes, columns_of(episodes.alphabet), level, rng):
        counts = {"decisions": leak.decisions, "contradicting": leak.contradicting}
        yield LogWarning("leak", level, (names[leak.feature],), counts)
    if copied is not None:
        return  # copies are not independent, and the other tests would find that too
    dependence = dependent_rewards(episodes, level, rng)
    if dependence is not None:
        yield LogWarning("dependent_rewards", level, numbers=dependence._asdict())
    if encoder.columns.adaptive_logger is not None:
        return  # it is known that the logger changes, and its choices are not evidence
    change = drift(episodes, level, rng)
    if change is not None:
        shown = encoder.display(episodes.alphabet)
        seen = None if change.observation is None else shown.observation(change.observation)
        numbers = {
            "action": shown.action(change.action),
            "after": None if seen is None else dict(zip(names, map(_plain, seen), strict=True)),
            "first_quarter": change.first,
            "last_quarter": change.last,
        }
        yield LogWarning("drift", level, numbers=numbers)


def _plain(value: Value) -> Value:
    """Return a logged value, or the text of a bin."""
    return value if type(value) in (bool, int, float, str) else str(value)


def _facts(episodes: Episodes) -> Iterator[LogWarning]:
    action, observation, reward = episodes.compact().letters.T
    seen, names = np.unique(observation[observation != STOP]), episodes.alphabet.features
    columns = columns_of(episodes.alphabet)
    sizes = [len(np.unique(values[seen])) for values in columns]
    constant = [name for name, size in zip(names, sizes, strict=True) if size == 1 and len(names) > 1]
    if constant:
        yield LogWarning("constant", columns=tuple(constant))
    ends_early = bool((action == PAD).any())  # then returns differ even if rewards do not
    for role, codes in (("action", action[action > PAD]), ("reward", reward[action > PAD])):
        if (codes == codes[0]).all() and not (role == "reward" and ends_early):
            yield LogWarning("constant", columns=(role,))
    if len(seen) <= HARDLY_REPEATED * episodes.n / episodes.horizon:
        return  # too few values for what follows, which reads all decisions
    decisions, identifiers = Decisions.of(episodes), False
    for name, values, size in zip(names, columns, sizes, strict=True):
        if size > episodes.n / 2 and _constant_in_episodes(values[decisions.seen], decisions.episode):
            identifiers = True
            yield LogWarning("identifier", columns=(name,), numbers={"values": size, "episodes": episodes.n})
    once = _in_one_episode(decisions)
    if once > HARDLY_REPEATED and not identifiers:
        largest = int(np.argmax(sizes))
        numbers = {"share": once, "values": sizes[largest], "features": len(names)}
        yield LogWarning("nearly_unique", columns=(names[largest],), numbers=numbers)


def columns_of(alphabet: Alphabet) -> list[Int64]:
    """Number the values of each column; return for each column the value of each observation code."""
    found = []
    for i in range(len(alphabet.features)):
        numbers: dict[Any, int] = {}
        values = [numbers.setdefault(observation[i], len(numbers)) for observation in alphabet.observations]
        found.append(np.array([0] * (STOP + 1) + values, np.int64))
    return found


def _constant_in_episodes(column: Int64, episode: Int64) -> bool:
    """Return whether no episode has two values, though episodes have several decisions."""
    lowest, highest = _extremes(column, episode)
    return bool((lowest == highest)[episode].all()) and len(np.unique(episode)) < len(episode)


def _in_one_episode(decisions: Decisions) -> float:
    """Return the share of the decisions whose observation occurs in no other episode."""
    first, last = _extremes(decisions.episode, decisions.seen)
    return float(np.mean((first == last)[decisions.seen]))


def _extremes(values: Int64, group: Int64) -> tuple[Int64, Int64]:
    """Return the smallest and the largest value of each group."""
    lowest, highest = np.full(int(group.max()) + 1, values.max()), np.full(int(group.max()) + 1, values.min())
    np.minimum.at(lowest, group, values)
    np.maximum.at(highest, group, values)
    return lowest, highest


def _ends_text(warning: LogWarning) -> str:
    text = LogEnds(**warning.numbers).text
    assert text is not None, "something was assumed"
    return text


def _copies_text(warning: LogWarning) -> str:
    distinct, even, repeated = (warning.numbers[key] for key in ("distinct", "even", "repeated"))
    if even == distinct:
        what = f"each of the {distinct:,} distinct episodes occurs an even number of times"
    else:
        what = f"{repeated:,} of {distinct:,} distinct episodes occur more than once"
    return f"{what}, as if episodes had been copied under new ids; copies count as evidence, so remove them"


def _drift_text(warning: LogWarning) -> str:
    seen = warning.numbers["after"]
    after = "" if seen is None else f" after {', '.join(f'{name}={value}' for name, value in seen.items())}"
    first, last = warning.numbers["first_quarter"], warning.numbers["last_quarter"]
    return (
        f"the logger changes over the log: action {warning.numbers['action']!r}{after} in {first:.0%} of the decisions "
        f"of the first quarter of the episodes, {last:.0%} of the last; learn from a part with one logger"
    )


def _rewards_text(warning: LogWarning) -> str:
    correlation = f"{warning.numbers['correlation']:.2f}"
    return (
        f"rewards of an episode depend on each other beyond the state (correlation {correlation} "
        "given the same actions and observations), so guarantees and bounds do not hold; add a column that explains it"
    )


def _leak_text(warning: LogWarning) -> str:
    return (
        f"column {warning.columns[0]!r} reveals the reward of its own row; if it was recorded after the action, leave "
        f"it out by naming the others with {parameter('observations')}"
    )


def _constant_text(warning: LogWarning) -> str:
    if warning.columns == ("reward",):
        return "all logged rewards are equal, so nothing shows which policy is better"
    if warning.columns == ("action",):
        return "all actions are the same, so nothing can be planned"
    more = len(warning.columns) - LISTED
    listed = ", ".join(map(repr, warning.columns[:LISTED])) + (f" and {more} more" if more > 0 else "")
    several = len(warning.columns) > 1
    return f"column{'s' if several else ''} {listed} {'are' if several else 'is'} constant and can be left out"


def _identifier_text(warning: LogWarning) -> str:
    values, episodes = warning.numbers["values"], warning.numbers["episodes"]
    return (
        f"column {warning.columns[0]!r} looks like an identifier: constant in each episode, {values:,} values in "
        f"{episodes:,} episodes; leave it out by naming the others with {parameter('observations')}"
    )


def _unique_text(warning: LogWarning) -> str:
    name, (share, values, features) = warning.columns[0], warning.numbers.values()
    bins = f"use {parameter('bins', {name: 8})}" if values > MANY_VALUES else ""
    fewer = f"name fewer of the {features} columns with {parameter('observations')}" if features > 1 else ""
    fix = " or ".join(filter(None, (fewer, bins))) or "group its values into fewer"
    return f"{share:.0%} of the observations occur in no other episode, so histories hardly repeat; {fix}"


_SENTENCES = {
    "ends": _ends_text,
    "copies": _copies_text,
    "drift": _drift_text,
    "dependent_rewards": _rewards_text,
    "leak": _leak_text,
    "constant": _constant_text,
    "identifier": _identifier_text,
    "nearly_unique": _unique_text,
}
