"""A model in a few lines, the advice first: as text for a console, as HTML with a small picture for a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from suffice.automata.rdp import RDP
from suffice.data.listing import layer_sizes
from suffice.errors import visible
from suffice.models.header import Header
from suffice.models.summary import summary_rows, warning_rows

MOST_PICTURED = 100  # states; with more, dots would overlap
WIDE, HIGH, DOT = 46, 18, 5  # pixels between layers, between states, and the radius of a state
CURRENT_COLOUR = "currentColor"  # of the notebook, light or dark
HOW_TO_DRAW = "<div><small>To draw it: <code>model.draw()</code></small></div>"
DETAILS = "model.why()"  # lists the assumptions of the guarantee


def headline(rdp: RDP, about: Header) -> str:
    """Return the number of states and of episodes in one line."""
    where = ", the same at every step," if rdp.stationary else f" in layers {layer_sizes(about.layers)},"
    return f"{rdp.n_states} states{where} from {about.episodes:,} episodes"


def text(rdp: RDP, about: Header, notes: Sequence[str] = ()) -> str:
    """Return the summary of the model as text for a console, the advice first; `notes` are warnings about its log."""
    (advice, returns), *rows = (*summary_rows(rdp, about, DETAILS), *warning_rows(about, notes=notes))
    lines = [
        f"<Model: {advice}: {returns}",
        *(visible(f"  {label}: {fact}" if label else f"    {fact}") for label, fact in rows),
    ]
    return "\n".join(lines) + ">"


def html(rdp: RDP, about: Header, notes: Sequence[str] = ()) -> str:
    """Return the model as HTML for a notebook, without scripts or files and in the notebook's own colours."""
    left = 'style="text-align:left"'
    (advice, returns), *rows = (*summary_rows(rdp, about, DETAILS), *warning_rows(about, notes=notes))
    cells = "".join(
        f"<tr><th {left}>{escape(label)}</th><td {left}>{escape(visible(fact))}</td></tr>"
        for label, fact in (*rows, ("Actions", _listed(about)))
    )
    picture = _picture(rdp) if not rdp.stationary and rdp.n_states <= MOST_PICTURED else HOW_TO_DRAW
    table = f'<table style="color:inherit;font-size:inherit">{cells}</table>'
    return f"<div><strong>{escape(advice)}: {escape(returns)}</strong>{picture}{table}</div>"


def _listed(about: Header, most: int = 10) -> str:
    more = len(about.actions) - most
    return ", ".join(map(str, about.actions[:most])) + (f" and {more} more" if more > 0 else "")


def _picture(rdp: RDP) -> str:
    """Draw layers from left to right: a dot per state, and lines whose width is how often they are taken."""
    layer, offsets, tallest = rdp.layer_of(), rdp.offsets(), int(rdp.layers.max())
    place = np.arange(rdp.n_states) - offsets[layer] + (tallest - rdp.layers[layer]) / 2
    x, y = WIDE * layer + 2 * DOT, HIGH * place + 2 * DOT
    taken = np.zeros((rdp.n_states, rdp.n_states), np.int64)
    edges = rdp.edges()
    np.add.at(taken, (edges.source, edges.target), edges.times)
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
