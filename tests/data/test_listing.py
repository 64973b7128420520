"""Lists with an entry for each layer are abbreviated where there are many layers."""

from __future__ import annotations

from suffice.data.listing import layer_sizes, listed


def test_layer_sizes_lists_few_layers_one_by_one() -> None:
    assert layer_sizes([1, 2, 2, 1]) == "1 2 2 1"


def test_layer_sizes_shortens_runs_of_equal_numbers() -> None:
    assert layer_sizes([1, *[2] * 40, 1]) == "1 2 (×40) 1"


def test_layer_sizes_leaves_out_the_middle_of_many_runs() -> None:
    text = layer_sizes([1, *[2, 3] * 5000, 1])
    assert text == "1 2 3 2 3 2 3 2 3 2 … (9,991 more) 1"


def test_layer_sizes_counts_every_layer_once() -> None:
    sizes = [1, *[5] * 7, *range(1, 60), *[4] * 20, 1]
    assert layer_sizes(sizes) == f"1 5 (×7) 1 2 3 4 5 6 7 8 … ({len(sizes) - 1 - 7 - 8 - 1} more) 1"


def test_listed_leaves_out_the_middle_of_long_lists() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed([str(t) for t in range(100)]) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … (89 more), 99"
