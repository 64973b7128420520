"""`Policy` on histories of the log, on unseen histories, and on invalid input."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import suffice
from laws.logs import logs
from oracle import random_episodes
from suffice.automata.rdp import BEHAVE, RDP
from suffice.data.alphabet import Alphabet
from suffice.data.encoding.binning import Bins
from suffice.data.encoding.encoder import Encoder
from suffice.data.encoding.observations import has_features, values_of
from suffice.data.episodes import Episodes
from suffice.domains.tasks.cookie import Cookie
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import LogError, SufficeError
from suffice.learning.adact_h import Settings, adact_h
from suffice.models.export import to_json
from suffice.models.model import Model
from suffice.planning.controller import Controller
from suffice.planning.plan import Plan
from suffice.planning.planner import GREEDY, Planning, plan_on
from suffice.planning.policy import ActionChoice, Policy
from suffice.planning.regorl import regorl
from support.log_files import decode
from support.small_automata import CUE, LOST, SMALL, of_maze, plan_of

pytestmark = pytest.mark.filterwarnings("ignore:.*The policy falls back:UserWarning")

# Acting


class Dial:
    """A random generator that returns a value set by the test."""

    def __init__(self, value: float = 0.0) -> None:
        self.value = value

    def random(self) -> float:
        return self.value


def test_policy_act_follows_plan_through_an_episode() -> None:
    policy = Policy(SMALL, plan_of(SMALL, q1=1, q4=0, q6=0))
    for _ in range(2):
        policy.reset()
        assert policy.state == 0
        assert [policy.act("x"), policy.act("x"), policy.act("y")] == ["r", "l", "l"]
        assert policy.state == 6
    assert (policy.steps, policy.fallbacks) == (6, 0)
    assert repr(policy) == "<Policy: 9 states, 0 of 6 steps fell back>"
    assert policy.alphabet is SMALL.alphabet and policy.n_states == 9 + 5


def test_policy_observe_accepts_actions_of_others() -> None:
    policy = Policy(SMALL, plan_of(SMALL, q1=1, q3=0, q6=1))
    policy.reset()
    policy.observe(None, "x")
    assert policy.act() == "r"
    policy.observe("l", "x")  # someone else went left instead
    assert policy.state == 3 and policy.act() == "l"
    assert policy.act("y") == "r" and policy.state == 6


def test_policy_act_without_observation_keeps_the_state() -> None:
    policy = Policy(SMALL, plan_of(SMALL), Dial())
    policy.reset()
    policy.act("x")
    assert [policy.act() for _ in range(3)] == ["l"] * 3 and policy.state == 1 and policy.steps == 1


def test_policy_refuses_calls_out_of_order() -> None:
    policy = Policy(SMALL, plan_of(SMALL))
    for ask in (policy.act, lambda: policy.state):
        with pytest.raises(SufficeError, match=r"the episode has not begun\. Call reset\(\), then act\(\)"):
            ask()
    for ask in (lambda: policy.act("x"), lambda: policy.observe(None, "x"), lambda: policy.observe("l", "x")):
        with pytest.raises(SufficeError, match=r"the episode has not begun\. Call reset\(\) first\."):
            ask()
    policy.reset()
    with pytest.raises(SufficeError, match=r"the first observation of the episode is missing\. Pass it to act\(\)\."):
        policy.act()
    with pytest.raises(SufficeError, match=r"no action precedes the first observation\. Call observe\(None, obs"):
        policy.observe("l", "x")
    policy.observe(None, "x")
    for ask in (lambda: policy.observe(None, "x"), lambda: policy.act("x")):
        with pytest.raises(SufficeError, match=r"the action is missing\. .* then observe\(action, observation\)\."):
            ask()
    assert policy.state == 1 and policy.act() in ("l", "r"), "refused calls change nothing"


def test_policy_act_refuses_observation_after_an_unreported_action() -> None:
    """After an action of someone else, `act` cannot know the next one: it was not the policy's own earlier action."""
    policy = Policy(SMALL, plan_of(SMALL, q1=1))
    policy.reset()
    policy.act("x")
    policy.observe("l", "x")
    with pytest.raises(SufficeError, match="the action is missing"):
        policy.act("y")


# Chance


def test_policy_act_draws_with_logged_frequencies() -> None:
    """State 2 took l 5 times and r 35 times; where the plan has an action nothing is drawn."""
    dial = Dial()
    policy = Policy(SMALL, plan_of(SMALL, q1=1), dial)
    policy.reset()
    policy.observe(None, "y")
    drawn = []
    for dial.value in np.arange(40) / 40:
        drawn.append(policy.act())
    assert drawn == ["l"] * 5 + ["r"] * 35
    policy.reset()
    policy.observe(None, "x")
    for dial.value in (0.0, 0.5, 1 - 1e-16):
        assert policy.act() == "r"


def test_policy_act_is_uniform_where_nothing_is_known() -> None:
    dial = Dial()
    policy = Policy(SMALL, plan_of(SMALL), dial)
    policy.reset()
    policy.observe(None, "x")
    for _ in range(6):
        policy.observe("l", "q")
    assert policy.state == LOST + 4
    drawn = []
    for dial.value in (0.0, 0.25, 0.4999, 0.5, 0.75):
        drawn.append(policy.act())
    assert drawn == ["l", "l", "l", "r", "r"]


def test_policy_deterministic_takes_most_frequent_action() -> None:
    """In state 1 both actions are equally frequent: the first is taken."""
    for value in (0.0, 0.6, 1 - 1e-16):
        policy = Policy(SMALL, plan_of(SMALL, q6=1), Dial(value), deterministic=True)
        done = []
        for first in "xy":
            policy.reset()
            done.append([policy.act(first), policy.act("x"), policy.act("y")])
        assert done == [["l", "l", "r"], ["r", "r", "r"]]


def test_policy_draws_depend_only_on_the_seed() -> None:
    def run(policy: Policy) -> list[Any]:
        done = []
        for _ in range(20):
            policy.reset()
            done += [policy.act("x"), policy.act("x"), policy.act("y")]
        return done

    plan = plan_of(SMALL)
    one, same, other = (run(Policy(SMALL, plan, np.random.default_rng(seed))) for seed in (5, 5, 6))
    assert one == same != other
    assert run(Policy(SMALL, plan)) == run(Policy(SMALL, plan)), "also without one"
    assert {"l", "r"} == set(one)


def test_policy_counts_fallbacks_on_unseen_steps() -> None:
    policy = Policy(SMALL, plan_of(SMALL, q1=0, q3=0))
    policy.reset()
    policy.act("x")
    assert policy.act("y") == "r" and (policy.steps, policy.fallbacks) == (2, 1)
    policy.act("z")
    policy.act("z")
    assert (policy.steps, policy.fallbacks) == (4, 3)
    policy.reset()
    policy.act("x")
    assert (policy.steps, policy.fallbacks) == (5, 3), "reset() does not forget them"


# Any history


@cache
def learned(seed: int) -> tuple[RDP, Plan]:
    rng = np.random.default_rng(seed)
    episodes = random_episodes(rng, 3, 3, 4, 3, 3, 150, n_features=2, early_end=0.2)
    rdp = adact_h(episodes, Settings(delta=0.3)).rdp
    return rdp, plan_on(rdp, Planning(strength=0.1))


@pytest.mark.parametrize("seed", range(6))
def test_policy_agrees_with_controller_on_random_histories(seed: int) -> None:
    """After 60 random histories of up to 6 steps, twice the horizon: same memory, same probabilities to 1/720."""
    rdp, plan = learned(seed)
    assert np.any(plan.actions != BEHAVE) and np.any(plan.actions[1:-1] == BEHAVE)
    rng, dial = np.random.default_rng(seed), Dial()
    known = rdp.alphabet
    alphabet = Alphabet(known.actions, known.features, (*known.observations, (9, 9)), known.rewards)
    controller = Controller.on_automaton(rdp, alphabet, plan.actions)
    policy, grid = Policy(rdp, plan, dial), 720
    met = set()
    for _ in range(60):
        policy.reset()
        action, memory = None, -1
        for _ in range(rng.integers(1, 7)):
            o = int(rng.integers(1, alphabet.n_observations))
            policy.observe(action, alphabet.observation(o))
            memory = controller.first[o] if action is None else controller.after[memory, known.actions.index(action), o]
            action = known.actions[rng.integers(len(known.actions))]
            assert policy.state == memory
        met.add(int(memory))
        drawn: Counter[Any] = Counter()
        for i in range(grid):
            dial.value = (i + 0.5) / grid
            drawn[policy.act()] += 1
        for a, chance in zip(known.actions, controller.chances[memory], strict=True):
            assert abs(drawn[a] / grid - chance) <= 1 / grid
    assert any(m >= rdp.n_states for m in met) and any(0 < m < rdp.n_states for m in met)


finite = st.floats(allow_nan=False, allow_infinity=False)
garbage = st.one_of(st.none(), st.booleans(), st.integers(), finite, st.text(max_size=3), st.integers(0, 3))
anything = st.one_of(st.sampled_from(["a0", "a1", "a2"]), st.integers(), st.floats(), st.text(max_size=2))


@settings(deadline=None, max_examples=150)
@given(
    st.integers(0, 2),
    st.lists(st.tuples(st.booleans(), anything, st.tuples(garbage, garbage)), max_size=12),
    st.booleans(),
)
def test_policy_accepts_any_history(seed: int, steps: list[Any], deterministic: bool) -> None:
    rdp, plan = learned(seed)
    policy = Policy(rdp, plan, deterministic=deterministic)
    policy.reset()
    for i, (own, action, seen) in enumerate(steps):
        if own or i == 0:
            done = policy.act(seen)
        else:
            policy.observe(action, seen, strict=False)
            done = policy.act()
        assert done in rdp.alphabet.actions and 0 <= policy.state < policy.n_states
    assert policy.steps == len(steps) and 0 <= policy.fallbacks <= len(steps)


@settings(deadline=None, max_examples=30)
@given(logs(), st.randoms(use_true_random=False))
def test_policy_never_falls_back_on_histories_of_the_log(episodes: Episodes, random: Any) -> None:
    rdp = adact_h(episodes, Settings(delta=0.3)).rdp
    policy = Policy(rdp, plan_on(rdp))
    for steps in random.sample(decode(episodes), 20):
        policy.reset()
        history: tuple[Any, ...] = ()
        for action, observation, _ in steps:
            if observation is None:
                break
            policy.observe(action, observation)
            history = (*history, (action, observation))
            assert policy.state == rdp.run(history)
    assert policy.fallbacks == 0


@pytest.mark.parametrize("seen", ["many", "10"])
def test_policy_refuses_text_for_binned_features(seen: str) -> None:
    """A text that looks like a number is refused as well."""
    policy = Policy(SMALL, plan_of(SMALL), encoder=Encoder.of_features(("seen",), {"seen": Bins((1.0, 2.0))}))
    policy.reset()
    with pytest.raises(SufficeError):
        policy.act(seen)


@pytest.mark.parametrize("kinds", [{}, {"seen": Bins((1.0, 2.0))}], ids=["plain", "binned"])
@pytest.mark.parametrize("seen", [np.nan, np.inf, -np.inf, np.float32("nan"), np.array([np.nan])], ids=repr)
def test_policy_refuses_numbers_that_are_not_finite(seen: Any, kinds: Any) -> None:
    """A number that is missing is a value that plain columns may have; here it is not known."""
    policy = Policy(SMALL, plan_of(SMALL), encoder=Encoder.of_features(("seen",), kinds), strict=True)
    policy.reset()
    for observation in (seen, (seen,), {"seen": seen}):
        plain = not kinds and np.isnan(seen).all()
        infinite = "-?(nan|inf) is not a finite number. Replace it.$"
        problem = r"'\(missing\)' is not known to the model" if plain else infinite
        with pytest.raises(LogError, match=f"^seen: {problem}"):
            policy.act(observation)
    assert policy.state == 0 and policy.steps == 0


def test_policy_observe_refuses_unknown_actions() -> None:
    """Unknown observations, which are not chosen, are accepted."""
    policy = Policy(SMALL, plan_of(SMALL))
    policy.reset()
    policy.act("x")
    with pytest.raises(SufficeError, match=r"^action 'left' is not known to the model\. Pass one of 'l', 'r'\.$"):
        policy.observe("left", "x")
    assert policy.state == 1 and policy.fallbacks == 0, "the refused call changes nothing"
    policy.observe("left", "x", strict=False)
    assert policy.state == LOST + 2 and policy.fallbacks == 1


def test_policy_act_flattens_vectors_within_observations() -> None:
    """The observation is a dict of which two values are in one vector."""
    rdp = of_maze()
    policy = Policy(rdp, plan_on(rdp, GREEDY))
    for seen in ((0, np.array([1, 1])), (np.array([0.0]), np.array([1]), [1]), ({"a": 0, "b": (1,)}, 1)):
        policy.reset()
        policy.act(seen)
        assert policy.state == rdp.run(((None, CUE),))
    for seen in ((0, np.array([1, 1, 0])), (np.array([0, 1]),)):
        policy.reset()
        with pytest.raises(
            LogError, match=r"values, but the model reads 3\. Pass one for each feature: bit1, bit2, bit3"
        ):
            policy.act(seen)


def test_values_of_finds_features_with_and_without_singleton_levels() -> None:
    """A column of [[x, y]] may be logged as a.0 and a.1, or as a.0.0 and a.0.1."""
    seen = {"a": np.array([[3, 4]]), "b": [[5]]}
    assert values_of(seen, ("a.0.1", "b.0")) == [4, 5]
    assert values_of(seen, ("a.1", "b")) == [4, 5]
    assert has_features(seen, ("a.1",)) and not has_features(seen, ("a.2",)) and not has_features(seen, ("a.x",))


@pytest.mark.parametrize("seen", [[1, 2], (1, [2, 3]), np.zeros((9, 9)), {"a": 1, "b": 2}, []], ids=repr)
def test_values_of_refuses_features_with_several_values(seen: Any) -> None:
    assert not has_features({"seen": seen}, ("seen",))
    with pytest.raises(LogError, match=r"^observation: 'seen' is .*, not a single value") as caught:
        values_of({"seen": seen}, ("seen",))
    assert "\n" not in str(caught.value)


# Advice


def test_policy_advice_gives_probabilities_and_whether_planned() -> None:
    policy = Policy(SMALL, plan_of(SMALL, q1=1))
    for ask in (lambda: policy.advice, lambda: (policy.reset(), policy.advice)):
        with pytest.raises(SufficeError):
            ask()
    policy.observe(None, "x")
    assert policy.advice == ActionChoice({"l": 0.0, "r": 1.0}, planned=True)
    policy.observe("l", "x")
    assert policy.advice == ActionChoice({"l": 20 / 30, "r": 10 / 30}, planned=False)
    policy.observe("l", "z")
    assert policy.state == LOST + 3 and policy.advice == ActionChoice({"l": 0.75, "r": 0.25}, planned=False)
    usual = Policy(SMALL, plan_of(SMALL), deterministic=True)
    usual.reset()
    usual.observe(None, "y")
    assert usual.advice == ActionChoice({"l": 0.0, "r": 1.0}, planned=False)


def test_policy_repr_counts_states_of_the_model() -> None:
    episodes = Corridor().simulate(2000, 6, np.random.default_rng(0))
    model = suffice.learn(episodes, stationary=True)
    policy = model.policy()
    n, unrolled = model.rdp.n_states, model.planned.n_states
    assert n < unrolled and repr(policy) == f"<Policy: {n} states ({unrolled} over 6 steps), 0 of 0 steps fell back>"


# Tables and export


def test_policy_table_lists_action_and_value_of_each_state() -> None:
    plan = plan_on(SMALL, Planning(strength=0))
    rows = Policy(SMALL, plan).table()
    assert rows == [
        {"t": 1, "state": 0, "action": "l", "value": pytest.approx(2 + 1)},
        {"t": 1, "state": 1, "action": "r", "value": pytest.approx(1 + 1)},
        {"t": 2, "state": 0, "action": "l", "value": pytest.approx(1 + 2)},
        {"t": 2, "state": 1, "action": None, "value": pytest.approx(2), "chances": {"l": 1.0, "r": 0.0}},
        {"t": 2, "state": 2, "action": None, "value": pytest.approx(1), "chances": {"l": 0.0, "r": 1.0}},
        {"t": 3, "state": 0, "action": "l", "value": pytest.approx(2)},
        {"t": 3, "state": 1, "action": "pad", "value": pytest.approx(0)},
    ]
    assert list(rows[0]) == ["t", "state", "action", "value"]


@pytest.mark.parametrize(
    ("domain", "horizon"), [(TMaze(length=2), 4), (Corridor(), 4), (Cookie(actions="sensible"), 9)], ids=str
)
def test_to_json_exports_the_plan_as_policy(domain: Any, horizon: int) -> None:
    episodes = domain.simulate(2000, horizon, np.random.default_rng(0))
    solution = regorl(episodes)
    rdp, plan = solution.learned.rdp, solution.plan
    exported = json.loads(to_json(Model.of(solution, episodes)))
    assert exported["policy"] == json.loads(json.dumps(Policy(rdp, plan).table()))
    assert [(row["t"], row["state"]) for row in exported["policy"]] == [
        (t, q) for t in range(1, rdp.horizon + 1) for q in range(rdp.layers[t])
    ]
    kinds = Counter()
    for q, row in enumerate(exported["policy"], 1):
        assert row["value"] == plan.values[q]
        if row["action"] is None:
            kinds["behave"] += 1
            assert plan.actions[q] == BEHAVE and sum(row["chances"].values()) == pytest.approx(1)
            taken = {str(a): sum(k for *_, k in rdp.outputs(q, a)) for a in rdp.alphabet.actions}
            shares = {a: k / sum(taken.values()) for a, k in taken.items()}
            assert row["chances"] == pytest.approx(shares)
        elif row["action"] == "pad":
            kinds["pad"] += 1
            assert not any(rdp.outputs(q, a) for a in rdp.alphabet.actions)
        else:
            kinds["act"] += 1
            assert row["action"] == rdp.alphabet.actions[plan.actions[q]] and "chances" not in row
    assert kinds["act"] > 0


def test_model_policy_is_refused_without_a_plan() -> None:
    episodes = Corridor().simulate(100, 3, np.random.default_rng(0))
    model = Model.of(adact_h(episodes), episodes)
    assert json.loads(to_json(model))["policy"] == []
    with pytest.raises(SufficeError, match=r"this model has no plan\. Learn it again without plan=False"):
        model.policy()


def test_policy_warns_once_beyond_the_horizon_unless_the_plan_is_discounted() -> None:
    episodes = Corridor().simulate(400, 5, np.random.default_rng(0))
    observation = dict(zip(episodes.alphabet.features, episodes.alphabet.observations[0], strict=True))
    for options, warned in (({}, 1), ({"stationary": True}, 1), ({"stationary": True, "discount": 0.9}, 0)):
        policy = suffice.learn(episodes, **options).policy()  # type: ignore[arg-type]
        policy.reset()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(5):
                policy.act(observation)
            assert not [w for w in caught if "beyond" in str(w.message)]
            policy.act(observation)
            policy.act(observation)
        found = [w for w in caught if "decision 6 is beyond the 5 decisions that the model plans" in str(w.message)]
        assert len(found) == warned, options
        assert all("discount=0.99" in str(w.message) and w.filename == __file__ for w in found)
