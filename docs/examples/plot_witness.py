"""
Why two histories are different states
======================================

Two histories are distinct if some *event* in the future is more frequent after one than after the other. All events of
a family are tested at once, with a test that accounts for their number.
"""

# %%
# Compare the frequencies of events after the north and the south cue. Events of the family `1,1,1` name one component
# of a step (an action, or a reward); conjunctions may name both.
import numpy as np
from matplotlib.figure import Figure

from suffice import make
from suffice.view import save_figure

maze = make("t-maze", length=2)
episodes = maze.simulate(4_000, 3, np.random.default_rng(0))
alphabet = episodes.alphabet
letters = [
    (alphabet.action(int(a)), alphabet.observation(int(o)), alphabet.rewards[int(r)]) for a, o, r in episodes.letters
]


def share(matches, cue):
    """Return the share of episodes with the cue in which a matching step follows, and its margin of error."""
    begins = np.array([letter[1] == cue for letter in letters])[episodes.word[0]]
    happens = np.array([matches(*letter) for letter in letters])[episodes.word[1:]].any(axis=0)
    n, p = begins.sum(), happens[begins].mean()
    return p, 1.96 * np.sqrt(p * (1 - p) / n)


EVENTS = {
    "action = N": lambda action, _, reward: action == "N",
    "reward = 4": lambda action, _, reward: reward == 4,
    "reward = −1": lambda action, _, reward: reward == -1,
    "action = N and reward = 4": lambda action, _, reward: action == "N" and reward == 4,
    "action = S and reward = 4": lambda action, _, reward: action == "S" and reward == 4,
}

# %%
# Single components have the same frequency after both cues, however many episodes there are. Conjunctions differ.
figure = Figure(figsize=(8, 3.4), layout="constrained")
for axes, some in zip(figure.subplots(1, 2, width_ratios=(3, 2)), (range(3), range(3, 5)), strict=True):
    for shift, (name, cue, colour) in enumerate((("north", (0, 1, 1), "#3f74ad"), ("south", (1, 1, 0), "#e0863f"))):
        found = np.array([share(list(EVENTS.values())[i], cue) for i in some])
        place = np.arange(len(some)) + 0.36 * shift - 0.18
        axes.bar(place, found[:, 0], 0.34, color=colour, label=f"after cue {name}")
        axes.errorbar(place, found[:, 0], found[:, 1], fmt="none", ecolor="#2f343b", capsize=3)
    names = [list(EVENTS)[i].replace(" and ", "\nand ") for i in some]
    axes.set_xticks(range(len(some)), names, size=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title("single components: equal" if len(some) == 3 else "conjunctions: different", size=10)
figure.axes[0].set_ylabel("share of episodes with the event")
figure.axes[0].legend(frameon=False, fontsize=9)
save_figure(figure, "witness")
