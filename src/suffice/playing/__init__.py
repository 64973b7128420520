"""Policies in Gymnasium environments: play whole episodes, in one or in many at once, or show the automaton's state.

played = play(gymnasium.make("suffice/TMaze-v0"), model.policy(), episodes=100, seed=1)
played = play_vector(gymnasium.make_vec("suffice/TMaze-v0", num_envs=8), model.policy(), episodes=100, seed=1)
env = AutomatonState(gymnasium.make("suffice/TMaze-v0"), model)  # to train any algorithm for MDPs
"""

from suffice.playing.games import Played, VectorPolicy, play, play_vector
from suffice.playing.state import AutomatonState

__all__ = ["AutomatonState", "Played", "VectorPolicy", "play", "play_vector"]
