"""Gymnasium environments: record episodes, play those of a policy, in one or in many at once, show its memory.

table = record(gymnasium.make("MyOwn-v0"), episodes=10_000, seed=1)  # to learn from
better = record(gymnasium.make("MyOwn-v0"), 10_000, choose=model.policy(), epsilon=0.2, seed=2)  # and again
played = play(gymnasium.make("suffice/TMaze-v0"), model.policy(), episodes=100, seed=1)
played = play_vector(gymnasium.make_vec("suffice/TMaze-v0", num_envs=8), model.policy(), episodes=100, seed=1)
env = AutomatonState(gymnasium.make("suffice/TMaze-v0"), model)  # to train any algorithm for MDPs
"""

from suffice.playing.games import Played, VectorPolicy, play, play_vector
from suffice.playing.recording import record
from suffice.playing.state import AutomatonState

__all__ = ["AutomatonState", "Played", "VectorPolicy", "play", "play_vector", "record"]
