"""Groups of episodes walk the same layered automaton: what they meet."""

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import jit


@jit
def meet(tau, symbol_of_letter, cell_of, label_of, candidate, word, weight, rows):
    """How often the episodes of each candidate meet each cell (state and letter), rows [C, D].

    They begin at the first row of `word` in the state that is their candidate's label, [C].
    """
    weighted = weight.size > 0
    label = np.empty(candidate.size, np.int32)
    for e in range(candidate.size):
        label[e] = label_of[candidate[e]]
    for u in range(word.shape[0]):
        for e in range(candidate.size):
            x = word[u, e]
            cell = cell_of[label[e], x]
            if cell >= 0:
                rows[candidate[e], cell] += weight[e] if weighted else 1
            label[e] = tau[label[e], symbol_of_letter[x]]
