"""Groups of episodes walk the same layered automaton: what they meet."""

from __future__ import annotations

from suffice.kernels.jit import jit


@jit
def walk_on(tau, symbol_of_letter, word, episodes, start, first, labels):
    """Let some episodes walk from a state at step `first`: their states at all later steps, labels [H+2, N]."""
    for i in range(episodes.size):
        e, state = episodes[i], start
        labels[first, e] = state
        for u in range(first, word.shape[0]):
            state = tau[state, symbol_of_letter[word[u, e]]]
            labels[u + 1, e] = state


@jit
def meet(labels, word, cell_of, candidate, weight, first, rows):
    """How often the episodes of each candidate meet each cell (state and letter) from step `first` on, rows [C, D]."""
    weighted = weight.size > 0
    for u in range(first, word.shape[0]):
        for e in range(candidate.size):
            cell = cell_of[labels[u, e], word[u, e]]
            if cell >= 0:
                rows[candidate[e], cell] += weight[e] if weighted else 1
