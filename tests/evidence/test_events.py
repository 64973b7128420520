"""Events: encoding and decoding, and refusal of events that do not belong to the alphabet."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from suffice.data.alphabet import Alphabet
from suffice.evidence import events
from suffice.evidence.events import Event, Witness, refuse_invalid_witness

LIGHTS = Alphabet(("go", "stay"), ("light",), (("green",), ("red",)), (0.0, 1.0))  # action 3, observation 2, reward 1
GOOD: list[Event] = [
    events.Within(4, events.Conjunction((events.ActionIs(3), events.FeatureIs(0, 2), events.RewardIs(1)))),
    events.Next(events.AnyOf(events.ObservationIs(0), events.AllOf(events.ActionIs(1), events.ObservationIs(2)))),
    events.Last(events.RewardIs(0)),
    events.Word((True, False, True), (events.RewardIs(1), events.ActionIs(2))),
    events.EitherOf(
        events.Prefix(((2, 1, 0), (1, 0, 0))), events.BothOf(events.SketchCell(1, 0, 9), events.Prefix(((2, 1, 0),)))
    ),
    events.OutcomeAt(events.After(((0, 1), (3, 2))), events.Chosen(2)),
    events.OutcomeAt(events.Later(), events.New()),
    events.OutcomeAt(events.InState(5, 0), events.New(3)),
    events.OutcomeAt(events.StepsLater(2), events.Shown(2, 0, 1)),
    events.OutcomeAt(events.Later(), events.Paid(2, 1)),
]


@pytest.mark.parametrize("event", GOOD, ids=str)
def test_event_is_decoded_as_it_was_encoded(event: Event) -> None:
    witness = Witness(event, 1, 2, 0, 3)
    encoded = msgspec.json.encode([witness, None])
    assert msgspec.json.decode(encoded, type=list[Witness | None]) == [witness, None]
    refuse_invalid_witness(witness, LIGHTS)


@pytest.mark.parametrize(
    "event",
    [
        events.Next(events.ActionIs(4)),
        events.Last(events.ObservationIs(3)),
        events.Within(1, events.RewardIs(2)),
        events.Next(events.FeatureIs(1, 1)),
        events.Next(events.FeatureIs(0, 0)),  # the end has no features
        events.Next(events.FeatureIs(0, 3)),
        events.Next(events.Conjunction((events.RewardIs(0), events.ActionIs(4)))),
        events.Next(events.AnyOf(events.RewardIs(0), events.AllOf(events.RewardIs(0), events.RewardIs(2)))),
        events.Word((True, False), (events.RewardIs(2),)),
        events.Word((True,), (events.RewardIs(1),)),
        events.Word((), ()),
        events.EitherOf(
            events.SketchCell(1, 0, 9), events.BothOf(events.SketchCell(1, 0, 9), events.Prefix(((2, 3, 0),)))
        ),
        events.Prefix(((2, 1, 2),)),
        events.OutcomeAt(events.After(((4, 0),)), events.New()),
        events.OutcomeAt(events.After(((2, 3),)), events.New()),
        events.OutcomeAt(events.Later(), events.New(4)),
        events.OutcomeAt(events.Later(), events.Chosen(4)),
        events.OutcomeAt(events.Later(), events.Paid(2, 2)),
        events.OutcomeAt(events.Later(), events.Shown(2, 3, 0)),
    ],
    ids=str,
)
def test_refuse_invalid_witness_refuses_codes_outside_the_alphabet(event: Event) -> None:
    with pytest.raises(ValueError, match="its witnesses are of another automaton"):
        refuse_invalid_witness(Witness(event, 1, 2, 0, 3), LIGHTS)


@pytest.mark.parametrize("counts", [(3, 2, 0, 1), (0, 1, 2, 1)])
def test_refuse_invalid_witness_refuses_impossible_counts(counts: Any) -> None:
    with pytest.raises(ValueError, match="its witnesses are of another automaton"):
        refuse_invalid_witness(Witness(events.Next(events.RewardIs(0)), *counts), LIGHTS)


@pytest.mark.parametrize(
    "encoded",
    [
        '["within",4,["reward",0]]',  # no counts
        '[["within",4,["reward",0]],1,2,0,-3]',
        '[["within",4,["reward",0]],1,2,0,9007199254740992]',
        '[["within",-4,["reward",0]],1,2,0,3]',
        '[["within",4.5,["reward",0]],1,2,0,3]',
        '[["within",true,["reward",0]],1,2,0,3]',
        '[["within",4,["reward",0],7],1,2,0,3]',
        '[["within",4,["within",4,["reward",0]]],1,2,0,3]',
        '[["reward",0],1,2,0,3]',
        '[["sentence","it rains"],1,2,0,3]',
        '["it rains: 0.50 against 0.00"]',
        '"it rains: 0.50 against 0.00"',
        '[["prefix",[[2,1]]],1,2,0,3]',
        '[["outcome",["reward",0],["new",null]],1,2,0,3]',
    ],
)
def test_witness_decoding_refuses_invalid_events(encoded: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(encoded, type=Witness)


def test_witness_swapped_exchanges_the_samples() -> None:
    witness = Witness(GOOD[0], 1, 2, 0, 3)
    assert witness.swapped() == Witness(GOOD[0], 0, 3, 1, 2) and witness.swapped().swapped() == witness
