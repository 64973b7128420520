"""Agent files, which hold the log of all finished episodes and the automaton of the last round.

An agent file is an archive of JSON and arrays, like a model file. The automaton is a model file within it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from suffice.data.alphabet import Value
from suffice.domains.agent.agent import Agent, LearningRound
from suffice.domains.agent.experience import Experience
from suffice.domains.agent.knowledge import Knowledge
from suffice.errors import LogError, SettingsError
from suffice.files.archives import Kind, opened, write_archive
from suffice.kernels.array_types import Array
from suffice.learning.adact_h import Criterion, Learned
from suffice.learning.stationary.learner import Depths
from suffice.models.model import Model
from suffice.version import __version__

FORMAT, FORMAT_VERSION = "suffice agent", 1
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


def save_agent(agent: Agent, path: Path) -> None:
    """Save an agent; an interrupted write leaves no partial file."""
    if agent.log is not None or agent.earlier is not None:
        raise SettingsError(
            "an agent that started from a log or a model cannot be saved. Save its table and its model."
        )
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
        codes["model"] = _model_bytes(agent, known)
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
    )
    write_archive(path, header, {"values": values}, codes, checksum=True)


def load_agent(path: Path) -> Agent:
    """Load an agent; a damaged file is refused."""
    with opened(path, AGENT_FILE) as archive:
        header = archive.header(AgentHeader)
        values = archive.text("values", list[list[bool | int | float | str]])
        shapes: dict[str, Any] = {f"column_{i}": ("i", ("R",)) for i in range(len(header.columns))}
        if header.learned:
            shapes["model"] = ("u", ("B",))
        arrays = archive.arrays(shapes)
        if len(values) != len(header.columns) or len(header.purposes) != header.episodes:
            raise ValueError("its columns or episodes do not match its header")
        columns = {name: _column(arrays[f"column_{i}"], values[i]) for i, name in enumerate(header.columns)}
        rounds = [LearningRound(**found) for found in header.rounds]
        if header.learned != bool(rounds) or any(found.episodes > header.episodes for found in rounds):
            raise ValueError("its rounds do not match its episodes")
    agent = Agent(header.actions, horizon=header.horizon, seed=header.seed, observations=header.observations)
    if columns:
        agent.experience, agent.rounds = Experience.of(pa.table(columns), header.purposes), rounds
    if header.learned:
        agent.recall(_learned(arrays, agent))
    return agent


def _column(codes: Array, values: list[Any]) -> pa.Array:
    if codes.size and not 0 <= codes.min() <= codes.max() < len(values):
        raise ValueError("it has codes that are out of range")
    return pa.array(values).take(pa.array(codes))


def _model_bytes(agent: Agent, known: Knowledge) -> Array:
    """Return the automaton of an agent as a model file without a plan."""
    reading = agent.reading
    assert reading is not None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "automaton"
        Model.of(known.learned, reading.episodes, encoder=reading.encoder, ends=reading.ends).save(file)
        return np.frombuffer(file.read_bytes(), np.uint8)


def _learned(arrays: Mapping[str, Array], agent: Agent) -> Learned:
    """Return the automaton of an agent from its model file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "automaton"
        file.write_bytes(arrays["model"].tobytes())
        model = Model.load(file)
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
