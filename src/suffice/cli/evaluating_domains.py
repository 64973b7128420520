"""Evaluation of a policy in a domain or in a Gymnasium environment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from suffice.cli.measures import measures, measures_exactly, predicted, print_measures, print_prediction
from suffice.cli.options import DomainChoice, domain_of, pair, words
from suffice.cli.output import print_json
from suffice.cli.printing import command, say, say_next
from suffice.cli.progress import progress_bar, waiting
from suffice.errors import SufficeError, did_you_mean

if TYPE_CHECKING:
    from suffice.models.model import Model


def by_domain(
    loaded: Model, name: str, domain: str, choice: DomainChoice, episodes: int, seed: int, exact: bool, json: bool
) -> None:
    """Run a model's policy in a domain, or compute its exact value, and print the result."""
    import numpy as np

    from suffice.domains.evaluation import refuse_other_alphabet, roll_out
    from suffice.domains.exact.automaton import optimal_value
    from suffice.domains.exact.values import evaluate as expect
    from suffice.planning.controller import Controller

    plan = loaded.required_plan()
    finite, behaviour, horizon = domain_of(domain, choice, loaded.rdp.horizon)
    refuse_other_alphabet(loaded.rdp.alphabet, finite.alphabet, (name, domain))
    policy = Controller.on_automaton(loaded.planned, finite.alphabet, plan.actions)
    found: dict[str, Any] = {"model": name, "domain": domain, "horizon": horizon, "exact": exact}
    if exact:
        with waiting("Computing"):
            found |= measures_exactly(expect(finite, policy, horizon))
            found["behaviour"] = measures_exactly(expect(finite, behaviour, horizon))
    else:
        with progress_bar("Trying", "episodes") as progress:
            rngs = [np.random.default_rng([seed, which]) for which in range(2)]
            tried = roll_out(
                finite, policy, horizon, episodes, rngs[0], loaded.planned, lambda done, of: progress(done, 2 * of)
            )
            found |= {"episodes": episodes, "seed": seed} | measures(tried) | {"unseen": tried.unseen}
            beside = roll_out(
                finite, behaviour, horizon, episodes, rngs[1], progress=lambda done, of: progress(of + done, 2 * of)
            )
            found["behaviour"] = measures(beside)
    with waiting("Computing the optimum"):
        found["optimal_value"] = optimal_value(finite, horizon)
    found |= predicted(loaded)
    if json:
        print_json(found)
        return
    how = "expected values" if exact else f"{episodes:,} episodes"
    say(f"{name} in {domain}, horizon {horizon}, {how}:")
    print_measures(found, {"policy": found, "behaviour policy": found["behaviour"]})
    if found["optimal_value"] is not None:
        share = _share(found) if exact else ""
        say(f"The optimal mean return is {found['optimal_value']:.6g}{share}.")
    print_prediction(found)
    if not exact and found["unseen"]:
        say(f"{found['unseen']:.2%} of the decisions followed a history that is not in the log.")
    exactly = command("evaluate", name, "--domain", domain, "--exact", options=words(choice))
    say_next(command("info", name, "--states"), *([] if exact else [exactly]))


def _share(found: dict[str, Any]) -> str:
    """Return how much of the possible gain over the behaviour policy the policy achieves."""
    low, high = found["behaviour"]["mean_return"], found["optimal_value"]
    if high - low <= 1e-12:
        return ""
    gain = (found["mean_return"] - low) / (high - low)
    return f"; the policy achieves {gain:.1%} of the possible gain over the behaviour policy"


def is_gymnasium(name: str) -> bool:
    """Return whether a name is the id of a Gymnasium environment, such as CartPole-v1."""
    import gymnasium

    from suffice.domains.gym.registration import register

    register()
    if name in gymnasium.registry or ":" in name:
        return True
    if re.search(r"-v\d+$", name):
        hint = did_you_mean(name, gymnasium.registry) or ". Write MODULE:ID for an environment of your own package."
        raise SufficeError(f"--domain {name}: there is no such Gymnasium environment{hint}")
    return False


def by_environment(
    loaded: Model, name: str, id: str, choice: DomainChoice, episodes: int, seed: int, json: bool
) -> None:
    """Run a model's policy in a Gymnasium environment and print the result."""
    import gymnasium
    import numpy as np

    from suffice.domains.evaluation import summary
    from suffice.domains.gym.rollouts import play_vector

    if rest := words(replace(choice, set=())):
        raise SufficeError(f"{rest} does not apply to Gymnasium environments such as {id}. Leave it out.")
    horizon = loaded.rdp.horizon
    given = {option: _literal(text) for option, text in (pair(text, "--set", "OPTION=VALUE") for text in choice.set)}
    if id.split(":")[-1].startswith("suffice/"):
        given["horizon"] = horizon
    policy = loaded.policy(np.random.default_rng(seed))
    n = min(episodes, 64)
    try:
        envs = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make(id, **given)] * n)
    except SufficeError:  # of a domain of this package, which names the option
        raise
    except (gymnasium.error.Error, TypeError, ValueError, ImportError) as error:
        raise SufficeError(
            f"{id}: the environment cannot be created with {words(choice) or 'its defaults'} ({error})"
        ) from error
    with waiting(f"Playing {id}"):
        played = play_vector(envs, policy, episodes, seed=seed)
    envs.close()
    _refuse_rewards(loaded, id, played.rewards)
    unseen = played.fallbacks / max(float(played.steps.sum()), 1.0)
    tried = summary(played.returns, played.steps.astype(float), played.success.astype(float), unseen)
    found: dict[str, Any] = {"model": name, "domain": id, "horizon": horizon, "exact": False, "episodes": episodes}
    found |= {"seed": seed} | measures(tried) | {"fallbacks": tried.unseen, "behaviour": None, "optimal_value": None}
    found |= predicted(loaded)
    if json:
        print_json(found)
        return
    say(f"{name} in {id}, {episodes:,} episodes of at most {horizon} steps:")
    print_measures(found, {"policy": found})
    print_prediction(found)
    if found["fallbacks"]:
        say(f"{found['fallbacks']:.2%} of the steps do not continue any logged history.")
    say(f"The logged mean return is {found['behaviour_value']:.4g}.")
    say_next(command("info", name, "--states"))


def _refuse_rewards(loaded: Model, id: str, rewards: Sequence[float]) -> None:
    """Refuse rewards outside the range that the model knows, which suggest another process or other units."""
    known = loaded.rdp.alphabet.rewards
    if outside := [r for r in rewards if not known[0] <= r <= known[-1]]:
        raise SufficeError(
            f"{id}: reward {outside[0]:g} is outside the logged range {known[0]:g} to {known[-1]:g}. Check that "
            "process and units are the same; if so, learn the model again from a log with such rewards."
        )


def _literal(text: str) -> Any:
    """Read numbers, true, false and null as Python values, and anything else as text."""
    import json

    try:
        return json.loads(text.lower() if text in ("True", "False") else text)
    except json.JSONDecodeError:
        return text
