"""Random choices depend on the content of the episodes alone, and are fair."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import suffice
from suffice.data import content
from suffice.data.alphabet import Alphabet
from suffice.data.content import content_hashes, draw, draw_weighted, letter_hashes, sample, shuffled
from suffice.data.episodes import Episodes
from suffice.kernels.array_types import Int64, UInt64


def log(n: int = 300, horizon: int = 3, seed: int = 1) -> Episodes:
    """Return episodes of which many are equal."""
    return suffice.make("t-maze", {"length": "2"}).simulate(n, horizon, np.random.default_rng(seed))


def multiset(episodes: Episodes) -> Counter[tuple[int, ...]]:
    """Count equal episodes, with their weights."""
    weight = [1] * episodes.n if episodes.weight is None else episodes.weight.tolist()
    found: Counter[tuple[int, ...]] = Counter()
    for word, times in zip(episodes.word.T.tolist(), weight, strict=True):
        found[tuple(word)] += times
    return found


def weighted(episodes: Episodes, seed: int = 3) -> tuple[Episodes, Episodes]:
    """Return episodes with weights, and the same with repetitions instead, in another order."""
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 6, episodes.n)
    repeated = np.repeat(np.arange(episodes.n), weight)
    return replace(episodes, weight=weight), episodes.columns(rng.permutation(repeated))


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("shuffle", [True, False])
def test_divide_depends_on_content_alone(shuffle: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal episodes are on both sides; so are those of an episode with a weight, one by one or by groups."""
    if not shuffle:
        monkeypatch.setattr(content, "MOST_SHUFFLED", 0)
        monkeypatch.setattr(content, "MOST_EQUAL", 0)
    plain = log()
    heavy, repeated = weighted(plain)
    for episodes, same in ((plain, plain), (repeated, heavy)):
        parts = [multiset(part) for part in episodes.divide(0.3, generator())[:2]]
        assert parts[0] & parts[1] and parts[0] + parts[1] == multiset(episodes)
        for seed in range(5):
            other = same.columns(generator(seed).permutation(same.n))
            rest, held, chosen = other.divide(0.3, generator())
            assert [multiset(rest), multiset(held)] == parts
            assert np.array_equal(other.word[:, chosen], held.word)


def test_divide_gives_the_same_stored_episodes_for_any_order_of_equal_ones() -> None:
    """Equal episodes of different weights are taken in the order of their weights."""
    heavy, _ = weighted(log())
    expected: list[Counter[tuple[int, ...]]] = []
    for seed in range(4):
        parts = heavy.columns(generator(seed).permutation(heavy.n)).divide(0.3, generator())[:2]
        stored = [
            Counter((*word, w) for word, w in zip(p.word.T.tolist(), p.weight.tolist(), strict=True))  # type: ignore[union-attr]
            for p in parts
        ]
        expected = expected or stored
        assert stored == expected


@pytest.mark.parametrize("method", ["draw", "one by one", "by groups"])
def test_draw_is_a_fair_sample_without_replacement(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every subset of positions is equally likely, so that those of 6 episodes, some of them equal, can be counted."""
    hashes = np.array([5, 9, 5, 2, 9, 5], np.uint64)
    unique, weight = np.unique(hashes, return_counts=True)
    monkeypatch.setattr(content, "MOST_SHUFFLED", 0 if method == "by groups" else 1 << 24)
    monkeypatch.setattr(content, "MOST_EQUAL", 0 if method == "by groups" else 16)
    expected = Counter(tuple(sorted(hashes[list(chosen)].tolist())) for chosen in combinations(range(6), 3))
    times, rng, found = 4000, generator(7), Counter[tuple[int, ...]]()
    for _ in range(times):
        if method == "draw":
            taken = hashes[draw(hashes, 3, rng)]
        else:
            taken = np.repeat(unique, draw_weighted(unique, weight, 3, rng))
        found[tuple(sorted(taken.tolist()))] += 1
    assert found.keys() == expected.keys()
    chances = {key: n / expected.total() for key, n in expected.items()}
    chi2 = sum((found[key] - times * p) ** 2 / (times * p) for key, p in chances.items())
    assert chi2 < 22.5  # 0.999 quantile of 6 degrees of freedom


def test_draw_is_independent_of_content() -> None:
    """The mean return of the drawn half is that of the log, with the variance of a random half."""
    episodes = suffice.make("cheese").simulate(400, 6, generator(2))
    value = np.array(episodes.alphabet.rewards)[episodes.letters[episodes.word, 2]].sum(axis=0)
    hashes, rng = content_hashes(episodes), generator(5)
    means = np.array([value[draw(hashes, 200, rng)].mean() for _ in range(2000)])
    error = value.std(ddof=1) * np.sqrt((1 - 0.5) / 200)
    assert abs(means.mean() - value.mean()) < 4 * error / np.sqrt(2000)
    assert 0.93 < means.std() / error < 1.07


def test_draw_refuses_too_many_episodes() -> None:
    few: UInt64 = np.arange(2, dtype=np.uint64)
    weight: Int64 = np.array([1, 10**9])
    with pytest.raises(suffice.LogError, match="cannot be divided at random"):
        draw_weighted(few, weight, 5, generator())


def test_sample_and_shuffled_depend_on_content_alone() -> None:
    heavy, _ = weighted(log())
    for episodes in (log(), heavy):
        chosen, order = [], []
        for seed in range(4):
            other = episodes.columns(generator(seed).permutation(episodes.n))
            mask = sample(content_hashes(other), other.weight, 100, generator())
            assert np.count_nonzero(mask) == 100
            chosen.append(multiset(other.columns(np.flatnonzero(mask))))
            mixed = shuffled(other, generator())
            order.append((mixed.word.tobytes(), None if mixed.weight is None else mixed.weight.tobytes()))
        assert all(one == chosen[0] for one in chosen) and len(set(order)) == 1


def test_content_hashes_differ_for_different_episodes() -> None:
    """A literal hash table has as many entries as there are distinct episodes."""
    for episodes in (log(2000), suffice.make("cheese").simulate(3000, 8, generator(1))):
        of_content: dict[tuple[int, ...], int] = {}
        for word, value in zip(episodes.word.T.tolist(), content_hashes(episodes).tolist(), strict=True):
            assert of_content.setdefault(tuple(word), value) == value
        assert len(set(of_content.values())) == len(of_content)


def test_content_hashes_do_not_depend_on_numbering_types_or_padding() -> None:
    episodes = log(200, horizon=4)
    known = content_hashes(episodes)
    assert np.array_equal(content_hashes(episodes.padded(7)), known)
    some = episodes[:10]
    assert len(some.compact().letters) < len(some.letters)
    assert np.array_equal(content_hashes(some.compact()), known[:10])
    larger = Alphabet(
        ("A", *episodes.alphabet.actions), episodes.alphabet.features, episodes.alphabet.observations, (-9, 0, 1)
    )
    assert np.array_equal(content_hashes(Episodes.joined([episodes, other_actions(episodes, larger)]))[:200], known)
    typed = [Alphabet((one, 2), ("x",), ((one,), ("é",)), (1,)) for one in (1, 1.0, True)]
    codes = np.array([[0, 0], [2, 3]]), np.array([[1, 2], [0, 0]]), np.array([[0, 0], [1, 0]])
    hashes = {tuple(letter_hashes(Episodes.from_steps(each, *codes).outline).tolist()) for each in typed}
    assert len(hashes) == 1


def other_actions(episodes: Episodes, alphabet: Alphabet) -> Episodes:
    """Return an episode with an action and a reward that the others do not have."""
    action = np.array([[0], [2]])
    return Episodes.from_steps(alphabet, action, np.array([[1], [0]]), np.array([[1], [0]]))
