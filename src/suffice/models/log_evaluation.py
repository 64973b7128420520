"""Off-policy evaluation of a model by a log: what `model.evaluate(log)` and `suffice evaluate MODEL --log LOG` do.

The plan is evaluated on episodes that it was not learned from: the held-out episodes if the log is the one that the
model was learned from, else all of them. Theory: docs/theory.md, section 6.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from suffice.data.loading import Data, read_data
from suffice.data.memory_limit import half_of_memory
from suffice.data.sampling import sample_of
from suffice.errors import LogError
from suffice.evidence.estimates import Estimate
from suffice.models.held_out import HeldOut, find_held_out, read_like
from suffice.models.log_options import LogOptions
from suffice.models.model import Model
from suffice.models.summary import percent, rounded
from suffice.planning.cross_fitting import MOST_STEPS
from suffice.planning.later_fit import LaterFit, later_fit
from suffice.planning.memory_plans import FOLD_SEED
from suffice.planning.objective import RETURN, Objective
from suffice.planning.off_policy import RARE, OffPolicyEvaluation, Unknown, evaluate_off_policy

ESTIMATORS = {
    "log": "logged behaviour",
    "model_based": "policy, model-based",
    "importance": "policy, importance",
    "doubly_robust": "policy, doubly robust",
}
UNKNOWN: dict[Unknown, str] = {
    "no_match": "no episode follows the policy",
    "few_effective_episodes": "too few episodes follow the policy",
    "wide_interval": "the interval would span most of the possible range",
}
MOST_UNSEEN = 0.95  # share of decisions after unseen histories, above which the log is of another process
SHORT_NAMES = {"mean_return": "value", "mean_return_stderr": "value_stderr"}  # JSON keys of the doubly robust estimate


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LogEvaluation:
    """Off-policy evaluation of a model's plan; `print(evaluation)` shows it as text.

    An estimate is a mean with its standard error, and `estimate.interval(0.95)` is a confidence interval within the
    range of possible returns. The doubly robust estimate is the one to read first. Where the log does not say what the
    policy is worth, the value is NaN, `estimate.known` is False, and `off_policy.unknown` has the reason.

    Attributes
    ----------
    off_policy : OffPolicyEvaluation
        All estimates and the coverage of the policy by the log.
    held_out : bool
        Whether the episodes are the held-out part of the model's own log; else all episodes of another log.
    logged : bool
        Whether the log has the probabilities of its actions; else they are estimated in each state.
    fit : LaterFit
        Whether the automaton fits these episodes.
    model : Model
        The model whose plan is evaluated.
    names : tuple of str
        What the text calls the model and the log.

    Examples
    --------
    >>> evaluation = suffice.learn(episodes, hold_out=0.2).evaluate(episodes)
    >>> evaluation.held_out, evaluation.n_episodes
    (True, 60)
    >>> round(evaluation.log.value, 2), round(evaluation.doubly_robust.value, 2)
    (2.57, 5.0)
    """

    off_policy: OffPolicyEvaluation
    held_out: bool
    logged: bool
    fit: LaterFit = field(kw_only=True)
    model: Model = field(kw_only=True)
    names: tuple[str, str] = field(default=("the model", "the log"), kw_only=True)

    @property
    def n_episodes(self) -> int:
        """Return the number of episodes that the plan is evaluated on, weights counted."""
        return self.off_policy.episodes

    @property
    def log(self) -> Estimate:
        """Return the mean return of these episodes themselves."""
        return self.off_policy.log

    @property
    def model_based(self) -> Estimate:
        """Return the value of the plan if the automaton is right."""
        return self.off_policy.model_based

    @property
    def importance(self) -> Estimate:
        """Return the importance-sampling estimate, which does not rely on the automaton."""
        return self.off_policy.importance

    @property
    def doubly_robust(self) -> Estimate:
        """Return the doubly robust estimate, with states divided by the edges that led to them."""
        return self.off_policy.doubly_robust

    @property
    def enough(self) -> bool:
        """Return whether enough episodes follow the policy for an estimate that does not rely on the automaton."""
        return self.importance.known

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return a confidence interval of the plan's mean return, from the doubly robust estimate.

        Parameters
        ----------
        confidence
            Probability with which the interval covers the mean return, for large samples.

        Returns
        -------
        tuple of float
            Lower and upper end; the range of possible returns where the mean return is unknown.
        """
        return self.doubly_robust.interval(confidence)

    def to_dict(self) -> dict[str, Any]:
        """Return the content as `suffice evaluate --json` prints it, without the names of the files.

        Returns
        -------
        dict
            Plain values: numbers, texts and lists; None where an estimate is not available.
        """
        judged, plan = self.off_policy, self.model.about.plan
        assert plan is not None
        found: dict[str, Any] = {"episodes": judged.episodes, "behaviour": "logged" if self.logged else "estimated"}
        found["objective"] = self._objective.name
        for estimator in ESTIMATORS:
            estimate: Estimate = getattr(judged, estimator)
            unknown = judged.unknown.get(estimator)  # JSON has no NaN and no infinity
            found[f"{estimator}_value"] = None if unknown else estimate.value
            found[f"{estimator}_value_stderr"] = estimate.error if estimate.known else None
            found[f"{estimator}_interval"] = list(estimate.interval()) if estimate.known else None
            found[f"{estimator}_unknown"] = unknown
        found |= {name: found[f"doubly_robust_{rest}"] for name, rest in SHORT_NAMES.items()}
        found["possible_returns"] = list(judged.possible)
        found |= {name: getattr(judged, name) for name in ("effective", "matched", "unseen", "rare")}
        found["fit"] = self.fit.to_dict()
        return found | {"gaps": [gap._asdict() for gap in judged.gaps]} | plan.predictions()

    def __repr__(self) -> str:
        low, high = self.interval()
        known = f"{self.doubly_robust.value:.4g} ({low:.4g} to {high:.4g})" if self.doubly_robust.known else "not known"
        return f"<LogEvaluation: plan {known}, log {self.log.value:.4g}, by {self.n_episodes:,} episodes {self._which}>"

    def __str__(self) -> str:
        return "\n".join([self.title, *self.table, *self.sentences, *self.gaps])

    @property
    def title(self) -> str:
        """Return the model and the episodes in one line."""
        name, log = self.names
        return f"{name} by {self.n_episodes:,} episodes of {log}, {self._which}:"

    @property
    def _which(self) -> str:
        return "held out" if self.held_out else "assumed to be new"

    @property
    def _objective(self) -> Objective:
        return RETURN if self.model.about.plan is None else self.model.about.plan.aim

    @property
    def table(self) -> list[str]:
        """Return the estimates with their intervals, one line each."""
        lines = [f"  {f'mean {self._objective.noun}':<24}{'estimate':>12}   95 % confidence"]
        for name, label in ESTIMATORS.items():
            estimate: Estimate = getattr(self.off_policy, name)
            low, high = estimate.interval()
            if name in self.off_policy.unknown:
                lines.append(f"  {label:<24}unknown: {UNKNOWN[self.off_policy.unknown[name]]}")
            elif not estimate.known:  # the mean of a single episode
                lines.append(f"  {label:<24}{estimate.value:>12.4g}   unknown")
            else:
                value, low_text, high_text = (rounded(each, estimate.error) for each in (estimate.value, low, high))
                lines.append(f"  {label:<24}{value:>12}   {low_text} to {high_text}")
        return lines

    @property
    def sentences(self) -> list[str]:
        """Return what the estimates rely on, in sentences."""
        judged = self.off_policy
        source = "logged in a column" if self.logged else "estimated in each state"
        unseen = f"{percent(judged.unseen)} of these decisions followed a history that the model has not seen."
        found = [
            self.fit.sentence,
            *([unseen] if judged.unseen else []),
            f"Probabilities of the logged actions: {source}.",
            f"Coverage: {percent(judged.matched)} of these episodes take only actions that the policy might take "
            f"(effective sample size {judged.effective:,.0f}). {self._rare_decisions()}",
        ]
        low, high = judged.possible
        found.append(f"Possible returns, by the rewards logged at each step: {low:.4g} to {high:.4g}.")
        if not self.enough:
            found.append(
                "Too few episodes follow the policy for importance sampling; the other estimates rely on the automaton."
            )
        return found

    def _rare_decisions(self) -> str:
        if not self.off_policy.rare:
            return f"The log has at least {RARE} examples of each decision of the policy."
        return f"The log has fewer than {RARE} examples of {percent(self.off_policy.rare)} of the policy's decisions."

    @property
    def gaps(self) -> list[str]:
        """Return the most frequent decisions of the policy that the log rarely made, one line each."""
        rdp = self.model.in_words.planned
        histories = rdp.typical_histories()
        return [
            f"  {rdp.alphabet.actions[gap.action]}, logged {gap.visits} times, in {percent(gap.share)} of episodes, "
            f"after {histories.brief(gap.state)}"
            for gap in self.off_policy.gaps
        ]


def evaluate_log(model: Model, data: Data, options: LogOptions | None = None) -> LogEvaluation:
    """Read a log as the model's log was read, find the episodes to evaluate by, and evaluate the plan on them."""
    options = LogOptions() if options is None else options
    model.required_plan()
    options.refuse_for_episodes(data)
    how = read_like(options.read_options(model.encoder), model)
    read = read_data(data, how.encoder, how.horizon, None, how)
    cut = None if read.cut is None else read.cut > 0
    names = ("the model", str(data) if isinstance(data, str | Path) else "the log")
    held = find_held_out(model, read.here, read.propensities, read.keys, cut=cut, names=names)
    return evaluate_held_out(model, held, names)


def evaluate_held_out(model: Model, held: HeldOut, names: tuple[str, str] = ("the model", "the log")) -> LogEvaluation:
    """Evaluate the plan of a model off-policy on held-out episodes."""
    try:
        plan, aim = model.required_plan(), model.about.plan.aim if model.about.plan else RETURN
        found = evaluate_off_policy(model.planned, plan, held.episodes, held.propensities, aim)
    except LogError as error:
        raise LogError(str(error) if names[1] == "the log" else f"{names[1]}: {error}") from error
    if found.unseen > MOST_UNSEEN:
        raise LogError(
            f"{names[1]}: {percent(found.unseen)} of the decisions follow a history that {names[0]} has not seen. Use "
            "a log with the columns and values of the log that it was learned from."
        )
    sample = sample_of(held.episodes, MOST_STEPS, half_of_memory(), np.random.default_rng(FOLD_SEED))
    fit = later_fit(model.rdp, model.required_plan(), sample)
    return LogEvaluation(found, held.of_same_log, held.propensities is not None, fit=fit, model=model, names=names)
