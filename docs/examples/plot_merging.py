"""
From a tree of histories to an automaton
========================================

Every history is a node of a tree, which grows with every step. Histories with the same distribution of futures need not
be distinguished: merging them gives an automaton that remembers only what matters.
"""

# %%
# In *memory length* the first observation is a bit, which the last action should repeat; other actions have no effect.
# The figure shows the tree of all histories of three steps. Colours are states of the learned automaton.
import numpy as np
from matplotlib.figure import Figure

from suffice import adact_h, make
from suffice.view import save_figure

episodes = make("memory-length", length=3).simulate(2_000, 3, np.random.default_rng(0))
learned = adact_h(episodes).rdp
symbols = [learned.symbol(y) for y in range(len(learned.symbols))]
COLOURS = ["#c9ced6", "#8fbbe6", "#f2b48a", "#4f8fd0", "#e0863f", "#2b66a5", "#b9590f", "#e3e6ea"]


def grow(state, place, room, step, lines, nodes):
    """Add the continuations of a history to lines [(from, to, label)] and nodes [(place, state)]."""
    nodes.append(((step, place), state))
    onward = [(y, int(learned.tau[state, y])) for y in range(len(symbols)) if learned.tau[state, y] >= 0]
    for i, (y, target) in enumerate(onward):
        action, observation = symbols[y]
        above = place + room * ((i + 0.5) / len(onward) - 0.5)
        lines.append(((step, place), (step + 1, above), observation[0] if action is None else action))
        if step < 2:
            grow(target, above, room / len(onward), step + 1, lines, nodes)
        else:
            nodes.append(((step + 1, above), target))


# %%
# Left: one node for each history. Right: one node for each state.
figure = Figure(figsize=(9, 4.2))
left, right = figure.add_axes((0.02, 0, 0.5, 0.93)), figure.add_axes((0.55, 0, 0.43, 0.93))
lines, nodes = [], []
grow(0, 0.0, 8.0, 0, lines, nodes)
middle = {state: np.mean([place for place, other in nodes if other == state], axis=0) for _, state in nodes}
for axes, title, at in ((left, f"{len(nodes)} histories", None), (right, f"{len(middle)} states", middle)):
    axes.set(xlim=(-0.4, 3.4), ylim=(-4.4, 4.4))
    axes.set_axis_off()
    axes.set_title(title, size=11)
    state_at = dict(nodes)
    for start, end, label in lines:
        a, b = (start, end) if at is None else (at[state_at[start]], at[state_at[end]])
        axes.plot(*zip(a, b, strict=True), color="#a3a9b2", linewidth=1, zorder=1)
        shared = at is not None and label in (0, 1)
        text, where = ("0 or 1" if shared else label), np.add(a, b) / 2
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        axes.text(*where, text, size=8, color="#2f343b", ha="center", va="center", bbox=box)
    for place, state in nodes:
        axes.scatter(*(place if at is None else at[state]), s=160, color=COLOURS[state], edgecolor="#3f74ad", zorder=2)
save_figure(figure, "merging")
