"""Values, histories, events and witnesses as text."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from suffice.automata.compare import compare
from suffice.automata.describe import brief, describe_event, describe_witness, show_pair
from suffice.data.alphabet import PAD, STOP, Alphabet
from suffice.data.encoding.binning import Bins
from suffice.data.encoding.encoder import Encoder, Labelled
from suffice.domains.tasks.t_maze import TMaze
from suffice.evidence import events
from suffice.evidence.events import Witness
from suffice.models.model import Model
from suffice.planning.regorl import regorl

BINNED = Alphabet(("a",), ("mood", "wait"), (("calm", 0), ("calm", 1), ("angry", 2)), (0.0,))
READABLE = Encoder(kinds={"wait": Bins((3.6, 6.8))}).display(BINNED)
LIGHTS = Alphabet(("go", "stay"), ("light", "wet"), (("green", True), ("red", False)), (0.0, 1.0))
GO, STAY, GREEN, RED = 2, 3, 1, 2  # codes


@pytest.mark.parametrize(
    ("edges", "text"),
    [
        ([], []),
        ([1.0], ["below 1", "1 or more"]),
        ([3.6, 6.8], ["below 3.6", "3.6 to 6.8", "6.8 or more"]),
        ([1000.001, 1000.002], ["below 1000.001", "1000.001 to 1000.002", "1000.002 or more"]),
    ],
)
def test_bins_legend_shows_distinct_ranges(edges: list[float], text: list[str]) -> None:
    assert Bins(tuple(edges)).legend() == text


def test_labelled_equals_its_number_and_shows_its_label() -> None:
    one = Labelled(1, "3.6 to 6.8")
    assert one == 1 and hash(one) == hash(1) and {1: "x"}[one] == "x" and f"{one}" == str(one) == "3.6 to 6.8"


def test_encoder_display_returns_equal_alphabet() -> None:
    assert READABLE == BINNED and [str(o[1]) for o in READABLE.observations] == [
        "6.8 or more",
        "below 3.6",
        "3.6 to 6.8",
    ]


def test_encoder_display_keeps_values_that_are_not_bins() -> None:
    """Such values occur in forged files."""
    odd = Alphabet(("a",), ("f",), ((0,), (7,), (-1,), ("x",), (0.5,)), (0.0,))
    read = Encoder(kinds={"f": Bins((3.0,))}).display(odd)
    assert [str(o[0]) for o in read.observations] == ["-1", "below 3", "0.5", "7", "x"]


CONJUNCTION = events.Conjunction((events.ActionIs(GO), events.FeatureIs(0, RED), events.RewardIs(1)))


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (events.Within(4, events.ActionIs(GO)), "within 4 steps, action = go"),
        (events.Next(events.ActionIs(PAD)), "at the next step, action = pad"),
        (events.Last(events.ObservationIs(STOP)), "at the last step, the episode is over"),
        (events.Next(events.ObservationIs(GREEN)), "at the next step, observation = (green, true)"),
        (events.Next(events.FeatureIs(1, RED)), "at the next step, wet = false"),
        (events.Next(CONJUNCTION), "at the next step, action = go and light = red and reward = 1"),
        (
            events.Next(events.AnyOf(events.RewardIs(0), events.AllOf(events.ActionIs(STAY), events.RewardIs(1)))),
            "at the next step, (reward = 0 or (action = stay and reward = 1))",
        ),
        (
            events.Word((True, False, True, False), tuple(map(events.ActionIs, (GO, STAY, GO)))),
            "at some point action = go, directly followed by action = stay, later action = go, and then nothing",
        ),
        (events.Word((False, True), (events.RewardIs(1),)), "at the next step reward = 1"),
        (
            events.EitherOf(
                events.Next(events.RewardIs(1)),
                events.BothOf(events.Last(events.RewardIs(1)), events.Within(2, events.ActionIs(GO))),
            ),
            "either (at the next step, reward = 1) or (both (at the last step, reward = 1) and "
            "(within 2 steps, action = go))",
        ),
        (
            events.Prefix(((GO, GREEN, 1), (STAY, STOP, 0), (PAD, STOP, 0))),
            "next go → (green, True) / 1, stay → the end / 0, nothing more",
        ),
        (events.SketchCell(3, 1, 20), "the next 3 steps are among those of sketch cell 1,20"),
        (events.OutcomeAt(events.After(()), events.Chosen(GO)), "next, go is chosen"),
        (
            events.OutcomeAt(events.After(((GO, RED), (STAY, GREEN))), events.Paid(GO, 1)),
            "after go → (red, False) · stay → (green, True), go with reward 1",
        ),
        (events.OutcomeAt(events.Later(), events.New()), "in a state that both reach later, an unseen outcome"),
        (
            events.OutcomeAt(events.InState(3, 1), events.New(STAY)),
            "at step 3, in state 3.1 before refinement, stay → an unseen outcome",
        ),
        (
            events.OutcomeAt(events.StepsLater(1), events.Shown(GO, RED, 0)),
            "1 step later, go → (red, False) with reward 0",
        ),
        (events.OutcomeAt(events.StepsLater(2), events.Chosen(PAD)), "2 steps later, the episode is over"),
    ],
)
def test_describe_event_covers_every_kind_of_event(event: events.Event, text: str) -> None:
    assert describe_event(event, LIGHTS) == text


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (events.Next(events.FeatureIs(1, 3)), "at the next step, wait = 3.6 to 6.8"),
        (events.Next(events.ObservationIs(1)), "at the next step, observation = (angry, 6.8 or more)"),
        (
            events.OutcomeAt(events.After(((2, 1),)), events.Shown(2, 2, 0)),
            "after a → (angry, 6.8 or more), a → (calm, below 3.6) with reward 0",
        ),
    ],
)
def test_describe_event_shows_bins_as_ranges(event: events.Event, text: str) -> None:
    assert describe_event(event, READABLE) == text


@pytest.mark.parametrize(
    ("event", "counts", "text"),
    [
        (events.Last(events.RewardIs(1)), (1, 2, 0, 7), "at the last step, reward = 1: 0.50 against 0.00"),
        (events.Last(events.RewardIs(1)), (1, 999, 0, 7), "at the last step, reward = 1: 0.001 against 0.000"),
        (events.Last(events.RewardIs(1)), (0, 0, 0, 0), "at the last step, reward = 1: 0.000000 against 0.000000"),
        (events.OutcomeAt(events.Later(), events.New()), (3, 4000, 0, 0), ": 3 of 4000 against 0 of 0"),
        (
            events.OutcomeAt(events.StepsLater(0), events.Chosen(GO)),
            (3, 4000, 1, 2),
            "next, go is chosen: 0.00 against 0.50 (3 of 4,000, 1 of 2)",
        ),
    ],
)
def test_describe_witness_shows_event_and_frequencies(event: events.Event, counts: Any, text: str) -> None:
    assert describe_witness(Witness(event, *counts), LIGHTS).endswith(text)


def test_describe_witness_is_empty_without_witness() -> None:
    assert describe_witness(None, LIGHTS) == ""


def test_model_in_words_has_an_automaton_equal_to_the_original() -> None:
    episodes = TMaze(length=2).simulate(1000, 4, np.random.default_rng(1))
    model = Model.of(regorl(episodes), episodes)
    encoder = Encoder.of_features(model.encoder.features, {"bit1": Bins((0.5,))})
    binned = Model(
        model.rdp, msgspec.structs.replace(model.about, encoder=encoder.to_data()), model.decisions, model.plan
    ).in_words
    assert compare(binned.rdp, model.rdp) is None and binned.decisions == model.decisions
    assert "0.5 or more" in {str(o[0]) for o in binned.rdp.alphabet.observations}
    assert model.in_words.rdp.alphabet == model.rdp.alphabet


def test_show_pair_leaves_out_common_steps_of_long_histories() -> None:
    one = ((None, (0,)), *((("go", (1,)),) * 6), ("a", (1,)))
    other = (*one[:-1], ("b", (1,)))
    assert show_pair(one, other) == ("… 7 equal steps … · a → (1)", "… 7 equal steps … · b → (1)")
    assert show_pair(one[:2], other[-2:]) == (brief(one[:2]), brief(other[-2:]))
    assert brief(one) == "(0) · … 4 more … · go → (1) · go → (1) · a → (1)"
