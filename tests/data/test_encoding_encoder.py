"""The encoder against a literal implementation, and equal symbols in logs and at run time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice import Bins, EqualWidth, LogError, Model, ModelError, SettingsError, learn, load, read_log
from suffice.data.alphabet import Value
from suffice.data.encoding.binning import parse_binning, request_of
from suffice.data.encoding.columns import Columns
from suffice.data.encoding.encoder import Encoder, EncoderRequest
from suffice.data.encoding.kinds import KINDS, ColumnEncoder, LogColumn
from suffice.data.encoding.tables import Coded, LogTable
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.reading import ReadOptions, read_as
from suffice.data.streaming import MemoryBudget, read_stored

NUMBERS = st.floats(-1e6, 1e6, width=32).map(float) | st.integers(-1000, 1000)
EDGES = st.lists(st.integers(-20, 20), min_size=1, max_size=4, unique=True).map(lambda e: tuple(map(float, sorted(e))))


@st.composite
def columns_and_kinds(draw: st.DrawFn) -> tuple[dict[str, list[Any]], dict[str, Bins]]:
    """Draw a table with an action, a reward and up to three observation columns, some of them binned."""
    n = draw(st.integers(1, 30))
    columns: dict[str, list[Any]] = {}
    kinds: dict[str, Bins] = {}
    for name in ("action", "reward", *"xyz"[: draw(st.integers(1, 3))]):
        binned = draw(st.booleans())
        numbers = st.integers(-20, 20) if draw(st.booleans()) else st.floats(-20, 20)
        text = name != "reward" and not binned and draw(st.booleans())
        columns[name] = draw(st.lists(st.sampled_from("abc") if text else numbers, min_size=n, max_size=n))
        if binned:
            edges = draw(EDGES)
            levels = tuple(float(i) for i in range(len(edges) + 1)) if name == "reward" else ()
            kinds[name] = Bins(edges, levels)
    return columns, kinds


def literal_symbol(value: Any, kind: Bins | None) -> Value:
    """Return the symbol of one value by the definition."""
    if kind is not None:
        return sum(edge <= value for edge in kind.edges)
    return int(value) if isinstance(value, float) and value == math.floor(value) else value


def decoded(coded: Coded[Any]) -> list[Any]:
    return [coded.values[code] for code in coded.codes.tolist()]


@settings(deadline=None)
@given(columns_and_kinds())
def test_encode_agrees_with_a_literal_implementation(drawn: tuple[dict[str, list[Any]], dict[str, Bins]]) -> None:
    columns, kinds = drawn
    features = tuple(name for name in columns if name in "xyz")
    encoder = Encoder(Columns(action="action", reward="reward", observations=features), kinds)
    encoded = encoder.encode(LogTable.of(pa.table(columns), "the table"))
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    expected = [tuple(literal_symbol(row[name], kinds.get(name)) for name in features) for row in rows]
    assert decoded(encoded.observation) == expected
    assert decoded(encoded.action) == [literal_symbol(row["action"], kinds.get("action")) for row in rows]
    if "reward" in kinds:
        levels = kinds["reward"].levels
        assert decoded(encoded.reward) == [levels[int(literal_symbol(row["reward"], kinds["reward"]))] for row in rows]
    else:
        assert decoded(encoded.reward) == [float(row["reward"]) for row in rows]
    for row, symbols in zip(rows, expected, strict=True):
        in_order = tuple(row[name] for name in features)
        assert encoder.encode_observation(row) == encoder.encode_observation(in_order) == symbols


@settings(deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=40), st.integers(2, 6))
def test_fit_finds_the_edges_of_the_definition(values: list[float], count: int) -> None:
    column = LogColumn(LogTable.of(pa.table({"x": pa.array(map(float, values))}), "the table"), "x")
    ranked, low, high = sorted(values), float(min(values)), float(max(values))
    quantiles = {ranked[max(math.ceil(len(values) * k / count) - 1, 0)] for k in range(1, count)}
    assert request_of("x", count).fit(column) == Bins(tuple(sorted(float(q) for q in quantiles if q > low)))
    even = {low * (1 - k / count) + high * (k / count) for k in range(1, count)}
    assert EqualWidth(count).fit(column) == Bins(tuple(sorted(edge for edge in even if edge > low)))


@settings(deadline=None)
@given(EDGES)
def test_parse_binning_reads_the_text_of_bins(edges: tuple[float, ...]) -> None:
    assert parse_binning(str(Bins(edges))) == edges


@pytest.mark.parametrize(
    "bins", [{"edges": (2.0, 1.0)}, {"edges": (0.0, math.nan)}, {"edges": (1.0,), "levels": (1.0,)}], ids=repr
)
def test_bins_refuse_unsorted_edges_and_a_wrong_number_of_levels(bins: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="edges"):
        Bins(**bins)


# ---------------------------------------------------------------- one log in memory, in pieces and at run time


def rows_of_log(seed: int = 0, n: int = 60) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    length = 3
    return {
        "episode": np.repeat(np.arange(n), length),
        "step": np.tile(np.arange(length), n),
        "heat": np.round(rng.normal(size=n * length), 2),
        "mood": rng.choice(["calm", "angry"], n * length),
        "dose": rng.integers(0, 9, n * length),
        "gain": np.round(rng.normal(size=n * length), 1),
    }


COLUMNS = "action=dose,reward=gain"
BINS: dict[str, Any] = {"heat": (-0.5, 0.5), "dose": EqualWidth(2)}


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table(rows_of_log()), path, row_group_size=17)
    return str(path)


def test_encoder_gives_equal_symbols_in_memory_in_pieces_and_at_run_time(
    log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = ReadOptions(EncoderRequest.of(COLUMNS, BINS))
    episodes, report = read_as(log, how)
    monkeypatch.setattr(MemoryBudget, "rows", 10)
    dataset = Dataset.of(log)
    assert dataset is not None
    stored, in_pieces = read_stored(dataset, how, MemoryBudget(1 << 40))
    assert in_pieces.encoder == report.encoder and stored.alphabet == episodes.alphabet
    words = np.concatenate([stored.block(i).word for i in range(len(stored.blocks))], axis=1)
    np.testing.assert_array_equal(words, episodes.word)
    policy = Model.load(saved(log, "a.model")).policy()
    rows = rows_of_log()
    for i in range(len(rows["step"])):
        code = episodes.letters[episodes.word[rows["step"][i], rows["episode"][i]], 1]
        seen = {"heat": rows["heat"][i], "mood": rows["mood"][i], "unused": 1}
        assert policy.encoder.encode_observation(seen) == episodes.alphabet.observation(int(code))


def test_policy_observe_reaches_the_states_of_the_logged_rows(log: str) -> None:
    model = load(saved(log, "a.model"))
    episodes = read_log(log, COLUMNS, bins=BINS)
    states, policy, rows = model.rdp.run_all(episodes), model.policy(), rows_of_log()
    actions = model.encoder.kinds["dose"]
    for e in range(episodes.n):
        policy.reset()
        for i in range(3 * e, 3 * e + 3):
            before = None if i == 3 * e else actions.encode_value(int(rows["dose"][i - 1]), "dose")
            policy.observe(before, (rows["heat"][i], rows["mood"][i]))
            assert policy.state == states[i - 3 * e + 1, e]
    assert policy.fallbacks == 0


def saved(log: str, name: str) -> str:
    path = str(Path(log).with_name(name))
    learn(log, columns=COLUMNS, bins={**BINS, "gain": 3}, stationary=False).save(path)
    return path


def test_load_returns_the_encoder_without_usual_column_names(log: str) -> None:
    report = read_log(log, COLUMNS, bins={**BINS, "gain": 3}).report
    model = load(saved(log, "a.model"))
    assert report.columns == Columns("episode", "step", "dose", "gain", ("heat", "mood"))
    assert model.columns == Columns(action="dose", reward="gain", observations=("heat", "mood"))
    assert model.encoder == Encoder(model.columns, report.encoder.kinds)
    assert model.bins == report.bins and list(model.bins) == ["dose", "heat", "gain"]
    assert Encoder.from_data(report.encoder.to_data()) == model.encoder


def test_read_log_uses_the_encoder_of_a_model(log: str, tmp_path: Path) -> None:
    """The columns and edges of the model are used, although this log alone would give others."""
    model = load(saved(log, "a.model"))
    rows = rows_of_log(seed=1) | {"heat": rows_of_log(seed=1)["heat"] + 5}
    pq.write_table(pa.table(rows), tmp_path / "other.parquet")
    episodes = read_log(str(tmp_path / "other.parquet"), like=model.encoder)
    report = episodes.report
    assert report.encoder.kinds == model.encoder.kinds
    assert {heat for heat, _ in episodes.alphabet.observations} == {2}
    alone = read_log(str(tmp_path / "other.parquet"), like=model.encoder, bins={"heat": 2}).report
    assert list(alone.bins) == ["heat"] and alone.columns == report.columns


def test_read_stored_refuses_binned_rewards_without_levels(log: str) -> None:
    """Otherwise each piece would have its own mean rewards."""
    dataset = Dataset.of(log)
    assert dataset is not None
    for bins in ((0.0, 1.0), Bins((0.0, 1.0))):
        with pytest.raises(SettingsError, match="the bins of 'gain' are computed in memory"):
            read_stored(dataset, ReadOptions(EncoderRequest.of(COLUMNS, {"gain": bins})), MemoryBudget(1 << 40))


# ---------------------------------------------------------------- a registered kind of column


@dataclass(frozen=True, slots=True)
class Groups(ColumnEncoder):
    """A kind of column whose listed values share the symbol of their group; all others are 0."""

    kind: ClassVar[str] = "groups"

    groups: tuple[tuple[str, ...], ...]

    def encode(self, column: LogColumn) -> Coded[Value]:
        return column.table.encode(column.name, lambda value: self.encode_value(value, column.name))

    def encode_value(self, value: Any, name: str) -> Value:
        return next((i for i, group in enumerate(self.groups, 1) if value in group), 0)

    def legend(self) -> list[str]:
        return ["any other", *map(" or ".join, self.groups)]


@pytest.fixture
def groups() -> Iterator[Groups]:
    KINDS.register("groups", Groups)
    yield Groups((("calm", "glad"),))
    KINDS.unregister("groups")


def test_learn_and_load_support_registered_kinds_of_columns(log: str, groups: Groups) -> None:
    model = learn(log, columns=COLUMNS, bins={**BINS, "mood": groups})
    path = Path(log).with_name("groups.model")
    model.save(path)
    again = load(path)
    assert again.encoder == model.encoder and again.encoder.kinds["mood"] == groups
    assert again.encoder.encode_observation((0, "glad")) == (1, 1)
    assert again.encoder.encode_observation((0, "angry")) == (1, 0)
    shown = again.in_words.rdp.alphabet.observations
    assert {str(mood) for _, mood in shown} == {"any other", "calm or glad"}
    with pytest.raises(SettingsError, match="column 'gain': a reward cannot be a column of kind 'groups'"):
        read_log(log, COLUMNS, bins={"gain": groups})


def test_load_refuses_an_unknown_kind_of_column_in_one_line(log: str) -> None:
    KINDS.register("groups", Groups)
    try:
        learn(log, columns=COLUMNS, bins={**BINS, "mood": Groups((("calm",),))}).save(Path(log).with_name("a.model"))
    finally:
        KINDS.unregister("groups")
    with pytest.raises(ModelError, match="'groups' is not a kind of column") as caught:
        load(Path(log).with_name("a.model"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("observation", "said"),
    [
        ({"heat": "high", "mood": "calm"}, "heat: 'high' is not a number, but the model bins this column"),
        ((math.nan, "calm"), "heat: nan is not a finite number"),
        ((1.0,), "it has 1 values, but the model reads 2. Pass one for each feature: heat, mood"),
    ],
)
def test_encode_observation_refuses_invalid_values(observation: Any, said: str) -> None:
    encoder = Encoder.of_features(("heat", "mood"), {"heat": Bins((0.0,))})
    with pytest.raises(LogError, match=said):
        encoder.encode_observation(observation)


def test_display_labels_symbols_that_stay_equal() -> None:
    encoder = Encoder.of_features(("heat", "mood"), {"heat": Bins((0.0, 1.0))})
    alphabet = read_log(rows_of_log(), COLUMNS, bins={"heat": (0.0, 1.0), "gain": 2}).alphabet
    shown = encoder.display(alphabet)
    assert shown == alphabet
    assert {str(heat) for heat, _ in shown.observations} == set(encoder.legend("heat"))
    assert encoder.legend("mood") == [] and encoder.legend("heat") == ["below 0", "0 to 1", "1 or more"]


def test_encoders_with_equal_content_are_equal() -> None:
    def made(edges: Sequence[float]) -> Encoder:
        return Encoder.of_features(("x",), {"x": Bins(tuple(edges))})

    assert made([1.0, 2.0]) == made([1.0, 2.0]) != made([1.0])
