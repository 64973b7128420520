"""`RDP` runs histories, minimises and validates; `compare` works up to renaming of states."""

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

# Automata for the tests


def automaton(rng: np.random.Generator, widths: tuple[int, ...], seen: float = 0.8, most: int = 4) -> RDP:
    """Draw an automaton with layers of the given widths, where each state has seen a share of the symbols."""
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
    """Copy an automaton, changing some of its arrays in place before it is frozen."""
    arrays = {name: getattr(rdp, name).copy() for name in ("letters", "symbols", "layers", "tau", "counts")}
    for name, change in changes.items():
        change(arrays[name])
    return replace(rdp, **arrays)


def permuted(rdp: RDP, rng: np.random.Generator) -> RDP:
    """Rename the states of each layer at random."""
    offsets = rdp.offsets()
    old = np.concatenate([a + rng.permutation(b - a) for a, b in pairwise(offsets)])
    new = np.append(np.argsort(old), UNSEEN).astype(np.int32)  # index −1 stays −1
    return replace(rdp, tau=new[rdp.tau[old]], counts=rdp.counts[old])


def redirected(rdp: RDP, rng: np.random.Generator) -> RDP:
    """Redirect, remove or add one transition."""
    tau, layer, offsets = rdp.tau.copy(), rdp.layer_of(), rdp.offsets()
    q, y = rng.integers(rdp.n_states - rdp.layers[-1]), rng.integers(tau.shape[1])
    targets = [UNSEEN, *range(offsets[layer[q] + 1], offsets[layer[q] + 2])]
    tau[q, y] = rng.choice([target for target in targets if target != tau[q, y]])
    counts = rdp.counts.copy()
    if tau[q, y] == UNSEEN or not counts[q, 2 * y : 2 * y + 2].any():
        counts[q, 2 * y : 2 * y + 2] = 0 if tau[q, y] == UNSEEN else (1, 0)
    return replace(rdp, tau=tau, counts=counts)


def forget(rdp: RDP, q: int, y: int) -> RDP:
    """Remove one transition."""
    tau, counts = rdp.tau.copy(), rdp.counts.copy()
    tau[q, y], counts[q, 2 * y : 2 * y + 2] = UNSEEN, 0
    return replace(rdp, tau=tau, counts=counts)


def split(rdp: RDP, q: int, factors: dict[int, int], rng: np.random.Generator) -> RDP:
    """Split state q: its copy has multiples of its counts for each action, and some of the transitions to q."""
    of = np.insert(np.arange(rdp.n_states), q + 1, q)  # old state of each new state
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
    """Generate every history over the symbols of any of the automata, shortest first."""
    known = list(dict.fromkeys(r.symbol(y) for r in rdps for y in range(len(r.symbols))))
    for length in range(max(r.horizon for r in rdps) + 2):
        yield from product(known, repeat=length)


# Running


@pytest.mark.parametrize("options", [{}, {"weighted": True, "n_features": 2}], ids=["plain", "weights"])
def test_rdp_run_all_has_a_state_for_every_history_of_its_log(options: dict[str, Any]) -> None:
    episodes, rdp = log(1, **options), learned(1, **options)
    states = rdp.run_all(episodes)
    assert states.shape == (episodes.horizon + 2, episodes.n) and states.min() >= 0
    for e, steps in enumerate(decode(episodes)):
        history = tuple((a, o) for a, o, _ in steps)
        assert [rdp.run(history[:t]) for t in range(len(history) + 1)] == states[:, e].tolist()
    assert (rdp.layer_of()[states] == np.arange(episodes.horizon + 2)[:, None]).all()


@pytest.mark.parametrize("options", [{}, {"weighted": True, "n_features": 2}], ids=["plain", "weights"])
def test_rdp_counts_equal_letters_along_run_all(options: dict[str, Any]) -> None:
    episodes, rdp = log(1, **options), learned(1, **options)
    states, expected = rdp.run_all(episodes), np.zeros_like(rdp.counts)
    for t in range(episodes.horizon + 1):
        np.add.at(expected, (states[t], episodes.word[t]), 1 if episodes.weight is None else episodes.weight)
    assert np.array_equal(rdp.counts, expected)
    assert rdp.counts.sum() == episodes.total * (episodes.horizon + 1)


@pytest.mark.parametrize(
    ("horizon", "actions", "observations", "features"), [(4, 3, 4, 1), (2, 2, 3, 1), (6, 2, 2, 1), (4, 2, 3, 2)]
)
def test_rdp_run_all_accepts_other_logs(horizon: int, actions: int, observations: int, features: int) -> None:
    """The log may have another alphabet, and so other codes, another horizon, and other columns."""
    rdp = learned(1)
    rng = np.random.default_rng(0)
    other = random_episodes(rng, horizon, actions, observations, 3, 2, 60, n_features=features, early_end=0.2)
    states = rdp.run_all(other)
    assert states.shape == (min(horizon, rdp.horizon) + 2, other.n)
    for e, steps in enumerate(decode(other)):
        history = tuple((a, o) for a, o, _ in steps)
        assert [rdp.run(history[:t]) for t in range(len(states))] == states[:, e].tolist()
    unseen = states == UNSEEN
    assert (unseen[1:] >= unseen[:-1]).all(), "unseen histories stay unseen"
    assert unseen.any() and (features == 2 or not unseen.all(axis=1)[1])


@pytest.mark.parametrize("stationary", [False, True])
@pytest.mark.parametrize("options", [{}, {"weighted": True}, {"n_features": 2}], ids=str)
def test_rdp_tally_agrees_with_counting_step_by_step(options: dict[str, Any], stationary: bool) -> None:
    """Counts letters of any log where the automaton has a transition, else the action of the lost step."""
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


def test_rdp_run_returns_unseen_for_histories_not_in_the_log() -> None:
    rdp = learned(1)
    start = next(rdp.symbol(y) for y in range(len(rdp.symbols)) if rdp.tau[0, y] != UNSEEN)
    assert rdp.run(()) == 0 and rdp.run((start,)) > 0
    assert rdp.run((("no such action", (0,)),)) == UNSEEN
    assert rdp.run((start, start)) == UNSEEN
    assert rdp.run((start, ("no such action", (0,)), start)) == UNSEEN
    whole = tuple((a, o) for a, o, _ in decode(log(1))[0])
    assert rdp.run(whole) == rdp.n_states - 1
    assert rdp.run((*whole, whole[-1])) == UNSEEN, "no step follows the final state"


# Comparing


@pytest.mark.parametrize("seed", range(20))
def test_compare_ignores_renaming_of_states(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for rdp in (automaton(rng, (1, 3, 4, 3, 1)), learned(seed % 3)):
        renamed = permuted(rdp, rng)
        assert compare(rdp, rdp) is None and compare(rdp, renamed) is None and compare(renamed, rdp) is None


def test_compare_ignores_numbering_of_symbols() -> None:
    """An alphabet with more actions gives the same symbols other codes."""
    rdp = automaton(np.random.default_rng(3), (1, 2, 3, 1))
    alphabet = Alphabet(("0", *rdp.alphabet.actions), ("o",), ((-1,), *rdp.alphabet.observations), rdp.alphabet.rewards)
    wider = replace(rdp, alphabet=alphabet, symbols=rdp.symbols + 1, letters=rdp.letters + np.array([1, 1, 0]))
    assert compare(rdp, wider) is None and compare(wider, rdp) is None


def distinguishing_histories(first: RDP, second: RDP) -> set[History]:
    """Return, by definition, the shortest histories that only one automaton has seen, or merges with another history,
    or has a reward for.
    """
    known: dict[History, tuple[int, int]] = {}
    for history in histories(first, second):
        known[history] = first.run(history), second.run(history)
    for length in range(max(map(len, known)) + 1):
        level = {h: pair for h, pair in known.items() if len(h) == length and pair != (UNSEEN, UNSEEN)}
        found = {h for h, pair in level.items() if UNSEEN in pair}
        for h, (p, q) in level.items():
            if h not in found and any((p == p2) != (q == q2) for p2, q2 in level.values()):
                found.add(h)
            if h and h not in found and len({frozenset(rewards_after(r, h)) for r in (first, second)}) > 1:
                found.add(h)
        if found:
            return found
    return set()


@pytest.mark.parametrize("seed", range(60))
def test_compare_returns_shortest_distinguishing_history(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = automaton(rng, (1, 2, 3, 1), seen=0.6)
    change = (redirected, lambda r, g: redirected(redirected(r, g), g), lambda r, g: automaton(g, (1, 2, 3, 1)))
    second = permuted(change[seed % 3](first, rng), rng)
    expected = distinguishing_histories(first, second)
    for one, other in ((first, second), (second, first)):
        difference = compare(one, other)
        assert (difference is None) == (not expected)
        if difference is not None:
            assert difference.history in expected
            assert reason_holds(difference.reason, difference.history, one, other)


def rewards_after(rdp: RDP, history: History) -> set[float]:
    """Return the rewards of the last step of a history, from letters and counts."""
    q, (action, observation) = rdp.run(history[:-1]), history[-1]
    alphabet = rdp.alphabet
    return {
        alphabet.rewards[r]
        for (a, o, r), k in zip(rdp.letters.tolist(), rdp.counts[q].tolist(), strict=True)
        if k and (alphabet.action(a), alphabet.observation(o)) == (action, observation)
    }


def reason_holds(reason: str, history: History, first: RDP, second: RDP) -> bool:
    """Return whether the reason for a difference is true of the two automata."""
    p, q = first.run(history), second.run(history)
    if "reward" in reason:
        one, other = (first, second) if "first" in reason else (second, first)
        reward = float(reason.removesuffix(" there").rpartition(" ")[2])
        return reward in rewards_after(one, history) - rewards_after(other, history)
    if reason.startswith("only"):
        return reason == f"only the {'first' if q == UNSEEN else 'second'} has seen this history" and (p == UNSEEN) != (
            q == UNSEEN
        )
    one, other = (first, second) if reason.startswith("the first merges") else (second, first)
    shown = reason.removeprefix("the first merges it with ").removeprefix("the second merges it with ")
    shown = shown.removesuffix(", the second does not").removesuffix(", the first does not")
    meant = next(h for h in histories(first, second) if len(h) == len(history) and show(h) == shown)
    return one.run(meant) == one.run(history) and other.run(meant) != other.run(history)


def test_compare_finds_single_changes_of_transitions() -> None:
    rdp = automaton(np.random.default_rng(0), (1, 2, 2, 1), seen=1.0)
    symbol = [rdp.symbol(y) for y in range(4)]
    rdp = edited(rdp, tau=lambda tau: tau.__setitem__(slice(0, 3), [[1, 1, 2, 2], [3, 4, 3, 4], [3, 3, 4, 4]]))
    rdp = edited(rdp, counts=lambda counts: counts.__setitem__(slice(0, 5), 1))  # every reward everywhere
    removed = forget(rdp, 1, 2)
    difference = compare(rdp, removed)
    assert difference is not None and difference.reason == "only the first has seen this history"
    assert difference.history == (symbol[0], symbol[2])
    added = compare(removed, rdp)
    assert added is not None and added.reason == "only the second has seen this history"
    moved = compare(rdp, edited(rdp, tau=lambda tau: tau.__setitem__((1, 2), 4)))
    assert moved is not None and len(moved.history) == 2 and moved.history[-1] in (symbol[1], symbol[2], symbol[3])
    assert "merges it with" in moved.reason


def test_compare_finds_a_different_reward() -> None:
    rdp = automaton(np.random.default_rng(0), (1, 1, 1), seen=1.0)
    rdp = edited(rdp, counts=lambda counts: counts.__setitem__(slice(0, 2), 1))
    other = edited(rdp, counts=lambda counts: counts.__setitem__((1, 3), 0))
    difference = compare(rdp, other)
    assert difference is not None and difference.reason == "only the first has seen reward 1 there"
    assert len(difference.history) == 2 and difference.history[-1] == rdp.symbol(1)


def test_compare_finds_symbol_of_one_alphabet_only() -> None:
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
        assert difference is not None and difference.reason == f"only the {who} has seen this history"
        assert len(difference.history) == 2 and difference.history[-1] == ("c", (0,))


def test_compare_reports_different_horizons() -> None:
    rng = np.random.default_rng(0)
    difference = compare(automaton(rng, (1, 2, 1)), automaton(rng, (1, 2, 2, 1)))
    assert difference is not None and (difference.history, difference.reason) == ((), "horizons 1 and 2")


def test_alphabet_refuses_an_action_called_pad() -> None:
    """It could not be distinguished from padding."""
    with pytest.raises(SufficeError, match="the name 'pad' is reserved for padding"):
        Alphabet(("go", "pad"), ("o",), (("a",),), (0.0, 1.0))


def test_show_formats_histories_and_symbols() -> None:
    assert show(()) == "the empty history"
    assert (
        show(((None, (0, "x")), ("E", (1, "y")), ("N", None), ("pad", None))) == "(0, x) · E → (1, y) · N → (end) · pad"
    )
    assert show_symbol((3, (2.5,))) == "3 → (2.5)"


# Minimising


Shares = dict[tuple[int, int, int], Fraction]


def shares(rdp: RDP, q: int) -> Shares:
    """Return θ(q, ·): the share of each letter among the visits with its action."""
    letters, counts = rdp.letters.tolist(), rdp.counts[q].tolist()
    taken: dict[int, int] = {}
    for (a, _, _), k in zip(letters, counts, strict=True):
        taken[a] = taken.get(a, 0) + k
    return {(a, o, r): Fraction(k, taken[a]) for (a, o, r), k in zip(letters, counts, strict=True) if k}


def classes(rdp: RDP) -> list[int]:
    """Return equivalence classes by definition: states are equal if their shares and successors are."""
    found: list[int] = [0] * rdp.n_states
    symbols = [tuple(s) for s in rdp.symbols.tolist()]
    names: dict[Any, int] = {}
    for q in reversed(range(rdp.n_states)):
        after = {x: found[int(rdp.tau[q, symbols.index(x[:2])])] for x in shares(rdp, q)}
        found[q] = names.setdefault((int(rdp.layer_of()[q]), tuple(shares(rdp, q).items()), tuple(after.items())), q)
    return found


def side_by_side(first: RDP, second: RDP) -> set[tuple[int, int]]:
    """Return the pairs of states that some history leads to, checking that both have seen the same histories."""
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
    """Return a random automaton with few counts, so that states agree by chance, or a learned one."""
    return automaton(rng, (1, 4, 6, 4, 1), seen=0.5, most=2) if seed % 2 else learned(seed % 3)


@pytest.mark.parametrize("seed", range(12))
def test_minimise_merges_exactly_the_equivalent_states(seed: int) -> None:
    rdp = some_automaton(seed, np.random.default_rng(seed))
    small, found = rdp.minimise(), classes(rdp)
    layers = [rdp.layer_of() == t for t in range(rdp.horizon + 2)]
    assert small.layers.tolist() == [len({found[q] for q in np.flatnonzero(layer)}) for layer in layers]
    assert all(shares(rdp, p) == shares(small, q) for p, q in side_by_side(rdp, small))


@pytest.mark.parametrize("seed", range(12))
def test_minimise_is_idempotent_and_keeps_all_counts(seed: int) -> None:
    rdp = some_automaton(seed, np.random.default_rng(seed))
    small = rdp.minimise()
    assert equal(small.minimise(), small)
    before, after = (
        [r.counts[r.layer_of() == t].sum(axis=0).tolist() for t in range(r.horizon + 2)] for r in (rdp, small)
    )
    assert before == after


@pytest.mark.parametrize("seed", range(20))
def test_minimise_merges_split_states_again(seed: int) -> None:
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


def test_minimise_keeps_states_that_differ_in_one_count_or_successor() -> None:
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
        pytest.param({"letters": lambda r: r.letters + np.array([0, 9, 0])}, None, id="no such observation"),
        pytest.param({"letters": lambda r: r.letters + np.array([0, 0, 9])}, None, id="no such reward"),
        pytest.param({"letters": lambda r: r.letters - 9}, None, id="negative codes"),
        pytest.param({"symbols": lambda r: r.symbols + 9}, None, id="symbols without a letter"),
        pytest.param({"symbols": lambda r: r.symbols[::-1].copy()}, None, id="symbols out of order"),
        pytest.param({"counts": lambda r: -r.counts}, None, id="negative counts"),
        pytest.param({"counts": lambda r: r.counts + 1}, None, id="counts without a transition"),
        pytest.param({"counts": lambda r: r.counts / 2}, None, id="counts that are not integers"),
    ],
)
def test_rdp_refuses_inconsistent_arrays(changes: dict[str, Callable[[RDP], Any]], complaint: str | None) -> None:
    rdp = automaton(np.random.default_rng(2), (1, 2, 3, 1), seen=0.7)
    assert (rdp.tau == 1).any() and (rdp.tau[:-1] == UNSEEN).any() and (rdp.counts > 0).any()
    with pytest.raises(SufficeError, match=complaint):
        replace(rdp, **{name: change(rdp) for name, change in changes.items()})


@pytest.mark.parametrize("layers", [(2, 2, 1), (1, 2, 2), (0, 1, 1)])
def test_rdp_refuses_several_first_or_final_states(layers: tuple[int, ...]) -> None:
    with pytest.raises(SufficeError):
        automaton(np.random.default_rng(2), layers)


def test_rdp_arrays_are_read_only() -> None:
    rdp = automaton(np.random.default_rng(2), (1, 2, 3, 1))
    for name in ("letters", "symbols", "layers", "tau", "counts"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(rdp, name)[:] = 0


def test_rdp_symbol_of_letter_works_for_large_alphabets() -> None:
    """Both codes of a symbol exceed √2³¹."""
    many = 50_000
    alphabet = Alphabet(tuple(range(many)), ("x",), tuple((o,) for o in range(many)), ())
    symbols = np.array([(2, 1), (many - 1, many - 1), (many + 1, many)], np.int32)
    letters = np.column_stack([symbols, np.zeros(3, np.int32)])
    tau, counts = np.array([[1, 1, 1], [UNSEEN] * 3], np.int32), np.array([[1, 1, 1], [0, 0, 0]])
    rdp = RDP(alphabet, letters, symbols, np.array([1, 1]), tau, counts)
    assert rdp.symbol_of_letter().tolist() == [0, 1, 2]
