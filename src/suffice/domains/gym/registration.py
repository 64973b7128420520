"""Registration of the domains with Gymnasium, as `suffice/TMaze-v0` and so on."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


def register() -> None:
    """Register every domain of this package with `gymnasium.make`, as `suffice/TMaze-v0` and so on.

    `import suffice` does so by itself, before or after `import gymnasium`. Calling it again has no effect. Options of
    the domain, `horizon` and `render_mode` are keyword arguments of `gymnasium.make`; `suffice/POMDP-v0` reads the file
    `name="tiger.POMDP"`.

    Examples
    --------
    >>> import gymnasium
    >>> suffice.register()
    >>> gymnasium.make("suffice/Corridor-v0").reset(seed=1)[0]
    array([1, 0, 0])
    """
    import gymnasium

    from suffice.domains.registry import DOMAINS

    ids: dict[str, dict[str, str]] = {DOMAINS[name].__name__: {"name": name} for name in DOMAINS.own}
    for known, options in (ids | {"POMDP": {}}).items():
        if (full := f"suffice/{known}-v0") not in gymnasium.registry:
            gymnasium.register(full, "suffice.domains.gym.environment:NamedDomainEnv", kwargs=options)


def register_on_import() -> None:
    """Register the domains now if Gymnasium is imported already, otherwise as soon as it is.

    Importing Gymnasium takes time, so that is left to programs that use it; since version 1.0 it does not load plugins.
    """
    if "gymnasium" in sys.modules:
        register()
    elif not any(isinstance(finder, _RegisterAfterImport) for finder in sys.meta_path):
        sys.meta_path.insert(0, _RegisterAfterImport())


class _RegisterAfterImport(MetaPathFinder):
    """Finder that leaves the search for Gymnasium to the others, and registers the domains after its import."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        found = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_register(module: ModuleType) -> None:
                run(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                register()

            spec.loader.exec_module = run_and_register  # type: ignore[method-assign]  # of this loader only
        return spec
