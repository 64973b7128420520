"""Check of public docstrings against the numpydoc sections: `python tests/support/docstrings.py [MODULE ...]`.

Every parameter of a public function, method or class is described under Parameters (the fields of a dataclass that
users do not construct themselves may be described under Attributes), what a function returns under Returns, and every
name of the package has Examples.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from typing import Any

import suffice
import suffice.playing

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
CONSTANTS = {
    "BOUNDS", "CONJUNCTIONS", "FISHER_EXACT", "GREEDY", "LIKELIHOOD_RATIO", "PAPER", "TWO_SAMPLE", "UNSEEN",
    "__version__",
}  # fmt: skip
INHERITED = (BaseException,)  # whose constructors are not ours to describe


def sections(docstring: str) -> dict[str, str]:
    """Divide a docstring into its numpydoc sections; the text before the first one is called Summary."""
    parts = SECTION.split(inspect.cleandoc(docstring))
    return {"Summary": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def described(section: str) -> set[str]:
    """List the names that a Parameters or Attributes section describes."""
    heads = [line for line in section.splitlines() if line and not line[0].isspace()]
    return {name.strip().lstrip("*") for head in heads for name in head.partition(" : ")[0].split(",")}


def public_names() -> dict[str, Any]:
    """List the public names with what they refer to."""
    found = {f"suffice.{name}": getattr(suffice, name) for name in suffice.__all__ if name not in CONSTANTS}
    return found | {f"suffice.playing.{name}": getattr(suffice.playing, name) for name in suffice.playing.__all__}


def problems(name: str, thing: Any) -> Iterator[str]:
    """List what the docstring of a public name lacks, and those of its public methods."""
    found = sections(thing.__doc__ or "")
    if not found["Summary"].strip():
        yield f"{name}: there is no docstring"
    if "Examples" not in found:
        yield f"{name}: there is no Examples section"
    if not inspect.isclass(thing):
        yield from _call_problems(name, thing, found, returns=True)
        return
    if not issubclass(thing, INHERITED):
        yield from _call_problems(name, thing, found, returns=False)
    for attribute, member in vars(thing).items():
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if attribute.startswith("_") or not inspect.isfunction(function):
            continue
        if function.__module__.startswith("suffice"):
            sections_of = sections(function.__doc__ or "")
            if not sections_of["Summary"].strip():
                yield f"{name}.{attribute}: there is no docstring"
            yield from _call_problems(f"{name}.{attribute}", function, sections_of, returns=True)


def _call_problems(name: str, thing: Any, found: dict[str, str], *, returns: bool) -> Iterator[str]:
    names = described(found.get("Parameters", "")) | described(found.get("Attributes", ""))
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return
    if "Protocol" in {base.__name__ for base in getattr(thing, "__mro__", ())}:
        return
    for parameter in signature.parameters.values():
        if parameter.name not in ("self", "cls") and not parameter.name.startswith("_") and parameter.name not in names:
            yield f"{name}: parameter {parameter.name!r} is not described"
    nothing = signature.return_annotation in (None, "None", inspect.Signature.empty, "NoReturn")
    if returns and not nothing and not {"Returns", "Yields"} & set(found):
        yield f"{name}: there is no Returns section"


def home(thing: Any) -> str:
    """Name the module that defines a public name."""
    return str(getattr(thing, "__module__", ""))


if __name__ == "__main__":
    chosen = tuple(sys.argv[1:]) or ("suffice",)
    lines = [
        f"{home(thing)}: {line}"
        for name, thing in public_names().items()
        if home(thing).startswith(chosen)
        for line in problems(name, thing)
    ]
    print("\n".join(lines))
    print(f"{len(lines)} problems")
    sys.exit(bool(lines))
