"""Registration of the domains with Gymnasium, as `suffice/TMaze-v0` and so on."""

from __future__ import annotations


def register() -> None:
    """Register every domain of this package with `gymnasium.make`, as `suffice/TMaze-v0` and so on.

    Since version 1.0 Gymnasium does not load plugins by itself. Importing `suffice` after `gymnasium` registers the
    domains; otherwise call this function. Calling it again has no effect. Options of the domain, `horizon` and
    `render_mode` are keyword arguments of `gymnasium.make`; `suffice/POMDP-v0` reads the file `name="tiger.POMDP"`.

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
