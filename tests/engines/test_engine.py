"""Engines by name, and custom engines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suffice.data.loading import Data
from suffice.data.streaming import ExternalReader, read_stored
from suffice.domains.tasks.corridor import Corridor
from suffice.engines.blocks import BlockEngine
from suffice.engines.engine import EngineOptions, Local, engine_of, running
from suffice.engines.local import LocalEngine
from suffice.engines.ray import Ray
from suffice.engines.tables import ENGINES
from suffice.errors import SettingsError
from suffice.learning.adact_h import Settings
from suffice.models.api import learn


class Apart:
    """Reads every Parquet log into a file of steps, as if it did not fit into memory."""

    def __init__(self) -> None:
        self.open = False

    @contextmanager
    def _reading(self) -> Iterator[ExternalReader | None]:
        self.open = True
        yield read_stored
        self.open = False

    def reading(self) -> AbstractContextManager[ExternalReader | None]:
        return self._reading()

    def refuse(self, *logs: Data) -> None:
        pass


def test_engine_of_returns_the_engine_of_a_name() -> None:
    assert engine_of(None) == engine_of("local") == Local()
    assert engine_of("ray") == Ray()
    assert ENGINES["ray"](EngineOptions(3, 2)) == Ray(3, 2)
    with pytest.raises(SettingsError, match=r"'rai' is not an engine\. Did you mean 'ray'"):
        engine_of("rai")
    with pytest.raises(SettingsError, match=r"workers=.* needs a cluster\. Add engine='ray'"):
        ENGINES["local"](EngineOptions(workers=2))


@pytest.mark.parametrize("engine", [3, Ray, {"ray"}])
def test_engine_of_refuses_other_objects(engine: Any) -> None:
    with pytest.raises(SettingsError, match=r"is not an engine\. Choose 'local' or 'ray', or pass Ray\(workers=4\)\."):
        engine_of(engine)


def test_engine_of_refuses_an_empty_name() -> None:
    with pytest.raises(SettingsError, match=r"engine='' is not an engine\. Choose 'local' or 'ray', or pass Ray"):
        engine_of("")


@pytest.mark.parametrize("name", ["delta", "cut", "threads", "memory"])
@pytest.mark.parametrize("value", [None, "1", [1]])
def test_settings_refuse_values_that_are_not_numbers(name: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=rf"^{name}=.* is not a number\. Leave it out for the default\.$"):
        Settings(**{name: value})
    with pytest.raises(SettingsError, match=r"^confidence='1' is not a number"):
        Settings(confidence="1")  # type: ignore[arg-type]


def test_learn_uses_a_custom_engine(tmp_path: Path) -> None:
    from suffice.data.logs.writing import write_log

    log = str(tmp_path / "log.parquet")
    write_log(Corridor().simulate(500, 3, np.random.default_rng(0)), log)
    usual = learn(log)
    usual.save(tmp_path / "usual.model")
    apart = Apart()
    learn(log, engine=apart).save(tmp_path / "apart.model")
    assert not apart.open
    ENGINES.register("apart", lambda options: apart)
    try:
        learn(log, engine="apart").save(tmp_path / "named.model")
    finally:
        ENGINES.unregister("apart")
    models = [(tmp_path / f"{name}.model").read_bytes() for name in ("usual", "apart", "named")]
    assert models[0] == models[1] == models[2]


def test_running_prepares_episodes_at_once_only_if_they_fit() -> None:
    episodes = Corridor().simulate(50, 3, np.random.default_rng(0))
    for memory, kind in ((None, BlockEngine), (0, BlockEngine), (1 << 20, BlockEngine), (1 << 40, LocalEngine)):
        with running(episodes, memory=memory) as engine:
            assert type(engine) is kind
    assert isinstance(running(episodes), nullcontext)


@pytest.mark.parametrize("memory", [0, -1])
def test_settings_refuse_memory_that_is_not_a_number_of_bytes(memory: int) -> None:
    assert Settings().memory > 1 << 20
    with pytest.raises(SettingsError, match=r"^memory=\S+ is not a number of bytes\."):
        Settings(memory=memory)
