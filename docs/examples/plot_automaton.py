"""
An automaton and the plan on it
===============================

In a T-maze the first observation is a cue: the goal is north or south of the junction. Later observations do not
repeat it, so that an agent must remember the cue to reach the goal.
"""

# %%
# Simulate random episodes, learn, draw. Circles are states, with one column for each step of an episode. The label of
# an arrow is the action and, where needed, the observation and the reward. Darker states have a higher value; the
# actions of the plan are orange.
import numpy as np

import suffice
from suffice.view import draw_automaton, save_figure

maze = suffice.make("t-maze", length=2)
episodes = maze.simulate(20_000, 3, np.random.default_rng(0))
model = suffice.learn(episodes, stationary=False)
title = "A short T-maze, learned from 20,000 episodes"
figure = draw_automaton(model.rdp, model.plan, title=title, brief=True)
save_figure(figure, "automaton")

# %%
# The two cues (011 and 110) lead to different states, and so does every step towards the goal: the automaton remembers
# the cue as long as it matters. After a detour there is no time left to reach the goal, and both cues share a state.
print(model)
