"""Labels that say no more than what tells the arrows out of a state apart.

An observation is left out where the action alone decides where it leads, the action where the observation does, and the
most usual reward everywhere. What is left out, the legend says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from suffice.automata.rdp import RDP
from suffice.data.alphabet import DUMMY, PAD, STOP
from suffice.view.labels import (
    ANY,
    Key,
    Line,
    actions_in_words,
    few,
    grouped,
    in_short,
    observations_in_words,
    paid_in_words,
    rewards_of,
    shortened,
)

UNSAID = -1  # instead of the code of an action or observation
MOST_TRIED = 12  # features, of which one or two may suffice

Step = tuple[int, int]  # codes of an action and an observation


@dataclass(frozen=True, slots=True)
class Usage:
    """What goes without saying in all of an automaton."""

    reward: int | None  # the code of the most usual one; None if nothing is ever paid
    features: Key  # those that vary
    word: bool  # whether their values are single characters, and are read as one word

    @classmethod
    def of(cls, rdp: RDP) -> Usage:
        """The reward of most arrows goes without saying, of two as usual the smaller."""
        sources, letters = np.nonzero((rdp.counts > 0) & (rdp.letters[:, 0] > PAD))
        targets = rdp.tau[sources, rdp.symbol_of_letter()[letters]]
        paid = np.unique(np.stack([sources, targets, rdp.letters[letters, 2]]), axis=1)[2]
        seen = [rdp.alphabet.observation(int(o)) for o in np.unique(rdp.symbols[:, 1]) if o != STOP]
        columns = list(zip(*(values for values in seen if values is not None), strict=True))
        features = tuple(i for i, values in enumerate(columns) if len(set(values)) > 1) or (0,) * bool(columns)
        word = all(len(str(value)) == 1 for i in features for value in columns[i])
        return cls(int(np.bincount(paid).argmax()) if len(paid) else None, features, word)

    def legend(self, rdp: RDP) -> list[str]:
        """How labels are to be read, and what they leave out."""
        names = rdp.alphabet.features
        varied = (" " if self.word else ",").join(names[i] for i in self.features)
        told = [f"arrows: action → {varied} : reward, only what tells them apart"]
        if constant := [name for i, name in enumerate(names) if i not in self.features]:
            told.append(f"always the same: {', '.join(constant)}")
        if self.reward is not None:
            told.append(f"reward {in_short(rdp.alphabet.rewards[self.reward])} unless said")
        return told


def fewest_words(rdp: RDP, usage: Usage, q: int, ways: Sequence[Sequence[int]]) -> list[list[Line]]:
    """A label for each way out of a state; a way is the symbols that take it, and no two labels read the same."""
    steps = [[(int(a), int(o), y) for y in way for a, o in [rdp.symbols[y]] if a != PAD] for way in ways]
    paid = [{(a, o): rewards_of(rdp, q, y) for a, o, y in some} for some in steps]
    speech = _Speech.of(rdp, usage, paid)
    brief = [few(speech.lines(rdp, usage, q, some, short=True)) for some in paid]
    texts = [tuple(line.text for line in lines) for lines in brief if lines]
    if len(set(texts)) == len(texts):
        return brief
    return [few(speech.lines(rdp, usage, q, some, short=False)) for some in paid]  # what differs was cut off


@dataclass(frozen=True, slots=True)
class _Speech:
    """What is said about the ways out of a state."""

    said: dict[Step, Step]  # of each step: the action, the observation, or both
    features: Key  # of observations
    named: bool

    @classmethod
    def of(cls, rdp: RDP, usage: Usage, paid: Sequence[dict[Step, Key]]) -> _Speech:
        ends = {step: i for i, steps in enumerate(paid) for step in steps}
        said = _said(ends, {step: rewards for steps in paid for step, rewards in steps.items()})
        shown = {step: end for step, end in ends.items() if said[step][1] != UNSAID}
        return cls(said, *_features(rdp, usage, shown, said))

    def lines(self, rdp: RDP, usage: Usage, q: int, paid: dict[Step, Key], *, short: bool) -> list[Line]:
        """Of one label."""
        rewards: dict[Step, set[int]] = {}
        actions: dict[Step, set[int]] = {}
        first: dict[object, int] = {}  # observation that reads so
        acted = {_values(rdp, o, self.features) for a, o in paid if self.said[a, o][0] != UNSAID}
        for (a, o), some in paid.items():
            action, seen = self.said[a, o]
            if seen != UNSAID:
                values = _values(rdp, o, self.features)
                action = a if values in acted else action  # observations that read alike name the action alike
                seen = first.setdefault(values, o)
            rewards.setdefault((action, seen), set()).update(some)
            actions.setdefault((action, seen), set()).add(a)
        lines = []
        for done, shown, pays in grouped({step: tuple(sorted(some)) for step, some in rewards.items()}):
            meant = tuple(sorted({a for action in done for o in shown for a in actions[action, o]}))
            text = self._text(rdp, q, done, shown)
            unsaid = meant == (DUMMY,) or pays == (usage.reward,)  # before the first action nothing is paid
            lines.append(
                Line((shortened(text) if short else text) + ("" if unsaid else paid_in_words(rdp, pays)), meant)
            )
        return [line for line in lines if line.text]

    def _text(self, rdp: RDP, q: int, actions: Key, observations: Key) -> str:
        done = "" if actions in ((UNSAID,), (DUMMY,)) else actions_in_words(rdp, q, actions)
        if observations == (UNSAID,):
            return done
        shown = observations_in_words(rdp, observations, self.features, named=self.named)
        return f"{'' if done == ANY else done} → {shown}".strip()


def _said(ends: dict[Step, int], rewards: dict[Step, Key]) -> dict[Step, Step]:
    """The observation goes without saying where the action decides, the action where the observation does."""
    by_action: dict[int, set[int]] = {}
    by_observation: dict[int, set[int]] = {}
    pays: dict[int, set[Key]] = {}
    for (a, o), end in ends.items():
        by_action.setdefault(a, set()).add(end)
        by_observation.setdefault(o, set()).add(end)
        pays.setdefault(o, set()).add(rewards[a, o])
    certain = all(len(met) == 1 for met in by_action.values())
    shown = not certain and all(len(met) == 1 for met in by_observation.values())

    def say(a: int, o: int) -> Step:
        if shown:
            return (UNSAID if len(pays[o]) == 1 else a), o
        return a, (UNSAID if len(by_action[a]) == 1 else o)

    return {step: say(*step) for step in ends}


def _features(rdp: RDP, usage: Usage, ends: dict[Step, int], said: dict[Step, Step]) -> tuple[Key, bool]:
    """The one or two features, by name, that tell the ways apart; or all that vary, in their order."""
    if usage.word or len(usage.features) < 2:
        return usage.features, False
    for size in (1, 2):
        for features in combinations(usage.features[:MOST_TRIED], size):
            seen: dict[object, int] = {}
            told = ((said[step][0], _values(rdp, step[1], features), end) for step, end in ends.items())
            if all(seen.setdefault((a, values), end) == end for a, values, end in told):
                return features, features != usage.features
    return usage.features, False


def _values(rdp: RDP, o: int, features: Key) -> object:
    values = rdp.alphabet.observation(o)
    return values if values is None else tuple(values[i] for i in features)
