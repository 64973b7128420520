"""The commands about domains: make episodes, know the truth. Heavy imports wait until a command needs them."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

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
    words,
)
from suffice.cli.printing import command, named_after, put, say, say_next
from suffice.cli.output import print_json, print_table
from suffice.cli.progress import progress_bar, waiting
from suffice.errors import SufficeError

AFFORDABLE = 1e8  # episodes
DEFAULT_LOG_EPISODES = 100_000  # episodes, where nothing says how many are needed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from suffice.data.episodes import Episodes
    from suffice.domains.exact.distances import Closest
    from suffice.domains.exact.minimal import Minimal
    from suffice.domains.exact.truth import Distinguishability, Truth


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

    Actions are chosen by the domain's usual behaviour (uniformly among all, unless an option of the domain says
    otherwise), by a table, or by a saved model's plan with some randomness.

    Examples:

        suffice simulate t-maze --episodes 100000 -o log.parquet
        suffice simulate t-maze --set length=3 --horizon 4 --episodes 1000 -o log.csv
        suffice simulate t-maze --behaviour maze.model --episodes 1000 -o better.csv

    Parameters
    ----------
    domain
        Its name (suffice domains lists them all), or a .POMDP file.
    episodes
        How many.
    output
        Log to write, .parquet or .csv.
    seed
        Same seed, same log.
    """
    import numpy as np

    from suffice.data.logs.writing import write_log
    from suffice.domains.simulation import stream

    if episodes < 1:
        raise SufficeError(f"--episodes must be at least 1, not {episodes}")
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
    """List the domains with their default horizons and options.

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
            told = " ".join(f"{option}={_option(value)}" for option, value in options.items())
            print(f"{name:<20} horizon {made.default_horizon:<3} {told}".rstrip())
    if json:
        print_json(listed)
    else:
        say("Options are set with --set NAME=VALUE.")
        simulated = command("simulate", "t-maze", "--set", "length=3", "--episodes", "100000", "-o", "log.parquet")
        say_next(command("exact", "t-maze"), simulated)


def _option(value: object) -> str:
    """As it would be set."""
    return "auto" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


@app.command
def exact(
    domain: DomainName,
    /,
    *,
    metric: Literal["languages", "prefixes", "sketch", "L1"] = "languages",
    family: str = "conjunctions",
    delta: float = 1e-3,
    stationary: Flag = False,
    json: Flag = False,
    options: DomainOptions = DEFAULT_DOMAIN,
) -> None:
    """Compute what is true of a domain, and what it takes to learn it.

    The minimal automaton under the behaviour policy; the best and the behaviour's mean return; how different the
    futures of its states are, in the two states that are hardest to tell apart; and how many episodes each bound
    needs: sufficient by proof, and likely by the mean of the evidence.

    Examples:

        suffice exact t-maze
        suffice exact t-maze --horizon 8 --set length=3 --stationary
        suffice exact corridor --metric prefixes --json

    Parameters
    ----------
    domain
        Its name (suffice domains lists them all), or a .POMDP file, whose discount is not applied.
    metric
        How futures are compared; L1 sums the differences of all prefixes.
    family
        With languages: conjunctions or I,J,K.
    delta
        Failure probability of each test.
    stationary
        Also count the states of the smallest automaton for all times, whatever the horizon, if there is one.
    json
        Print JSON and nothing else.
    """
    from suffice.domains.exact.stationary import stationary_rdp
    from suffice.domains.exact.truth import METRICS, truth_of

    if not 0 < delta < 1:
        raise SufficeError(f"--delta is a probability between 0 and 1, not {delta:g}; try 0.001")
    if family != "conjunctions" and metric != "languages":
        raise SufficeError("--family goes with --metric languages only; leave one of them out")
    model, policy, horizon = domain_of(domain, options)
    with waiting("Following beliefs"):
        for_all_times = stationary_rdp(model, policy).n_states if stationary else None
        truth = truth_of(model, horizon, policy)
    told = None
    if not truth.minimal.telling:
        with waiting("Comparing states"):
            told = METRICS[metric](truth.minimal, family, delta)
    if json:
        found = {} if for_all_times is None else {"stationary_states": for_all_times}
        print_json(_as_json(domain, truth, told) | found)
    else:
        _print_truth(domain, truth, told, delta)
        if for_all_times is not None:
            say(f"For all times alike, {for_all_times} states suffice.")
        _print_next(domain, told, options, horizon)


def _as_json(domain: str, truth: Truth, told: Distinguishability | None) -> dict[str, Any]:
    """What `suffice exact` promises, and more; null stands for no number of episodes at all."""
    minimal = truth.minimal
    return {
        "domain": domain,
        "horizon": minimal.horizon,
        "states": minimal.n_states,
        "layers": list(minimal.layers),
        "optimal_value": float(truth.optimal_value),
        "covered_value": float(truth.covered_value),
        "behaviour_value": float(truth.behaviour.mean_return),
        "behaviour_success_rate": float(truth.behaviour.success_rate),
        "concentrability": None if math.isinf(truth.concentrability) else float(truth.concentrability),
        "arithmetic": "rational" if minimal.rational else "double",
        "rewards_tell": minimal.telling and minimal.telling.sentence,
        "statistic": told and told.statistic,
        "distinguishability": told and float(told.value),
        "closest": told and told.closest and _closest_as_json(minimal, told.closest),
        "episodes_needed": told and {bound: _whole(n.sufficient) for bound, n in told.needed.items()},
        "episodes_likely": told and {bound: _whole(n.likely) for bound, n in told.needed.items()},
    }


def _whole(episodes: float | None) -> int | None:
    return None if episodes is None or math.isinf(episodes) else math.ceil(episodes)


def _closest_as_json(minimal: Minimal, closest: Closest) -> dict[str, Any]:
    return {
        "layer": closest.layer,
        "states": list(closest.states),
        "histories": _histories(minimal, closest),
        "event": closest.event,
        "probabilities": closest.probabilities and [float(p) for p in closest.probabilities],
        "distance": str(closest.distance),
    }


def _histories(minimal: Minimal, closest: Closest) -> list[str]:
    """A typical history of each of the two states."""
    from suffice.automata.histories import show

    rdp = minimal.rdp()
    histories, first = rdp.typical_histories(), int(rdp.offsets()[closest.layer])
    return [show(histories[first + q]) for q in closest.states]


NOT_SAID = "not available"  # of a bound that does not say how many episodes it needs


def _print_truth(domain: str, truth: Truth, told: Distinguishability | None, delta: float) -> None:
    minimal = truth.minimal
    widths = _layers(minimal.layers)
    say(f"{domain}, horizon {minimal.horizon}: the minimal automaton has {minimal.n_states} states in layers {widths}")
    values = {
        "optimal value": _number(truth.optimal_value),
        "covered value": _number(truth.covered_value) if truth.covered_value != truth.optimal_value else None,
        "behaviour's value": _number(truth.behaviour.mean_return),
        "concentrability": _number(truth.concentrability),
        "arithmetic": "rational, exact" if minimal.rational else "doubles; numbers within 1e-9 count as equal",
    }
    if told:
        values[f"distinguishability ({told.statistic})"] = _number(told.value)
    print_table(values)
    if minimal.telling:
        say(minimal.telling.sentence)
    if told and told.closest:
        _print_closest(minimal, told.closest)
    if told and told.needed:
        say(f"Episodes to learn it exactly, at δ = {delta:g} for each test:")
        print(f"  {'':<18}{'sufficient':>12}{'likely' if told.likely_known else '':>12}")
        for bound, needed in told.needed.items():
            numbers = f"{_episodes(needed.sufficient):>12}{_episodes(needed.likely):>12}"
            put(f"  {bound:<18}{numbers if needed.sufficient is not None else f'{NOT_SAID:>24}'}")
        _warn_of_false_splits(minimal, delta)


def _warn_of_false_splits(minimal: Minimal, delta: float) -> None:
    """δ is per test: an automaton with many candidates may be found, and yet have a state too many."""
    tests = sum(len({(q, a, o) for q, a, o, *_ in arrows.rows()}) for arrows in minimal.arrows[:-1])
    if tests * delta > 0.1:
        say(f"Learning makes about {tests:,} tests; to have all of them right use: suffice learn --confidence 0.95")


def _print_closest(minimal: Minimal, closest: Closest) -> None:
    say(f"Hardest to tell apart, in layer {closest.layer}, after:")
    for history in _histories(minimal, closest):
        put(f"  {history}")
    if not closest.distance:
        print("  Nothing that is compared differs between them.")
    elif closest.probabilities:
        p1, p2 = (float(p) for p in closest.probabilities)
        digits = max(4, 2 - math.floor(math.log10(abs(p1 - p2) or 1)))  # so that the difference shows
        put(f"  {closest.event}: {p1:.{digits}f} against {p2:.{digits}f}")


def _print_next(domain: str, told: Distinguishability | None, options: DomainOptions, horizon: int) -> None:
    from suffice.learning.adact_h import Settings

    usual = Settings().chosen_bound.name
    enough = told.needed[usual].likely if told and usual in told.needed else None
    given = words(options)
    if told is None or not told.value:
        blind = "--metric prefixes" if told and told.statistic == "conjunctions" else "--family conjunctions"
        other = blind if told else "--observe-reward"
        say_next(command("exact", domain, options=f"{given} {other}".lstrip()))
        return
    if enough and enough > AFFORDABLE:
        say("No log of ordinary size will do; a shorter horizon or another --behaviour may.")
        say_next(command("exact", domain, options=words(replace(options, horizon=max(2, horizon // 2)))))
        return
    episodes = 3 * math.ceil(enough) if enough else DEFAULT_LOG_EPISODES  # thrice what works half of the time
    say_next(command("simulate", domain, options=f"{given} --episodes {episodes} -o log.parquet".lstrip()))


def _number(value: Any) -> str:
    """As a fraction where that is short, and as a decimal."""
    exactly, decimal = str(value), f"{float(value):.6g}"
    sign = "=" if value == Fraction(decimal) else "≈"
    return f"{exactly} {sign} {decimal}" if "/" in exactly and len(exactly) <= 15 else decimal


def _episodes(n: float | None) -> str:
    return "" if n is None else "never" if math.isinf(n) else f"{math.ceil(n):,}" if n < 1e6 else f"{n:.2g}"


def _layers(widths: tuple[int, ...]) -> str:
    """In full, or where there are many with repetitions folded."""
    if len(widths) <= 30:
        return " ".join(map(str, widths))
    runs = [(width, len(list(same))) for width, same in groupby(widths)]
    return " ".join(str(width) if times == 1 else f"{width} (×{times})" for width, times in runs)
