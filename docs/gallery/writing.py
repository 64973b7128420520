"""Text of the gallery page, in Markdown."""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import fields
from fractions import Fraction
from itertools import groupby, takewhile

from automata import fits_a_page
from facts import DELTA, DELTAS, FAILURES, GRID, LIMIT, SEEDS, Facts, Observed
from figures import about, decimal, exactly, power, table
from pages import PAGES

from suffice.automata.histories import History, show
from suffice.domains.domain import Domain
from suffice.domains.exact.distances import Closest
from suffice.domains.exact.minimal import Minimal

PAPER = 5  # domains of the paper, which come first


def write_page(gallery: Sequence[Facts]) -> str:
    """Return the whole page."""
    lines = [*introduction(gallery), ""]
    for place, facts in enumerate(gallery):
        if place in (0, PAPER):
            lines += ["## Domains of the paper" if place == 0 else "## Other domains", ""]
        lines += [*section(facts), ""]
    return "\n".join(lines).rstrip() + "\n"


def introduction(gallery: Sequence[Facts]) -> list[str]:
    """Return an explanation of the page, and an overview table."""
    blind = sum(not facts.simple.value for facts in gallery)
    text = f"""
        This page describes every domain of `suffice` with its default options under the uniform policy: a picture, the
        smallest sufficient automaton, the returns of policies, and the number of episodes needed to learn the
        automaton. All values are computed or measured by [make.py](gallery/make.py); `.venv/bin/python
        docs/gallery/make.py` writes the page again. [Notation](notation.md) explains the symbols.

        **Q_min** is the number of states of the minimal layered automaton: two histories lead to the same state if and
        only if every future is equally probable after both. **V\\*** is the largest mean return of any policy;
        **behaviour** is the mean return of uniformly random actions, with which logs are simulated. **C\\***, the
        concentrability, is the largest ratio of the probability of a step under the best plan to that in such a log.

        **μ₀** is the distance between the futures of the two most similar states, which decides how hard the automaton
        is to learn. It depends on the events that are compared: the paper's languages X_{{1,1,1}} (family `1,1,1`) name
        one component of a step, **conjunctions** (the default) several components of a step, **prefixes** complete
        continuations; **L₁** is the sum of the differences of all prefixes. 0 means that some states cannot be
        distinguished by any number of episodes; for `1,1,1` this is the case in {blind} of the {len(gallery)} domains.

        **Sufficient** numbers of episodes are proved: every test is right with probability 1 − δ. At the **likely**
        number about half of all runs are expected to succeed: the mean evidence reaches the threshold, and every
        possible step has probably occurred. Both are for conjunctions, δ = {power(DELTA, 1)} and each of the
        [bounds](notation.md#bounds). **Observed** is the first of {", ".join(map(str, GRID[:5]))}, …, {power(LIMIT, 1)}
        episodes with which AdaCT-H (conjunctions, `fisher`) found an automaton identical to the minimal one for at
        least {SEEDS - FAILURES} of {SEEDS} seeds, with the default δ = {power(DELTA, 1)} and with
        δ = {power(DELTAS[1], 1)}. δ bounds the probability of a false split in each test, so that large automata,
        which need thousands of tests, need the smaller δ.

        In the pictures of automata, steps run from left to right. The size of a state shows the share of the episodes
        that visit it. The label of an arrow is an action or observation; "any" stands for all. Open a picture and hover
        over a state to see a history that leads to it.
        """
    paragraphs = [textwrap.fill(" ".join(paragraph.split()), 120) for paragraph in text.split("\n\n")]
    head = ["domain", "H", "Q_min", "V\\*", "behaviour", "μ₀ `1,1,1`", "μ₀ conjunctions", "μ₀ prefixes"]
    head += ["sufficient (`fisher`)", "likely (`fisher`)", *(f"observed, δ = {power(delta, 1)}" for delta in DELTAS)]
    glance = table(head, map(row, gallery))
    return ["# Domains", "", "\n\n".join(paragraphs), "", "## Overview", "", *glance]


def row(facts: Facts) -> list[str]:
    """Return the row of a domain in the overview table."""
    truth, needed = facts.truth, facts.conjunctions.needed["fisher"]
    return [
        f"[{facts.name}](#{facts.name}){_figures(facts.name)}",
        str(truth.minimal.horizon),
        str(truth.minimal.n_states),
        decimal(truth.optimal_value),
        decimal(truth.behaviour.mean_return).replace("-", "−"),
        *(decimal(d.value) for d in (facts.simple, facts.conjunctions, facts.prefixes)),
        about(needed.sufficient),
        about(needed.likely or 0),
        *(about(o.episodes) if o.episodes else f"> {power(LIMIT, 1)}" for o in facts.observed.values()),
    ]


def settings(name: str) -> str:
    """Return the options of a domain's figures as text, empty if they are the default."""
    return ", ".join(f"{option}={value}" for option, value in PAGES[name].figures.items())


def _figures(name: str) -> str:
    return f", `{settings(name)}`" if settings(name) else ""


def section(facts: Facts) -> Iterator[str]:
    """Yield the lines of the section about one domain."""
    name, minimal = facts.name, facts.truth.minimal
    tagline, _, body = inspect.cleandoc(sys.modules[type(facts.domain).__module__].__doc__ or "").partition("\n\n")
    yield from (f"### {name}", "", f"*{tagline}*", "", *body.splitlines(), "")
    yield from (*textwrap.wrap(f"**Memory:** {PAGES[name].memory}.", 120), "")
    yield from (f"![{PAGES[name].draw(facts.domain).title}](gallery/{name}.svg)", "")
    listed = list(options(type(facts.domain)))
    yield from ("Options:" if listed else "Options: none.", "", *listed, *([""] if listed else []))
    yield from ("```sh", *commands(facts), "```", "")
    if PAGES[name].figures:
        yield from (f"The figures are for `{settings(name)}`; with the default options there are too many states.", "")
    yield from (*exact_table(facts), "")
    drawn, many = "Minimal automaton:", f"The minimal automaton has {minimal.n_states} states; states per layer:"
    yield from (drawn if fits_a_page(minimal) else many, "")
    yield from (f"![the minimal automaton of {name}](gallery/{name}-automaton.svg)", "")
    yield from (*hardest(facts), "")
    yield from episodes_table(facts)


def options(domain: type[Domain]) -> Iterator[str]:
    """Yield a list item for every option, with its default and its description in the docstring of the domain."""
    described = inspect.cleandoc(domain.__doc__ or "").partition("Parameters\n----------\n")[2]
    for field in fields(domain):  # type: ignore[arg-type]  # every domain is a dataclass
        _, _, following = f"\n{described}".partition(f"\n{field.name}\n")
        lines = takewhile(lambda line: line.startswith("    "), following.splitlines())
        value = str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
        text = f"`{field.name}`" if field.default is None else f"`{field.name}={value}`"
        item = f"- {text}: {' '.join(line.strip() for line in lines)}"
        yield from textwrap.wrap(item, 120, subsequent_indent="  ")


def commands(facts: Facts) -> Iterator[str]:
    """Yield commands to try the domain, with a number of episodes that was observed to suffice."""
    name = facts.name
    if not facts.conjunctions.value:  # no number of episodes suffices for the default family
        yield f"suffice exact {name} --metric prefixes"
        yield f"suffice simulate {name} --episodes 10000 -o {name}.parquet"
        yield f"suffice learn {name}.parquet -o {name}.model"
        return
    delta, seen = next(((d, o) for d, o in facts.observed.items() if o.episodes), (DELTA, None))
    yield f"suffice exact {name}"
    yield f"suffice simulate {name} --episodes {seen.episodes if seen else LIMIT} -o {name}.parquet"
    yield f"suffice learn {name}.parquet -o {name}.model" + (
        "" if delta == DELTA else f" --delta {delta:.0e}".replace("e-0", "e-")
    )


def exact_table(facts: Facts) -> list[str]:
    """Return the table of exact values."""
    truth = facts.truth
    layers = " ".join(map(str, truth.minimal.layers))
    rows = [
        ("horizon H", str(truth.minimal.horizon)),
        ("Q_min", f"{truth.minimal.n_states} states in layers {layers}"),
        ("V\\*", exactly(truth.optimal_value)),
        ("value of the behaviour", exactly(truth.behaviour.mean_return)),
        ("concentrability C\\*", exactly(truth.concentrability)),
        *((f"μ₀, {family}", exactly(d.value)) for family, d in facts.families.items()),
    ]
    return table(("", "exact value"), rows, left=2)


def hardest(facts: Facts) -> Iterator[str]:
    """Yield the closest two states, and the event that distinguishes them best."""
    minimal = facts.truth.minimal
    if (near := facts.conjunctions.closest) and near.probabilities:
        first, second = (exactly(Fraction(p)) for p in near.probabilities)
        yield f"The closest two states are in layer {near.layer}, after"
        yield from _histories(minimal, near)
        yield ""
        event = f"*{near.event}*: its probability is {first} after the first, {second} after the second."
        yield from textwrap.wrap(f"The event that distinguishes them best is {event}", 120)
    elif near:
        yield f"Conjunctions and the languages `1,1,1` cannot distinguish these two states of layer {near.layer}:"
        yield from _histories(minimal, near)
        return
    if (blind := facts.simple.closest) and not blind.distance:
        again = near is not None and (blind.layer, blind.states) == (near.layer, near.states)
        yield (
            "The languages `1,1,1` cannot distinguish them."
            if again
            else (f"The languages `1,1,1` cannot distinguish these two states of layer {blind.layer}:")
        )
        yield from [] if again else _histories(minimal, blind)


def _histories(minimal: Minimal, near: Closest) -> Iterator[str]:
    rdp = minimal.rdp()
    histories, first = rdp.typical_histories(), int(rdp.offsets()[near.layer])
    yield ""
    yield from (f"- `{_shown(histories[first + q])}`" for q in near.states)


def _shown(history: History) -> str:
    """Return a history as text, with repeated steps counted."""
    steps = [(text, len(list(same))) for text, same in groupby(show((symbol,)) for symbol in history)]
    return " · ".join(f"{text} ×{times}" if times > 1 else text for text, times in steps)


def episodes_table(facts: Facts) -> Iterator[str]:
    """Yield the sufficient, likely and observed numbers of episodes."""
    rows = [(f"`{b}`", about(n.sufficient), about(n.likely or 0)) for b, n in facts.conjunctions.needed.items()]
    yield from (*table((f"episodes, conjunctions, δ = {power(DELTA, 1)}", "sufficient", "likely"), rows), "")
    total = facts.truth.minimal.n_states
    seen = [f"{_observed(o, total)} with δ = {power(delta, 1)}" for delta, o in facts.observed.items()]
    yield from textwrap.wrap(f"**Observed:** {', '.join(seen)}.", 120)


def _observed(observed: Observed, total: int) -> str:
    if observed.episodes:
        return about(observed.episodes)
    found = sorted(set(observed.states))
    count = " or ".join(map(str, found)) if len(found) < 3 else f"{found[0]} to {found[-1]}"
    what = "the right number of states, but other states" if found == [total] else f"{count} states"
    return f"not within {power(LIMIT, 1)} (runs found {what})"
