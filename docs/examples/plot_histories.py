"""
Equal observations, different histories
=======================================

Three episodes of the T-maze. At the junction all have the same observation (010), but the right action depends on the
first observation. A policy that uses only the last observation has to guess.
"""

# %%
# Each row is an episode: boxes are observations, with actions between them.
from matplotlib.figure import Figure

from suffice.view import save_figure

EPISODES = (
    ("011", "E", "101", "E", "010", "N", "+4"),
    ("110", "E", "101", "E", "010", "S", "+4"),
    ("110", "E", "101", "E", "010", "N", "−1"),
)
MEANS = {"011": "cue: north", "110": "cue: south", "101": "corridor", "010": "junction"}
COLOURS = {"011": "#d9e8f7", "110": "#fbe3d3", "101": "#f1f3f5", "010": "#f1f3f5"}

figure = Figure(figsize=(8, 3.1))
axes = figure.add_axes((0, 0, 1, 1))
axes.set(xlim=(-0.7, 6.7), ylim=(-2.6, 0.75))
axes.set_axis_off()
for row, episode in enumerate(EPISODES):
    for place, word in enumerate(episode):
        if word in MEANS:
            box = {"boxstyle": "round,pad=0.5", "facecolor": COLOURS[word], "edgecolor": "#6b737e"}
            axes.text(place, -row, f"{word}\n{MEANS[word]}", ha="center", va="center", size=9, bbox=box)
        else:
            paid = place == len(episode) - 1
            colour = "#6b737e" if not paid else "#2b7a3d" if word.startswith("+") else "#b3261e"
            text = word if paid else f"{word} →"
            axes.text(place, -row, text, ha="center", va="center", size=11, color=colour)
for place, word in ((0, "first"), (4, "last"), (5, "action"), (6, "reward")):
    axes.text(place, 0.6, word, ha="center", color="#727a85", size=9)
save_figure(figure, "histories")
