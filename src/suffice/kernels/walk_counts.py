"""Groups of episodes walk the same layered automaton: what they meet."""

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import at, jit


@jit
def meet(after, cell_of, label_of, candidate, word, weight, rows):
    """How often the episodes of each candidate meet each cell, rows [C, D]: a state and a letter give a cell, [Q, X].

    They begin at the first row of `word` in the state that is their candidate's label, [C], and go where `after` says.
    """
    weighted = weight.size > 0
    label = np.empty(candidate.size, np.uint32)
    for e in range(candidate.size):
        label[e] = label_of[at(candidate[e])]
    for u in range(word.shape[0]):
        for e in range(candidate.size):
            state, x = label[e], word[u, e]
            rows[at(candidate[e]), at(cell_of[state, x])] += weight[e] if weighted else 1
            label[e] = after[state, x]


@jit
def meet_from(after, cell_of, labels, which, candidate, word, weight, rows):
    """The same of the episodes of one candidate, from each of several labels, rows [L, D]."""
    weighted = weight.size > 0
    for e in range(candidate.size):
        if candidate[e] == which:
            for i in range(labels.size):
                state = at(labels[i])
                for u in range(word.shape[0]):
                    x = word[u, e]
                    rows[i, at(cell_of[state, x])] += weight[e] if weighted else 1
                    state = at(after[state, x])
