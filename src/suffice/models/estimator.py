"""The `Learner`, which offers `suffice.learn` as a scikit-learn estimator.

It takes whole episodes, not single rows: every row of a table belongs to an episode and a step. `predict` returns the
actions of the plan, so there is no `y`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.data.alphabet import PAD, Alphabet
from suffice.data.encoding.binning import Binning
from suffice.data.encoding.columns import Columns
from suffice.data.encoding.encoder import EncoderRequest
from suffice.data.ends import Ends
from suffice.data.episodes import Episodes
from suffice.data.loading import Data, Reading, read_data
from suffice.data.logs.reading import ReadOptions
from suffice.errors import LogError, ModelError, SettingsError, did_you_mean
from suffice.evidence.bounds import Bound
from suffice.evidence.languages import Family
from suffice.learning.adact_h import Settings
from suffice.models.api import learn_model
from suffice.models.held_out import is_learned_from
from suffice.models.learn_options import LearnOptions, Stationary
from suffice.models.log_options import MAX_VALUES, LogOptions
from suffice.models.model import Model
from suffice.planning.objective import RETURN, ObjectiveName
from suffice.planning.off_policy import evaluate_off_policy, refuse_other_features
from suffice.planning.planner import Planning
from suffice.planning.regorl import Split

READING = (
    "columns", "observations", "horizon", "bins", "drop_truncated", "max_values", "schema", "ends", "group_column"
)  # fmt: skip


class Learner:
    """Estimator with `fit`, `partial_fit`, `predict` and `score` around `suffice.learn`.

    Parameters
    ----------
    stationary, delta, confidence, settings, planning, strength, discount, objective
        As in `learn`.
    split, accuracy, max_states, second_look, metric, family, bound, cut, strict
        As in `learn`.
    columns, observations, horizon, bins, drop_truncated, max_values, schema, ends, group_column
        How data are read, as in `learn`.
    seed, threads, memory
        As in `learn`.

    Examples
    --------
    >>> learner = suffice.Learner(delta=0.01).fit(episodes)
    >>> learner.n_states_
    11
    >>> learner.partial_fit("more.parquet").predict("log.parquet")[:5]
    array([1, 0, 0, 1, 0])
    >>> learner.score(suffice.simulate(suffice.make("corridor").model(5), 1000, 5, np.random.default_rng(3)))
    5.0
    """

    def __init__(
        self,
        *,
        stationary: Stationary | None = None,
        delta: float | None = None,
        confidence: float | None = None,
        settings: Settings | None = None,
        planning: Planning | str | None = None,
        strength: float | None = None,
        discount: float | None = None,
        objective: ObjectiveName | None = None,
        split: Split | bool | None = None,
        accuracy: float | None = None,
        max_states: int | None = None,
        second_look: bool | None = None,
        metric: str | None = None,
        family: Family | str | Sequence[int] | None = None,
        bound: Bound | str | None = None,
        cut: float | None = None,
        strict: bool | None = None,
        columns: Columns | Mapping[str, Any] | str | None = None,
        observations: Sequence[str] | str | None = None,
        horizon: int | None = None,
        bins: Mapping[str, Binning | str] | None = None,
        drop_truncated: bool = False,
        max_values: int = MAX_VALUES,
        schema: Alphabet | str | Path | None = None,
        ends: Ends = "auto",
        group_column: str | None = None,
        seed: int = 0,
        threads: int | None = None,
        memory: int | str | None = None,
    ) -> None:
        self.stationary = stationary
        self.delta = delta
        self.confidence = confidence
        self.settings = settings
        self.planning = planning
        self.strength = strength
        self.discount = discount
        self.objective = objective
        self.split = split
        self.accuracy = accuracy
        self.max_states = max_states
        self.second_look = second_look
        self.metric = metric
        self.family = family
        self.bound = bound
        self.cut = cut
        self.strict = strict
        self.columns = columns
        self.observations = observations
        self.horizon = horizon
        self.bins = bins
        self.drop_truncated = drop_truncated
        self.max_values = max_values
        self.schema = schema
        self.ends = ends
        self.group_column = group_column
        self.seed = seed
        self.threads = threads
        self.memory = memory
        self._model: Model | None = None
        self._episodes: Episodes | None = None
        self._sizes: tuple[int, ...] = ()  # stored episodes of each log, if there are several

    def __repr__(self) -> str:
        usual = signature(type(self)).parameters
        given = {name: value for name, value in self.get_params().items() if value != usual[name].default}
        return f"Learner({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters as they were given; `Learner(**learner.get_params())` is an unfitted copy.

        Parameters
        ----------
        deep
            Has no effect: no parameter has parameters of its own.

        Returns
        -------
        dict
            Values by name.
        """
        del deep
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    def set_params(self, **parameters: Any) -> Learner:
        """Change parameters; they take effect with the next `fit`.

        Parameters
        ----------
        **parameters
            New values by name.

        Returns
        -------
        Learner
            This object.
        """
        for name, value in parameters.items():
            if name not in signature(type(self)).parameters:
                known = ", ".join(signature(type(self)).parameters)
                hint = did_you_mean(name, signature(type(self)).parameters) or "."
                raise SettingsError(f"{name!r} is not a parameter of Learner{hint} Choose from {known}.")
            setattr(self, name, value)
        return self

    def fit(self, data: Data, y: None = None) -> Learner:
        """Learn from data; what was learned before is discarded.

        Parameters
        ----------
        data
            As in `learn`.
        y
            Not used.

        Returns
        -------
        Learner
            This object.
        """
        before = None if self._model is None else self._model.columns
        LogOptions(**{name: getattr(self, name) for name in READING}).refuse_for_episodes(data)
        how = self._read_options()
        request = EncoderRequest(how.encoder.columns, how.encoder.kinds, before)
        return self._learn(read_data(data, request, self.horizon, None, how))

    def partial_fit(self, data: Data, y: None = None) -> Learner:
        """Add data to what was learned from before, and learn again from all of it.

        The episodes stay in memory, mostly one byte per step. New data are binned as the first were.

        Parameters
        ----------
        data
            As in `learn`.
        y
            Not used.

        Returns
        -------
        Learner
            This object.
        """
        if self._episodes is None:
            return self.fit(data)
        alike, before, how = self._alike, self._episodes.horizon, self._read_options(bins=False)
        more = read_data(data, alike, self.horizon, None, how)
        if more.here.horizon > before:  # earlier episodes may have ended there or been cut: that is no longer known
            raise LogError(
                f"the new episodes have {more.here.horizon} decisions, more than the earlier ones ({before}). Fit both "
                "together with fit([old, new]), or set horizon."
            )
        if more.here.horizon < before and not isinstance(data, Episodes):
            more = read_data(data, alike, before, None, how)
        sizes = (*(self._sizes or (self._episodes.n,)), *(more.sizes or (more.here.n,)))
        return self._learn(more._replace(episodes=Episodes.joined([self._episodes, more.here]), sizes=sizes))

    @property
    def model_(self) -> Model:
        """Return the model of the last `fit` or `partial_fit`."""
        if self._model is None:
            raise ModelError("this Learner is not fitted. Call fit(data) first.")
        return self._model

    @property
    def n_states_(self) -> int:
        """Return the number of states of the automaton, of all layers together."""
        return self.model_.n_states

    def predict(self, data: Data) -> NDArray[Any]:
        """Return the plan's action at each decision of the data, given the history up to there.

        Parameters
        ----------
        data
            As in `learn`.

        Returns
        -------
        numpy.ndarray
            One action per row, ordered by episode and step whatever the order of the rows. Where the plan keeps the
            logged behaviour, the most frequent logged action.
        """
        rdp = self.model_.rdp
        episodes = self._read(data).here
        refuse_other_features(rdp, episodes)
        if rdp.limit is not None and episodes.horizon > rdp.limit:
            raise LogError(
                f"the episodes have {episodes.horizon} decisions, more than the plan ({rdp.horizon}). Cut them with "
                f"read_log(data, horizon={rdp.horizon})."
            )
        policy = self.model_.policy(deterministic=True)
        places = policy.memory.along(episodes)[:-1]
        acts = (episodes.letters[:, 0] != PAD)[episodes.word[1:]]
        usual = policy.memory.choices(policy.plan.actions).argmax(axis=1)
        actions = policy.alphabet.actions
        mixed = len({isinstance(action, str) for action in actions}) > 1  # numpy would turn all into text
        return np.asarray(np.array(actions, object if mixed else None)[usual[places.T[acts.T]]])

    def score(self, data: Data, y: None = None) -> float:
        """Estimate the plan's mean return by episodes that it was not learned from.

        Parameters
        ----------
        data
            As in `learn`.
        y
            Not used.

        Returns
        -------
        float
            The doubly robust estimate; where it is unknown, the model-based one; NaN where both are unknown.
        """
        model = self.model_
        read = self._read(data, model.rdp.horizon)
        if is_learned_from(model, read.here):
            raise SettingsError(
                "these are the episodes that the model was learned from, so that the score would be biased. Hold some "
                "out before fit, and score on those."
            )
        aim = model.about.plan.aim if model.about.plan else RETURN
        found = evaluate_off_policy(model.planned, model.required_plan(), read.here, read.propensities, aim)
        by_both = found.doubly_robust
        return by_both.value if by_both.known else found.model_based.value

    @property
    def _alike(self) -> EncoderRequest:
        """Return how to read other data in the same way as those before."""
        return EncoderRequest.of(self._read_options(bins=False).encoder.columns, None, self.model_.encoder)

    def _read(self, data: Data, horizon: int | None = None) -> Reading:
        return read_data(data, self._alike, horizon, None, self._read_options(bins=False))

    def _read_options(self, bins: bool = True) -> ReadOptions:
        given = {name: getattr(self, name) for name in READING}
        return LogOptions(**(given if bins else given | {"bins": None})).read_options()

    def _learn(self, read: Reading) -> Learner:
        how = {name: value for name, value in self.get_params().items() if name not in READING}
        self._model = learn_model(read, LearnOptions(**how).choices())
        self._episodes, self._sizes = read.here, read.sizes
        return self
