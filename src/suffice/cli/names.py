"""Types of arguments that are names: of files, domains and implementations. Shells complete them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from cyclopts import CoercionError, Parameter, Token

from suffice.engines.tables import ENGINES
from suffice.evidence.tables import BOUNDS, STATISTICS
from suffice.planning.planner import PLANNERS

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext

    from suffice.registry import Registry

OUTPUT = ("--output", "-o")


def _as_written(kind: object, tokens: Sequence[Token]) -> str:
    """Return a path as the text that was given. Shells complete arguments of this type as files.

    An empty name, probably of a variable that is not set, is refused; commands check those of their outputs.
    """
    del kind
    if not tokens[0].value and tokens[0].keyword not in OUTPUT:
        raise CoercionError(token=tokens[0], target_type=Path)
    return tokens[0].value


def _domains(context: CompletionContext) -> list[str]:
    """List the names of domains, and .POMDP files."""
    from suffice.domains.registry import DOMAINS

    return [*DOMAINS, *(name for name in _files(context) if name.lower().endswith(".pomdp"))]


def _models_and_domains(context: CompletionContext) -> list[str]:
    from suffice.domains.registry import DOMAINS

    return [*DOMAINS, *_files(context)]


def _files(context: CompletionContext) -> list[str]:
    folder, _, _ = context.incomplete.rpartition("/")
    paths = sorted(Path(folder or ("/" if context.incomplete.startswith("/") else ".")).glob("[!.]*"))
    return [f"{path}/" if path.is_dir() else str(path) for path in paths]


DomainName = Annotated[str, Parameter(completer=_domains)]


def _name_in(table: Registry[Any], *others: str) -> Any:
    """Return the type of arguments that name an implementation, also of another package, or are one of `others`.

    Help and completion list the project's own names only, because searching other packages takes too long.
    """
    known = (*table.own, *others)

    def converted(kind: object, tokens: Sequence[Token]) -> str:
        del kind
        name = tokens[0].value
        if name not in known and name not in table:
            raise CoercionError(token=tokens[0], target_type=cast("type", Literal[(*table, *others)]))
        return name

    return Annotated[Literal[known], Parameter(converter=converted)]


ModelOrDomain = Annotated[str, Parameter(completer=_models_and_domains, converter=_as_written)]

EndsName = Literal["terminal", "censored", "auto"]
ObjectiveOption = Literal["return", "per-step", "discounted"]

if TYPE_CHECKING:
    FileName = str
    PlannerName = str
    BoundName = str
    MetricName = str
    EngineName = str
else:
    PlannerName = _name_in(PLANNERS, "none")
    FileName = Annotated[Path, Parameter(converter=_as_written)]
    BoundName, MetricName, EngineName = _name_in(BOUNDS), _name_in(STATISTICS), _name_in(ENGINES)
