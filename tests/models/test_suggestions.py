"""Suggestions of what to try next."""

from __future__ import annotations

import json

import numpy as np
import pytest

import suffice
from suffice.data.episodes import Episodes
from suffice.errors import SettingsError
from suffice.models.suggestions import FEW_TRIES, suggest


def without(episodes: Episodes, observation: tuple[object, ...], action: object) -> Episodes:
    """The episodes in which an action does not follow an observation."""
    alphabet = episodes.alphabet
    seen = np.array([alphabet.observation(int(o)) == observation for _, o, _ in episodes.letters])
    done = np.array([alphabet.action(int(a)) == action for a, _, _ in episodes.letters])
    return episodes[np.flatnonzero(~(seen[episodes.word[:-1]] & done[episodes.word[1:]]).any(axis=0))]


def test_suggest_names_an_action_that_was_never_tried() -> None:
    whole = suffice.simulate("cookie", 3000, rng=1)
    model = suffice.learn(without(whole, ("green",), "eat"), stationary=True)
    found = [one for one in suggest(model, most=1000) if one.kind == "rare" and one.tried == 0]
    assert ("eat", ("green",)) in [(one.action, one.history[-1][1]) for one in found]


def test_suggest_asks_for_fewer_episodes_where_more_was_tried() -> None:
    model = suffice.learn(suffice.simulate("cookie", 30, rng=1), stationary=True)
    rare = [one for one in suggest(model, most=1000) if one.kind == "rare"]
    assert rare
    assert all(one.tried < FEW_TRIES <= one.tried + one.episodes for one in rare)
    gains = [one.gain for one in rare]
    assert gains == sorted(gains, reverse=True)  # type: ignore[type-var]
    assert max(gains) <= model.about.plan.best_return  # type: ignore[union-attr, type-var, operator]


def test_suggest_lists_undecided_merges_with_their_event() -> None:
    model = suffice.learn(suffice.simulate("mini-hall", 600, rng=2), stationary=True)
    undecided = [one for one in suggest(model, most=1000) if one.kind == "undecided"]
    assert len(undecided) == len(model.undecided())
    assert all(one.event and one.other is not None and one.episodes >= 1 for one in undecided)


def test_suggest_gives_the_same_as_data() -> None:
    model = suffice.learn(suffice.simulate("corridor", 40, rng=1))
    for one in suggest(model, most=3):
        assert json.loads(json.dumps(one.to_dict()))["text"] == one.text
        assert len(one.text) > 10


def test_suggest_refuses_a_number_below_one() -> None:
    model = suffice.learn(suffice.simulate("corridor", 40, rng=1))
    with pytest.raises(SettingsError, match="most"):
        suggest(model, most=0)
