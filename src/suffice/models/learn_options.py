"""The parameters of `learn` as a user gives them, in Python or on the command line.

`LearnOptions.choices` checks that they can be combined, turns words into objects and returns `Choices`, from which the
learner runs. `suffice.learn` and `suffice learn` share this code, so that both give the same model file and refuse the
same combinations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from suffice.data.memory_limit import memory_bytes as memory_bytes
from suffice.errors import SettingsError, alternatives, did_you_mean, is_number, is_whole, parameter
from suffice.evidence.bounds import BOUNDS, Bound
from suffice.evidence.language_counts import LanguageCounts
from suffice.evidence.languages import Family
from suffice.evidence.statistic import Statistic, StatisticOptions
from suffice.evidence.tables import STATISTICS
from suffice.learning.adact_h import Settings
from suffice.models.choices import Choices
from suffice.models.model import Model
from suffice.planning.objective import OBJECTIVES, ObjectiveName
from suffice.planning.planner import PLANNERS, Planning, as_planning, planner_of
from suffice.planning.regorl import Split

Stationary = bool | Literal["auto", "yes", "no"]
NO_PLAN = "none"  # accepted as the name of a planner


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnOptions:
    """The parameters of `suffice.learn` that choose how to learn and plan, as given; None means not given.

    The parameters are described in `suffice.learn`.
    """

    settings: Settings | None = None
    metric: str | None = None
    family: Family | str | Sequence[int] | None = None
    bound: Bound | str | None = None
    delta: float | None = None
    confidence: float | None = None
    cut: float | None = None
    strict: bool | None = None
    second_look: bool | None = None
    stationary: Stationary | None = None
    plan: bool = True
    planning: Planning | str | None = None
    strength: float | None = None
    discount: float | None = None
    objective: ObjectiveName | None = None
    split: Split | bool | None = None
    accuracy: float | None = None
    max_states: int | None = None
    hold_out: float | None = None
    seed: int = 0
    threads: int | None = None
    memory: int | str | None = None

    def choices(self, like: Model | None = None) -> Choices:
        """Turn the options into choices; what is not given is taken from an earlier model, or is the default."""
        if self.settings is not None and not isinstance(self.settings, Settings):
            raise SettingsError(
                f"settings is of type {type(self.settings).__name__}, not Settings. Pass suffice.Settings(), or leave "
                "it out."
            )
        for name in ("threads", "max_states"):
            value = getattr(self, name)
            if value is not None and not is_whole(value):
                raise SettingsError(f"{parameter(name, value)} is not a whole number. Use 1 or more.")
        if self.accuracy is not None and not is_number(self.accuracy):
            raise SettingsError(f"{parameter('accuracy', self.accuracy)} is not a number. Try 0.1.")
        if like is None:
            return self._choices(None)
        try:
            return self._choices(like)
        except SettingsError as error:
            self._choices(None)  # raises the same error if the earlier model does not matter
            raise SettingsError(
                f"{error} What is not given here is taken from the earlier model, {parameter('like')}."
            ) from error

    @property
    def chooses_algorithm(self) -> bool:
        """Whether the paper's algorithm is chosen: layers, not refined, on all given columns.

        It is if a metric, family, bound, cut or split is given, even if it is the default one, or a level of layers.
        """
        if self.split or any(value is not None for value in (self.metric, self.family, self.bound, self.cut)):
            return True
        if self._chooses_level and self.stationary not in (True, "yes", "auto"):
            return True
        return self._differs_in("statistic", "bound", "delta", "confidence", "cut")

    @property
    def _chooses_level(self) -> bool:
        return self.delta is not None or self.confidence is not None

    def _differs_in(self, *names: str) -> bool:
        """Return whether `settings` are given and differ from the default in one of these fields."""
        standard = Settings()
        return self.settings is not None and any(
            getattr(self.settings, name) != getattr(standard, name) for name in names
        )

    def _choices(self, like: Model | None) -> Choices:
        usual = Choices() if like is None else Choices.of(like)
        planning = self._planning(usual.planning)
        split = self._split(usual.split, planning)
        stationary = usual.stationary if self.stationary is None else _stationary(self.stationary)
        needs_layers = split is not None or (planning is not None and planning.subsample)
        if self.stationary is None and stationary == "auto" and (self.chooses_algorithm or needs_layers):
            stationary = False
        if stationary is True:
            self._refuse_with_stationary()
        look = self.second_look
        if look is None:  # refine unless a test, a level, a split or no plan was chosen
            look = usual.second_look if like is not None else planning is not None
            look = look and split is None and not (self.chooses_algorithm or self._chooses_level)
        settings = self._settings(usual.settings)
        return Choices(settings, planning, split, look, stationary, self.hold_out, self.seed)

    # ------------------------------------------------------------ settings of the learner

    def _settings(self, usual: Settings) -> Settings:
        if self.delta is not None and self.confidence is not None:
            raise SettingsError(
                f"{parameter('delta')} and {parameter('confidence')} both set the level of the tests. Leave one of "
                "them out."
            )
        given: dict[str, Any] = {
            "bound": None if self.bound is None else _bound(self.bound),
            "delta": self.delta,
            "confidence": self.confidence,
            "cut": self.cut,
            "strict": self.strict,
            "threads": self.threads,
            "memory": None if self.memory is None else memory_bytes(self.memory),
        }
        given = {name: value for name, value in given.items() if value is not None}
        base = usual if self.settings is None else _completed(self.settings, usual)
        if (statistic := self._statistic(base.statistic)) is not base.statistic:
            given["statistic"] = statistic
        if self.settings is not None:
            self._refuse_conflicts(given)
        if self.delta is not None:
            given["confidence"] = None
        return replace(base, **given)

    def _statistic(self, usual: Statistic) -> Statistic:
        if self.metric is not None and (not isinstance(self.metric, str) or self.metric not in STATISTICS):
            raise _unknown("metric", self.metric, STATISTICS)
        metric = usual.options.metric if self.metric is None else self.metric
        if self.family is None and metric == usual.options.metric:
            return usual
        family = None if self.family is None else _family(self.family)
        return StatisticOptions(metric, family, seed=self.seed).make()

    def _refuse_conflicts(self, given: dict[str, Any]) -> None:
        """Refuse words that contradict `settings`; where `settings` has the default, the word is used."""
        usual = Settings()
        for name, value in given.items():
            theirs = getattr(self.settings, name)
            if theirs not in (getattr(usual, name), value):
                word = name if name != "statistic" else "metric" if self.metric is not None else "family"
                raise SettingsError(
                    f"{parameter(word)} contradicts {name}={theirs!r} in settings. Leave one of them out."
                )
        if self.delta is not None and self.settings is not None and self.settings.confidence is not None:
            raise SettingsError(
                f"{parameter('delta')} and the confidence in settings contradict each other. Leave one of them out."
            )

    # ------------------------------------------------------------ plan

    def _planning(self, usual: Planning | None) -> Planning | None:
        no_plan = not self.plan or self.planning == NO_PLAN
        chosen = None if self.planning == NO_PLAN else self.planning
        if chosen is not None and not isinstance(chosen, Planning) and chosen not in list(PLANNERS):
            raise _unknown("planning", chosen, [*PLANNERS, NO_PLAN], kind="planner")
        planning = usual if chosen is None else as_planning(chosen)
        if planning is not None:
            planner_of(planning)  # refuses an unknown planner
        if no_plan:
            if chosen is not None:
                raise SettingsError(
                    f"{parameter('plan', False)} and {parameter('planning')} contradict each other. Leave one of them "
                    "out."
                )
            planning = None
        self._refuse_without_effect(planning)
        if planning is None:
            return None
        if self.objective is not None and self.objective not in OBJECTIVES:
            raise _unknown("objective", self.objective, OBJECTIVES)
        given: dict[str, Any] = {
            "strength": self.strength,
            "discount": self.discount,
            "objective": self.objective,
        }
        given = {name: value for name, value in given.items() if value is not None}
        if isinstance(chosen, Planning):
            for name, value in given.items():
                if getattr(chosen, name) not in (getattr(Planning(), name), value):
                    raise SettingsError(
                        f"{parameter(name)} and planning={chosen!r} contradict each other. Leave one of them out."
                    )
        return replace(planning, **given)

    def _refuse_without_effect(self, planning: Planning | None) -> None:
        """Refuse parameters of a plan that the chosen planner does not use."""
        name = NO_PLAN if planning is None else planning.name
        called = parameter("plan", False) if planning is None else parameter("planning", name)
        if self.strength is not None and (planning is None or planner_of(planning).usual.strength == 0):
            raise SettingsError(
                f"{parameter('strength')} sets how cautious a plan is, which has no effect with {called}. Leave one "
                "of them out."
            )
        if planning is None and (self.split or self.hold_out is not None):
            other = parameter("split", True) if self.split else parameter("hold_out", self.hold_out)
            raise SettingsError(f"{other} is for a plan, and {called} makes none. Leave one of them out.")
        if self.accuracy is not None and not (planning is not None and planning.subsample):
            raise SettingsError(
                f"{parameter('accuracy', self.accuracy)} can be proved with {parameter('split', True)} and "
                f"{parameter('planning', 'subsampled')} only. Add both, or leave out {parameter('accuracy')}."
            )
        if self.objective not in (None, "return") and planning is None:
            raise SettingsError(f"{parameter('objective')} has no effect with {called}. Leave one of them out.")
        if self.discount is not None and (planning is None or planning.subsample):
            raise SettingsError(f"{parameter('discount')} has no effect with {called}. Leave one of them out.")

    def _split(self, usual: Split | None, planning: Planning | None) -> Split | None:
        split = self._own_split(usual, planning)
        if split is None:
            return None
        if self.confidence is not None:
            raise SettingsError(
                f"{parameter('confidence', self.confidence)} cannot be combined with {parameter('split', True)}, "
                f"which divides δ as the paper does. Use {parameter('delta')} instead."
            )
        standard, level = Settings(), None
        if self.settings is not None and self.settings.confidence is not None:
            level = f"confidence={self.settings.confidence!r}"
        elif self.settings is not None and self.settings.delta != standard.delta:
            level = f"delta={self.settings.delta!r}"
        if level is not None:
            raise SettingsError(
                f"{level} in settings cannot be combined with {parameter('split', True)}, which divides δ as the paper "
                f"does. Use {parameter('delta')} or Split(delta=…) instead."
            )
        return split

    def _own_split(self, usual: Split | None, planning: Planning | None) -> Split | None:
        given: dict[str, Any] = {"delta": self.delta, "accuracy": self.accuracy, "max_states": self.max_states}
        given = {name: value for name, value in given.items() if value is not None}
        if isinstance(self.split, Split):
            if given:
                raise SettingsError(
                    f"{parameter(next(iter(given)))} and split={self.split!r} contradict each other. Leave one of "
                    "them out."
                )
            return self.split
        if not isinstance(self.split, bool | None):
            raise SettingsError(f"{parameter('split', self.split)} is not a split. Use True, False or a Split.")
        base = (usual or Split()) if self.split else usual if self.split is None and planning is not None else None
        if base is None:
            if self.accuracy is not None or self.max_states is not None:
                name = "max_states" if self.accuracy is None else "accuracy"
                value = parameter(name, getattr(self, name))
                raise SettingsError(
                    f"{value} applies to {parameter('split', True)} only. Add it, or leave out {parameter(name)}."
                )
            return None
        return replace(base, **given)

    # ------------------------------------------------------------ stationary automata

    def _refuse_with_stationary(self) -> None:
        usual = LanguageCounts().options.metric
        chosen = {"metric": self.metric not in (None, usual), "family": self.family, "bound": self.bound}
        if given := [parameter(name) for name, value in chosen.items() if value not in (None, False)]:
            raise SettingsError(
                f"{parameter('stationary', True)} compares states by e-values. Leave out {' and '.join(given)}."
            )
        if self.second_look:
            raise SettingsError(
                f"{parameter('second_look', True)} refines layers, which {parameter('stationary', True)} does not "
                "have. Leave one of them out."
            )


def _completed(settings: Settings, usual: Settings) -> Settings:
    """Return settings whose fields with the default value are those of an earlier model."""
    standard, names = Settings(), ("statistic", "bound", "delta", "confidence", "cut", "strict")
    taken = {name: getattr(usual, name) for name in names if getattr(settings, name) == getattr(standard, name)}
    if settings.delta != standard.delta:  # a confidence would take precedence
        taken["confidence"] = settings.confidence
    if settings.statistic != standard.statistic:  # a bound belongs to a statistic
        taken["bound"] = settings.bound
    return replace(settings, **taken)


def _family(chosen: Family | str | Sequence[int]) -> str:
    """Return a family as text; three numbers may be a sequence."""
    if isinstance(chosen, Family | str):
        return str(chosen)
    if isinstance(chosen, list | tuple) and len(chosen) == 3 and all(map(is_whole, chosen)):
        return ",".join(map(str, chosen))
    raise SettingsError(
        f"{parameter('family', chosen)} is not a language family. Use a name, text such as '1,1,1', or a Family."
    )


def _stationary(chosen: Stationary) -> bool | Literal["auto"]:
    words: dict[object, bool | Literal["auto"]] = {"yes": True, "no": False, "auto": "auto"}
    if isinstance(chosen, bool):
        return chosen
    if chosen not in list(words):
        raise SettingsError(f"{parameter('stationary', chosen)} is not a choice. Choose True, False or 'auto'.")
    return words[chosen]


def _bound(chosen: Bound | str) -> Bound:
    if not isinstance(chosen, str):
        return chosen  # checked by Settings
    if chosen not in BOUNDS:
        raise _unknown("bound", chosen, BOUNDS)
    return BOUNDS[chosen]


def _unknown(name: str, value: object, known: Iterable[str], kind: str | None = None) -> SettingsError:
    names = list(known)
    hint = did_you_mean(value, names) if isinstance(value, str) else ""
    return SettingsError(f"{parameter(name, value)} is not a {kind or name}{hint or '.'} Choose {alternatives(names)}.")
