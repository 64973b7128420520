"""
Layered and stationary automata
===============================

A layered automaton has separate states for each step of an episode. Most processes do not depend on the number of the
step. A stationary automaton then needs fewer states, and every episode visits each of them many times.
"""

# %%
# In this corridor a guard stands in one of two rows. Meeting the guard gives nothing, and the guard changes rows; the
# other row is clear and gives 1. One bit has to be remembered: the row of the guard. The layered automaton has two
# states for it at every step.
import numpy as np

import suffice
from suffice.view import draw_automaton, save_figure

episodes = suffice.make("corridor", columns=1).simulate(2_000, 4, np.random.default_rng(0))
layered = suffice.learn(episodes, stationary=False)
title = "Layered: a column of states for each step"
figure = draw_automaton(layered.rdp, layered.own_plan, title=title)
save_figure(figure, "layered")

# %%
# The stationary automaton has two states for it, with encounters as the arrows between them, and an initial state.
stationary = suffice.learn(episodes, stationary=True)
title = "Stationary: the same states at every step"
figure = draw_automaton(stationary.rdp, stationary.own_plan, title=title)
save_figure(figure, "stationary")
