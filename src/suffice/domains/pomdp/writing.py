"""Writer of `.POMDP` files for solvers, from a finite model or a learned automaton.

In this format an observation depends on the action and the next state, so a state of the file is a pair of a state and
the observation on entering it. Three states are added:

- `begin`, where every episode starts: any action leads to the first observation, with reward 0;
- `end`, which is never left, after the end of an episode, with the observation `end`;
- `unseen`, which is never left, after an action that the log does not contain in a state of a learned automaton, with
  the observation `unseen`. The consequences of such an action are unknown. Its reward is the lowest reward of the log
  (or 0) for this and every remaining step, which is never more than that of another action, so that solvers avoid it.

In the format a reward depends on the action, both states and the observation. Where the model's reward is random given
these, the file has its mean. Probabilities of a learned automaton are the frequencies in its log.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from suffice.automata.rdp import RDP
from suffice.data.alphabet import DUMMY, PAD, STOP, Alphabet
from suffice.domains.finite import ENDED, MANY_STATES, FiniteModel, Outcomes
from suffice.domains.pomdp.naming import NameTable, decimal, distribution
from suffice.errors import ModelError
from suffice.models.model import Model

BEGIN, END, NOT_SEEN = "begin", "end", "unseen"


class FileState(NamedTuple):
    """A state of the file, which is a state of the model and the code of the observation on entering it."""

    state: int
    observation: int


OVER = FileState(ENDED, STOP)
UNKNOWN = FileState(-2, -2)

Chance = tuple[Fraction, FileState, Fraction]  # probability, next state, reward


@dataclass(frozen=True, slots=True)
class _Source:
    """Description of a model to write, whether finite or learned."""

    alphabet: Alphabet
    first: Sequence[Chance]
    after: Callable[[int, int], Iterable[Chance]]  # by state and number of the action
    name: Callable[[int], Hashable]  # of a state
    header: Sequence[str]


def write_pomdp(model: FiniteModel, horizon: int, title: str = "A finite model") -> str:
    """Write a finite model as a `.POMDP` file; a comment states the horizon, which the format lacks."""
    if model.reach is not None:
        raise ModelError(f"the model has over {MANY_STATES:,} states, too many to write. Choose smaller options.")
    n_actions = len(model.alphabet.actions)

    def after(state: int, action: int) -> Iterator[Chance]:
        return _row(model, model.after, state * n_actions + action)

    header = (title, _horizon(horizon))
    return _write(_Source(model.alphabet, list(_row(model, model.first, 0)), after, model.states.__getitem__, header))


def rdp_to_pomdp(rdp: RDP, title: str = "A learned automaton") -> str:
    """Write a learned automaton as a `.POMDP` file; the module describes the state `unseen`."""
    of_letter, layer, offsets = rdp.symbol_of_letter(), rdp.layer_of(), rdp.offsets()
    exact = [Fraction(str(reward)) for reward in rdp.alphabet.rewards]  # the shortest decimal of each, lowest first

    def chances(q: int, action: int) -> list[Chance]:
        met = np.flatnonzero((rdp.letters[:, 0] == action) & (rdp.counts[q] > 0))
        total = int(rdp.counts[q, met].sum())
        found = []
        for x in met:
            o, r = int(rdp.letters[x, 1]), int(rdp.letters[x, 2])
            place = OVER if o == STOP else FileState(int(rdp.tau[q, of_letter[x]]), o)
            found.append((Fraction(int(rdp.counts[q, x]), total), place, exact[r]))
        return found or [(Fraction(1), UNKNOWN, exact[0] * (rdp.horizon + 1 - int(layer[q])))]

    def name(q: int) -> str:
        return f"q{layer[q]}-{q - offsets[layer[q]]}"

    header = (
        title,
        _horizon(rdp.horizon),
        "State qT-N is state N of layer T. Probabilities are frequencies in the log.",
        f"An action that the log does not contain in a state leads to {NOT_SEEN!r}.",
    )
    return _write(_Source(rdp.alphabet, chances(0, DUMMY), lambda q, a: chances(q, a + PAD + 1), name, header))


def to_pomdp(model: Model) -> str:
    """Write the automaton of a model as a `.POMDP` file."""
    about = model.about
    title = f"Learned by suffice {about.version} from {about.episodes:,} episodes (log {about.log_hash})"
    return rdp_to_pomdp(model.planned, title)


def _horizon(horizon: int) -> str:
    steps = f"plan {horizon + 1} steps, one for the first observation and then {horizon}"
    return f"The horizon is finite, so nothing is discounted: {steps}."


def _row(model: FiniteModel, outcomes: Outcomes, row: int) -> Iterator[Chance]:
    for k in range(outcomes.begin[row], outcomes.begin[row + 1]):
        place = FileState(int(outcomes.state[k]), int(outcomes.observation[k]))
        yield outcomes.probability[k], place, model.rewards[outcomes.reward[k]]


# ---------------------------------------------------------------- lines of the file


def _write(source: _Source) -> str:
    rows = _reachable(source)
    places = [*dict.fromkeys(place for _, _, row in rows for place in row)]
    actions, observations = _named_actions(source.alphabet), _named_observations(source.alphabet)
    states = _named_places(source, places, observations)
    seen = [observations[o] for o in sorted({place.observation for place in places})]
    comments = [*source.header, *_legend(source.alphabet, observations)]
    lines = [f"# {' '.join(comment.split())}" for comment in comments]
    lines += ["", "discount: 1.0", "values: reward", f"states: {BEGIN} {' '.join(states.values())}"]
    lines.append(f"actions: {len(actions) if _counted(source.alphabet) else ' '.join(actions)}")
    lines += [f"observations: {' '.join(seen)}", "", f"start: {BEGIN}", ""]
    lines.append(f"O: * : {BEGIN} : {seen[0]} 1.0  # never entered")
    lines += [f"O: * : {states[place]} : {observations[place.observation]} 1.0" for place in places]
    for origin, a, row in rows:
        before, action = BEGIN if origin is None else states[origin], "*" if a is None else actions[a]
        lines.append("")
        for p, place in zip(distribution([p for p, _ in row.values()]), row, strict=True):
            lines.append(f"T: {action} : {before} : {states[place]} {p}")
        for place, (_, reward) in row.items():
            if reward:
                lines.append(f"R: {action} : {before} : {states[place]} : * {decimal(reward)}")
    return "\n".join(lines) + "\n"


_Row = dict[FileState, tuple[Fraction, Fraction]]  # probability and mean reward by next state


def _reachable(source: _Source) -> list[tuple[FileState | None, int | None, _Row]]:
    """List the rows of the file, breadth first, as state (None: `begin`), action (None: any) and next states."""
    rows: list[tuple[FileState | None, int | None, _Row]] = [(None, None, _merged(source.first))]
    known = dict.fromkeys(rows[0][2])
    queue = list(known)
    for place in queue:  # grows during the loop
        if place in (OVER, UNKNOWN):
            rows.append((place, None, {place: (Fraction(1), Fraction(0))}))
            continue
        for a in range(len(source.alphabet.actions)):
            row = _merged(source.after(place.state, a))
            rows.append((place, a, row))
            queue += [following for following in row if following not in known]
            known |= dict.fromkeys(row)
    return rows


def _merged(chances: Iterable[Chance]) -> _Row:
    """Merge chances with the same next state, with their mean reward."""
    sums: dict[FileState, tuple[Fraction, Fraction]] = {}
    for p, place, reward in chances:
        probability, weighted = sums.get(place, (Fraction(0), Fraction(0)))
        sums[place] = probability + p, weighted + p * reward
    return {place: (p, weighted / p) for place, (p, weighted) in sums.items()}


# ---------------------------------------------------------------- names


def _counted(alphabet: Alphabet) -> bool:
    """Check whether the actions are 0, 1, … without a gap, so that the file needs only their number."""
    return alphabet.actions == tuple(range(len(alphabet.actions)))


def _named_actions(alphabet: Alphabet) -> list[str]:
    names = NameTable("a")
    return [str(i) if _counted(alphabet) else names.of(action) for i, action in enumerate(alphabet.actions)]


def _named_observations(alphabet: Alphabet) -> dict[int, str]:
    """Name each observation code by its joined feature values."""
    names = NameTable("o", (END, NOT_SEEN))
    named = {i + 1: names.of(features) for i, features in enumerate(alphabet.observations)}
    return {**named, STOP: END, UNKNOWN.observation: NOT_SEEN}


def _named_places(source: _Source, places: Sequence[FileState], observations: dict[int, str]) -> dict[FileState, str]:
    """Name the states of the file, without the observation if it is the same on every entry."""
    names = NameTable("s", (BEGIN, END, NOT_SEEN))
    shows: dict[int, set[int]] = {}
    for place in places:
        shows.setdefault(place.state, set()).add(place.observation)
    named = {OVER: END, UNKNOWN: NOT_SEEN}
    for place in places:
        if place not in named:
            alone = len(shows[place.state]) == 1
            parts = source.name(place.state)
            whole: tuple[Hashable, ...] = parts if isinstance(parts, tuple) else (parts,)
            named[place] = names.of(whole if alone else (*whole, observations[place.observation]))
    return {place: named[place] for place in places}


def _legend(alphabet: Alphabet, observations: dict[int, str]) -> Iterator[str]:
    """Yield the feature values of each observation name."""
    for i, values in enumerate(alphabet.observations):
        features = zip(alphabet.features, values, strict=True)
        yield f"{observations[i + 1]}: {', '.join(f'{name} {json.dumps(value)}' for name, value in features)}"
