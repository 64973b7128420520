"""The stationary learner: invariances, exact automata, few false splits, and unusual logs."""

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
from suffice.learning.stationary.labels import Labelling, PointerLog, completed, last_observation
from suffice.learning.stationary.learner import MOST_ROUNDS, learn_stationary
from suffice.learning.stationary.pointers import Round
from suffice.learning.stationary.settling import _Pass
from support.samples import coins, everything, from_values, of_one_feature
from support.stationary_logs import DOMAINS, log, one_round, random_log, spelled

# Laws


def heavier(seed: int) -> tuple[Episodes, Episodes]:
    """Episodes with weights, and all of them one by one."""
    light, rng = replace(random_log(seed), weight=None), np.random.default_rng(seed)
    copies = np.concatenate([np.arange(light.n), rng.integers(light.n, size=2 * light.n)])
    return replace(light, weight=np.bincount(copies, minlength=light.n)), light.columns(copies)


@pytest.mark.parametrize("seed", range(12))
def test_where_sides_do_not_matter_a_weight_is_a_repetition(seed: int) -> None:
    """How many episodes there are, what the tree says of them by steps, and what is probable beforehand."""
    light, heavy = (PointerLog.of(episodes) for episodes in heavier(seed))
    start = [one_round(steps, last_observation(steps), Settings(delta=0.2)).choices[0] for steps in (light, heavy)]
    assert start[0] == start[1]
    tau = one_round(light, last_observation(light), Settings(delta=0.2)).tau
    priors = [_Pass(steps, tau)._ln_prior(0, 0, [0]) for steps in (light, heavy)]
    assert priors[0] == pytest.approx(priors[1])


@pytest.mark.parametrize("strict", [False, True])
def test_copies_of_an_episode_are_no_evidence(strict: bool) -> None:
    """Without memory, in a few columns that stand for thousands: all of one column on one side would look like more."""
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


def test_a_transition_that_is_not_known_leads_to_where_its_symbol_leads_from_most_states() -> None:
    tau = np.array([[1, -1, -1], [2, 0, -1], [2, 0, -1], [-1, 1, -1], [1, 1, -1]], np.int32)
    assert completed(tau).tolist() == [[1, 0, 0], [2, 0, 0], [2, 0, 0], [1, 1, 0], [1, 1, 0]]
    assert tau[3, 0] == -1


def test_the_same_log_gives_the_same_bytes_whatever_the_threads() -> None:
    episodes = TMaze(length=3).simulate(400, 9, np.random.default_rng(3))
    first = everything(learn_stationary(episodes))
    assert (
        first == everything(learn_stationary(episodes)) == everything(learn_stationary(episodes, Settings(threads=4)))
    )


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    learn_stationary(log(1), progress=lambda done, of: told.append((done, of)))
    assert told[-1] == (MOST_ROUNDS, MOST_ROUNDS) and [done for done, _ in told] == sorted(done for done, _ in told)
    assert {of for _, of in told} == {MOST_ROUNDS} and len(told) >= 3


def learned_by_decisions(found: Learned) -> None:
    """What is said of decisions is what the automaton does."""
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
def test_counts_are_of_all_steps_but_the_last(case: Any) -> None:
    episodes = log(case)
    found = learn_stationary(episodes, Settings(delta=0.3))
    learned_by_decisions(found)
    rdp, own = found.rdp, found.rdp.tally(episodes)
    padding = (rdp.letters[:, 0] == PAD)[episodes.word[-1]]
    at_last = int((np.ones(episodes.n, np.int64) if episodes.weight is None else episodes.weight)[padding].sum())
    own.counts[-1, rdp.letters[:, 0] == PAD] += at_last  # what is over is not cut
    assert own.counts.tolist() == rdp.counts.tolist() and not own.lost.any()
    assert rdp.cut is not None and rdp.cut.sum() == episodes.total - at_last
    assert rdp.counts.sum() == episodes.total * episodes.horizon + at_last
    assert rdp.counts[0].sum() == episodes.total, "nothing leads back to the start"
    assert (found.rdp.run_all(episodes) != UNSEEN).all()


# Automata that are right

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
    learned_by_decisions(found)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("case", EXACT, ids=str)
def test_the_automaton_is_right(case: tuple[str, dict[str, str], int, int], seed: int) -> None:
    check_exact(*case, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 10))
@pytest.mark.parametrize("case", EXACT, ids=str)
def test_the_automaton_is_right_for_ten_seeds(case: tuple[str, dict[str, str], int, int], seed: int) -> None:
    check_exact(*case, seed)


def test_a_long_log_is_first_tried_on_a_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then there is one more round, for all episodes, of which decisions tell."""
    domain, told = TMaze(length=3), []  # type: Any, list[tuple[int, int]]
    episodes = domain.simulate(3000, 9, np.random.default_rng(0))
    monkeypatch.setattr("suffice.learning.stationary.learner.LABEL_SAMPLE", 1000)
    found = learn_stationary(episodes, progress=lambda done, of: told.append((done, of)))
    assert exact(found.rdp, stationary_rdp(domain.model(9)))
    assert told[-1] == (MOST_ROUNDS + 1, MOST_ROUNDS + 1)
    assert found.rdp.counts[0].sum() == 3000
    first = next(d for d in found.decisions if d.state == 0)
    assert first.n == found.rdp.taken()[0, first.symbol]


# False splits


def false_splits(found: Learned, truth: Stationary) -> int:
    """States whose founder leads where the founder of another led, by the true automaton."""
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
def test_states_are_rarely_split_where_the_truth_has_one(domain: Domain, n: int, horizon: int, repeats: int) -> None:
    """Of tests at δ a share of at most δ errs."""
    truth, wrong, tests, right = stationary_rdp(domain.model(horizon)), 0, 0, 0
    for seed in range(repeats):
        found = learn_stationary(domain.simulate(n, horizon, np.random.default_rng(seed)), Settings(delta=0.05))
        wrong, tests = wrong + false_splits(found, truth), tests + found.promise.tests
        right += exact(found.rdp, truth)
        assert found.promise.split == pytest.approx(0.05 * found.promise.tests)
    assert right > repeats / 2, "the automaton is mostly found, so that this says something"
    assert wrong <= binom.ppf(0.999, tests, 0.05)


def test_what_has_no_memory_is_rarely_split() -> None:
    """Fair coins: one state besides the first, whatever was seen before."""
    wrong = tests = 0
    for seed in range(150):
        found = learn_stationary(coins(np.random.default_rng(seed), 5, 60), Settings(delta=0.05))
        wrong, tests = wrong + found.rdp.n_states - 2, tests + found.promise.tests
    assert tests >= 150 * 5
    assert wrong <= binom.ppf(0.999, tests, 0.05)


# Unusual logs


def test_a_horizon_of_one_is_refused() -> None:
    with pytest.raises(SufficeError, match="at least two decisions; leave --stationary out"):
        learn_stationary(coins(np.random.default_rng(0), 1, 10))
    assert learn_stationary(coins(np.random.default_rng(0), 2, 10)).rdp.horizon == 2


def test_where_memory_is_short_that_is_said() -> None:
    episodes = coins(np.random.default_rng(0), 5, 100)
    needed = 16 * 6 * 100
    with pytest.raises(SufficeError, match="raise --memory"):
        learn_stationary(episodes, Settings(memory=needed - 1))
    with pytest.raises(SufficeError, match="follow each other in too many ways"):
        learn_stationary(episodes, Settings(memory=needed))
    assert learn_stationary(episodes, Settings(memory=100 * needed)).rdp.stationary


def test_rare_candidates_found_no_states() -> None:
    """They join the nearest state although they are distinct from it."""
    episodes = TMaze(length=3).simulate(300, 9, np.random.default_rng(0))
    found = learn_stationary(episodes, Settings(delta=0.05, cut=0.1))
    assert all(d.n >= 30 for d in found.decisions if d.placement.promoted and d.placement.distance is not None)
    assert found.rdp.n_states < learn_stationary(episodes, Settings(delta=0.05)).rdp.n_states
    forced = sum(d.n for d in found.decisions if d.placement.forced)
    assert forced > 0 and found.forced_share == pytest.approx(forced / sum(d.n for d in found.decisions))


def test_with_a_confidence_tests_share_what_it_leaves_to_chance() -> None:
    found = learn_stationary(TMaze(length=3).simulate(800, 9, np.random.default_rng(0)), Settings(confidence=0.9))
    assert found.promise.split == pytest.approx(
        sum(0.1 * 6 / math.pi**2 / (i + 1) ** 2 for i in range(found.promise.tests))
    )
    assert found.promise.split < 0.1
    assert found.deltas == (pytest.approx(0.6 / math.pi**2),)
    assert exact(found.rdp, stationary_rdp(TMaze(length=3).model(9)))


def test_the_end_comes_last_and_stays() -> None:
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


def test_without_early_ends_there_is_no_end() -> None:
    rdp = learn_stationary(coins(np.random.default_rng(0), 4, 50)).rdp
    (stop,) = {int(o) for o in rdp.symbols[:, 1]} & {STOP}
    assert (rdp.tau[:, rdp.symbols[:, 1] == stop] == UNSEEN).all()
    assert rdp.n_states == 2


def counting(lengths: list[int]) -> Episodes:
    """Episodes of some lengths; each shows 0, then 1, then 0 again, and pays for a 1."""
    horizon = max(lengths)
    episodes = []
    for n in lengths:
        steps = [(None, (0,), 0.0), *(("a", (t % 2,), float(t % 2)) for t in range(1, n)), ("a", None, 0.0)]
        episodes.append([*steps, *[("pad", None, 0.0)] * (horizon - n)])
    return from_values(episodes)


def test_every_episode_may_have_a_length_of_its_own() -> None:
    found = learn_stationary(counting(list(range(1, 40))), Settings(delta=0.05))
    learned_by_decisions(found)
    rdp = found.rdp
    assert rdp.horizon == 39 and rdp.n_states == 4, "the start, even, odd, and over"
    seen = rdp.run(((None, (0,)), ("a", (1,)), ("a", (0,))))
    assert seen == rdp.run(((None, (0,)),)) and seen != rdp.run(((None, (0,)), ("a", (1,))))


def test_one_episode_has_one_state_besides_the_first_and_the_end() -> None:
    """Whatever it shows is no evidence against that."""
    for length in (2, 5):
        rdp = learn_stationary(counting([length])).rdp
        assert rdp.n_states == 2 and rdp.counts.sum() == length
    assert learn_stationary(counting([2, 5])).rdp.n_states == 3


def switch(rng: np.random.Generator, n: int, horizon: int, acts: Any) -> Episodes:
    """A light that is off at first: 1 turns it on, 0 off, and it pays 1 to have it on; nothing but rewards shows it."""
    action, observation, reward = (np.zeros((horizon + 1, n), np.int64) for _ in range(3))
    action[0], observation[:-1], on = DUMMY, 1, np.zeros(n, np.int64)
    for t in range(1, horizon + 1):
        chosen = acts(rng, on, t)
        action[t], reward[t], on = chosen + 2, on, chosen
    return Episodes.from_steps(of_one_feature(1), action, observation, reward)


def test_an_action_that_was_never_taken_in_a_state_is_no_transition_of_it() -> None:
    """Who is on stays on; who is off may turn it on."""

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
    learned_by_decisions(found)


def test_how_far_one_had_to_look_is_told() -> None:
    """A light shows in the next reward; a cue of a maze shows only where it ends; coins show nothing."""

    def acts(rng: np.random.Generator, on: Any, t: int) -> Any:
        return rng.integers(2, size=len(on))

    light = learn_stationary(switch(np.random.default_rng(0), 400, 8, acts)).needed
    assert light is not None and light.layers == (0,) and light.sentence.endswith("the next step (1).")
    maze = learn_stationary(TMaze(length=6).simulate(2000, 14, np.random.default_rng(0))).needed
    assert maze is not None and maze.layers == (3,) and "what they come to later (" in maze.sentence
    nothing = learn_stationary(coins(np.random.default_rng(0), 5, 60)).needed
    assert nothing is not None and nothing.layers == (-1,) and nothing.sentence.endswith("by nothing.")


def test_what_an_expert_chooses_tells_states_apart() -> None:
    """The first sight says what the expert will do all along; nothing else differs."""
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
    told = [describe_witness(d.placement.witness, found.rdp.alphabet) for d in found.decisions if d.placement.promoted]
    assert any("is chosen" in text for text in told)


def test_a_coin_that_rewards_show_alone_is_no_memory_of_symbols() -> None:
    """The first reward says what all others will be, but histories have none: one state pays both."""
    rng = np.random.default_rng(0)
    n, horizon = 300, 6
    action = np.full((horizon + 1, n), 2)
    observation = np.ones_like(action)
    action[0], observation[-1] = DUMMY, STOP
    reward = np.tile(rng.integers(2, size=n), (horizon + 1, 1))
    reward[0] = 0
    found = learn_stationary(Episodes.from_steps(of_one_feature(1), action, observation, reward))
    learned_by_decisions(found)
    here = found.rdp.run(((None, (0,)), (0, (0,))))
    assert {r for _, r, _ in found.rdp.outputs(here, 0)} == {0.0, 1.0}


def number_of(steps: PointerLog, event: Any) -> int:
    """Choices, pairs of an action and a reward, and letters as they are numbered."""
    letters = steps.episodes.letters.tolist()
    if isinstance(event, int):
        return int(steps.events[0, next(x for x, letter in enumerate(letters) if letter[0] == event)])
    if len(event) == 2:
        return int(steps.events[1, next(x for x, (a, _, r) in enumerate(letters) if (a, r) == event)])
    return int(steps.events[2, letters.index(list(event))])


def test_a_label_counts_what_it_never_saw_by_itself() -> None:
    """The last cell of a table, and nothing where even the action is new."""
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


def test_the_end_of_the_log_says_what_an_action_paid_and_no_more() -> None:
    """Whether its observation is o_⊥ for an end or for the cut is not known."""
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


def test_a_round_without_candidates_left_leaves_every_pointer_at_the_end() -> None:
    steps = PointerLog.of(log(6))
    done = Round(steps, Labelling(steps, last_observation(steps)), lambda i: 0.3, 0.0, {})
    done.run()
    assert (done._at == steps.horizon).all() and not done._scratch.twice.any(), "scratch is clean"
