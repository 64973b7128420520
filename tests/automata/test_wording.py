"""Values as a person reads them: bins by their ranges, in automata and in sentences."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from suffice.automata.compare import compare
from suffice.automata.wording import Bin, Wording, apart, brief, ranges
from suffice.data.alphabet import Alphabet
from suffice.domains.tasks.t_maze import TMaze
from suffice.models.model import Model
from suffice.planning.regorl import regorl

BINNED = Alphabet(("a",), ("mood", "wait"), (("calm", 0), ("calm", 1), ("angry", 2)), (0.0,))
WORDS = Wording(BINNED, {"wait": [3.6, 6.8]})


@pytest.mark.parametrize(
    ("edges", "told"),
    [
        ([], []),
        ([1.0], ["below 1", "1 or more"]),
        ([3.6, 6.8], ["below 3.6", "3.6 to 6.8", "6.8 or more"]),
        ([1000.001, 1000.002], ["below 1000.001", "1000.001 to 1000.002", "1000.002 or more"]),
    ],
)
def test_ranges_tell_bins_apart(edges: list[float], told: list[str]) -> None:
    assert ranges(edges) == told


def test_a_bin_is_its_number_but_for_how_it_reads() -> None:
    one = Bin(1, "3.6 to 6.8")
    assert one == 1 and hash(one) == hash(1) and {1: "x"}[one] == "x" and f"{one}" == str(one) == "3.6 to 6.8"


def test_the_alphabet_in_words_is_the_same_alphabet() -> None:
    told = WORDS.alphabet()
    assert told == BINNED and [str(o[1]) for o in told.observations] == ["6.8 or more", "below 3.6", "3.6 to 6.8"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("at once wait = 1: 0.5 against 0.2", "at once wait = 3.6 to 6.8: 0.5 against 0.2"),
        ("a → (angry, 2) with reward 0 (7 of 9)", "a → (angry, 6.8 or more) with reward 0 (7 of 9)"),
        ("await = 1, mood = 1", "await = 1, mood = 1"),
    ],
)
def test_sentences_name_bins(said: str, told: str) -> None:
    assert WORDS.sentence(said) == told and Wording(BINNED, {}).sentence(said) == said


def test_a_model_in_words_is_the_same_model() -> None:
    episodes = TMaze(length=2).simulate(1000, 4, np.random.default_rng(1))
    model = Model.of(regorl(episodes), episodes)
    witnessed = tuple(d._replace(verdict=d.verdict._replace(witness="bit1 = 1")) for d in model.decisions)
    binned = Model(model.rdp, msgspec.structs.replace(model.about, bins={"bit1": [0.5]}), witnessed, model.plan)
    assert compare(binned.in_words.rdp, model.rdp) is None
    assert {d.verdict.witness for d in binned.in_words.decisions} == {"bit1 = 0.5 or more"}
    assert "0.5 or more" in {str(o[0]) for o in binned.in_words.rdp.alphabet.observations}
    assert model.in_words.decisions == model.decisions


def test_long_histories_are_told_from_where_they_differ() -> None:
    one = ((None, (0,)), *((("go", (1,)),) * 6), ("a", (1,)))
    other = (*one[:-1], ("b", (1,)))
    assert apart(one, other) == ("… 7 alike … · a → (1)", "… 7 alike … · b → (1)")
    assert apart(one[:2], other[-2:]) == (brief(one[:2]), brief(other[-2:]))
    assert brief(one) == "(0) · … 4 more … · go → (1) · go → (1) · a → (1)"
