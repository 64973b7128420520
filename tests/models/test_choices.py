"""`LearnOptions` and `Choices`: words become objects, and what cannot be combined is refused in both interfaces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suffice
from suffice import (
    BOUNDS,
    Episodes,
    Family,
    LanguageCounts,
    Planning,
    PrefixCounts,
    Settings,
    SettingsError,
    Split,
    make,
    simulate,
    write_log,
)
from suffice.models.choices import Choices
from suffice.models.column_choice import columns_chosen_by
from suffice.models.learn_options import LearnOptions, memory_bytes
from suffice.models.log_options import LogOptions
from support.cli import ok
from support.cli import suffice as run


def corridor(n: int, seed: int = 0) -> Episodes:
    return simulate(make("corridor").model(5), n, 5, np.random.default_rng(seed))


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("--delta 0.1 --confidence 0.9", {"delta": 0.1, "confidence": 0.9}, "both set the level of the tests"),
    ("--stationary --split", {"stationary": True, "split": True}, "proved for layers only"),
    ("--stationary auto --split", {"stationary": "auto", "split": True}, "proved for layers only"),
    ("--stationary --planner subsampled", {"stationary": True, "planning": "subsampled"}, "proved for layers only"),
    ("--stationary --metric prefixes", {"stationary": True, "metric": "prefixes"}, "compares states by e-values"),
    ("--stationary --family conjunctions", {"stationary": True, "family": "conjunctions"}, "by e-values"),
    ("--stationary --bound paper", {"stationary": True, "bound": "paper"}, "compares states by e-values"),
    ("--stationary --second-look", {"stationary": True, "second_look": True}, "refines layers"),
    ("--stationary no --discount 0.9", {"stationary": False, "discount": 0.9}, "needs an automaton without layers"),
    ("--delta 0.1 --strict", {"delta": 0.1, "strict": True}, "applies to"),
    ("--planner none --split", {"plan": False, "split": True}, "is for a plan, and "),
    ("--planner none --hold-out 0.2", {"plan": False, "hold_out": 0.2}, "is for a plan, and "),
    ("--planner none --strength 1", {"plan": False, "strength": 1.0}, "has no effect with"),
    ("--planner greedy --strength 1", {"planning": "greedy", "strength": 1.0}, "has no effect with"),
    ("--planner none --discount 0.9", {"plan": False, "discount": 0.9}, "has no effect with"),
    (
        "--stationary --planner subsampled --discount 0.9",
        {"stationary": True, "planning": "subsampled", "discount": 0.9},
        "has no effect with",
    ),
    ("--split --accuracy 1", {"split": True, "accuracy": 1.0}, "can be proved with"),
    ("--planner subsampled --accuracy 1", {"planning": "subsampled", "accuracy": 1.0}, "applies to "),
    ("--max-states 30", {"max_states": 30}, "applies to "),
    ("--split --confidence 0.9", {"split": True, "confidence": 0.9}, "divides δ as the paper does"),
    ("--split --second-look", {"split": True, "second_look": True}, "cannot be combined with"),
    ("--seed -1", {"seed": -1}, "is negative"),
    ("--memory lots", {"memory": "lots"}, "is not a size"),
    ("--memory 5", {"memory": "5"}, "is too little"),
    ("--delta 2", {"delta": 2.0}, "probability between 0 and 1"),
    ("--cut 1", {"cut": 1.0}, "is not a share of the episodes, from 0 to less than 1. Try 0.001."),
    ("--threads 0", {"threads": 0}, "is not a number of threads. Use 1 or more."),
]


@pytest.mark.parametrize(("words", "chosen", "message"), REFUSED, ids=[words for words, *_ in REFUSED])
def test_learn_refuses_what_the_learn_command_refuses(
    words: str, chosen: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python messages name parameters, those of the command options."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=message) as caught:
        suffice.learn(corridor(50), **chosen)
    assert isinstance(caught.value, ValueError) and "--" not in str(caught.value)
    assert any(name in str(caught.value) for name in chosen)
    write_log(corridor(50), "log.parquet")
    ran = run("learn", "log.parquet", "-o", "x.model", *words.split())
    assert ran.code == 2 and message in ran.err and not Path("x.model").exists()
    assert any(word in ran.err for word in words.split() if word.startswith("--"))
    assert "planning=" not in ran.err and "second_look=" not in ran.err and "stationary=" not in ran.err


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (
            {"planning": "gredy"},
            "planning='gredy' is not a planner. Did you mean 'greedy'[?] Choose 'safe', .* or 'none'.",
        ),
        (
            {"planning": suffice.Planning(planner="bold"), "strength": 1.0},
            "planner='bold' is not a planner. Choose 'safe', 'greedy', 'pessimistic' or 'subsampled'.",
        ),
        ({"planning": 3}, "planning=3 is not a planner. Choose 'safe'"),
        (
            {"metric": "language"},
            "metric='language' is not a metric. Did you mean 'languages'[?] Choose 'languages', 'prefixes' or",
        ),
        ({"metric": PrefixCounts()}, "is not a metric. Choose 'languages'"),
        (
            {"bound": "papr"},
            "bound='papr' is not a bound. Did you mean 'paper'[?] Choose 'paper', 'two-sample', .* or 'fisher'.",
        ),
        (
            {"bound": 3},
            "bound=3 is not a bound, because it has no 'measure'. Choose 'paper', 'two-sample', 'likelihood-ratio' or",
        ),
        (
            {"family": "1,1"},
            "family='1,1' is not a language family. Choose 'conjunctions' or 'adaptive', or I,J,K such as 1,1,1.",
        ),
        ({"stationary": "sometimes"}, "stationary='sometimes' is not a choice. Choose True, False or 'auto'."),
        ({"split": 0.5}, "split=0.5 is not a split. Use True, False or a Split."),
        ({"engine": "spark"}, "'spark' is not an engine. Choose 'local' or 'ray'."),
        ({"workers": 2}, "workers=2 needs a cluster. Add engine='ray', or use threads=2 instead."),
        ({"engine": suffice.Ray(2), "workers": 2}, "workers is part of the engine"),
        ({"plan": False, "planning": "safe"}, "plan=False and planning contradict each other"),
        ({"plan": False, "split": Split()}, "is for a plan, and "),
        ({"split": Split(), "second_look": True}, "split cannot be combined with second_look=True"),
        ({"split": Split(), "delta": 0.1}, "contradict each other"),
        ({"split": Split(), "max_states": 9}, "contradict each other"),
        ({"planning": Planning(0.5), "strength": 0.1}, "strength and planning=.* contradict each other"),
        ({"settings": Settings(bound=BOUNDS["paper"]), "bound": "fisher"}, "bound contradicts bound=.* in settings"),
        ({"settings": Settings(PrefixCounts()), "metric": "sketch"}, "metric contradicts statistic=.* in settings"),
        ({"settings": Settings(LanguageCounts(Family(1, 1, 1))), "family": "2,1,1"}, "family contradicts"),
        ({"settings": Settings(delta=0.01), "delta": 0.1}, "delta contradicts delta=0.01 in settings"),
        ({"settings": Settings(confidence=0.9), "delta": 0.1}, "delta and the confidence in settings contradict"),
        ({"settings": Settings(threads=2), "threads": 3}, "threads contradicts threads=2 in settings"),
        ({"stationary": True, "settings": Settings(PrefixCounts())}, "compares states by e-values"),
        ({"stationary": False, "planning": Planning(discount=0.9)}, "discount=.* needs an automaton without layers"),
        ({"settings": Settings(strict=True), "bound": "paper"}, "strict=True applies to stationary=True only"),
        ({"horizon": 0}, "horizon=0 leaves no decision. Use 1 or more."),
        (
            {"bins": {"row": 4}},
            "bins: Episodes are binned when they are read, so 'row' cannot be binned now. Pass bins to read_log, or",
        ),
        ({"hold_out": 1.0}, "hold_out=1.0 is not a share between 0 and 1. Try 0.2."),
        ({"observations": ["row"]}, "observations takes effect when a log is read"),
        ({"drop_truncated": True}, "drop_truncated takes effect when a log is read"),
        ({"schema": "schema.json"}, "schema takes effect when a log is read"),
    ],
)
def test_learn_refuses_unknown_words_and_contradictions(chosen: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message.replace("(", r"\(")):
        suffice.learn(corridor(50), **chosen)


def test_learn_options_without_words_give_the_default_choices() -> None:
    assert LearnOptions().choices() == Choices() == Choices.of(suffice.learn(corridor(300)))


def test_learn_options_apply_words_to_default_fields_of_settings() -> None:
    """Words complete a `Settings` object wherever it has the default."""
    settings = Settings(threads=2)
    found = LearnOptions(settings=settings, bound="paper", family="1,1,1", cut=0.1, delta=0.01).choices().settings
    expected = Settings(LanguageCounts(Family(1, 1, 1)), BOUNDS["paper"], 0.01, None, 0.1, 2, settings.memory)
    assert found == expected


@pytest.mark.parametrize(
    ("options", "refined"),
    [
        (LearnOptions(), True),
        (LearnOptions(threads=1), True),
        (LearnOptions(metric="languages"), False),
        (LearnOptions(cut=0.0), False),
        (LearnOptions(settings=Settings(threads=3)), True),
        (LearnOptions(metric="prefixes"), False),
        (LearnOptions(bound="fisher"), False),
        (LearnOptions(delta=0.001), False),
        (LearnOptions(settings=Settings(delta=0.01)), False),
        (LearnOptions(plan=False), False),
        (LearnOptions(split=True), False),
        (LearnOptions(delta=0.001, second_look=True), True),
    ],
)
def test_learn_options_refine_unless_a_test_split_or_no_plan_is_chosen(options: LearnOptions, refined: bool) -> None:
    assert options.choices().second_look is refined


GIVEN: list[tuple[dict[str, Any], str]] = [
    ({"metric": "languages"}, "--metric languages"),
    ({"family": "conjunctions"}, "--family conjunctions"),
    ({"bound": "fisher"}, "--bound fisher"),
    ({"cut": 0.0}, "--cut 0"),
    ({"delta": 0.001}, "--delta 0.001"),
    ({"split": True}, "--split"),
]


@pytest.mark.parametrize(("given", "words"), GIVEN, ids=[words for _, words in GIVEN])
def test_a_part_of_the_algorithm_gives_layers_on_all_columns_even_with_its_default(
    given: dict[str, Any], words: str, tmp_path: Path
) -> None:
    options = LearnOptions(**given)
    assert options.chooses_algorithm and columns_chosen_by(LogOptions(), options, None) == "caller"
    found = options.choices()
    assert (found.stationary, found.second_look) == (False, False)
    write_log(corridor(60), tmp_path / "log.parquet")
    ok("learn", str(tmp_path / "log.parquet"), "-o", str(tmp_path / "it.model"), *words.split())
    made = suffice.load(tmp_path / "it.model")
    assert not made.rdp.stationary and made.compared is None and not made.about.second_look


@pytest.mark.parametrize("given", [{}, {"threads": 1}, {"settings": Settings(threads=3)}, {"split": False}])
def test_options_that_are_no_part_of_the_algorithm_leave_the_choice_to_the_data(given: dict[str, Any]) -> None:
    options = LearnOptions(**given)
    assert options.choices().stationary == "auto" and options.choices().second_look
    assert columns_chosen_by(LogOptions(), options, None) == "data if possible"


def test_learn_options_override_an_earlier_model() -> None:
    earlier = suffice.learn(corridor(300), family="1,1,1", planning="greedy")
    kept, changed = (LearnOptions(**words).choices(earlier) for words in ({}, {"bound": "paper", "planning": "safe"}))
    assert kept.settings.statistic == changed.settings.statistic == LanguageCounts(Family(1, 1, 1))
    assert (kept.planning, changed.planning) == (suffice.GREEDY, Planning())
    assert changed.settings.bound == BOUNDS["paper"] and kept.settings.bound is None
    assert LearnOptions(metric="prefixes").choices(earlier).settings.statistic == PrefixCounts()
    split = suffice.learn(corridor(300), split=True, max_states=20)
    assert LearnOptions(delta=0.2).choices(split).split == Split(0.2, None, 20)
    assert LearnOptions(split=False).choices(split).split is None


def test_memory_bytes_reads_units() -> None:
    sizes = {"4GB": 4 * 10**9, "500 mb": 5 * 10**8, "1.5MiB": 1572864, "2000000": 2_000_000, "1T": 10**12}
    assert {text: memory_bytes(text) for text in sizes} == sizes
    assert memory_bytes(12_345_678) == 12_345_678
    for text in ("", "4 GB please", "-1GB", "GB"):
        with pytest.raises(SettingsError, match="is not a size"):
            memory_bytes(text)


def test_settings_with_like_keep_the_test_and_level_of_the_earlier_model() -> None:
    """Fields of `settings` with the default value are those of the earlier model."""
    earlier = suffice.learn(corridor(100), bound="paper", delta=0.02)
    found = LearnOptions(settings=Settings(cut=0.1)).choices(earlier).settings
    assert (found.chosen_bound.name, found.delta, found.cut) == ("paper", 0.02, 0.1)
    sure = suffice.learn(corridor(100), confidence=0.9)
    assert LearnOptions(settings=Settings(cut=0.1)).choices(sure).settings.confidence == 0.9
    changed = LearnOptions(settings=Settings(delta=0.1)).choices(sure).settings
    assert (changed.delta, changed.confidence) == (0.1, None)


def test_split_with_like_keeps_the_split_of_the_earlier_model() -> None:
    earlier = suffice.learn(corridor(100), split=Split(delta=0.2, max_states=30))
    assert LearnOptions(split=True).choices(earlier).split == Split(delta=0.2, max_states=30)


@pytest.mark.parametrize("settings", [Settings(delta=0.1), Settings(confidence=0.9)])
@pytest.mark.parametrize("split", [True, Split()])
def test_level_in_settings_is_refused_with_a_split(settings: Settings, split: bool | Split) -> None:
    with pytest.raises(SettingsError, match=r"in settings cannot be combined with split=True, .* Use delta or Split"):
        LearnOptions(settings=settings, split=split).choices()


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"seed": None}, "seed is not a whole number"),
    ({"seed": "1"}, "seed='1' is not a whole number"),
    ({"seed": 1.5}, "seed=1.5 is not a whole number"),
    ({"hold_out": "0.2"}, "hold_out='0.2' is not a share"),
    ({"horizon": "3"}, "horizon='3' is not a whole number"),
    ({"stationary": []}, "stationary=[] is not a choice"),
    ({"memory": 4}, "memory=4 is 4 bytes, which is too little"),
    ({"memory": True}, "memory=True is not a number of bytes"),
    ({"memory": 4.5}, "memory=4.5 is not a number of bytes"),
    ({"columns": ["a"]}, "columns"),
    ({"threads": 1.5}, "threads=1.5 is not a whole number"),
    ({"split": True, "max_states": "9"}, "max_states='9' is not a whole number"),
    ({"accuracy": "9"}, "accuracy='9' is not a number"),
    ({"like": 5}, "like is of type int, not a model"),
    ({"settings": 5}, "settings is of type int, not Settings"),
    ({"family": 5}, "family=5 is not a language family"),
    ({"bound": "fischer"}, "bound='fischer' is not a bound. Did you mean 'fisher'? Choose "),
    ({"metric": "language"}, "metric='language' is not a metric. Did you mean 'languages'? Choose "),
    ({"planning": "gredy"}, "planning='gredy' is not a planner. Did you mean 'greedy'? Choose "),
    ({"planning": "gredy"}, "or 'none'."),
    ({"planning": 5}, "planning=5 is not a planner. Choose "),
]


@pytest.mark.parametrize(("chosen", "message"), WRONG, ids=[message for _, message in WRONG])
def test_learn_refuses_values_of_other_types_in_one_line(chosen: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        suffice.learn(corridor(20), **chosen)
    assert message in str(caught.value)


def test_learn_accepts_a_family_as_three_numbers() -> None:
    assert LearnOptions(family=(1, 2, 1)).choices().settings == LearnOptions(family="1,2,1").choices().settings


def test_learn_says_which_choices_come_from_the_earlier_model() -> None:
    earlier = suffice.learn(corridor(100), bound="paper")
    with pytest.raises(
        SettingsError, match=r"another statistic or bound.* is taken from the earlier model, like"
    ) as caught:
        suffice.learn(corridor(50), like=earlier, stationary=True)
    assert "metric" not in str(caught.value)


def test_learn_takes_the_file_of_an_earlier_model(tmp_path: Path) -> None:
    suffice.learn(corridor(100), delta=0.02).save(tmp_path / "a.model")
    assert suffice.learn(corridor(50), like=tmp_path / "a.model").about.delta == 0.02


def test_learn_refuses_data_before_a_cluster_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    from suffice.engines.ray import Ray

    def start(self: Ray) -> None:
        raise AssertionError("the cluster is started")

    monkeypatch.setattr(Ray, "reading", start)
    with pytest.raises(SettingsError, match="workers read only Parquet files"):
        suffice.learn([[("a", "go", 1.0)]] * 10, engine="ray")
