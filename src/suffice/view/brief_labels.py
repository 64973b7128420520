"""Brief labels, which contain only what distinguishes the arrows that leave the same state.

The observation is omitted where the action alone determines the next state, the action where the observation does, and
the most frequent reward everywhere. The legend states what is omitted.
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
    describe_actions,
    describe_observations,
    describe_rewards,
    grouped,
    limit_lines,
    rewards_of,
    short_number,
    shortened,
)

OMITTED = -1  # replaces the code of an omitted action or observation
MOST_TRIED = 12  # features among which one or two that suffice are sought

Step = tuple[int, int]  # codes of an action and an observation


@dataclass(frozen=True, slots=True)
class Usage:
    """What the labels of an automaton omit."""

    reward: int | None  # code of the most frequent reward; None if the automaton has no rewards
    features: Key  # features that vary
    word: bool  # whether all their values are single characters, which are written as one word

    @classmethod
    def of(cls, rdp: RDP) -> Usage:
        """Derive what can be omitted from the automaton; of equally frequent rewards the smaller is omitted."""
        sources, letters = rdp.cells()
        acts = rdp.letters[letters, 0] > PAD
        sources, letters = sources[acts], letters[acts]
        targets = rdp.tau[sources, rdp.symbol_of_letter()[letters]]
        paid = np.unique(np.stack([sources, targets, rdp.letters[letters, 2]]), axis=1)[2]
        seen = [rdp.alphabet.observation(int(o)) for o in np.unique(rdp.symbols[:, 1]) if o != STOP]
        columns = list(zip(*(values for values in seen if values is not None), strict=True))
        features = tuple(i for i, values in enumerate(columns) if len(set(values)) > 1) or (0,) * bool(columns)
        word = all(len(str(value)) == 1 for i in features for value in columns[i])
        return cls(int(np.bincount(paid).argmax()) if len(paid) else None, features, word)

    def legend(self, rdp: RDP) -> list[str]:
        """Explain how to read labels and what they omit."""
        names = rdp.alphabet.features
        varied = (" " if self.word else ",").join(names[i] for i in self.features)
        parts = [f"arrows: action → {varied} : reward", "labels show only what distinguishes the arrows of a state"]
        if constant := [name for i, name in enumerate(names) if i not in self.features]:
            parts.append(f"constant: {', '.join(constant)}")
        if self.reward is not None:
            parts.append(f"reward {short_number(rdp.alphabet.rewards[self.reward])} unless shown")
        return parts


def brief_labels(rdp: RDP, usage: Usage, q: int, ways: Sequence[Sequence[int]]) -> list[list[Line]]:
    """Return a label for each arrow out of state q, given the symbols of each arrow. No two labels are the same."""
    steps = [[(int(a), int(o), y) for y in way for a, o in [rdp.symbols[y]] if a != PAD] for way in ways]
    paid = [{(a, o): rewards_of(rdp, q, y) for a, o, y in some} for some in steps]
    content = _LabelContent.of(rdp, usage, paid)
    brief = [limit_lines(content.lines(rdp, usage, q, some, short=True)) for some in paid]
    texts = [tuple(line.text for line in lines) for lines in brief if lines]
    if len(set(texts)) == len(texts):
        return brief
    return [limit_lines(content.lines(rdp, usage, q, some, short=False)) for some in paid]  # the difference was cut off


@dataclass(frozen=True, slots=True)
class _LabelContent:
    """What the labels of the arrows out of one state contain."""

    shown: dict[Step, Step]  # for each step: action and observation, one of them possibly OMITTED
    features: Key  # features of observations that are shown
    named: bool  # whether features are shown by name

    @classmethod
    def of(cls, rdp: RDP, usage: Usage, paid: Sequence[dict[Step, Key]]) -> _LabelContent:
        ends = {step: i for i, steps in enumerate(paid) for step in steps}
        shown = _shown(ends, {step: rewards for steps in paid for step, rewards in steps.items()})
        observed = {step: end for step, end in ends.items() if shown[step][1] != OMITTED}
        return cls(shown, *_features(rdp, usage, observed, shown))

    def lines(self, rdp: RDP, usage: Usage, q: int, paid: dict[Step, Key], *, short: bool) -> list[Line]:
        """Return the lines of one label; `short` cuts long lines."""
        rewards: dict[Step, set[int]] = {}
        actions: dict[Step, set[int]] = {}
        first: dict[object, int] = {}  # first observation with these values
        acted = {_values(rdp, o, self.features) for a, o in paid if self.shown[a, o][0] != OMITTED}
        for (a, o), some in paid.items():
            action, seen = self.shown[a, o]
            if seen != OMITTED:
                values = _values(rdp, o, self.features)
                action = a if values in acted else action  # observations with the same text name the action alike
                seen = first.setdefault(values, o)
            rewards.setdefault((action, seen), set()).update(some)
            actions.setdefault((action, seen), set()).add(a)
        lines = []
        for done, shown, pays in grouped({step: tuple(sorted(some)) for step, some in rewards.items()}):
            meant = tuple(sorted({a for action in done for o in shown for a in actions[action, o]}))
            text = self._text(rdp, q, done, shown)
            omitted = meant == (DUMMY,) or pays == (usage.reward,)  # the first observation has no reward
            lines.append(
                Line((shortened(text) if short else text) + ("" if omitted else describe_rewards(rdp, pays)), meant)
            )
        return [line for line in lines if line.text]

    def _text(self, rdp: RDP, q: int, actions: Key, observations: Key) -> str:
        done = "" if actions in ((OMITTED,), (DUMMY,)) else describe_actions(rdp, q, actions)
        if observations == (OMITTED,):
            return done
        shown = describe_observations(rdp, observations, self.features, named=self.named)
        return f"{'' if done == ANY else done} → {shown}".strip()


def _shown(ends: dict[Step, int], rewards: dict[Step, Key]) -> dict[Step, Step]:
    """Omit the observation where the action determines the arrow, and the action where the observation does."""
    by_action: dict[int, set[int]] = {}
    by_observation: dict[int, set[int]] = {}
    pays: dict[int, set[Key]] = {}
    for (a, o), end in ends.items():
        by_action.setdefault(a, set()).add(end)
        by_observation.setdefault(o, set()).add(end)
        pays.setdefault(o, set()).add(rewards[a, o])
    certain = all(len(met) == 1 for met in by_action.values())
    by_sight = not certain and all(len(met) == 1 for met in by_observation.values())

    def show(a: int, o: int) -> Step:
        if by_sight:
            return (OMITTED if len(pays[o]) == 1 else a), o
        return a, (OMITTED if len(by_action[a]) == 1 else o)

    return {step: show(*step) for step in ends}


def _features(rdp: RDP, usage: Usage, ends: dict[Step, int], shown: dict[Step, Step]) -> tuple[Key, bool]:
    """Return one or two features that distinguish the arrows, shown by name; otherwise all features that vary."""
    if usage.word or len(usage.features) < 2:
        return usage.features, False
    for size in (1, 2):
        for features in combinations(usage.features[:MOST_TRIED], size):
            seen: dict[object, int] = {}
            steps = ((shown[step][0], _values(rdp, step[1], features), end) for step, end in ends.items())
            if all(seen.setdefault((a, values), end) == end for a, values, end in steps):
                return features, features != usage.features
    return usage.features, False


def _values(rdp: RDP, o: int, features: Key) -> object:
    values = rdp.alphabet.observation(o)
    return values if values is None else tuple(values[i] for i in features)
