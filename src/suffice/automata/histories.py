"""Histories as tuples of symbols, and their text form."""

from __future__ import annotations

from suffice.data.alphabet import Value

# action and observation as logged; for the dummy and pad actions and o_⊥ see Alphabet
Symbol = tuple[Value | None, tuple[Value, ...] | None]
History = tuple[Symbol, ...]

LONGEST = 5  # symbols of a history that are shown; of a longer one the middle is left out


def show(history: History) -> str:
    """Format a history as text, such as "(0, 1, 1) · E → (1, 0, 1)"."""
    return " · ".join(show_symbol(symbol) for symbol in history) or "the empty history"


def show_ends(first: Symbol, length: int, last: History) -> str:
    """Format a long history by its first and last symbols, without the middle."""
    return f"{show_symbol(first)} · … {length - 1 - len(last)} more … · {show(last)}"


def show_symbol(symbol: Symbol) -> str:
    """Format an action and the observation that follows it, such as "E → (1, 0, 1)"."""
    action, observation = symbol
    seen = "end" if observation is None else ", ".join(str(v) for v in observation)
    return f"({seen})" if action is None else "pad" if action == "pad" else f"{action} → ({seen})"
