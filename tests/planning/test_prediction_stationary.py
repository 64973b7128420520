"""`predict` on stationary automata agrees with the formula."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from oracle import random_episodes
from suffice.automata.rdp import BEHAVE, RDP, UNSEEN
from suffice.data.episodes import Episodes
from suffice.data.possible_returns import possible_returns
from suffice.domains.exact.minimal import minimal_rdp
from suffice.domains.exact.values import best_plan
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import SufficeError
from suffice.evidence.estimates import Estimate
from suffice.learning.adact_h import Settings
from suffice.learning.stationary.learner import learn_stationary
from suffice.planning.backward_induction import unroll_plan
from suffice.planning.plan import Plan
from suffice.planning.planner import GREEDY, Planning, plan_on
from suffice.planning.prediction import predict
from suffice.planning.regorl import Split, regorl
from support.log_files import decode
from support.stationary_automata import SEEDS, automaton, log, paying

F = Fraction


class Formula:
    """The formula in the docstring of prediction.py, with candidates that are the same at every step but the first."""

    def __init__(self, rdp: RDP, plan: Plan, episodes: Episodes) -> None:
        self.rdp, self.horizon = rdp, rdp.horizon
        layers, stands = rdp.unroll()
        self.planned = {
            (int(t), int(q)): int(a)
            for t, q, a in zip(layers.layer_of()[:-1], stands[:-1], plan.actions[:-1], strict=True)
        }
        rewards = [F(rdp.alphabet.rewards[r]) for r in rdp.letters[:, 2].tolist()]
        self.low, self.wide = min(rewards), max(rewards) - min(rewards) or F(1)
        number = {rdp.symbol(y): y for y in range(len(rdp.symbols))}
        self.tau = {
            (q, symbol): int(rdp.tau[q, y])
            for q in range(rdp.n_states)
            for symbol, y in number.items()
            if rdp.tau[q, y] != UNSEEN
        }
        seen = {(a, o, F(r)) for a, o, r in self.letters_of(rdp)}
        self.first: Counter[Any] = Counter()
        self.last: defaultdict[Any, Counter[Any]] = defaultdict(Counter)  # counts as if the log ended there
        self.later: defaultdict[Any, Counter[Any]] = defaultdict(Counter)
        for c in self.tau:
            self.later[c] = Counter()
        weights = [1] * episodes.n if episodes.weight is None else episodes.weight.tolist()
        for steps, weight in zip(decode(episodes), weights, strict=True):
            candidate: Any = None
            q = 0
            for t, (action, observation, reward) in enumerate(steps):
                paid = (F(reward) - self.low) / self.wide
                letter, cut = (action, observation, paid), (action, None, paid)
                if t:
                    self.last[candidate][cut if (action, None, F(reward)) in seen else letter] += weight
                if t < len(steps) - 1:
                    (self.first if t == 0 else self.later[candidate])[letter] += weight
                    candidate, q = (q, (action, observation)), self.tau[q, (action, observation)]

    def letters_of(self, rdp: RDP) -> list[Any]:
        alphabet = rdp.alphabet
        return [(alphabet.action(a), alphabet.observation(o), alphabet.rewards[r]) for a, o, r in rdp.letters.tolist()]

    def state(self, c: Any) -> int:
        return 0 if c is None else self.tau[c]

    def followed(self, t: int, c: Any) -> Counter[Any]:
        action = self.planned.get((t, self.state(c)), BEHAVE)
        met = self.first if c is None else self.last[c] if t == self.horizon else self.later[c]
        return Counter({x: k for x, k in met.items() if action == BEHAVE or x[0] == self.rdp.alphabet.actions[action]})

    def candidates(self, t: int) -> list[Any]:
        return list(self.later) if t else [None]

    def rates(self, t: int) -> dict[Any, dict[Any, Fraction]]:
        """Return the rates of letters after each candidate: its own, with one more visit as in its state."""
        whole: defaultdict[int, Counter[Any]] = defaultdict(Counter)
        for c in self.candidates(t):
            whole[self.state(c)] += self.followed(t, c)
        found = {}
        for c in self.candidates(t):
            own, of_state = self.followed(t, c), whole[self.state(c)]
            found[c] = {x: (own[x] + F(k, of_state.total())) / (own.total() + 1) for x, k in of_state.items()}
        return found

    def estimate(self) -> tuple[float, float]:
        values: dict[Any, Fraction] = {}
        variances: list[dict[Any, Fraction]] = []
        all_rates = [self.rates(t) for t in range(self.horizon + 1)]
        for t in range(self.horizon, -1, -1):
            new, spread = {}, {}
            for c, rates in all_rates[t].items():
                gains = {x: x[2] + values.get((self.state(c), x[:2]), F(0)) for x in rates}
                new[c] = sum((p * gains[x] for x, p in rates.items()), F(0))
                n = self.followed(t, c).total() + 1
                square = sum((p * (gains[x] - new[c]) ** 2 for x, p in rates.items()), F(0))
                spread[c] = (n * square + F(self.horizon - t + 1, 2) ** 2) / (n + 1) ** 2
            values = new
            variances.append(spread)
        off: defaultdict[Any, float] = defaultdict(float)  # a candidate has the same error at every step
        share: dict[Any, Fraction] = {None: F(1)}
        for t, spread in enumerate(reversed(variances)):
            for c, p in share.items():
                off[c] += float(p) * math.sqrt(spread[c])
            following: defaultdict[Any, Fraction] = defaultdict(Fraction)
            for c, p in share.items():
                for x, rate in all_rates[t][c].items():
                    following[self.state(c), x[:2]] += p * rate
            share = following
        value = self.wide * values[None] + self.low * (self.horizon + 1)
        return float(value), float(self.wide) * math.sqrt(sum(x**2 for x in off.values()))


PLANNERS = (GREEDY, Planning(), Planning(strength=0.1, safe=False), Planning(strength=1e6))


@cache
def short(seed: int) -> Episodes:
    rng = np.random.default_rng(seed)
    return random_episodes(rng, 4, 2, 2, 2, 2, 150, early_end=0.2 * (seed % 2), weighted=seed % 3 == 0)


def limited(rdp: RDP, plan: Plan, episodes: Episodes) -> Estimate:
    """Return the formula's estimate, limited to the possible returns."""
    return Estimate(*Formula(rdp, plan, episodes).estimate()).within(possible_returns(episodes))


@pytest.mark.parametrize("seed", [1, 2, 3, 6, 8, 9, 13, 22])
def test_predict_on_stationary_automaton_agrees_with_formula(seed: int) -> None:
    episodes = short(seed)
    rdp = learn_stationary(episodes, Settings(delta=0.05)).rdp
    for how in PLANNERS:
        plan = plan_on(rdp.layered(), how)
        assert predict(rdp, plan, episodes) == pytest.approx(limited(rdp, plan, episodes), rel=1e-9)
    discounted = unroll_plan(rdp, plan_on(rdp, Planning(discount=0.9)))
    assert predict(rdp, discounted, episodes) == pytest.approx(limited(rdp, discounted, episodes), rel=1e-9)


def test_predict_uses_state_mean_for_symbols_new_at_the_end() -> None:
    """Every policy has return 2 in two steps."""
    found = regorl(paying(500, 2), stationary=True)
    assert found.plan.value == 2.0
    assert found.prediction.value == pytest.approx(2.0, abs=0.01)


def test_predict_is_exact_where_all_actions_are_equal() -> None:
    for horizon in (2, 3, 6):
        found = regorl(paying(500, horizon), stationary=True)
        assert found.prediction.value == pytest.approx(horizon, abs=0.01) and found.behaviour_value == horizon


@pytest.mark.parametrize("seed", range(3))
def test_predict_on_stationary_automaton_treats_weights_like_repeated_episodes(seed: int) -> None:
    episodes = log(3 * seed)
    assert episodes.weight is not None
    repeated = episodes.columns(np.repeat(np.arange(episodes.n), episodes.weight))
    alone = Episodes(repeated.alphabet, repeated.letters, repeated.word, repeated.follows)
    rdp = automaton(3 * seed) if 3 * seed in SEEDS else learn_stationary(episodes).rdp
    plan = plan_on(rdp.layered())
    assert predict(rdp, plan, episodes) == pytest.approx(predict(rdp, plan, alone), rel=1e-12)


def test_regorl_refuses_split_and_subsampling_with_stationary_automaton() -> None:
    for how in ({"split": Split()}, {"planning": Planning(subsample=True)}):
        with pytest.raises(SufficeError, match="proof is for layers"):
            regorl(log(0), stationary=True, **how)


def test_regorl_stationary_plans_on_unrolled_layers() -> None:
    episodes = TMaze(length=3).simulate(1000, 9, np.random.default_rng(0))
    found = regorl(episodes, stationary=True)
    assert found.learned.rdp.stationary and not found.planned.stationary
    assert len(found.plan.actions) == found.planned.n_states
    best = float(best_plan(minimal_rdp(TMaze(length=3).model(9), 9)).value)
    assert found.prediction.value == pytest.approx(best, abs=5 * found.prediction.error + 0.1)
