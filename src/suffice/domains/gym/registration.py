"""The domains under Gymnasium's ids: `suffice/TMaze-v0` and so on."""

from __future__ import annotations


def register() -> None:
    """Make every domain of this package known to `gymnasium.make`; doing so again changes nothing.

    Gymnasium has not looked for plugins by itself since its version 1.0, so somebody has to call this: importing
    `suffice` does if Gymnasium is imported already. `suffice/POMDP-v0` takes a file: `name="tiger.POMDP"`.

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
