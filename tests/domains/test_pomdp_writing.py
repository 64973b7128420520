"""Writer of `.POMDP` files: files are read back unchanged, with valid names and numbers."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle import random_episodes
from suffice.automata.rdp import RDP
from suffice.domains.domain import Domain
from suffice.domains.finite import FiniteModel, Outcome
from suffice.domains.pomdp.domain import PomdpDomain
from suffice.domains.pomdp.naming import NameTable, decimal, distribution
from suffice.domains.pomdp.writing import rdp_to_pomdp, to_pomdp, write_pomdp
from suffice.domains.registry import DOMAINS
from suffice.domains.tasks.t_maze import TMaze
from suffice.learning.adact_h import Settings, adact_h
from suffice.models.model import Model
from support.pomdp_files import THIRD, F, Step, Tree, read, same, tree

# ---------------------------------------------------------------- writing and reading back


def read_back(text: str, depth: int, actions: Sequence[Any]) -> Tree:
    """Return the histories of a written file after its extra first step, with observations from its comments."""
    legend: dict[str, Any] = {"end": None, "unseen": "unseen"}
    for name, features in re.findall(r"^# (\w[\w-]*): (.*)$", text, re.MULTILINE):
        legend[name] = tuple(json.loads(feature.split(" ", 1)[1]) for feature in features.split(", "))
    assert re.search(r"^start: begin$", text, re.MULTILINE)
    for name in itertools.chain(*re.findall(r"^(?:states|actions|observations): (.*)$", text, re.MULTILINE)):
        assert re.fullmatch(r"[A-Za-z0-9_ -]*", name)
    domain = PomdpDomain(read(text))
    written = dict(zip(actions, domain.all_actions, strict=True))

    def step(state: Any, action: Any) -> list[Step]:
        return [(p, after, legend[str(o[0])], r) for p, after, o, r in domain.step(state, written[action]) if o]

    ((_, begin, _, _),) = domain.start()
    firsts = [step(begin, action) for action in actions]
    assert all(first == firsts[0] for first in firsts) and all(r == 0 for _, _, _, r in firsts[0])
    return tree(firsts[0], step, actions, depth)


def of_model(model: FiniteModel, depth: int) -> Tree:
    """Return the histories of a finite model, in the values of its alphabet; they stop at the end of an episode."""
    alphabet = model.alphabet

    def row(table: Any, i: int) -> list[Step]:
        return [
            (table.probability[k], int(table.state[k]), alphabet.observation(int(table.observation[k])),
             model.rewards[table.reward[k]])
            for k in range(table.begin[i], table.begin[i + 1])
        ]  # fmt: skip

    def step(state: int, action: Any) -> list[Step]:
        at = state * len(alphabet.actions) + alphabet.actions.index(action)
        return row(model.after, at) if state >= 0 else [(F(1), state, None, F(0))]

    return tree(row(model.first, 0), step, alphabet.actions, depth)


@pytest.mark.parametrize("name", sorted(DOMAINS))
def test_write_pomdp_preserves_every_domain(name: str) -> None:
    model = DOMAINS[name]().model(4)
    depth = 2 if len(model.alphabet.observations) > 20 else 3
    text = write_pomdp(model, 4, f"the domain\n{name}")
    horizon = "plan 5 steps, one for the first observation and then 4"
    header = f"# the domain {name}\n# The horizon is finite, so nothing is discounted: {horizon}.\n"
    assert text.startswith(header)
    assert same(read_back(text, depth, model.alphabet.actions), of_model(model, depth), 1e-12)


class Odd:
    """A definition with thirds, random rewards, and names that the format does not allow."""

    all_actions = ("reset", "a b", "a_b", "Ä")
    features = ("what", "how")
    words = ("end", "start", "1.5", "")

    def start(self) -> list[Outcome]:
        return [Outcome(THIRD, (word, i), (word, i > 1)) for i, word in enumerate(self.words[:3])]

    def step(self, state: Any, action: Any) -> list[Outcome]:
        number = (self.all_actions.index(action) + state[1]) % 4
        following = (self.words[number], number)
        tiny = F(1, 3 * 10**20)
        return [
            Outcome(F(1, 7), following, (following[0], True), F(1, 3)),
            Outcome(F(2, 7), following, (following[0], True), F(-2)),
            Outcome(F(4, 7) - tiny, following, (following[0], False), F(10)),
            Outcome(tiny, None, None, F(-1, 10)),
        ]

    def choices(self, observation: Any) -> tuple[str, ...]:
        return self.all_actions


def test_write_pomdp_preserves_odd_names_random_rewards_and_thirds() -> None:
    model = FiniteModel.of(Odd())
    text = write_pomdp(model, 9)
    pomdp = read(text)
    assert {"begin", "end"} < set(pomdp.states) and len(set(pomdp.states)) == len(pomdp.states)
    assert set(pomdp.actions) == {"reset_2", "a_b", "a_b_2", "a"}
    assert all(sum(row.values()) == 1 for row in pomdp.transitions)
    assert same(read_back(text, 3, model.alphabet.actions), of_model(model, 3), 1e-12)


def of_rdp(rdp: RDP, depth: int) -> Tree:
    """Return the histories of a learned automaton, from its counts."""
    lowest, actions = F(str(rdp.alphabet.rewards[0])), rdp.alphabet.actions

    def step(state: Any, action: Any) -> list[Step]:
        if isinstance(state, str):
            return [(F(1), state, None if state == "end" else state, F(0))]
        outputs = rdp.outputs(rdp.run(state), action)
        total = sum(k for _, _, k in outputs)
        found: list[Step] = []
        for o, r, k in outputs:
            following = "end" if o is None else (*state, (action, o))
            found.append((F(k, total), following, o, F(str(r))))
        left = rdp.horizon + 1 - len(state)
        return found or [(F(1), "unseen", "unseen", lowest * left)]

    return tree(step((), None), step, actions, depth)


@pytest.mark.parametrize(
    ("domain", "n", "unseen"), [(TMaze(length=1), 3000, False), (TMaze(length=2, actions="east"), 500, True)]
)
def test_rdp_to_pomdp_preserves_a_learned_automaton(domain: Domain, n: int, unseen: bool) -> None:
    episodes = domain.simulate(n, 4, np.random.default_rng(5))
    model = Model.of(adact_h(episodes, Settings()), episodes)
    text = to_pomdp(model)
    assert f"from {n:,} episodes (log {model.about.log_hash})" in text.splitlines()[0]
    assert same(read_back(text, 4, model.rdp.alphabet.actions), of_rdp(model.rdp, 4), 1e-12)
    assert ("unseen" in read(text).states) == unseen
    assert rdp_to_pomdp(model.rdp).splitlines()[1:] == text.splitlines()[1:]


def test_rdp_to_pomdp_preserves_rare_and_unseen_actions() -> None:
    for seed in range(5):
        episodes = random_episodes(np.random.default_rng(seed), 3, 3, 3, 3, 3, 40, n_features=2, early_end=0.3)
        rdp = adact_h(episodes, Settings()).rdp
        assert same(read_back(rdp_to_pomdp(rdp), 3, rdp.alphabet.actions), of_rdp(rdp, 3), 1e-12)


def test_rdp_to_pomdp_gives_unseen_actions_the_lowest_return() -> None:
    """Any other action returns at least as much."""
    episodes = TMaze(length=2, actions="east").simulate(500, 4, np.random.default_rng(5))
    text = rdp_to_pomdp(adact_h(episodes, Settings()).rdp)
    paid = [float(value) for value in re.findall(r"^R: N : q1-0 : unseen : \* (.*)$", text, re.MULTILINE)]
    assert paid == [-4.0]


# ---------------------------------------------------------------- names and numbers


@given(st.lists(st.one_of(st.text(), st.integers(), st.tuples(st.text(), st.booleans())), max_size=20))
def test_name_table_makes_distinct_plain_names(values: list[Any]) -> None:
    names = NameTable("s", ("end",))
    made = [names.of(value) for value in values]
    assert len(set(made)) == len(made) and "end" not in made and "T" not in made
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name) for name in made)


def test_name_table_numbers_equal_names() -> None:
    names = NameTable("s")
    assert [names.of(x) for x in ("T", "T", "x-1", "x 1", "x_1", (0, 1), -2, "", "y" * 99)] == [
        "T_2", "T_3", "x-1", "x_1", "x_1_2", "s0_1", "s-2", "s", "y" * 60,
    ]  # fmt: skip
    assert len({names.of("again") for _ in range(20_000)}) == 20_000


def test_decimal_writes_numbers_without_exponents() -> None:
    given_ = [F(1), F(0), F(-5, 2), F(1, 8), F(10**20), F(1, 10**30), F(1, 3), F(-2, 3), F(1, 3 * 10**12), F(7000, 3)]
    assert [decimal(x) for x in given_] == [
        "1.0", "0.0", "-2.5", "0.125", "100000000000000000000.0", f"0.{'0' * 29}1", "0.33333333333333333",
        "-0.66666666666666667", f"0.{'0' * 12}33333333333333333", "2333.33333333333333333",
    ]  # fmt: skip


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=9), st.integers(0, 20))
def test_distribution_adds_up_to_exactly_one(weights: list[int], rare: int) -> None:
    weights[0] *= 10**rare
    exact = [F(w, sum(weights)) for w in weights]
    written = [F(text) for text in distribution(exact)]
    assert sum(written) == 1 and min(written) > 0
    assert all(abs(w - p) <= F(len(exact), 10**17) for w, p in zip(written, exact, strict=True))
    assert all(re.fullmatch(r"\d+\.\d+", text) for text in distribution(exact))
