"""Episodes to replay on the page, chosen from a log or simulated from the counts of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.automata.rdp import BEHAVE, BLOCK_CELLS, RDP, UNSEEN
from suffice.data.alphabet import PAD
from suffice.data.episodes import Episodes
from suffice.errors import ModelError
from suffice.kernels.array_types import Codes, Float, Int64
from suffice.models.model import Model
from suffice.planning.plan import Plan
from suffice.view.explorer.data import plan_of

LOGGED, BEHAVED, PLANNED = "logged", "behaved", "planned"  # origin of an episode
MOST_CONSIDERED = 20_000  # logged episodes to choose from
DRAWN = 400  # simulated episodes to choose from
MOST_DRAWN = 1 << 23  # steps of all simulated episodes; limits time and memory where episodes are long
MOST_PLANNED = 4  # simulated episodes that follow the plan


def replay_data(models: Sequence[Model], log: Episodes | None, most: int) -> list[dict[str, Any]]:
    """Return episodes that together visit many states of the first model; those of the plan are first."""
    model, rdps = models[0], [model.rdp for model in models]
    rng, found, drawn = np.random.default_rng(0), [], max(1, min(DRAWN, MOST_DRAWN // (model.rdp.horizon + 1)))
    if model.plan is not None:
        planned = _draw(model, drawn, rng, follow=True)
        found += [_replay(rdps, planned, i, PLANNED) for i in choose(model.rdp, planned, min(MOST_PLANNED, most))]
    if log is None:
        behaved = _draw(model, drawn, rng, follow=False)
        return found + [_replay(rdps, behaved, i, BEHAVED) for i in choose(model.rdp, behaved, most)]
    return found + [_replay(rdps, log, i, LOGGED) for i in choose(model.rdp, log, most)]


def choose(rdp: RDP, episodes: Episodes, most: int) -> list[int]:
    """Choose episodes greedily, each with the most states that the episodes before it do not visit."""
    states = rdp.run_all(episodes.columns(slice(0, MOST_CONSIDERED)))
    first = _first_visits(states)
    covered = np.zeros(rdp.n_states + 1, bool)  # one more for UNSEEN
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
    """Return whether each step [T, N] is the episode's first visit of its state."""
    order = np.argsort(states, axis=0, kind="stable")
    ordered = np.take_along_axis(states, order, axis=0)
    new = np.concatenate([np.ones((1, states.shape[1]), bool), ordered[1:] != ordered[:-1]])
    first = np.zeros(states.shape, bool)
    np.put_along_axis(first, order, new, axis=0)
    return first


def _draw(model: Model, n: int, rng: np.random.Generator, *, follow: bool) -> Episodes:
    """Simulate episodes with the model's frequencies as probabilities, under the plan or the behaviour policy."""
    layers, plan = model.planned, plan_of(model)
    symbol_of_letter = layers.symbol_of_letter()
    word = np.zeros((layers.horizon + 1, n), np.int64)
    q: Int64 = np.zeros(n, np.int64)
    parts = np.array_split(np.arange(n), n * len(layers.letters) // BLOCK_CELLS + 1)
    for letters in word:
        drawn = rng.random(n)
        for part in parts:
            letters[part] = _draw_letters(layers, plan if follow else None, q[part], drawn[part])
        q = layers.tau[q, symbol_of_letter[letters]].astype(np.int64)
    return Episodes(layers.alphabet, layers.letters, word, np.ones(len(layers.letters), bool))


def _draw_letters(layers: RDP, plan: Plan | None, q: Int64, drawn: Float) -> Int64:
    """Return the letters [n] that follow in states [n], by numbers drawn from [0, 1)."""
    counts = layers.counts[q]
    if plan is not None:
        planned = plan.actions[q][:, None]
        chosen = np.where((planned == BEHAVE) | (layers.letters[:, 0] == planned + PAD + 1), counts, 0)
        # with split data, the plan may choose actions that the automaton's half of the log lacks
        counts = np.where(chosen.any(axis=1, keepdims=True), chosen, counts)
    sums = counts.cumsum(axis=1)
    if not sums[:, -1].all():  # only in a forged file
        raise ModelError("the model has no counts for a state that its transitions lead to. Learn it again.")
    return np.asarray((sums <= (drawn * sums[:, -1])[:, None]).sum(axis=1))


def _replay(rdps: Sequence[RDP], episodes: Episodes, column: int, kind: str) -> dict[str, Any]:
    """Return the steps of an episode as texts and as symbols of each automaton (−1 if it lacks the symbol)."""
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
