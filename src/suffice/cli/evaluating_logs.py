"""Evaluation by a log, for people without a simulator."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from suffice.cli.measures import predicted
from suffice.cli.options import LogOptions, read
from suffice.cli.printing import command, put, say, say_next
from suffice.cli.saying import print_json
from suffice.cli.waiting import waiting
from suffice.errors import SufficeError

if TYPE_CHECKING:
    from suffice.evidence.estimates import Estimate
    from suffice.models.model import Model
    from suffice.planning.off_policy import Judged


SHORT = {"mean_return": "value", "mean_return_stderr": "value_stderr"}  # of the doubly robust estimate


class ByLog(NamedTuple):
    """What a log says about a policy."""

    judged: Judged
    held_out: bool  # it is the log that was learned from, but other episodes of it
    logged: bool  # it has the probabilities of its actions


def by_log(loaded: Model, name: str, log: str, options: LogOptions, json: bool) -> None:
    found = judge_by(loaded, name, log, options)
    if json:
        print_json(_judged(name, log, found) | predicted(loaded))
    else:
        _print_judged(loaded, name, log, found)


def judge_by(loaded: Model, name: str, log: str, options: LogOptions) -> ByLog:
    """Off-policy evaluation, on the held-out part if the model was learned from this log."""
    import numpy as np

    from suffice.data.logs.datasets import files_of
    from suffice.files.atomic import fingerprint
    from suffice.files.run_notes import load_run_notes
    from suffice.models.api import HOLD_OUT_SEED
    from suffice.planning.off_policy import judge

    with waiting(f"Reading {log}"):
        episodes, report = read(log, options, loaded)
    propensity = report.propensities
    held_out, notes = loaded.about.held_out, load_run_notes(name)
    file = fingerprint(*files_of(log))
    same_file = notes is not None and notes.log_file == file != ""
    if notes is not None and file and file in notes.log_files:
        raise SufficeError(f"{name} was learned from {log} among others, which would flatter it; give another log")
    known = same_file or episodes.digest(loaded.about.held_out > 0) == loaded.about.log_hash
    if known:
        if not held_out:
            raise SufficeError(
                f"{name} was learned from all of {log}, which would flatter it; learn with --hold-out 0.2, or give "
                "another log"
            )
        rest, held, chosen = episodes.divide(held_out, np.random.default_rng(HOLD_OUT_SEED))
        planned = loaded.about.plan
        learned_from = rest.divide(0.5, np.random.default_rng(0))[0] if planned and planned.split else rest
        if learned_from.total != loaded.about.episodes:  # an episode's place among those kept says if it is held out
            raise SufficeError(f"{log}: other episodes are kept than when {name} was learned; read it as it was then")
        episodes = held
        propensity = None if propensity is None else propensity[:, chosen]
    if report.cut and episodes.horizon < loaded.rdp.horizon:
        raise SufficeError(
            f"{log}: cut to {episodes.horizon} decisions, where {name} plans {loaded.rdp.horizon}; leave --horizon out"
        )
    with waiting("Evaluating"):
        judged = judge(loaded.planned, loaded.required_plan(), episodes, propensity)
    return ByLog(judged, known, propensity is not None)


def _judged(name: str, log: str, by: ByLog) -> dict[str, Any]:
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


def _print_judged(loaded: Model, name: str, log: str, by: ByLog) -> None:
    from suffice.automata.describe import brief
    from suffice.planning.off_policy import ENOUGH, RARE

    judged = by.judged
    say(f"{name} by {judged.episodes:,} episodes of {log}, {'held out' if by.held_out else 'taken to be new'}:")
    rows = {
        "the log itself": judged.log,
        "policy, model-based": judged.model_based,
        "policy, importance": judged.importance,
        "policy, doubly robust": judged.doubly_robust,
    }
    print(f"  {'mean return':<24}{'estimate':>12}   95 % confidence")
    few = f"{'too few episodes do' if judged.matched else 'no episode does'} what the policy would"
    for label, estimate in rows.items():
        low, high = estimate.interval()
        if math.isfinite(estimate.error):
            print(f"  {label:<24}{estimate.value:>12.4g}   {low:.4g} to {high:.4g}")
        elif estimate is judged.importance:
            print(f"  {label:<24}not available: {few}")
        else:
            print(f"  {label:<24}{estimate.value:>12.4g}   unknown: {few}")
    chances = "the log's own column" if by.logged else "estimated in each state"
    say(f"Probabilities of the logged actions: {chances}.")
    say(
        f"Coverage: in {judged.matched:.2%} of these episodes every action is one the policy might take; weighted, "
        f"they count as {judged.effective:,.0f}. The log has fewer than {RARE} examples of {judged.rare:.2%} of the "
        "policy's decisions."
    )
    if judged.effective < ENOUGH:
        say("That is too little to tell what the policy would bring: the model-based estimate believes the automaton.")
    if judged.unseen:
        say(f"{judged.unseen:.2%} of their decisions came after a history that was not learned from.")
    rdp = loaded.in_words.planned
    histories = rdp.typical_histories()
    for gap in judged.gaps:
        action, after = rdp.alphabet.actions[gap.action], brief(histories[gap.state])
        put(f"  {action}, logged {gap.visits} times, in {gap.share:.2%} of episodes, after {after}")
    say_next(command("info", name, "--states"))
