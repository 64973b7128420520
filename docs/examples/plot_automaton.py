"""
An automaton and the plan on it
===============================

In a T-maze the first observation is a cue: the goal is north or south of the junction. The corridor looks the same
everywhere, and so does the junction, so that whoever wants to reach the goal must carry the cue along.
"""

# %%
# Simulate random episodes, learn, draw. States are circles, one column for each step of an episode; an arrow says which
# action takes it, and as far as needed what is seen then and what it pays. Darker states are worth more, and orange is
# what the plan does.
import numpy as np

import suffice
from suffice.view import draw_automaton, save_figure

maze = suffice.make("t-maze", {"length": "2"})
episodes = maze.simulate(20_000, 3, np.random.default_rng(0))
model = suffice.learn(episodes)
title = "A short T-maze, learned from 20,000 episodes"
figure = draw_automaton(model.rdp, model.plan, title=title, brief=True)
save_figure(figure, "automaton")

# %%
# The two cues (011 and 110) lead to different states, and so does every step towards the goal: the automaton remembers
# the cue as long as it matters. Whoever strays has no time left for the goal, and there both cues share their states.
print(model)
