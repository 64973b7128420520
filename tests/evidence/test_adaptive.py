"""Adaptive families: agreement with the literal ladder, false splits, domains, files and the command line."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from oracle import Conjunctions, LadderDecision, Languages, Prefixes, adaptive_adact_h
from suffice.automata.compare import compare
from suffice.automata.describe import describe_witness
from suffice.automata.rdp import RDP
from suffice.data.alphabet import DUMMY, STOP
from suffice.data.episodes import Episodes
from suffice.domains.domain import Domain
from suffice.domains.exact.minimal import minimal_rdp
from suffice.domains.registry import make
from suffice.errors import SufficeError
from suffice.evidence import adaptive, prefix_rows
from suffice.evidence.adaptive import LADDER, AdaptiveLanguages, FamiliesNeeded
from suffice.evidence.bounds import BOUNDS, Bound
from suffice.evidence.languages import Family
from suffice.evidence.prefix_rows import PREFIXES, AllPrefixes
from suffice.evidence.prefix_tree import PrefixCounts
from suffice.kernels import words
from suffice.kernels.comparing import evidence
from suffice.learning.adact_h import Learned, Settings, adact_h
from suffice.models.header import Header
from suffice.models.model import Model
from support.cli import ok, suffice
from support.literal_learner import CLOSE, SHAPES, meetings, random_log, transitions, walk
from support.samples import coins, everything, languages, of_one_feature, starts

SMALL, CONJUNCTIONS = Family(1, 1, 1), Family(conjunctions=True)


def climbing(*families: str) -> AdaptiveLanguages:
    return AdaptiveLanguages(tuple(PREFIXES if name == "prefixes" else Family.parse(name) for name in families))


# Agreement with the oracle

LADDERS = {
    "two": ("1,1,1", "conjunctions"),
    "words": ("1,1,1", "1,2,1"),
    "three": ("1,1,1", "conjunctions", "1,1,2"),
    "down": ("conjunctions", "1,1,1"),
    "complete": ("1,1,1", "prefixes"),
}


def slow(family: Family | AllPrefixes) -> Languages | Conjunctions | Prefixes:
    if isinstance(family, AllPrefixes):
        return Prefixes()
    return Conjunctions() if family.conjunctions else Languages(family.i, family.j, family.k)


def assert_agreement(episodes: Episodes, ladder: AdaptiveLanguages, bound: str, options: dict[str, Any]) -> Learned:
    delta, cut, confidence = options["delta"], options.get("cut", 0.0), options.get("confidence")
    learned = adact_h(episodes, Settings(ladder, BOUNDS[bound], delta, confidence, cut))
    level = (lambda c: (1 - confidence) / ((episodes.horizon + 1) * c)) if confidence else delta
    truth = adaptive_adact_h(episodes, [slow(family) for family in ladder.ladder], bound, level, cut)
    assert learned.rdp.layers.tolist() == truth.layers
    assert dict(transitions(learned.rdp)) == truth.tau
    assert meetings(learned.rdp) == walk(episodes, truth.tau)
    for found, right in zip(learned.decisions, truth.decisions, strict=True):
        assert isinstance(right, LadderDecision)
        verdict = found.placement
        assert (found.n, verdict.promoted, verdict.nearest) == (right.n, right.promoted, right.nearest)
        if right.threshold is not None:
            assert math.isclose(verdict.distance, right.distance, **CLOSE)
            assert math.isclose(verdict.threshold, right.threshold, **CLOSE)
            assert verdict.forced == (right.distance >= right.threshold and not right.promoted)
    assert_reports_used_rungs(episodes, learned, truth.decisions)
    return learned


def assert_reports_used_rungs(episodes: Episodes, learned: Learned, decisions: list[Any]) -> None:
    """Check the largest rung that a promotion needed, and Σ |X| over all rungs used in a layer."""
    assert learned.needed is not None and learned.needed.left_out == ()
    for t in range(1, episodes.horizon + 2):
        here = [d for d in decisions if d.t == t]
        assert learned.needed.layers[t - 1] == max((d.rung for d in here if d.promoted), default=-1)
        asked = {0, *(r for d in here for r in d.asked)}
        used = [learned.needed.ladder[r] for r in sorted(asked)]
        by = [PrefixCounts() if isinstance(rung, AllPrefixes) else languages(str(rung)) for rung in used]
        alone = [adact_h(episodes, Settings(statistic)) for statistic in by]
        assert learned.languages[t - 1] == sum(one.languages[t - 1] for one in alone)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("name", LADDERS)
def test_adaptive_languages_agree_with_the_literal_ladder(
    name: str, bound: str, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefix_rows, "FEWEST", 1)
    like = "1,1,1" if name in ("two", "down") else "1,2,2"  # logs small enough for the literal families
    for seed in range(2):
        assert_agreement(random_log(like, shape, seed), climbing(*LADDERS[name]), bound, SHAPES[shape])


def test_logs_of_the_agreement_tests_use_both_rungs() -> None:
    """Both rungs find states, and the nearest state is not always the first; otherwise agreement would mean little."""
    needed, nearest = set(), set()
    for name, bound, shape, seed in product(("two", "down"), BOUNDS, SHAPES, range(2)):
        how = Settings(climbing(*LADDERS[name]), BOUNDS[bound], SHAPES[shape]["delta"])
        learned = adact_h(random_log("1,1,1", shape, seed), how)
        needed |= {(name, r) for r in learned.needed.layers}
        nearest |= {d.placement.nearest for d in learned.decisions}
    assert set(product(("two", "down"), (0, 1))) <= needed
    assert {0, 1} <= nearest


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("seed", range(3))
def test_adaptive_languages_agree_where_the_last_rung_is_needed(seed: int, bound: str) -> None:
    options, ladder = {"delta": 0.0513}, climbing("1,1,1", "conjunctions", "1,1,2")
    assert_agreement(in_pairs(np.random.default_rng(seed), 300), ladder, bound, options)
    learned = assert_agreement(in_order(300), climbing("1,1,1", "conjunctions", "1,2,1"), bound, options)
    assert learned.needed.layers[0] == 2


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("family", ["1,1,1", "conjunctions", "1,2,1"])
def test_adaptive_languages_of_one_family_equal_that_family(family: str, bound: str) -> None:
    for shape in SHAPES:
        episodes = random_log("1,2,2", shape, 0)
        how = {"delta": SHAPES[shape]["delta"], "cut": SHAPES[shape].get("cut", 0.0)}
        alone = adact_h(episodes, Settings(languages(family), BOUNDS[bound], **how))
        assert everything(adact_h(episodes, Settings(climbing(family), BOUNDS[bound], **how))) == everything(alone)


def test_joint_weights_equal_the_matrix_product() -> None:
    rng = np.random.default_rng(1)
    rows = rng.integers(2, size=(40, 9)).astype(np.uint8)
    ids, weight = rng.integers(40, size=300), rng.integers(1, 9, size=300)
    bits = rows[ids].astype(np.int64)
    assert (words.joint_weights(rows, ids, weight) == np.triu(bits.T @ (bits * weight[:, None]))).all()


# As a statistic


@pytest.mark.parametrize("bound", BOUNDS)
def test_adaptive_languages_make_false_splits_at_most_delta_of_the_time(bound: str) -> None:
    """Logs of fair coins have one test in layer 1; the limit is δ plus four standard deviations."""
    n, delta = 200 if bound == "fisher" else 100, 0.05  # the others are far more conservative
    how = Settings(climbing("1,1,1", "conjunctions", "1,1,2"), BOUNDS[bound], delta)
    split = sum(adact_h(coins(np.random.default_rng(s), 3, 300), how).rdp.layers[1] > 1 for s in range(n))
    assert split <= n * delta + 4 * math.sqrt(n * delta * (1 - delta))


def test_adaptive_plan_shares_of_delta_add_up_to_one() -> None:
    for rungs in range(1, 6):
        plan = AdaptiveLanguages(LADDER[:rungs]).plan(
            coins(np.random.default_rng(0), 2, 50).outline, BOUNDS["fisher"], 1 << 30
        )
        assert sum(plan.share(r) for r in range(rungs)) == 1


@pytest.mark.parametrize("bound", BOUNDS.values(), ids=BOUNDS)
def test_bound_attainable_limits_the_evidence_of_all_events(bound: Bound) -> None:
    for n1, n2 in product((1, 2, 5, 9), repeat=2):
        events = [(k1, k2) for k1 in range(n1 + 1) for k2 in range(n2 + 1)]
        most = max(evidence(bound.kind, k1, n1, k2, n2, 0.0, math.inf) for k1, k2 in events)
        assert most <= bound.attainable(n1, n2) + 1e-9
        assert most >= bound.attainable(n1, n2) - math.log(2) - 1e-9  # two tables at most are as extreme


def test_adaptive_languages_use_larger_families_only_where_needed() -> None:
    """The first rung shows large differences, and samples too small for any difference use no other rung."""
    plain, tiny = (adact_h(starts(sizes, (0, 1)), Settings(AdaptiveLanguages())) for sizes in ((300, 290), (3, 2)))
    alone = adact_h(starts((300, 290), (0, 1)), Settings(languages("1,1,1")))
    assert plain.languages == tiny.languages == alone.languages
    assert plain.needed.layers == (0, -1) and tiny.needed.layers == (-1, -1)


# On domains


def simulated(domain: Domain, n: int, seed: int, horizon: int | None = None) -> Episodes:
    return domain.simulate(n, horizon or domain.default_horizon, np.random.default_rng(seed))


def minimal(domain: Domain, horizon: int | None = None) -> RDP:
    horizon = horizon or domain.default_horizon
    model = domain.model(horizon)
    return minimal_rdp(model, horizon, model.usual).rdp()


def is_minimal(learned: Learned, domain: Domain) -> bool:
    return compare(learned.rdp, minimal(domain)) is None


@pytest.mark.parametrize(("name", "n"), [("corridor", 1000), ("t-maze", 60_000)])
@pytest.mark.parametrize("seed", range(3))
def test_adaptive_languages_need_conjunctions_where_single_components_do_not_distinguish(
    name: str, n: int, seed: int
) -> None:
    domain = make(name, {})
    episodes = simulated(domain, n, seed)
    assert not is_minimal(adact_h(episodes, Settings(languages("1,1,1"))), domain)
    learned = adact_h(episodes, Settings(AdaptiveLanguages()))
    assert is_minimal(learned, domain)
    assert max(learned.needed.layers) == LADDER.index(CONJUNCTIONS)
    assert "conjunctions in layers" in learned.needed.sentence
    assert learned.needed.sentence.endswith("Larger families were not needed.")


@pytest.mark.parametrize(("name", "n"), [("cookie", 200_000), ("cheese", 40_000)])
def test_adaptive_languages_need_only_single_components_where_they_suffice(name: str, n: int) -> None:
    domain = make(name, {})
    learned = adact_h(simulated(domain, n, 0, 6), Settings(AdaptiveLanguages()))
    assert learned.rdp.layers.tolist() == minimal(domain, 6).layers.tolist()
    assert max(learned.needed.layers) == 0
    assert "Larger families were not needed." in learned.needed.sentence
    assert learned.needed.sentence.startswith("Languages needed: X_1,1,1 in layers")


def in_order(n: int) -> Episodes:
    """Simulate episodes whose first observation decides the order of two others, between a third."""
    start = np.arange(n) % 2 + 1
    same = np.full(n, 3)
    observation = np.stack([start, same, start, 3 - start, same, np.full(n, STOP)])
    action = np.full((6, n), 2)
    action[0] = DUMMY
    return Episodes.from_steps(of_one_feature(3), action, observation, np.zeros((6, n), np.int64))


def in_pairs(rng: np.random.Generator, n: int) -> Episodes:
    """Simulate episodes in which the next observation is a coin and the last reward another.

    Both sides are observed in between; the first observation decides whether both are the same coin.
    """
    coin = rng.integers(2, size=(3, n))
    one = np.ones(n, np.int64)
    observation = np.stack([coin[0] + 1, coin[1] + 1, one, one + 1, one * STOP])
    reward = np.stack([one * 0, one * 0, one * 0, one, np.where(coin[0] == 0, coin[1], coin[2])])
    action = np.full((5, n), 2)
    action[0] = DUMMY
    return Episodes.from_steps(of_one_feature(2), action, observation, reward)


@pytest.mark.parametrize(
    ("episodes", "needed"),
    [(in_order(400), Family(1, 2, 1)), (in_pairs(np.random.default_rng(3), 800), Family(1, 1, 2))],
    ids=["order", "pairs"],
)
def test_adaptive_languages_need_words_or_pairs_where_one_step_does_not_distinguish(
    episodes: Episodes, needed: Family
) -> None:
    assert adact_h(episodes).rdp.layers[1] == 1
    learned = adact_h(episodes, Settings(AdaptiveLanguages()))
    assert learned.rdp.layers[1] == 2
    assert LADDER[learned.needed.layers[0]] == needed
    witness = describe_witness(learned.decisions[1].placement.witness, learned.rdp.alphabet)
    assert (", later " in witness or ", directly followed by " in witness) == (needed.j == 2)
    assert ("both (" in witness or "either (" in witness) == (needed.k == 2)


# Threads and memory


@pytest.mark.parametrize("bound", BOUNDS)
def test_adaptive_models_do_not_depend_on_the_number_of_threads(bound: str, tmp_path: Path) -> None:
    episodes = simulated(make("cheese", {}), 10_000, 1)
    files = []
    for threads in (1, 2):
        learned = adact_h(episodes, Settings(AdaptiveLanguages(), BOUNDS[bound], threads=threads))
        Model.of(learned, episodes).save(tmp_path / f"{threads}.model")
        files.append((tmp_path / f"{threads}.model").read_bytes())
    assert files[0] == files[1]


def test_adaptive_languages_leave_out_families_that_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    episodes = simulated(make("cheese", {}), 10_000, 1)
    monkeypatch.setattr(adaptive, "WORD_BYTES", 1 << 18)
    found = [adact_h(episodes, Settings(AdaptiveLanguages(), threads=threads)) for threads in (1, 2)]
    assert everything(found[0]) == everything(found[1]) and found[0].needed == found[1].needed
    assert found[0].needed.left_out == (Family(1, 1, 2), Family(1, 2, 1))
    left_out = "Left out, because they take too much memory or time: X_1,1,2, X_1,2,1."
    assert found[0].needed.sentence.endswith(left_out)
    without = adact_h(episodes, Settings(AdaptiveLanguages(), memory=1 << 16))
    assert Family(2, 1, 1) in without.needed.left_out
    with pytest.raises(SufficeError, match="not fit"):
        adact_h(episodes, Settings(AdaptiveLanguages(), memory=1 << 15))


@pytest.mark.parametrize("ladder", [(), (SMALL, SMALL)])
def test_adaptive_languages_refuse_invalid_ladders(ladder: tuple[Family, ...]) -> None:
    with pytest.raises(SufficeError, match="List each once, smallest first"):
        AdaptiveLanguages(ladder)


# Sentences, files and the command line


def test_families_needed_sentence_names_layers_and_families_left_out() -> None:
    ladder = (SMALL, CONJUNCTIONS, Family(1, 1, 2))
    sentence = FamiliesNeeded(ladder, (0, 0, 1, 0, 1, -1), ()).sentence
    assert sentence == (
        "Languages needed: X_1,1,1 in layers 1 to 2, 4, conjunctions in layers 3, 5. Larger families were not needed."
    )
    assert FamiliesNeeded(ladder, (2, -1), ()).sentence == "Languages needed: X_1,1,2 in layer 1."
    assert FamiliesNeeded(ladder, (-1, -1), ()).sentence == "Languages needed: none."
    left = FamiliesNeeded(ladder, (1, -1), ladder[2:]).sentence
    assert left == (
        "Languages needed: conjunctions in layer 1. Left out, because they take too much memory or time: X_1,1,2."
    )


def test_model_file_stores_the_families_needed_and_old_files_load(tmp_path: Path) -> None:
    episodes = simulated(make("corridor", {}), 1000, 0)
    model = Model.of(adact_h(episodes, Settings(AdaptiveLanguages())), episodes)
    model.save(tmp_path / "it.model")
    loaded = Model.load(tmp_path / "it.model")
    assert loaded.about == model.about and loaded.about.family == "adaptive"
    assert loaded.about.needed.layers == [None, None, *["conjunctions"] * 4, None]
    assert loaded.about.needed.ladder == [str(family) for family in LADDER]
    old = msgspec.to_builtins(model.about)
    del old["needed"]
    assert msgspec.convert(old, Header).needed is None


@pytest.mark.filterwarnings("ignore:Cyclopts application invoked without tokens")
def test_learn_and_info_show_the_families_needed(tmp_path: Path) -> None:
    log, model = str(tmp_path / "log.parquet"), str(tmp_path / "it.model")
    ok("simulate", "corridor", "--episodes", "2000", "-o", log)
    said = ok("learn", log, "--family", "adaptive", "-o", model, "--why")
    sentence = "Languages needed: conjunctions in layers 2 to 5. Larger families were not needed."
    assert sentence in said and "Examples of events that distinguish states" in said
    assert sentence in ok("info", model)
    about = json.loads(ok("learn", log, "--family", "adaptive", "--json", "-o", model))
    assert about == json.loads(ok("info", model, "--json"))
    assert about["family"] == "adaptive" and about["needed"]["sentence"] == sentence
    assert about["needed"]["layers"] == [None, None, *["conjunctions"] * 4, None]
    assert "Languages needed" not in ok("learn", log, "-o", model)
    refused = suffice("learn", log, "--family", "adaptive", "--metric", "prefixes", "-o", model)
    assert refused.code and "--family" in refused.err
