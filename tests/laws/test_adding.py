"""Counts are additive: shards, order and repetitions of episodes do not matter, nor do names except their order."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laws.logs import labels, logs, small_logs
from oracle import random_episodes
from suffice.data.episodes import Episodes
from suffice.engines import local
from suffice.evidence import language_counts
from suffice.evidence.bounds import BOUNDS, FISHER_EXACT, PAPER
from suffice.evidence.language_counts import LanguageCounts, LanguagePlan
from suffice.evidence.languages import CONJUNCTIONS, Family
from suffice.evidence.prefix_sketch import PrefixSketches, SketchPlan
from suffice.evidence.prefix_tree import PrefixPart, PrefixPlan
from suffice.evidence.word_counts import WordPart
from suffice.kernels.comparing import DIFFERENCE
from suffice.learning.adact_h import Learned, Settings, adact_h
from support.samples import DELTA, KINDS, MEMORY, STATISTICS, everything, from_values, layer_at, parts_at, to_values

FEW = settings(deadline=None, max_examples=25)
every_statistic = pytest.mark.parametrize("name", STATISTICS)
bounds = st.sampled_from(list(BOUNDS.values()))


def counts(part: Any, n: int) -> Counter[Any]:
    """Return the counts of a part for n candidates, whatever its form."""
    if isinstance(part, WordPart):
        places = [(c, i) for c in range(n) for i in range(part.start[c], part.start[c + 1])]
        return +Counter({(c, part.rows[part.value[i]].tobytes()): int(part.count[i]) for c, i in places})
    if isinstance(part, PrefixPart):
        weight = part.weight if len(part.weight) else np.ones(len(part.candidate), np.int64)
        found: Counter[Any] = Counter()
        for c, column, w in zip(part.candidate, part.word.T, weight, strict=True):
            found[int(c), tuple(column)] += int(w)
        return found
    return +Counter({place: int(count) for place, count in np.ndenumerate(part)})


@every_statistic
@FEW
@given(st.data())
def test_statistic_counts_of_shards_add_up_to_those_of_the_log(name: str, data: st.DataObject) -> None:
    episodes = data.draw(small_logs())
    candidate = data.draw(labels(episodes.n))
    cuts, t = data.draw(st.lists(st.integers(0, episodes.n))), data.draw(st.integers(1, episodes.horizon))
    plan, n = STATISTICS[name].plan(episodes.outline, PAPER, MEMORY), int(candidate.max()) + 1
    (whole,), parts = parts_at(t, plan, episodes, candidate), parts_at(t, plan, episodes, candidate, cuts)
    assert len(parts) == len(cuts) + 1
    assert sum((counts(part, n) for part in parts), Counter()) == counts(whole, n)


@pytest.mark.parametrize("name", ["conjunctions", "1,1,1"])
@FEW
@given(st.data())
def test_language_counts_by_histogram_equal_those_by_bits(name: str, data: st.DataObject) -> None:
    episodes = data.draw(small_logs())
    candidate, t = data.draw(labels(episodes.n)), data.draw(st.integers(1, episodes.horizon))
    plan, found = STATISTICS[name].plan(episodes.outline, PAPER, MEMORY), []
    for operations in (0, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(language_counts, "HISTOGRAM", operations)
            found.append(parts_at(t, plan, episodes, candidate)[0])
    assert found[0].tolist() == found[1].tolist()


@pytest.mark.parametrize("family", [CONJUNCTIONS, Family(2, 1, 1)], ids=str)
@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 11), st.booleans(), st.data())
def test_language_counts_equal_counts_of_single_episodes(
    family: Family, seed: int, horizon: int, weighted: bool, data: st.DataObject
) -> None:
    episodes = random_episodes(np.random.default_rng(seed), horizon, 2, 3, 4, 3, 30, weighted=weighted)
    candidate, t = data.draw(labels(episodes.n)), data.draw(st.integers(1, horizon))
    plan, n = LanguageCounts(family).plan(episodes.outline, PAPER, MEMORY), int(candidate.max()) + 1
    member = plan.patterns.member.astype(bool)
    met = member[episodes.word[t:]]  # [steps, N, G]
    assert family == CONJUNCTIONS or horizon < 4 or member.shape[1] > 64  # bits of several words
    one_by_one = np.zeros((n, 3, member.shape[1]), np.int64)
    weight = np.ones(episodes.n, np.int64) if episodes.weight is None else episodes.weight
    np.add.at(one_by_one, candidate, weight[:, None, None] * np.stack([met.any(axis=0), met[0], met[-1]], axis=1))
    (found,) = parts_at(t, plan, episodes, candidate)
    assert found.tolist() == (one_by_one[:, 0] if t == horizon else one_by_one.reshape(n, -1)).tolist()


def answers(layer: Any, n: int, kinds: tuple[int, ...]) -> list[Any]:
    """Return all results of a layer while candidates are promoted and absorbed in turn."""
    found: list[Any] = [layer.events]
    layer.promote(0)
    states = 1
    for c in range(1, n):
        for kind in kinds:
            never = np.full(states, np.inf)
            judgement = layer.judge(kind, c, never, never, DELTA)
            found.append(judgement)
            if judgement.event >= 0:
                found.append(layer.event(judgement.event))
                found.append(layer.counts(c, judgement.nearest, judgement.event))
        if c % 2:
            layer.absorb(c, judgement.nearest)
        else:
            layer.promote(c)
            states += 1
    return found


CASES = [(name, FISHER_EXACT, KINDS) for name in STATISTICS] + [("sketch", PAPER, (DIFFERENCE,))]


@pytest.mark.parametrize(("name", "bound", "kinds"), CASES, ids=[f"{c[0]} {c[1].name}" for c in CASES])
@FEW
@given(st.data())
def test_candidate_layer_gives_the_same_results_for_any_shards(
    name: str, bound: Any, kinds: tuple[int, ...], data: st.DataObject
) -> None:
    episodes = data.draw(small_logs())
    candidate, t = data.draw(labels(episodes.n)), data.draw(st.integers(1, episodes.horizon))
    cuts = data.draw(st.lists(st.integers(1, episodes.n - 1), max_size=4) if episodes.n > 1 else st.just([]))
    n = int(candidate.max()) + 1
    layers = [layer_at(t, STATISTICS[name], episodes, candidate, bound=bound, cuts=c) for c in ([], cuts)]
    whole, sharded = (answers(layer, n, kinds) for layer in layers)
    assert whole == sharded


@every_statistic
@settings(deadline=None, max_examples=12)
@given(logs(), bounds, st.sampled_from([0.02, 0.3]), st.sampled_from([0, 40, 1 << 16]), st.sampled_from([0, 9, 999]))
def test_adact_h_gives_the_same_bits_for_any_number_of_threads(
    name: str, episodes: Episodes, bound: Any, delta: float, small: int, few: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "LEAST_SHARD", 1)
        patch.setattr(local, "SMALL_CELLS", small)  # no table, some, or all: threads look ahead only with small tables
        patch.setattr(local, "FEW_GROUPS", few)  # and count ahead only few groups
        for plan in (LanguagePlan, PrefixPlan, SketchPlan):
            patch.setattr(plan, "divides", True)
        runs = [adact_h(episodes, Settings(STATISTICS[name], bound, delta, threads=n)) for n in (1, 2, 3)]
    assert everything(runs[0]) == everything(runs[1]) == everything(runs[2])


@every_statistic
@settings(deadline=None, max_examples=12)
@given(logs(), bounds, st.sampled_from([0.02, 0.3]), st.randoms(use_true_random=False))
def test_adact_h_does_not_depend_on_the_order_of_episodes(
    name: str, episodes: Episodes, bound: Any, delta: float, random: Any
) -> None:
    order = list(range(episodes.n))
    random.shuffle(order)
    weight = None if episodes.weight is None else episodes.weight[order]
    shuffled = Episodes(episodes.alphabet, episodes.letters, episodes.word[:, order], episodes.follows, weight)
    one, other = (adact_h(e, Settings(STATISTICS[name], bound, delta)) for e in (episodes, shuffled))
    assert everything(one) == everything(other)


@every_statistic
@settings(deadline=None, max_examples=12)
@given(logs(weighted=True), bounds, st.sampled_from([0.02, 0.3]))
def test_adact_h_treats_a_weight_as_repeated_episodes(name: str, light: Episodes, bound: Any, delta: float) -> None:
    assert light.weight is not None
    heavy = Episodes(light.alphabet, light.letters, np.repeat(light.word, light.weight, axis=1), light.follows)
    one, other = (adact_h(e, Settings(STATISTICS[name], bound, delta)) for e in (light, heavy))
    assert everything(one) == everything(other)


def without_words(learned: Learned) -> tuple[Any, ...]:
    """Return everything except the witnesses, which name symbols."""
    arrays, decisions, *rest = everything(learned)
    return arrays, [d._replace(placement=d.placement._replace(witness=None)) for d in decisions], *rest


@every_statistic
@settings(deadline=None, max_examples=12)
@given(logs(weighted=False), bounds, st.integers(1, 9))
def test_adact_h_depends_only_on_the_order_of_names(name: str, episodes: Episodes, bound: Any, k: int) -> None:
    actions = {a: f"act{chr(65 + k + i)}" for i, a in enumerate(episodes.alphabet.actions)} | {None: None, "pad": "pad"}
    feature = {v: (v - 5) / k if k % 2 else f"v{v}" for o in episodes.alphabet.observations for v in o}
    rewards = {r: r * k for r in episodes.alphabet.rewards}

    def renamed(o: Any) -> Any:
        return None if o is None else tuple(feature[v] for v in o)

    values = to_values(episodes)
    other = [[(actions[a], renamed(o), rewards[r]) for a, o, r in episode] for episode in values]
    one, two = (adact_h(from_values(e), Settings(STATISTICS[name], bound, 0.3)) for e in (values, other))
    assert without_words(one) == without_words(two)
    assert [two.rdp.symbol(y) for y in range(len(two.rdp.symbols))] == [
        (actions[a], renamed(o)) for a, o in (one.rdp.symbol(y) for y in range(len(one.rdp.symbols)))
    ]


def test_random_logs_of_the_laws_give_several_states() -> None:
    """Laws that hold for a single state only would prove little."""
    sizes: list[int] = []

    @settings(deadline=None, max_examples=30, database=None)
    @given(logs())
    def learn(episodes: Episodes) -> None:
        for statistic in (STATISTICS["conjunctions"], STATISTICS["prefixes"], PrefixSketches()):
            sizes.append(int(adact_h(episodes, Settings(statistic, FISHER_EXACT, 0.3)).rdp.layers.max()))

    learn()
    assert sum(size > 1 for size in sizes) > len(sizes) // 3
