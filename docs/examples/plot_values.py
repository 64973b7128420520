"""
Values of states along an episode
=================================

The value of a state is the expected remaining return. Along an episode it shows which step won or lost it.
"""

# %%
# Learn a T-maze, and compute the state of the automaton after each step of the logged episodes.
import numpy as np
from matplotlib.figure import Figure

from suffice import make, regorl
from suffice.view import save_figure

episodes = make("t-maze", length=2).simulate(50_000, 5, np.random.default_rng(0))
solution = regorl(episodes)
letters, alphabet = episodes.letters[episodes.word], episodes.alphabet  # [step, episode, (action, observation, reward)]
states = solution.learned.rdp.run_all(episodes)[1:]
paid = np.array(alphabet.rewards)[letters[..., 2]].cumsum(axis=0)
worth = paid + solution.plan.values[states]
names = np.array([str(alphabet.action(code) or "") for code in range(alphabet.n_actions)])
paths = ["".join(path) for path in names[letters[..., 0]].T]
north = letters[0, :, 1] == [alphabet.observation(code) for code in range(alphabet.n_observations)].index((0, 1, 1))

# %%
# The past return plus the expected return if the plan takes over, for four episodes with the cue north. Walking into a
# wall costs 1, going back costs nothing as long as there is time, and the wrong turn loses the reward.
WANTED = {"EEN": "#2b7a3d", "EWEEN": "#3f74ad", "NEEN": "#e0863f", "EES": "#b3261e"}
figure = Figure(figsize=(8, 3.6), layout="constrained")
axes = figure.subplots()
for place, (path, colour) in enumerate(WANTED.items()):
    one = next(i for i in np.flatnonzero(north) if paths[i].startswith(path))
    axes.plot(worth[: len(path) + 1, one] - 0.06 * place, color=colour, marker="o", label=" ".join(path))
axes.set_xticks(range(6), ["cue", *(f"step {t}" for t in range(1, 6))])
axes.set(ylabel="past and expected return")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, fontsize=9, loc="lower right", title="actions")
save_figure(figure, "values")
