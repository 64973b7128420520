"""`reasons`: events that distinguish each state from the most similar ones, as counted."""

from __future__ import annotations

import re
import time
from functools import cache
from itertools import combinations, pairwise

import numpy as np
import pytest

from suffice.automata.describe import describe_witness
from suffice.automata.histories import show_symbol
from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import PAD, Alphabet
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.t_maze import TMaze
from suffice.learning.adact_h import Learned
from suffice.models.explanations import Reason, reasons
from suffice.planning.regorl import regorl

ALL = 1000
SENTENCE = re.compile(
    r"(next|\d+ steps? later), (.*): ([\d.]+) against ([\d.]+) \(([\d,]+) of ([\d,]+), ([\d,]+) of ([\d,]+)\)"
)


@cache
def learned(name: str) -> Learned:
    rng = np.random.default_rng(1)
    if name == "stationary":
        return regorl(TMaze(length=4, cue_visible=True).simulate(1000, 14, rng), stationary=True).learned
    return regorl({"t-maze": TMaze(), "corridor": Corridor()}[name].simulate(100_000, 5, rng)).learned


def found(name: str, most: int = ALL) -> list[Reason]:
    """List the reasons that the counts show."""
    return [reason for row in reasons(learned(name).rdp, (), most) for reason in row]


def counted(rdp: RDP, q: int, event: str) -> tuple[int, int]:
    """Count letter by letter how often an event happened in a state, and how often it could have."""
    times = chances = 0
    for (a, o, r), k in zip(rdp.letters.tolist(), rdp.counts[q].tolist(), strict=True):
        action = rdp.alphabet.action(a)
        symbol = show_symbol((action, rdp.alphabet.observation(o)))
        if event == "the episode is over":
            times, chances = times + k * (a == PAD), chances + k
        elif event.endswith(" is chosen"):
            times, chances = times + k * (f"{action} is chosen" == event), chances + k
        elif event.startswith(f"{action} → "):
            times += k * (event == f"{symbol} with reward {rdp.alphabet.rewards[r]:g}")
            chances += k
    return times, chances


def walk(rdp: RDP, q: int, reason: Reason) -> int:
    index = {rdp.symbol(y): y for y in range(len(rdp.symbols))}
    for symbol in reason.first:
        q = int(rdp.tau[q, index[symbol]])
        assert q != UNSEEN
    return q


@pytest.mark.parametrize("name", ["t-maze", "corridor", "stationary"])
def test_reasons_have_the_frequencies_of_the_counts(name: str) -> None:
    rdp = learned(name).rdp
    assert found(name)
    for reason in found(name):
        text = describe_witness(reason.witness, rdp.alphabet)
        found_in = SENTENCE.fullmatch(text)
        assert found_in is not None, text
        when, event, *numbers = found_in.groups()
        assert int(when.split()[0]) == len(reason.first) if reason.first else when == "next"
        for i, q in enumerate((reason.state, reason.other)):
            times, chances = counted(rdp, walk(rdp, q, reason), event)
            assert (times, chances) == tuple(int(n.replace(",", "")) for n in numbers[2 + 2 * i : 4 + 2 * i])
            assert float(numbers[i]) == pytest.approx(times / chances, abs=0.005)


@pytest.mark.parametrize("name", ["t-maze", "corridor", "stationary"])
def test_reasons_distinguish_every_pair_of_a_layer_in_both_directions(name: str) -> None:
    """These automata are minimal, and all their differences are large."""
    rdp = learned(name).rdp
    pairs = {(reason.state, reason.other): reason for reason in found(name)}
    layer = rdp.layer_of()
    first = 1 if rdp.stationary else 0  # the first state has no similar one
    same = [(p, q) for p, q in combinations(range(first, rdp.n_states), 2) if layer[p] == layer[q]]
    assert set(pairs) == {*same, *((q, p) for p, q in same)}
    assert all(pairs[p, q].first == pairs[q, p].first for p, q in same)


def test_reasons_find_that_cues_of_the_t_maze_differ_at_the_junction() -> None:
    one, other = reasons(learned("t-maze").rdp, ())[1:3]
    assert one[0].first == other[0].first == (*[("E", (1, 0, 1))] * 3, ("E", (0, 1, 0)))
    text = describe_witness(one[0].witness, learned("t-maze").rdp.alphabet)
    assert re.match(r"4 steps later, [NS] → \(end\) with reward (4|-1): ", text)


def test_reasons_take_the_shortest_way_to_a_difference() -> None:
    """A pair that differs later has successors that differ one step sooner, and none that differ before."""
    rdp = learned("t-maze").rdp
    pairs = {(reason.state, reason.other): len(reason.first) for reason in found("t-maze")}
    for (p, q), steps in pairs.items():
        following = [(int(a), int(b)) for a, b in zip(rdp.tau[p], rdp.tau[q], strict=True) if UNSEEN not in (a, b)]
        later = [pairs[pair] for pair in following if pair[0] != pair[1]]
        assert steps == 0 or min(later) + 1 == steps


@pytest.mark.parametrize("name", ["t-maze", "stationary"])
def test_reasons_include_those_of_the_learner(name: str) -> None:
    rdp, decisions = learned(name).rdp, learned(name).decisions
    offsets = rdp.offsets()
    rows = reasons(rdp, decisions, 1)
    promoted = [
        d for d in decisions if d.placement.promoted and d.placement.witness and d.placement.nearest is not None
    ]
    assert promoted
    for d in promoted:
        first, (state, other) = int(offsets[d.layer]), (d.placement.target, d.placement.nearest or 0)
        own = [reason for reason in rows[first + state] if reason.learned]
        assert own[0][:4] == (first + state, first + other, d.placement.witness, ())
    shown = {(r.state, r.other) for row in rows for r in row if not r.learned}
    assert {(r.state, r.other) for row in rows for r in row if r.learned} <= shown  # the counts show them too


def test_reasons_of_the_learner_are_swapped_for_the_other_state() -> None:
    rdp = learned("t-maze").rdp
    rows = reasons(rdp, learned("t-maze").decisions)
    (one, _), (other, _) = rows[1], rows[2]
    assert one.learned and other.learned
    assert one.witness == other.witness.swapped()
    mine, theirs = (describe_witness(reason.witness, rdp.alphabet).rpartition(": ") for reason in (one, other))
    assert mine[0] == theirs[0] and mine[2].split(" against ") == theirs[2].split(" against ")[::-1]


def test_reasons_list_the_most_similar_state_first() -> None:
    """Of three states, the second pays nearly as often as the first, the third far more often."""
    rdp = paying([0.5, 0.55, 0.9], 10_000)
    assert [[reason.other for reason in row] for row in reasons(rdp, ())[1:4]] == [[2, 3], [1, 3], [2, 1]]
    assert [[reason.other for reason in row] for row in reasons(rdp, (), 1)[1:4]] == [[2], [1], [2]]


def test_reasons_are_empty_where_counts_do_not_differ() -> None:
    assert not any(reasons(paying([0.5, 0.52], 50), ()))
    assert all(reasons(paying([0.5, 0.52], 50_000), ())[1:3])
    assert not any(reasons(paying([0.5], 50), ()))


def paying(shares: list[float], n: int) -> RDP:
    """Make states that differ in how often their only action pays, each visited `n` times."""
    alphabet = Alphabet(("go",), ("f",), tuple((i,) for i in range(len(shares))), (0.0, 1.0))
    letters = np.array([*((0, i + 1, 0) for i in range(len(shares))), (2, 0, 0), (2, 0, 1)], np.int32)
    symbols = np.unique(letters[:, :2], axis=0)
    first = np.concatenate([np.full(len(shares), n), [0, 0]])
    paid = np.array([round(share * n) for share in shares])
    after = np.zeros((len(shares), len(letters)), np.int64)
    after[:, -2:] = np.stack([n - paid, paid], axis=1)
    tau = [np.array([[*range(len(shares)), UNSEEN]]), np.array([[UNSEEN] * len(shares) + [0]] * len(shares))]
    return RDP.of_layers(alphabet, letters, symbols, tau, [first[None], after])


@pytest.mark.parametrize("alike", [False, True])
def test_reasons_for_five_thousand_states_take_seconds(alike: bool) -> None:
    """Also where no states differ, so that no difference ends the search."""
    rng = np.random.default_rng(1)
    alphabet = Alphabet(tuple(range(10)), ("f",), tuple((v,) for v in range(5)), (0.0, 1.0))
    shown = [(0, o + 1, 0) for o in range(5)]
    letters = np.array(shown + [(a + 2, o + 1, r) for a in range(10) for o in range(5) for r in (0, 1)], np.int32)
    symbols, of_letter = np.unique(letters[:, :2], axis=0, return_inverse=True)
    tau, counts = [], []
    layers, usual = [1, *[1000] * 5, 1], rng.integers(5, 50, len(letters))
    for t, (n, following) in enumerate(pairwise(layers)):
        met = rng.poisson(usual, (n, len(letters))) if alike else rng.integers(0, 50, (n, len(letters)))
        counts.append(met * ((letters[:, 0] == 0) == (t == 0)))
        taken = np.zeros((n, len(symbols)), np.int64)
        np.add.at(taken.T, of_letter, counts[-1].T)
        tau.append(np.where(taken > 0, rng.integers(0, following, taken.shape), UNSEEN))
    rdp = RDP.of_layers(alphabet, letters, symbols.astype(np.int32), tau, counts)
    start = time.process_time()
    rows = reasons(rdp, ())
    assert time.process_time() - start < 20  # about 2; a shared machine may be slow
    assert not any(rows) if alike else sum(map(len, rows)) > 20_000
