"""Bytes of the tables that learning makes, for refusals before they are allocated and for the estimate of `check`."""

from __future__ import annotations

from suffice.data.log import room_for_counts


def automaton_bytes(states: int, letters: int) -> int:
    """Return the bytes of an automaton while it is made: counts and transitions by layer, then together."""
    return 24 * states * letters


def layer_bytes(states: int, letters: int, answers: int) -> int:
    """Return the bytes of the counts of letters in the states of one layer, and of the candidates made from them."""
    return 8 * (answers + 4) * states * letters


def refinement_bytes(states: int, letters: int) -> int:
    """Return the bytes of refinement for the states of both automata: themselves, and tables to follow the first."""
    return 48 * states * letters


def counts_bytes(candidates: int, states: int, columns: int, answers: int, room: int) -> int:
    """Return the bytes of a layer's rows of counts: of candidates, as many as are counted at a time, and of states."""
    at_once = max(room_for_counts(room), 8 * columns * answers)
    return min(8 * candidates * columns * answers, at_once) + 12 * columns * states  # the table of states grows
