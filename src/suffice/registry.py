"""Tables of implementations, one for each protocol, extensible by other installed packages.

A table maps names to implementations, for example of bounds, statistics or domains. Python, the command line and model
files use these names. An entry may be a reference, `Lazy("package.module:NAME")`, which is imported when it is first
looked up, so that listing the names of a table costs nothing. Another package adds an implementation by an entry point
in the table's group, in its pyproject.toml:

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

from suffice.errors import SettingsError, alternatives, closest

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
        """Import the module and return the implementation."""
        module, _, names = self.reference.partition(":")
        return reduce(getattr, names.split("."), import_module(module))


@dataclass(frozen=True, slots=True)
class _Plugin:
    """An implementation in another package that is not loaded yet."""

    entry: EntryPoint

    @property
    def package(self) -> str:
        """The package that provides the implementation, for messages."""
        return f"package {self.entry.dist.name!r}" if self.entry.dist else f"entry point {self.entry.value!r}"


def _accept(name: str, implementation: object) -> str:
    """Accept every implementation, the default check of a table."""
    return ""


class Registry(Mapping[str, T], Generic[T]):
    """Implementations of one protocol by name, in the order in which they were added.

    Parameters
    ----------
    kind
        Noun for an implementation in messages: "bound".
    entries
        The implementations of this project, or references to them.
    group
        Group of the entry points through which other packages add implementations. None: they cannot.
    needs
        Attributes that an implementation must have.
    complaint
        Function of a name and an implementation that returns why it is refused, or "".
    instances
        Whether implementations are objects. Then a class is refused, although it has the same attributes.

    Examples
    --------
    >>> from suffice.registry import Registry
    >>> shapes = Registry("shape", {"square": 4, "triangle": 3})
    >>> shapes["square"]
    4
    >>> shapes["sqare"]
    Traceback (most recent call last):
        ...
    suffice.errors.SettingsError: 'sqare' is not a shape. Did you mean 'square'? Choose 'square' or 'triangle'.
    >>> shapes.register("circle", 0)
    >>> list(shapes)
    ['square', 'triangle', 'circle']
    """

    def __init__(
        self,
        kind: str,
        entries: Mapping[str, T | Lazy],
        group: str | None = None,
        needs: tuple[str, ...] = (),
        complaint: Callable[[str, T], str] = _accept,
        instances: bool = False,
    ) -> None:
        self.kind, self.group, self.needs, self.complaint, self.instances = kind, group, needs, complaint, instances
        self.own: tuple[str, ...] = tuple(entries)  # names of this project alone; needs no search for entry points
        self._entries: dict[str, T | Lazy | _Plugin] = dict(entries)
        self._searched = False

    def register(self, name: str, implementation: T) -> None:
        """Add an implementation under a new name, for the rest of this process."""
        self._refuse_if_unfit(name, implementation, repr(implementation))
        with _CHANGING:
            if name in self:
                raise SettingsError(f"{self.kind} {name!r}: the name is already in use. Choose another name.")
            self._entries[name] = implementation

    def unregister(self, name: str) -> None:
        """Remove an implementation that was added with `register`."""
        with _CHANGING:
            if name in self.own or name not in self._entries:
                raise SettingsError(
                    f"{self.kind} {name!r} was not registered. Only what `register` added can be removed."
                )
            del self._entries[name]

    def lack(self, implementation: object) -> str:
        """Return why an object cannot be an implementation, for messages; "" if it can."""
        if self.instances and isinstance(implementation, type):
            return f"it is a class; pass an instance, such as {implementation.__name__}()"
        missing = [attribute for attribute in self.needs if not hasattr(implementation, attribute)]
        return f"it has no {missing[0]!r}" if missing else ""

    def __getitem__(self, name: str) -> T:
        """Return the implementation of a name; the `SettingsError` for an unknown name lists the known ones."""
        if name not in self:
            near = closest(name, self) if isinstance(name, str) else None
            meant = "" if near is None else f" Did you mean {near!r}?"
            raise SettingsError(
                f"{name!r} is not {'an' if self.kind[0] in 'aeio' else 'a'} {self.kind}.{meant} "
                f"Choose {alternatives(self)}."
            )
        found = self._entries[name]
        if isinstance(found, Lazy):
            found = self._entries[name] = cast("T", found.load())
        elif isinstance(found, _Plugin):
            found = self._entries[name] = self._load(found)
        return found

    def __contains__(self, name: object) -> bool:
        """Return whether a name is in the table; an implementation that cannot be loaded counts."""
        if not isinstance(name, str):
            return False
        if name not in self._entries:
            self._search()
        return name in self._entries

    def get(self, name: str, default: D | None = None) -> T | D | None:  # type: ignore[override]
        """Return the implementation of a name, or a default."""
        if name not in self:
            return default
        return self[name]

    def loadable(self) -> dict[str, T]:
        """Return all implementations except those of other packages that cannot be loaded."""
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
        """Find the entry points of other packages without loading them."""
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
                        f"{found.package} adds a {self.kind} {entry.name!r}, but the name is already in use. "
                        "Uninstall the package."
                    )
            self._entries.update(plugins)
            self._searched = True

    def _load(self, found: _Plugin) -> T:
        name = found.entry.name
        try:
            loaded = found.entry.load()
        except Exception as error:  # importing another package can raise anything
            raise SettingsError(
                f"the {self.kind} {name!r} of {found.package} cannot be loaded ({type(error).__name__}: {error}). "
                "Update or uninstall the package."
            ) from error
        self._refuse_if_unfit(name, loaded, found.package)
        return cast("T", loaded)

    def _refuse_if_unfit(self, name: str, implementation: object, source: str) -> None:
        if lack := self.lack(implementation):
            raise SettingsError(f"{source}: {name!r} is not a valid {self.kind}: {lack}.")
        known_as = getattr(implementation, "name", name)
        if isinstance(known_as, str) and known_as != name:
            raise SettingsError(
                f"{source}: the {self.kind} named {known_as!r} is registered as {name!r}. Use the same name for both."
            )
        if complaint := self.complaint(name, cast("T", implementation)):
            raise SettingsError(f"{source}: {name!r} is not a valid {self.kind}: {complaint}.")
