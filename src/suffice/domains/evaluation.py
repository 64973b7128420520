"""Evaluation of a policy by simulation: mean return, return per step and success rate, with standard errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from suffice.automata.rdp import RDP
from suffice.data.alphabet import PAD, Alphabet
from suffice.data.episodes import Episodes
from suffice.domains.finite import FiniteModel
from suffice.domains.simulation import stream
from suffice.errors import SettingsError, SufficeError, parameter
from suffice.evidence.estimates import Estimate
from suffice.kernels.array_types import Float
from suffice.planning.controller import Controller


class SimulationEstimates(NamedTuple):
    """Estimates from simulated episodes, with standard errors."""

    mean_return: Estimate
    return_per_step: Estimate  # the mean return over the mean number of decisions
    success_rate: Estimate  # share of the episodes with a positive reward
    episodes: int
    unseen: float  # share of the decisions after a history that the training log does not have


def roll_out(
    model: FiniteModel,
    controller: Controller,
    horizon: int,
    n: int,
    rng: np.random.Generator,
    rdp: RDP | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> SimulationEstimates:
    """Evaluate a policy by simulation; with an automaton, also count decisions after histories it has not seen."""
    if n < 1:
        raise SettingsError(f"{n} episodes cannot be simulated. Use 1 or more.")
    parts, lost, decisions = [], 0, 0
    for episodes in stream(model, n, horizon, rng, controller):
        parts.append(_per_episode(episodes))
        decisions += int(parts[-1][1].sum())
        if rdp is not None:
            lost += int(np.count_nonzero(rdp.unseen_decisions(episodes)))
        progress(sum(len(part[0]) for part in parts), n)
    returns, steps, won = (np.concatenate(column) for column in zip(*parts, strict=True))
    return summary(returns, steps, won, lost / max(decisions, 1))


def summary(returns: Float, steps: Float, won: Float, unseen: float) -> SimulationEstimates:
    """Summarise the return, the number of decisions and the success of each episode."""
    mean, length = Estimate.mean(returns), float(steps.mean())
    rate = mean.value / length
    deviation = Estimate.mean(returns - rate * steps)  # linearised standard error of a ratio of means
    per_step = Estimate(rate, deviation.error / length)
    return SimulationEstimates(mean, per_step, Estimate.mean(won), len(returns), unseen)


def _per_episode(episodes: Episodes) -> tuple[Float, Float, Float]:
    """Compute the return, the number of decisions and the success of each episode."""
    reward = np.array(episodes.alphabet.rewards)[episodes.letters[:, 2]]
    acts = episodes.letters[:, 0] != PAD
    returns, steps, won = np.zeros(episodes.n), np.zeros(episodes.n), np.zeros(episodes.n)
    for word in episodes.word[1:]:
        returns += reward[word]
        steps += acts[word]
        won = np.maximum(won, reward[word] > 0)
    return returns, steps, won


def refuse_other_alphabet(ours: Alphabet, theirs: Alphabet, names: tuple[str, str]) -> None:
    """Refuse a model whose alphabet is not part of a domain's; `names` are the names of the model and the domain."""
    parts = {
        "actions": (ours.actions, theirs.actions),
        "features": (ours.features, theirs.features),
        "observations": (ours.observations, theirs.observations),
        "rewards": (ours.rewards, theirs.rewards),
    }
    for what, (model_has, domain_has) in parts.items():
        if set(model_has) - set(domain_has) or (what == "features" and model_has != domain_has):
            raise SufficeError(
                f"{names[0]} was not learned from {names[1]}. Its {what} are {_listed(model_has)}, those of "
                f"the domain {_listed(domain_has)}. Name the domain it was learned from, with the same "
                f"{parameter('options')}."
            )


def _listed(values: Sequence[Any], most: int = 8) -> str:
    def shown(value: Any) -> str:
        if isinstance(value, tuple):
            return f"({', '.join(map(str, value))})"
        return f"{value:g}" if isinstance(value, float) else str(value)

    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(map(shown, values[:most])) + more
