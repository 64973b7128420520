"""
Layers, or one automaton for all times
======================================

With layers every step of an episode has its own states. Most processes do not know what step it is: folded, the same
memory takes fewer states, and every episode says something about each of them many times.
"""

# %%
# In this corridor a guard stands in one of two rows. Whoever runs into it gets nothing, and the guard changes rows; in
# the other row it is clear, and pays 1. So one bit has to be remembered: where the guard is. With layers it is
# remembered anew at every step.
import numpy as np

import suffice
from suffice.view import draw_automaton, save_figure

episodes = suffice.make("corridor", {"columns": "1"}).simulate(2_000, 4, np.random.default_rng(0))
layered = suffice.learn(episodes)
title = "Layers: a column of states for each step"
figure = draw_automaton(layered.rdp, layered.own_plan, title=title)
save_figure(figure, "layered")

# %%
# Folded, it is two states, and the arrows between them are encounters. A third comes before the first decision.
folded = suffice.learn(episodes, stationary=True)
title = "Folded: the same states at all times"
figure = draw_automaton(folded.rdp, folded.own_plan, title=title)
save_figure(figure, "folded")
