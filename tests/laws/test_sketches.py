"""Count-Min-Sketches never underestimate, are exact while small, and do not depend on order or batches."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.evidence.sketch import BYTES_PER_KEY, CountMinSketch, Shape

shapes = st.builds(Shape, depth=st.integers(1, 4), width=st.integers(1, 24), seed=st.integers(0, 9))
keys = st.one_of(st.integers(0, 60), st.integers(0, 2**61 - 2))
batches = st.lists(st.lists(st.tuples(keys, st.integers(0, 9)), max_size=20), max_size=6)
LAW = settings(deadline=None, max_examples=100)


def sketch_of(shape: Shape, batches: list[list[tuple[int, int]]]) -> CountMinSketch:
    sketch = CountMinSketch(shape)
    for batch in batches:
        add(sketch, batch)
    return sketch


def add(sketch: CountMinSketch, batch: list[tuple[int, int]]) -> None:
    sketch.add(np.array([k for k, _ in batch], np.uint64), np.array([n for _, n in batch], np.int64))


def everything(sketch: CountMinSketch, asked: list[int]) -> tuple[Any, ...]:
    answers = sketch.query(np.array(asked, np.uint64)).tolist()
    return sketch.is_dense, sketch.nbytes, sketch.total, answers, sketch.cells.tolist()


@LAW
@given(shapes, batches, st.lists(keys, max_size=5))
def test_sketch_never_underestimates_and_is_exact_until_it_is_dense(
    shape: Shape, batches: list[list[tuple[int, int]]], others: list[int]
) -> None:
    sketch, truth = CountMinSketch(shape), Counter[int]()
    for batch in batches:
        add(sketch, batch)
        for key, n in batch:
            truth[key] += n
        asked = [*truth, *others]
        found = sketch.query(np.array(asked, np.uint64)).tolist()
        assert all(truth[key] <= estimate <= sketch.total for key, estimate in zip(asked, found, strict=True))
        assert sketch.is_dense == (BYTES_PER_KEY * len(truth) > shape.cell_bytes)
        assert sketch.nbytes == min(BYTES_PER_KEY * len(truth), shape.cell_bytes)
        assert sketch.is_dense or found == [truth[key] for key in asked]
        assert sketch.total == truth.total()


@LAW
@given(shapes, batches, batches, st.booleans(), st.booleans())
def test_sketch_merge_adds_both_counts(shape: Shape, first: Any, second: Any, dense1: bool, dense2: bool) -> None:
    one, two, both = sketch_of(shape, first), sketch_of(shape, second), sketch_of(shape, first + second)
    for sketch, dense in ((one, dense1), (two, dense2), (both, dense1 or dense2)):
        if dense:
            _ = sketch.cells
    one.merge(two)
    asked = [key for batch in first + second for key, _ in batch]
    assert everything(one, asked) == everything(both, asked)


@LAW
@given(shapes, batches, st.randoms(use_true_random=False))
def test_sketch_does_not_depend_on_order_or_batches(shape: Shape, drawn: Any, random: Any) -> None:
    flat = [pair for batch in drawn for pair in batch]
    asked = [key for key, _ in flat]
    shuffled = list(flat)
    random.shuffle(shuffled)
    assert everything(sketch_of(shape, drawn), asked) == everything(sketch_of(shape, [shuffled]), asked)
