"""`adact_h` agrees with the literal learner and with the minimal automaton of T-maze, and reports its guarantee."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

from oracle import random_episodes
from suffice.automata.compare import compare
from suffice.automata.describe import describe_witness
from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import DUMMY, PAD, STOP
from suffice.data.episodes import Episodes
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import SufficeError
from suffice.evidence.bounds import BOUNDS, FISHER_EXACT, PAPER
from suffice.evidence.prefix_sketch import PrefixSketches
from suffice.learning.adact_h import Settings, adact_h
from support.literal_learner import PAIRS, SHAPES, assert_agreement, random_log
from support.samples import coins, everything, from_values, languages, settings, starts, to_values

# Agreement with the oracle

SEEDS = 2


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("name", PAIRS)
def test_adact_h_agrees_with_literal_learner(name: str, bound: str, shape: str) -> None:
    for seed in range(SEEDS):
        assert_agreement(random_log(name, shape, seed), name, bound, SHAPES[shape])


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("name", ["1,1,1", "conjunctions", "prefixes"])
def test_adact_h_with_merged_terminated_histories_agrees_with_literal_learner(name: str, bound: str) -> None:
    """One state of each layer holds all terminated histories, and no others."""
    shape = next(shape for shape, options in SHAPES.items() if "early_end" in options)
    for seed in range(4):
        rdp = assert_agreement(random_log(name, shape, seed), name, bound, SHAPES[shape], ended_apart=True).rdp
        ends, layer = rdp.symbols[:, 1] == STOP, rdp.layer_of()
        for t in range(1, rdp.horizon):
            over = {int(q) for q in rdp.tau[layer == t][:, ends].ravel() if q != UNSEEN}
            running = {int(q) for q in rdp.tau[layer == t][:, ~ends].ravel() if q != UNSEEN}
            assert len(over) <= 1 and not over & running


@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("name", PAIRS)
def test_adact_h_agrees_with_literal_learner_on_many_logs(name: str, bound: str, shape: str) -> None:
    for seed in range(100, 108):
        assert_agreement(random_log(name, shape, seed, size=2), name, bound, SHAPES[shape])


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("name", PAIRS)
def test_random_logs_lead_to_splits_and_merges(name: str, bound: str) -> None:
    """Check that the agreement tests above are not vacuous."""
    placements = []
    for shape, options in SHAPES.items():
        how = Settings(
            PAIRS[name][1], BOUNDS[bound], options["delta"], options.get("confidence"), options.get("cut", 0)
        )
        for seed in range(SEEDS):
            decisions = adact_h(random_log(name, shape, seed), how).decisions
            placements += [d.placement for d in decisions if d.placement.threshold is not None]
    assert sum(p.promoted for p in placements) >= 5
    assert sum(not p.promoted for p in placements) >= 20
    assert any(p.nearest != 0 for p in placements)  # not only the first state of a layer
    assert any(p.forced for p in placements)


@pytest.mark.parametrize("name", ["prefixes", "conjunctions", "1,2,2"])
def test_adact_h_agrees_with_literal_learner_at_horizon_zero(name: str) -> None:
    episodes = random_episodes(np.random.default_rng(1), 0, 2, 2, 2, 2, 20)
    learned = assert_agreement(episodes, name, "fisher", {"delta": 0.1})
    assert learned.rdp.layers.tolist() == [1, 1]


# T-maze


def minimal_t_maze(horizon: int) -> RDP:
    """Make the minimal automaton of T-maze from its definition: reachable (goal, cell) per layer, merged from the last
    layer backwards where action → (observation, reward, successor's class) is the same.
    """
    length, alphabet = horizon - 1, TMaze().model(horizon).alphabet
    seen = {bits: alphabet.observations.index(bits) + 1 for bits in alphabet.observations}
    names = {a: i + 2 for i, a in enumerate(alphabet.actions)}

    def moves(state: Any, t: int) -> list[tuple[tuple[int, int], float, Any]]:
        """List (ao, r, next) of step t."""
        if state == "start":
            return [((DUMMY, seen[0, 1, 1]), 0, ("N", 0)), ((DUMMY, seen[1, 1, 0]), 0, ("S", 0))]
        if state == "over":
            return [((PAD, STOP), 0, "over")]
        goal, cell = state
        found = []
        for a in "ENSW":
            if cell == length and a in "NS":
                found.append(((names[a], STOP), 4 if a == goal else -1, "over"))
                continue
            to = min(max(cell + {"E": 1, "W": -1}.get(a, 0), 0), length)
            o = STOP if t == horizon else seen[(0, 1, 0) if to == length else (1, 0, 1)]
            found.append(((names[a], o), -1 if to == cell else 0, (goal, to)))
        return found

    reachable: list[set[Any]] = [{"start"}]
    for t in range(horizon + 1):
        reachable.append({following for state in reachable[t] for _, _, following in moves(state, t)})
    classes: dict[int, dict[Any, int]] = {horizon + 1: dict.fromkeys(reachable[-1], 0)}
    tables: dict[int, dict[Any, int]] = {}
    for t in range(horizon, -1, -1):
        table: dict[Any, int] = {}
        behaviour = {s: frozenset((ao, r, classes[t + 1][to]) for ao, r, to in moves(s, t)) for s in reachable[t]}
        classes[t] = {s: table.setdefault(behaviour[s], len(table)) for s in sorted(reachable[t], key=str)}
        tables[t] = table
    layers = np.array([*(len(tables[t]) for t in range(horizon + 1)), 1])
    offsets = np.concatenate([[0], np.cumsum(layers)])
    steps = sorted({(*ao, alphabet.rewards.index(r)) for t in tables for b in tables[t] for ao, r, _ in b})
    symbols = sorted({step[:2] for step in steps})
    tau = np.full((int(layers.sum()), len(symbols)), UNSEEN, np.int32)
    counts = np.zeros((len(tau), len(steps)), np.int64)
    for t, table in tables.items():
        for behaviour, q in table.items():
            for ao, r, to in behaviour:
                tau[offsets[t] + q, symbols.index(ao)] = offsets[t + 1] + to
                counts[offsets[t] + q, steps.index((*ao, alphabet.rewards.index(r)))] = 1
    return RDP(alphabet, np.array(steps), np.array(symbols), layers, tau, counts)


def t_maze(n: int, seed: int, horizon: int = 5) -> Episodes:
    return TMaze().simulate(n, horizon, np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(10))
def test_adact_h_learns_t_maze_exactly_with_default_settings(seed: int) -> None:
    learned, truth = adact_h(t_maze(100_000, seed)), minimal_t_maze(5)
    assert truth.layers.tolist() == [1, 2, 3, 4, 5, 4, 1]
    assert learned.rdp.layers.tolist() == [1, 2, 3, 4, 5, 4, 1]
    assert compare(learned.rdp, truth) is None


@pytest.mark.parametrize("horizon", [2, 3, 4])
def test_adact_h_learns_t_mazes_of_other_lengths_exactly(horizon: int) -> None:
    assert compare(adact_h(t_maze(50_000, 7, horizon)).rdp, minimal_t_maze(horizon)) is None


def test_adact_h_with_single_components_misses_memory_of_t_maze() -> None:
    """Under the uniform policy the distinguishability of X_{1,1,1} is 0 on T-maze (docs/theory.md, section 3)."""
    blind = adact_h(t_maze(100_000, 0), Settings(languages("1,1,1")))
    assert blind.rdp.layers[1] == 1
    assert compare(blind.rdp, minimal_t_maze(5)) is not None


def test_settings_default_bound_is_fisher_and_for_sketches_that_of_the_paper() -> None:
    episodes = coins(np.random.default_rng(0), 2, 300, effect=0.5)
    assert adact_h(episodes).decisions == adact_h(episodes, Settings(languages("conjunctions"), FISHER_EXACT)).decisions
    sketch = Settings(PrefixSketches())
    assert adact_h(episodes, sketch).decisions == adact_h(episodes, Settings(PrefixSketches(), PAPER)).decisions


# AdaCT-H-A


def test_adact_h_merges_candidates_below_the_cut_with_nearest_state() -> None:
    episodes = starts((300, 290, 10), (0, 1, 2))
    whole, cut = adact_h(episodes), adact_h(episodes, Settings(cut=0.02))
    assert whole.rdp.layers.tolist() == [1, 3, 1] and whole.forced_share == 0
    assert cut.rdp.layers.tolist() == [1, 2, 1]
    rare = cut.decisions[2].placement
    assert rare.forced and not rare.promoted and rare.distance > rare.threshold and rare.target == rare.nearest
    assert cut.forced_share == 10 / 600


def test_adact_h_promotes_largest_candidate_at_any_cut() -> None:
    assert adact_h(starts((3, 4, 3), (0, 1, 2)), Settings(cut=0.9)).rdp.layers.tolist() == [1, 1, 1]


def test_adact_h_cut_is_a_share_of_weights() -> None:
    light = starts((300, 290, 10), (0, 1, 2))
    heavy = Episodes(
        light.alphabet, light.letters, light.word[:, [0, 300, 590]], light.follows, np.array([300, 290, 10])
    )
    for cut in (0.016, 0.017):
        assert everything(adact_h(heavy, Settings(cut=cut))) == everything(adact_h(light, Settings(cut=cut)))
    assert adact_h(heavy, Settings(cut=0.016)).rdp.layers[1] == 3
    assert adact_h(heavy, Settings(cut=0.017)).rdp.layers[1] == 2


def test_adact_h_promotes_candidate_with_share_equal_to_cut() -> None:
    assert adact_h(starts((10, 8, 7), (0, 1, 2)), Settings(delta=0.5, cut=7 / 25)).rdp.layers[1] == 3


def test_adact_h_forced_share_counts_suffixes_merged_by_force() -> None:
    shares = []
    for seed in range(5):
        episodes = random_episodes(np.random.default_rng(seed), 3, 2, 2, 2, 4, 900, weighted=True)
        learned = adact_h(episodes, Settings(delta=0.1, cut=0.04))
        tested = [d for d in learned.decisions if d.layer <= 3]
        forced = [d.n for d in tested if not d.placement.promoted and d.placement.distance >= d.placement.threshold]
        shares.append(sum(forced) / sum(d.n for d in tested))
        assert learned.forced_share == pytest.approx(shares[-1])
        assert all(d.n >= 0.04 * episodes.total for d in tested if d.placement.promoted)
    assert max(shares) > 0


# Guarantees


def test_adact_h_divides_confidence_among_layers_and_candidates() -> None:
    episodes = random_episodes(np.random.default_rng(2), 3, 2, 2, 2, 3, 500, early_end=0.2)
    learned = adact_h(episodes, Settings(confidence=0.9))
    per_layer = Counter(d.layer for d in learned.decisions)
    assert learned.candidates == tuple(per_layer[t] for t in range(1, 5))
    assert learned.deltas == pytest.approx([0.1 / (4 * per_layer[t]) for t in range(1, 5)])
    assert learned.promise.split == pytest.approx(sum(0.1 / (4 * per_layer[t]) * (per_layer[t] - 1) for t in (1, 2, 3)))
    by_hand = [adact_h(episodes, Settings(delta=delta)).decisions for delta in learned.deltas]
    first = [d for d in learned.decisions if d.layer == 1]
    assert first == [d for d in by_hand[0] if d.layer == 1]


@pytest.mark.parametrize("bound", BOUNDS)
def test_adact_h_promise_matches_its_decisions(bound: str) -> None:
    episodes = random_episodes(np.random.default_rng(3), 3, 2, 2, 2, 3, 3000)
    learned = adact_h(episodes, settings("conjunctions", bound, 0.01))
    promise = learned.promise
    tested = [d for t in (1, 2, 3) for d in [d for d in learned.decisions if d.layer == t][1:]]
    assert promise.tests == len(tested) and promise.split == pytest.approx(0.01 * len(tested))
    merged = sorted((d.placement.detectable, d.n) for d in tested if not d.placement.promoted)
    worst = [d for d, n in merged for _ in range(n)]
    assert promise.detectable_worst == worst[-1]
    assert promise.detectable == worst[(len(worst) - 1) // 2]
    actions, observations, _ = episodes.suffix_alphabet()
    assert promise.paper == pytest.approx(1 - 4 * len(actions) * len(observations) * learned.rdp.n_states * 0.01)
    assert f"{1 - promise.split:.4g}" in promise.sentence and f"{promise.detectable:.2g}" in promise.sentence


def test_promise_sentence_states_when_it_is_vacuous() -> None:
    episodes = random_episodes(np.random.default_rng(3), 3, 2, 2, 2, 3, 300)
    promise = adact_h(episodes, Settings(delta=0.5)).promise
    assert promise.split > 1 and "No bound" in promise.sentence
    lonely = adact_h(from_values([[(None, ("x",), 0), ("go", None, 1)]] * 5)).promise
    assert (lonely.tests, lonely.split) == (0, 0) and "No tests were made" in lonely.sentence


@pytest.mark.parametrize(
    "wrong",
    [{"delta": 0}, {"delta": 1}, {"confidence": 1}, {"confidence": 0}, {"cut": -0.1}, {"cut": 1}, {"threads": 0}],
    ids=str,
)
def test_settings_refuse_invalid_values_by_parameter_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(SufficeError, match=next(iter(wrong))):
        Settings(**wrong)


# Witnesses


def test_adact_h_witness_of_t_maze_is_reward_of_the_right_turn() -> None:
    """One of 4⁵ runs wins, after one cue by finally going north, after the other by going south."""
    learned = [adact_h(t_maze(100_000, s)) for s in range(3)]
    texts = [describe_witness(one.decisions[1].placement.witness, one.rdp.alphabet) for one in learned]
    found = {re.search("action = [NS] and reward = 4: .*", text)[0] for text in texts}
    assert any("action = N and reward = 4" in text for text in found)
    assert {0.0, 0.001} == {round(float(p), 3) for text in found for p in re.findall(r"\d\.\d+", text)}


def holds(text: str, suffix: list[tuple[Any, Any, float]]) -> bool:
    """Return whether the described event of a conjunction occurs in a suffix."""
    when, what = text.split(", ", 1)

    def letter(step: tuple[Any, Any, float]) -> bool:
        action, observation, reward = step
        facts = {"the episode is over": observation is None, f"action = {action}": True, f"reward = {reward:g}": True}
        if observation is not None:
            facts |= {f"f{i} = {v}": True for i, v in enumerate(observation)}
            facts[f"observation = ({', '.join(map(str, observation))})"] = True
        return all(facts.get(part, False) for part in what.split(" and "))

    if when == f"within {len(suffix)} steps":
        return any(map(letter, suffix))
    return letter(suffix[{"at the next step": 0, "at the last step": -1}[when]])


@pytest.mark.parametrize("seed", range(12))
def test_describe_witness_matches_frequencies_of_largest_difference(seed: int) -> None:
    episodes = random_episodes(np.random.default_rng(seed), 1 + seed % 3, 2, 3, 2, 3, 400, n_features=2, early_end=0.2)
    first, second = adact_h(episodes, settings("conjunctions", "paper")).decisions[:2]
    described = describe_witness(second.placement.witness, episodes.alphabet)
    text, p1, p2 = re.fullmatch(r"(.*): ([\d.]+) against ([\d.]+)", described).groups()
    shown = len(p1.split(".")[1])
    sides = [
        [e[1:] for e in to_values(episodes) if e[0][1] == episodes.alphabet.observation(code)]
        for code in (episodes.symbols()[0][d.symbol, 1] for d in (second, first))
    ]
    frequencies = [sum(holds(text, suffix) for suffix in side) / len(side) for side in sides]
    assert abs(frequencies[0] - frequencies[1]) == pytest.approx(second.placement.distance)
    assert [float(p1), float(p2)] == [pytest.approx(f, abs=0.51 * 10**-shown) for f in frequencies]
