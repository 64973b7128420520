"""The automaton: running, comparing up to renaming, minimising, validation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from oracle import random_episodes
from suffice.automata.compare import compare
from suffice.automata.histories import History, show, show_symbol
from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import Alphabet
from suffice.data.episodes import Episodes
from suffice.errors import SufficeError
from suffice.learning.adact_h import Settings, adact_h
from suffice.learning.stationary.learner import learn_stationary
from support.log_files import decode

# Automata to try things on


def automaton(rng: np.random.Generator, widths: tuple[int, ...], seen: float = 0.8, most: int = 4) -> RDP:
    """Layers of the given widths, transitions and counts at random: each state has seen a share of the symbols."""
    alphabet = Alphabet(("a", "b"), ("o",), ((0,), (1,)), (0.0, 1.0))
    symbols = np.array(list(product((2, 3), (1, 2))), np.int32)
    letters = np.array([(a, o, r) for a, o in symbols for r in (0, 1)], np.int32)
    offsets = np.cumsum([0, *widths])
    tau = np.full((offsets[-1], len(symbols)), UNSEEN, np.int32)
    counts = np.zeros((len(tau), len(letters)), np.int64)
    for t, width in enumerate(widths[:-1]):
        for q, y in product(range(offsets[t], offsets[t] + width), range(len(symbols))):
            if rng.random() < seen:
                tau[q, y] = rng.integers(offsets[t + 1], offsets[t + 2])
                counts[q, 2 * y : 2 * y + 2] = rng.integers(1, most), rng.integers(most)
    return RDP(alphabet, letters, symbols, np.array(widths), tau, counts)


@cache
def log(seed: int, **options: Any) -> Episodes:
    rng = np.random.default_rng(seed)
    return random_episodes(rng, 4, 2, 3, 2, 4, 400, early_end=0.3, **options)


@cache
def learned(seed: int, **options: Any) -> RDP:
    return adact_h(log(seed, **options), Settings(delta=0.3)).rdp


def edited(rdp: RDP, **changes: Callable[[Any], None]) -> RDP:
    """A copy, some of its arrays changed in place before it is frozen."""
    arrays = {name: getattr(rdp, name).copy() for name in ("letters", "symbols", "layers", "tau", "counts")}
    for name, change in changes.items():
        change(arrays[name])
    return replace(rdp, **arrays)


def permuted(rdp: RDP, rng: np.random.Generator) -> RDP:
    """The same automaton, the states of each layer renamed at random."""
    offsets = rdp.offsets()
    old = np.concatenate([a + rng.permutation(b - a) for a, b in pairwise(offsets)])
    new = np.append(np.argsort(old), UNSEEN).astype(np.int32)  # index −1 stays −1
    return replace(rdp, tau=new[rdp.tau[old]], counts=rdp.counts[old])


def redirected(rdp: RDP, rng: np.random.Generator) -> RDP:
    """One transition leads to another state, or is forgotten, or is new."""
    tau, layer, offsets = rdp.tau.copy(), rdp.layer_of(), rdp.offsets()
    q, y = rng.integers(rdp.n_states - rdp.layers[-1]), rng.integers(tau.shape[1])
    targets = [UNSEEN, *range(offsets[layer[q] + 1], offsets[layer[q] + 2])]
    tau[q, y] = rng.choice([target for target in targets if target != tau[q, y]])
    counts = rdp.counts.copy()
    if tau[q, y] == UNSEEN or not counts[q, 2 * y : 2 * y + 2].any():
        counts[q, 2 * y : 2 * y + 2] = 0 if tau[q, y] == UNSEEN else (1, 0)
    return replace(rdp, tau=tau, counts=counts)


def forget(rdp: RDP, q: int, y: int) -> RDP:
    """Without one transition."""
    tau, counts = rdp.tau.copy(), rdp.counts.copy()
    tau[q, y], counts[q, 2 * y : 2 * y + 2] = UNSEEN, 0
    return replace(rdp, tau=tau, counts=counts)


def split(rdp: RDP, q: int, factors: dict[int, int], rng: np.random.Generator) -> RDP:
    """State q twice: the copy is seen a multiple as often, action by action, and takes over some transitions to q."""
    of = np.insert(np.arange(rdp.n_states), q + 1, q)  # new state → old state
    tau = np.where(rdp.tau > q, rdp.tau + 1, rdp.tau)[of]
    to_q = np.argwhere(tau == q)
    for row in to_q[rng.random(len(to_q)) < 0.5]:
        tau[tuple(row)] = q + 1
    counts = rdp.counts[of]
    counts[q + 1] *= [factors[a] for a in rdp.letters[:, 0].tolist()]
    layers = rdp.layers.copy()
    layers[rdp.layer_of()[q]] += 1
    return replace(rdp, layers=layers, tau=tau.astype(np.int32), counts=counts)


def histories(*rdps: RDP) -> Iterator[History]:
    """Every history over the symbols of any of the automata, shortest first."""
    known = list(dict.fromkeys(r.symbol(y) for r in rdps for y in range(len(r.symbols))))
    for length in range(max(r.horizon for r in rdps) + 2):
        yield from product(known, repeat=length)


# Running


@pytest.mark.parametrize("options", [{}, {"weighted": True, "n_features": 2}], ids=["plain", "weights"])
def test_a_learned_automaton_knows_every_history_of_its_log(options: dict[str, Any]) -> None:
    episodes, rdp = log(1, **options), learned(1, **options)
    states = rdp.run_all(episodes)
    assert states.shape == (episodes.horizon + 2, episodes.n) and states.min() >= 0
    for e, steps in enumerate(decode(episodes)):
        history = tuple((a, o) for a, o, _ in steps)
        assert [rdp.run(history[:t]) for t in range(len(history) + 1)] == states[:, e].tolist()
    assert (rdp.layer_of()[states] == np.arange(episodes.horizon + 2)[:, None]).all()


@pytest.mark.parametrize("options", [{}, {"weighted": True, "n_features": 2}], ids=["plain", "weights"])
def test_counts_are_how_often_states_met_letters(options: dict[str, Any]) -> None:
    episodes, rdp = log(1, **options), learned(1, **options)
    states, expected = rdp.run_all(episodes), np.zeros_like(rdp.counts)
    for t in range(episodes.horizon + 1):
        np.add.at(expected, (states[t], episodes.word[t]), 1 if episodes.weight is None else episodes.weight)
    assert np.array_equal(rdp.counts, expected)
    assert rdp.counts.sum() == episodes.total * (episodes.horizon + 1)


@pytest.mark.parametrize(
    ("horizon", "actions", "observations", "features"), [(4, 3, 4, 1), (2, 2, 3, 1), (6, 2, 2, 1), (4, 2, 3, 2)]
)
def test_any_other_log_may_be_run(horizon: int, actions: int, observations: int, features: int) -> None:
    """With another alphabet, so other codes, another horizon, even other columns."""
    rdp = learned(1)
    rng = np.random.default_rng(0)
    other = random_episodes(rng, horizon, actions, observations, 3, 2, 60, n_features=features, early_end=0.2)
    states = rdp.run_all(other)
    assert states.shape == (min(horizon, rdp.horizon) + 2, other.n)
    for e, steps in enumerate(decode(other)):
        history = tuple((a, o) for a, o, _ in steps)
        assert [rdp.run(history[:t]) for t in range(len(states))] == states[:, e].tolist()
    unseen = states == UNSEEN
    assert (unseen[1:] >= unseen[:-1]).all(), "once unseen, unseen for good"
    assert unseen.any() and (features == 2 or not unseen.all(axis=1)[1])


@pytest.mark.parametrize("stationary", [False, True])
@pytest.mark.parametrize("options", [{}, {"weighted": True}, {"n_features": 2}], ids=str)
def test_a_tally_is_what_the_states_met(options: dict[str, Any], stationary: bool) -> None:
    """Of any log, step by step: letters where the automaton goes on, else the action it got lost after."""
    rdp = learn_stationary(log(1), Settings()).rdp if stationary else learned(1)
    for other in (log(1), random_episodes(np.random.default_rng(0), 5, 3, 4, 4, 2, 80, early_end=0.2, **options)):
        met, lost, alphabet = Counter[Any](), Counter[Any](), rdp.alphabet
        actions = [alphabet.action(a) for a in range(alphabet.n_actions)]
        letters = [
            (alphabet.action(a), alphabet.observation(o), alphabet.rewards[r]) for a, o, r in rdp.letters.tolist()
        ]
        for e, steps in enumerate(decode(other)):
            weight = 1 if other.weight is None else int(other.weight[e])
            for t, (action, observation, reward) in enumerate(
                steps[: other.horizon if stationary else rdp.horizon + 1]
            ):
                here, then = (rdp.run(tuple((a, o) for a, o, _ in steps[:n])) for n in (t, t + 1))
                if here != UNSEEN and then != UNSEEN and (action, observation, reward) in letters:
                    met[here, action, observation, reward] += weight
                elif here != UNSEEN:
                    lost[here, action] += weight
        found = rdp.tally(other)
        for q in range(rdp.n_states):
            assert [met.pop((q, *letter), 0) for letter in letters] == found.counts[q].tolist()
            assert [lost.pop((q, action), 0) for action in actions] == found.lost[q].tolist()
        assert not met and all(action not in actions for _, action in lost)


def test_unseen_histories() -> None:
    rdp = learned(1)
    start = next(rdp.symbol(y) for y in range(len(rdp.symbols)) if rdp.tau[0, y] != UNSEEN)
    assert rdp.run(()) == 0 and rdp.run((start,)) > 0
    assert rdp.run((("no such action", (0,)),)) == UNSEEN
    assert rdp.run((start, start)) == UNSEEN
    assert rdp.run((start, ("no such action", (0,)), start)) == UNSEEN
    whole = tuple((a, o) for a, o, _ in decode(log(1))[0])
    assert rdp.run(whole) == rdp.n_states - 1
    assert rdp.run((*whole, whole[-1])) == UNSEEN, "nothing follows the final state"


# Comparing


@pytest.mark.parametrize("seed", range(20))
def test_renaming_states_changes_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for rdp in (automaton(rng, (1, 3, 4, 3, 1)), learned(seed % 3)):
        renamed = permuted(rdp, rng)
        assert compare(rdp, rdp) is None and compare(rdp, renamed) is None and compare(renamed, rdp) is None


def test_another_numbering_of_symbols_changes_nothing() -> None:
    """An alphabet with more actions gives the same symbols other codes."""
    rdp = automaton(np.random.default_rng(3), (1, 2, 3, 1))
    alphabet = Alphabet(("0", *rdp.alphabet.actions), ("o",), ((-1,), *rdp.alphabet.observations), rdp.alphabet.rewards)
    wider = replace(rdp, alphabet=alphabet, symbols=rdp.symbols + 1, letters=rdp.letters + np.array([1, 1, 0]))
    assert compare(rdp, wider) is None and compare(wider, rdp) is None


def tells_apart(first: RDP, second: RDP) -> set[History]:
    """By definition: the shortest histories seen by one only, or taken for another by one only, or rewarded by one only
    as it was.
    """
    known: dict[History, tuple[int, int]] = {}
    for history in histories(first, second):
        known[history] = first.run(history), second.run(history)
    for length in range(max(map(len, known)) + 1):
        level = {h: pair for h, pair in known.items() if len(h) == length and pair != (UNSEEN, UNSEEN)}
        told = {h for h, pair in level.items() if UNSEEN in pair}
        for h, (p, q) in level.items():
            if h not in told and any((p == p2) != (q == q2) for p2, q2 in level.values()):
                told.add(h)
            if h and h not in told and len({frozenset(rewards_after(r, h)) for r in (first, second)}) > 1:
                told.add(h)
        if told:
            return told
    return set()


@pytest.mark.parametrize("seed", range(60))
def test_the_shortest_history_that_tells_them_apart(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = automaton(rng, (1, 2, 3, 1), seen=0.6)
    change = (redirected, lambda r, g: redirected(redirected(r, g), g), lambda r, g: automaton(g, (1, 2, 3, 1)))
    second = permuted(change[seed % 3](first, rng), rng)
    expected = tells_apart(first, second)
    for one, other in ((first, second), (second, first)):
        difference = compare(one, other)
        assert (difference is None) == (not expected)
        if difference is not None:
            assert difference.history in expected
            assert reason_holds(difference.reason, difference.history, one, other)


def rewards_after(rdp: RDP, history: History) -> set[float]:
    """Counted by hand: the rewards of the last step."""
    q, (action, observation) = rdp.run(history[:-1]), history[-1]
    alphabet = rdp.alphabet
    return {
        alphabet.rewards[r]
        for (a, o, r), k in zip(rdp.letters.tolist(), rdp.counts[q].tolist(), strict=True)
        if k and (alphabet.action(a), alphabet.observation(o)) == (action, observation)
    }


def reason_holds(reason: str, history: History, first: RDP, second: RDP) -> bool:
    """What is said about two automata is true of them."""
    p, q = first.run(history), second.run(history)
    if "reward" in reason:
        one, other = (first, second) if "first" in reason else (second, first)
        reward = float(reason.removesuffix(" there").rpartition(" ")[2])
        return reward in rewards_after(one, history) - rewards_after(other, history)
    if reason.startswith("only"):
        return reason == f"only the {'first' if q == UNSEEN else 'second'} has seen it" and (p == UNSEEN) != (
            q == UNSEEN
        )
    one, other = (first, second) if reason.startswith("the first takes") else (second, first)
    shown = reason.removeprefix("the first takes it for ").removeprefix("the second takes it for ")
    shown = shown.removesuffix(", the other does not")
    meant = next(h for h in histories(first, second) if len(h) == len(history) and show(h) == shown)
    return one.run(meant) == one.run(history) and other.run(meant) != other.run(history)


def test_single_changes_are_found() -> None:
    rdp = automaton(np.random.default_rng(0), (1, 2, 2, 1), seen=1.0)
    symbol = [rdp.symbol(y) for y in range(4)]
    rdp = edited(rdp, tau=lambda tau: tau.__setitem__(slice(0, 3), [[1, 1, 2, 2], [3, 4, 3, 4], [3, 3, 4, 4]]))
    rdp = edited(rdp, counts=lambda counts: counts.__setitem__(slice(0, 5), 1))  # every reward everywhere
    removed = forget(rdp, 1, 2)
    difference = compare(rdp, removed)
    assert difference is not None and difference.reason == "only the first has seen it"
    assert difference.history == (symbol[0], symbol[2])
    added = compare(removed, rdp)
    assert added is not None and added.reason == "only the second has seen it"
    moved = compare(rdp, edited(rdp, tau=lambda tau: tau.__setitem__((1, 2), 4)))
    assert moved is not None and len(moved.history) == 2 and moved.history[-1] in (symbol[1], symbol[2], symbol[3])
    assert "takes it for" in moved.reason


def test_another_reward_is_found() -> None:
    rdp = automaton(np.random.default_rng(0), (1, 1, 1), seen=1.0)
    rdp = edited(rdp, counts=lambda counts: counts.__setitem__(slice(0, 2), 1))
    other = edited(rdp, counts=lambda counts: counts.__setitem__((1, 3), 0))
    difference = compare(rdp, other)
    assert difference is not None and difference.reason == "only the first has seen reward 1 there"
    assert len(difference.history) == 2 and difference.history[-1] == rdp.symbol(1)


def test_a_symbol_that_only_one_alphabet_has() -> None:
    rdp = automaton(np.random.default_rng(3), (1, 2, 1), seen=1.0)
    alphabet = replace(rdp.alphabet, actions=("a", "b", "c"))
    more = RDP(
        alphabet,
        np.vstack([rdp.letters, [[4, 1, 0]]]),
        np.vstack([rdp.symbols, [[4, 1]]]),
        rdp.layers,
        np.column_stack([rdp.tau, [UNSEEN, 3, UNSEEN, UNSEEN]]),
        np.column_stack([rdp.counts, [0, 1, 0, 0]]),
    )
    for first, second, who in ((rdp, more, "second"), (more, rdp, "first")):
        difference = compare(first, second)
        assert difference is not None and difference.reason == f"only the {who} has seen it"
        assert len(difference.history) == 2 and difference.history[-1] == ("c", (0,))


def test_horizons_differ() -> None:
    rng = np.random.default_rng(0)
    difference = compare(automaton(rng, (1, 2, 1)), automaton(rng, (1, 2, 2, 1)))
    assert difference is not None and (difference.history, difference.reason) == ((), "horizons 1 and 2")


def test_an_action_called_pad_is_refused() -> None:
    """It could not be told from padding."""
    with pytest.raises(SufficeError, match="an action cannot be called 'pad'"):
        Alphabet(("go", "pad"), ("o",), (("a",),), (0.0, 1.0))


def test_histories_as_a_person_reads_them() -> None:
    assert show(()) == "the empty history"
    assert (
        show(((None, (0, "x")), ("E", (1, "y")), ("N", None), ("pad", None))) == "(0, x) · E → (1, y) · N → (end) · pad"
    )
    assert show_symbol((3, (2.5,))) == "3 → (2.5)"


# Minimising


Shares = dict[tuple[int, int, int], Fraction]


def shares(rdp: RDP, q: int) -> Shares:
    """θ(q, ·): of the times an action was taken, the share of each letter."""
    letters, counts = rdp.letters.tolist(), rdp.counts[q].tolist()
    taken: dict[int, int] = {}
    for (a, _, _), k in zip(letters, counts, strict=True):
        taken[a] = taken.get(a, 0) + k
    return {(a, o, r): Fraction(k, taken[a]) for (a, o, r), k in zip(letters, counts, strict=True) if k}


def classes(rdp: RDP) -> list[int]:
    """By definition, from the last layer backwards: states are one if their shares and successors are."""
    found: list[int] = [0] * rdp.n_states
    symbols = [tuple(s) for s in rdp.symbols.tolist()]
    names: dict[Any, int] = {}
    for q in reversed(range(rdp.n_states)):
        after = {x: found[int(rdp.tau[q, symbols.index(x[:2])])] for x in shares(rdp, q)}
        found[q] = names.setdefault((int(rdp.layer_of()[q]), tuple(shares(rdp, q).items()), tuple(after.items())), q)
    return found


def side_by_side(first: RDP, second: RDP) -> set[tuple[int, int]]:
    """The pairs of states that some history leads to; both have seen the same ones."""
    pairs = level = {(0, 0)}
    while level:
        for p, q in level:
            assert ((first.tau[p] == UNSEEN) == (second.tau[q] == UNSEEN)).all()
        moves = {pair for p, q in level for pair in zip(first.tau[p].tolist(), second.tau[q].tolist(), strict=True)}
        level = moves - {(UNSEEN, UNSEEN)}
        pairs = pairs | level
    return pairs


def equal(first: RDP, second: RDP) -> bool:
    names = ("letters", "symbols", "layers", "tau", "counts")
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in names)


def some_automaton(seed: int, rng: np.random.Generator) -> RDP:
    """With few counts, so that states agree by chance; or learned."""
    return automaton(rng, (1, 4, 6, 4, 1), seen=0.5, most=2) if seed % 2 else learned(seed % 3)


@pytest.mark.parametrize("seed", range(12))
def test_minimising_merges_what_is_the_same_and_nothing_else(seed: int) -> None:
    rdp = some_automaton(seed, np.random.default_rng(seed))
    small, found = rdp.minimise(), classes(rdp)
    layers = [rdp.layer_of() == t for t in range(rdp.horizon + 2)]
    assert small.layers.tolist() == [len({found[q] for q in np.flatnonzero(layer)}) for layer in layers]
    assert all(shares(rdp, p) == shares(small, q) for p, q in side_by_side(rdp, small))


@pytest.mark.parametrize("seed", range(12))
def test_minimising_again_changes_nothing_and_loses_no_counts(seed: int) -> None:
    rdp = some_automaton(seed, np.random.default_rng(seed))
    small = rdp.minimise()
    assert equal(small.minimise(), small)
    before, after = (
        [r.counts[r.layer_of() == t].sum(axis=0).tolist() for t in range(r.horizon + 2)] for r in (rdp, small)
    )
    assert before == after


@pytest.mark.parametrize("seed", range(20))
def test_a_state_split_in_two_is_one_again(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rdp = (automaton(rng, (1, 2, 3, 2, 1)) if seed % 2 else learned(seed % 3)).minimise()
    halves = rdp
    for _ in range(3):
        q = int(rng.integers(1, halves.n_states - 1))
        halves = split(halves, q, {a: int(rng.integers(1, 6)) for a in range(rdp.alphabet.n_actions)}, rng)
    small = halves.minimise()
    assert halves.n_states == rdp.n_states + 3
    assert small.layers.tolist() == rdp.layers.tolist()
    assert compare(small, rdp) is None
    assert all(shares(rdp, p) == shares(small, q) for p, q in side_by_side(rdp, small))


def test_states_that_differ_in_one_count_or_one_successor_stay_two() -> None:
    base = automaton(np.random.default_rng(1), (1, 2, 2, 1), seen=1.0)
    base = edited(base, tau=lambda tau: tau.__setitem__(0, [1, 2, 1, 2]))
    twins = edited(
        base,
        tau=lambda tau: tau.__setitem__(2, tau[1]),
        counts=lambda counts: counts.__setitem__((slice(1, 5)), [[5] * 8, [10] * 8, [1] * 8, [2, 1] * 4]),
    )
    assert twins.minimise().layers.tolist() == [1, 1, 2, 1]
    one_more = edited(twins, counts=lambda counts: counts.__setitem__((2, 0), 11))
    assert one_more.minimise().layers.tolist() == [1, 2, 2, 1]
    elsewhere = edited(twins, tau=lambda tau: tau.__setitem__((2, 0), 7 - tau[2, 0]))
    assert elsewhere.minimise().layers.tolist() == [1, 2, 2, 1]
    never_taken = edited(
        twins,
        tau=lambda tau: tau.__setitem__((2, [0, 1]), UNSEEN),
        counts=lambda counts: counts.__setitem__((2, slice(0, 4)), 0),
    )
    assert never_taken.minimise().layers.tolist() == [1, 2, 2, 1]


# Validation


def setting(place: Any, value: Any) -> Callable[[Any], None]:
    return lambda array: array.__setitem__(place, value)


ROW, STEP = "one row of transitions and of counts for each state", "must lead to a state of the next layer"


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"tau": lambda r: r.tau[1:]}, ROW),
        ({"tau": lambda r: r.tau[:, 1:]}, ROW),
        ({"counts": lambda r: r.counts[:-1]}, ROW),
        ({"counts": lambda r: r.counts[:, :-1]}, ROW),
        ({"letters": lambda r: r.letters[1:]}, ROW),
        ({"symbols": lambda r: r.symbols[1:]}, ROW),
        ({"layers": lambda r: r.layers + np.array([0, 1, 0, 0])}, ROW),
        ({"layers": lambda r: np.array([1, 3, 2, 1])}, STEP),
        ({"tau": lambda r: np.where(r.tau == 1, 0, r.tau)}, STEP),
        ({"tau": lambda r: np.where(r.tau == 1, 3, r.tau)}, STEP),
        ({"tau": lambda r: np.where(r.tau == 1, -2, r.tau)}, STEP),
        ({"tau": lambda r: np.where(r.tau == 1, 99, r.tau)}, STEP),
        pytest.param({"letters": lambda r: r.letters + np.array([9, 0, 0])}, None, id="no such action"),
        pytest.param({"letters": lambda r: r.letters + np.array([0, 9, 0])}, None, id="no such view"),
        pytest.param({"letters": lambda r: r.letters + np.array([0, 0, 9])}, None, id="no such reward"),
        pytest.param({"letters": lambda r: r.letters - 9}, None, id="negative codes"),
        pytest.param({"symbols": lambda r: r.symbols + 9}, None, id="symbols of no letter"),
        pytest.param({"symbols": lambda r: r.symbols[::-1].copy()}, None, id="symbols out of order"),
        pytest.param({"counts": lambda r: -r.counts}, None, id="negative counts"),
        pytest.param({"counts": lambda r: r.counts + 1}, None, id="counts without a transition"),
        pytest.param({"counts": lambda r: r.counts / 2}, None, id="counts that are no integers"),
    ],
)
def test_what_is_no_automaton_is_refused(changes: dict[str, Callable[[RDP], Any]], complaint: str | None) -> None:
    rdp = automaton(np.random.default_rng(2), (1, 2, 3, 1), seen=0.7)
    assert (rdp.tau == 1).any() and (rdp.tau[:-1] == UNSEEN).any() and (rdp.counts > 0).any()
    with pytest.raises(SufficeError, match=complaint):
        replace(rdp, **{name: change(rdp) for name, change in changes.items()})


@pytest.mark.parametrize("layers", [(2, 2, 1), (1, 2, 2), (0, 1, 1)])
def test_there_is_one_first_and_one_final_state(layers: tuple[int, ...]) -> None:
    with pytest.raises(SufficeError):
        automaton(np.random.default_rng(2), layers)


def test_an_automaton_is_immutable() -> None:
    rdp = automaton(np.random.default_rng(2), (1, 2, 3, 1))
    for name in ("letters", "symbols", "layers", "tau", "counts"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(rdp, name)[:] = 0


def test_symbols_are_found_however_large_the_alphabet() -> None:
    """Codes beyond √2³¹ in both places."""
    many = 50_000
    alphabet = Alphabet(tuple(range(many)), ("x",), tuple((o,) for o in range(many)), ())
    symbols = np.array([(2, 1), (many - 1, many - 1), (many + 1, many)], np.int32)
    letters = np.column_stack([symbols, np.zeros(3, np.int32)])
    tau, counts = np.array([[1, 1, 1], [UNSEEN] * 3], np.int32), np.array([[1, 1, 1], [0, 0, 0]])
    rdp = RDP(alphabet, letters, symbols, np.array([1, 1]), tau, counts)
    assert rdp.symbol_of_letter().tolist() == [0, 1, 2]
