"""Count-Min-Sketch: shape, hash functions and error probability; sketches of prefixes."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from suffice.errors import SufficeError
from suffice.evidence import prefix_sketch
from suffice.evidence.bounds import BOUNDS, FISHER_EXACT, PAPER
from suffice.evidence.prefix_sketch import PrefixSketches, Sketcher
from suffice.evidence.prefix_tree import PrefixCounts, PrefixTree
from suffice.evidence.sketch import BYTES_PER_COUNTER, BYTES_PER_KEY, CountMinSketch, Shape
from suffice.kernels import comparing, sketches
from suffice.learning.adact_h import Settings, adact_h
from support.samples import NEVER_DISTINCT, coins, parts_at, sample_of

PRIME = 2**61 - 1


def keys(*values: int) -> np.ndarray:
    return np.array(values, np.uint64)


def test_shape_for_accuracy_gives_depth_and_width() -> None:
    shape = Shape.for_accuracy(0.01, math.log(0.05), seed=3)
    assert (shape.depth, shape.width, shape.seed) == (3, 272, 3)  # ⌈ln 20⌉, ⌈e/0.01⌉
    assert shape.cell_bytes == 3 * 272 * 8
    assert Shape.for_accuracy(0.5, -1e4, 0).depth == 10_000  # δ_c itself is far below the smallest double


def test_sketch_becomes_dense_when_cells_are_smaller_than_the_table() -> None:
    shape = Shape(2, 16, seed=0)
    most = shape.depth * shape.width * BYTES_PER_COUNTER // BYTES_PER_KEY
    sketch = CountMinSketch(shape)
    for key in range(most):
        sketch.add(keys(key, key), np.array([1, 2]))
        assert not sketch.is_dense and sketch.nbytes == BYTES_PER_KEY * (key + 1)
    sketch.add(keys(0), np.array([5]))  # no new key
    assert not sketch.is_dense and sketch.query(keys(0, 1, most)).tolist() == [8, 3, 0]
    sketch.add(keys(most), np.array([1]))
    assert sketch.is_dense and sketch.nbytes == shape.cell_bytes
    assert sketch.total == 3 * most + 6 == sketch.cells[0].sum() == sketch.cells[1].sum()


@pytest.mark.parametrize("other", [Shape(2, 16, 1), Shape(3, 16, 0), Shape(2, 17, 0)], ids=str)
@pytest.mark.parametrize("dense", [False, True])
def test_sketch_merge_refuses_another_seed_or_shape(other: Shape, dense: bool) -> None:
    mine, theirs = CountMinSketch(Shape(2, 16, 0)), CountMinSketch(other)
    if dense:
        _ = mine.cells, theirs.cells
    with pytest.raises(SufficeError, match="seed or shape"):
        mine.merge(theirs)


def test_sketch_add_refuses_negative_counts() -> None:
    with pytest.raises(SufficeError, match="negative"):
        CountMinSketch(Shape(2, 16, 0)).add(keys(1), np.array([-1]))


def cells_of(seed: int, some: np.ndarray, depth: int = 3, width: int = 28) -> np.ndarray:
    """Return the column of each key in each row, [d, n]."""
    out = np.empty((depth, len(some)), np.int64)
    for i in range(len(some)):
        sketch = CountMinSketch.over(np.zeros((depth, width), np.int64), seed)
        sketch.add(some[i : i + 1], np.ones(1, np.int64))
        out[:, i] = sketch.cells.argmax(axis=1)
    return out


SPREADS = {"low bits": lambda i: i, "high bits": lambda i: i << 32, "hashes": lambda i: pow(3, 40 + i, PRIME)}


@pytest.mark.parametrize("spread", SPREADS)
def test_sketch_errors_are_as_rare_as_guaranteed_and_independent_between_rows(spread: str) -> None:
    """In the worst case for ε = 0.1 nine keys have just more than ε of the total each: any collision is an error."""
    shape = Shape.for_accuracy(0.1, -3.0, 0)
    heavy, light = keys(*map(SPREADS[spread], range(1, 10))), keys(SPREADS[spread](10))
    wrong = {1: 0, 3: 0}  # by depth
    for seed, depth in product(range(2000), wrong):
        sketch = CountMinSketch.over(np.zeros((depth, shape.width), np.int64), seed)
        sketch.add(heavy, np.full(9, 11))
        sketch.add(light, np.array([1]))
        wrong[depth] += int(sketch.query(light)[0] > 1 + 0.1 * sketch.total)
    assert shape.depth == 3
    assert 0.15 < wrong[1] / 2000 <= math.exp(-1)  # 9/w = 0.32 at most, less if collisions coincide
    assert wrong[3] / 2000 <= math.exp(-3)
    assert abs(wrong[3] / 2000 - (wrong[1] / 2000) ** 3) < 0.01


@pytest.mark.parametrize("spread", SPREADS)
def test_sketch_hashes_two_keys_alike_with_probability_one_over_width(spread: str) -> None:
    pair = keys(SPREADS[spread](4), SPREADS[spread](9))
    together = np.mean([cells_of(seed, pair)[:, 0] == cells_of(seed, pair)[:, 1] for seed in range(2000)], axis=0)
    assert np.abs(together - 1 / 28).max() < 4 * math.sqrt(1 / 28 / 2000)


def test_sketch_hashes_use_all_columns_about_equally() -> None:
    columns = cells_of(5, np.arange(2000, dtype=np.uint64) * np.uint64(977))
    for row in columns:
        count = np.bincount(row, minlength=28)
        assert len(count) == 28 and count.min() > 30 and count.max() < 120  # 71 expected
    assert len({tuple(row) for row in columns.tolist()}) == 3


def test_hash_prefixes_equals_the_polynomial() -> None:
    rng = np.random.default_rng(0)
    word = rng.integers(0, 40, size=(6, 50)).astype(np.uint8)
    for base in (2**32 + 15, PRIME - 1, 987654321987654321):
        out = np.empty((6, 50), np.uint64)
        sketches.hash_prefixes(word, np.arange(50, dtype=np.uint32), np.uint64(base), out)
        for e in range(50):
            h = 1
            for u in range(6):
                h = (h * base + int(word[u, e]) + 1) % PRIME
                assert int(out[u, e]) == h


# Sketches of prefixes


def test_prefix_sketches_have_the_shape_of_theorem_1() -> None:
    """δ_c = δ/(8(ARO)^ℓ), ε = √(ln(2/δ_c)/2n); with the other bounds |X| is the number of cells."""
    episodes = coins(np.random.default_rng(0), 3, 700)
    delta_c = 0.05 / (8 * (2 * 3 * 2) ** 2)
    width = math.ceil(math.e / math.sqrt(math.log(2 / delta_c) / (2 * 700)))
    plan = PrefixSketches(seed=9).plan(episodes.outline, PAPER, 1 << 30)
    assert plan.shape(2, 0.05) == Shape(math.ceil(math.log(1 / delta_c)), width, 9)
    assert plan.estimates and plan.size(2, 0.05) == 2 * 12**2
    cells = PrefixSketches().plan(episodes.outline, FISHER_EXACT, 1 << 30)
    assert not cells.estimates and cells.size(2, 0.05) == 2 * math.ceil(math.log(1 / delta_c)) * width


@pytest.mark.parametrize("width", [5, 40, 10**6])
def test_sketcher_estimates_no_prefix_below_its_count(width: int) -> None:
    episodes = coins(np.random.default_rng(1), 4, 3000)
    plan, sample = PrefixCounts().plan(episodes.outline, PAPER, 1 << 30), sample_of(episodes)
    tree = PrefixTree.of(parts_at(1, plan, episodes, sample)[0], 2)
    sketcher = Sketcher(tree, Shape(3, width, 0), np.uint64(2**40 + 7), 0.01)
    nodes, counts = tree.leaves(0)
    row = (nodes[:0], np.zeros(1, np.int64), sketcher.cells(nodes, counts))
    mine, excess = tree.word[:, sample == 0], 0
    for node in range(1, len(tree.end), 7):
        for length in range(int(tree.depth[tree.parent[node]]) + 1, int(tree.depth[node]) + 1):
            prefix = tree.prefix(node, length)
            truth = int((mine[:length] == prefix[:, None]).all(axis=0).sum())
            estimate = sketcher.estimate(row, node, length)
            assert truth <= estimate
            excess += estimate - truth
    assert (excess > 0) == (width < 100)


@pytest.mark.parametrize("form", ["lists", "cells"])
@pytest.mark.parametrize("seed", range(3))
def test_sketch_distance_is_within_epsilon_of_the_exact_distance(
    seed: int, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare a state of two samples with a third sample, stored as lists of suffixes or as cells."""
    monkeypatch.setattr(prefix_sketch, "BYTES_PER_SUFFIX", 0 if form == "lists" else 10**9)
    rng = np.random.default_rng(seed)
    episodes = coins(rng, 3, 4000, effect=0.4)
    sample = sample_of(episodes)
    sample[rng.random(4000) < 0.3] = 2
    found = {}
    for statistic in (PrefixSketches(seed), PrefixCounts()):
        plan = statistic.plan(episodes.outline, PAPER, 1 << 30)
        layer = plan.layer(1, parts_at(1, plan, episodes, sample)[0], np.bincount(sample), 0.1)
        layer.promote(1)
        layer.absorb(2, 0)
        judgement = layer.judge(comparing.DIFFERENCE, 0, *NEVER_DISTINCT, 0.1)
        found[statistic.name] = judgement.distance
        k1, n1, k2, n2 = layer.counts(0, 0, judgement.event)
        p1, p2 = k1 / n1, k2 / n2
        assert abs(p1 - p2) == pytest.approx(judgement.distance)
    epsilon = math.sqrt(math.log(2 * 8 * 12**3 / 0.1) / (2 * 4000))
    assert found["prefixes"] > 2 * epsilon
    assert found["sketch"] == pytest.approx(found["prefixes"], abs=1e-12 if form == "lists" else epsilon)


@pytest.mark.parametrize("bound", ["paper", "fisher"])
def test_prefix_sketches_of_other_seeds_find_the_same_states(bound: str) -> None:
    episodes = coins(np.random.default_rng(0), 2, 4000, effect=1.0)
    for seed in range(5):
        assert adact_h(episodes, Settings(PrefixSketches(seed), BOUNDS[bound])).rdp.layers.tolist() == [1, 2, 1, 1]
