"""Sentences of a model's header: generated from numbers, the same before and after a file."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import ModelError
from suffice.evidence.adaptive import AdaptiveLanguages
from suffice.learning.adact_h import Settings, adact_h
from suffice.learning.stationary.learner import DEPTH_NAMES
from suffice.models.header import Header
from suffice.models.model import Model
from suffice.models.sentences import info_json, needed_sentence, plan_sentence, sentences
from suffice.planning.planner import Planning
from suffice.planning.regorl import Solution, Split, regorl

HOW: dict[str, dict[str, Any]] = {
    "usual": {},
    "stationary": {"stationary": True},
    "discounted": {"stationary": True, "planning": Planning(discount=0.9)},
    "split": {"split": Split(0.1, max_states=40)},
    "too many states": {"split": Split(0.1, max_states=2)},
    "subsampled": {"split": Split(0.1, 0.5, 40), "planning": Planning(subsample=True)},
}
every_way = pytest.mark.parametrize("name", HOW)


@cache
def learned(name: str) -> tuple[Solution, Model]:
    episodes = TMaze(length=2).simulate(600, 4, np.random.default_rng(1))
    solution = regorl(episodes, **HOW[name])
    return solution, Model.of(solution, episodes)


@every_way
def test_plan_sentence_is_the_same_for_a_loaded_model(tmp_path: Path, name: str) -> None:
    solution, model = learned(name)
    model.save(tmp_path / "a.model")
    assert plan_sentence(Model.load(tmp_path / "a.model").about) == plan_sentence(model.about) == solution.sentence


@every_way
def test_promise_sentences_are_the_same_for_a_loaded_model(tmp_path: Path, name: str) -> None:
    solution, model = learned(name)
    model.save(tmp_path / "a.model")
    assert Model.load(tmp_path / "a.model").about.promise == solution.learned.promise
    assert sentences(model.about)[0] == solution.learned.promise.sentence
    assert sentences(model.about)[-1] == solution.sentence


def test_needed_sentence_names_the_families_of_layers() -> None:
    episodes = TMaze(length=2).simulate(300, 4, np.random.default_rng(1))
    result = adact_h(episodes, Settings(AdaptiveLanguages()))
    about = Model.of(result, episodes).about
    assert result.needed is not None and needed_sentence(about) == result.needed.sentence
    assert info_json(about)["needed"]["ladder"] == [str(family) for family in result.needed.ladder]


def test_needed_sentence_counts_the_states_by_depth() -> None:
    solution, model = learned("stationary")
    assert solution.learned.needed is not None
    assert needed_sentence(model.about) == solution.learned.needed.sentence
    shown = info_json(model.about)["needed"]
    (farthest,) = solution.learned.needed.layers
    assert (shown["ladder"], shown["layers"], shown["left_out"]) == (list(DEPTH_NAMES), [DEPTH_NAMES[farthest]], [])


@every_way
def test_info_json_keeps_its_keys_in_their_order(name: str) -> None:
    about = learned(name)[1].about
    shown = info_json(about)
    assert list(shown) == ["needed", "promise", "plan"]
    assert list(shown["promise"]) == [
        *("sentence", "paper_sentence", "false_split", "tests", "detectable", "detectable_worst", "paper"),
        *("second_look_sentence", "second_look_tests", "second_look_false_split"),
    ]
    assert list(shown["plan"]) == [
        *("planner", "strength", "delta", "value", "error", "predicted", "predicted_error", "lower_bound"),
        *("behaviour_value", "sentence", "split", "proved_lower", "proved_upper", "discount", "behaviour_error"),
        *("accuracy", "max_states", "gain", "gain_error", "gain_lower_bound", "misfit", "judged"),
    ]
    assert shown["plan"]["sentence"] == plan_sentence(about)


def test_plan_sentence_is_empty_without_a_plan() -> None:
    about = msgspec.structs.replace(learned("usual")[1].about, plan=None)
    assert plan_sentence(about) == "" and info_json(about)["plan"] is None and len(sentences(about)) == 2


def forged(path: Path, change: Callable[[Any], None]) -> None:
    """Change the header of a model file."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(entries["header.json"])
    change(header)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in (entries | {"header.json": json.dumps(header).encode()}).items():
            archive.writestr(name, data)


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header["plan"].update(verdict="perhaps"),
        lambda header: header["plan"].update(verdict_reasons=["It rains."]),
        lambda header: header["needed"].update(states=[1] * 5),
        lambda header: header["needed"].update(states=["x"]),
        lambda header: header["promise"].pop("split"),
        lambda header: header["promise"].update(tests="many"),
        lambda header: header["promise"].update(second_split=-1e308),
        lambda header: header["plan"].update(predicted=1e308),
        lambda header: header["plan"].update(behaviour_error=-1e308),
        lambda header: header["needed"].update(states=[-1]),
        lambda header: header.update(episodes=header["episodes"] + 1),
    ],
)
def test_load_refuses_unknown_codes_in_the_header(tmp_path: Path, change: Callable[[Any], None]) -> None:
    path = tmp_path / "a.model"
    learned("stationary")[1].save(path)
    forged(path, change)
    with pytest.raises(ModelError, match="this model file is damaged"):
        Model.load(path)


@pytest.mark.parametrize("name", ["stationary", "subsampled"])
@pytest.mark.parametrize(
    "change",
    [
        lambda header: header["plan"].update(verdict_reasons=[]),
        lambda header: header["plan"].update(split=True, max_states=None, proved_lower=None),
        lambda header: header["plan"].update(best_return=-1e150, predicted=1e150),
        lambda header: header.update(needed={"ladder": [""], "layers": ["x"], "left_out": [""]}),
        lambda header: header.update(needed={"states": [0]}),
        lambda header: header.update(needed={}),
    ],
)
def test_sentences_show_odd_numbers_of_a_forged_header(
    tmp_path: Path, name: str, change: Callable[[Any], None]
) -> None:
    path = tmp_path / "a.model"
    learned(name)[1].save(path)
    forged(path, change)
    about: Header = Model.load(path).about
    assert all(sentences(about)) and info_json(about)
