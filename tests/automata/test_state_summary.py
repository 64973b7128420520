"""`arrivals` summarises states by the features that all arrivals share and those that vary."""

from __future__ import annotations

import pytest

from suffice.automata.state_summary import Feature, arrivals
from suffice.data.episodes import Episodes
from suffice.models.model import Model
from suffice.planning.regorl import regorl
from support.samples import from_values


def waiting_room() -> Episodes:
    """Make a log where calm customers always stay, and angry ones leave only after `wait`."""
    steps = []
    for mood, topic, times in (
        ("calm", "bill", 300),
        ("calm", "late", 200),
        ("angry", "bill", 200),
        ("angry", "late", 300),
    ):
        for action in ("wait", "help"):
            paid = float(mood == "calm" or action == "help")
            seen = ("gone", "none") if not paid else ("here", "none")
            once = [(None, (mood, topic), 0.0), (action, seen, 0.0), ("wait", None, paid)]
            steps += [once] * times
    return from_values(steps)


@pytest.fixture(scope="module")
def model() -> Model:
    return Model.of(regorl(waiting_room()), waiting_room())


def test_arrivals_separate_common_and_varying_features(model: Model) -> None:
    found = arrivals(model.rdp)
    assert found[0].features == () and found[0].text == ""
    moods = {arrival.features[0].values[0]: arrival for arrival in found[1:3]}
    assert moods["calm"].common == "f0 = calm" and moods["calm"].varies == "f1: bill 60 %, late 40 %"
    assert moods["angry"].text == "f0 = angry; f1: late 60 %, bill 40 %"
    assert moods["calm"].action is None


def test_arrivals_name_the_last_action_where_it_is_unique(model: Model) -> None:
    gone = [a for a in arrivals(model.rdp) if a.features and a.features[0].values == ("gone",)]
    assert [a.action for a in gone] == ["wait"] and gone[0].common == "f0 = gone, f1 = none, after wait"


def test_arrivals_shares_agree_with_counts_of_the_automaton(model: Model) -> None:
    rdp, visits = model.rdp, model.rdp.counts.sum(axis=1)
    for q, arrival in list(enumerate(arrivals(rdp)))[1:-1]:
        for feature in arrival.features:
            assert sum(feature.shares) == pytest.approx(1) and list(feature.shares) == sorted(feature.shares)[::-1]
            assert all((share * visits[q]) % 1 == pytest.approx(0, abs=1e-6) for share in feature.shares)


@pytest.mark.parametrize(
    ("shares", "text"),
    [
        ((1.0,), "x = a"),
        ((0.996, 0.004), "x = a (> 99 %)"),
        ((0.5, 0.3, 0.196, 0.004), "x: a 50 %, b 30 %, c 20 %, …"),
        ((0.9, 0.096, 0.004), "x: a 90 %, b 10 %, c < 1 %"),
    ],
)
def test_feature_text_lists_few_values_with_shares(shares: tuple[float, ...], text: str) -> None:
    assert Feature("x", tuple("abcd"[: len(shares)]), shares).text == text
