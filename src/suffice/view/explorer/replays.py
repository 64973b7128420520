"""Episodes to be replayed on the page: some of a log, or made up from the counts of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.automata.rdp import BEHAVE, RDP, UNSEEN
from suffice.data.alphabet import PAD
from suffice.data.episodes import Episodes
from suffice.kernels.array_types import Codes, Int64
from suffice.models.model import Model
from suffice.view.explorer.data import plan_of

LOGGED, BEHAVED, PLANNED = "logged", "behaved", "planned"  # where an episode comes from
MOST_CONSIDERED = 20_000  # episodes of a log that some are chosen from
DRAWN = 400  # episodes that some are chosen from
MOST_PLANNED = 4  # that show what the plan would do


def replay_data(models: Sequence[Model], log: Episodes | None, most: int) -> list[dict[str, Any]]:
    """Episodes that together visit many states of the first model; the plan's come first."""
    model, rdps = models[0], [model.rdp for model in models]
    rng, found = np.random.default_rng(0), []
    if model.plan is not None:
        planned = _draw(model, DRAWN, rng, follow=True)
        found += [_replay(rdps, planned, i, PLANNED) for i in choose(model.rdp, planned, min(MOST_PLANNED, most))]
    if log is None:
        behaved = _draw(model, DRAWN, rng, follow=False)
        return found + [_replay(rdps, behaved, i, BEHAVED) for i in choose(model.rdp, behaved, most)]
    return found + [_replay(rdps, log, i, LOGGED) for i in choose(model.rdp, log, most)]


def choose(rdp: RDP, episodes: Episodes, most: int) -> list[int]:
    """Columns, each with as many states that none before it visits as there are; among equals the first."""
    states = rdp.run_all(episodes.columns(slice(0, MOST_CONSIDERED)))
    first = _first_visits(states)
    covered = np.zeros(rdp.n_states + 1, bool)  # one more, for what is unseen
    covered[UNSEEN] = True
    left = np.ones(states.shape[1], bool)
    chosen: list[int] = []
    for _ in range(min(most, len(left))):
        gain = np.where(left, (first & ~covered[states]).sum(axis=0), -1)
        best = int(gain.argmax())
        chosen.append(best)
        covered[states[:, best]], left[best] = True, False
    return chosen


def _first_visits(states: NDArray[np.int32]) -> NDArray[np.bool_]:
    """[T, N] where an episode is in a state for the first time."""
    order = np.argsort(states, axis=0, kind="stable")
    ordered = np.take_along_axis(states, order, axis=0)
    new = np.concatenate([np.ones((1, states.shape[1]), bool), ordered[1:] != ordered[:-1]])
    first = np.zeros(states.shape, bool)
    np.put_along_axis(first, order, new, axis=0)
    return first


def _draw(model: Model, n: int, rng: np.random.Generator, *, follow: bool) -> Episodes:
    """Episodes of a model if its frequencies were probabilities, of its plan or as the log behaved."""
    layers, plan = model.planned, plan_of(model)
    word = np.zeros((layers.horizon + 1, n), np.int64)
    q: Int64 = np.zeros(n, np.int64)
    for letters in word:
        counts = layers.counts[q]
        if follow:
            planned = plan.actions[q][:, None]
            chosen = np.where((planned == BEHAVE) | (layers.letters[:, 0] == planned + PAD + 1), counts, 0)
            # of a split, the plan's half of the log may know actions that the automaton's has never seen there
            counts = np.where(chosen.any(axis=1, keepdims=True), chosen, counts)
        sums = counts.cumsum(axis=1)
        letters[:] = (sums <= (rng.random(n) * sums[:, -1])[:, None]).sum(axis=1)
        q = layers.tau[q, layers.symbol_of_letter()[letters]].astype(np.int64)
    return Episodes(layers.alphabet, layers.letters, word, np.ones(len(layers.letters), bool))


def _replay(rdps: Sequence[RDP], episodes: Episodes, column: int, kind: str) -> dict[str, Any]:
    """Step by step up to its end, in words, and by the symbols of each automaton (−1 where it has none)."""
    alphabet = episodes.alphabet
    letters: Codes = episodes.letters[episodes.word[:, column]]
    letters = letters[letters[:, 0] != PAD]
    seen = [(alphabet.action(a), alphabet.observation(o)) for a, o, _ in letters.tolist()]
    known = [{rdp.symbol(y): y for y in range(len(rdp.symbols))} for rdp in rdps]
    return {
        "kind": kind,
        "number": column + 1,
        "action": [None if action is None else str(action) for action, _ in seen],
        "observation": [None if values is None else f"({', '.join(map(str, values))})" for _, values in seen],
        "reward": [alphabet.rewards[r] for r in letters[:, 2]],
        "symbols": [[symbols.get(symbol, -1) for symbol in seen] for symbols in known],
    }
