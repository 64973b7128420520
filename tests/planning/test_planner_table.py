"""Every planner in `PLANNERS` follows the protocol, and a new one is available wherever planners are chosen."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import suffice
from suffice.automata.rdp import BEHAVE, RDP
from suffice.automata.tally import Tally
from suffice.cli.main import main
from suffice.data.episodes import Episodes
from suffice.errors import naming_options
from suffice.models.choices import Choices
from suffice.planning.plan import Plan
from suffice.planning.planner import DEFAULT_STRENGTH, PLANNERS, Planning, plan_on, planning_with

UNKNOWN = "planning='gredy' is not a planner. Choose 'safe', 'greedy', 'pessimistic' or 'subsampled'."


@pytest.fixture(scope="module")
def episodes() -> Episodes:
    return suffice.make("t-maze", {"length": "2"}).simulate(400, 4, np.random.default_rng(1))


@dataclass(frozen=True)
class FirstAction:
    """A toy planner that always takes the first action."""

    usual: Planning = Planning(strength=0.0, planner="first")  # noqa: RUF009 a frozen dataclass

    def plan(self, rdp: RDP, tally: Tally, planning: Planning) -> Plan:
        plan = plan_on(rdp, suffice.GREEDY, tally)
        return Plan(np.where(plan.actions == BEHAVE, BEHAVE, 0), plan.values, plan.lower, plan.error)


@pytest.fixture
def toy() -> Iterator[None]:
    PLANNERS.register("first", FirstAction())
    yield
    PLANNERS.unregister("first")


@pytest.mark.parametrize("name", list(PLANNERS))
def test_planners_follow_the_protocol(name: str, episodes: Episodes) -> None:
    """The default settings name the planner, and its plans choose actions that were taken in the state."""
    planner, rdp = PLANNERS[name], suffice.adact_h(episodes).rdp
    assert planner.usual.name == name
    plan = planner.plan(rdp, rdp.own_tally(), planner.usual)
    chosen = np.flatnonzero(plan.actions != BEHAVE)
    assert np.all(plan.actions >= BEHAVE) and np.all(plan.actions < len(rdp.alphabet.actions))
    for q in chosen.tolist():
        assert rdp.outputs(q, rdp.alphabet.actions[plan.actions[q]])
    assert np.all(plan.lower <= plan.values + 1e-9)


def test_planning_with_takes_usual_settings_of_the_planner() -> None:
    assert planning_with("safe") == Planning()
    assert planning_with("greedy", discount=0.9) == Planning(0.0, safe=False, discount=0.9)
    assert planning_with("pessimistic", strength=2.0, delta=0.1) == Planning(2.0, 0.1, safe=False)
    assert planning_with("subsampled") == Planning(DEFAULT_STRENGTH, subsample=True)


def test_learn_accepts_the_name_of_a_planner(episodes: Episodes) -> None:
    by_name = suffice.learn(episodes, planning="greedy")
    assert by_name.about == suffice.learn(episodes, planning=suffice.GREEDY).about
    assert by_name.about.plan is not None and by_name.about.plan.planner == "greedy"


def test_learn_refuses_an_unknown_planner(episodes: Episodes) -> None:
    with pytest.raises(suffice.SettingsError) as caught:
        suffice.learn(episodes, planning="gredy")
    assert str(caught.value) == (
        "planning='gredy' is not a planner. Did you mean 'greedy'? Choose 'safe', 'greedy', 'pessimistic', "
        "'subsampled' or 'none'."
    )
    with pytest.raises(suffice.SettingsError) as caught:
        suffice.learn(episodes, planning=Planning(planner="bold"))
    assert str(caught.value) == UNKNOWN.replace("planning='gredy'", "planner='bold'")


def test_plan_on_accepts_the_name_of_a_planner_and_refuses_an_unknown_one(episodes: Episodes) -> None:
    rdp = suffice.adact_h(episodes).rdp
    assert plan_on(rdp, "greedy").actions.tolist() == plan_on(rdp, suffice.GREEDY).actions.tolist()
    with pytest.raises(suffice.SettingsError) as caught:
        plan_on(rdp, "gredy")
    assert str(caught.value) == UNKNOWN
    with pytest.raises(suffice.SettingsError) as caught:
        plan_on(rdp, Planning(planner="bold"))
    assert str(caught.value) == UNKNOWN.replace("planning='gredy'", "planner='bold'")
    with pytest.raises(suffice.SettingsError) as caught:
        plan_on(rdp, 3)  # type: ignore[arg-type]
    assert str(caught.value) == UNKNOWN.replace("'gredy'", "3")


def test_planning_with_names_the_option_on_the_command_line() -> None:
    with naming_options(), pytest.raises(suffice.SettingsError) as caught:
        planning_with("gredy")
    assert str(caught.value) == "--planner gredy is not a planner. Choose safe, greedy, pessimistic or subsampled."


@pytest.mark.usefixtures("toy")
def test_registered_planner_is_used_by_library_command_line_and_model_file(
    episodes: Episodes, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*words: str) -> int | str | None:
        monkeypatch.setattr("sys.argv", ["suffice", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code

    # Other tests may have imported pydantic; then cyclopts checks names against the literals of the help once more.
    monkeypatch.delitem(sys.modules, "pydantic", raising=False)
    log, path = str(tmp_path / "log.parquet"), str(tmp_path / "toy.model")
    suffice.write_log(episodes, log)
    assert run("learn", log, "-o", path, "--planner", "first", "--json") == 0, capsys.readouterr()
    model = suffice.load(path)
    assert model.plan is not None and set(model.plan.actions.tolist()) == {BEHAVE, 0}
    assert model.about.plan is not None and model.about.plan.planner == "first"
    assert Choices.of(model).planning == FirstAction().usual
    assert suffice.learn(episodes, like=model).plan.actions.tolist() == model.plan.actions.tolist()  # type: ignore[union-attr]
    assert run("learn", log, "-o", path, "--planner", "first", "--strength", "1") == 2
    assert "--planner first" in capsys.readouterr().err


@pytest.mark.parametrize("name", PLANNERS.own)
def test_planning_refuses_the_name_of_one_of_our_planners(name: str) -> None:
    """Strength, safe and subsample decide which of them is used: a name could contradict them."""
    with pytest.raises(
        suffice.SettingsError, match=rf"^planner='{name}' is for .* Choose this one with planning='{name}'"
    ):
        Planning(planner=name)


def test_planning_refuses_a_planner_that_is_not_a_name() -> None:
    with pytest.raises(suffice.SettingsError, match=r"^planner=3 is not the name of a planner\. Give a text\.$"):
        Planning(planner=3)  # type: ignore[arg-type]


def test_planning_refuses_to_subsample_for_another_planner() -> None:
    with pytest.raises(suffice.SettingsError, match=r"^subsample=True cannot be combined with planner='first'\."):
        Planning(planner="first", subsample=True)


def test_register_refuses_a_planner_whose_usual_settings_name_another() -> None:
    with pytest.raises(suffice.SettingsError, match=r"its usual settings name 'safe'; use Planning\(planner='mine'\)"):
        PLANNERS.register("mine", FirstAction(Planning()))
    assert "mine" not in PLANNERS


def test_register_refuses_the_class_of_a_planner() -> None:
    with pytest.raises(suffice.SettingsError, match=r"'first' is not a valid planner: it is a class; .* FirstAction()"):
        PLANNERS.register("first", FirstAction)  # type: ignore[arg-type]
