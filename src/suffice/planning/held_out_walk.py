"""Held-out episodes on an automaton: the states that they visit, and the probabilities of their actions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.automata.rdp import RDP
from suffice.automata.state_tracker import StateTracker
from suffice.data.alphabet import PAD
from suffice.data.episodes import Episodes, known_outcomes, observed_decisions, weights
from suffice.data.memory_limit import require_memory
from suffice.errors import LogError, spelled
from suffice.kernels.array_types import Float, Int32, Int64, Mask, UInt64
from suffice.planning.plan import Plan

BYTES_A_STEP = 250  # memory of a step in all estimates


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutWalk:
    """Held-out episodes with the places of the state tracker that they visit: row t − 1 is decision t of 1..H."""

    times: Int64  # [N] weights of the episodes
    place: Int32  # [H, N] before each decision
    edge: Int64  # [H, N] number of the place before, with the symbol that led on
    acts: Mask  # [H, N] whether the episode has not ended, and is still observed
    seen: Float  # [H, N] for how many episodes this one stands at the decision; 0 if it was cut off before
    known: Float  # [H, N] for how many visits this one stands, by what followed; 0 if that is not known
    action: Int64  # [H, N] index among the automaton's actions; 0 after the end
    reward: Float  # [H, N]
    target: Float  # [P, A] action probabilities of the policy
    mu: Float  # [H, N] probabilities with which the behaviour policy took the actions, known or estimated
    group: UInt64 | None = None  # [N] groups of episodes that may depend on each other

    @classmethod
    def of(cls, rdp: RDP, plan: Plan, episodes: Episodes, propensity: Float | None) -> HeldOutWalk:
        """Follow episodes; without propensities [H+1, N] these are the frequencies of actions in each place."""
        steps = episodes.word.size
        require_memory(BYTES_A_STEP * steps, f"the evaluation of {steps:,} steps", "evaluate on fewer episodes")
        memory, actions = StateTracker.of(rdp), _known_actions(rdp, episodes)
        places, word = memory.along(episodes), episodes.word
        acts, action = (episodes.letters[:, 0] != PAD)[word[1:]], np.maximum(actions[word[1:]], 0)
        times = weights(episodes) if episodes.weight is not None else np.ones(episodes.n, np.int64)
        target = frequencies(memory.choices(plan.actions))
        if propensity is None:
            taken = np.zeros(target.shape)
            np.add.at(taken, (places[:-1][acts], action[acts]), np.broadcast_to(times, acts.shape)[acts])
            mu = frequencies(taken)[places[:-1], action]
        else:
            mu = propensity[1:]
        return cls(
            times=times,
            place=places[:-1],
            edge=_edges(places, episodes),
            acts=acts,
            **_stands_for(episodes, acts, times),
            action=action,
            reward=np.array(episodes.alphabet.rewards)[episodes.letters[:, 2]][word[1:]],
            target=target,
            mu=np.where(acts & (mu > 0), mu, np.where(acts, np.inf, 1.0)),
            group=episodes.group,
        )

    def ratios(self) -> Float:
        """Return the importance ratios ρ [H, N]; 1 after the end, and 0 if the behaviour never takes the action."""
        return np.asarray(np.where(self.acts, self.target[self.place, self.action] / self.mu, 1.0))


def _stands_for(episodes: Episodes, acts: Mask, times: Int64) -> dict[str, Float]:
    """Return `seen` and `known`, by which episodes that are still observed stand for those that were cut off.

    An episode that ends before it is cut off is always observed to its end, so that ends would count too much. The
    inverse of the share that is not cut off, given the step, corrects this (inverse probability of censoring).
    """
    if episodes.length is None:
        one = np.ones(acts.shape)
        return {"seen": one, "known": one}
    observed, outcome = observed_decisions(episodes), known_outcomes(episodes)
    at_risk = np.maximum((acts * times).sum(axis=1), 1)
    goes_on = 1 - ((acts & ~outcome) * times).sum(axis=1) / at_risk  # [H] share that is not cut off after the decision
    left = np.concatenate([[1.0], np.cumprod(goes_on)[:-1]])  # [H] before it
    last = np.maximum(acts.sum(axis=0) - 1, 0)  # an ended episode stands for as many as at its last decision
    until = np.minimum(np.arange(len(acts))[:, None], last)
    continues = np.vstack([acts[1:], np.zeros((1, episodes.n), bool)])
    inverse = 1 / np.maximum(goes_on, 1 / at_risk)
    known = np.where(outcome, np.where(continues, inverse[:, None], 1.0), 0.0)
    return {"seen": np.where(observed, 1 / np.maximum(left, 1e-9)[until], 0.0), "known": known}


def refuse_longer_episodes(rdp: RDP, episodes: Episodes) -> None:
    """Refuse episodes with more decisions than the plan has."""
    if episodes.horizon > rdp.horizon:
        cut = spelled(f"read_log(log, horizon={rdp.horizon})", f"--horizon {rdp.horizon}")
        raise LogError(
            f"the log's episodes have up to {episodes.horizon} decisions, but the model plans only {rdp.horizon}. "
            f"Cut the episodes with {cut}."
        )


def frequencies(choices: Float | Int64) -> Float:
    """Return action probabilities [P, A] from counts; uniform where there are none."""
    total = choices.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0, choices / np.maximum(total, 1), 1 / choices.shape[1]))


def _edges(places: Int32, episodes: Episodes) -> Int64:
    """Return [H, N], a number for each pair of the place before step t − 1 and the symbol of step t − 1."""
    symbols, of_letter = episodes.symbols()
    before = np.concatenate([np.zeros_like(places[:1]), places[:-2]]).astype(np.int64)
    return np.asarray(before * len(symbols) + of_letter[episodes.word[:-1]])


def _known_actions(rdp: RDP, episodes: Episodes) -> Int64:
    """Return [X], the index of each letter's action among the model's; -1 for padding and the dummy action."""
    theirs = [episodes.alphabet.action(code) for code in episodes.letters[:, 0].tolist()]
    ours = {action: place for place, action in enumerate(rdp.alphabet.actions)}
    if unknown := [a for a in theirs if a is not None and a != "pad" and a not in ours]:
        raise LogError(
            f"the log has action {unknown[0]!r}, which the model does not know. Its actions are "
            f"{', '.join(map(str, rdp.alphabet.actions))}. Rename those of the log, or learn the model again."
        )
    return np.array([ours.get(a, -1) if a is not None else -1 for a in theirs])
