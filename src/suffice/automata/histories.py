"""Histories, as tuples of symbols, and how people read them."""

from __future__ import annotations

from suffice.data.alphabet import Value

Symbol = tuple[
    Value | None, tuple[Value, ...] | None
]  # action and observation as logged; see Alphabet for the specials


History = tuple[Symbol, ...]


def show(history: History) -> str:
    """A history as a person reads it: "(0, 1, 1) · E → (1, 0, 1)"."""
    return " · ".join(show_symbol(symbol) for symbol in history) or "the empty history"


def show_symbol(symbol: Symbol) -> str:
    """An action and what was seen after it."""
    action, observation = symbol
    seen = "end" if observation is None else ", ".join(str(v) for v in observation)
    return f"({seen})" if action is None else "pad" if action == "pad" else f"{action} → ({seen})"
