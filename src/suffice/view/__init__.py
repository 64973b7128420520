"""Pictures of automata: where things go is computed apart from how they are drawn, so that every picture may use it."""

from suffice.view.layout import Layout, lay_out

__all__ = ["Layout", "lay_out"]
