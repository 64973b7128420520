"""Studies of cost, sketches, families and noise: their runs, and their pages from results made by hand."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from suffice.lab import scoring
from suffice.lab.curves import cost, families, noise, sketches, summaries
from suffice.lab.curves.cost import COST
from suffice.lab.curves.families import FAMILY_STUDY
from suffice.lab.curves.noise import NOISE
from suffice.lab.curves.sketches import SKETCHES
from suffice.lab.experiment import Experiment, Result
from suffice.lab.paper import TABLE_1
from suffice.lab.study import Study
from suffice.lab.truth import truth_for

STUDIES = (COST, SKETCHES, FAMILY_STUDY, NOISE)


@dataclass(frozen=True)
class Made:
    """Results with costs proportional to the number of steps."""

    seconds: float = 1.0  # per step
    bytes: float = 10.0  # per step

    def of(self, e: Experiment) -> Result:
        steps = e.episodes * e.horizon
        return Result(experiment=e, states=7, seconds=self.seconds * steps, bytes=int(self.bytes * steps))


def by_id(runs: Sequence[Result]) -> dict[str, Result]:
    return {run.experiment.id: run for run in runs}


def rows_of(text: str, first: str) -> list[list[str]]:
    """Return the cells of all table rows whose first cell is given."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return [cells for cells in lines if cells[0] == first]


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
class TestEvery:
    def test_experiments_are_distinct_and_quick_ones_are_a_subset(self, study: Study) -> None:
        full, quick = ({e.id for e in study.experiments(q)} for q in (False, True))
        assert len(full) == len(study.experiments(False)) and len(quick) == len(study.experiments(True))
        assert quick < full
        assert len(quick) <= 60

    def test_analyse_writes_a_page_even_without_results(self, study: Study) -> None:
        page = study.analyse({})
        assert page.text.startswith(f"## {study.title}\n")
        assert "0 of" in page.text
        for name, _ in page.figures:
            assert name.startswith(study.name) and f"]({name}.svg)" in page.text

    def test_analyse_skips_and_mentions_stopped_runs(self, study: Study) -> None:
        wanted = study.experiments(True)
        stopped = [Result(experiment=e, stopped="refused: too large", limit=60.0) for e in wanted[::2]]
        text = study.analyse(by_id([*stopped, *(Made().of(e) for e in wanted[1::2])])).text
        assert "Stopped: " in text and "refused" in text and "too large" not in text


def test_analyse_ignores_results_of_other_studies() -> None:
    foreign = Experiment(domain="t-maze", horizon=3, episodes=10, seed=1, learner="layers")
    assert COST.analyse(by_id([Made().of(foreign)])).text == COST.analyse({}).text


def test_exponent_fits_a_power_law() -> None:
    assert summaries.exponent({x: 3 * x**1.5 for x in (10.0, 100.0, 1000.0)}) == pytest.approx(1.5)
    assert summaries.exponent({10.0: 1.0}) is None


def test_geometric_mean_of_two_and_half_is_one() -> None:
    assert summaries.geometric([0.5, 2.0]) == pytest.approx(1.0)


def test_gained_is_0_for_behaviour_and_1_for_optimum() -> None:
    e = Experiment(domain="corridor", horizon=5, episodes=10, seed=1, learner="layers")
    truth = truth_for(e).truth
    base, best = float(truth.behaviour.mean_return), float(truth.optimal_value)
    for value, share in ((base, 0.0), (best, 1.0), ((base + best) / 2, 0.5)):
        assert scoring.gained(Result(experiment=e, mean_return=value)) == pytest.approx(share)


class TestCost:
    def rated(self, e: Experiment) -> Result:
        """Return a result in which peers need 8 times the seconds of ours, and a quarter of the bytes."""
        return (Made(8e-6, 10) if e.learner in cost.PEERS else Made(1e-6, 40)).of(e)

    def test_cost_page_has_exponents_bytes_and_ratios(self) -> None:
        text = COST.analyse(by_id([self.rated(e) for e in COST.experiments(False)])).text
        slopes, _ = rows_of(text, "AALpy 1")
        assert slopes[1] == f"1.00 / 1.00 ({10 * 15 / 16:.2g} B)"
        _, ratios = rows_of(text, "AALpy 1")
        assert ratios[1:] == ["8 / 0.25"] * 6
        assert "AALpy 1 needs fewer bytes than `layers` (t-maze, H = 15)" in text
        assert "fewer seconds" not in text

    def test_ratio_uses_the_largest_common_log(self) -> None:
        runs = [self.rated(e) for e in COST.experiments(False) if e.options == cost.T_MAZE and e.seed != cost.SEEDS[1]]
        axis, peer = cost.AXES[0], [run for run in runs if run.experiment.learner == "aalpy/1"]
        ours = [run for run in runs if run.experiment.learner == "layers"]
        found = cost.ratio(axis, peer, ours)
        assert found is not None and found.at == 100_000 and found.seconds == pytest.approx(8)
        assert cost.ratio(axis, peer, []) is None

    def test_cost_experiments_leave_out_peers_and_sketches_on_largest_logs(self) -> None:
        full = [e for e in COST.experiments(False) if e.options == cost.T_MAZE]
        assert {e.learner for e in full if e.episodes == 1_000_000} == set(cost.OURS) - {"sketch/paper"}
        assert {e.seed for e in full if e.learner in cost.PEERS and e.episodes == 100_000} == {301}


class TestSketches:
    def test_sizes_grow_as_theory_states(self) -> None:
        small, large = (sketches.sizes("cookie", 9, n) for n in (10_000, 1_000_000))
        assert small.dense == large.dense and small.dense > 10**15
        assert large.nodes == 100 * small.nodes
        assert large.sketch == pytest.approx(10 * small.sketch, rel=0.01)

    def test_pays_from_is_where_sketch_becomes_smaller_than_list(self) -> None:
        least = sketches.pays_from("cookie", 9)
        assert least is not None
        before, after = (sketches.sizes("cookie", 9, n) for n in (least - 1, least))
        assert before.sketch >= before.suffixes and after.sketch < after.suffixes

    def test_sketches_page_states_which_needs_less_memory(self) -> None:
        runs = [Made(bytes=30 if e.learner.startswith("sketch") else 20).of(e) for e in SKETCHES.experiments(True)]
        text = SKETCHES.analyse(by_id(runs)).text
        assert rows_of(text, "Cookie, 1,000")[0][-2:] == ["1.50", "1.50"]
        assert "less memory in 0 of 8 sizes and more in 8" in text


class TestFamilies:
    def test_exact_returns_size_and_distance_of_families(self) -> None:
        assert families.exact("corridor", 5, "1,1,1") == families.Exact(39, 0.0)
        assert families.exact("corridor", 5, "2,1,1").distance == pytest.approx(0.5)
        assert families.exact("corridor", 5, "2,2,1").distance is None  # slow to compute
        assert families.exact("corridor", 5, "adaptive") == families.Exact()

    def test_families_page_has_medians_and_refusals(self) -> None:
        row, n = TABLE_1[0], families.SIZES[0]
        runs = [
            Result(experiment=row.experiment("1,1,1/fisher", n, s), states=q, mean_return=5.0, recovered=11)
            for s, q in zip(families.SEEDS, (9, 7, 30), strict=True)
        ]
        refused = row.experiment("2,2,1/fisher", n, families.SEEDS[0])
        runs.append(Result(experiment=refused, stopped="refused: too large", limit=1.0))
        text = FAMILY_STUDY.analyse(by_id(runs)).text
        states = rows_of(text, "states")[0]
        assert states[1] == "9 → –" and states[5] == "refused → –"
        assert rows_of(text, "gained")[0][1] == "1.00 → –"
        assert families.recovered(runs[0]) == 1.0
        assert "Families with μ₀ = 0: 1,1,1 (Corridor, T-maze and Mini-hall)" in text


class TestNoise:
    def test_noise_page_lists_learners_that_noise_harms(self) -> None:
        runs = []
        for e in NOISE.experiments(True):
            hurt = e.learner == "prefixes/fisher" and e.options == noise.NOISY
            runs.append(Result(experiment=e, states=90 if hurt else 30, mean_return=-10.0 if hurt else 4.0))
        text = NOISE.analyse(by_id(runs)).text
        assert rows_of(text, "prefixes fisher")[0][1:4] == ["10,000", "30 → 90", "3.00"]
        assert "With noise, at least 1.5 times the states: prefixes fisher (× 3.0)" in text
        assert "at most 1/1.5 of the states: none" in text

    def test_noise_experiments_limit_the_slowed_peer(self) -> None:
        noisy = [e for e in NOISE.experiments(False) if e.learner == noise.SLOWED and e.options == noise.NOISY]
        assert [(e.episodes, e.seed) for e in noisy] == [(300, 330), (300, 331), (1000, 330), (1000, 331), (3000, 330)]

    def test_noise_page_names_better_peers(self) -> None:
        best = [e for e in NOISE.experiments(True) if e.options == noise.QUIET and e.episodes == 1_000]
        runs = [Result(experiment=e, states=9, mean_return=4.0 if e.learner == "aalpy/1" else -10.0) for e in best]
        others = [Made().of(e) for e in NOISE.experiments(True) if e.episodes == 300]
        text = NOISE.analyse(by_id([*runs, *others])).text
        assert "Peers that gain more than `suffice learn`: AALpy 1 without noise, N = 1,000 (1.00 instead of " in text

    def test_at_largest_uses_the_largest_common_log(self) -> None:
        runs = [Made().of(e) for e in NOISE.experiments(False)]
        without = [r for r in runs if r.experiment.options == noise.QUIET or r.experiment.episodes <= 3_000]
        both = noise.at_largest("layers", without)
        assert both is not None and both.episodes == 3_000 and both.factor == 1.0
        assert noise.at_largest("layers", []) is None
