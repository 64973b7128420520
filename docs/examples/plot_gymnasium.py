"""
A policy in Gymnasium
=====================

A learned policy includes its memory: it takes each observation and returns an action. Here it plays 500 episodes, in
comparison with random actions.
"""

# %%
# Learn from random episodes, then play.
import gymnasium
import numpy as np
from matplotlib.figure import Figure

from suffice import learn, make, play, register
from suffice.view import save_figure

episodes = make("enemy-corridor").simulate(5_000, 10, np.random.default_rng(0))
model = learn(episodes)
register()  # the domains as Gymnasium environments
env = gymnasium.make("suffice/EnemyCorridor-v0")
played = play(env, model.policy(), episodes=500, seed=1)
print(played)

# %%
# The same environment with random actions.
env.action_space.seed(1)
random = []
for number in range(500):
    env.reset(seed=number)
    total, over = 0.0, False
    while not over:
        _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        total, over = total + reward, terminated or truncated
    random.append(total)

figure = Figure(figsize=(7, 3.2), layout="constrained")
axes = figure.subplots()
axes.hist(
    [played.returns, random],
    bins=np.arange(-0.5, 11),
    label=("learned policy", "random actions"),
    color=("#3f74ad", "#c9ced6"),
)
axes.set(xlabel="return of an episode", ylabel="episodes")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
save_figure(figure, "gymnasium")
