"""How good is a policy? By trying it, by exact arithmetic, or by a log. Heavy imports wait until they are needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from suffice.cli.app import app
from suffice.cli.options import (
    DEFAULT_CHOICE,
    DEFAULT_LOG,
    HOLD_OUT_SEED,
    DomainChoice,
    Flag,
    LogOptions,
    Whole,
    domain_of,
    names_domain,
    pair,
    read,
    refuse_domain_options,
    refuse_seed,
    words,
)
from suffice.cli.saying import print_json
from suffice.cli.waiting import progress_bar, waiting
from suffice.errors import SufficeError

if TYPE_CHECKING:
    import numpy as np

    from suffice.estimates import Estimate
    from suffice.evaluation import Tried
    from suffice.exact.values import Evaluation
    from suffice.finite import FiniteModel
    from suffice.model import Model
    from suffice.offpolicy import Judged

SHORT = {"mean_return": "value", "mean_return_stderr": "value_stderr"}  # of the doubly robust estimate
EPISODES = 10_000
MEASURES = ("mean_return", "return_per_step", "success_rate")


@app.command
def evaluate(
    model: str,
    /,
    *,
    domain: str | None = None,
    log: str | None = None,
    episodes: Whole = EPISODES,
    seed: Whole = 0,
    exact: Flag = False,
    json: Flag = False,
    choice: DomainChoice = DEFAULT_CHOICE,
    options: LogOptions = DEFAULT_LOG,
) -> None:
    """Say what a model's policy brings: in a domain, in a Gymnasium environment, or by a log.

    In a domain the policy is tried beside the behaviour and the best policy there is; --exact computes what is expected
    instead. An episode is a success if it brings any positive reward. A log of episodes that were not learned from
    gives three estimates, with confidence intervals, and says where the policy goes and the log does not: that is all
    one can know without trying.

    Parameters
    ----------
    model
        Model file.
    domain
        Name of a domain (suffice domains lists them), a .POMDP file, or a Gymnasium id, whose options are given with
        --set; an environment of your own is MODULE:ID.
    log
        Log to evaluate by; the one that was learned from if the model was learned with --hold-out.
    episodes
        How many to try.
    seed
        Same seed, same result.
    exact
        Compute the expected values, without sampling.
    json
        Print JSON and nothing else.
    """
    from suffice.model import Model

    if (domain is None) == (log is None):
        raise SufficeError("say where to evaluate: either --domain NAME or --log LOG")
    if episodes < 1:
        raise SufficeError(f"--episodes must be at least 1, not {episodes}")
    refuse_seed(seed)
    loaded = Model.load(model)
    try:
        loaded.required_plan()
    except SufficeError as error:
        raise SufficeError(f"{model}: {error}") from None
    if log is not None:
        refuse_domain_options(choice)
        if exact or (episodes, seed) != (EPISODES, 0):
            raise SufficeError("--exact, --episodes and --seed are for --domain NAME; leave them out")
        _by_log(loaded, model, log, options, json)
        return
    assert domain is not None
    if words(options):
        raise SufficeError(f"{words(options)} is about a log, and none is named; leave it out")
    if names_domain(domain) or not _is_gymnasium(domain):  # what is unknown is taken for a misspelt domain
        _by_domain(loaded, model, domain, choice, episodes, seed, exact, json)
    else:
        if exact:
            raise SufficeError(f"--exact needs a finite model, which {domain} does not give; leave --exact out")
        _by_environment(loaded, model, domain, choice, episodes, seed, json)


# ---------------------------------------------------------------- in a domain


def _by_domain(
    loaded: Model, name: str, domain: str, choice: DomainChoice, episodes: int, seed: int, exact: bool, json: bool
) -> None:
    import numpy as np

    from suffice.controller import Controller
    from suffice.evaluation import roll_out
    from suffice.exact import evaluate as expect

    plan = loaded.required_plan()
    finite, behaviour, horizon = domain_of(domain, choice, loaded.rdp.horizon)
    _refuse_other_alphabet(name, loaded, domain, finite)
    policy = Controller.on_automaton(loaded.rdp, finite.alphabet, plan.actions)
    found: dict[str, Any] = {"model": name, "domain": domain, "horizon": horizon, "exact": exact}
    if exact:
        with waiting("Computing"):
            found |= _measures_exactly(expect(finite, policy, horizon))
            found["behaviour"] = _measures_exactly(expect(finite, behaviour, horizon))
    else:
        with progress_bar("Trying") as progress:
            rngs = [np.random.default_rng([seed, which]) for which in range(2)]
            tried = roll_out(finite, policy, horizon, episodes, rngs[0], loaded.rdp, progress)
            found |= {"episodes": episodes, "seed": seed} | _measures(tried) | {"unseen": tried.unseen}
            found["behaviour"] = _measures(roll_out(finite, behaviour, horizon, episodes, rngs[1]))
    with waiting("Computing the optimum"):
        found["optimal_value"] = _optimum(finite, horizon)
    found |= _predicted(loaded)
    if json:
        print_json(found)
        return
    told = "expected values" if exact else f"{episodes:,} episodes"
    print(f"{name} in {domain}, horizon {horizon}, {told}:")
    _print_measures(found, {"the policy": found, "the behaviour": found["behaviour"]})
    if found["optimal_value"] is not None:
        share = _share(found) if exact else ""
        print(f"The best policy brings {found['optimal_value']:.6g} on average{share}.")
    print(f"Predicted were {found['predicted_value']:.6g}, at least {found['predicted_lower_bound']:.6g}.")
    if not exact and found["unseen"]:
        print(f"{found['unseen']:.2%} of the decisions came after a history that the log did not have.")
    further = f"suffice info {name} --states"
    print(f"Next: {further}" if exact else f"Next: {further}   or, without sampling: add --exact")


def _refuse_other_alphabet(name: str, loaded: Model, domain: str, finite: FiniteModel) -> None:
    """A model of another domain cannot act in this one."""
    ours, theirs = loaded.rdp.alphabet, finite.alphabet
    parts = {
        "actions": (ours.actions, theirs.actions),
        "features": (ours.features, theirs.features),
        "observations": (ours.observations, theirs.observations),
        "rewards": (ours.rewards, theirs.rewards),
    }
    for what, (model_has, domain_has) in parts.items():
        if set(model_has) - set(domain_has) or (what == "features" and model_has != domain_has):
            raise SufficeError(
                f"{name} is a model of something else than {domain}: its {what} are {_listed(model_has)}, the domain's "
                f"{_listed(domain_has)}; name the domain it was learned from, with the same --set"
            )


def _listed(values: Sequence[Any], most: int = 8) -> str:
    def shown(value: Any) -> str:
        if isinstance(value, tuple):
            return f"({', '.join(map(str, value))})"
        return f"{value:g}" if isinstance(value, float) else str(value)

    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(map(shown, values[:most])) + more


def _optimum(finite: FiniteModel, horizon: int) -> float | None:
    """V*, where the exact analysis can follow."""
    from suffice.controller import Controller
    from suffice.exact import best_plan, minimal_rdp

    try:
        return float(best_plan(minimal_rdp(finite, horizon, Controller.uniform(finite.alphabet))).value)
    except SufficeError:
        return None


def _share(found: dict[str, Any]) -> str:
    """How far the policy has come from the behaviour to the best."""
    low, high = found["behaviour"]["mean_return"], found["optimal_value"]
    if high - low <= 1e-12:
        return ""
    return (
        f"; the policy has {(found['mean_return'] - low) / (high - low):.1%} of what can be gained over the behaviour"
    )


# ---------------------------------------------------------------- in a Gymnasium environment


def _is_gymnasium(name: str) -> bool:
    """Whether a name is that of a registered environment."""
    import gymnasium

    from suffice.domains import register

    register()
    return name in gymnasium.registry or ":" in name


def _by_environment(
    loaded: Model, name: str, id: str, choice: DomainChoice, episodes: int, seed: int, json: bool
) -> None:
    import gymnasium
    import numpy as np

    from suffice.evaluation import summary
    from suffice.playing import play_vector

    if rest := words(replace(choice, set=())):
        raise SufficeError(f"{rest} is about a domain, and {id} is a Gymnasium id; leave it out")
    horizon = loaded.rdp.horizon
    given = {option: _literal(text) for option, text in (pair(text, "--set", "OPTION=VALUE") for text in choice.set)}
    if id.split(":")[-1].startswith("suffice/"):
        given["horizon"] = horizon
    policy = loaded.policy(np.random.default_rng(seed))
    n = min(episodes, 64)
    try:
        envs = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make(id, **given)] * n)
    except (gymnasium.error.Error, TypeError, ValueError, ImportError) as error:
        raise SufficeError(f"{id} cannot be made with {words(choice) or 'its defaults'}: {error}") from error
    with waiting(f"Playing {id}"):
        played = play_vector(envs, policy, episodes, seed=seed)
    envs.close()
    _refuse_rewards(loaded, id, played.rewards)
    unseen = played.fallbacks / max(float(played.steps.sum()), 1.0)
    tried = summary(played.returns, played.steps.astype(float), played.success.astype(float), unseen)
    found: dict[str, Any] = {"model": name, "domain": id, "horizon": horizon, "exact": False, "episodes": episodes}
    found |= {"seed": seed} | _measures(tried) | {"fallbacks": tried.unseen, "behaviour": None, "optimal_value": None}
    found |= _predicted(loaded)
    if json:
        print_json(found)
        return
    print(f"{name} in {id}, {episodes:,} episodes of at most {horizon} steps:")
    _print_measures(found, {"the policy": found})
    print(f"Predicted were {found['predicted_value']:.6g}, at least {found['predicted_lower_bound']:.6g}.")
    if found["fallbacks"]:
        print(f"{found['fallbacks']:.2%} of the steps were none that a logged history had taken.")
    print(f"The log brought {found['behaviour_value']:.6g}. Next: suffice info {name} --states")


def _refuse_rewards(loaded: Model, id: str, rewards: Sequence[float]) -> None:
    """Rewards beyond the model's are a sign of another process, or of other units."""
    known = loaded.rdp.alphabet.rewards
    if outside := [r for r in rewards if not known[0] <= r <= known[-1]]:
        raise SufficeError(
            f"{id} gave reward {outside[0]:g}, the model saw {known[0]:g} to {known[-1]:g}: is it the same process, in "
            "the same units? If so, learn the model again from a log that has such rewards"
        )


def _literal(text: str) -> Any:
    """Numbers, true, false and null as Python has them; the rest is text."""
    import json

    try:
        return json.loads(text.lower() if text in ("True", "False") else text)
    except json.JSONDecodeError:
        return text


# ---------------------------------------------------------------- by a log


def _by_log(loaded: Model, name: str, log: str, options: LogOptions, json: bool) -> None:
    import numpy as np

    from suffice.files import fingerprint
    from suffice.model import load_run_notes
    from suffice.offpolicy import judge

    with waiting(f"Reading {log}"):
        episodes, report = read(log, options, loaded.about.bins)
    propensity = report.propensities
    held_out, notes = loaded.about.held_out, load_run_notes(name)
    same_file = notes is not None and notes.log_file == fingerprint(log)
    known = same_file or episodes.digest() == loaded.about.log_hash
    if known:
        if not held_out:
            raise SufficeError(
                f"{name} was learned from all of {log}, which would flatter it; learn with --hold-out 0.2, or give "
                "another log"
            )
        _, episodes, chosen = episodes.divide(held_out, np.random.default_rng(HOLD_OUT_SEED))
        propensity = None if propensity is None else propensity[:, chosen]
    with waiting("Evaluating"):
        judged = judge(loaded.rdp, loaded.required_plan(), episodes, propensity)
    if json:
        print_json(_judged(name, log, judged, propensity) | _predicted(loaded))
    else:
        _print_judged(loaded, name, log, judged, propensity, known)


def _judged(name: str, log: str, judged: Judged, propensity: np.ndarray | None) -> dict[str, Any]:
    found: dict[str, Any] = {"model": name, "log": log, "episodes": judged.episodes}
    found["behaviour"] = "estimated" if propensity is None else "logged"
    for estimator in ("log", "model_based", "importance", "doubly_robust"):
        estimate: Estimate = getattr(judged, estimator)
        found[f"{estimator}_value"] = estimate.value
        known = math.isfinite(estimate.error)  # JSON has no infinity
        found[f"{estimator}_value_stderr"] = estimate.error if known else None
        found[f"{estimator}_interval"] = list(estimate.interval()) if known else None
    found |= {name: found[f"doubly_robust_{rest}"] for name, rest in SHORT.items()}
    names = ("effective", "matched", "unseen", "rare")
    return found | {key: getattr(judged, key) for key in names} | {"gaps": [gap._asdict() for gap in judged.gaps]}


def _print_judged(
    loaded: Model, name: str, log: str, judged: Judged, propensity: np.ndarray | None, held_out: bool
) -> None:
    from suffice.offpolicy import ENOUGH, RARE
    from suffice.rdp import show

    print(f"{name} by {judged.episodes:,} episodes of {log}, {'held out' if held_out else 'taken to be new'}:")
    rows = {
        "the log itself": judged.log,
        "policy, model-based": judged.model_based,
        "policy, importance": judged.importance,
        "policy, doubly robust": judged.doubly_robust,
    }
    print(f"  {'mean return':<24}{'estimate':>12}   95 % confidence")
    for label, estimate in rows.items():
        low, high = estimate.interval()
        told = f"{low:.4g} to {high:.4g}" if math.isfinite(estimate.error) else "unknown: no episode does what it would"
        print(f"  {label:<24}{estimate.value:>12.4g}   {told}")
    chances = "estimated in each state" if propensity is None else "the log's own column"
    print(f"Probabilities of the logged actions: {chances}.")
    print(
        f"Coverage: in {judged.matched:.2%} of these episodes every action is one the policy might take; weighted, "
        f"they count as {judged.effective:,.0f}. The log has fewer than {RARE} examples of {judged.rare:.2%} of the "
        "policy's decisions."
    )
    if judged.effective < ENOUGH:
        print(
            "That is too little to tell what the policy would bring: the model-based estimate believes the automaton."
        )
    if judged.unseen:
        print(f"{judged.unseen:.2%} of their decisions came after a history that was not learned from.")
    rdp = loaded.rdp
    histories = rdp.typical_histories()
    for gap in judged.gaps:
        action = rdp.alphabet.actions[gap.action]
        print(
            f"  {action}, logged {gap.visits} times, in {gap.share:.2%} of episodes, after {show(histories[gap.state])}"
        )
    print(f"Next: suffice info {name} --states")


# ---------------------------------------------------------------- what is said


def _measures(tried: Tried) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name in MEASURES:
        estimate: Estimate = getattr(tried, name)
        error = estimate.error if math.isfinite(estimate.error) else None  # of a single episode
        found |= {name: estimate.value, f"{name}_stderr": error}
    return found


def _measures_exactly(expected: Evaluation) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in MEASURES:
        found |= {name: float(getattr(expected, name)), f"{name}_stderr": 0.0}
    return found


def _predicted(loaded: Model) -> dict[str, Any]:
    planned = loaded.about.plan
    assert planned is not None
    return {
        "predicted_value": planned.predicted,
        "predicted_lower_bound": planned.lower_bound,
        "behaviour_value": planned.behaviour_value,
    }


def _print_measures(found: dict[str, Any], columns: dict[str, dict[str, Any]]) -> None:
    print(f"  {'':<18}" + "".join(f"{label:>26}" for label in columns))
    for name in MEASURES:
        cells = []
        for column in columns.values():
            error = column[f"{name}_stderr"]
            error = "" if found["exact"] else " ± ?" if error is None else f" ± {error:.2g}"
            cells.append(f"{column[name]:.6g}{error}")
        print(f"  {name.replace('_', ' '):<18}" + "".join(f"{cell:>26}" for cell in cells))
