"""The page itself, in Markdown."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import fields
from fractions import Fraction
from itertools import groupby
from typing import Literal, get_args, get_origin, get_type_hints

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
    """All of it."""
    lines = [*introduction(gallery), ""]
    for place, facts in enumerate(gallery):
        if place in (0, PAPER):
            lines += ["## The five of the paper" if place == 0 else "## The wider field", ""]
        lines += [*section(facts), ""]
    return "\n".join(lines).rstrip() + "\n"


def introduction(gallery: Sequence[Facts]) -> list[str]:
    """How to read the page, and everything at a glance."""
    blind = sum(not facts.simple.value for facts in gallery)
    text = f"""
        Every domain that comes with `suffice`, with its default options under the uniform policy: a picture, the
        smallest automaton that remembers enough, what a policy can earn, and how many episodes it takes to learn the
        automaton. All of it is computed or measured by [make.py](gallery/make.py); `.venv/bin/python
        docs/gallery/make.py` makes the page anew. [Notation](notation.md) explains the symbols.

        **Q_min** is the number of states of the minimal automaton, in layers of time: two histories lead to the same
        state exactly if whatever may follow is equally probable after both. **V\\*** is the best mean return of any
        policy, **behaviour** that of choosing uniformly at random, which is how logs are simulated. **C\\***, the
        concentrability, is how many times rarer the rarest step of the best plan is in such a log than under the plan.

        **μ₀** is how much the futures of the two most similar states differ, which decides how hard the automaton is to
        learn. It depends on what is asked about futures: the paper's languages X_{{1,1,1}} (family `1,1,1`) ask for one
        component of a step, **conjunctions** (the default) for several components of a step at once, **prefixes** for
        whole continuations, and **L₁** adds up the differences of all of them. 0 means that some states cannot be told
        apart in this way by any number of episodes; for `1,1,1` that is so in {blind} of the {len(gallery)} domains.

        **Sufficient** episodes are proved to make every test right with probability 1 − δ, **likely** ones are where
        to expect about half of all runs to succeed: the evidence, at its mean, reaches the threshold, and all that can
        happen has probably happened once. Both are for conjunctions, δ = {power(DELTA, 1)} and each of the
        [bounds](notation.md#bounds). **Observed** is the first of {", ".join(map(str, GRID[:5]))}, …, {power(LIMIT, 1)}
        episodes with which the default learner (conjunctions, `fisher`) found an automaton identical to the minimal one
        for at least {SEEDS - FAILURES} of {SEEDS} seeds, with the default δ = {power(DELTA, 1)} and with
        δ = {power(DELTAS[1], 1)}. δ bounds the probability of a false split in each single test, so that large
        automata, which take thousands of tests, want the smaller one.

        In the pictures of automata time runs from left to right. The more episodes pass through a state, the larger it
        is. An arrow says which action or observation takes it; "any" is whatever happens. Open a picture and point at a
        state to see a history that leads there.
        """
    paragraphs = [textwrap.fill(" ".join(paragraph.split()), 120) for paragraph in text.split("\n\n")]
    head = ["domain", "H", "Q_min", "V\\*", "behaviour", "μ₀ `1,1,1`", "μ₀ conjunctions", "μ₀ prefixes"]
    head += ["sufficient (`fisher`)", "likely (`fisher`)", *(f"observed, δ = {power(delta, 1)}" for delta in DELTAS)]
    glance = table(head, map(row, gallery))
    return ["# Domains", "", "\n\n".join(paragraphs), "", "## At a glance", "", *glance]


def row(facts: Facts) -> list[str]:
    """A domain at a glance."""
    truth, needed = facts.truth, facts.conjunctions.needed["fisher"]
    return [
        f"[{facts.name}](#{facts.name})",
        str(truth.minimal.horizon),
        str(truth.minimal.n_states),
        decimal(truth.optimal_value),
        decimal(truth.behaviour.mean_return).replace("-", "−"),
        *(decimal(d.value) for d in (facts.simple, facts.conjunctions, facts.prefixes)),
        about(needed.sufficient),
        about(needed.likely or 0),
        *(about(o.episodes) if o.episodes else f"> {power(LIMIT, 1)}" for o in facts.observed.values()),
    ]


def section(facts: Facts) -> Iterator[str]:
    """One domain."""
    name, minimal = facts.name, facts.truth.minimal
    tagline, _, body = inspect.cleandoc(sys.modules[type(facts.domain).__module__].__doc__ or "").partition("\n\n")
    yield from (f"### {name}", "", f"*{tagline}*", "", *body.splitlines(), "")
    yield from (*textwrap.wrap(f"**To be remembered:** {PAGES[name].memory}.", 120), "")
    yield from (f"![{PAGES[name].draw(facts.domain).title}](gallery/{name}.svg)", "")
    yield from (*textwrap.wrap(f"Options: {'; '.join(options(type(facts.domain))) or 'none'}.", 120), "")
    yield from ("```sh", *commands(facts), "```", "")
    yield from (*exact_table(facts), "")
    drawn, many = "Its minimal automaton:", f"Its {minimal.n_states} states are too many to draw; by layers:"
    yield from (drawn if fits_a_page(minimal) else many, "")
    yield from (f"![the minimal automaton of {name}](gallery/{name}-automaton.svg)", "")
    yield from (*hardest(facts), "")
    yield from episodes_table(facts)


def options(domain: type[Domain]) -> Iterator[str]:
    """Every option with its default, what else it may be and, where the source has a comment, what it is for."""
    types, source = get_type_hints(domain), inspect.getsource(domain)
    for field in fields(domain):  # type: ignore[arg-type]  # every domain is a dataclass
        notes = []
        if get_origin(types[field.name]) is Literal:
            others = [f"`{value}`" for value in get_args(types[field.name]) if value != field.default]
            notes.append(f"or {', '.join(others)}")
        if said := re.search(rf"^    {field.name}: [^#\n]*# (.*)$", source, re.MULTILINE):
            notes.append(said[1].replace("None:", "by default"))
        value = str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
        text = f"`{field.name}`" if field.default is None else f"`{field.name}={value}`"
        yield f"{text} ({'; '.join(notes)})" if notes else text


def commands(facts: Facts) -> Iterator[str]:
    """To try it, with as many episodes as were seen to suffice."""
    name = facts.name
    delta, seen = next(((d, o) for d, o in facts.observed.items() if o.episodes), (DELTA, None))
    yield f"suffice exact {name}"
    yield f"suffice simulate {name} --episodes {seen.episodes if seen else LIMIT} -o {name}.parquet"
    yield f"suffice learn {name}.parquet -o {name}.model" + (
        "" if delta == DELTA else f" --delta {delta:.0e}".replace("e-0", "e-")
    )


def exact_table(facts: Facts) -> list[str]:
    """What is true before any data."""
    truth = facts.truth
    layers = " ".join(map(str, truth.minimal.layers))
    rows = [
        ("horizon H", str(truth.minimal.horizon)),
        ("Q_min", f"{truth.minimal.n_states} states in layers {layers}"),
        ("V\\*", exactly(truth.optimal_value)),
        ("the behaviour's value", exactly(truth.behaviour.mean_return)),
        ("concentrability C\\*", exactly(truth.concentrability)),
        *((f"μ₀, {family}", exactly(d.value)) for family, d in facts.families.items()),
    ]
    return table(("", "exact value"), rows, left=2)


def hardest(facts: Facts) -> Iterator[str]:
    """The two states that are most alike, and what tells them apart best."""
    minimal = facts.truth.minimal
    if (near := facts.conjunctions.closest) and near.probabilities:
        first, second = (exactly(Fraction(p)) for p in near.probabilities)
        yield f"Hardest to tell apart are two states of layer {near.layer}, after"
        yield from _histories(minimal, near)
        yield ""
        told = f"*{near.event}*: probability {first} after the first, {second} after the second."
        yield from textwrap.wrap(f"What tells them apart best is {told}", 120)
    if (blind := facts.simple.closest) and not blind.distance:
        again = near is not None and (blind.layer, blind.states) == (near.layer, near.states)
        yield (
            "The languages `1,1,1` cannot tell them apart at all."
            if again
            else (f"The languages `1,1,1` cannot tell these two of layer {blind.layer} apart at all:")
        )
        yield from [] if again else _histories(minimal, blind)


def _histories(minimal: Minimal, near: Closest) -> Iterator[str]:
    rdp = minimal.rdp()
    histories, first = rdp.typical_histories(), int(rdp.offsets()[near.layer])
    yield ""
    yield from (f"- `{_shown(histories[first + q])}`" for q in near.states)


def _shown(history: History) -> str:
    """Steps that are repeated are counted."""
    steps = [(text, len(list(same))) for text, same in groupby(show((symbol,)) for symbol in history)]
    return " · ".join(f"{text} ×{times}" if times > 1 else text for text, times in steps)


def episodes_table(facts: Facts) -> Iterator[str]:
    """What a proof asks for, what to expect, and what was seen."""
    rows = [(f"`{b}`", about(n.sufficient), about(n.likely or 0)) for b, n in facts.conjunctions.needed.items()]
    yield from (*table((f"episodes, conjunctions, δ = {power(DELTA, 1)}", "sufficient", "likely"), rows), "")
    total = facts.truth.minimal.n_states
    seen = [f"{_observed(o, total)} with δ = {power(delta, 1)}" for delta, o in facts.observed.items()]
    yield from textwrap.wrap(f"**Observed** to suffice: {', '.join(seen)}.", 120)


def _observed(observed: Observed, total: int) -> str:
    if observed.episodes:
        return about(observed.episodes)
    found = sorted(set(observed.states))
    count = " or ".join(map(str, found)) if len(found) < 3 else f"{found[0]} to {found[-1]}"
    what = "as many states, but not the same" if found == [total] else f"{count} states"
    return f"not within {power(LIMIT, 1)} (runs found {what})"
