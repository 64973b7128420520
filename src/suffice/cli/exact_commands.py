"""The command `exact`, which computes the minimal automaton, values and sample sizes of a domain."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from suffice.cli.app import app
from suffice.cli.names import DomainName
from suffice.cli.options import DEFAULT_DOMAIN, DomainOptions, Flag, domain_of, words
from suffice.cli.output import print_json, print_table
from suffice.cli.printing import command, put, say, say_next
from suffice.cli.progress import waiting
from suffice.errors import SufficeError

AFFORDABLE = 1e8  # episodes of a log that a user may have
DEFAULT_LOG_EPISODES = 100_000  # episodes, if it is not known how many are needed

if TYPE_CHECKING:
    from suffice.domains.exact.distances import Closest
    from suffice.domains.exact.minimal import Minimal
    from suffice.domains.exact.truth import Distinguishability, Truth


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
    """Compute the exact automaton and values of a domain.

    Shows the minimal automaton under the behaviour policy, the optimal and the behaviour policy's mean return, the two
    states that are hardest to distinguish, and how many episodes each test needs to learn the automaton: a number that
    is sufficient by proof, and one at which learning is likely to succeed.

    Examples:

        suffice exact t-maze
        suffice exact t-maze --horizon 8 --set length=3 --stationary
        suffice exact corridor --metric prefixes --json

    Parameters
    ----------
    domain
        Name of a domain (see suffice domains), or a .POMDP file, whose discount is ignored.
    metric
        How futures are compared. L1 sums the differences of all prefixes.
    family
        Languages with --metric languages: conjunctions, or I,J,K such as 1,1,1.
    delta
        Failure probability of each test.
    stationary
        Also count the states of the minimal automaton that is the same at every step, if it is finite.
    json
        Print JSON and nothing else.
    """
    from suffice.domains.exact.stationary import stationary_rdp
    from suffice.domains.exact.truth import METRICS, truth_of

    if not 0 < delta < 1:
        raise SufficeError(f"--delta {delta:g} is not a probability between 0 and 1. Try 0.001.")
    if family != "conjunctions" and metric != "languages":
        raise SufficeError("--family applies to --metric languages only. Leave one of them out.")
    model, policy, horizon = domain_of(domain, options)
    with waiting("Following beliefs"):
        stationary_states = stationary_rdp(model, policy).n_states if stationary else None
        truth = truth_of(model, horizon, policy)
    separation = None
    if not truth.minimal.reward_dependence:
        with waiting("Comparing states"):
            separation = METRICS[metric](truth.minimal, family, delta)
    if json:
        found = {} if stationary_states is None else {"stationary_states": stationary_states}
        print_json(_as_json(domain, truth, separation) | found)
    else:
        _print_truth(domain, truth, separation, delta)
        if stationary_states is not None:
            say(f"An automaton that is the same at every step needs {stationary_states} states.")
        _print_next(domain, separation, options, horizon)


def _as_json(domain: str, truth: Truth, separation: Distinguishability | None) -> dict[str, Any]:
    """Return what `suffice exact --json` prints; null where no number of episodes suffices."""
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
        "rewards_tell": minimal.reward_dependence and minimal.reward_dependence.sentence,
        "statistic": separation and separation.statistic,
        "distinguishability": separation and float(separation.value),
        "closest": separation and separation.closest and _closest_as_json(minimal, separation.closest),
        "episodes_needed": separation and {bound: _whole(n.sufficient) for bound, n in separation.needed.items()},
        "episodes_likely": separation and {bound: _whole(n.likely) for bound, n in separation.needed.items()},
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
    """Return a typical history of each of the two states."""
    from suffice.automata.histories import show

    rdp = minimal.rdp()
    histories, first = rdp.typical_histories(), int(rdp.offsets()[closest.layer])
    return [show(histories[first + q]) for q in closest.states]


NOT_AVAILABLE = "not available"  # for bounds without a formula for the number of episodes


def _print_truth(domain: str, truth: Truth, separation: Distinguishability | None, delta: float) -> None:
    from suffice.data.listing import layer_sizes

    minimal = truth.minimal
    widths = layer_sizes(minimal.layers)
    say(f"{domain}, horizon {minimal.horizon}: the minimal automaton has {minimal.n_states} states in layers {widths}")
    values = {
        "optimal value": _number(truth.optimal_value),
        "covered value": _number(truth.covered_value) if truth.covered_value != truth.optimal_value else None,
        "behaviour policy's value": _number(truth.behaviour.mean_return),
        "concentrability": _number(truth.concentrability),
        "arithmetic": "rational, exact" if minimal.rational else "floating point; numbers within 1e-9 are equal",
    }
    if separation:
        values[f"distinguishability ({separation.statistic})"] = _number(separation.value)
    print_table(values)
    if minimal.reward_dependence:
        say(minimal.reward_dependence.sentence)
    if separation and separation.closest:
        _print_closest(minimal, separation.closest)
    if separation and separation.needed:
        say(f"Episodes to learn it exactly, at δ = {delta:g} for each test:")
        print(f"  {'':<18}{'sufficient':>12}{'likely' if separation.likely_known else '':>12}")
        for bound, needed in separation.needed.items():
            numbers = f"{_episodes(needed.sufficient):>12}{_episodes(needed.likely):>12}"
            put(f"  {bound:<18}{numbers if needed.sufficient is not None else f'{NOT_AVAILABLE:>24}'}")
        _warn_of_false_splits(minimal, delta)


def _warn_of_false_splits(minimal: Minimal, delta: float) -> None:
    """Warn if a false split is likely, because δ is for each test and there are many tests."""
    tests = sum(len({(q, a, o) for q, a, o, *_ in arrows.rows()}) for arrows in minimal.arrows[:-1])
    if tests * delta > 0.1:
        say(f"Learning makes about {tests:,} tests; for a guarantee on all of them: suffice learn --confidence 0.95")


def _print_closest(minimal: Minimal, closest: Closest) -> None:
    say(f"Hardest to distinguish, in layer {closest.layer}, are the states after:")
    for history in _histories(minimal, closest):
        put(f"  {history}")
    if not closest.distance:
        print("  No compared event has different probabilities in them.")
    elif closest.probabilities:
        p1, p2 = (float(p) for p in closest.probabilities)
        digits = max(4, 2 - math.floor(math.log10(abs(p1 - p2) or 1)))  # enough to show the difference
        put(f"  {closest.event}: {p1:.{digits}f} against {p2:.{digits}f}")


def _print_next(domain: str, separation: Distinguishability | None, options: DomainOptions, horizon: int) -> None:
    from suffice.learning.adact_h import Settings

    usual = Settings().chosen_bound.name
    enough = separation.needed[usual].likely if separation and usual in separation.needed else None
    given = words(options)
    if separation is None or not separation.value:
        other = "--family conjunctions"
        if separation is None:
            other = "--observe-reward"
        elif separation.statistic == "conjunctions":
            other = "--metric prefixes"
        say_next(command("exact", domain, options=f"{given} {other}".lstrip()))
        return
    if enough and enough > AFFORDABLE:
        say("No log of realistic size is large enough. Try a shorter horizon or another --behaviour.")
        say_next(command("exact", domain, options=words(replace(options, horizon=max(2, horizon // 2)))))
        return
    # With `enough` episodes learning succeeds in about half of the cases.
    episodes = 3 * math.ceil(enough) if enough else DEFAULT_LOG_EPISODES
    say_next(command("simulate", domain, options=f"{given} --episodes {episodes} -o log.parquet".lstrip()))


def _number(value: Any) -> str:
    """Format a number as a decimal, preceded by its fraction if that is short."""
    exactly, decimal = str(value), f"{float(value):.6g}"
    sign = "=" if value == Fraction(decimal) else "≈"
    return f"{exactly} {sign} {decimal}" if "/" in exactly and len(exactly) <= 15 else decimal


def _episodes(n: float | None) -> str:
    return "" if n is None else "never" if math.isinf(n) else f"{math.ceil(n):,}" if n < 1e6 else f"{n:.2g}"
