"""Episodes and their alphabet: order, codes, types, immutability, digests, parts and indexing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracle import random_episodes
from suffice.data.alphabet import DUMMY, PAD, STOP, Alphabet, in_order, smallest_uint
from suffice.data.episodes import Episodes, Step
from suffice.data.logs.reading import read_log
from suffice.errors import SufficeError
from support.log_files import RAGGED, SCHEMA, WEIGHTED, convert, decode, write

# The alphabet's order


def test_in_order_sorts_numbers_by_value_then_text_by_code_point() -> None:
    values = ["b", 10, "é", "Z", -1, "10", 2.5, "a", "9", True]
    assert in_order(values) == (-1, True, 2.5, 10, "10", "9", "Z", "a", "b", "é")
    assert in_order(reversed(values)) == in_order(values)


def test_alphabet_sorts_observations_column_by_column() -> None:
    seen = ((10, "a"), (9, "b"), (9, "a"), (10, "B"))
    assert Alphabet((), ("x", "y"), seen, ()).observations == ((9, "a"), (9, "b"), (10, "B"), (10, "a"))


def test_alphabet_numbers_special_symbols_first() -> None:
    alphabet = Alphabet(("z", "a"), ("o",), (("y",), ("b",)), (1, -1))
    assert [alphabet.action(code) for code in range(alphabet.n_actions)] == [None, "pad", "a", "z"]
    assert [alphabet.observation(code) for code in range(alphabet.n_observations)] == [None, ("b",), ("y",)]
    assert (DUMMY, PAD, STOP) == (0, 1, 0)


def test_alphabet_converts_integral_floats_and_removes_duplicates() -> None:
    alphabet = Alphabet((2.0, 2, 0.5, 1e300), ("o",), ((1.0,), (1,)), (3, 3.0))
    assert alphabet.actions == (0.5, 2, 1e300) and [type(a) for a in alphabet.actions] == [float, int, float]
    assert alphabet.observations == ((1,),) and type(alphabet.observations[0][0]) is int
    assert alphabet.rewards == (0.0, 3.0) and all(type(r) is float for r in alphabet.rewards)


def test_alphabet_always_contains_reward_zero() -> None:
    assert Alphabet((), ("o",), (), (2, -1)).rewards == (-1.0, 0.0, 2.0)


def test_alphabet_refuses_observations_of_another_length() -> None:
    with pytest.raises(SufficeError, match="the features are x, y, but an observation has another number of values"):
        Alphabet((), ("x", "y"), ((1, 2), (3,)), ())


def test_episodes_sort_letters_and_symbols_lexicographically() -> None:
    episodes = random_episodes(np.random.default_rng(1), 4, 3, 5, 3, 3, 300, n_features=2, early_end=0.4)
    letters = episodes.letters.tolist()
    assert letters == sorted(letters) and len({tuple(x) for x in letters}) == len(letters)
    symbols, of_letter = episodes.symbols()
    assert symbols.tolist() == sorted({(a, o): [a, o] for a, o, _ in letters}.values())
    assert symbols[of_letter].tolist() == [[a, o] for a, o, _ in letters]


# From codes to letters


def steps_of(episodes: Episodes) -> list[Any]:
    """Return the three [H+1, N] arrays of codes."""
    return [episodes.letters[:, i][episodes.word].tolist() for i in range(3)]


@pytest.mark.parametrize("values", [(30, 40, 5), (3000, 3000, 3)], ids=["by table", "by sorting"])
def test_from_steps_keeps_every_code(values: tuple[int, int, int]) -> None:
    """The second case has too many possible letters for a look-up table: 2.7·10⁷ for 400 steps."""
    actions, observations, rewards = values
    alphabet = Alphabet(tuple(range(actions)), ("o",), tuple((o,) for o in range(observations)), tuple(range(rewards)))
    rng = np.random.default_rng(0)
    codes = [rng.integers(n, size=(4, 100)) for n in (alphabet.n_actions, alphabet.n_observations, rewards)]
    episodes = Episodes.from_steps(alphabet, *codes)
    assert steps_of(episodes) == [c.tolist() for c in codes]
    assert len(episodes.letters) == len({tuple(x) for x in np.stack(codes, -1).reshape(-1, 3).tolist()})
    assert episodes.letters.tolist() == sorted(episodes.letters.tolist())


def test_from_steps_keeps_the_largest_codes_of_a_sparse_alphabet() -> None:
    alphabet = Alphabet(tuple(range(4000)), ("o",), tuple((o,) for o in range(5000)), (0, 1))
    last = (alphabet.n_actions - 1, alphabet.n_observations - 1, 1)
    codes = [np.array([[0, n], [n, 0]]) for n in last]
    assert steps_of(Episodes.from_steps(alphabet, *codes)) == [c.tolist() for c in codes]


@pytest.mark.parametrize(
    ("size", "bits"), [(0, 8), (1, 8), (256, 8), (257, 16), (1 << 16, 16), ((1 << 16) + 1, 32), ((1 << 32) + 1, 64)]
)
def test_smallest_uint_returns_the_smallest_type(size: int, bits: int) -> None:
    assert smallest_uint(size) == np.dtype(f"uint{bits}")


@pytest.mark.parametrize(("observations", "bits"), [(256, 8), (257, 16)])
def test_from_steps_uses_the_smallest_type_of_words(observations: int, bits: int) -> None:
    alphabet = Alphabet((), ("o",), tuple((o,) for o in range(observations)), ())
    observation = np.arange(1, observations + 1)[None]
    episodes = Episodes.from_steps(alphabet, 0 * observation, observation, 0 * observation)
    assert len(episodes.letters) == observations and episodes.word.dtype == np.dtype(f"uint{bits}")


def test_from_steps_refuses_no_episodes_and_too_many_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    alphabet, none = Alphabet((1,), ("o",), ((1,),), ()), np.zeros((2, 0), np.int64)
    with pytest.raises(SufficeError, match="there are no episodes"):
        Episodes.from_steps(alphabet, none, none, none)
    monkeypatch.setattr("suffice.data.episodes.MAX_LETTERS", 1)
    codes = np.array([[0, 1]])
    with pytest.raises(
        SufficeError, match=r"2 distinct steps are too many for a finite alphabet\. Bin numeric columns"
    ):
        Episodes.from_steps(alphabet, 0 * codes, codes, 0 * codes)


# Symbols that can follow a history


def test_suffix_alphabet_contains_what_occurs_after_step_0(tmp_path: Path) -> None:
    rows = "episode,step,o,action,reward\n0,0,start,go,5\n0,1,b,go,5\n1,0,start,go,5\n1,1,b,stay,5\n"
    episodes = read_log(write(tmp_path, rows))
    action, observation, reward = episodes.suffix_alphabet()
    known = episodes.alphabet
    assert [known.action(int(a)) for a in action] == [
        "go",
        "stay",
    ]  # neither dummy nor pad occurs
    assert [known.observation(int(o)) for o in observation] == [None, ("b",)]
    assert [known.rewards[int(r)] for r in reward] == [5.0]
    after_an_early_end = read_log(write(tmp_path, rows + "2,0,start,go,5\n"))
    action, _, reward = after_an_early_end.suffix_alphabet()
    assert [known.action(int(a)) for a in action] == ["pad", "go", "stay"] and len(reward) == 2


def test_suffix_alphabet_contains_all_declared_symbols(tmp_path: Path) -> None:
    whole = read_log(write(tmp_path, RAGGED), schema=SCHEMA)
    action, observation, reward = whole.suffix_alphabet()
    assert [whole.alphabet.action(int(a)) for a in action] == ["pad", "left", "right", "stay"]
    assert [whole.alphabet.observation(int(o)) for o in observation] == [None, *SCHEMA.observations]
    assert reward.tolist() == [0, 1, 2, 3]
    unpadded = read_log(write(tmp_path, RAGGED), schema=SCHEMA, horizon=1)
    assert [whole.alphabet.action(int(a)) for a in unpadded.suffix_alphabet()[0]] == ["left", "right", "stay"]


# Immutability


@pytest.mark.parametrize("of", [lambda e: e, lambda e: e.columns(slice(1, 2))], ids=["whole", "part"])
def test_episodes_and_their_arrays_are_read_only(tmp_path: Path, of: Callable[[Episodes], Episodes]) -> None:
    episodes = of(read_log(write(tmp_path, WEIGHTED)))
    for array in (episodes.letters, episodes.word, episodes.follows, episodes.weight):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0
    with pytest.raises(FrozenInstanceError):
        episodes.declared = True  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        episodes.alphabet.actions = ()  # type: ignore[misc]


# Digests


def test_digest_is_equal_across_formats_and_orders_of_rows(tmp_path: Path) -> None:
    path = write(tmp_path, RAGGED)
    copies = [
        convert(path, "a.parquet"),
        convert(path, "b.parquet", [5, 2, 0, 4, 3, 1]),
        convert(path, "c.csv", [1, 0, 5, 4, 3, 2]),
    ]
    assert {read_log(copy).digest() for copy in copies} == {read_log(path).digest()}


def test_digest_changes_with_every_part_of_the_content(tmp_path: Path) -> None:
    def read(text: str = RAGGED, **options: Any) -> Episodes:
        return read_log(write(tmp_path, text), **options)

    episodes = read()
    others = [
        read(RAGGED.replace("right,1", "right,2")),  # the same codes for another reward
        read(RAGGED.replace("blue", "cyan")),
        read(RAGGED.replace("colour", "color")),
        read(RAGGED.replace("9,0,red", "9,0,blue")),
        read(horizon=2),
        read(horizon=4),
        read(schema=SCHEMA),
        replace(episodes, declared=True),
        replace(episodes, weight=np.array([1, 1, 2])),
        replace(episodes, weight=np.array([1, 2, 1])),
        episodes.columns(slice(0, 2)),
    ]
    digests = [e.digest() for e in (episodes, *others)]
    assert len(set(digests)) == len(digests) and all(len(d) == 32 for d in digests)
    other_order = read(RAGGED.replace("\n7,", "\n1,"))
    assert other_order.digest() == episodes.digest() and other_order.digest(True) != episodes.digest(True)


# Parts of the episodes


@pytest.mark.parametrize("edges", [(0, 60), (0, 1, 60), (0, 17, 18, 40, 60)])
def test_columns_share_letters_and_add_up(edges: tuple[int, ...]) -> None:
    whole = random_episodes(np.random.default_rng(7), 3, 2, 3, 2, 3, 60, early_end=0.3, weighted=True, declared=True)
    assert whole.weight is not None
    parts = [whole.columns(slice(a, b)) for a, b in pairwise(edges)]
    assert [p.n for p in parts] == np.diff(edges).tolist() and sum(p.total for p in parts) == whole.total
    assert np.array_equal(np.concatenate([p.word for p in parts], axis=1), whole.word)
    for part in parts:
        assert part.alphabet is whole.alphabet and part.letters is whole.letters and part.declared
        assert part.follows is whole.follows, "`follows` refers to the whole log"
        assert [codes.tolist() for codes in part.suffix_alphabet()] == [c.tolist() for c in whole.suffix_alphabet()]
        assert part.horizon == whole.horizon
    counts = [np.bincount(p.word[1], p.weight, minlength=len(p.letters)) for p in parts]
    assert np.array_equal(sum(counts), np.bincount(whole.word[1], whole.weight, minlength=len(whole.letters)))


def test_total_counts_episodes_by_weight(tmp_path: Path) -> None:
    episodes = read_log(write(tmp_path, WEIGHTED))
    assert (episodes.n, episodes.total) == (2, 5) and episodes.columns(slice(0, 1)).total == 3
    assert decode(episodes)[1][1:] == [(1, None, 0.0), ("pad", None, 0.0)]


# Indexing


PROPENSITIES = """episode,step,colour,size,action,reward,action_prob
7,0,red,1,left,0,0.5
7,1,blue,2.5,right,1,0.25
3,0,blue,1,left,0,1
9,0,red,2.5,right,0,0.125
"""


def test_len_counts_stored_episodes(tmp_path: Path) -> None:
    assert len(read_log(write(tmp_path, RAGGED))) == 3
    weighted = read_log(write(tmp_path, WEIGHTED))
    assert len(weighted) == 2 and weighted.total == 5


def test_index_returns_one_episode_in_the_values_of_the_log(tmp_path: Path) -> None:
    episodes = read_log(write(tmp_path, RAGGED))
    assert episodes[0] == [({"colour": "blue", "size": 1}, "left", 0.0)], "the smallest id first, without padding"
    assert (
        episodes[np.int64(1)]
        == episodes[-2]
        == [
            Step({"colour": "red", "size": 1}, "left", 0.0),
            Step({"colour": "blue", "size": 2.5}, "right", 1.0),
            Step({"colour": "red", "size": 1}, "left", -0.5),
        ]
    )
    single = read_log(write(tmp_path, RAGGED), observations="size", horizon=2)
    assert single[1] == [(1, "left", 0.0), (2.5, "right", 1.0)], "one column: its value alone, cut to the horizon"


def test_iteration_yields_episodes_that_read_log_reads_again(tmp_path: Path) -> None:
    episodes = read_log(write(tmp_path, RAGGED))
    assert [len(steps) for steps in episodes] == [1, 3, 2]
    assert read_log(list(episodes)).digest() == episodes.digest()


@pytest.mark.parametrize(
    ("index", "places"),
    [
        (slice(2), [0, 1]),
        (slice(None, None, -1), [2, 1, 0]),
        ([True, False, True], [0, 2]),
        (np.array([False, True, False]), [1]),
        ([2, 0, 2], [2, 0, 2]),
        (np.array([-1], np.int8), [2]),
        ((1, 2), [1, 2]),
        ([], []),
    ],
)
def test_index_selects_episodes_with_their_part_of_the_report(tmp_path: Path, index: Any, places: list[int]) -> None:
    episodes = read_log(write(tmp_path, PROPENSITIES), "propensity=action_prob")
    some = episodes[index]
    assert isinstance(some, Episodes) and list(some) == [episodes[i] for i in places] and len(some) == len(places)
    assert some.alphabet is episodes.alphabet and some.horizon == episodes.horizon
    assert some.report is not None and episodes.report is not None and some.report.encoder == episodes.report.encoder
    assert some.report.ids.to_pylist() == [[3, 7, 9][i] for i in places]
    assert np.array_equal(some.report.propensities, episodes.report.propensities[:, places])  # type: ignore[index]


def test_cut_and_padded_keep_the_report_with_propensities_of_their_horizon(tmp_path: Path) -> None:
    episodes = read_log(write(tmp_path, PROPENSITIES), "propensity=action_prob")
    cut, padded = episodes.cut(1), episodes.padded(4)
    assert cut.report is not None and padded.report is not None
    assert cut.report.propensities.tolist() == [[1, 1, 1], [1, 0.5, 0.125]]  # type: ignore[union-attr]
    assert padded.report.propensities.shape == (5, 3)  # type: ignore[union-attr]
    assert padded.report.propensities[2:].tolist() == [[1, 0.25, 1], [1, 1, 1], [1, 1, 1]]  # type: ignore[index]


def test_columns_joined_and_beside_drop_the_report(tmp_path: Path) -> None:
    episodes = read_log(write(tmp_path, RAGGED))
    for made in (episodes.columns(slice(1)), Episodes.joined([episodes] * 2), Episodes.beside([episodes] * 2)):
        assert made.report is None


def test_report_is_not_part_of_the_digest(tmp_path: Path) -> None:
    episodes = read_log(write(tmp_path, RAGGED))
    assert replace(episodes, report=None).digest(ordered=True) == episodes.digest(ordered=True)


@pytest.mark.parametrize(
    ("index", "error", "complaint"),
    [
        (3, IndexError, r"episodes\[3\]: there are 3 episodes. Use an index from -3 to 2"),
        (-4, IndexError, r"episodes\[-4\]: there are 3 episodes"),
        ([0, 7], IndexError, r"episodes\[7\]: there are 3 episodes. Use indices"),
        ([True, False], IndexError, "the mask has 2 entries for 3 episodes"),
        (1.0, TypeError, "not an index"),
        ("0", TypeError, "not an index"),
        (None, TypeError, "not an index"),
        (True, TypeError, "not an index"),
        ([0.5], TypeError, "not a list of indices"),
        ([[0]], TypeError, "not a list of indices"),
        (np.array(["a"]), TypeError, "not a list of indices"),
    ],
)
def test_index_refuses_what_selects_no_episode(
    tmp_path: Path, index: Any, error: type[Exception], complaint: str
) -> None:
    with pytest.raises(error, match=complaint):
        read_log(write(tmp_path, RAGGED))[index]
