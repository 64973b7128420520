"""Reading one log from every supported form gives the same episodes."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import gymnasium
import minari
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from gymnasium import spaces

from suffice.data.encoding.columns import Columns
from suffice.data.episodes import Episodes
from suffice.data.logs.reading import read_log
from suffice.domains.gym.registration import register
from suffice.errors import SufficeError
from support.cli import suffice
from support.log_files import write
from support.log_sources import (
    ACTION,
    COLOUR,
    COLUMNS,
    EPISODES,
    HUGGING,
    LIT,
    REWARD,
    ROWS,
    SIZE,
    Dataset,
    Episode,
)

OBSERVED = COLUMNS[:3]
LISTS = {name: [[step[i] for step in steps] for steps in EPISODES] for i, name in enumerate(COLUMNS)}
WHOLE = [{name: values[e] for name, values in LISTS.items()} for e in range(len(EPISODES))]
ARRAYS = {name: np.array([row[name] for row in ROWS]) for name in ROWS[0]}
TABLE, LISTED = pa.Table.from_pylist(ROWS), pa.table(LISTS)
FRAME, POLARS = pd.DataFrame(ROWS), pl.DataFrame(ROWS)
CSV = ",".join(ROWS[0]) + "\n" + "".join(",".join(map(str, row.values())) + "\n" for row in ROWS)


def renamed(episodes: Episodes, features: tuple[str, ...] = OBSERVED) -> Episodes:
    return replace(episodes, alphabet=replace(episodes.alphabet, features=features))


@pytest.fixture(scope="module")
def digest(tmp_path_factory: pytest.TempPathFactory) -> str:
    return read_log(write(tmp_path_factory.mktemp("log"), CSV)).digest()


# ---------------------------------------------------------------- files


def lines(rows: list[dict[str, Any]], between: str = "\n") -> bytes:
    return between.join(map(json.dumps, rows)).encode()


def arrow(table: pa.Table, opened: Callable[..., Any]) -> bytes:
    sink = pa.BufferOutputStream()
    with opened(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()


def feather(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pa.feather.write_feather(table, sink)
    return sink.getvalue().to_pybytes()


FILES = {
    "lines.jsonl": lines(ROWS),
    "zipped.jsonl.gz": gzip.compress(lines(ROWS)),
    "zipped-in-parts.jsonl.gz": gzip.compress(lines(ROWS[:2]) + b"\n") + gzip.compress(lines(ROWS[2:])),
    "blank-and-marked.ndjson": b"\xef\xbb\xbf" + lines(ROWS, "\n\n \n") + b"\n\n",
    "windows.jsonl": lines(ROWS, "\r\n"),
    "array.json": json.dumps(ROWS).encode(),
    "pretty-and-marked.json": b"\xef\xbb\xbf\n" + json.dumps(ROWS, indent=2).encode(),
    "episodes.jsonl": lines(WHOLE),
    "episodes.json": json.dumps(WHOLE).encode(),
    "by-name.json": json.dumps({name: array.tolist() for name, array in ARRAYS.items()}).encode(),
    "by-name-pretty.json": json.dumps({name: array.tolist() for name, array in ARRAYS.items()}, indent=1).encode(),
    "file.arrow": arrow(TABLE, pa.ipc.new_file),
    "stream.arrow": arrow(TABLE, pa.ipc.new_stream),
    "lists.ipc": arrow(LISTED, pa.ipc.new_file),
    "flat.feather": feather(TABLE),
    "flat.parquet": parquet(TABLE),
    "lists.parquet": parquet(LISTED),
    "polars.parquet": parquet(pl.DataFrame(LISTS).to_arrow()),
}


@pytest.mark.parametrize("name", FILES)
def test_read_log_reads_one_log_from_every_file_format(tmp_path: Path, digest: str, name: str) -> None:
    assert read_log(write(tmp_path, FILES[name], name)).digest() == digest


# ---------------------------------------------------------------- tables and arrays in memory


def lists_as(kind: Callable[[pa.DataType], pa.DataType]) -> pa.Table:
    kinds = [LISTED.schema.field(name).type.value_type for name in COLUMNS]
    return pa.table({name: pa.array(LISTS[name], kind(of)) for name, of in zip(COLUMNS, kinds, strict=True)})


STEPS = [[dict(zip(COLUMNS, step, strict=True)) for step in steps] for steps in EPISODES]
CODED = pa.dictionary(pa.int8(), pa.string())
EVERY = range(len(ROWS))
IN_MEMORY: dict[str, Callable[[], Any]] = {
    "pyarrow": lambda: TABLE,
    "pyarrow reader": lambda: TABLE.to_reader(),
    "pyarrow batch": lambda: TABLE.to_batches()[0],
    "pyarrow chunks": lambda: pa.concat_tables([TABLE.slice(0, 2), TABLE.slice(2)]),
    "pyarrow views": lambda: TABLE.cast(
        pa.schema([(f.name, pa.string_view() if pa.types.is_string(f.type) else f.type) for f in TABLE.schema])
    ),
    "lists": lambda: LISTED,
    "lists in chunks": lambda: pa.concat_tables([LISTED.slice(0, 1), LISTED.slice(1)]),
    "lists of a slice": lambda: pa.concat_tables([LISTED, LISTED]).slice(3),
    "large lists": lambda: lists_as(pa.large_list),
    "lists of views": lambda: lists_as(lambda of: pa.list_(pa.string_view() if of == pa.string() else of)),
    "lists of coded text": lambda: lists_as(lambda of: pa.list_(CODED if of == pa.string() else of)),
    "lists of steps": lambda: pa.table({"episode": ["a", "b", "c"], "steps": STEPS}),
    "pandas": lambda: FRAME,
    "pandas, other order": lambda: FRAME.iloc[[5, 3, 1, 0, 2, 4]],
    "pandas, other index": lambda: FRAME.set_index(pd.Index([5, 5, 3, 9, 0, 1])),
    "pandas, ids as index": lambda: FRAME.set_index(["episode", "step"]),
    "pandas categories": lambda: FRAME.astype({COLOUR: "category", ACTION: "category"}),
    "pandas nullable": lambda: FRAME.astype({"episode": "Int64", SIZE: "Float64", LIT: "boolean", COLOUR: "string"}),
    "pandas objects": lambda: FRAME.astype(object),
    "pandas lists": lambda: pd.DataFrame(LISTS),
    "pandas lists of arrays": lambda: pd.DataFrame({k: [np.array(x) for x in v] for k, v in LISTS.items()}),
    "polars": lambda: POLARS,
    "polars categories": lambda: POLARS.with_columns(pl.col(COLOUR).cast(pl.Categorical)),
    "polars enum": lambda: POLARS.with_columns(pl.col(ACTION).cast(pl.Enum(["left", "stay", "right"]))),
    "polars lists": lambda: pl.DataFrame(LISTS),
    "polars lists of enum": lambda: pl.DataFrame(LISTS).with_columns(
        pl.col(ACTION).cast(pl.List(pl.Enum(["left", "stay", "right"])))
    ),
    "Hugging Face, selected": lambda: HUGGING.select(EVERY),
    "Hugging Face, shuffled": lambda: HUGGING.select(EVERY).shuffle(seed=1),
    "Hugging Face, some indices": lambda: HUGGING.select([3, 5, 0, 4, 1, 2]),
    "Hugging Face, numpy": lambda: HUGGING.select(EVERY).with_format("numpy"),
    "Hugging Face, lists": lambda: datasets.Dataset.from_dict(LISTS),
    "arrays": lambda: ARRAYS,
    "lists by name": lambda: {name: array.tolist() for name, array in ARRAYS.items()},
    "arrays of objects": lambda: {name: array.astype(object) for name, array in ARRAYS.items()},
    "a text among arrays": lambda: {**ARRAYS, "author": "me", "version": np.array(3)},
    "columns by name": lambda: {name: FRAME[name] for name in FRAME},
    "ragged arrays by name": lambda: {k: [np.array(x) for x in v] for k, v in LISTS.items()},
    "rows": lambda: ROWS,
    "episodes by name": lambda: WHOLE,
    "episodes of arrays": lambda: [{name: np.array(values) for name, values in one.items()} for one in WHOLE],
    "episodes of rows": lambda: STEPS,
}


@pytest.mark.parametrize("name", IN_MEMORY)
def test_read_log_reads_one_log_from_every_object_in_memory(digest: str, name: str) -> None:
    assert read_log(IN_MEMORY[name]()).digest() == digest


def observation(step: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(OBSERVED, step[:3], strict=True))


def episode(steps: list[tuple[Any, ...]]) -> Episode:
    columns = tuple(np.array(column) for column in zip(*steps, strict=True))
    return Episode(dict(zip(OBSERVED, columns[:3], strict=True)), columns[3][:, None], columns[4][:, None])


PREFIXED: dict[str, Callable[[], Any]] = {
    "records": lambda: POLARS.select("episode", "step", pl.struct(OBSERVED).alias("obs"), ACTION, REWARD),
    "records of lists": lambda: pa.table(
        {"obs": [{name: one[name] for name in OBSERVED} for one in WHOLE], ACTION: LISTS[ACTION], REWARD: LISTS[REWARD]}
    ),
    "nested arrays": lambda: {
        "obs": {name: ARRAYS[name] for name in OBSERVED},
        **{name: array for name, array in ARRAYS.items() if name not in OBSERVED},
    },
    "steps of tuples": lambda: [[(step[:3], *step[3:]) for step in steps] for steps in EPISODES],
    "steps of dicts": lambda: [[(observation(step), *step[3:]) for step in steps] for steps in EPISODES],
    "steps of lists": lambda: tuple(tuple([[*step[:3]], *step[3:]] for step in steps) for steps in EPISODES),
    "steps by other names": lambda: [
        [{"obs": observation(step), "actions": step[3], "rewards": step[4]} for step in steps] for steps in EPISODES
    ],
    "objects": lambda: [episode(steps) for steps in EPISODES],
    "d3rlpy": lambda: Dataset([episode(steps) for steps in EPISODES]),
    "d3rlpy, last observation": lambda: Dataset(
        [
            replace(one, observations={k: np.append(v, v[-1]) for k, v in one.observations.items()})
            for one in map(episode, EPISODES)
        ]
    ),
    "an episode without steps": lambda: Dataset([*map(episode, EPISODES), Episode(np.zeros((0, 3)), [], [])]),
}


@pytest.mark.parametrize("name", PREFIXED)
def test_read_log_reads_observations_with_prefixed_names(digest: str, name: str) -> None:
    episodes = read_log(PREFIXED[name]())
    report = episodes.report
    assert [feature.rpartition(".")[2] in (*OBSERVED, "0", "1", "2") for feature in episodes.alphabet.features]
    assert renamed(episodes).digest() == digest
    assert bool(report.notes) == (name == "an episode without steps")


# ---------------------------------------------------------------- forms of other loggers


def flat(**changes: Any) -> dict[str, Any]:
    """Return two episodes, of three steps and of two."""
    return {
        "obs": np.array([[0, 1], [1, 1], [2, 1], [0, 1], [1, 1]]),
        "actions": np.array([0, 1, 0, 1, 0]),
        "rewards": np.array([0, 0.5, 1, 0.5, 0]),
    } | changes


ENDS = np.array([0, 0, 1, 0, 1], bool)
EXPECTED = read_log(flat(episode=[0, 0, 0, 1, 1]))
IDS = {"eps_id": np.array([7, 7, 7, 9, 9]), "t": np.array([0, 1, 2, 0, 1])}
BATCH = {name: values.tolist() for name, values in flat(**IDS, terminateds=ENDS, new_obs=np.ones((5, 2))).items()}


def test_read_log_reads_d4rl_arrays_without_episodes_and_steps() -> None:
    arrays = flat(terminals=ENDS, timeouts=~ENDS & False, next_observations=np.ones((5, 2)))
    arrays["observations"] = arrays.pop("obs")
    episodes = read_log(arrays)
    report = episodes.report
    assert renamed(episodes, EXPECTED.alphabet.features).digest() == EXPECTED.digest()
    assert report.columns.terminated == "terminals" and len(report.notes) == 3


@pytest.mark.parametrize("form", ["rows", "one batch", "batches", "batches in a file", "arrays"])
def test_read_log_reads_every_form_of_rllib_logs(tmp_path: Path, form: str) -> None:
    parts = [{k: v[:3] for k, v in BATCH.items()}, {k: v[3:] for k, v in BATCH.items()}]
    source: Any = {
        "rows": [dict(zip(BATCH, row, strict=True)) for row in zip(*BATCH.values(), strict=True)],
        "one batch": [BATCH],
        "batches": parts,
        "batches in a file": tmp_path / "out.json",
        "arrays": BATCH,
    }[form]
    write(tmp_path, lines(parts), "out.json")
    episodes = read_log(source)
    report = episodes.report
    assert episodes.digest() == EXPECTED.digest()
    assert (report.columns.episode, report.columns.step, report.columns.terminated) == ("eps_id", "t", "terminateds")
    assert "new_obs" in report.notes[0]


def test_read_log_reads_lerobot_tables() -> None:
    names = {"eps_id": "episode_index", "t": "frame_index", "obs": "observation.state", "actions": "action"}
    names |= {"rewards": "next.reward", "terminateds": "next.done", "new_obs": "task_index"}
    frame = pd.DataFrame({names[name]: values for name, values in BATCH.items()})
    episodes = read_log(frame)
    report = episodes.report
    assert episodes.alphabet.features == ("observation.state.0", "observation.state.1")
    assert renamed(episodes, EXPECTED.alphabet.features).digest() == EXPECTED.digest()
    assert report.columns.done == "next.done"


@pytest.mark.parametrize("width", [None, 1, 2])
@pytest.mark.parametrize("extra", [0, 1])
def test_read_log_reads_arrays_by_episode_and_step(width: int | None, extra: int) -> None:
    """Arrays have shape [N, H] or [N, H, d], possibly with one more observation at the end."""
    shape = (2, 3 + extra) if width is None else (2, 3 + extra, width)
    obs = np.arange(np.prod(shape)).reshape(shape)
    episodes = read_log({"obs": obs, "action": np.ones((2, 3), int), "reward": np.zeros((2, 3, 1))})
    assert (episodes.n, episodes.horizon) == (2, 3)
    assert episodes.alphabet.features == (("obs.0", "obs.1") if width == 2 else ("obs",))
    assert episodes.alphabet.observations == tuple(
        tuple(np.atleast_1d(seen).tolist()) for one in obs for seen in one[:3]
    )


def test_read_log_reads_lists_of_fixed_length(tmp_path: Path) -> None:
    kinds = {
        "obs": pa.list_(pa.list_(pa.int8(), 2), 2),
        "action": pa.list_(pa.int8(), 2),
        "reward": pa.list_(pa.int8(), 2),
    }
    values = {"obs": [[[1, 2], [3, 4]], [[5, 6], [1, 2]]], "action": [[1, 2], [1, 1]], "reward": [[0, 1], [1, 0]]}
    fixed = pa.table({name: pa.array(values[name], kind) for name, kind in kinds.items()})
    written = write(tmp_path, parquet(fixed), "log.parquet")
    assert read_log(fixed).digest() == read_log(pa.table(values)).digest() == read_log(written).digest()


def test_read_log_reads_float32_by_its_shortest_decimal() -> None:
    narrow = np.array([0.1, 0.7], np.float32)
    sources: list[Any] = [
        {"episode": [0, 0], "o": narrow, "action": [1, 1], "reward": narrow},
        [[(narrow[:1], 1, narrow[0]), (narrow[1], 1, narrow[1])]],
        [{"o": narrow, "action": [1, 1], "reward": narrow}],
        Dataset([Episode(narrow[:, None], np.ones(2, int), narrow)]),
    ]
    for source in sources:
        alphabet = read_log(source).alphabet
        assert (alphabet.observations, alphabet.rewards) == (((0.1,), (0.7,)), (0.0, 0.1, 0.7))


def test_read_log_keeps_times_as_text(tmp_path: Path) -> None:
    times = ["2024-01-01T10:00:00Z", "2024-01-02T10:00:00+02:00"]
    rows = [{"step": t, "o": {"at": [time]}, "action": 1, "reward": 0, "episode": 1} for t, time in enumerate(times)]
    by_line, by_array = write(tmp_path, lines(rows), "log.jsonl"), write(tmp_path, json.dumps(rows), "log.json")
    csv = write(tmp_path, "episode,step,o.at,action,reward\n1,0,{},1,0\n1,1,{},1,0\n".format(*times))
    seen = [read_log(path).alphabet.observations for path in (by_line, by_array, csv)]
    assert seen == [tuple((time,) for time in times)] * 3


def test_read_log_accepts_text_with_brackets(tmp_path: Path) -> None:
    text = '[{"' * 30
    rows = [{"episode": 0, "step": 0, "o": text, "action": 1, "reward": 0}]
    assert read_log(write(tmp_path, lines(rows), "log.jsonl")).alphabet.observations == ((text,),)


# ---------------------------------------------------------------- Minari


@pytest.fixture
def minari_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return tmp_path


def stored(name: str, observations: list[Any], played: list[Any], space: Any) -> Any:
    """Store a Minari dataset of these steps; the collector of Minari itself would need JAX."""
    buffers = [
        minari.data_collector.EpisodeBuffer(
            observations=seen,
            actions=np.array([step[1] for step in steps]),
            rewards=np.array([step[2] for step in steps]),
            terminations=np.arange(len(steps)) == len(steps) - 1,
            truncations=np.zeros(len(steps), bool),
        )
        for seen, steps in zip(observations, played, strict=True)
    ]
    return minari.create_dataset_from_buffers(name, buffers, observation_space=space, action_space=spaces.Discrete(4))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_read_log_reads_minari_datasets_by_object_and_name(minari_home: Path) -> None:
    register()
    env = gymnasium.make("suffice/TMaze-v0")
    env.action_space.seed(0)
    played, observations = [], []
    for seed in range(5):
        seen, _ = env.reset(seed=seed)
        ended, steps = False, []
        while not ended:
            action = int(env.action_space.sample())
            following, reward, terminated, truncated, _ = env.step(action)
            steps.append((seen, action, reward))
            seen, ended = following, terminated or truncated
        played.append(steps)
        observations.append(np.array([*(step[0] for step in steps), seen]))
    dataset = stored("suffice/tmaze-v0", observations, played, env.observation_space)
    for source in (dataset, "minari:suffice/tmaze-v0"):
        episodes = read_log(source)
        report = episodes.report
        assert episodes.digest() == read_log(played).digest()
        assert report.columns.terminated == "terminated" and report.columns.truncated == "truncated"
    assert (
        suffice("learn", "minari:suffice/tmaze-v0", "-o", str(minari_home / "a.model"), "--hold-out", "0.4").code == 0
    )
    assert suffice("evaluate", str(minari_home / "a.model"), "--log", "minari:suffice/tmaze-v0").code == 0
    with pytest.raises(SufficeError, match=r"minari:suffice/none-v0: there is no such dataset .*suffice/tmaze-v0"):
        read_log("minari:suffice/none-v0")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_read_log_reads_nested_spaces_of_minari(minari_home: Path) -> None:
    arm = spaces.Tuple((spaces.Discrete(9), spaces.Box(-9, 9, (2,), np.float32)))
    seen = {"arm": (np.arange(3), np.array([[0, 0.1], [1, 0.1], [2, 0.1]], np.float32)), "lamp": np.array([0, 1, 0])}
    space = spaces.Dict(arm=arm, lamp=spaces.Discrete(2))
    dataset = stored("suffice/spaces-v0", [seen], [[(None, 1, 0.0), (None, 0, 1.0)]], space)
    alphabet = read_log(dataset).alphabet
    assert dict(zip(alphabet.features, zip(*alphabet.observations, strict=True), strict=True)) == {
        "arm.0": (0, 1),
        "arm.1.0": (0, 1),
        "arm.1.1": (0.1, 0.1),
        "lamp": (0, 1),
    }


# ---------------------------------------------------------------- ends


def ends_log(**marks: list[int]) -> dict[str, Any]:
    """Return episodes of three steps and of two, with these end flags."""
    return {"o": [1] * 5, "action": [1] * 5, "reward": [0] * 5} | {k: np.array(v, bool) for k, v in marks.items()}


FIRST, BOTH, LAST, NONE = [0, 0, 1, 0, 0], [0, 0, 1, 0, 1], [0, 0, 0, 0, 1], [0] * 5


@pytest.mark.parametrize(
    ("marks", "cut", "without_ids"),
    [
        ({"terminated": BOTH}, False, False),
        ({"terminated": FIRST}, True, True),
        ({"terminated": FIRST, "truncated": NONE}, True, True),
        ({"terminated": FIRST, "truncated": LAST}, True, True),
        ({"terminated": BOTH, "truncated": LAST}, False, False),
        ({"terminated": FIRST, "done": BOTH}, True, True),
        ({"terminated": BOTH, "done": BOTH}, False, False),
        ({"truncated": LAST}, True, None),
        ({"truncated": NONE}, False, None),
        ({"truncated": FIRST}, False, True),
        ({"truncated": FIRST, "done": BOTH}, False, False),
        ({"truncated": LAST, "done": BOTH}, True, True),
        ({"truncated": NONE, "done": FIRST}, True, True),
        ({"done": BOTH}, False, False),
        ({"done": FIRST}, True, True),
        ({"terminated": FIRST, "truncated": LAST, "done": BOTH}, True, True),
    ],
)
def test_read_log_distinguishes_ends_from_truncation(
    marks: dict[str, list[int]], cut: bool, without_ids: bool | None
) -> None:
    """`cut` states whether the second episode is truncated; `without_ids` the same without an episode column."""
    log = ends_log(**marks)
    for source, expected in ((log | {"episode": [0, 0, 0, 1, 1]}, cut), (log, without_ids)):
        if expected is None:
            continue
        if expected:
            kept = read_log(source, drop_truncated=True)
            report = kept.report
            assert (kept.n, report.dropped) == (1, 1)
        episodes = read_log(source)
        assert episodes.n == 2 and episodes.report.ends.cut_off == expected
        assert (episodes.length is not None and episodes.length.tolist() == [4, 3]) == expected
        assert read_log(source, horizon=2).length is None


def test_read_log_applies_a_flag_per_episode_to_its_last_step(tmp_path: Path) -> None:
    """Where a row is an episode, its `terminated` refers to the last step."""
    for end in (True, 1, "true"):
        wholes = [{**one, "terminated": end, "weight": 3} for one in WHOLE]
        for source in (wholes, pa.Table.from_pylist(wholes), write(tmp_path, lines(wholes), "log.jsonl")):
            assert read_log(source).total == 9
    wholes[0]["terminated"] = wholes[1]["terminated"] = "false"
    length = read_log(wholes).length
    assert length is not None and sorted(length.tolist()) == [2, 4, 4]


def test_read_log_refuses_end_flags_before_the_last_row() -> None:
    with pytest.raises(SufficeError, match="row 2, column 'done': it is true before the last row of the episode"):
        read_log(ends_log(done=[0, 1, 0, 0, 1]) | {"episode": [0, 0, 0, 1, 1]})


# ---------------------------------------------------------------- columns and imports


def test_columns_parse_reads_roles_and_refuses_errors() -> None:
    text = "episode=patient, action = drug,observations=age+pulse,reward=a=b"
    assert Columns.parse(text) == Columns("patient", action="drug", reward="a=b", observations=("age", "pulse"))
    assert Columns.parse("") == Columns.parse(" , ") == Columns()
    for wrong, complaint in {
        "actoin=x": "Did you mean 'action'",
        "action": "ROLE=NAME",
        "step=a,step=b": "the role 'step' is given twice",
    }.items():
        with pytest.raises(SufficeError, match=complaint):
            Columns.parse(wrong)


ALONE = """
import sys
class Absent:
    def find_spec(name, path=None, target=None):
        if name in ("pandas", "polars", "datasets", "minari"):
            asked.append(name)
            raise ImportError(name)
asked = []
sys.meta_path.insert(0, Absent)
import suffice
assert suffice.read_log(PATH).digest() == suffice.read_log(ROWS).digest()
assert set(asked) <= {"pandas"}, asked  # imported by pyarrow
"""


def test_read_log_imports_no_optional_library(tmp_path: Path) -> None:
    program = f"PATH, ROWS = {str(write(tmp_path, CSV))!r}, {ROWS!r}\n{ALONE}"
    subprocess.run([sys.executable, "-c", program], check=True)
