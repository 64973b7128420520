"""Evaluation in a domain, and in Gymnasium environments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from suffice.cli.measures import measures, measures_exactly, predicted, print_measures
from suffice.cli.options import DomainChoice, domain_of, pair, words
from suffice.cli.printing import command, say, say_next
from suffice.cli.output import print_json
from suffice.cli.progress import progress_bar, waiting
from suffice.errors import SufficeError, did_you_mean

if TYPE_CHECKING:
    from suffice.models.model import Model


def by_domain(
    loaded: Model, name: str, domain: str, choice: DomainChoice, episodes: int, seed: int, exact: bool, json: bool
) -> None:
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
    told = "expected values" if exact else f"{episodes:,} episodes"
    say(f"{name} in {domain}, horizon {horizon}, {told}:")
    print_measures(found, {"the policy": found, "the behaviour": found["behaviour"]})
    if found["optimal_value"] is not None:
        share = _share(found) if exact else ""
        say(f"The best policy brings {found['optimal_value']:.6g} on average{share}.")
    say(f"Predicted were {found['predicted_value']:.6g}, at least {found['predicted_lower_bound']:.6g}.")
    if not exact and found["unseen"]:
        say(f"{found['unseen']:.2%} of the decisions came after a history that the log did not have.")
    exactly = command("evaluate", name, "--domain", domain, "--exact", options=words(choice))
    say_next(command("info", name, "--states"), *([] if exact else [exactly]))


def _share(found: dict[str, Any]) -> str:
    """How far the policy has come from the behaviour to the best."""
    low, high = found["behaviour"]["mean_return"], found["optimal_value"]
    if high - low <= 1e-12:
        return ""
    return (
        f"; the policy has {(found['mean_return'] - low) / (high - low):.1%} of what can be gained over the behaviour"
    )


def is_gymnasium(name: str) -> bool:
    """Whether a name is that of a registered environment, which has a version, such as CartPole-v1."""
    import gymnasium

    from suffice.domains.gym.registration import register

    register()
    if name in gymnasium.registry or ":" in name:
        return True
    if re.search(r"-v\d+$", name):
        hint = did_you_mean(name, gymnasium.registry) or "; one of your own is MODULE:ID"
        raise SufficeError(f"there is no Gymnasium environment {name!r}{hint}")
    return False


def by_environment(
    loaded: Model, name: str, id: str, choice: DomainChoice, episodes: int, seed: int, json: bool
) -> None:
    import gymnasium
    import numpy as np

    from suffice.domains.evaluation import summary
    from suffice.domains.gym.rollouts import play_vector

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
    except SufficeError:  # our own domains say it best
        raise
    except (gymnasium.error.Error, TypeError, ValueError, ImportError) as error:
        raise SufficeError(f"{id} cannot be made with {words(choice) or 'its defaults'}: {error}") from error
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
    print_measures(found, {"the policy": found})
    say(f"Predicted were {found['predicted_value']:.6g}, at least {found['predicted_lower_bound']:.6g}.")
    if found["fallbacks"]:
        say(f"{found['fallbacks']:.2%} of the steps were none that a logged history had taken.")
    say(f"The log brought {found['behaviour_value']:.6g}.")
    say_next(command("info", name, "--states"))


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
