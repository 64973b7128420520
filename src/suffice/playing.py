"""Alias of `suffice.domains.gym` for programs that import from here."""

from suffice.domains.gym.automaton_state import AutomatonState
from suffice.domains.gym.recording import record
from suffice.domains.gym.rollouts import Played, VectorPolicy, play, play_vector

__all__ = ["AutomatonState", "Played", "VectorPolicy", "play", "play_vector", "record"]
