"""A model in a few lines: as text for a console, as HTML with a small picture for a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import numpy as np

from suffice.automata.rdp import RDP, UNSEEN
from suffice.errors import visible
from suffice.models.header import Header

UNSURE = 0.8  # a promise below is a weak one
MOST_PICTURED = 100  # states; beyond, dots would run into each other
WIDE, HIGH, DOT = 46, 18, 5  # pixels between layers, between states, and the radius of a state
CURRENT_COLOUR = "currentColor"  # the notebook's own, light or dark
HOW_TO_DRAW = "<div><small>To draw it: <code>suffice.draw_automaton(model.rdp, model.own_plan)</code></small></div>"


def headline(rdp: RDP, about: Header) -> str:
    """One line about a model."""
    where = "for all steps" if rdp.stationary else f"in layers {' '.join(map(str, about.layers))}"
    return f"{rdp.n_states} states {where}, from {about.episodes:,} episodes"


def facts(about: Header) -> Iterator[tuple[str, str]]:
    """What is promised, and what following the plan will bring, in short."""
    promise, plan = about.promise, about.plan
    sure = max(1 - promise.split, 0)
    surer = "" if sure >= UNSURE else "; for more, learn with confidence=0.95"
    yield "no false split", f"with probability at least {sure:.3g} ({promise.tests} tests){surer}"
    if plan is None:
        yield "plan", "none"
        return
    likely = f"likely at least {plan.lower_bound:.4g} if the automaton is right"
    yield "plan", f"{plan.planner}, predicted {plan.predicted:.4g} per episode, {likely}"
    yield "the log brought", f"{plan.behaviour_value:.4g}"


def text(rdp: RDP, about: Header) -> str:
    """For a console."""
    return "\n".join([f"<Model: {headline(rdp, about)}", *(f"  {name}: {told}" for name, told in facts(about))]) + ">"


def html(rdp: RDP, about: Header) -> str:
    """For a notebook: no scripts, no files, and the notebook's own colours."""
    left = 'style="text-align:left"'
    cells = "".join(
        f"<tr><th {left}>{escape(name)}</th><td {left}>{escape(visible(told))}</td></tr>"
        for name, told in (
            *facts(about),
            ("observations", ", ".join(rdp.alphabet.features)),
            ("actions", _listed(about)),
        )
    )
    picture = _picture(rdp) if not rdp.stationary and rdp.n_states <= MOST_PICTURED else HOW_TO_DRAW
    table = f'<table style="color:inherit;font-size:inherit">{cells}</table>'
    return f"<div><strong>Model: {escape(headline(rdp, about))}</strong>{picture}{table}</div>"


def _listed(about: Header, most: int = 10) -> str:
    more = len(about.actions) - most
    return ", ".join(map(str, about.actions[:most])) + (f" and {more} more" if more > 0 else "")


def _picture(rdp: RDP) -> str:
    """Layers from left to right, a dot for each state, and lines as wide as they are often taken."""
    layer, offsets, tallest = rdp.layer_of(), rdp.offsets(), int(rdp.layers.max())
    place = np.arange(rdp.n_states) - offsets[layer] + (tallest - rdp.layers[layer]) / 2
    x, y = WIDE * layer + 2 * DOT, HIGH * place + 2 * DOT
    taken = np.zeros((rdp.n_states, rdp.n_states), np.int64)
    sources, symbols = np.nonzero(rdp.tau != UNSEEN)
    np.add.at(taken, (sources, rdp.tau[sources, symbols]), rdp.taken()[sources, symbols])
    lines = [
        f'<line x1="{x[p]:g}" y1="{y[p]:g}" x2="{x[q]:g}" y2="{y[q]:g}" '
        f'stroke-width="{0.5 + 3 * taken[p, q] / taken.max():.2f}"/>'
        for p, q in zip(*np.nonzero(taken), strict=True)
    ]
    dots = [f'<circle cx="{a:g}" cy="{b:g}" r="{DOT}"/>' for a, b in zip(x, y, strict=True)]
    width, height = WIDE * int(layer.max()) + 4 * DOT, HIGH * (tallest - 1) + 4 * DOT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" style="display:block">'
        f'<g stroke="{CURRENT_COLOUR}" stroke-opacity="0.35">{"".join(lines)}</g>'
        f'<g fill="{CURRENT_COLOUR}">{"".join(dots)}</g></svg>'
    )
