"""A model in a few lines, the advice first: as text for a console, as HTML with a small picture for a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import numpy as np

from suffice.automata.rdp import RDP, UNSEEN
from suffice.errors import visible
from suffice.models.header import Header

WEAK_GUARANTEE = 0.8  # probability below which a guarantee is called weak
MOST_PICTURED = 100  # states; with more, dots would overlap
WIDE, HIGH, DOT = 46, 18, 5  # pixels between layers, between states, and the radius of a state
CURRENT_COLOUR = "currentColor"  # of the notebook, light or dark
HOW_TO_DRAW = "<div><small>To draw it: <code>model.draw()</code></small></div>"
ADVICE = {"follow": "follow the plan", "keep": "keep the logged behaviour"}


def headline(rdp: RDP, about: Header) -> str:
    """Return the number of states and of episodes in one line."""
    where = ", the same at every step," if rdp.stationary else f" in layers {' '.join(map(str, about.layers))},"
    return f"{rdp.n_states} states{where} from {about.episodes:,} episodes"


def advice(about: Header) -> str:
    """Return the advice on the plan with the predicted and the logged return, in one line."""
    plan = about.plan
    if plan is None:
        return "no plan"
    return (
        f"{ADVICE[plan.verdict]}: predicted return {plan.predicted:.4g} (likely at least {plan.lower_bound:.4g} if the "
        f"automaton is right), logged {plan.behaviour_value:.4g}"
    )


def facts(rdp: RDP, about: Header) -> Iterator[tuple[str, str]]:
    """List memory, plan and guarantee of a model, each with its label."""
    yield "memory", headline(rdp, about)
    if about.plan is not None:
        yield "planner", about.plan.planner
    sure = max(1 - about.promise.split, 0)
    stronger = "" if sure >= WEAK_GUARANTEE else "; for more, learn with confidence=0.95"
    yield "guarantee", f"no false split with probability at least {sure:.3g} ({about.promise.tests} tests){stronger}"


def text(rdp: RDP, about: Header) -> str:
    """Return the model as text for a console."""
    return "\n".join([f"<Model: {advice(about)}", *(f"  {name}: {fact}" for name, fact in facts(rdp, about))]) + ">"


def html(rdp: RDP, about: Header) -> str:
    """Return the model as HTML for a notebook, without scripts or files and in the notebook's own colours."""
    left = 'style="text-align:left"'
    cells = "".join(
        f"<tr><th {left}>{escape(name)}</th><td {left}>{escape(visible(fact))}</td></tr>"
        for name, fact in (
            *facts(rdp, about),
            ("observations", ", ".join(rdp.alphabet.features)),
            ("actions", _listed(about)),
        )
    )
    picture = _picture(rdp) if not rdp.stationary and rdp.n_states <= MOST_PICTURED else HOW_TO_DRAW
    table = f'<table style="color:inherit;font-size:inherit">{cells}</table>'
    title = advice(about)
    return f"<div><strong>{escape(title[0].upper() + title[1:])}</strong>{picture}{table}</div>"


def _listed(about: Header, most: int = 10) -> str:
    more = len(about.actions) - most
    return ", ".join(map(str, about.actions[:most])) + (f" and {more} more" if more > 0 else "")


def _picture(rdp: RDP) -> str:
    """Draw layers from left to right: a dot per state, and lines whose width is how often they are taken."""
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
