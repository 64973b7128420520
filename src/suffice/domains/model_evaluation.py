"""Evaluation of a model in a domain: what `model.evaluate_in` and `suffice evaluate MODEL --domain DOMAIN` do."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from suffice.automata.rdp import RDP
from suffice.data.encoding.encoder import Encoder
from suffice.domains.domain import Domain
from suffice.domains.evaluation import SimulationEstimates, refuse_other_alphabet, roll_out, summary
from suffice.domains.exact.automaton import exact_rdp, optimal_value
from suffice.domains.exact.values import evaluate as expected_values
from suffice.domains.finite import FiniteModel
from suffice.domains.observed_columns import observe_columns
from suffice.domains.registry import DOMAINS, make
from suffice.errors import SettingsError, SufficeError, did_you_mean, parameter
from suffice.evidence.estimates import Estimate
from suffice.models.model import Model
from suffice.models.summary import percent, rounded, with_error
from suffice.planning.controller import Controller

MEASURES = ("mean_return", "return_per_step", "success_rate")
MOST_ENVIRONMENTS = 64  # played side by side
Progress = Callable[[int, int], None]


class Measures(NamedTuple):
    """Mean return, return per step and success rate of a policy; standard errors are 0 where they are exact."""

    mean_return: Estimate
    return_per_step: Estimate
    success_rate: Estimate

    def to_dict(self) -> dict[str, float | None]:
        """Return values and standard errors under the keys of `suffice evaluate --json`.

        Returns
        -------
        dict
            None stands for a standard error that a single episode does not give.
        """
        found: dict[str, float | None] = {}
        for name in MEASURES:
            estimate: Estimate = getattr(self, name)
            found |= {name: estimate.value}
            found |= {f"{name}_stderr": estimate.error if math.isfinite(estimate.error) else None}
        return found


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DomainEvaluation:
    """Evaluation of a model's plan in a domain; `print(evaluation)` shows it as text.

    Attributes
    ----------
    policy : Measures
        Mean return, return per step and success rate of the plan, each with its standard error. An episode is a
        success if it has any positive reward.
    behaviour : Measures or None
        The same of the behaviour policy; None for Gymnasium environments.
    optimal_value : float or None
        Mean return of the best policy; None where it cannot be computed.
    horizon : int
        Decisions per episode.
    episodes : int or None
        Number of episodes that were played; None for exact values.
    seed : int or None
        Seed of these episodes.
    unseen : float
        Share of the decisions after a history that the model's log does not have.
    predictions : dict
        What was predicted when the model was learned.
    names : tuple of str
        What the text calls the model and the domain.

    Examples
    --------
    >>> evaluation = model.evaluate_in("corridor", exact=True)
    >>> evaluation.policy.mean_return.value, evaluation.behaviour.mean_return.value, evaluation.optimal_value
    (5.0, 2.5, 5.0)
    """

    policy: Measures
    behaviour: Measures | None
    optimal_value: float | None
    horizon: int
    episodes: int | None
    seed: int | None
    unseen: float
    predictions: Mapping[str, float | None]
    names: tuple[str, str] = ("the model", "the domain")

    @property
    def exact(self) -> bool:
        """Return whether the values are expectations, computed without sampling."""
        return self.episodes is None

    def to_dict(self) -> dict[str, Any]:
        """Return the content as `suffice evaluate --json` prints it, without the names of model and domain.

        Returns
        -------
        dict
            Plain values; None where something is not known.
        """
        found: dict[str, Any] = {"horizon": self.horizon, "exact": self.exact}
        if not self.exact:
            found |= {"episodes": self.episodes, "seed": self.seed}
        found |= self.policy.to_dict()
        if not self.exact:
            found |= {"fallbacks" if self.behaviour is None else "unseen": self.unseen}
        found["behaviour"] = None if self.behaviour is None else self.behaviour.to_dict()
        return found | {"optimal_value": self.optimal_value} | dict(self.predictions)

    def __repr__(self) -> str:
        how = "exact" if self.exact else f"{self.episodes:,} episodes"
        return f"<DomainEvaluation: mean return {self.policy.mean_return.value:.4g}, {how}>"

    def __str__(self) -> str:
        return "\n".join([self.title, *self.table, *self.sentences])

    @property
    def title(self) -> str:
        """Return the model, the domain and the kind of evaluation in one line."""
        name, domain = self.names
        if self.behaviour is None:
            return f"{name} in {domain}, {self.episodes:,} episodes of at most {self.horizon} steps:"
        how = "expected values" if self.exact else f"{self.episodes:,} episodes"
        return f"{name} in {domain}, horizon {self.horizon}, {how}:"

    @property
    def table(self) -> list[str]:
        """Return the measures of plan and behaviour, one line each."""
        columns = {"policy": self.policy} | ({} if self.behaviour is None else {"behaviour policy": self.behaviour})
        lines = [f"  {'':<18}" + "".join(f"{label:>26}" for label in columns)]
        for name in MEASURES:
            cells = []
            for measures in columns.values():
                estimate: Estimate = getattr(measures, name)
                cells.append(f"{estimate.value:.6g}" if self.exact else with_error(estimate))
            lines.append(f"  {name.replace('_', ' '):<18}" + "".join(f"{cell:>26}" for cell in cells))
        return lines

    @property
    def sentences(self) -> list[str]:
        """Return how the plan compares with the optimum, the prediction and the log, in sentences."""
        found, predicted = [], self.predictions
        if self.optimal_value is not None:
            found.append(f"The optimal mean return is {self.optimal_value:.6g}{self._share()}.")
        value, bound = predicted["predicted_value"], predicted["predicted_lower_bound"]
        if value is not None:
            known = bound is not None and math.isfinite(bound)
            margin = value - bound if bound is not None and known else 0.0
            limit = f"lower bound {rounded(bound, margin)}" if bound is not None and known else "no lower bound"
            found.append(f"Predicted return {rounded(value, margin)} ({limit}).")
        if self.unseen and not self.exact:
            found.append(f"{percent(self.unseen)} of the decisions followed a history that is not in the log.")
        if self.behaviour is None:
            found.append(f"The logged mean return is {predicted['behaviour_value']:.4g}.")
        return found

    def _share(self) -> str:
        """Describe how much of the possible gain over the behaviour policy the policy achieves."""
        if not self.exact or self.behaviour is None or self.optimal_value is None:
            return ""
        low, high = self.behaviour.mean_return.value, self.optimal_value
        if high - low <= 1e-12:
            return ""
        share = (self.policy.mean_return.value - low) / (high - low)
        return f"; the policy achieves {share:.1%} of the possible gain over the behaviour policy"


def evaluate_in(
    model: Model,
    domain: Domain | FiniteModel | str,
    *,
    episodes: int = 10_000,
    seed: int = 0,
    exact: bool = False,
    behaviour: Controller | None = None,
    options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    names: tuple[str, str] | None = None,
) -> DomainEvaluation:
    """Evaluate the plan of a model in a domain or environment; see `Model.evaluate_in`."""
    if episodes < 1:
        raise SettingsError(f"{parameter('episodes', episodes)} is too few. Use 1 or more.")
    if seed < 0:
        raise SettingsError(f"{parameter('seed', seed)} is negative. Use 0 or more.")
    if isinstance(domain, str):
        names = names or ("the model", domain)
        if not names_domain(domain) and is_environment(domain):
            if exact or behaviour is not None:
                raise SettingsError(
                    f"{domain}: exact values and a behaviour policy need a finite model, which a Gymnasium environment "
                    f"does not give. Leave out {parameter('exact', True) if exact else parameter('behaviour')}."
                )
            return _play_in(model, domain, episodes, seed, options or {}, names)
        domain = make(domain, {name: _text(value) for name, value in (options or {}).items()})
    elif options:
        raise SettingsError(f"{parameter('options')} belong to a domain that is given by name. Leave them out.")
    horizon = model.rdp.horizon
    finite = _finite_model(domain, horizon)
    names = names or ("the model", "the domain")
    plan = model.required_plan()
    seen = observe_columns(finite, model.encoder)
    refuse_other_alphabet(model.rdp.alphabet, seen.alphabet, names)
    policy = Controller.on_automaton(model.planned, seen.alphabet, plan.actions)
    usual = finite.usual if behaviour is None else behaviour
    report = progress or (lambda done, of: None)
    if exact:
        found, beside = _expected(seen, policy, horizon), _expected(finite, usual, horizon)
        unseen = 0.0
    else:
        rngs = [np.random.default_rng([seed, which]) for which in range(2)]
        tried = roll_out(seen, policy, horizon, episodes, rngs[0], model.planned, lambda done, of: report(done, 2 * of))
        theirs = roll_out(
            finite, usual, horizon, episodes, rngs[1], progress=lambda done, of: report(of + done, 2 * of)
        )
        found, beside, unseen = _measured(tried), _measured(theirs), tried.unseen
    assert model.about.plan is not None
    return DomainEvaluation(
        found,
        beside,
        optimal_value(finite, horizon),
        horizon,
        None if exact else episodes,
        None if exact else seed,
        unseen,
        model.about.plan.predictions(),
        names,
    )


def automaton_like(domain: Domain | FiniteModel | str, rdp: RDP, encoder: Encoder) -> RDP:
    """Return the exact automaton of a domain, of the kind, horizon and observation columns of a learned one."""
    if isinstance(domain, str) and not names_domain(domain) and Path(domain).is_file():
        raise SettingsError(f"{domain}: this is a file, not a domain. Load the model first: suffice.load({domain!r}).")
    domain = make(domain) if isinstance(domain, str) else domain
    finite = observe_columns(_finite_model(domain, rdp.horizon), encoder)
    return exact_rdp(finite, rdp.horizon, stationary=rdp.stationary)


def _finite_model(domain: Domain | FiniteModel, horizon: int) -> FiniteModel:
    if isinstance(domain, Domain):
        return domain.model(horizon)
    if not isinstance(domain, FiniteModel):
        raise SettingsError(
            f"an object of type {type(domain).__name__} is not a domain. Pass a name or what suffice.make returns. "
            "For a Gymnasium environment use suffice.play."
        )
    return domain


def names_domain(name: str) -> bool:
    """Return whether a name is that of a domain or of a `.POMDP` file."""
    return name.lower().endswith(".pomdp") or (not Path(name).exists() and name in DOMAINS)


def is_environment(name: str) -> bool:
    """Return whether a name is that of a registered Gymnasium environment; ids have a version, such as CartPole-v1."""
    import gymnasium

    from suffice.domains.gym.registration import register

    register()
    if name in gymnasium.registry or ":" in name:
        return True
    if re.search(r"-v\d+$", name):
        hint = did_you_mean(name, gymnasium.registry) or ". For an environment of another module write MODULE:ID."
        raise SufficeError(f"{name} is not a registered Gymnasium environment{hint}")
    return False


def _play_in(
    model: Model, name: str, episodes: int, seed: int, options: Mapping[str, Any], names: tuple[str, str]
) -> DomainEvaluation:
    import gymnasium

    from suffice.domains.gym.rollouts import play_vector

    horizon, given = model.rdp.horizon, dict(options)
    if name.split(":")[-1].startswith("suffice/"):
        given["horizon"] = horizon
    policy = model.policy(np.random.default_rng(seed))
    try:
        envs = gymnasium.vector.SyncVectorEnv(
            [lambda: gymnasium.make(name, **given)] * min(episodes, MOST_ENVIRONMENTS)
        )
    except SufficeError:  # the message of our own domains is better
        raise
    except (gymnasium.error.Error, TypeError, ValueError, ImportError) as error:
        given_options = parameter("options", dict(options)) if options else "its default options"
        reason = f"the environment cannot be created with {given_options} ({str(error).rstrip('.')})"
        raise SufficeError(f"{name}: {reason}. Change the options or the environment.") from error
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # the result has the share of fallbacks
        played = play_vector(envs, policy, episodes, seed=seed)
    envs.close()
    _refuse_rewards(model, name, played.rewards)
    unseen = played.fallbacks / max(float(played.steps.sum()), 1.0)
    tried = summary(played.returns, played.steps.astype(float), played.success.astype(float), unseen)
    assert model.about.plan is not None
    predictions = model.about.plan.predictions()
    return DomainEvaluation(_measured(tried), None, None, horizon, episodes, seed, unseen, predictions, names)


def _refuse_rewards(model: Model, name: str, rewards: Sequence[float]) -> None:
    """Refuse rewards outside the model's range: another process, or other units."""
    known = model.rdp.alphabet.rewards
    if outside := [r for r in rewards if not known[0] <= r <= known[-1]]:
        raise SufficeError(
            f"{name}: reward {outside[0]:g} is outside the range of the model, {known[0]:g} to {known[-1]:g}. If it is "
            "the same process in the same units, learn the model again from a log that has such rewards."
        )


def _measured(tried: SimulationEstimates) -> Measures:
    return Measures(tried.mean_return, tried.return_per_step, tried.success_rate)


def _expected(finite: FiniteModel, policy: Controller, horizon: int) -> Measures:
    found = expected_values(finite, policy, horizon)
    return Measures(*(Estimate(float(getattr(found, name)), 0.0) for name in MEASURES))


def _text(value: Any) -> str:
    """Write an option as the command line does."""
    return str(value).lower() if isinstance(value, bool) else str(value)
