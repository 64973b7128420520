"""Conversion of statistics and language families to text and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.data.episodes import Outline
from suffice.domains.tasks.corridor import Corridor
from suffice.errors import SettingsError
from suffice.evidence.adaptive import LADDER, AdaptiveLanguages
from suffice.evidence.bounds import PAPER, Bound
from suffice.evidence.language_counts import LanguageCounts, LanguagePlan
from suffice.evidence.languages import CONJUNCTIONS, Family
from suffice.evidence.prefix_sketch import PrefixSketches
from suffice.evidence.prefix_tree import PrefixCounts
from suffice.evidence.statistic import Statistic, StatisticOptions
from suffice.evidence.tables import FAMILIES, STATISTICS
from suffice.learning.adact_h import Settings
from suffice.models.api import learn

NUMBERS = st.integers(1, 10**9 - 1)


@given(st.builds(Family, NUMBERS, NUMBERS, NUMBERS, st.booleans()))
def test_family_parse_restores_any_family(family: Family) -> None:
    assert Family.parse(str(family)) == family


def test_family_text_of_common_families_is_short() -> None:
    assert str(CONJUNCTIONS) == "conjunctions" and str(Family(1, 2, 1)) == "1,2,1"
    assert str(Family(1, 2, 1, conjunctions=True)) == "conjunctions,1,2,1"


@pytest.mark.parametrize(
    "text", ["", "conjunctions,", "1,1", "1,1,1,1", "conjunctions,1", "x,1,1,1", "1,1,one", "1,,1"]
)
def test_family_parse_refuses_other_text_with_the_choices(text: str) -> None:
    message = r"is not a language family\..* Choose 'conjunctions' or 'adaptive', or I,J,K such as 1,1,1\."
    with pytest.raises(SettingsError, match=message):
        Family.parse(text)


def test_family_parse_refuses_the_name_of_several_families() -> None:
    with pytest.raises(SettingsError, match="family='adaptive' means several families"):
        Family.parse("adaptive")


@pytest.mark.parametrize(
    "statistic",
    [
        LanguageCounts(),
        LanguageCounts(Family(2, 1, 1)),
        LanguageCounts(Family(1, 2, 1, conjunctions=True)),
        AdaptiveLanguages(),
        AdaptiveLanguages((Family(1, 1, 1), Family(1, 2, 1, conjunctions=True))),
        PrefixCounts(),
        PrefixSketches(7),
    ],
    ids=str,
)
def test_statistic_options_create_the_same_statistic_again(statistic: Statistic) -> None:
    assert statistic.options.make() == statistic


def test_statistic_options_know_the_named_families() -> None:
    assert StatisticOptions().make() == LanguageCounts(CONJUNCTIONS)
    assert StatisticOptions(family="adaptive").make() == AdaptiveLanguages(LADDER)


def test_statistic_options_refuse_an_unknown_metric() -> None:
    with pytest.raises(SettingsError, match=r"'langages' is not a metric\. Did you mean 'languages'"):
        StatisticOptions("langages").make()


@pytest.mark.parametrize("metric", ["prefixes", "sketch"])
def test_statistic_options_refuse_a_family_of_other_metrics(metric: str) -> None:
    with pytest.raises(SettingsError, match=r"family='1,1,1' can.*metric='languages'"):
        StatisticOptions(metric, "1,1,1").make()


@pytest.mark.parametrize("family", [Family(1, 2, 1, conjunctions=True), Family(2, 1, 1)], ids=str)
def test_learn_like_a_model_uses_the_same_family(family: Family) -> None:
    episodes = Corridor().simulate(200, 3, np.random.default_rng(0))
    model = learn(episodes, settings=Settings(LanguageCounts(family)))
    assert model.about.family == str(family)
    again = learn(episodes, like=model)
    assert again.about.family == str(family) and again.about.languages == model.about.languages


# Statistics of other packages


@dataclass(frozen=True, slots=True)
class OneStep(Statistic):
    """Languages of single steps as a statistic of another package."""

    name: ClassVar[str] = "one-step"
    usual_bound: ClassVar[Bound] = PAPER

    @classmethod
    def of(cls, options: StatisticOptions) -> OneStep:
        return cls()

    def plan(self, log: Outline, bound: Bound, memory: int) -> LanguagePlan:
        return LanguageCounts(Family(1, 1, 1)).plan(log, bound, memory)


@pytest.fixture
def registered() -> Iterator[None]:
    STATISTICS.register("one-step", OneStep.of)
    FAMILIES.register("pairs", Family(1, 2, 1))
    yield
    STATISTICS.unregister("one-step")
    FAMILIES.unregister("pairs")


@pytest.mark.usefixtures("registered")
def test_learn_uses_a_registered_statistic_and_recalls_it() -> None:
    episodes = Corridor().simulate(500, 3, np.random.default_rng(0))
    model = learn(episodes, settings=Settings(StatisticOptions("one-step").make()))
    assert (model.about.metric, model.about.family, model.about.bound) == ("one-step", None, "paper")
    assert learn(episodes, like=model).about.metric == "one-step"


@pytest.mark.usefixtures("registered")
def test_registered_family_is_stored_as_numbers() -> None:
    assert Family.parse("pairs") == Family(1, 2, 1)
    assert StatisticOptions(family="pairs").make().options.family == "1,2,1"


def test_learn_like_refuses_a_model_of_an_unknown_metric() -> None:
    episodes = Corridor().simulate(200, 3, np.random.default_rng(0))
    model = learn(episodes, settings=Settings(OneStep()))
    assert model.policy() is not None
    with pytest.raises(SettingsError, match="'one-step' is not a metric"):
        learn(episodes, like=model)
