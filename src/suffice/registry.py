"""Tables of implementations: one for each seam, open to other installed packages.

A table maps names to implementations: what the command line, Python and model files call a bound, a statistic or a
domain. An implementation may be given as a reference, `Lazy("package.module:NAME")`, which is imported when it is first
looked up, so that listing the names of a table costs nothing. Another package adds one by an entry point in the table's
group, in its pyproject.toml:

    [project.entry-points."suffice.bounds"]
    mine = "my_package.bounds:MINE"

Entry points are searched on the first unknown name, or when all names are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from suffice.errors import SettingsError, did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
D = TypeVar("D")

_CHANGING = RLock()  # one for all tables, so that a table can be copied and pickled


@dataclass(frozen=True, slots=True)
class Lazy:
    """A reference to an implementation, `package.module:NAME`, imported when it is first looked up."""

    reference: str

    def load(self) -> Any:
        """Import it."""
        module, _, names = self.reference.partition(":")
        return reduce(getattr, names.split("."), import_module(module))


@dataclass(frozen=True, slots=True)
class _Plugin:
    """An implementation of another package, not loaded yet."""

    entry: EntryPoint

    @property
    def package(self) -> str:
        """Whose it is, for messages."""
        return f"package {self.entry.dist.name!r}" if self.entry.dist else f"entry point {self.entry.value!r}"


def _none(name: str, implementation: object) -> str:
    """Nothing to complain about."""
    return ""


class Registry(Mapping[str, T], Generic[T]):
    """Implementations of one protocol by name, in the order in which they were added.

    Parameters
    ----------
    kind
        What the implementations are, in the singular, for messages: "bound".
    entries
        The project's own implementations, or references to them.
    group
        Group of the entry points through which other packages add theirs. None: closed to them.
    needs
        Attributes that an implementation must have; what lacks one is refused.
    complaint
        What is wrong with an implementation that would have a name; "" if nothing is.
    instances
        Whether implementations are objects: then a class, which has the same attributes, is refused.

    Examples
    --------
    >>> from suffice.registry import Registry
    >>> shapes = Registry("shape", {"square": 4, "triangle": 3})
    >>> shapes["square"]
    4
    >>> shapes.register("circle", 0)
    >>> list(shapes)
    ['square', 'triangle', 'circle']
    >>> shapes["sqare"]
    Traceback (most recent call last):
        ...
    suffice.errors.SettingsError: unknown shape: 'sqare'; did you mean 'square'? known: square, triangle, circle
    """

    def __init__(
        self,
        kind: str,
        entries: Mapping[str, T | Lazy],
        group: str | None = None,
        needs: tuple[str, ...] = (),
        complaint: Callable[[str, T], str] = _none,
        instances: bool = False,
    ) -> None:
        self.kind, self.group, self.needs, self.complaint, self.instances = kind, group, needs, complaint, instances
        self.own: tuple[str, ...] = tuple(entries)  # without those of other packages, and without a search
        self._entries: dict[str, T | Lazy | _Plugin] = dict(entries)
        self._searched = False

    def register(self, name: str, implementation: T) -> None:
        """Add an implementation for the rest of this process; names are unique."""
        self._refuse_if_unfit(name, implementation, repr(implementation))
        with _CHANGING:
            if name in self:
                raise SettingsError(f"there is already a {self.kind} {name!r}; give it another name")
            self._entries[name] = implementation

    def unregister(self, name: str) -> None:
        """Remove an implementation that was registered."""
        with _CHANGING:
            if name in self.own or name not in self._entries:
                raise SettingsError(f"{name!r} was not registered as a {self.kind}")
            del self._entries[name]

    def lack(self, implementation: object) -> str:
        """Why an object cannot be an implementation, for messages; "" if it can."""
        if self.instances and isinstance(implementation, type):
            return f"it is a class; give an object of it, such as {implementation.__name__}()"
        missing = [attribute for attribute in self.needs if not hasattr(implementation, attribute)]
        return f"it has no {missing[0]!r}" if missing else ""

    def __getitem__(self, name: str) -> T:
        """The implementation of that name; a `SettingsError` lists what there is."""
        if not isinstance(name, str):
            raise SettingsError(
                f"the name of a {self.kind} is a text, not {name!r}; known: {', '.join(self) or 'none'}"
            )
        if name not in self:
            hint = did_you_mean(name, self) or ";"
            raise SettingsError(f"unknown {self.kind}: {name!r}{hint} known: {', '.join(self) or 'none'}")
        found = self._entries[name]
        if isinstance(found, Lazy):
            found = self._entries[name] = cast("T", found.load())
        elif isinstance(found, _Plugin):
            found = self._entries[name] = self._load(found)
        return found

    def __contains__(self, name: object) -> bool:
        """Whether there is such an implementation; one that cannot be loaded counts."""
        if not isinstance(name, str):
            return False
        if name not in self._entries:
            self._search()
        return name in self._entries

    def get(self, name: str, default: D | None = None) -> T | D | None:  # type: ignore[override]
        """The implementation of that name, or a default."""
        if name not in self:
            return default
        return self[name]

    def loadable(self) -> dict[str, T]:
        """The implementations without those of other packages that cannot be loaded."""
        found = {}
        for name in self:
            try:
                found[name] = self[name]
            except SettingsError:
                if name in self.own:
                    raise
        return found

    def __iter__(self) -> Iterator[str]:
        self._search()
        return iter(tuple(self._entries))

    def __len__(self) -> int:
        self._search()
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<Registry: {self.kind} {', '.join(self)}>"

    def _search(self) -> None:
        """Find the entry points of other packages, without loading any."""
        if self.group is None:
            return
        from importlib.metadata import entry_points

        with _CHANGING:
            if self._searched:
                return
            plugins: dict[str, _Plugin] = {}
            for entry in sorted(entry_points(group=self.group), key=lambda entry: (entry.name, entry.value)):
                found = _Plugin(entry)
                if entry.name in self._entries or plugins.setdefault(entry.name, found) != found:
                    raise SettingsError(
                        f"{found.package} adds a {self.kind} {entry.name!r}, but there is one already; uninstall it"
                    )
            self._entries.update(plugins)
            self._searched = True

    def _load(self, found: _Plugin) -> T:
        name = found.entry.name
        try:
            loaded = found.entry.load()
        except Exception as error:  # whatever another package does when it is imported
            raise SettingsError(
                f"the {self.kind} {name!r} of {found.package} cannot be loaded ({type(error).__name__}: {error}); "
                "update or uninstall it"
            ) from error
        self._refuse_if_unfit(name, loaded, found.package)
        return cast("T", loaded)

    def _refuse_if_unfit(self, name: str, implementation: object, source: str) -> None:
        if lack := self.lack(implementation):
            raise SettingsError(f"{source}: {name!r} is not a {self.kind}, because {lack}")
        known_as = getattr(implementation, "name", name)
        if isinstance(known_as, str) and known_as != name:
            raise SettingsError(f"{source}: the {self.kind} {known_as!r} is registered as {name!r}; use one name")
        if complaint := self.complaint(name, cast("T", implementation)):
            raise SettingsError(f"{source}: {name!r} is not a {self.kind}, because {complaint}")
