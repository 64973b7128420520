"""Agent files, which hold the log of all finished episodes, the automaton of the last round, and what it started from.

An agent file is an archive of JSON and arrays, like a model file. The automaton is a model file within it, and so
is the model that the agent started from; logs that it started from are Parquet files.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from suffice.data.alphabet import Value
from suffice.domains.agent.agent import Agent, LearningRound
from suffice.domains.agent.experience import Experience
from suffice.domains.agent.knowledge import Knowledge
from suffice.errors import LogError
from suffice.files.archives import Kind, opened, write_archive
from suffice.kernels.array_types import Array
from suffice.learning.adact_h import Criterion, Learned
from suffice.learning.stationary.learner import Depths
from suffice.models.model import Model
from suffice.version import __version__

FORMAT, FORMAT_VERSION = "suffice agent", 1
MOST_LOGS = 1000
AGENT_FILE = Kind(
    name="agent file",
    format=FORMAT,
    version=FORMAT_VERSION,
    error=LogError,
    remake="train the agent again",
    make=("agent.save({path!r})", "suffice train ENV --episodes N --agent {path}"),
)


class AgentHeader(msgspec.Struct, frozen=True):
    """The header of an agent file."""

    format: str
    format_version: int
    version: str
    actions: list[bool | int | float | str]
    seed: int
    horizon: int | None
    observations: list[str] | str | None
    episodes: int
    begun: int
    purposes: list[str]
    rounds: list[dict[str, Any]]
    columns: list[str]
    learned: bool
    logs: Annotated[int, msgspec.Meta(ge=0, le=MOST_LOGS)] = 0  # that the agent started from
    like: bool = False  # whether it started from a model


def save_agent(agent: Agent, path: Path) -> None:
    """Save an agent; an interrupted write leaves no partial file."""
    table = agent.experience.table() if agent.n_episodes else None
    names = [] if table is None else table.column_names
    codes: dict[str, Array] = {}
    values: list[list[Value]] = []
    for i, name in enumerate(names):
        assert table is not None
        encoded = table[name].combine_chunks().dictionary_encode()
        codes[f"column_{i}"] = np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64)
        values.append(encoded.dictionary.to_pylist())
    known = agent.knowledge
    if known is not None:
        codes["model"] = _model_bytes(_automaton(agent, known))
    if agent.earlier is not None:
        codes["like"] = _model_bytes(agent.earlier)
    codes |= {f"log_{i}": _table_bytes(log) for i, log in enumerate(agent.logs)}
    seen = agent.observations
    header = AgentHeader(
        format=FORMAT,
        format_version=FORMAT_VERSION,
        version=__version__,
        actions=list(agent.actions),
        seed=agent.seed,
        horizon=agent.horizon,
        observations=seen if seen is None or isinstance(seen, str) else list(seen),
        episodes=agent.n_episodes,
        begun=agent.n_episodes,
        purposes=list(agent.experience.purposes),
        rounds=[found.to_dict() for found in agent.rounds],
        columns=list(names),
        learned=known is not None,
        logs=len(agent.logs),
        like=agent.earlier is not None,
    )
    write_archive(path, header, {"values": values}, codes, checksum=True)


def load_agent(path: Path) -> Agent:
    """Load an agent; a damaged file is refused."""
    with opened(path, AGENT_FILE) as archive:
        header = archive.header(AgentHeader)
        values = archive.text("values", list[list[bool | int | float | str]])
        shapes: dict[str, Any] = {f"column_{i}": ("i", ("R",)) for i in range(len(header.columns))}
        names = [f"log_{i}" for i in range(header.logs)]
        files = [*names, *(["model"] if header.learned else []), *(["like"] if header.like else [])]
        shapes |= {name: ("u", (name,)) for name in files}
        arrays = archive.arrays(shapes)
        if len(values) != len(header.columns) or len(header.purposes) != header.episodes:
            raise ValueError("its columns or episodes do not match its header")
        columns = {name: _column(arrays[f"column_{i}"], values[i]) for i, name in enumerate(header.columns)}
        rounds = [LearningRound(**found) for found in header.rounds]
        if header.learned != bool(rounds) or any(found.episodes > header.episodes for found in rounds):
            raise ValueError("its rounds do not match its episodes")
        logs = [_table(arrays[name]) for name in names]
        like = _model(arrays["like"]) if header.like else None
        agent = Agent(
            header.actions, horizon=header.horizon, seed=header.seed, like=like, observations=header.observations
        )
        agent.logs, agent.rounds = logs, rounds
        if columns:
            agent.experience = Experience.of(pa.table(columns), header.purposes)
        if header.learned:
            agent.recall(_learned(_model(arrays["model"]), agent))
        return agent


def _column(codes: Array, values: list[Any]) -> pa.Array:
    if codes.size and not 0 <= codes.min() <= codes.max() < len(values):
        raise ValueError("it has codes that are out of range")
    return pa.array(values).take(pa.array(codes))


def _automaton(agent: Agent, known: Knowledge) -> Model:
    """Return the automaton of an agent as a model without a plan."""
    reading = agent.reading
    assert reading is not None
    return Model.of(known.learned, reading.episodes, encoder=reading.encoder, ends=reading.ends)


def _model_bytes(model: Model) -> Array:
    """Return a model as the content of a model file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model"
        model.save(file)
        return np.frombuffer(file.read_bytes(), np.uint8)


def _model(content: Array) -> Model:
    """Return the model of the content of a model file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model"
        file.write_bytes(content.tobytes())
        return Model.load(file)


def _table_bytes(table: pa.Table) -> Array:
    """Return a log as the content of a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return np.frombuffer(sink.getvalue(), np.uint8)


def _table(content: Array) -> pa.Table:
    """Return the log of the content of a Parquet file."""
    return pq.read_table(pa.BufferReader(content.tobytes()))


def _learned(model: Model, agent: Agent) -> Learned:
    """Return the automaton of an agent from its model."""
    about = model.about
    if not model.rdp.stationary:
        raise ValueError("its automaton has layers")
    return Learned(
        rdp=model.rdp,
        decisions=model.decisions,
        promise=about.promise,
        candidates=tuple(about.candidates[-1:]),
        languages=(),
        deltas=(about.delta,),
        forced_share=about.forced_share,
        settings=agent.settings,
        needed=None if about.needed is None else Depths.of_states(about.needed.states or ()),
        criterion=Criterion(about.metric, about.family, about.bound),
    )
