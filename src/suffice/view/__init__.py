from typing import Any

# Documented as `suffice.view.save_figure` and so on; imported when first used.
_HOMES = {
    "Layout": "layout",
    "draw_automaton": "automaton",
    "lay_out": "layout",
    "save_figure": "saving",
    "save_picture": "saving",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
