"""Held-out episodes are found again in the log of a model; an evaluation on learned episodes is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

import suffice
from suffice.data.episodes import Episodes
from suffice.models.held_out import find_held_out, is_log_of, learned_from, note_run


def log(seed: int, n: int = 400) -> Episodes:
    return suffice.make("t-maze", {"length": "2"}).simulate(n, 4, np.random.default_rng(seed))


def test_find_held_out_returns_what_learning_left_out() -> None:
    """Learned and held-out episodes together are the log; the model counts the learned ones."""
    episodes = log(1)
    model = suffice.learn(episodes, hold_out=0.25)
    held = find_held_out(model, episodes, np.ones(episodes.word.shape))
    assert held.of_same_log and held.episodes.total == 100
    assert held.propensities is not None and held.propensities.shape == held.episodes.word.shape
    rest = learned_from(episodes, 0.25)
    assert isinstance(rest, Episodes)
    assert model.rdp.counts[0].sum() == rest.total == 300
    both = np.sort(np.concatenate([rest.word.T, held.episodes.word.T]), axis=0)
    assert np.array_equal(both, np.sort(episodes.word.T, axis=0))


def test_find_held_out_takes_all_of_another_log() -> None:
    model, other = suffice.learn(log(1), hold_out=0.25), log(2)
    held = find_held_out(model, other)
    assert held.episodes is other and not held.of_same_log
    assert model.evaluate(other).n_episodes == other.total


def test_find_held_out_refuses_episodes_that_were_learned_from() -> None:
    episodes = log(1)
    with pytest.raises(suffice.SufficeError, match=r"m was learned from all of l, .* Learn with hold_out=0\.2"):
        find_held_out(suffice.learn(episodes), episodes, names=("m", "l"))


def test_find_held_out_refuses_a_log_read_with_other_options() -> None:
    episodes = log(1)
    fewer = episodes.columns(np.arange(350))
    with pytest.raises(suffice.SufficeError, match="Read the log with the same options"):
        find_held_out(suffice.learn(episodes, hold_out=0.25), fewer, same_log=True)


def test_find_held_out_refuses_a_log_that_is_cut(tmp_path: Path) -> None:
    """Its content differs from the model's log, so that the plan would be evaluated on what it was learned from."""
    suffice.write_log(log(1), tmp_path / "log.csv")
    model = suffice.learn(str(tmp_path / "log.csv"), hold_out=0.25)
    episodes = log(1).cut(3)
    with pytest.raises(suffice.SufficeError, match=r"at most 3 decisions, .* the model plans 4\. Read the log without"):
        find_held_out(model, episodes)
    with pytest.raises(suffice.SufficeError, match=r"cut to 3 decisions, .* the model plans 4\. Leave out horizon"):
        find_held_out(model, episodes, cut=True)


def test_find_held_out_takes_a_log_whose_episodes_end_early() -> None:
    early = suffice.make("t-maze", {"length": "2"}).simulate(400, 3, np.random.default_rng(2))
    assert find_held_out(suffice.learn(log(1)), early, cut=False).episodes.total == early.total


def test_find_held_out_recognises_a_log_with_another_declared_alphabet(tmp_path: Path) -> None:
    """Simulated episodes declare symbols that do not occur; a file of them is read without, or with a schema."""
    episodes, path, schema = log(1), tmp_path / "log.csv", tmp_path / "schema.json"
    suffice.write_log(episodes, path)
    suffice.write_schema(episodes.alphabet, schema)
    model = suffice.learn(episodes, hold_out=0.25)
    expected = model.evaluate(episodes).to_dict()
    for found in (model.evaluate(path), model.evaluate(path, schema=schema)):
        assert found.held_out and found.to_dict() == expected
    declared = suffice.learn(path, schema=schema, hold_out=0.25)
    assert declared.evaluate(path).held_out and declared.evaluate(episodes).held_out
    assert not declared.evaluate(log(2)).held_out
    with pytest.raises(suffice.SufficeError, match="learned from all of"):
        suffice.learn(episodes).evaluate(path, schema=schema)


def test_is_log_of_reads_the_notes_beside_the_model(tmp_path: Path) -> None:
    path, one, two = tmp_path / "a.model", tmp_path / "one.csv", tmp_path / "two.csv"
    suffice.write_log(log(1), one)
    suffice.write_log(log(2), two)
    assert not is_log_of(path, str(one))  # there are no notes
    note_run(path, 1.0, 1, [str(one)])
    assert is_log_of(path, str(one)) and not is_log_of(path, str(two))
    note_run(path, 1.0, 1, [str(one), str(two)])
    with pytest.raises(suffice.SufficeError, match="among others"):
        is_log_of(path, str(two))


def test_evaluate_refuses_episodes_that_were_cut(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    suffice.write_log(log(1), path)
    model, episodes = suffice.learn(path, hold_out=0.25), suffice.read_log(path)
    for cut in (episodes.cut(3), suffice.read_log(path, horizon=3), [episodes.cut(3)]):
        with pytest.raises(suffice.SufficeError, match=r"cut to 3 decisions, .* the model plans 4\. Leave out horizon"):
            model.evaluate(cut)
    with pytest.raises(suffice.SufficeError, match="cut to 3 decisions"):
        model.evaluate(episodes, horizon=3)
    with pytest.raises(suffice.SettingsError, match="what followed is not known"):
        episodes.cut(3).padded(4)


def test_evaluate_recognises_the_rows_of_a_slice(tmp_path: Path) -> None:
    """The digest is that of the letters and episodes used, whatever the rest of the log contains."""
    path = tmp_path / "log.csv"
    suffice.write_log(log(1), path)
    rare = suffice.read_log(path)
    some = rare[:8]
    assert len(some.compact().letters) < len(rare.letters)
    suffice.write_log(some, tmp_path / "some.csv")
    model = suffice.learn(some, hold_out=0.25)
    assert model.evaluate(tmp_path / "some.csv").held_out
    with pytest.raises(suffice.SufficeError, match="learned from all of"):
        suffice.learn(some).evaluate(tmp_path / "some.csv")


def test_find_held_out_finds_the_same_episodes_in_any_order() -> None:
    """Of equal episodes, some are held out and others are not: their number is what matters."""
    episodes = log(1)
    model = suffice.learn(episodes, hold_out=0.25)
    expected = sorted(find_held_out(model, episodes).episodes.word.T.tolist())
    learned = sorted(learned_from(episodes, 0.25).word.T.tolist())  # type: ignore[union-attr]
    assert any(word in learned for word in expected)
    for seed in range(3):
        other = episodes[np.random.default_rng(seed).permutation(episodes.n)]
        held = find_held_out(model, other)
        assert held.of_same_log and sorted(held.episodes.word.T.tolist()) == expected
        assert model.evaluate(other).held_out


def test_find_held_out_finds_episodes_in_any_form_of_the_log(tmp_path: Path) -> None:
    """Ids, file format, weights instead of repetitions and padding do not matter."""
    episodes = log(1)
    model = suffice.learn(episodes.padded(6), hold_out=0.25)
    words, times = np.unique(episodes.word, axis=1, return_counts=True)
    expected = find_held_out(model, episodes.padded(6)).episodes
    weighted = find_held_out(model, replace(episodes, word=words, weight=times), cut=False).episodes
    assert weighted.weight is not None
    repeated = np.repeat(weighted.word, weighted.weight, axis=1)
    assert sorted(repeated.T.tolist()) == sorted(expected.word[:5].T.tolist())
    suffice.write_log(episodes[::-1], tmp_path / "log.csv")
    read = find_held_out(model, suffice.read_log(tmp_path / "log.csv"), cut=False)
    assert read.of_same_log and read.episodes.total == expected.total


def test_find_held_out_divides_equal_episodes_fairly_by_propensity() -> None:
    """Propensities are not content: the first half of the log has others, and equal episodes of both are held out."""
    episodes = log(1, n=2000)
    model = suffice.learn(episodes, hold_out=0.25)
    propensities = np.where(np.arange(2000) < 1000, 0.5, 0.25) * np.ones(episodes.word.shape)
    held = find_held_out(model, episodes, propensities)
    assert held.propensities is not None
    share = (held.propensities[0] == 0.5).mean()
    assert 0.4 < share < 0.6
    order = np.random.default_rng(1).permutation(2000)
    again = find_held_out(model, episodes[order], propensities[:, order])
    assert again.propensities is not None
    pairs = [
        sorted(zip(h.episodes.word.T.tolist(), h.propensities[0].tolist(), strict=True))  # type: ignore[index]
        for h in (held, again)
    ]
    assert pairs[0] == pairs[1]


def test_find_held_out_refuses_a_model_that_held_out_by_position() -> None:
    """Earlier versions stored two digests: the episodes that they held out would not be found."""
    episodes = log(1)
    model = suffice.learn(episodes, hold_out=0.25)
    about = msgspec.structs.replace(model.about, log_hash=episodes.digest(ordered=True), log_content=episodes.digest())
    earlier = replace(model, about=about)
    for same_log, given in ((True, episodes), (False, episodes), (False, episodes[::-1])):
        with pytest.raises(suffice.SufficeError, match="held out episodes by their position"):
            find_held_out(earlier, given, same_log=same_log)


def test_find_held_out_refuses_the_file_of_the_log_read_with_other_content() -> None:
    episodes = log(1)
    other = replace(episodes, word=np.roll(episodes.word, 1, axis=1).copy()[:, ::-1])
    assert find_held_out(suffice.learn(episodes, hold_out=0.25), other, same_log=True).of_same_log
    other = episodes.columns(np.r_[0, np.arange(399)])
    with pytest.raises(suffice.SufficeError, match="Read the log with the same options"):
        find_held_out(suffice.learn(episodes, hold_out=0.25), other, same_log=True)


def test_evaluate_refuses_each_of_several_logs(tmp_path: Path) -> None:
    for name, seed in (("one.csv", 1), ("two.csv", 2), ("three.csv", 3)):
        suffice.write_log(log(seed), tmp_path / name)
    one, two, three = (tmp_path / name for name in ("one.csv", "two.csv", "three.csv"))
    model = suffice.learn([one, two])
    model.save(tmp_path / "a.model")
    learner = suffice.Learner().fit(one).partial_fit(two)
    for known in (model, suffice.load(tmp_path / "a.model"), learner.model_):
        for path in (one, two):
            with pytest.raises(suffice.SufficeError, match=r"was learned from .* among others"):
                known.evaluate(path)
        assert not known.evaluate(three).held_out
    with pytest.raises(suffice.SettingsError, match="episodes that the model was learned from"):
        learner.score(two)
    with pytest.raises(suffice.SettingsError, match=r"hold_out=0\.2 needs a single log"):
        suffice.learn([one, two], hold_out=0.2)


def test_evaluation_says_that_another_log_is_assumed_to_be_new() -> None:
    assert repr(suffice.learn(log(1)).evaluate(log(2))).endswith("by 400 episodes assumed to be new>")


def test_evaluate_reads_a_list_of_one_log_like_the_log(tmp_path: Path) -> None:
    early = suffice.make("t-maze", {"length": "2"}).simulate(400, 3, np.random.default_rng(2))
    path = tmp_path / "early.csv"
    suffice.write_log(early, path)
    model = suffice.learn(log(1))
    assert model.evaluate([path]).to_dict() == model.evaluate(path).to_dict()
