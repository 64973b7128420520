"""Table of the functions that create an engine from `EngineOptions`. It imports no engine."""

from __future__ import annotations

from typing import Any, Final

from suffice.registry import Lazy, Registry

ENGINES: Final[Registry[Any]] = Registry(
    "engine",
    {"local": Lazy("suffice.engines.engine:Local.of"), "ray": Lazy("suffice.engines.ray:Ray.of")},
    group="suffice.engines",
    needs=("__call__",),
)
USUAL_ENGINE: Final = "local"
