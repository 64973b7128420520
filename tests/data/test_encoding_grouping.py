"""Any value: missing values, many values, and many rewards, which are never grouped unless asked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import suffice
from suffice.data.encoding.binning import LOWEST, Bins
from suffice.data.encoding.encoder import Encoder
from suffice.data.encoding.grouping import MOST_FREQUENT, OTHERS, Frequent, frequent_values
from suffice.data.episodes import Episodes
from suffice.data.logs.reading import read_log
from suffice.errors import LogError
from suffice.models.model_data import model_dict


def log_of(n: int = 2000, **columns: Any) -> dict[str, Any]:
    """Return a log of n episodes of one decision."""
    rng = np.random.default_rng(3)
    log = {"episode": np.arange(n), "step": np.zeros(n, int), "action": rng.integers(0, 2, n)}
    return log | {"reward": rng.integers(0, 2, n)} | columns


def encoder_of(episodes: Episodes) -> Encoder:
    assert episodes.report is not None
    return episodes.report.encoder


@pytest.mark.parametrize("nothing", [None, "", float("nan")])
def test_read_log_gives_missing_values_a_symbol_of_their_own(nothing: Any) -> None:
    values = ["a", nothing] * 5 if nothing == "" else [1.5, nothing] * 5
    episodes = read_log(log_of(10, o=values))
    assert {observation[0] for observation in episodes.alphabet.observations} == {"(missing)", values[0]}
    assert encoder_of(episodes).encode_observation({"o": nothing}) == ("(missing)",)
    assert encoder_of(episodes).encode_observation((None,)) == ("(missing)",)


def test_missing_values_are_apart_from_any_text() -> None:
    episodes = read_log(log_of(4, o=["missing", None, "a", ""]))
    assert [seen[0] for seen in episodes.alphabet.observations] == ["(missing)", "a", "missing"]
    with pytest.raises(LogError, match=r"row 1, column 'o': '\(missing\)' is the symbol of missing values"):
        read_log(log_of(2, o=["(missing)", "a"]))


def test_policies_take_missing_values_of_pandas() -> None:
    log = log_of(o=["a", None] * 1000)
    model = suffice.learn(log, observations="o")
    for nothing in (None, "", math.nan, pd.NA, pd.NaT, np.datetime64("NaT")):
        policy = model.policy()
        policy.reset()
        policy.act({"o": nothing})
        assert policy.fallbacks == 0, nothing


def test_json_shows_cuts_without_the_edge_of_missing_values() -> None:
    log = log_of(o=np.where(np.arange(2000) % 10 == 0, np.nan, np.linspace(0, 1, 2000)))
    model = suffice.learn(log, bins={"o": [0.5]})
    assert model_dict(model)["bins"] == {"o": [0.5]}


@pytest.mark.parametrize("bins", [4, [0.25, 0.5, 0.75], "4:width"])
def test_bins_hold_missing_values_apart(bins: Any) -> None:
    numbers = np.linspace(0, 1, 2000)
    missing = np.arange(2000) % 10 == 0
    episodes = read_log(log_of(o=np.where(missing, np.nan, numbers)), bins={"o": bins})
    encoder = encoder_of(episodes)
    kind = encoder.bins["o"]
    assert kind.edges[0] == LOWEST and len(kind.edges) == 4
    assert encoder.legend("o")[0] == "(missing)" and encoder.legend("o")[1].startswith("below 0.2")
    codes = [episodes.alphabet.observations[int(code) - 1][0] for code in episodes.letters[episodes.word[0], 1]]
    assert sorted(codes) == sorted(np.where(missing, 0, 1 + np.searchsorted(kind.edges[1:], numbers, side="right")))
    assert [kind.encode_value(value, "o") for value in (None, math.nan, -5.0, 0.3, 7)] == [0, 0, 1, 2, 4]


def test_bins_without_missing_values_refuse_them_later() -> None:
    like = read_log(log_of(o=np.linspace(0, 1, 2000)), bins={"o": 4}).report
    with pytest.raises(LogError, match="row 2, column 'o': the observation is missing"):
        read_log(log_of(3, o=[0.5, None, 0.2]), like=like)
    with pytest.raises(LogError, match="o: nan is not a finite number"):
        Bins((1.0,)).encode_value(math.nan, "o")


def test_learn_groups_rare_values_of_text_and_keeps_the_frequent_ones() -> None:
    words = [f"word {i}" if i % 2 else f"the {i % 4}" for i in range(4000)]
    log = log_of(4000, o=words, reward=[int(word == "the 0") for word in words])
    encoder = suffice.learn(log).encoder
    assert encoder.kinds == {"o": Frequent(("the 0", "the 2"))}
    assert encoder.encode_observation("unheard of") == (OTHERS,)
    assert Encoder.from_data(encoder.to_data()).kinds == encoder.kinds
    later = read_log(log_of(20, o=["the 0", "new"] * 10), like=encoder)
    assert [seen[0] for seen in later.alphabet.observations] == [OTHERS, "the 0"]


@pytest.mark.parametrize("o", [np.linspace(0, 1, 2000), [f"word {i % 1001}" for i in range(2000)]])
def test_read_log_refuses_more_values_than_the_limit(o: Any) -> None:
    """A group that only some ways of reading can find would make the model depend on the size of memory."""
    with pytest.raises(LogError, match="distinct values are too many for a finite alphabet"):
        read_log(log_of(o=o))


def test_an_encoder_that_is_given_never_groups_values() -> None:
    first = read_log(log_of(o=[f"word {i % 900}" for i in range(2000)]))
    longer = log_of(o=[f"word {i % 950}" for i in range(2000)])
    again = read_log(longer, like=first.report)
    assert {seen[0] for seen in again.alphabet.observations} == set(longer["o"])
    with pytest.raises(LogError, match="1,100 distinct values are too many"):
        read_log(log_of(o=[f"word {i % 1100}" for i in range(2000)]), like=first.report)


def test_frequent_values_do_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(7)
    words = np.repeat([f"word {i:03}" for i in range(100)], 10 + (np.arange(100) % 50 == 7))
    found = set()
    for _ in range(5):
        rng.shuffle(words)
        values, codes = np.unique(words, return_inverse=True)
        order = rng.permutation(len(values))
        found.add(frequent_values(tuple(values[order].tolist()), np.argsort(order)[codes]))
    (kept,) = found
    assert len(kept) == MOST_FREQUENT and {"word 007", "word 057"} < set(kept)
    assert set(kept) == {*(f"word {i:03}" for i in range(62)), "word 062"}


def test_read_log_keeps_every_reward_as_it_is() -> None:
    rewards = np.arange(900) / 8
    episodes = read_log(log_of(900, o=[1, 2] * 450, reward=rewards))
    assert episodes.alphabet.rewards == tuple(rewards), "groups with means would change returns"
    assert encoder_of(episodes).kinds == {}


def test_read_log_refuses_more_rewards_than_the_limit() -> None:
    for limit, rewards in ((1000, np.arange(2000)), (100, np.arange(2000) % 101)):
        with pytest.raises(LogError, match=r"distinct rewards are too many.* Bin them with bins=\{'reward': 8\}"):
            read_log(log_of(o=[1] * 2000, reward=rewards), max_values=limit)
