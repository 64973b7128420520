"""
Why two histories are not the same state
========================================

Two histories are told apart by a *question* about what follows, whose answer is "yes" more often after the one than
after the other. Nobody has to think of the question: all of a family are asked at once, and a test that allows for
their number decides.
"""

# %%
# After which first observation, north or south cue, does what happen? Questions of the family `1,1,1` name one thing
# (an action, or a reward), conjunctions may name both.
import numpy as np
from matplotlib.figure import Figure

from suffice import make
from suffice.view import save_figure

maze = make("t-maze", {"length": "2"})
episodes = maze.simulate(4_000, 3, np.random.default_rng(0))
alphabet = episodes.alphabet
letters = [
    (alphabet.action(int(a)), alphabet.observation(int(o)), alphabet.rewards[int(r)]) for a, o, r in episodes.letters
]


def share(matches, cue):
    """How often a matching step follows, of all episodes that began with the cue; and the margin of that."""
    begins = np.array([letter[1] == cue for letter in letters])[episodes.word[0]]
    happens = np.array([matches(*letter) for letter in letters])[episodes.word[1:]].any(axis=0)
    n, p = begins.sum(), happens[begins].mean()
    return p, 1.96 * np.sqrt(p * (1 - p) / n)


QUESTIONS = {
    "action = N": lambda action, _, reward: action == "N",
    "reward = 4": lambda action, _, reward: reward == 4,
    "reward = −1": lambda action, _, reward: reward == -1,
    "action = N and reward = 4": lambda action, _, reward: action == "N" and reward == 4,
    "action = S and reward = 4": lambda action, _, reward: action == "S" and reward == 4,
}

# %%
# One thing at a time looks the same after both cues, however many episodes there are. Together they differ.
figure = Figure(figsize=(8, 3.4), layout="constrained")
for axes, some in zip(figure.subplots(1, 2, width_ratios=(3, 2)), (range(3), range(3, 5)), strict=True):
    for shift, (name, cue, colour) in enumerate((("north", (0, 1, 1), "#3f74ad"), ("south", (1, 1, 0), "#e0863f"))):
        found = np.array([share(list(QUESTIONS.values())[i], cue) for i in some])
        place = np.arange(len(some)) + 0.36 * shift - 0.18
        axes.bar(place, found[:, 0], 0.34, color=colour, label=f"after the cue {name}")
        axes.errorbar(place, found[:, 0], found[:, 1], fmt="none", ecolor="#2f343b", capsize=3)
    names = [list(QUESTIONS)[i].replace(" and ", "\nand ") for i in some]
    axes.set_xticks(range(len(some)), names, size=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title("one thing: the same" if len(some) == 3 else "both together: different", size=10)
figure.axes[0].set_ylabel("share of episodes in which it happens")
figure.axes[0].legend(frameon=False, fontsize=9)
save_figure(figure, "witness")
