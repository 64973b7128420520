"""Lengths and groups of episodes: selection, concatenation, other horizons, hashes, division and storage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from oracle import random_episodes
from suffice.data.content import content_hashes, merged, shuffled
from suffice.data.episodes import Episodes
from suffice.data.log import content_of, digest
from suffice.data.stored import StoredLog, Writer
from suffice.errors import SufficeError
from support.censoring import censored, censored_at


def complete(n: int = 200, seed: int = 1) -> Episodes:
    return random_episodes(np.random.default_rng(seed), 5, 2, 3, 2, 3, n, early_end=0.2)


def log(n: int = 200, seed: int = 1) -> Episodes:
    """Return episodes of which many are cut off, in groups of different sizes."""
    rng = np.random.default_rng(seed)
    return replace(censored(complete(n, seed), rng), group=rng.integers(0, 30, n).astype(np.uint64))


def stored(episodes: Episodes, piece: int = 37) -> StoredLog:
    writer = Writer(episodes.horizon)
    for begin in range(0, episodes.n, piece):
        writer.add(episodes.columns(slice(begin, begin + piece)))
    return writer.finish(1)


def same(one: Episodes, other: Episodes) -> bool:
    assert one.length is not None and other.length is not None and one.group is not None and other.group is not None
    return (
        np.array_equal(one.letters[one.word], other.letters[other.word])
        and np.array_equal(one.length, other.length)
        and np.array_equal(one.group, other.group)
    )


def test_episodes_keep_lengths_and_groups_when_selected_and_concatenated() -> None:
    episodes = log()
    parts = [episodes[:50], episodes[np.arange(50, 120)], episodes[np.arange(200) >= 120]]
    assert same(Episodes.beside(parts), episodes) and same(Episodes.joined(parts), episodes)
    assert same(episodes.compact(), episodes)
    assert episodes.length is not None
    later = episodes.columns(slice(None), since=2)
    assert later.length is not None and np.array_equal(later.length, np.maximum(episodes.length - 2, 0))


def test_beside_completes_the_lengths_of_parts_without_any() -> None:
    episodes = censored(complete(), np.random.default_rng(0))
    assert episodes.length is not None
    whole = np.flatnonzero(episodes.length == 6)
    parts = [replace(episodes.columns(whole), length=None), episodes]
    joined = Episodes.beside(parts).length
    assert joined is not None and joined.tolist() == [6] * len(whole) + episodes.length.tolist()


def test_joined_refuses_logs_of_which_only_some_have_groups() -> None:
    with pytest.raises(SufficeError, match="some of the logs have groups and others do not"):
        Episodes.joined([log(), censored(complete(), np.random.default_rng(0))])


def test_lengths_and_decode_count_observed_decisions_only() -> None:
    whole = complete()
    last = np.full(whole.n, 2)
    episodes = censored_at(whole, last)
    assert np.array_equal(episodes.lengths(), np.minimum(whole.lengths(), 2))
    for i in range(20):
        assert episodes[i] == whole[i][:2]


def test_cut_shortens_lengths_and_forgets_them_if_all_steps_are_observed() -> None:
    episodes = log()
    assert episodes.length is not None
    three = episodes.cut(3)
    assert three.length is not None and np.array_equal(three.length, np.minimum(episodes.length, 4))
    assert episodes.cut(1).length is None and not episodes.cut(1).censored


def test_padded_censors_episodes_that_reached_the_horizon_of_a_censored_log() -> None:
    episodes = log()
    longer = episodes.padded(7)
    assert episodes.length is not None and longer.length is not None
    ended = (episodes.length == 6) & (episodes.lengths() < 5)
    assert (longer.length[ended] == 8).all() and ended.any()
    assert np.array_equal(longer.length[~ended], episodes.length[~ended])
    assert same(longer.cut(5), episodes)


def test_digest_depends_on_the_lengths_of_censored_episodes_alone() -> None:
    whole = complete()
    all_steps = replace(whole, length=np.full(whole.n, 6, np.int32))
    assert all_steps.digest() == whole.digest() and np.array_equal(content_hashes(all_steps), content_hashes(whole))
    episodes = censored(whole, np.random.default_rng(0))
    ended = replace(episodes, length=None)  # the same steps, as if the episodes had ended
    assert episodes.digest() != ended.digest()
    differ = content_hashes(episodes) != content_hashes(ended)
    assert episodes.length is not None and np.array_equal(differ, episodes.length < 6)


def test_merged_keeps_censored_and_ended_episodes_and_groups_apart() -> None:
    whole = complete()
    whole = whole[whole.lengths() > 1]
    cut = censored_at(whole, np.full(whole.n, 1))
    ended = replace(cut, length=None)
    assert merged(Episodes.beside([cut, ended])).n == merged(cut).n + merged(ended).n
    of_two = replace(ended, group=(np.arange(whole.n) % 2).astype(np.uint64))
    assert merged(of_two).n > merged(ended).n


def test_stored_log_has_the_lengths_groups_and_digest_of_the_log_in_memory() -> None:
    episodes = log()
    on_disk = stored(episodes)
    assert on_disk.censored and on_disk.grouped and not on_disk.weighted
    found = Episodes.beside([on_disk.block(i) for i in range(len(on_disk.sizes))])
    assert same(found, episodes)
    since = Episodes.beside([on_disk.block(i, 3) for i in range(len(on_disk.sizes))])
    assert since.length is not None
    assert np.array_equal(since.length, episodes.columns(slice(None), 3).length)  # type: ignore[arg-type]
    assert digest(on_disk) == episodes.digest()
    assert np.array_equal(content_of(on_disk).hashes, content_hashes(episodes))


def test_divide_keeps_groups_together_whatever_the_order_or_place_of_episodes() -> None:
    episodes = log()
    rest, held, chosen = episodes.divide(0.3, np.random.default_rng(0))
    assert rest.group is not None and held.group is not None
    assert not set(rest.group.tolist()) & set(held.group.tolist())
    assert abs(held.n / episodes.n - 0.3) < 0.05 and held.n + rest.n == episodes.n
    order = np.random.default_rng(5).permutation(episodes.n)
    other = episodes.columns(order).divide(0.3, np.random.default_rng(0))[1]
    assert sorted(content_hashes(other).tolist()) == sorted(content_hashes(held).tolist())
    outside = stored(episodes).divide(0.3, np.random.default_rng(0))[2]
    assert np.array_equal(outside, chosen)


def test_divide_refuses_a_single_group() -> None:
    with pytest.raises(SufficeError, match="Groups stay together"):
        replace(log(), group=np.zeros(200, np.uint64)).divide(0.5, np.random.default_rng(0))


def test_shuffled_depends_on_content_lengths_and_groups_alone() -> None:
    episodes = log()
    order = np.random.default_rng(3).permutation(episodes.n)
    one, other = (shuffled(e, np.random.default_rng(0)) for e in (episodes, episodes.columns(order)))
    assert same(one, other)
