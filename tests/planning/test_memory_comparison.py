"""The kind of memory is chosen by held-out episodes: the rule, and what it chooses on processes that are known."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import suffice
from suffice.automata.rdp import RDP
from suffice.data.episodes import Episodes
from suffice.errors import MemoryLimitError
from suffice.evidence.estimates import Estimate
from suffice.files.checkpoints import NO_CHECKPOINT
from suffice.learning.adact_h import Settings
from suffice.learning.memories import Cycle, Layers, MemoryKind, Window, memories_of
from suffice.learning.windows import learn_window
from suffice.planning import memory_plans
from suffice.planning.held_out_value import HeldOutPlan
from suffice.planning.memory_comparison import _better_plan, _HeldOut, _least_bits, _Trial, _without_other_windows
from suffice.planning.memory_plans import PlanMaker, choose_memory, learn_memory
from suffice.planning.planner import Planning
from support.samples import rising

ALONE = _HeldOut(None, None)  # neither weights nor groups


class _Sized:
    """Stands for an automaton of which only the number of states matters."""

    def __init__(self, n_states: int) -> None:
        self.n_states = n_states


def trial(kind: MemoryKind, states: int, bits: float, noise: float = 0.0) -> _Trial:
    """Return a trial on 100 episodes, half of which cost more than others by twice the noise."""
    spread = np.where(np.arange(100) % 2, noise, -noise)
    return _Trial(kind, [(_Sized(states), None)], bits + spread)  # type: ignore[list-item]


NONE, LAST = trial(Window(0), 2, 10.0), trial(Window(1), 5, 9.0)


@pytest.mark.parametrize(
    ("trials", "chosen"),
    [
        ([NONE, LAST, trial(Layers(), 20, 9.5), trial(Cycle(), 8, 9.2)], 1),  # clearly fewest bits
        ([NONE, LAST, trial(Layers(), 20, 9.5), trial(Cycle(), 8, 9.01, 0.1)], 3),  # not clearly worse: the cycle
        ([NONE, LAST, trial(Layers(), 20, 9.5), trial(Cycle(), 5, 9.01, 0.1)], 1),  # with as many states the window
        ([NONE, LAST, trial(Layers(), 20, 8.999, 0.1)], 1),  # without a cycle, the fewest states
        ([NONE, LAST, trial(Layers(), 20, 8.9)], 2),
    ],
)
def test_least_bits_prefers_the_cycle_among_kinds_that_are_not_clearly_worse(trials: list[_Trial], chosen: int) -> None:
    assert _least_bits(trials, ALONE) is trials[chosen]


@pytest.mark.parametrize(
    ("bits", "gain", "taken"),
    [(9.0, 3.1, True), (9.0, 2.9, False), (9.5, 3.9, False), (9.5, 4.1, True), (9.5, -4.1, False)],
)
def test_better_plan_needs_more_evidence_against_worse_bits(bits: float, gain: float, taken: bool) -> None:
    """A gain of that many standard errors."""
    other = trial(Cycle(), 8, bits)
    found = _better_plan([LAST, other], LAST, ALONE, [Estimate(0.0, 0.0), Estimate(-gain, 1.0)])
    assert (found is other) == taken


def test_better_plan_takes_a_gain_without_error() -> None:
    """Deterministic rewards: the difference is certain."""
    same, better = [Estimate(0.0, 0.0), Estimate(0.0, 0.0)], [Estimate(0.0, 0.0), Estimate(-1.0, 0.0)]
    assert _better_plan([LAST, NONE], LAST, ALONE, same) is LAST
    assert _better_plan([LAST, NONE], LAST, ALONE, better) is NONE


def test_better_plan_is_the_chosen_one_without_plans() -> None:
    assert _better_plan([LAST, NONE], LAST, ALONE, [None, None]) is LAST


def test_without_other_windows_keeps_the_best_longer_one() -> None:
    trials = [NONE, LAST, trial(Window(2), 9, 8.0), trial(Window(3), 20, 7.0), trial(Window(4), 40, 7.5)]
    assert _without_other_windows(trials, ALONE) == [NONE, LAST, trials[3]]


@cache
def simulated(domain: str, episodes: int, horizon: int, **options: object) -> Episodes:
    model = suffice.make(domain, **options).model(horizon)
    return suffice.simulate(model, episodes, horizon, np.random.default_rng(0))


@cache
def independent(n: int, rewards_by_observation: bool) -> Episodes:
    """Return episodes whose observations are independent; rewards depend on the last one, or on nothing."""
    rng = np.random.default_rng(1)
    action, observation = rng.integers(2, 4, (7, n)), rng.integers(1, 4, (7, n))
    action[0] = 0
    wins = np.array([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5]]) if rewards_by_observation else np.full((3, 2), 0.5)
    paid = rng.random((6, n)) < wins[observation[:-1] - 1, action[1:] - 2]
    reward = np.vstack([np.zeros((1, n), np.int64), paid])
    observation[-1] = 0
    alphabet = suffice.Alphabet(("a", "b"), ("light",), ((0,), (1,), (2,)), (0.0, 1.0))
    return Episodes.from_steps(alphabet, action, observation, reward)


def chosen(episodes: Episodes) -> str:
    found = suffice.regorl(episodes, stationary="auto").compared
    assert found is not None
    return found.memory


def test_regorl_auto_chooses_the_memory_that_the_process_needs() -> None:
    assert chosen(independent(1_000, False)) == "none"
    assert chosen(independent(1_000, True)) == "last observation"
    assert chosen(simulated("repeat-previous", 2_000, 6, k=2)) == "last 2 observations"
    assert chosen(simulated("t-maze", 2_000, 10, length=3)) == "cycle"
    assert chosen(rising(2_000)) == "layers"


def test_regorl_auto_reports_differences_from_the_chosen_memory() -> None:
    solution = suffice.regorl(independent(1_000, True), stationary="auto")
    compared = solution.compared
    assert compared is not None and compared.episodes == 1_000
    own, none = compared.of("last observation"), compared.of("none")
    assert own is not None and own.more_bits == Estimate(0.0, 0.0) and own.less_return == Estimate(0.0, 0.0)
    assert none is not None and none.less_return is not None
    assert none.bits == pytest.approx(own.bits + none.more_bits.value)
    expected = 6 * (2 / 3 * 0.9 + 1 / 3 * 0.5 - 0.5)  # without an observation either action wins half of the time
    assert none.less_return.value == pytest.approx(expected, abs=4 * none.less_return.error)
    assert compared.of("last 99 observations") is None


def test_regorl_auto_judges_the_plans_of_the_comparison() -> None:
    """The verdict is that of cross-fitting the chosen kind, because both use the same folds."""
    episodes = simulated("t-maze", 2_000, 10, length=3)
    assert suffice.regorl(episodes, stationary="auto").judged == suffice.regorl(episodes, stationary=True).judged


def test_regorl_auto_judges_more_episodes_than_it_compares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_plans, "COMPARED_STEPS", 7 * 500)
    solution = suffice.regorl(independent(1_000, True), stationary="auto")
    assert solution.compared is not None and solution.compared.episodes == 500
    assert solution.judged is not None and solution.judged.episodes == 1_000


def test_regorl_auto_with_few_episodes_learns_layers() -> None:
    solution = suffice.regorl(independent(20, True), stationary="auto")
    assert solution.compared is None and not solution.learned.rdp.stationary


def test_learn_memory_does_not_depend_on_the_order_of_episodes() -> None:
    episodes = independent(300, True)
    shuffled = episodes.columns(np.random.default_rng(3).permutation(episodes.n))
    found = [
        learn_memory(log, Settings(), "auto", True, lambda *_: None, NO_CHECKPOINT)[1] for log in (episodes, shuffled)
    ]
    assert found[0] == found[1] and found[0] is not None
    assert all(one.less_return is None for one in found[0].alternatives)


def test_choose_memory_treats_weights_like_repeated_episodes() -> None:
    episodes = independent(200, True)
    maker = PlanMaker(Settings(), Planning(), np.random.default_rng(0))
    weighted = replace(episodes, weight=np.full(episodes.n, 3, np.int64))
    found = choose_memory(weighted, maker)
    assert found is not None and found.comparison.episodes == 600


def test_first_that_fits_falls_back_to_the_next_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(*_: object, **__: object) -> None:
        raise MemoryLimitError("too large")

    maker = PlanMaker(Settings(), Planning(), np.random.default_rng(0))
    monkeypatch.setattr("suffice.learning.memories.learn_stationary", too_large)
    episodes = independent(100, True)
    kind, learned, plan = maker.first_that_fits([Cycle(), Window(1)], episodes, lambda *_: None, NO_CHECKPOINT)
    assert kind == Window(1) and learned.rdp.n_states == 4 and plan is not None
    with pytest.raises(MemoryLimitError):
        maker.first_that_fits([Cycle()], episodes, lambda *_: None, NO_CHECKPOINT)


def test_memories_of_tries_windows_as_far_as_there_are_ten_decisions_of_each_action() -> None:
    """100 episodes of six decisions with two actions allow 30 windows: 3 + 9 of two observations, not 39 of three."""
    names = [kind.name for kind in memories_of(independent(100, True), independent(100, True), Settings())]
    assert names == ["none", "last observation", "last 2 observations", "layers", "cycle"]
    single = independent(100, True).cut(1)
    assert [kind.name for kind in memories_of(single, single, Settings())] == ["none", "last observation", "layers"]


def test_memories_of_tries_no_windows_longer_than_all_episodes_of_the_sample() -> None:
    """A sample without the one long episode of a log had as many windows of any length, and all were compared."""
    lengths, rng = [2] * 100 + [30], np.random.default_rng(0)
    table = {"episode": np.repeat(np.arange(101), lengths), "step": np.concatenate([np.arange(n) for n in lengths])}
    table |= {name: rng.integers(0, 2, 230) for name in ("seen", "action", "reward")}
    log = suffice.read_log(table, ends="censored")
    names = [kind.name for kind in memories_of(log, log.columns(np.arange(100)), Settings())]
    assert names == ["none", "last observation", "last 2 observations", "cycle"]


def lifted(fine: RDP, coarse: RDP, actions: np.ndarray) -> np.ndarray:
    """Return the actions of a plan on a coarse automaton for the states of a finer one, both in layers."""
    found = np.full(fine.n_states, -1)
    for q, history in enumerate(fine.typical_histories()):
        found[q] = actions[coarse.run(history)]
    return found


def test_difference_of_plans_is_that_on_the_finer_automaton() -> None:
    """A plan of the last observation is the same plan on windows of two, which distinguish all that it does."""
    train, test = independent(2_000, True), independent(2_001, True)
    fine, coarse = (learn_window(train, length).rdp for length in (2, 1))
    plans = [suffice.plan_on(rdp.layered(), suffice.Planning()) for rdp in (fine, coarse)]
    on_fine = replace(plans[0], actions=lifted(fine.layered(), coarse.layered(), plans[1].actions))
    spans = np.ones(test.horizon)
    one, other, same = (
        HeldOutPlan(rdp, plan, test, spans) for rdp, plan in ((fine, plans[0]), (coarse, plans[1]), (fine, on_fine))
    )
    value, variance = one.difference(other, None)
    assert value == pytest.approx(one.value().value - same.value().value, abs=1e-3)
    assert variance == pytest.approx(one.value().variance(None, same.value().influence), rel=0.1)
    assert one.difference(one, None) == (0.0, 0.0)
