"""Custom bounds: what they must define, and how models and commands use them."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from suffice.cli.main import main
from suffice.domains.exact.minimal import minimal_rdp
from suffice.domains.exact.truth import by_languages, by_prefixes
from suffice.domains.tasks.corridor import Corridor
from suffice.errors import ModelError, SettingsError
from suffice.evidence.bounds import BOUNDS, FISHER_EXACT, Bound
from suffice.evidence.language_counts import LanguageCounts
from suffice.evidence.languages import CONJUNCTIONS
from suffice.evidence.measures import FisherEvidence, FrequencyDifference, Measure
from suffice.kernels.array_types import Float, Int64
from suffice.learning.adact_h import Settings, adact_h
from suffice.models.api import learn
from suffice.models.model import Model
from suffice.registry import _Plugin
from suffice.view.explorer.data import model_data


@dataclass(frozen=True, slots=True)
class Fixed(Bound):
    """Distinct if frequencies differ by one half."""

    name: ClassVar[str] = "fixed"
    measure: ClassVar[Measure] = FrequencyDifference()

    def threshold(self, n1: int, n2: Int64, size: int, delta: float, estimates: bool = False) -> Float:
        return np.full(len(n2), 0.5)


@dataclass(frozen=True, slots=True)
class Bonferroni(Bound):
    """Fisher's exact test without Tarone's correction."""

    name: ClassVar[str] = "bonferroni"
    measure: ClassVar[Measure] = FisherEvidence()

    def threshold(self, n1: int, n2: Int64, size: int, delta: float, estimates: bool = False) -> Float:
        return np.full(len(n2), math.log(size) - math.log(delta))


@pytest.fixture
def fixed() -> Iterator[Fixed]:
    bound = Fixed()
    BOUNDS.register("fixed", bound)
    yield bound
    BOUNDS.unregister("fixed")


def test_custom_bound_decides_by_its_own_threshold() -> None:
    episodes = Corridor().simulate(500, 4, np.random.default_rng(0))
    learned = adact_h(episodes, Settings(bound=Fixed()))
    tested = [d.placement for d in learned.decisions if d.placement.threshold is not None]
    assert {verdict.threshold for verdict in tested} == {0.5}
    assert any(verdict.promoted for verdict in tested) and not all(verdict.promoted for verdict in tested)
    assert all((verdict.distance or 0.0) >= 0.5 for verdict in tested if verdict.promoted)


@pytest.mark.parametrize("metric", ["languages", "prefixes"])
def test_custom_bound_on_p_values_has_no_tarone_correction(metric: str) -> None:
    """Its threshold is ln(|X|/δ), which the correction would reduce."""
    from suffice.evidence.prefix_tree import PrefixCounts

    statistic = LanguageCounts() if metric == "languages" else PrefixCounts()
    episodes = Corridor().simulate(500, 4, np.random.default_rng(0))
    learned = adact_h(episodes, Settings(statistic, Bonferroni(), delta=0.01))
    for d in learned.decisions:
        if d.placement.threshold:
            assert d.placement.threshold == pytest.approx(math.log(learned.languages[d.layer - 1] / 0.01))
    corrected = adact_h(episodes, Settings(statistic, FISHER_EXACT, delta=0.01))
    assert max(d.placement.threshold or 0 for d in corrected.decisions) < math.log(learned.languages[0] / 0.01)


def test_custom_bound_without_sample_sizes_has_none(fixed: Fixed) -> None:
    minimal = minimal_rdp(Corridor().model(3), 3)
    for truth in (by_languages(minimal, CONJUNCTIONS, 0.01), by_prefixes(minimal, 0.01)[0]):
        assert truth.needed["fixed"].sufficient is None and truth.needed["fixed"].likely is None
        assert truth.needed["fisher"].sufficient is not None
    assert list(by_prefixes(minimal, 0.01)[1].needed) == ["paper"]  # the only one that allows estimates


@pytest.fixture
def installed_badly(tmp_path: Path) -> dict[str, str]:
    """Return an environment with an installed package whose bound cannot be loaded."""
    package = tmp_path / "mine-0.1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 0.1\n")
    (package / "entry_points.txt").write_text("[suffice.bounds]\nmine = no_such_module:MINE\n")
    return os.environ | {"PYTHONPATH": str(tmp_path)}


@pytest.mark.parametrize("metric", ["languages", "prefixes", "sketch"])
def test_exact_shows_a_bound_that_cannot_be_loaded_as_not_available(
    metric: str, installed_badly: dict[str, str]
) -> None:
    words = ["exact", "corridor", "--horizon", "3", "--metric", metric, "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "suffice", *words], env=installed_badly, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    needed = json.loads(done.stdout)["episodes_needed"]
    assert needed["paper"] > 0 and needed.get("mine") is None
    assert ("mine" in needed) is (metric != "sketch")  # whether it allows estimates is unknown


def test_lab_studies_do_not_depend_on_installed_bounds(installed_badly: dict[str, str]) -> None:
    asked = (
        "from suffice.evidence.bounds import BOUNDS; from suffice.lab.curves import levels, needs, recovery;"
        "assert 'mine' in BOUNDS;"
        "names = [*levels.LEVEL_LEARNERS, *recovery.RECOVERY_LEARNERS, *recovery.FAR, *recovery.BOUND_COLOURS];"
        "names += [experiment.learner for experiment in needs.experiments(True)];"
        "assert not [name for name in names if name.endswith('mine')], names"
    )
    done = subprocess.run([sys.executable, "-c", asked], env=installed_badly, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_model_of_a_custom_bound_is_saved_and_loaded_and_used_again(fixed: Fixed, tmp_path: Path) -> None:
    episodes = Corridor().simulate(500, 4, np.random.default_rng(0))
    model = learn(episodes, settings=Settings(bound=fixed))
    model.save(tmp_path / "a.model")
    loaded = Model.load(tmp_path / "a.model")
    assert loaded.about.bound == "fixed" and loaded.undecided() == model.undecided()
    assert learn(episodes, like=loaded).about.bound == "fixed"


def test_model_of_an_unknown_bound_is_refused_only_where_the_bound_is_needed(tmp_path: Path) -> None:
    episodes = Corridor().simulate(500, 4, np.random.default_rng(0))
    learn(episodes, settings=Settings(bound=Fixed())).save(tmp_path / "a.model")
    loaded = Model.load(tmp_path / "a.model")
    assert loaded.policy() is not None
    with pytest.raises(ModelError, match="learned with the bound 'fixed', which is not installed"):
        loaded.undecided()
    with pytest.raises(SettingsError, match="'fixed' is not a bound"):
        learn(episodes, like=loaded)


def test_model_of_an_unknown_bound_is_explored_reported_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.model"
    episodes = Corridor().simulate(500, 4, np.random.default_rng(0))
    learn(episodes, settings=Settings(bound=Fixed())).save(path)
    for words in (["explore", "-o", "x.html"], ["report", "-o", "r.html"], ["info", "--decisions", "3"]):
        command, *options = words
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("sys.argv", ["suffice", command, str(path), *options])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0, capsys.readouterr()
    assert "Undecided merges are not known: the bound 'fixed' is not installed here." in " ".join(
        capsys.readouterr().out.split()
    )
    assert "Not available: the test that compared histories is part of a package" in (tmp_path / "r.html").read_text()
    loaded = Model.load(path)
    assert loaded.undecided_if_known() is None
    assert model_data(loaded, "a")["doubts"]["state"] == []


def test_model_whose_bound_cannot_be_loaded_has_no_undecided_merges(
    fixed: Fixed, monkeypatch: pytest.MonkeyPatch
) -> None:
    episodes = Corridor().simulate(500, 4, np.random.default_rng(0))
    model = learn(episodes, settings=Settings(bound=fixed))
    assert model.undecided_if_known() == model.undecided()
    broken = EntryPoint("fixed", "no_such_module:FIXED", "suffice.bounds")
    monkeypatch.setitem(BOUNDS._entries, "fixed", _Plugin(broken))
    assert model.undecided_if_known() is None


def test_register_refuses_what_is_not_a_bound() -> None:
    with pytest.raises(SettingsError, match="'half' is not a valid bound: it has no 'measure'"):
        BOUNDS.register("half", 0.5)  # type: ignore[arg-type]
    assert "half" not in BOUNDS


def test_settings_refuse_the_name_of_a_bound() -> None:
    with pytest.raises(SettingsError, match=r"bound='paper' is only a name\. .*suffice\.BOUNDS\['paper'\]\."):
        Settings(bound="paper")  # type: ignore[arg-type]


def test_register_and_settings_refuse_a_class() -> None:
    with pytest.raises(SettingsError, match=r"'fixed' is not a valid bound: it is a class; pass .* Fixed\(\)"):
        BOUNDS.register("fixed", Fixed)  # type: ignore[arg-type]
    assert "fixed" not in BOUNDS
    with pytest.raises(SettingsError, match=r"Fixed'> is not a bound.* it is a class; pass .* Fixed\(\)"):
        Settings(bound=Fixed)  # type: ignore[arg-type]


def test_bounds_table_requires_all_attributes_of_a_bound() -> None:
    assert {name for name in vars(Bound) if not name.startswith("_")} == set(BOUNDS.needs)


@pytest.mark.parametrize("lacking", ["kind", "attainable", "allows_estimates", "name"])
def test_register_and_settings_refuse_a_bound_without_an_attribute(lacking: str) -> None:
    bound = SimpleNamespace(**{name: getattr(Fixed(), name) for name in BOUNDS.needs if name != lacking})
    with pytest.raises(SettingsError, match=f"'fixed' is not a valid bound: it has no '{lacking}'"):
        BOUNDS.register("fixed", bound)
    with pytest.raises(SettingsError, match=f"is not a bound.* it has no '{lacking}'"):
        Settings(bound=bound)
