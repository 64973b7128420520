"""Simulate one step of many episodes at once."""

from __future__ import annotations

from suffice.kernels.jit import jit


@jit
def roll(code, chance, after, begin, cumulative, target, shown, paid, luck, state, memory, action, observation, reward):
    """Choose an action in every running episode and draw its outcome.

    `chance` [M, A] and `cumulative` are cumulative probabilities; `luck` [2, N] are uniform random numbers, for the
    action and for its outcome. Episodes that are over (state < 0) do not change; actions are coded from `code` on.
    """
    actions = chance.shape[1]
    for i in range(len(state)):
        if state[i] < 0:
            continue
        row = chance[memory[i]]
        a = 0
        while a < actions - 1 and luck[0, i] >= row[a]:
            a += 1
        choice = state[i] * actions + a
        k, last = begin[choice], begin[choice + 1] - 1
        while k < last and luck[1, i] >= cumulative[k]:
            k += 1
        action[i] = code + a
        observation[i] = shown[k]
        reward[i] = paid[k]
        state[i] = target[k]
        memory[i] = after[memory[i], a, shown[k]]
