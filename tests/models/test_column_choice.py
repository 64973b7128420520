"""Models whose columns were chosen by the data: what they use, at run time and in later logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import suffice
from suffice.data.streaming import MemoryBudget
from suffice.models.column_texts import column_sentences, columns_text, evidence_rows

MAZE = suffice.make("t-maze", length=3)


def maze_log(n: int = 1200, seed: int = 0) -> dict[str, Any]:
    """A T-maze with irrelevant categories and numbers, a number that shows the cue, and an identifier."""
    episodes = suffice.simulate(MAZE, n, 8, rng=seed)
    rng = np.random.default_rng(seed)
    log: dict[str, list[Any]] = {"episode": [], "step": [], "price": [], "bit1": [], "action": [], "reward": []}
    for i, episode in enumerate(episodes):
        for t, step in enumerate(episode):
            log["episode"].append(i)
            log["step"].append(t)
            log["price"].append(round(float(10 + 5 * step.observation["bit1"] + rng.normal()), 3))
            log["bit1"].append(step.observation["bit1"])
            log["action"].append(step.action)
            log["reward"].append(step.reward)
    rows = len(log["step"])
    log |= {f"noise{i}": rng.integers(0, 4, rows) for i in range(4)} | {"person": [f"p{i}" for i in log["episode"]]}
    return log


@pytest.fixture(scope="module")
def log() -> dict[str, Any]:
    return maze_log()


@pytest.fixture(scope="module")
def model(log) -> suffice.Model:
    return suffice.learn(log, observations="auto", stationary=True)


def without(log: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: column for name, column in log.items() if name not in names}


def test_learn_uses_the_column_that_matters(model):
    about = model.to_dict()
    assert about["columns"] == [{"name": "bit1", "kind": "category", "groups": None}]
    assert about["columns_ignored"] == ["price", "noise0", "noise1", "noise2", "noise3", "person"]
    assert about["columns_evidence"]["left_out"] == {"person": "identifier"}
    assert model.evaluate_in(MAZE, exact=True).policy.mean_return.value == pytest.approx(4)
    assert model.compare(MAZE) is None


def test_learn_cuts_a_number(log):
    model = suffice.learn(without(log, "bit1"), observations="auto", stationary=True)
    (column,) = model.to_dict()["columns"]
    assert column["name"] == "price" and column["kind"] == "number" and 11.5 < column["cuts"][0] < 14
    assert model.in_words.rdp.alphabet.observations[0][0].label.startswith("below 1")


def test_learn_gives_the_model_of_the_named_columns(log, model):
    """The encoder is the whole result: naming its columns gives the same automaton and plan."""
    named = suffice.learn(log, observations=["bit1"], stationary=True)
    assert (named.rdp.tau == model.rdp.tau).all() and (named.rdp.counts == model.rdp.counts).all()
    assert named.about.log_hash == model.about.log_hash and not named.about.columns_found


def test_learn_has_the_same_bytes_in_any_order_and_form(log, tmp_path: Path):
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    table = pa.table({name: list(column) for name, column in log.items()})
    pq.write_table(table, tmp_path / "log.parquet")
    pa.csv.write_csv(table.take(np.random.default_rng(0).permutation(len(table))), tmp_path / "log.csv")
    for source, threads in (("log.parquet", 1), ("log.csv", 2)):
        found = suffice.learn(tmp_path / source, observations="auto", stationary=True, threads=threads)
        found.save(tmp_path / f"{source}.model")
    assert (tmp_path / "log.parquet.model").read_bytes() == (tmp_path / "log.csv.model").read_bytes()


def test_policy_needs_only_the_columns_of_the_model(model, tmp_path: Path):
    model.save(tmp_path / "wide.model")
    policy = suffice.load(tmp_path / "wide.model").policy(strict=True)
    actions = []
    for seen in ({"bit1": 1}, {"bit1": 1, "noise0": 77, "new": "x"}, (9.5, 1, 0, 0, 0, 0, "p1"), 1):
        policy.reset()
        actions.append(policy.act(seen))
    assert len(set(actions)) == 1
    with pytest.raises(suffice.LogError, match="'bit1' is missing"):
        policy.act({"noise0": 1})


def test_later_logs_may_lack_other_columns_or_have_new_ones(model):
    later = without(maze_log(300, seed=9), "noise0", "person") | {"extra": ["x"] * len(maze_log(300, seed=9)["step"])}
    again = suffice.learn(later, like=model)
    assert again.encoder.features == ("bit1",)
    assert model.evaluate(later).to_dict()["episodes"] == 300


def test_learn_where_no_column_matters():
    rng = np.random.default_rng(0)
    rows = 300 * 4
    log = {
        "episode": np.repeat(np.arange(300), 4),
        "step": np.tile(np.arange(4), 300),
        "x": rng.normal(size=rows),
        "colour": rng.choice(["a", "b", "c"], rows),
        "action": (action := rng.integers(0, 2, rows)),
        "reward": (rng.random(rows) < 0.2 + 0.5 * action).astype(int),
    }
    model = suffice.learn(log, observations="auto")
    assert model.to_dict()["columns"] == [] and model.to_dict()["columns_ignored"] == ["x", "colour"]
    policy = model.policy()
    policy.reset()
    assert policy.act({}) == policy.act((0.3, "b")) == 1
    assert "none of 2 matters" in repr(model)
    assert suffice.learn(log, like=model).encoder.offered == ("x", "colour")


def test_column_texts_name_evidence_and_example(model):
    text = columns_text(model.about)
    assert text == "bit1 (a later reward) matters; 6 others do not"
    sentences = list(column_sentences(model.about.columns_found))
    assert sentences[0].startswith("bit1: evidence 10^") and "For example, with bit1 = " in sentences[0]
    assert "Not tried, a different value in every row or episode: person." in sentences
    assert any("0.001" in sentence for sentence in sentences)
    rows = evidence_rows(model.about.columns_found)
    assert rows[0][0] == "bit1" and rows[0][1] > rows[0][2] and all(e <= needed for _, e, needed in rows[1:])


def test_observations_auto_refuses_episodes():
    episodes = suffice.simulate("corridor", 50)
    with pytest.raises(suffice.SettingsError, match="observations"):
        suffice.learn(episodes, observations="auto")
    assert suffice.learn(episodes, observations="all").n_states > 1


def test_options_of_the_paper_use_all_columns():
    from suffice.models.column_choice import columns_chosen_by
    from suffice.models.learn_options import LearnOptions
    from suffice.models.log_options import LogOptions

    for given in ({"metric": "prefixes"}, {"bound": "paper"}, {"cut": 0.1}, {"split": True}, {"delta": 0.01}):
        assert columns_chosen_by(LogOptions(), LearnOptions(**given), None) == "caller"
    assert columns_chosen_by(LogOptions(), LearnOptions(), None) == "data if possible"
    assert columns_chosen_by(LogOptions(), LearnOptions(delta=0.01, stationary="yes"), None) == "data if possible"
    assert columns_chosen_by(LogOptions(observations="auto"), LearnOptions(), None) == "data"
    assert columns_chosen_by(LogOptions(observations="all"), LearnOptions(), None) == "caller"
    assert columns_chosen_by(LogOptions(observations="a,b"), LearnOptions(), None) == "caller"


def test_learn_chooses_columns_of_wide_logs_by_default(log, model):
    by_default = suffice.learn(log, stationary=True)
    assert by_default.encoder == model.encoder and by_default.about.columns_found == model.about.columns_found


def test_learn_uses_all_columns_of_clean_narrow_logs_by_default(tmp_path: Path):
    """Redundant columns of a log with few observations do no harm, and stay."""
    suffice.write_log(suffice.simulate(MAZE, 1200, 8, rng=0), tmp_path / "log.parquet")
    narrow = suffice.learn(tmp_path / "log.parquet", stationary=True)
    assert narrow.encoder.features == ("bit1", "bit2", "bit3") and not narrow.about.columns_found


def test_learn_leaves_out_columns_of_narrow_logs_that_do_harm(log):
    """Two irrelevant binary columns multiply a small alphabet by four."""
    rng = np.random.default_rng(1)
    noisy = without(log, "price", "noise0", "noise1", "noise2", "noise3", "person")
    noisy |= {f"noise{i}": rng.integers(0, 2, len(log["step"])) for i in range(2)}
    model = suffice.learn(noisy, stationary=True)
    assert model.encoder.features == ("bit1",) and model.to_dict()["columns_ignored"] == ["noise0", "noise1"]
    assert model.evaluate_in(MAZE, exact=True).policy.mean_return.value == pytest.approx(4)


def test_learn_uses_all_columns_if_the_caller_bins_one(log):
    binned = suffice.learn(without(log, "noise1", "noise2", "noise3", "person"), bins={"price": 3}, stationary=True)
    assert binned.encoder.features == ("price", "bit1", "noise0") and not binned.about.columns_found


def test_learn_chooses_columns_of_grouped_logs(log):
    """Columns of the person do not seem to matter because persons differ; what matters is found among them."""
    grouped = without(log, "price") | {"person": np.array(log["episode"]) // 10}
    rng = np.random.default_rng(3)
    grouped |= {f"trait{i}": rng.integers(0, 4, 120)[grouped["person"]] for i in range(4)}
    model = suffice.learn(grouped, group_column="person", stationary=True)
    assert model.encoder.features == ("bit1",)
    named = suffice.learn(grouped, group_column="person", observations="bit1", stationary=True)
    assert (named.rdp.tau == model.rdp.tau).all() and (named.rdp.counts == model.rdp.counts).all()
    assert suffice.learn(grouped, columns={"group": "person"}, stationary=True).encoder.features == ("bit1",)


def test_ends_do_not_depend_on_the_chosen_columns():
    """A column that predicts the end of an episode decides how episodes end, and is chosen because of it."""
    rng, rows = np.random.default_rng(0), []
    for i in range(500):
        for t in range(8):
            seen = rng.integers(0, 2)
            rows.append((i, t, seen, rng.integers(0, 3), rng.integers(0, 2), -1.0))
            if seen and rng.random() < 0.6:
                break
    names = ("episode", "step", "seen", "noise", "action", "reward")
    log = {name: np.array([row[j] for row in rows]) for j, name in enumerate(names)}
    chosen, every = (suffice.learn(log, observations=given, stationary=True) for given in ("auto", "all"))
    assert chosen.encoder.features == ("seen",)
    assert chosen.about.ends == every.about.ends and chosen.about.ends.kind == "terminal"


def test_check_says_which_columns_matter(log):
    found = suffice.check(log, seconds=5)
    assert found.columns == ["bit1"] and found.ignored == ("price", "noise0", "noise1", "noise2", "noise3", "person")
    assert found.sentences[0] == "Bit1 (a later reward) matters; 6 others do not."
    assert found.sentences[1].startswith("bit1: evidence 10^") and "For example, with bit1" in found.sentences[1]
    data = found.to_dict()
    assert data["columns"] == ["bit1"] and data["columns_ignored"] == list(found.ignored)
    assert data["columns_evidence"]["chosen"][0]["columns"] == ["bit1"]
    every = suffice.check(without(log, "price", "person"), observations="bit1,noise0", seconds=5)
    assert every.found is None and every.columns == ["bit1", "noise0"] and not every.column_sentences


def test_text_is_grouped_alike_in_memory_and_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    share = 1 / np.arange(1, 1201)
    word = rng.choice([f"word {i}" for i in range(1200)], 2000, p=share / share.sum())
    action = rng.integers(0, 2, 2000)
    log = {"episode": np.arange(2000), "word": word, "action": action, "reward": (word == "word 0") ^ (action == 1)}
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table(log | {"reward": log["reward"].astype(int)}), path)
    at_once = suffice.learn(path)
    monkeypatch.setattr(MemoryBudget, "holds", lambda room, dataset: False)
    in_pieces = suffice.learn(path)
    assert at_once.encoder == in_pieces.encoder and list(at_once.encoder.kinds) == ["word"]
    assert at_once.rdp.alphabet == in_pieces.rdp.alphabet
