"""
A policy in Gymnasium
=====================

A learned policy carries its memory with it: give it what is seen, and it says what to do. Here it plays 500 episodes,
beside one that acts at random.
"""

# %%
# Learn from random episodes, then play.
import gymnasium
import numpy as np
from matplotlib.figure import Figure

from suffice import learn, make, register
from suffice.playing import play
from suffice.view import save_figure

episodes = make("enemy-corridor").simulate(5_000, 10, np.random.default_rng(0))
model = learn(episodes)
register()  # the domains as environments
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
    label=("the policy", "random actions"),
    color=("#3f74ad", "#c9ced6"),
)
axes.set(xlabel="return of an episode", ylabel="episodes")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
save_figure(figure, "gymnasium")
