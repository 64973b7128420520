"""Public names keep working: those of the first release, documented paths and deprecated aliases."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import Any

import pytest

import suffice

FIRST_RELEASE = (
    "BOUNDS",
    "CONJUNCTIONS",
    "FISHER_EXACT",
    "GREEDY",
    "LIKELIHOOD_RATIO",
    "PAPER",
    "RDP",
    "TWO_SAMPLE",
    "UNSEEN",
    "AdaptiveLanguages",
    "Alphabet",
    "Bins",
    "Bound",
    "CheckpointError",
    "Columns",
    "Controller",
    "CountMinSketch",
    "Decision",
    "Domain",
    "EngineError",
    "Episodes",
    "EqualWidth",
    "Family",
    "FiniteModel",
    "LanguageCounts",
    "Learned",
    "Learner",
    "LogError",
    "Minimal",
    "MissingError",
    "Model",
    "ModelError",
    "Outcome",
    "Plan",
    "Planning",
    "Policy",
    "PrefixCounts",
    "PrefixSketches",
    "Promise",
    "Ray",
    "Settings",
    "SettingsError",
    "Solution",
    "Split",
    "Stationarity",
    "SufficeError",
    "Truth",
    "Verdict",
    "__version__",
    "adact_h",
    "compare",
    "draw_automaton",
    "evaluate",
    "is_stationary",
    "learn",
    "load",
    "make",
    "minimal_rdp",
    "plan_on",
    "read_log",
    "read_schema",
    "refine",
    "register",
    "regorl",
    "simulate",
    "tie",
    "truth_of",
    "write_log",
    "write_schema",
)

DOCUMENTED = {
    "suffice.playing": "AutomatonState Played VectorPolicy play play_vector record",
    "suffice.view": "Layout draw_automaton lay_out save_figure save_picture",
}
RENAMED = {"Verdict": "Placement", "evaluate": "exact_value", "tie": "learn_stationary"}
TOP_LEVEL = (
    "AutomatonState DomainEvaluation LogCheck LogEvaluation OffPolicyEvaluation ReadReport check exact_value play "
    "play_vector record"
)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", FIRST_RELEASE)
def test_names_of_the_first_release_still_exist(name: str) -> None:
    assert getattr(suffice, name) is not None


def test_names_for_whole_tasks_are_at_the_top_level() -> None:
    assert set(TOP_LEVEL.split()) <= set(suffice.__all__) and "evaluate" not in suffice.__all__
    playing = importlib.import_module("suffice.playing")
    assert all(getattr(suffice, name) is getattr(playing, name) for name in ("AutomatonState", "play", "record"))


@pytest.mark.parametrize("module", DOCUMENTED)
def test_documented_paths_resolve_to_callables(module: str) -> None:
    for name in DOCUMENTED[module].split():
        assert callable(getattr(importlib.import_module(module), name))


@pytest.mark.parametrize("path", ["playing.record", "view.save_figure", "domains.__path__"])
def test_documented_paths_work_after_importing_suffice(path: str) -> None:
    ran = subprocess.run([sys.executable, "-c", f"import suffice; suffice.{path}"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert path.split(".")[0] in dir(suffice)


def test_view_refuses_unknown_names() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'sketch'"):
        importlib.import_module("suffice.view").sketch  # noqa: B018


@pytest.mark.parametrize("old", RENAMED)
def test_renamed_names_warn_and_return_the_new_name(old: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"suffice.{old} is deprecated. Use suffice.{RENAMED[old]}"):
        found = getattr(suffice, old)
    assert found is getattr(suffice, RENAMED[old])
    assert old not in dir(suffice)


def test_decision_verdict_warns_and_returns_the_placement() -> None:
    decision = suffice.Decision(1, 0, 0, 10, suffice.Placement(0, promoted=True))
    with pytest.warns(DeprecationWarning, match="Decision.placement"):
        assert decision.verdict is decision.placement


# ---------------------------------------------------------------- signatures of the first release

HEAT = {
    "episode": [1, 1, 2, 2, 3, 3],
    "step": [0, 1, 0, 1, 0, 1],
    "heat": [36, 38, 39, 36, 38, 40],
    "drug": [0, 1, 1, 0, 1, 0],
    "reward": [1, 1, 0, 1, 0, 0],
}


def test_model_of_takes_bins_and_columns_and_warns() -> None:
    episodes = suffice.read_log(HEAT, bins={"heat": [37, 38]}, columns={"action": "drug"})
    report = episodes.report
    solution = suffice.regorl(episodes)
    with pytest.warns(DeprecationWarning, match="Pass encoder=") as caught:
        model = suffice.Model.of(solution, episodes, bins=report.bins, columns=report.columns)
    assert caught[0].filename == __file__
    assert model.about == suffice.Model.of(solution, episodes, encoder=report.encoder).about
    with pytest.raises(suffice.SettingsError, match="Leave out bins"):
        suffice.Model.of(solution, episodes, bins=report.bins, encoder=report.encoder)


@pytest.mark.parametrize("bins", [[37, 38], suffice.Bins((37, 38))])
def test_policy_takes_bins_and_warns(bins: Any) -> None:
    episodes = suffice.read_log(HEAT, bins={"heat": [37, 38]}, columns={"action": "drug"})
    report = episodes.report
    solution = suffice.regorl(episodes)
    with pytest.warns(DeprecationWarning, match="Pass encoder=") as caught:
        policy = suffice.Policy(solution.learned.rdp, solution.plan, bins={"heat": bins})
    assert caught[0].filename == __file__ and policy.bins == report.bins
    policy.reset()
    assert policy.act({"heat": 36.5}) in (0, 1) and not policy.fallbacks


def test_rdp_translates_the_letters_of_other_logs() -> None:
    episodes = suffice.read_log(HEAT, columns={"action": "drug"})
    rdp = suffice.adact_h(episodes).rdp
    assert rdp.symbols_in(episodes).tolist() == rdp.symbol_of_letter().tolist()
    letters, actions = rdp.codes_in(episodes)
    assert letters.tolist() == list(range(len(rdp.letters))) and actions.tolist() == rdp.letters[:, 0].tolist()
    assert rdp.when_cut().shape == (len(rdp.letters),)
    assert rdp.steps_in(episodes) == episodes.horizon + 1
