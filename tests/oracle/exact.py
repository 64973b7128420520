"""Exact truth by definition: sums over all episodes with their probabilities. Theory: docs/theory.md, section 7.

A step is (action, observation, reward) in the values of the domain: the action is None in step 0 and "pad" after the
end, the observation None where the episode is over or at step H. A history is the (action, observation) pairs of the
first t steps; its law is the distribution of its suffixes, regardless of earlier rewards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import lcm
from typing import Any

from suffice.domains.finite import Definition, Outcome
from suffice.planning.controller import Controller

from .languages import Conjunctions, Languages, Letter, SuffixAlphabet, language_events

Step = tuple[Any, Any, Fraction]
Steps = tuple[Step, ...]
Symbol = tuple[Any, Any]
History = tuple[Symbol, ...]
Law = Mapping[Any, Fraction]
Choice = Callable[[History], Mapping[Any, Fraction]]  # a policy: history → probabilities of actions

NOTHING = Fraction(0)
PADDING: Step = ("pad", None, NOTHING)


def possible(outcomes: Iterable[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.probability]


def usual(definition: Definition) -> Choice:
    """Return the behaviour policy of a domain: uniform over the actions that the last observation allows."""

    def choose(history: History) -> Mapping[Any, Fraction]:
        choices = list(definition.choices(history[-1][1]))
        return {a: Fraction(choices.count(a), len(choices)) for a in choices}

    return choose


def controller(policy: Controller) -> Choice:
    """Return a policy with memory, which is run from the start of the history each time."""
    actions = policy.alphabet.actions
    code = {o: i + 1 for i, o in enumerate(policy.alphabet.observations)}

    def choose(history: History) -> Mapping[Any, Fraction]:
        memory = policy.first[code[history[0][1]]]
        for a, o in history[1:]:
            memory = policy.after[memory, actions.index(a), code[o]]
        return {a: p for a, p in zip(actions, policy.chances[memory], strict=True) if p}

    return choose


def episodes(definition: Definition, horizon: int, choose: Choice) -> dict[Steps, Fraction]:
    """Return every possible episode with its probability."""
    law: defaultdict[Steps, Fraction] = defaultdict(Fraction)

    def walk(state: Hashable, steps: Steps, probability: Fraction) -> None:
        if len(steps) == horizon + 1:
            law[steps] += probability
            return
        for a, chance in choose(tuple((a, o) for a, o, _ in steps)).items():
            for p, following, o, r in possible(definition.step(state, a)):
                longer = (*steps, (a, o if len(steps) < horizon else None, r))
                if following is None:
                    law[longer + (PADDING,) * (horizon + 1 - len(longer))] += probability * chance * p
                else:
                    walk(following, longer, probability * chance * p)

    for p, state, o, _ in possible(definition.start()):
        walk(state, ((None, o, NOTHING),), p)
    return dict(law)


def history_of(steps: Steps) -> History:
    return tuple((a, o) for a, o, _ in steps)


def given(weights: Iterable[tuple[Hashable, Hashable, Fraction]]) -> dict[Any, dict[Any, Fraction]]:
    """Return Pr(what | condition) from (condition, what, weight); weights are added as integers, which is faster."""
    known = list(weights)
    unit = lcm(*(weight.denominator for _, _, weight in known))
    together: dict[Any, dict[Any, int]] = {}
    for condition, what, weight in known:
        row = together.setdefault(condition, {})
        row[what] = row.get(what, 0) + weight.numerator * (unit // weight.denominator)
    totals = {condition: sum(row.values()) for condition, row in together.items()}
    return {c: {what: Fraction(w, totals[c]) for what, w in row.items()} for c, row in together.items()}


@dataclass(frozen=True, eq=False)
class ExactOracle:
    """A domain under a policy, for episodes of `horizon` actions."""

    definition: Definition
    horizon: int
    choose: Choice

    @cached_property
    def law(self) -> dict[Steps, Fraction]:
        return episodes(self.definition, self.horizon, self.choose)

    # States

    @cached_property
    def futures(self) -> list[dict[History, dict[Steps, Fraction]]]:
        """The distribution of suffixes for each history of t steps, [H+2]."""
        return [
            given((history_of(steps[:t]), steps[t:], p) for steps, p in self.law.items())
            for t in range(self.horizon + 2)
        ]

    def grouped(self, t: int, law_of: Callable[[History], Hashable]) -> dict[History, int]:
        """Number the classes of histories of t steps that have the same law, in order of appearance."""
        classes: dict[Hashable, int] = {}
        return {h: classes.setdefault(law_of(h), len(classes)) for h in self.futures[t]}

    @cached_property
    def states(self) -> list[dict[History, int]]:
        """The state of each history, [H+2]: histories with the same distribution of suffixes are one state."""
        return [self.grouped(t, lambda h, t=t: frozenset(self.futures[t][h].items())) for t in range(self.horizon + 2)]

    @cached_property
    def expected_states(self) -> list[dict[History, int]]:
        """States by a coarser law, [H+2]: the probability of each continuation with its last reward only."""

        def says(t: int, history: History) -> Hashable:
            chance: defaultdict[Hashable, Fraction] = defaultdict(Fraction)
            for suffix, p in self.futures[t][history].items():
                for u in range(len(suffix)):
                    chance[history_of(suffix[: u + 1]), suffix[u][2]] += p
            return frozenset(chance.items())

        return [self.grouped(t, lambda h, t=t: says(t, h)) for t in range(self.horizon + 2)]

    def layers(self) -> list[int]:
        return [len(set(states.values())) for states in self.states]

    def one_step(self, t: int) -> dict[History, dict[Step, Fraction]]:
        """Return the distribution of the next step after each history of t steps."""
        return given((history_of(steps[:t]), steps[t], p) for steps, p in self.law.items())

    def weight(self, t: int) -> dict[History, Fraction]:
        """Return the probability of each history of t steps."""
        found: defaultdict[History, Fraction] = defaultdict(Fraction)
        for steps, p in self.law.items():
            found[history_of(steps[:t])] += p
        return found

    def occupancy(self, t: int) -> dict[int, Fraction]:
        """Return the probability of each state of layer t."""
        found: defaultdict[int, Fraction] = defaultdict(Fraction)
        for history, p in self.weight(t).items():
            found[self.states[t][history]] += p
        return found

    def rewards_tell(self) -> set[History]:
        """Return the shortest histories after which earlier rewards matter.

        Given the rewards, the same history has different distributions of futures.
        """
        found: set[History] = set()
        for t in range(self.horizon + 2):
            laws: dict[History, set[Hashable]] = {}
            for steps, law in given((steps[:t], steps[t:], p) for steps, p in self.law.items()).items():
                laws.setdefault(history_of(steps), set()).add(frozenset(law.items()))
            found |= {
                h for h, several in laws.items() if len(several) > 1 and not any(h[:u] in found for u in range(t))
            }
        return found

    # Values

    def mean_return(self) -> Fraction:
        return sum((p * sum(r for _, _, r in steps) for steps, p in self.law.items()), NOTHING)

    def decisions(self) -> Fraction:
        """Return the mean number of steps with a choice."""
        return sum((p * sum(a not in (None, "pad") for a, _, _ in steps) for steps, p in self.law.items()), NOTHING)

    def success_rate(self) -> Fraction:
        return sum((p for steps, p in self.law.items() if any(r > 0 for _, _, r in steps)), NOTHING)

    def best_value(self, covered: bool) -> Fraction:
        """Return V* over all policies of histories, or those that use only logged actions, by exhaustive search."""

        def best(history: History, hidden: Mapping[Hashable, Fraction]) -> Fraction:
            """Return the best remaining return times the probability of the history, without those of actions."""
            if len(history) == self.horizon + 1 or not hidden:
                return NOTHING
            choices = self.choose(history) if covered else self.definition.all_actions
            return max(try_out(history, hidden, a) for a in choices)

        def try_out(history: History, hidden: Mapping[Hashable, Fraction], a: Any) -> Fraction:
            paid, seen = NOTHING, defaultdict[Any, defaultdict[Hashable, Fraction]](lambda: defaultdict(Fraction))
            for state, w in hidden.items():
                for p, following, o, r in possible(self.definition.step(state, a)):
                    paid += w * p * r
                    if following is not None:
                        seen[o][following] += w * p
            return paid + sum((best((*history, (a, o)), after) for o, after in seen.items()), NOTHING)

        starts = defaultdict[Any, defaultdict[Hashable, Fraction]](lambda: defaultdict(Fraction))
        for p, state, o, _ in possible(self.definition.start()):
            starts[o][state] += p
        return sum((best(((None, o),), hidden) for o, hidden in starts.items()), NOTHING)

    def concentrability(self, plan: ExactOracle) -> Fraction:
        """Return the maximum over steps 1..H, states and symbols of their probability ratio, plan to behaviour."""
        ratios = []
        for t in range(1, self.horizon + 1):
            mine, theirs = (self._met(t, other.law) for other in (self, plan))
            ratios += [p / mine[met] for met, p in theirs.items()]
        return max(ratios)

    def _met(self, t: int, law: Mapping[Steps, Fraction]) -> dict[tuple[int, Symbol], Fraction]:
        """Return d_t(q, ao), the probability of each state and symbol at step t."""
        found: defaultdict[tuple[int, Symbol], Fraction] = defaultdict(Fraction)
        for steps, p in law.items():
            found[self.states[t][history_of(steps[:t])], steps[t][:2]] += p
        return found

    # Distances

    def law_of_states(self, t: int) -> dict[int, Law]:
        """Return the distribution of suffixes of each state."""
        return {q: self.futures[t][h] for h, q in self.states[t].items()}

    @cached_property
    def coding(self) -> _Coding:
        return _Coding([step for steps in self.law for step in steps[1:]])

    def distances_by_languages(self, t: int, statistic: Languages | Conjunctions) -> dict[tuple[int, int], Fraction]:
        """Return the largest difference in probability over a family, for every two states of layer t."""
        laws = self.law_of_states(t)
        suffixes = sorted({suffix for law in laws.values() for suffix in law}, key=repr)
        coded = [self.coding.encode(suffix) for suffix in suffixes]
        events = language_events(statistic, self.coding.gamma, self.coding.letters, coded)
        unit = lcm(*(p.denominator for law in laws.values() for p in law.values()))
        shares = {q: [int(law.get(suffix, NOTHING) * unit) for suffix in suffixes] for q, law in laws.items()}
        chances = {q: [sum(share[s] for s in members) for members in events] for q, share in shares.items()}
        return {
            (p, q): Fraction(max(abs(a - b) for a, b in zip(chances[p], chances[q], strict=True)), unit)
            for p, q in combinations(laws, 2)
        }

    def prefixes(self, t: int) -> dict[int, dict[Steps, Fraction]]:
        """Return the probability of each prefix, for every state of layer t."""
        found: dict[int, dict[Steps, Fraction]] = {}
        for q, law in self.law_of_states(t).items():
            chance = found.setdefault(q, {})
            for suffix, p in law.items():
                for u in range(len(suffix) + 1):
                    chance[suffix[:u]] = chance.get(suffix[:u], NOTHING) + p
        return found

    def distances_by_prefixes(self, t: int) -> dict[tuple[int, int], tuple[Fraction, Fraction]]:
        """Return L∞^p and L₁^p of every two states of layer t."""
        chance = self.prefixes(t)
        found = {}
        for p, q in combinations(chance, 2):
            differences = [
                abs(chance[p].get(e, NOTHING) - chance[q].get(e, NOTHING)) for e in chance[p].keys() | chance[q].keys()
            ]
            found[p, q] = max(differences), sum(differences, NOTHING)
        return found


class _Coding:
    """Codes of the steps after a history, as `oracle.languages` needs them: o_⊥ is 0."""

    def __init__(self, steps: list[Step]) -> None:
        actions, observations, rewards = (list(dict.fromkeys(part)) for part in zip(*steps, strict=True))
        seen = [o for o in observations if o is not None]
        self._action, self._reward = ({v: i for i, v in enumerate(values)} for values in (actions, rewards))
        self._observation = {None: 0} | {o: i + 1 for i, o in enumerate(seen)}
        codes = (self._action, {o: self._observation[o] for o in observations}, self._reward)
        self.gamma = SuffixAlphabet(*(tuple(code.values()) for code in codes), tuple(seen))
        self.letters = set(self.encode(steps))

    def encode(self, steps: Iterable[Step]) -> tuple[Letter, ...]:
        return tuple(self._codes(steps))

    def _codes(self, steps: Iterable[Step]) -> Iterator[Letter]:
        for a, o, r in steps:
            yield self._action[a], self._observation[o], self._reward[r]
