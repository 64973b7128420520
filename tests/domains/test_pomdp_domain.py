"""Domains of `.POMDP` files, and robustness of the reader against any input."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.data.logs.reading import read_log
from suffice.data.logs.writing import write_log
from suffice.domains.domain import Domain
from suffice.domains.finite import Outcome
from suffice.domains.pomdp.domain import PomdpDomain
from suffice.domains.tasks.cheese import Cheese
from suffice.domains.tasks.mini_hall import MiniHall
from suffice.errors import SufficeError
from support.paths import ROOT
from support.pomdp_files import HEAD, WHOLE, F, Step, Tree, read, same, tree

EXAMPLES = ROOT / "examples" / "pomdp"


# ---------------------------------------------------------------- any input


def survives(data: bytes) -> None:
    try:
        pomdp = read(data)
    except SufficeError:
        return
    n, k = len(pomdp.states), len(pomdp.actions)
    assert len(pomdp.transitions) == len(pomdp.seen) == n * k
    if n * k < 100:
        assert all(sum(row.values()) == 1 for row in (pomdp.start, *pomdp.transitions, *pomdp.seen))


WORDS = (
    "discount values states actions observations start include exclude T O R : : : : * * uniform identity reset reward "
    "cost left right stay go dark light 0 1 2 3 0.5 1.0 0.25 -1 - + 1e-3 1e999 99999 # \n \n \n "
)
soup = st.lists(st.sampled_from(WORDS.split(" ")), max_size=60).map(" ".join)


@settings(max_examples=200, deadline=5000)
@given(st.binary(max_size=300))
def test_read_pomdp_survives_any_bytes(data: bytes) -> None:
    survives(data)


@settings(max_examples=200, deadline=5000)
@given(st.sampled_from(["", HEAD, WHOLE]), soup, st.text(max_size=20))
def test_read_pomdp_survives_random_words(head: str, words: str, text: str) -> None:
    survives((head + words + text).encode("utf-8", "surrogatepass"))


@settings(max_examples=100, deadline=5000)
@given(st.sampled_from(sorted(EXAMPLES.glob("*"))), st.integers(0, 10**6), st.sampled_from(WORDS.split(" ")))
def test_read_pomdp_survives_any_change_of_a_word(path: Path, place: int, word: str) -> None:
    words = re.split(r"(\s+)", path.read_text())
    words[place % len(words)] = word
    survives("".join(words).encode())


def without_first(full: Tree) -> Tree:
    """Return the histories from the first action on, summed over the first observation."""
    summed: dict[tuple[Any, ...], list[Fraction]] = defaultdict(lambda: [F(0), F(0)])
    for history, pair in full.items():
        for i in range(2):
            summed[history[1:]][i] += pair[i]
    return {history: (p, r) for history, (p, r) in summed.items()}


def as_text(step: Callable[[Any, Any], Iterable[Outcome]]) -> Callable[[Any, Any], list[Step]]:
    def steps(state: Any, action: Any) -> list[Step]:
        return [(p, after, str(o[0]) if o else None, r) for p, after, o, r in step(state, action)]

    return steps


@pytest.mark.parametrize(("name", "domain", "depth"), [("mini-hall", MiniHall(), 4), ("cheese", Cheese(), 4)])
def test_shipped_pomdp_files_equal_the_domains(name: str, domain: Domain, depth: int) -> None:
    file = PomdpDomain.read(EXAMPLES / f"{name}.POMDP")
    assert sorted(map(str, file.all_actions)) == sorted(map(str, domain.all_actions))
    ours = tree(as_text(lambda s, a: file.start())(0, 0), as_text(file.step), file.all_actions, depth)
    theirs = tree(as_text(lambda s, a: domain.start())(0, 0), as_text(domain.step), file.all_actions, depth)
    assert {history[0] for history in ours} == {"start"}
    assert same(without_first(ours), without_first(theirs))
    assert sum(p for history, (p, _) in ours.items() if len(history) == 2 * depth + 1) == len(file.all_actions) ** depth


def test_shipped_tiger_file_has_known_probabilities() -> None:
    domain = PomdpDomain.read(EXAMPLES / "tiger.POMDP")
    assert set(domain.step(0, "listen")) == {
        Outcome(F(17, 20), 0, ("hear-left",), F(-1)),
        Outcome(F(3, 20), 0, ("hear-right",), F(-1)),
    }
    assert set(domain.step(1, "open-right")) == {
        Outcome(F(1, 4), s, (o,), F(-100)) for s in range(2) for o in ("hear-left", "hear-right")
    }
    assert {outcome.reward for outcome in domain.step(0, "open-right")} == {10}


def test_pomdp_domain_makes_a_model_of_a_file(tmp_path: Path) -> None:
    domain = PomdpDomain.read(EXAMPLES / "mini-hall.POMDP")
    assert domain.DEFAULT_HORIZON == 10 and domain.features == ("observation",)
    assert domain.choices(("start",)) == domain.all_actions == ("forward", "turn", "turn-back")
    assert (domain.render(3), domain.render(None)) == ("3", "the end")
    assert PomdpDomain.read(EXAMPLES / "tiger.POMDP").render(1) == "tiger-right"
    assert domain.for_horizon(5) is domain
    model = domain.model()
    assert model.alphabet.observations == (*((str(i),) for i in range(7)), ("start",))
    episodes = domain.simulate(50, 6, np.random.default_rng(3))
    assert episodes.horizon == 6 and episodes.total == 50
    for kind in ("parquet", "csv"):
        write_log(episodes, tmp_path / f"log.{kind}")
        assert read_log(tmp_path / f"log.{kind}").digest() == episodes.digest()
    with pytest.raises(SufficeError, match="horizon=0"):
        domain.model(0)
    with pytest.raises(SufficeError, match=r"some.POMDP: the name 'pad' is reserved for padding in logs\. Rename"):
        PomdpDomain(read(WHOLE.replace("stay", "pad"))).model()


def test_pomdp_domain_keeps_numbered_actions_as_numbers() -> None:
    domain = PomdpDomain(read(WHOLE.replace("stay go", "2")))
    assert domain.model().alphabet.actions == (0, 1)
