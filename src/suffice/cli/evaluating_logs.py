"""Off-policy evaluation of a policy from a log."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from suffice.cli.measures import predicted
from suffice.cli.options import LogOptions, read
from suffice.cli.output import print_json
from suffice.cli.printing import command, put, say, say_next
from suffice.cli.progress import waiting

if TYPE_CHECKING:
    from suffice.evidence.estimates import Estimate
    from suffice.models.held_out import LogEvaluation
    from suffice.models.model import Model


SHORT = {"mean_return": "value", "mean_return_stderr": "value_stderr"}  # aliases of the doubly robust estimate


def by_log(loaded: Model, name: str, log: str, options: LogOptions, json: bool) -> None:
    """Estimate the return of a model's policy from a log and print the result."""
    found = judge_by(loaded, name, log, options)
    if json:
        print_json(_judged(name, log, found) | predicted(loaded))
    else:
        _print_judged(loaded, name, log, found)


def judge_by(loaded: Model, name: str, log: str, options: LogOptions) -> LogEvaluation:
    """Evaluate off-policy, on the held-out episodes if the model was learned from this log."""
    from suffice.models.held_out import find_held_out, is_log_of, judge_held_out

    with waiting(f"Reading {log}"):
        episodes, report = read(log, options, loaded)
    same, names, cut = is_log_of(name, log), (name, log), report.cut > 0
    held = find_held_out(loaded, episodes, report.propensities, same_log=same, cut=cut, names=names)
    with waiting("Evaluating"):
        return judge_held_out(loaded, held)


def _judged(name: str, log: str, by: LogEvaluation) -> dict[str, Any]:
    judged = by.judged
    found: dict[str, Any] = {"model": name, "log": log, "episodes": judged.episodes}
    found["behaviour"] = "logged" if by.logged else "estimated"
    for estimator in ("log", "model_based", "importance", "doubly_robust"):
        estimate: Estimate = getattr(judged, estimator)
        known = math.isfinite(estimate.error)  # JSON has no infinity
        found[f"{estimator}_value"] = estimate.value if known or estimator != "importance" else None
        found[f"{estimator}_value_stderr"] = estimate.error if known else None
        found[f"{estimator}_interval"] = list(estimate.interval()) if known else None
    found |= {name: found[f"doubly_robust_{rest}"] for name, rest in SHORT.items()}
    names = ("effective", "matched", "unseen", "rare")
    return found | {key: getattr(judged, key) for key in names} | {"gaps": [gap._asdict() for gap in judged.gaps]}


def _print_judged(loaded: Model, name: str, log: str, by: LogEvaluation) -> None:
    from suffice.automata.describe import brief
    from suffice.planning.off_policy import LEAST_EFFECTIVE_EPISODES, RARE

    judged = by.judged
    say(f"{name} by {judged.episodes:,} episodes of {log}, {'held out' if by.held_out else 'assumed to be new'}:")
    rows = {
        "logged behaviour": judged.log,
        "policy, model-based": judged.model_based,
        "policy, importance": judged.importance,
        "policy, doubly robust": judged.doubly_robust,
    }
    print(f"  {'mean return':<24}{'estimate':>12}   95 % confidence")
    few = f"{'too few episodes follow' if judged.matched else 'no episode follows'} the policy"
    for label, estimate in rows.items():
        low, high = estimate.interval()
        if math.isfinite(estimate.error):
            print(f"  {label:<24}{estimate.value:>12.4g}   {low:.4g} to {high:.4g}")
        elif estimate is judged.importance:
            print(f"  {label:<24}not available: {few}")
        else:
            print(f"  {label:<24}{estimate.value:>12.4g}   unknown: {few}")
    chances = "logged in a column" if by.logged else "estimated in each state"
    say(f"Probabilities of the logged actions: {chances}.")
    say(
        f"Coverage: {judged.matched:.2%} of these episodes take only actions that the policy might take (effective "
        f"sample size {judged.effective:,.0f}). The log has fewer than {RARE} examples of {judged.rare:.2%} of the "
        "policy's decisions."
    )
    if judged.effective < LEAST_EFFECTIVE_EPISODES:
        say("These are too few to estimate the return reliably; the model-based estimate relies on the automaton.")
    if judged.unseen:
        say(f"{judged.unseen:.2%} of their decisions followed a history that the model has not seen.")
    rdp = loaded.in_words.planned
    histories = rdp.typical_histories()
    for gap in judged.gaps:
        action, after = rdp.alphabet.actions[gap.action], brief(histories[gap.state])
        put(f"  {action}, logged {gap.visits} times, in {gap.share:.2%} of episodes, after {after}")
    say_next(command("info", name, "--states"))
