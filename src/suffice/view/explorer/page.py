"""The explorer is one HTML page that contains data, style sheet and program, and works offline.

Contents of a log cannot run. Data are JSON without characters that have a meaning in HTML, the program inserts them as
text only, and the page's security policy allows only the program whose hash it states.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.resources import files
from string import Template
from typing import Any

from suffice.data.episodes import Episodes
from suffice.models.model import Model
from suffice.view.explorer.comparison import comparison_data
from suffice.view.explorer.data import model_data
from suffice.view.explorer.replays import replay_data
from suffice.view.html import content_hash, text

REPLAYED_EPISODES = 20
PROGRAM = ("page", "model", "geometry", "drawing", "stage", "panel", "search", "replay", "compare", "start")  # in order
# In JSON: an escaped backslash, or an escape of one of the characters that `html` removes from pages.
UNSAFE_ESCAPES = re.compile(r"(\\\\)|\\u(?:00[0189][0-9a-f]|007f|200[ef]|202[a-e]|206[6-9]|fff[ef])")
UNSAFE = {ord(character): f"\\u{ord(character):04x}" for character in "<>&"}


def page_of(
    model: Model,
    *,
    other: Model | None = None,
    episodes: Episodes | None = None,
    title: str = "",
    other_title: str = "",
    most: int = REPLAYED_EPISODES,
) -> str:
    """Return the explorer of a model as an HTML page without external resources.

    Parameters
    ----------
    model
        Model to explore.
    other
        Second model, shown beside the first. Default: none.
    episodes
        Logged episodes to replay, read with the model's encoder. Default: episodes are simulated from the model's
        counts.
    title
        Name of the model on the page. Default: "the model".
    other_title
        Name of the second model. Default: "the other model".
    most
        Largest number of logged or simulated episodes. Default: 20.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> from suffice.view.explorer.page import page_of
    >>> page_of(model, title="Corridor")[:15]
    '<!doctype html>'
    """
    models = [each.in_words for each in (model, other) if each is not None]
    if episodes is not None:
        episodes = replace(episodes, alphabet=model.encoder.display(episodes.alphabet))
    names = [title or "the model", other_title or "the other model"]
    data = {
        "models": [model_data(each, name) for each, name in zip(models, names, strict=False)],
        "replays": replay_data(models, episodes, most),
        "comparison": None if other is None else comparison_data(models[0].rdp, models[1].rdp),
    }
    style = _part("page.css")
    program = '"use strict";\n(() => {\n' + "\n".join(_part(f"{name}.js") for name in PROGRAM) + "})();\n"
    return Template(_part("page.html")).substitute(
        title=text(" and ".join(names[: len(models)]) if title else "An automaton"),
        style=style,
        style_hash=content_hash(style),
        program=program,
        program_hash=content_hash(program),
        data=as_json(data),
    )


def as_json(data: Any) -> str:
    """Return JSON in ASCII without angle brackets, ampersands and characters that HTML forbids."""
    escaped = json.dumps(data, separators=(",", ":"), allow_nan=False).translate(UNSAFE)
    return UNSAFE_ESCAPES.sub(lambda found: found[1] or r"\ufffd", escaped)


def _part(name: str) -> str:
    return (files("suffice.view.explorer") / name).read_text(encoding="utf-8")
