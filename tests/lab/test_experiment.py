"""Experiments: ids, results on disk, scores compared with their definition, learners by name, and resources."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from oracle.likeness import likeness as by_definition
from suffice.automata.compare import compare
from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import DUMMY, PAD, STOP, Alphabet
from suffice.data.episodes import Episodes
from suffice.domains.exact.stationary import stationary_rdp
from suffice.domains.exact.values import evaluate
from suffice.domains.registry import DOMAINS, make
from suffice.errors import SufficeError
from suffice.evidence.adaptive import AdaptiveLanguages
from suffice.evidence.bounds import FISHER_EXACT, PAPER
from suffice.evidence.language_counts import LanguageCounts
from suffice.evidence.languages import CONJUNCTIONS, Family
from suffice.evidence.prefix_sketch import PrefixSketches
from suffice.evidence.prefix_tree import PrefixCounts
from suffice.lab import learners, store
from suffice.lab.experiment import Experiment, Result, distinct, options_of
from suffice.lab.learner import LearnerResult
from suffice.lab.learners import find
from suffice.lab.paper import TABLE_1
from suffice.lab.peers import alergia
from suffice.lab.peers.flexfringe import HEURISTICS
from suffice.lab.peers.machines import Machine, traces
from suffice.lab.resources import ResourceUse, measure, measure_command
from suffice.lab.scoring import match_states, value_of
from suffice.lab.truth import ground_truth
from suffice.learning.adact_h import Learned, Settings, adact_h
from suffice.learning.layers import learn_layers
from suffice.learning.stationary.learner import learn_stationary
from suffice.planning.controller import Controller
from suffice.planning.regorl import regorl

MB = 1_000_000
SHORT = (("length", "2"),)


def seeded(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def an_experiment(**changes: Any) -> Experiment:
    usual: dict[str, Any] = {"domain": "t-maze", "options": SHORT, "horizon": 4, "episodes": 300, "seed": 0}
    return Experiment(**{**usual, "learner": "layers", **changes})


@cache
def a_log(
    domain: str = "t-maze", horizon: int = 4, n: int = 1000, options: tuple[tuple[str, str], ...] = ()
) -> Episodes:
    return make(domain, dict(options)).simulate(n, horizon, seeded(1))


# Experiments


OTHERS: dict[str, Any] = {
    "domain": "cheese",
    "options": (("length", "3"),),
    "horizon": 5,
    "episodes": 301,
    "seed": 1,
    "learner": "stationary",
    "delta": 0.01,
}


def test_experiment_id_depends_on_every_field() -> None:
    assert set(OTHERS) == set(Experiment.__struct_fields__)
    changed = [an_experiment(**{name: value}) for name, value in OTHERS.items()]
    ids = [e.id for e in [an_experiment(), *changed]]
    assert len(set(ids)) == len(OTHERS) + 1
    assert an_experiment().id == Experiment(**{**msgspec.structs.asdict(an_experiment())}).id
    assert an_experiment(options=()).id not in ids  # an option at its default changes the id


def test_experiment_id_is_the_same_in_other_processes() -> None:
    """Results of one machine are found on another."""
    code = f"from suffice.lab.experiment import *; print({an_experiment()!r}.id)"
    environment = {**os.environ, "PYTHONHASHSEED": "1"}  # the hash seed of this process is random
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == an_experiment().id


def test_experiment_id_has_not_changed() -> None:
    """A changed id would make all stored results unusable."""
    assert an_experiment().id == "t-maze_length=2_h4_n300_s0_layers_56c0ae37a49f"


@pytest.mark.parametrize(
    "learner",
    [
        "1,1,1/paper",
        "3,3,3/likelihood-ratio",
        "adaptive/fisher",
        "aalpy/auto/closed",
        *(f"flexfringe/{h}/closed" for h in HEURISTICS),
    ],
)
def test_experiment_id_is_a_valid_file_name(learner: str) -> None:
    options = options_of({"enemy": "9/10", "name": "a, b", "cue_visible": True, "actions": "sensible"})
    for domain in (*DOMAINS, "models/light.POMDP", "/tmp/a/../x.POMDP"):
        name = an_experiment(domain=domain, options=options, learner=learner, episodes=10**8).id
        assert Path(name).name == name and "," not in name and len(f".{name}.json.{2**22}.tmp") < 256


def test_options_of_and_distinct_ignore_order_and_duplicates() -> None:
    assert options_of({"b": 1, "a": "x"}) == options_of({"a": "x", "b": 1}) == (("a", "x"), ("b", "1"))
    first, second = an_experiment(), an_experiment(seed=3)
    assert distinct([first, second, an_experiment()]) == [first, second]
    assert distinct([second, first, second]) == [second, first]


def test_experiment_round_trips_through_json_and_is_immutable() -> None:
    experiment = an_experiment(delta=0.1, learner="1,1,1/paper")
    again = msgspec.json.decode(msgspec.json.encode(experiment), type=Experiment)
    assert again == experiment and again.id == experiment.id and hash(again) == hash(experiment)
    with pytest.raises(AttributeError):
        experiment.seed = 3  # type: ignore[misc]
    with pytest.raises(msgspec.ValidationError, match="colour"):
        msgspec.json.decode(msgspec.json.encode(experiment)[:-1] + b',"colour":1}', type=Experiment)


def test_experiment_made_returns_its_domain() -> None:
    assert an_experiment().made() == make("t-maze", {"length": "2"}) != make("t-maze")


# Results on disk


def a_result(seed: int = 0, **changes: Any) -> Result:
    return Result(experiment=an_experiment(seed=seed), **{"states": 7, "mean_return": -1 / 3, **changes})


RESULTS = (
    a_result(0),
    a_result(1, recovered=0, splits=3, merges=None, promised=0.026, seconds=1.5, bytes=1 << 40),
    a_result(2, states=0, stopped="over 5 s", limit=5.0),
    a_result(3, stopped='refused: "a"\n\u2028 line, ε > 1'),
)


def test_load_returns_saved_results(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there"
    assert store.load(folder) == {}
    for result in RESULTS:
        store.save(result, folder)
    assert store.load(folder) == {result.experiment.id: result for result in RESULTS}
    assert sorted(p.name for p in folder.rglob("*.json")) == sorted(f"{r.experiment.id}.json" for r in RESULTS)


def test_save_bundle_ignores_the_order_of_results(tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl.gz", tmp_path / "second.jsonl.gz"
    store.save_bundle(RESULTS, first)
    store.save_bundle(iter(RESULTS[::-1]), second)
    assert first.read_bytes() == second.read_bytes()
    found = store.load_bundle(first)
    assert found == sorted(RESULTS, key=lambda result: result.experiment.id) and set(found) == set(RESULTS)
    store.save_bundle(found, second)
    assert first.read_bytes() == second.read_bytes()


def test_load_prefers_single_results_to_bundles(tmp_path: Path) -> None:
    store.save_bundle(RESULTS, tmp_path / "zzz.jsonl.gz")
    later = a_result(2, states=9)
    store.save(later, tmp_path)
    assert store.load(tmp_path) == {r.experiment.id: r for r in (*RESULTS, later)}
    store.save(RESULTS[2], tmp_path)
    assert store.load(tmp_path)[later.experiment.id] == RESULTS[2]


def wrong_byte(text: bytes) -> bytes:
    return text.replace(b"t-maze", b"t-m\xffze")


def cut_short(text: bytes) -> bytes:
    return text[: len(text) // 2]


def other_field(text: bytes) -> bytes:
    return text.replace(b'"states"', b'"stales"')


@pytest.mark.parametrize("damage", [wrong_byte, cut_short, other_field, lambda text: b"", lambda text: b"[]"])
def test_load_names_damaged_files(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    store.save(RESULTS[0], tmp_path)
    (file,) = tmp_path.rglob("*.json")
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert file.read_bytes() != whole
    with pytest.raises(
        SufficeError, match=f"^{re.escape(str(file))}: this is not a result of an experiment .*Delete it"
    ):
        store.load(tmp_path)
    file.unlink()
    bundle = tmp_path / "all.jsonl.gz"
    store.save_bundle(RESULTS, bundle)
    packed = bundle.read_bytes()
    lines = gzip.decompress(packed).splitlines()
    lines[1] = damage(lines[1])
    bundle.write_bytes(gzip.compress(b"\n".join(lines)))
    with pytest.raises(SufficeError, match=f"^{re.escape(str(bundle))}, line 2: this is not a result of an experiment"):
        store.load(tmp_path)
    for broken in (packed[:40], packed[:-4], packed[:20] + b"\xff\xff" + packed[22:], b"plain"):
        bundle.write_bytes(broken)
        with pytest.raises(SufficeError, match=f"^{re.escape(str(bundle))}: this is not a file of results .*Delete it"):
            store.load(tmp_path)


def test_save_leaves_existing_files_when_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = tmp_path / "all.jsonl.gz"
    store.save(RESULTS[0], tmp_path)
    store.save_bundle(RESULTS[:1], bundle)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    write = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        write(path, data[:20])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    for action in (lambda: store.save(a_result(0, states=8), tmp_path), lambda: store.save_bundle(RESULTS, bundle)):
        with pytest.raises(SufficeError, match=r"cannot be written \(No space left"):
            action()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


# Learned states and true ones


@pytest.mark.parametrize(
    ("domain", "options", "horizon", "learner", "delta", "n", "kinds"),
    [
        ("t-maze", SHORT, 4, "1,1,1/paper", 1e-3, 100, "merges"),
        ("t-maze", SHORT, 4, "conjunctions/fisher", 0.5, 2000, "splits merges"),
        ("t-maze", SHORT, 4, "conjunctions/fisher", 0.5, 20_000, "splits"),
        ("corridor", (), 4, "conjunctions/fisher", 1e-3, 300, "exact"),
        ("cheese", (), 3, "conjunctions/fisher", 0.9, 50, "merges"),
        ("cheese", (), 3, "conjunctions/fisher", 0.9, 20_000, "splits merges"),
        ("t-maze", SHORT, 6, "stationary", 0.5, 100, "merges"),
        ("t-maze", SHORT, 6, "stationary", 0.5, 2000, "exact"),
        ("rotating-mab", (), 6, "stationary", 0.9, 100, "splits"),
    ],
)
def test_match_states_agrees_with_its_definition(
    domain: str, options: tuple[tuple[str, str], ...], horizon: int, learner: str, delta: float, n: int, kinds: str
) -> None:
    learned = find(learner, a_log(domain, horizon, n, options), delta).rdp
    true = ground_truth(domain, options, horizon).like(learned)
    assert true is not None
    found = match_states(learned, true)
    assert found[:3] == by_definition(learned, true, 5) and found.true == true.n_states
    assert [name for name in ("splits", "merges", "exact") if getattr(found, name)] == kinds.split()


def by_hand(*rows: tuple[int, int, int]) -> RDP:
    """Return an automaton; rows are the targets of (first observation), (go, even) and (go, odd)."""
    alphabet = Alphabet(("go",), ("sight",), (("even",), ("odd",)), (0.0,))
    letters = np.array([(DUMMY, 1, 0), (2, 1, 0), (2, 2, 0)], np.int32)
    counts = np.zeros((len(rows), 3), np.int64)
    return RDP(alphabet, letters, letters[:, :2], np.array([len(rows)]), np.array(rows, np.int32), counts, 5)


O = UNSEEN
PARITY = by_hand((1, O, O), (O, 1, 2), (O, 2, 1))


BY_HAND = {
    "itself": (by_hand((1, O, O), (O, 1, 2), (O, 2, 1)), (3, 0, 0)),
    "renamed": (by_hand((2, O, O), (O, 1, 2), (O, 2, 1)), (3, 0, 0)),
    "not all seen": (by_hand((1, O, O), (O, 1, 2), (O, 2, O)), (3, 0, 0)),
    "an idle state": (by_hand((1, O, O), (O, 1, 2), (O, 2, 1), (O, 3, 3)), (3, 0, 0)),
    "one not met": (by_hand((1, O, O), (O, 1, O)), (2, 0, 0)),
    "a split": (by_hand((1, O, O), (O, 3, 2), (O, 2, 1), (O, 1, 2)), (2, 1, 0)),
    "three splits": (by_hand((1, O, O), (O, 3, 2), (O, 4, 1), (O, 5, 2), (O, 2, 1), (O, 1, 2)), (1, 3, 0)),
    "a merge": (by_hand((1, O, O), (O, 1, 1)), (1, 0, 1)),
    "a merge later": (by_hand((1, O, O), (O, 2, 2), (O, 2, 2)), (1, 0, 1)),
    "two merges": (by_hand((1, O, O), (O, 2, 2), (O, 3, 3), (O, 3, 2)), (1, 0, 2)),
    "all merged": (by_hand((0, 0, 0)), (0, 0, 1)),
}


@pytest.mark.parametrize(("learned", "expected"), BY_HAND.values(), ids=BY_HAND)
def test_match_states_counts_splits_and_merges_of_hand_made_automata(
    learned: RDP, expected: tuple[int, int, int]
) -> None:
    assert match_states(learned, PARITY)[:3] == by_definition(learned, PARITY, 8) == expected
    assert match_states(learned, PARITY).exact == (expected == (3, 0, 0))


@pytest.mark.parametrize("row", TABLE_1[:4], ids=lambda row: row.name)
def test_match_states_of_truth_with_itself_is_exact(row: Any) -> None:
    known = ground_truth(row.name, (), row.horizon)
    for true in (known.layered, known.stationary):
        assert true is not None
        assert match_states(true, true) == (true.n_states, 0, 0, true.n_states) and match_states(true, true).exact


@pytest.mark.parametrize("stationary", [False, True], ids=["layers", "stationary"])
@pytest.mark.parametrize(("domain", "horizon", "n"), [("t-maze", 4, 1000), ("cheese", 4, 300)])
def test_value_of_is_the_value_of_the_default_plan(domain: str, horizon: int, n: int, stationary: bool) -> None:
    solution, model = regorl(a_log(domain, horizon, n), stationary=stationary), make(domain).model(horizon)
    policy = Controller.on_automaton(solution.planned, model.alphabet, solution.plan.actions)
    expected, rdp = evaluate(model, policy, horizon), solution.learned.rdp
    assert value_of(rdp, model) == expected
    assert rdp.stationary == stationary and expected.mean_return > evaluate(model, model.usual, horizon).mean_return


# Learners by name


def adact(statistic: Any, bound: Any) -> Callable[[Episodes, float], Learned]:
    return lambda episodes, delta: adact_h(episodes, Settings(statistic, bound, delta))


OURS: dict[str, Callable[[Episodes, float], Learned]] = {
    "1,1,1/paper": adact(LanguageCounts(Family(1, 1, 1)), PAPER),
    "conjunctions/fisher": adact(LanguageCounts(CONJUNCTIONS), FISHER_EXACT),
    "adaptive/fisher": adact(AdaptiveLanguages(), FISHER_EXACT),
    "prefixes/paper": adact(PrefixCounts(), PAPER),
    "sketch/paper": adact(PrefixSketches(0), PAPER),
    "default": lambda episodes, delta: regorl(episodes, Settings(delta=delta), stationary="auto").learned,
    "layers": lambda episodes, delta: learn_layers(episodes, Settings(delta=delta)),
    "stationary": lambda episodes, delta: learn_stationary(episodes, Settings(delta=delta)),
}


def test_learners_docstring_lists_the_tested_names() -> None:
    assert learners.__doc__
    lines = learners.__doc__.splitlines()[2:]
    names = [name for line in lines for name in line.split("   ")[0].split() if not line.startswith(("aal", "flex"))]
    assert names == list(OURS)


@cache
def found_by(name: str, delta: float) -> LearnerResult:
    return find(name, a_log("t-maze", 4, 2000, SHORT), delta, None)


@pytest.mark.parametrize("name", OURS)
def test_find_runs_the_learner_of_a_name(name: str) -> None:
    episodes = a_log("t-maze", 4, 2000, SHORT)
    found, direct = found_by(name, 0.05), OURS[name](episodes, 0.05)
    assert compare(found.rdp, direct.rdp) is None
    np.testing.assert_array_equal(found.rdp.counts, direct.rdp.counts)
    assert found.states == direct.rdp.n_states > 3
    promise = direct.promise
    assert found.tests == promise.tests + promise.second_tests
    assert found.promised == promise.split + promise.second_split
    assert found.promised != found_by(name, 0.01).promised
    assert found.took.bytes >= episodes.word.nbytes


def test_find_gives_different_results_for_different_names() -> None:
    """Otherwise the test above could not detect that two learners were exchanged."""
    found = [found_by(name, 0.05) for name in OURS]
    assert len({(f.states, f.tests) for f in found}) >= 5


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "'' is not a bound. Choose 'paper', 'two-sample', 'likelihood-ratio' or 'fisher'"),
        ("layer", "'' is not a bound. Choose 'paper'"),
        (
            "layers/fisher",
            "family='layers' is not a language family. Choose 'conjunctions' or 'adaptive', or I,J,K such as 1,1,1.",
        ),
        ("conjunctions", "'' is not a bound. Choose 'paper'"),
        ("conjunctions/fischer", "'fischer' is not a bound. Choose 'paper'"),
        ("conjunctions/fisher/closed", "'fisher/closed' is not a bound. Choose 'paper'"),
        (
            "1,1/paper",
            "family='1,1' is not a language family. Choose 'conjunctions' or 'adaptive', or I,J,K such as 1,1,1.",
        ),
        ("0,1,1/paper", "I, J and K are numbers from 1 on"),
        ("aalpy", "is not an eps. Use 'auto' or a number"),
        ("aalpy/", "is not an eps. Use 'auto' or a number"),
        ("aalpy/closed", "is not an eps. Use 'auto' or a number"),
        ("aalpy/small", "is not an eps. Use 'auto' or a number"),
        ("aalpy/0", "is not an eps. Use 'auto' or a number above 0 and up to 2"),
        ("aalpy/2.5/closed", "is not an eps. Use 'auto' or a number above 0 and up to 2"),
        ("aalpy/nan", "is not an eps. Use 'auto' or a number"),
        ("aalpy/0.05/open", "is not an eps. Use 'auto' or a number"),
        ("flexfringe", "'' is not a heuristic. Choose 'likelihood-ratio'"),
        ("flexfringe/closed", "is not a heuristic. Choose 'likelihood-ratio'"),
        ("flexfringe/luck", "'luck' is not a heuristic. Choose 'likelihood-ratio'"),
        ("flexfringe/likelihood-ratio/open", "is not a heuristic. Choose 'likelihood-ratio'"),
        ("flexfringe/likelihood-ratio", "FlexFringe is not installed"),
    ],
)
def test_find_refuses_unknown_learners(name: str, message: str) -> None:
    with pytest.raises(SufficeError, match=message) as refusal:
        find(name, a_log(), 0.05, None)
    assert name in str(refusal.value) or not str(refusal.value).startswith("learner")


# From episodes to peers and back


@cache
def true_machine(domain: str, options: tuple[tuple[str, str], ...], horizon: int) -> tuple[Machine, Episodes]:
    """Return the minimal automaton as a peer would learn it from a weighted log."""
    log, true = a_log(domain, horizon, 20_000, options), stationary_rdp(make(domain, dict(options)).model(horizon))
    log = replace(log, weight=seeded(2).integers(1, 4, log.n))
    letter = {tuple(row): x for x, row in enumerate(log.letters.tolist())}
    delta = np.full((true.arrows.source.max() + 1, len(letter)), UNSEEN)
    for q, *step, target in true.arrows.rows():
        if tuple(step) in letter:
            delta[q, letter[tuple(step)]] = target
    return Machine(delta, ResourceUse(1.0, 1), False), log


@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
@pytest.mark.parametrize(
    ("domain", "options", "horizon"),
    [
        ("t-maze", (("cue_visible", "true"), ("length", "2")), 5),
        ("cookie", (), 8),
        ("cheese", (), 5),
        ("reset-rotating-mab", (), 6),
    ],
)
def test_find_scores_a_perfect_peer_as_exact(
    domain: str, options: tuple[tuple[str, str], ...], horizon: int, closed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In open logs of Cookie some states occur in the last step only and are unknown; guesses are not scored."""
    machine, log = true_machine(domain, options, horizon)
    monkeypatch.setattr(alergia, "aalpy", lambda episodes, eps, closed, general: machine._replace(closed=closed))
    found = find("aalpy/auto/closed" if closed else "aalpy/auto", log, 0.05, None)
    rdp, known = found.rdp, ground_truth(domain, options, horizon)
    assert rdp.stationary and rdp.horizon == horizon and rdp.cut is not None and log.weight is not None
    happened = np.zeros((horizon + 1, len(log.letters)), np.int64)
    for t, word in enumerate(log.word):
        np.add.at(happened[t], word, log.weight)
    np.testing.assert_array_equal(rdp.counts.sum(axis=0), happened[:-1].sum(axis=0))
    np.testing.assert_array_equal(rdp.cut.sum(axis=0), happened[-1])
    assert rdp.counts.sum() + rdp.cut.sum() == log.total * (horizon + 1)
    assert float(value_of(rdp, known.model).mean_return) == pytest.approx(float(known.truth.optimal_value))
    assert known.stationary is not None
    like = match_states(rdp, known.stationary, found.sure)
    assert (like.splits, like.merges) == (0, 0) and like.exact == (closed or domain != "cookie")


def test_traces_closed_have_last_step_and_termination_symbol() -> None:
    log = a_log("t-maze", 5, 200, SHORT)
    last, ended = len(log.letters), log.letters[:, 1] == STOP
    closed, opened = traces(log, closed=True), traces(log, closed=False)
    for trace, start, column in zip(closed, opened, log.word.T.tolist(), strict=True):
        assert trace[-1] == last and last not in trace[:-1] and last not in start
        assert trace[:-1] == [x for x in column if log.letters[x, 0] != PAD]
        assert ended[trace[-2]] and not ended[trace[:-2]].any()
        at_the_cut = log.letters[column[-1], 0] != PAD
        assert trace[: len(start)] == start and len(trace) - 1 == len(start) + at_the_cut
    assert {len(trace) == log.horizon + 2 for trace in closed} == {True, False}


@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
def test_traces_repeat_weighted_episodes(closed: bool) -> None:
    log = a_log("t-maze", 5, 200, SHORT)
    weight = seeded(0).integers(1, 5, log.n)
    expected = [trace for trace, times in zip(traces(log, closed), weight.tolist(), strict=True) for _ in range(times)]
    assert traces(replace(log, weight=weight), closed) == expected and len(expected) == weight.sum()
    assert Counter(map(tuple, expected)) != Counter(map(tuple, traces(log, closed)))


# Resources of runs


def busy(seconds: float) -> str:
    """Run until the given CPU time is used."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return "done"


def test_measure_reports_peak_memory_of_a_call() -> None:
    kept, took = measure(lambda: np.ones(50 * MB, np.uint8))
    assert len(kept) == 50 * MB and 49 * MB < took.bytes < 60 * MB
    size, took = measure(lambda: len(b"x" * 50 * MB))  # freed before the end
    assert size == 50 * MB and 49 * MB < took.bytes < 60 * MB
    assert measure(lambda: None)[1].bytes < 5 * MB


def test_measure_reports_cpu_time_without_sleep() -> None:
    returned, took = measure(lambda: busy(0.1))
    assert returned == "done" and 0.1 <= took.seconds < 0.3
    assert measure(lambda: time.sleep(0.1))[1].seconds < 0.05


def test_measure_command_excludes_the_starting_process(tmp_path: Path) -> None:
    """Memory of the starting process is not included."""
    ballast = np.ones(200 * MB, np.uint8)
    code = "import time\nb'x' * 50_000_000\nwhile time.process_time() < 0.2: pass\nopen('here', 'w').close()"
    took = measure_command([sys.executable, "-I", "-S", "-c", code], tmp_path)
    assert 50 * MB < took.bytes < 150 * MB < len(ballast)
    assert 0.2 <= took.seconds < 1
    assert (tmp_path / "here").exists()


def test_measure_command_refuses_failing_programs(tmp_path: Path) -> None:
    with pytest.raises(SufficeError, match=r"^sh failed: too bad$"):
        measure_command(["/bin/sh", "-c", "echo too bad >&2; exit 3"], tmp_path)
    with pytest.raises(SufficeError, match=r"^sh failed: no message$"):
        measure_command(["/bin/sh", "-c", "kill -9 $$"], tmp_path)
    with pytest.raises(SufficeError, match=r"^there failed: .*No such file"):
        measure_command(["/not/there"], tmp_path)
