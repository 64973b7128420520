"""`learn_stationary` is invariant, finds exact automata, makes few false splits, and accepts unusual logs."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from oracle import stationary as oracle
from suffice.automata.describe import describe_witness
from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import DUMMY, PAD, STOP
from suffice.data.episodes import Episodes
from suffice.domains.domain import Domain
from suffice.domains.exact.stationary import Stationary, stationary_rdp
from suffice.domains.registry import make
from suffice.domains.tasks.cheese import Cheese
from suffice.domains.tasks.enemy_corridor import EnemyCorridor
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import SufficeError
from suffice.evidence.events import Chosen, New, Paid
from suffice.lab.scoring import match_states
from suffice.learning.adact_h import Learned, Settings
from suffice.learning.stationary.labels import Labelling, PointerLog
from suffice.learning.stationary.learner import MOST_ROUNDS, learn_stationary
from suffice.learning.stationary.pointers import Round
from suffice.learning.stationary.reference import completed, last_observation
from suffice.learning.stationary.settling import _Pass
from support.censoring import censored
from support.samples import coins, everything, from_values, of_one_feature
from support.stationary_logs import CENSORED, DOMAINS, cut_off, log, one_round, random_log, spelled

# Laws


def heavier(seed: int) -> tuple[Episodes, Episodes]:
    """Return episodes with weights, and the same episodes repeated."""
    light, rng = replace(random_log(seed), weight=None), np.random.default_rng(seed)
    copies = np.concatenate([np.arange(light.n), rng.integers(light.n, size=2 * light.n)])
    return replace(light, weight=np.bincount(copies, minlength=light.n)), light.columns(copies)


@pytest.mark.parametrize("seed", range(12))
def test_round_treats_weights_like_repeated_episodes_in_first_choice(seed: int) -> None:
    """Checked for the number of episodes, the evidence of the tree, and the prior of targets."""
    light, heavy = (PointerLog.of(episodes) for episodes in heavier(seed))
    start = [one_round(steps, last_observation(steps), Settings(delta=0.2)).choices[0] for steps in (light, heavy)]
    assert start[0] == start[1]
    tau = one_round(light, last_observation(light), Settings(delta=0.2)).tau
    priors = [_Pass(steps, tau, {}).ln_prior(0, 0) for steps in (light, heavy)]
    assert priors[0] == pytest.approx(priors[1])


@pytest.mark.parametrize("strict", [False, True])
def test_learn_stationary_ignores_copies_of_episodes_as_evidence(strict: bool) -> None:
    """The log has no memory and few episodes of large weight: an episode on one side must not count as evidence."""
    n, horizon = 3000, 3
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows = np.concatenate([rng.integers(1, 3, (n, horizon)), rng.integers(2, 4, (n, horizon))], axis=1)
        columns, weight = np.unique(rows, axis=0, return_counts=True)
        action, observation = (np.full((horizon + 1, len(columns)), code) for code in (DUMMY, STOP))
        observation[:-1], action[1:] = columns[:, :horizon].T, columns[:, horizon:].T
        nothing = np.zeros_like(action)
        light = Episodes.from_steps(of_one_feature(2), action, observation, nothing, weight.astype(np.int64))
        assert learn_stationary(light, Settings(strict=strict)).rdp.n_states == 2


def test_completed_fills_in_most_frequent_target_of_symbol() -> None:
    tau = np.array([[1, -1, -1], [2, 0, -1], [2, 0, -1], [-1, 1, -1], [1, 1, -1]], np.int32)
    assert completed(tau).tolist() == [[1, 0, 0], [2, 0, 0], [2, 0, 0], [1, 1, 0], [1, 1, 0]]
    assert tau[3, 0] == -1


def test_learn_stationary_returns_same_bytes_with_any_number_of_threads() -> None:
    episodes = TMaze(length=3).simulate(400, 9, np.random.default_rng(3))
    first = everything(learn_stationary(episodes))
    assert (
        first == everything(learn_stationary(episodes)) == everything(learn_stationary(episodes, Settings(threads=4)))
    )


def test_learn_stationary_reports_progress() -> None:
    calls: list[tuple[int, int]] = []
    learn_stationary(log(1), progress=lambda done, of: calls.append((done, of)))
    assert calls[-1] == (MOST_ROUNDS, MOST_ROUNDS) and [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert {of for _, of in calls} == {MOST_ROUNDS} and len(calls) >= 3


def assert_decisions_explain_automaton(found: Learned) -> None:
    """Check that decisions agree with the transitions of the automaton."""
    rdp = found.rdp
    taken = rdp.taken()
    assert rdp.stationary and rdp.layers.tolist() == [rdp.n_states]
    ends = rdp.symbols[:, 1] == STOP
    decided = [(d.state, d.symbol) for d in found.decisions]
    assert len(set(decided)) == len(decided)
    assert set(decided) <= {(q, y) for q, y in np.argwhere(rdp.tau != UNSEEN).tolist() if not ends[y]}
    for layer, state, symbol, n, verdict in found.decisions:
        assert layer == 0 and rdp.tau[state, symbol] == verdict.target
        assert n > 0 and (verdict.distance is None) == (verdict.nearest is None)
        if verdict.distance is not None and verdict.promoted:
            assert verdict.distance >= verdict.threshold
    assert found.promise.tests >= 0 and found.promise.stationary
    assert found.candidates[0] >= len(found.decisions)
    assert (taken > 0).tolist() == (rdp.tau != UNSEEN).tolist()


@pytest.mark.parametrize("case", [*range(6), *DOMAINS], ids=str)
def test_learn_stationary_counts_all_steps_and_cuts_the_last(case: Any) -> None:
    episodes = log(case)
    found = learn_stationary(episodes, Settings(delta=0.3))
    assert_decisions_explain_automaton(found)
    rdp, own = found.rdp, found.rdp.tally(episodes)
    padding = (rdp.letters[:, 0] == PAD)[episodes.word[-1]]
    at_last = int((np.ones(episodes.n, np.int64) if episodes.weight is None else episodes.weight)[padding].sum())
    own.counts[-1, rdp.letters[:, 0] == PAD] += at_last  # ended episodes are not cut
    assert own.counts.tolist() == rdp.counts.tolist() and not own.lost.any()
    assert rdp.cut is not None and rdp.cut.sum() == episodes.total - at_last
    assert rdp.counts.sum() == episodes.total * episodes.horizon + at_last
    assert rdp.counts[0].sum() == episodes.total, "no transition leads back to the start"
    assert (found.rdp.run_all(episodes) != UNSEEN).all()


# Exact automata

EXACT = [
    ("t-maze", {"length": "4", "cue_visible": "true"}, 14, 1000),
    ("t-maze", {"length": "5"}, 15, 2000),
    ("t-maze", {"length": "4", "noise": "true"}, 10, 5000),
    ("cheese", {}, 15, 1000),
    ("mini-hall", {}, 15, 5000),
]


def exact(rdp: RDP, truth: Stationary) -> bool:
    return match_states(rdp, truth.rdp(rdp.horizon)).exact


def check_exact(name: str, options: dict[str, str], horizon: int, n: int, seed: int) -> None:
    domain = make(name, options)
    found, truth = (
        learn_stationary(domain.simulate(n, horizon, np.random.default_rng(seed))),
        stationary_rdp(domain.model(horizon)),
    )
    assert found.rdp.n_states == truth.n_states
    assert exact(found.rdp, truth)
    assert_decisions_explain_automaton(found)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("case", EXACT, ids=str)
def test_learn_stationary_finds_exact_automaton(case: tuple[str, dict[str, str], int, int], seed: int) -> None:
    check_exact(*case, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 10))
@pytest.mark.parametrize("case", EXACT, ids=str)
def test_learn_stationary_finds_exact_automaton_for_ten_seeds(
    case: tuple[str, dict[str, str], int, int], seed: int
) -> None:
    check_exact(*case, seed)


def test_learn_stationary_runs_rounds_on_sample_of_long_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more round uses all episodes; the decisions are those of this round."""
    domain, calls = TMaze(length=3), []  # type: Any, list[tuple[int, int]]
    episodes = domain.simulate(3000, 9, np.random.default_rng(0))
    monkeypatch.setattr("suffice.learning.stationary.learner.LABEL_SAMPLE", 1000)
    found = learn_stationary(episodes, progress=lambda done, of: calls.append((done, of)))
    assert exact(found.rdp, stationary_rdp(domain.model(9)))
    assert calls[-1] == (MOST_ROUNDS + 1, MOST_ROUNDS + 1)
    assert found.rdp.counts[0].sum() == 3000
    first = next(d for d in found.decisions if d.state == 0)
    assert first.n == found.rdp.taken()[0, first.symbol]


# False splits


def false_splits(found: Learned, truth: Stationary) -> int:
    """Count the states whose founding history leads to the same true state as that of another state."""
    true, rdp = truth.rdp(found.rdp.horizon), found.rdp
    histories = rdp.typical_histories()
    founders = [(d.state, d.symbol) for d in found.decisions if d.placement.promoted]
    meant = Counter(true.run((*histories[q], rdp.symbol(y))) for q, y in founders)
    assert UNSEEN not in meant
    return sum(n - 1 for n in meant.values())


@pytest.mark.parametrize(
    ("domain", "n", "horizon", "repeats"),
    [(TMaze(length=3, cue_visible=True), 400, 9, 25), (EnemyCorridor(columns=2), 300, 8, 25)],
    ids=str,
)
def test_learn_stationary_false_splits_stay_below_level(domain: Domain, n: int, horizon: int, repeats: int) -> None:
    """At most a share δ of the tests may err."""
    truth, wrong, tests, right = stationary_rdp(domain.model(horizon)), 0, 0, 0
    for seed in range(repeats):
        found = learn_stationary(domain.simulate(n, horizon, np.random.default_rng(seed)), Settings(delta=0.05))
        wrong, tests = wrong + false_splits(found, truth), tests + found.promise.tests
        right += exact(found.rdp, truth)
        assert found.promise.split == pytest.approx(0.05 * found.promise.tests)
    assert right > repeats / 2, "the automaton must be right for most seeds"
    assert wrong <= binom.ppf(0.999, tests, 0.05)


def test_learn_stationary_rarely_splits_coins() -> None:
    """Fair coins have one state besides the first."""
    wrong = tests = 0
    for seed in range(150):
        found = learn_stationary(coins(np.random.default_rng(seed), 5, 60), Settings(delta=0.05))
        wrong, tests = wrong + found.rdp.n_states - 2, tests + found.promise.tests
    assert tests >= 150 * 5
    assert wrong <= binom.ppf(0.999, tests, 0.05)


@pytest.mark.parametrize("seed", [103, 104])
def test_learn_stationary_keeps_decided_transitions_of_large_logs(seed: int) -> None:
    """More episodes do not merge states: assignment by likelihood merged some that tests had separated."""
    episodes = TMaze().simulate(300_000, 5, np.random.default_rng(seed))
    few = learn_stationary(episodes.columns(np.arange(100_000)))
    assert learn_stationary(episodes).rdp.n_states >= few.rdp.n_states == 11


# Unusual logs


def test_learn_stationary_refuses_horizon_of_one() -> None:
    with pytest.raises(
        SufficeError, match=r"^a stationary automaton needs episodes of at least two decisions, and these have 1\."
    ):
        learn_stationary(coins(np.random.default_rng(0), 1, 10))
    assert learn_stationary(coins(np.random.default_rng(0), 2, 10)).rdp.horizon == 2


def test_learn_stationary_refuses_too_little_memory() -> None:
    episodes = coins(np.random.default_rng(0), 5, 100)
    needed = 16 * 6 * 100
    with pytest.raises(SufficeError, match=r"Raise memory\."):
        learn_stationary(episodes, Settings(memory=needed - 1))
    assert learn_stationary(episodes, Settings(memory=100 * needed)).rdp.stationary


def test_learn_stationary_never_promotes_candidates_below_the_cut() -> None:
    """Rare candidates join the nearest state although they are distinct from it."""
    episodes = TMaze(length=3).simulate(300, 9, np.random.default_rng(0))
    found = learn_stationary(episodes, Settings(delta=0.05, cut=0.1))
    assert all(d.n >= 30 for d in found.decisions if d.placement.promoted and d.placement.distance is not None)
    assert found.rdp.n_states < learn_stationary(episodes, Settings(delta=0.05)).rdp.n_states
    forced = sum(d.n for d in found.decisions if d.placement.forced)
    assert forced > 0 and found.forced_share == pytest.approx(forced / sum(d.n for d in found.decisions))


def test_learn_stationary_divides_confidence_among_tests() -> None:
    found = learn_stationary(TMaze(length=3).simulate(800, 9, np.random.default_rng(0)), Settings(confidence=0.9))
    assert found.promise.split == pytest.approx(
        sum(0.1 * 6 / math.pi**2 / (i + 1) ** 2 for i in range(found.promise.tests))
    )
    assert found.promise.split < 0.1
    assert found.deltas == (pytest.approx(0.6 / math.pi**2),)
    assert exact(found.rdp, stationary_rdp(TMaze(length=3).model(9)))


def test_learn_stationary_end_is_last_state_and_absorbing() -> None:
    for seed in (1, 3, 5):
        episodes = random_log(seed)
        rdp = learn_stationary(episodes, Settings(delta=0.3)).rdp
        (pad,) = np.flatnonzero((rdp.symbols == (PAD, STOP)).all(axis=1))
        end = rdp.n_states - 1
        assert rdp.tau[end, pad] == end and (rdp.tau[end] != UNSEEN).sum() == 1
        leads = np.argwhere(rdp.tau == end).tolist()
        assert leads and all(rdp.symbols[y, 1] == STOP for _, y in leads)
        over = rdp.run_all(episodes) == end
        ended = np.cumsum(episodes.letters[episodes.word, 1] == STOP, axis=0)[:-1] > 0
        assert (over[1:] == ended).all()


def test_learn_stationary_has_no_end_without_early_ends() -> None:
    rdp = learn_stationary(coins(np.random.default_rng(0), 4, 50)).rdp
    (stop,) = {int(o) for o in rdp.symbols[:, 1]} & {STOP}
    assert (rdp.tau[:, rdp.symbols[:, 1] == stop] == UNSEEN).all()
    assert rdp.n_states == 2


def counting(lengths: list[int]) -> Episodes:
    """Make episodes of some lengths with observations 0, 1, 0, … and reward 1 with each 1."""
    horizon = max(lengths)
    episodes = []
    for n in lengths:
        steps = [(None, (0,), 0.0), *(("a", (t % 2,), float(t % 2)) for t in range(1, n)), ("a", None, 0.0)]
        episodes.append([*steps, *[("pad", None, 0.0)] * (horizon - n)])
    return from_values(episodes)


def test_learn_stationary_accepts_episodes_of_different_lengths() -> None:
    found = learn_stationary(counting(list(range(1, 40))), Settings(delta=0.05))
    assert_decisions_explain_automaton(found)
    rdp = found.rdp
    assert rdp.horizon == 39 and rdp.n_states == 4, "the start, even, odd, and over"
    seen = rdp.run(((None, (0,)), ("a", (1,)), ("a", (0,))))
    assert seen == rdp.run(((None, (0,)),)) and seen != rdp.run(((None, (0,)), ("a", (1,))))


@pytest.mark.parametrize("case", CENSORED, ids=str)
def test_learn_stationary_counts_observed_steps_only(case: Any) -> None:
    episodes = log(case)
    assert episodes.length is not None and episodes.censored
    rdp = learn_stationary(episodes, Settings(delta=0.3)).rdp
    weight = np.ones(episodes.n, np.int64) if episodes.weight is None else episodes.weight
    over = (rdp.letters[:, 0] == PAD)[episodes.word[-1]] & (episodes.length == episodes.horizon + 1)
    assert rdp.cut is not None and rdp.cut.sum() == weight[~over].sum(), "each is cut once, unless it ended"
    assert rdp.counts.sum() == (weight * (episodes.length - 1 + over)).sum()


@pytest.mark.parametrize("seed", range(3))
def test_learn_stationary_finds_exact_automaton_of_truncated_episodes(seed: int) -> None:
    """Episodes of different lengths, all cut off by a clock: no end of an episode is learned from that."""
    domain, rng = TMaze(length=4, cue_visible=True), np.random.default_rng(seed)
    episodes = cut_off(domain.simulate(3000, 14, rng), rng)
    found, truth = learn_stationary(episodes), stationary_rdp(domain.model(14))
    assert episodes.censored and found.rdp.n_states == truth.n_states and exact(found.rdp, truth)
    assert_decisions_explain_automaton(found)


def test_learn_stationary_of_one_episode_has_one_inner_state() -> None:
    """A single episode has no evidence for more states."""
    for length in (2, 5):
        rdp = learn_stationary(counting([length])).rdp
        assert rdp.n_states == 2 and rdp.counts.sum() == length
    assert learn_stationary(counting([2, 5])).rdp.n_states == 3


def switch(rng: np.random.Generator, n: int, horizon: int, acts: Any) -> Episodes:
    """Draw episodes with a light, at first off: action 1 turns it on, 0 off; only the reward, 1 if on, shows it."""
    action, observation, reward = (np.zeros((horizon + 1, n), np.int64) for _ in range(3))
    action[0], observation[:-1], on = DUMMY, 1, np.zeros(n, np.int64)
    for t in range(1, horizon + 1):
        chosen = acts(rng, on, t)
        action[t], reward[t], on = chosen + 2, on, chosen
    return Episodes.from_steps(of_one_feature(1), action, observation, reward)


def test_learn_stationary_has_no_transition_for_untaken_actions() -> None:
    """The behaviour policy never turns the light off."""

    def acts(rng: np.random.Generator, on: Any, t: int) -> Any:
        return np.where(on == 1, 1, rng.random(len(on)) < 0.3)

    found = learn_stationary(switch(np.random.default_rng(0), 400, 8, acts))
    rdp = found.rdp
    off = rdp.run(((None, (0,)),))
    on = rdp.run(((None, (0,)), (1, (0,))))
    assert rdp.n_states == 3 and off != on
    assert rdp.run(((None, (0,)), (1, (0,)), (1, (0,)))) == on
    assert rdp.run(((None, (0,)), (0, (0,)))) == off
    assert rdp.run(((None, (0,)), (1, (0,)), (0, (0,)))) == UNSEEN
    assert_decisions_explain_automaton(found)


def test_learn_stationary_reports_depth_needed() -> None:
    """A light shows in the next reward, the cue of a maze only at its end, and coins in nothing."""

    def acts(rng: np.random.Generator, on: Any, t: int) -> Any:
        return rng.integers(2, size=len(on))

    light = learn_stationary(switch(np.random.default_rng(0), 400, 8, acts)).needed
    assert light is not None and light.layers == (0,) and light.sentence.endswith("the next step (1).")
    maze = learn_stationary(TMaze(length=6).simulate(2000, 14, np.random.default_rng(0))).needed
    assert maze is not None and maze.layers == (3,) and "later steps (" in maze.sentence
    nothing = learn_stationary(coins(np.random.default_rng(0), 5, 60)).needed
    assert nothing is not None and nothing.layers == (-1,)
    assert nothing.sentence == "No states had to be distinguished."


def test_learn_stationary_distinguishes_states_by_chosen_actions() -> None:
    """The first observation determines the expert's action at every step; nothing else differs."""
    rng = np.random.default_rng(0)
    n, horizon = 200, 6
    sight = rng.integers(2, size=n)
    action = np.tile(sight + 2, (horizon + 1, 1))
    observation = np.full((horizon + 1, n), 3)
    action[0], observation[0], observation[-1] = DUMMY, sight + 1, STOP
    episodes = Episodes.from_steps(of_one_feature(3), action, observation, np.zeros_like(action))
    found = learn_stationary(episodes)
    rdp = found.rdp
    assert rdp.n_states == 3
    for a in (0, 1):
        here = rdp.run(((None, (a,)),))
        assert here == rdp.run(((None, (a,)), (a, (2,)))) != rdp.run(((None, (1 - a,)),))
    promoted = [d.placement for d in found.decisions if d.placement.promoted]
    assert any("is chosen" in describe_witness(placement.witness, found.rdp.alphabet) for placement in promoted)


def test_learn_stationary_ignores_memory_in_rewards_alone() -> None:
    """The first reward determines all others, but histories contain no rewards: one state has both."""
    rng = np.random.default_rng(0)
    n, horizon = 300, 6
    action = np.full((horizon + 1, n), 2)
    observation = np.ones_like(action)
    action[0], observation[-1] = DUMMY, STOP
    reward = np.tile(rng.integers(2, size=n), (horizon + 1, 1))
    reward[0] = 0
    found = learn_stationary(Episodes.from_steps(of_one_feature(1), action, observation, reward))
    assert_decisions_explain_automaton(found)
    here = found.rdp.run(((None, (0,)), (0, (0,))))
    assert {r for _, r, _ in found.rdp.outputs(here, 0)} == {0.0, 1.0}


def number_of(steps: PointerLog, event: Any) -> int:
    """Return the number of a choice, of a pair of action and reward, or of a letter."""
    letters = steps.episodes.letters.tolist()
    if isinstance(event, int):
        return int(steps.events[0, next(x for x, letter in enumerate(letters) if letter[0] == event)])
    if len(event) == 2:
        return int(steps.events[1, next(x for x, (a, _, r) in enumerate(letters) if (a, r) == event)])
    return int(steps.events[2, letters.index(list(event))])


def test_labelling_counts_unseen_events_in_last_cell() -> None:
    """The last cell of a table counts unseen events; unseen actions are not counted."""
    steps = PointerLog.of(log(3))
    assert steps.outcome(-1) == New()
    labelling = Labelling(steps, last_observation(steps))
    tables, by_hand = labelling.tables, oracle.Labels(spelled(3), oracle.last_observation(spelled(3)))
    for m, kind in [table for table in by_hand.tables if isinstance(table[0], int)]:
        event = next(event for event in by_hand.tables[m, kind] if event is not None)
        number = number_of(steps, event)
        (g,) = np.flatnonzero((tables.nodes == m) & (tables.kinds == steps.kind_of[number]))
        assert tables.begin[g + 1] - tables.begin[g] == len(by_hand.tables[m, kind])
        assert tables.event_of[tables.begin[g + 1] - 1] == -1
    in_reference = sum(isinstance(label, int) for label, _ in by_hand.tables)
    assert len(tables.nodes) == in_reference
    assert len(labelling.tree_tables.nodes) == len(by_hand.tables) - in_reference


def test_pointer_log_last_step_has_only_choice_and_reward() -> None:
    """Its observation is o_⊥, both at the end of an episode and where the log was cut."""
    episodes = Cheese().simulate(30, 5, np.random.default_rng(0))
    steps = PointerLog.of(episodes)
    for e, x in enumerate(steps.word[:, -1].tolist()):
        a, _, r = episodes.letters[episodes.word[-1, e]].tolist()
        choice, paid, shown = steps.events[:, x].tolist()
        assert shown == UNSEEN and x >= len(episodes.letters)
        if a != PAD:
            assert steps.outcome(choice) == Chosen(a)
            assert steps.outcome(paid) == Paid(a, r)
    assert (steps.word[:, :-1] == episodes.word[:-1].T).all()


def test_round_run_moves_every_pointer_to_the_end() -> None:
    steps = PointerLog.of(log(6))
    done = Round(steps, Labelling(steps, last_observation(steps)), lambda i: 0.3, 0.0, {})
    done.run()
    assert (done._at == steps.horizon).all() and not any(part.any() for part in done._room[:4]), "tables are cleared"


# Episodes that were cut off


@pytest.mark.parametrize(("name", "horizon"), [("cheese", 10), ("corridor", 8)])
def test_learn_stationary_finds_the_same_states_in_episodes_that_were_cut_off(name: str, horizon: int) -> None:
    """They have fewer steps, so they can show fewer states, but none that is not there; as ended, they have ends."""
    whole = make(name).simulate(2000, horizon, np.random.default_rng(1))
    some = censored(whole, np.random.default_rng(2), 0.08)
    found, ended = learn_stationary(some).rdp, learn_stationary(some.ended()).rdp
    states = learn_stationary(whole).rdp.n_states
    assert states - 2 <= found.n_states <= states
    ends = found.letters[:, 1] == STOP
    assert found.counts[:, ends].sum() == 0 < ended.counts[:, ends].sum()


def test_count_steps_counts_observed_steps_only() -> None:
    """The literal version: each episode is followed step by step up to its last observed one."""
    log = censored(random_log(3), np.random.default_rng(0), 0.3)
    assert log.length is not None and log.censored
    rdp = learn_stationary(log).rdp
    counts, cut = np.zeros_like(rdp.counts), np.zeros_like(rdp.counts)
    of_letter = rdp.symbol_of_letter()
    for i in range(log.n):
        state, weight = 0, 1 if log.weight is None else int(log.weight[i])
        for t in range(int(log.length[i])):
            x = int(log.word[t, i])
            last = t == log.length[i] - 1 and log.letters[x, 0] != PAD
            (cut if last else counts)[state, x] += weight
            if t < log.length[i] - 1:
                state = int(rdp.tau[state, of_letter[x]])
    assert rdp.cut is not None
    assert np.array_equal(rdp.counts, counts) and np.array_equal(rdp.cut, cut)


def test_learn_stationary_is_the_same_for_lengths_that_leave_nothing_out() -> None:
    log = random_log(5)
    same = replace(log, length=np.full(log.n, log.horizon + 1, np.int32))
    one, other = learn_stationary(log).rdp, learn_stationary(same).rdp
    assert np.array_equal(one.tau, other.tau) and np.array_equal(one.counts, other.counts)


def test_learn_stationary_needs_more_evidence_from_groups() -> None:
    """All episodes of a person are the same: the worst case, in which the correction is not complete (2 states)."""
    few = coins(np.random.default_rng(0), 3, 30)
    copies = np.repeat(np.arange(few.n), 40)
    log = few.columns(copies)
    grouped = replace(log, group=copies.astype(np.uint64))
    assert learn_stationary(grouped).rdp.n_states <= learn_stationary(log).rdp.n_states / 3
    assert learn_stationary(grouped).settings.dependence == 40
