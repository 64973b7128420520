"""The commands `simulate` and `domains`, which make logs and list the domains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from suffice.cli.app import app
from suffice.cli.names import DomainName
from suffice.cli.options import (
    DEFAULT_DOMAIN,
    DomainOptions,
    Flag,
    Output,
    Whole,
    domain_of,
    refuse_output,
    refuse_seed,
)
from suffice.cli.output import print_json
from suffice.cli.printing import command, named_after, put, say, say_next
from suffice.cli.progress import progress_bar
from suffice.errors import SufficeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from suffice.data.episodes import Episodes


@app.command
def simulate(
    domain: DomainName,
    /,
    *,
    episodes: Whole,
    output: Output,
    seed: Whole = 0,
    options: DomainOptions = DEFAULT_DOMAIN,
) -> None:
    """Write a log of simulated episodes.

    Actions are chosen by the behaviour policy of the domain (uniform unless an option changes it), by a table of
    probabilities, or by the plan of a model with some random actions.

    Examples:

        suffice simulate t-maze --episodes 100000 -o log.parquet
        suffice simulate t-maze --set length=3 --horizon 4 --episodes 1000 -o log.csv
        suffice simulate t-maze --behaviour maze.model --episodes 1000 -o better.csv

    Parameters
    ----------
    domain
        Name of a domain (see suffice domains), or a .POMDP file.
    episodes
        Number of episodes.
    output
        Log to write: .parquet, .arrow or .csv.
    seed
        Seed of the episodes.
    """
    import numpy as np

    from suffice.data.logs.writing import write_log
    from suffice.domains.simulation import stream

    if episodes < 1:
        raise SufficeError(f"--episodes {episodes} is too few. Use 1 or more.")
    refuse_seed(seed)
    refuse_output(output, domain, options.behaviour or domain)
    model, policy, horizon = domain_of(domain, options)
    with progress_bar("Simulating", "episodes") as progress:
        parts = stream(model, episodes, horizon, np.random.default_rng(seed), policy)
        write_log(_counting(parts, episodes, progress), output)
    say(f"Wrote {episodes:,} episodes of {domain} to {output}.")
    say_next(command("learn", output, "-o", named_after(output, ".model")))


def _counting(parts: Iterable[Episodes], total: int, progress: Callable[[int, int], None]) -> Iterator[Episodes]:
    done = 0
    for part in parts:
        yield part
        done += part.n
        progress(done, total)


@app.command
def domains(*, json: Flag = False) -> None:
    """List the domains, their default horizons and options.

    For example:

        suffice domains
        suffice domains --json

    Parameters
    ----------
    json
        Print JSON and nothing else.
    """
    from dataclasses import fields

    from suffice.domains.registry import DOMAINS

    listed = {}
    for name, domain in DOMAINS.items():
        made = domain()
        options = {f.name: getattr(made, f.name) for f in fields(made)}  # type: ignore[arg-type]  # dataclasses all
        listed[name] = {"horizon": made.default_horizon, "options": {k: _option(v) for k, v in options.items()}}
        if not json:
            defaults = " ".join(f"{option}={_option(value)}" for option, value in options.items())
            put(f"{name:<20} horizon {made.default_horizon:<3} {defaults}".rstrip(), hang=33)
    if json:
        print_json(listed)
    else:
        say("Set an option with --set NAME=VALUE.")
        simulated = command("simulate", "t-maze", "--set", "length=3", "--episodes", "100000", "-o", "log.parquet")
        say_next(command("exact", "t-maze"), simulated)


def _option(value: object) -> str:
    """Write the value of an option as --set takes it."""
    return "auto" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
