"""`predict` agrees with the formula in dictionaries and fractions, and corrects wrong merges."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy as np
import pytest

from oracle import random_episodes
from suffice.automata.rdp import BEHAVE, RDP, UNSEEN
from suffice.data.episodes import Episodes
from suffice.data.possible_returns import possible_returns
from suffice.domains.exact.minimal import minimal_rdp
from suffice.domains.exact.values import evaluate
from suffice.domains.tasks.cookie import Cookie
from suffice.domains.tasks.corridor import Corridor
from suffice.evidence.estimates import Estimate
from suffice.learning.adact_h import Settings, adact_h
from suffice.planning import prediction
from suffice.planning.controller import Controller
from suffice.planning.plan import Plan
from suffice.planning.planner import GREEDY, Planning, plan_on
from suffice.planning.prediction import predict
from suffice.planning.regorl import regorl
from support.log_files import decode
from support.samples import from_values, to_values

F = Fraction

Letter = tuple[Any, Any, Fraction]
Candidate = tuple[int, int, Any]  # its layer, and the state and symbol that lead to it

ROOT: Candidate = (0, UNSEEN, None)
PLANNERS = (GREEDY, Planning(), Planning(strength=0.1, safe=False), Planning(strength=1e6))
SEEDS = range(8)


class Formula:
    """The formula in the docstring of prediction.py for one log: rewards scaled to [0, 1], and U of each candidate."""

    def __init__(self, rdp: RDP, plan: Plan, episodes: Episodes) -> None:
        self.rdp, self.plan, self.horizon = rdp, plan, rdp.horizon
        rewards = [F(rdp.alphabet.rewards[r]) for r in rdp.letters[:, 2].tolist()]
        self.low, self.wide = min(rewards), max(rewards) - min(rewards) or F(1)
        self.met: defaultdict[Candidate, Counter[Letter]] = defaultdict(Counter)
        self.state: dict[Candidate, int] = {}
        weights = [1] * episodes.n if episodes.weight is None else episodes.weight.tolist()
        for steps, weight in zip(decode(episodes), weights, strict=True):
            self.walk(steps, weight)
        self.values: dict[Candidate, Fraction] = {}
        for candidate in sorted(self.met, key=lambda c: -c[0]):
            self.values[candidate] = self.mean(candidate)

    def walk(self, steps: list[Any], weight: int) -> None:
        candidate, q = ROOT, 0
        for t, (action, observation, reward) in enumerate(steps):
            self.state[candidate] = q
            self.met[candidate][action, observation, (F(reward) - self.low) / self.wide] += weight
            symbol = (action, observation)
            candidate, q = (t + 1, q, symbol), self.following(q, symbol)
            if q == UNSEEN:
                return

    def following(self, q: int, symbol: Any) -> int:
        y = self.symbols.get(symbol)
        return UNSEEN if y is None else int(self.rdp.tau[q, y])

    @cached_property
    def symbols(self) -> dict[Any, int]:
        return {self.rdp.symbol(y): y for y in range(len(self.rdp.symbols))}

    def followed(self, candidate: Candidate) -> Counter[Letter]:
        """Return k_c, the counts of letters with the plan's action."""
        action = self.plan.actions[self.state[candidate]]
        met = self.met[candidate]
        if action == BEHAVE:
            return met
        return Counter({x: k for x, k in met.items() if x[0] == self.rdp.alphabet.actions[action]})

    def gain(self, candidate: Candidate, letter: Letter) -> Fraction:
        """Return r + U of the next candidate; U is 0 after the last step and for unseen histories."""
        action, observation, reward = letter
        following = (candidate[0] + 1, self.state[candidate], (action, observation))
        return reward + self.values.get(following, F(0))

    def rates(self, candidate: Candidate) -> dict[Letter, Fraction]:
        """Return the rate of each letter: that of its own episodes, with one more visit as in its state."""
        own, state = self.followed(candidate), self.state[candidate]
        whole: Counter[Letter] = Counter()
        for other in self.met:
            if other[0] == candidate[0] and self.state[other] == state:
                whole += self.followed(other)
        of_state = {x: F(k, max(whole.total(), 1)) for x, k in whole.items()}
        return {x: (own[x] + p) / (own.total() + 1) for x, p in of_state.items()}

    def mean(self, candidate: Candidate) -> Fraction:
        """Return U of a candidate."""
        return sum((p * self.gain(candidate, x) for x, p in self.rates(candidate).items()), F(0))

    def variance(self, candidate: Candidate) -> Fraction:
        """Return the variance of the mean of n visits, with the state's visit and one half of the range away."""
        rates, n = self.rates(candidate), self.followed(candidate).total() + 1
        spread = sum((p * (self.gain(candidate, x) - self.values[candidate]) ** 2 for x, p in rates.items()), F(0))
        return (n * spread + F(self.horizon - candidate[0] + 1, 2) ** 2) / (n + 1) ** 2

    def shares(self) -> dict[Candidate, Fraction]:
        """Return the probability of each candidate under the plan."""
        share: defaultdict[Candidate, Fraction] = defaultdict(Fraction, {ROOT: F(1)})
        for candidate in sorted(self.met, key=lambda c: c[0]):
            for (action, observation, _), p in self.rates(candidate).items():
                share[candidate[0] + 1, self.state[candidate], (action, observation)] += share[candidate] * p
        return share

    def estimate(self) -> tuple[float, float]:
        shares = self.shares()
        variance = sum((shares[c] ** 2 * self.variance(c) for c in self.met), F(0))
        value = self.wide * self.values[ROOT] + self.low * (self.horizon + 1)
        return float(value), float(self.wide) * math.sqrt(variance)


# By definition


@cache
def log(seed: int) -> Episodes:
    rng = np.random.default_rng(seed)
    horizon = int(rng.integers(1, 4))
    how: dict[str, Any] = {"early_end": 0.4 * (seed % 2), "weighted": seed % 3 == 0}
    drawn = random_episodes(rng, horizon, 2, 3, 3, 3, 120, **how)
    if seed % 4 < 2:
        return drawn
    pay = {0.0: -1.5, 1.0: 0.25, 2.0: 3.0}
    return from_values([[(a, o, r if a in (None, "pad") else pay[r]) for a, o, r in e] for e in to_values(drawn)])


@pytest.mark.parametrize("seed", SEEDS)
def test_predict_agrees_with_formula(seed: int) -> None:
    rdp = adact_h(log(seed), Settings(delta=0.05)).rdp
    for how in PLANNERS:
        plan = plan_on(rdp, how)
        right = Estimate(*Formula(rdp, plan, log(seed)).estimate()).within(possible_returns(log(seed)))
        assert predict(rdp, plan, log(seed)) == pytest.approx(right, rel=1e-9)


def test_predict_on_random_logs_differs_from_plan_values() -> None:
    """Check that the agreement test is not vacuous: predictions differ from the plans' own values."""
    plans = [plan_on(adact_h(log(seed), Settings(delta=0.05)).rdp, GREEDY) for seed in SEEDS]
    predictions = [predict(adact_h(log(s), Settings(delta=0.05)).rdp, plan, log(s)) for s, plan in enumerate(plans)]
    differences = [abs(p.value - plan.value) for p, plan in zip(predictions, plans, strict=True)]
    assert sum(difference > 0.01 for difference in differences) >= 5


@pytest.mark.parametrize("seed", SEEDS)
def test_predict_agrees_with_formula_on_other_episodes(seed: int) -> None:
    """The other episodes, as with --split, have unseen histories, which get the smallest reward from then on."""
    whole = random_episodes(np.random.default_rng(50 + seed), 3, 2, 4, 3, 3, 200, early_end=0.2, weighted=seed % 2 == 0)
    rdp = adact_h(whole.columns(np.arange(30)), Settings(delta=0.5)).rdp
    rest = whole.columns(np.arange(30, whole.n))
    assert (rdp.run_all(rest) == UNSEEN).any()
    for how in PLANNERS:
        plan = plan_on(rdp, how, rdp.tally(rest))
        found = predict(rdp, plan, rest)
        (low, high), (lowest, highest) = found[2:], possible_returns(rest)
        assert lowest <= low <= found.value <= high <= highest
        assert found == pytest.approx(Estimate(*Formula(rdp, plan, rest).estimate()).within((low, high)), rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_predict_is_the_same_with_dense_and_sparse_counts(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = random_episodes(np.random.default_rng(50 + seed), 3, 2, 4, 3, 3, 200, early_end=0.2, weighted=seed % 2 == 0)
    rdp = adact_h(whole.columns(np.arange(30)), Settings(delta=0.5)).rdp
    plan, found = plan_on(rdp, GREEDY), []
    for cells in (0, 1 << 20):
        monkeypatch.setattr(prediction, "DENSE_CELLS", cells)
        found.append(predict(rdp, plan, whole))
    assert found[0] == found[1]


def test_predict_treats_weights_like_repeated_episodes() -> None:
    episodes = log(0)
    assert episodes.weight is not None
    repeated = episodes.columns(np.repeat(np.arange(episodes.n), episodes.weight))
    rdp = adact_h(episodes, Settings(delta=0.05)).rdp
    plan = plan_on(rdp)
    alone = Episodes(repeated.alphabet, repeated.letters, repeated.word, repeated.follows)
    assert predict(rdp, plan, episodes) == pytest.approx(predict(rdp, plan, alone), rel=1e-12)


# By hand


def test_predict_matches_calculation_by_hand() -> None:
    """Two first observations in one state; a had reward 1 in three of four cases after 0, and in none of two after 1.

    The state's mean is 3/6. So U = (3 + 1/2)/5 after 0 and (0 + 1/2)/3 after 1, which occur in 8 and 4 of 12 episodes.
    Step 0 has a single candidate.
    """
    seen = [(0, "a", 1.0)] * 3 + [(0, "a", 0.0), *[(0, "b", 0.0)] * 4] + [(1, "a", 0.0)] * 2 + [(1, "b", 0.0)] * 2
    episodes = from_values([[(None, (o,), 0.0), (a, None, r)] for o, a, r in seen])
    rdp = adact_h(episodes).rdp
    plan = plan_on(rdp, GREEDY)
    assert rdp.layers.tolist() == [1, 1, 1] and plan.actions.tolist() == [BEHAVE, 0, BEHAVE] and plan.value == 0.5
    assert predict(rdp, plan, episodes).value == pytest.approx((8 * F(7, 2) / 5 + 4 * F(1, 2) / 3) / 12)


def test_predict_uses_state_mean_for_untaken_actions() -> None:
    """Action a was never taken after the second observation: it has the state's mean, 1/2."""
    seen = [(0, "a", 1.0), (0, "a", 0.0)] * 3 + [(1, "b", 0.0)] * 2
    episodes = from_values([[(None, (o,), 0.0), (a, None, r)] for o, a, r in seen])
    rdp = adact_h(episodes, Settings(delta=1e-9)).rdp
    plan = plan_on(rdp, GREEDY)
    assert rdp.layers.tolist() == [1, 1, 1] and plan.actions[1] == 0
    assert predict(rdp, plan, episodes).value == pytest.approx(0.5)


# Where every candidate is its own state


def tree(episodes: Episodes) -> RDP:
    """Make the automaton that remembers the whole history, with one final state after the last step."""
    symbols = np.unique(episodes.letters[:, :2], axis=0)
    of_letter = [int(np.flatnonzero((symbols == letter[:2]).all(axis=1))[0]) for letter in episodes.letters]
    weights = np.ones(episodes.n, int) if episodes.weight is None else episodes.weight
    histories: list[dict[Any, int]] = [{(): 0}]
    tau, counts = [], []
    for t in range(episodes.horizon + 1):
        following: dict[Any, int] = {}
        tau.append(np.full((len(histories[t]), len(symbols)), UNSEEN))
        counts.append(np.zeros((len(histories[t]), len(episodes.letters)), np.int64))
        for word, weight in zip(episodes.word.T.tolist(), weights.tolist(), strict=True):
            q = histories[t][tuple(of_letter[x] for x in word[:t])]
            longer = tuple(of_letter[x] for x in word[: t + 1]) if t < episodes.horizon else ()
            tau[t][q, of_letter[word[t]]] = following.setdefault(longer, len(following))
            counts[t][q, word[t]] += weight
        histories.append(following)
    return RDP.of_layers(episodes.alphabet, episodes.letters, symbols, tau, counts)


@pytest.mark.parametrize("seed", SEEDS)
def test_predict_equals_plan_value_where_nothing_was_merged(seed: int) -> None:
    rdp = tree(log(seed))
    assert rdp.n_states > 10 or rdp.horizon == 1
    for how in PLANNERS:
        plan = plan_on(rdp, how)
        assert predict(rdp, plan, log(seed)).value == pytest.approx(plan.value, rel=1e-9, abs=1e-9)


# Against the truth


def test_predict_standard_error_equals_scatter_of_predictions() -> None:
    """For one plan on the true automaton, over 300 logs: 15 % is nearly four times the chance error of 300 logs."""
    domain, horizon = Corridor(enemy=F(7, 10)), 4
    right = minimal_rdp(domain.model(horizon), horizon).rdp()
    plan = plan_on(right, GREEDY)
    found = [predict(right, plan, domain.simulate(2000, horizon, np.random.default_rng(seed))) for seed in range(300)]
    scatter = np.std([estimate.value for estimate in found])
    assert math.sqrt(np.mean([estimate.error**2 for estimate in found])) == pytest.approx(scatter, rel=0.15)


@pytest.mark.parametrize("n", [3_000, 10_000])
def test_predict_is_closer_to_truth_than_plan_value_after_wrong_merges(n: int) -> None:
    """Measured by exact values, on average over ten logs of the cookie domain."""
    domain, horizon = Cookie(actions="sensible"), 9
    model = domain.model(horizon)
    off = []
    for seed in range(10):
        solution = regorl(domain.simulate(n, horizon, np.random.default_rng(seed)))
        policy = Controller.on_automaton(solution.learned.rdp, model.alphabet, solution.plan.actions)
        right = float(evaluate(model, policy, horizon).mean_return)
        off.append((abs(solution.prediction.value - right), abs(solution.plan.value - right)))
    predicted, planned = np.mean(off, axis=0)
    assert planned > 0.01 and predicted < planned
