"""Which episodes to collect next: the histories and actions whose trial would tell most.

For people who cannot run an agent, but can ask that some episodes be tried. There are two kinds of suggestions:

- *rare*: an action that was tried too rarely in a state for its value to be known. Its possible gain is how far its
  upper 95 % bound, at most the best logged return, is above the value of the plan there, times the probability with
  which the state can be reached. Of equal gains, those of rarer actions come first.
- *undecided*: two histories that were merged for lack of evidence. The event that differs most between them says what
  to try after each.

The number of episodes assumes that each goes straight to the situation. Theory: docs/theory.md, section 13.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from suffice.automata.describe import brief, describe_witness
from suffice.automata.histories import History
from suffice.automata.rdp import RDP
from suffice.data.alphabet import PAD, Value
from suffice.errors import SettingsError, is_whole, parameter
from suffice.kernels.array_types import Float, Int64
from suffice.models.model import Model
from suffice.planning.backward_induction import action_errors, action_values, plan_values
from suffice.planning.reaching import Reaching, Transitions

FEW_TRIES = 20  # tries of an action after which its value is roughly known
UPPER = 1.645  # 95 % quantile of the normal distribution
SHOWN = 10


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A history to reach and what to try after it.

    Attributes
    ----------
    kind : str
        "rare" for an action that was rarely tried, "undecided" for two histories that may differ.
    history : tuple
        An example of the history, pairs of an action and an observation.
    action : Value or None
        The action to take after it; None if what to try is described by `event`.
    tried : int
        How often this was tried in the log.
    episodes : int
        Number of episodes that would probably decide, if each goes straight there.
    gain : float or None
        For a rare action, the return per episode that might be gained; None for undecided histories.
    other : tuple or None
        For undecided histories, an example of the history that it was merged with.
    event : str or None
        For undecided histories, the event that differs most.

    Examples
    --------
    >>> few = suffice.learn(episodes[:30], stationary=True)
    >>> suffice.suggest(few, most=1)[0].tried < 20
    True
    """

    kind: Literal["rare", "undecided"]
    history: History
    action: Value | None
    tried: int
    episodes: int
    gain: float | None = None
    other: History | None = None
    event: str | None = None

    @property
    def text(self) -> str:
        """The suggestion as a sentence without a full stop."""
        if self.kind == "rare":
            times = "never" if not self.tried else "once" if self.tried == 1 else f"{self.tried:,} times"
            return f"after {brief(self.history)}, take {self.action} (tried {times}): {self.episodes:,} episodes"
        assert self.other is not None
        return f"compare {brief(self.history)} with {brief(self.other)} ({self.event}): {self.episodes:,} episodes"

    def to_dict(self) -> dict[str, Any]:
        """Return the suggestion under the keys of `suffice suggest --json`.

        Returns
        -------
        dict
            Plain values; histories are lists of pairs of an action and an observation.
        """
        return {
            "kind": self.kind,
            "history": _listed(self.history),
            "action": self.action,
            "tried": self.tried,
            "episodes": self.episodes,
            "gain": self.gain,
            "other": None if self.other is None else _listed(self.other),
            "event": self.event,
            "text": self.text,
        }


def suggest(model: Model, most: int = SHOWN) -> list[Suggestion]:
    """List the histories and actions whose trial would tell most.

    Parameters
    ----------
    model
        A model with a plan.
    most
        Largest number of suggestions of each kind.

    Returns
    -------
    list of Suggestion
        First rare actions, by what they may gain and how rarely they were tried, then undecided histories.

    Examples
    --------
    >>> few = suffice.learn(episodes[:30], stationary=True)
    >>> suffice.suggest(few, most=1)[0].kind
    'rare'
    """
    if not is_whole(most) or most < 1:
        raise SettingsError(f"{parameter('most', most)} is not a number of suggestions. Use 1 or more.")
    shown = model.in_words
    return [*_rare(model, shown)[:most], *_undecided(model, shown)[:most]]


def _rare(model: Model, shown: Model) -> list[Suggestion]:
    """Return the actions that may gain most, by the upper bound of their value."""
    plan, planned = model.required_plan(), model.planned
    tally = planned.own_tally()
    value = action_values(planned, plan, tally)
    best = plan_values(planned, plan)[:, None]
    value = np.where(np.isnan(value), best, value)
    upper = value + UPPER * action_errors(planned, plan, tally)
    stored = model.about.plan
    if stored is not None and stored.best_return is not None:
        upper = np.minimum(upper, stored.best_return)  # more than the best logged return is not plausible
    upside = np.maximum(upper - best, 0.0)
    tries, origin, reach = _tries(model.rdp), model.rdp.unroll()[1], _reach(model.rdp)
    gain = np.zeros(tries.shape)
    inner = np.arange(planned.n_states) < planned.n_states - 1  # the final state has no actions
    np.maximum.at(gain, origin[inner], upside[inner])
    gain *= reach[:, None]
    possible = (tries < FEW_TRIES) & tries.any(axis=1, keepdims=True) & (reach[:, None] > 0)
    rarity = np.round(reach[:, None] / (1 + tries), 12)
    order = np.lexsort((np.arange(gain.size), -rarity.ravel(), -np.round(gain, 9).ravel()))
    histories, actions = shown.rdp.typical_histories(), model.rdp.alphabet.actions
    found = []
    for place in order[possible.ravel()[order]].tolist():
        q, a = divmod(place, len(actions))
        n = math.ceil((FEW_TRIES - int(tries[q, a])) / max(float(reach[q]), 1e-6))
        found.append(Suggestion("rare", histories[q], actions[a], int(tries[q, a]), n, float(gain[q, a])))
    return found


def _tries(rdp: RDP) -> Int64:
    """Return [Q, A], how often each action was taken in each state, at the last step too."""
    counts = rdp.counts if rdp.cut is None else rdp.counts + rdp.cut
    found = np.zeros((rdp.n_states, rdp.alphabet.n_actions), np.int64)
    np.add.at(found.T, rdp.letters[:, 0], counts.T)
    return found[:, PAD + 1 :]


def _reach(rdp: RDP) -> Float:
    """Return [Q], the largest probability with which a policy reaches each state in time for an action."""
    found = np.zeros(rdp.n_states)
    if not rdp.stationary:
        return np.asarray(rdp.shares())  # each state is visited at one step
    moves = Transitions.of(rdp)
    places = moves.continuing(rdp)
    chance = Reaching.to(moves, places, max(rdp.horizon - 1, 1)).chance[:, -1]
    np.maximum.at(found, moves.target[places], chance)
    return found


def _undecided(model: Model, shown: Model) -> list[Suggestion]:
    """Return the merges that more episodes might undo, those that need fewest episodes first."""
    found = []
    for merge in shown.undecided_if_known() or ():
        new = max(1, math.ceil(merge.episodes - model.about.episodes))
        one, other = merge.histories
        event = describe_witness(merge.witness, shown.rdp.alphabet) if merge.witness is not None else "any difference"
        uses = 0 if merge.witness is None else merge.witness.n1
        found.append(Suggestion("undecided", one, None, uses, new, None, other, event))
    return sorted(found, key=lambda s: s.episodes)


def _listed(history: History) -> list[list[Any]]:
    return [[action, None if seen is None else list(seen)] for action, seen in history]
