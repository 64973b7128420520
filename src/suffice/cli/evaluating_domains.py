"""Evaluation of a policy in a domain or in a Gymnasium environment."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from suffice.cli.options import DomainChoice, domain_of, environment_options, words
from suffice.cli.output import print_json
from suffice.cli.printing import command, say, say_next
from suffice.cli.progress import progress_bar, waiting
from suffice.errors import SufficeError

if TYPE_CHECKING:
    from suffice.domains.model_evaluation import DomainEvaluation
    from suffice.models.model import Model


def by_domain(
    loaded: Model, name: str, domain: str, choice: DomainChoice, episodes: int, seed: int, exact: bool, json: bool
) -> None:
    """Evaluate a model in a domain and print the result."""
    from suffice.domains.model_evaluation import evaluate_in

    finite, behaviour, _ = domain_of(domain, choice, loaded.rdp.horizon)
    with progress_bar("Computing" if exact else "Playing", "episodes") as progress:
        found = evaluate_in(
            loaded,
            finite,
            episodes=episodes,
            seed=seed,
            exact=exact,
            behaviour=behaviour,
            progress=progress,
            names=(name, domain),
        )
    _print(found, json)
    if not json:
        exactly = command("evaluate", name, "--domain", domain, "--exact", options=words(choice))
        say_next(command("info", name, "--states"), *([] if exact else [exactly]))


def by_environment(
    loaded: Model, name: str, id: str, choice: DomainChoice, episodes: int, seed: int, json: bool
) -> None:
    """Evaluate a model in a Gymnasium environment and print the result."""
    from suffice.domains.model_evaluation import evaluate_in

    if rest := words(replace(choice, set=())):
        raise SufficeError(f"{rest} does not apply to Gymnasium environments such as {id}. Leave it out.")
    given = environment_options(choice.set)
    with waiting(f"Playing {id}"):
        found = evaluate_in(loaded, id, episodes=episodes, seed=seed, options=given, names=(name, id))
    _print(found, json)
    if not json:
        say_next(command("info", name, "--states"))


def _print(found: DomainEvaluation, json: bool) -> None:
    name, domain = found.names
    if json:
        print_json({"model": name, "domain": domain} | found.to_dict())
        return
    say(found.title)
    print("\n".join(found.table))
    for sentence in found.sentences:
        say(sentence)
