"""Pictures of automata: where things go is computed apart from how they are drawn, so that every picture may use it."""

from suffice.view.automaton import draw_automaton
from suffice.view.layout import Layout, lay_out
from suffice.view.saving import save_figure, save_picture

__all__ = ["Layout", "draw_automaton", "lay_out", "save_figure", "save_picture"]
