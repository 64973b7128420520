"""Learning for those with the habits of scikit-learn: parameters, then `fit`, `predict` and `score`.

It takes whole episodes, not rows by themselves: a table has an episode and a step in each row, and the target, what to
do, is what the plan comes to. So there is no `y`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.data.alphabet import PAD
from suffice.data.encoding.binning import Binning
from suffice.data.encoding.columns import Columns
from suffice.data.encoding.encoder import EncoderRequest
from suffice.data.episodes import Episodes
from suffice.data.loading import Data, Reading, read_data
from suffice.errors import LogError, ModelError, SettingsError
from suffice.learning.adact_h import Settings
from suffice.models.api import Folding, learn
from suffice.models.model import Model
from suffice.planning.off_policy import evaluate_off_policy, refuse_other_features
from suffice.planning.planner import Planning
from suffice.planning.regorl import Split


class Learner:
    """`suffice.learn` as an estimator; the parameters are those of `learn`.

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
        stationary: Folding = False,
        delta: float | None = None,
        confidence: float | None = None,
        settings: Settings | None = None,
        planning: Planning | str | None = None,
        split: Split | None = None,
        second_look: bool | None = None,
        columns: Columns | Mapping[str, Any] | str | None = None,
        horizon: int | None = None,
        bins: Mapping[str, Binning] | None = None,
        seed: int = 0,
    ) -> None:
        self.stationary = stationary
        self.delta = delta
        self.confidence = confidence
        self.settings = settings
        self.planning = planning
        self.split = split
        self.second_look = second_look
        self.columns = columns
        self.horizon = horizon
        self.bins = bins
        self.seed = seed
        self._model: Model | None = None
        self._episodes: Episodes | None = None

    def __repr__(self) -> str:
        usual = signature(type(self)).parameters
        given = {name: value for name, value in self.get_params().items() if value != usual[name].default}
        return f"Learner({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters as they were given; `Learner(**learner.get_params())` is the same one, not fitted."""
        del deep  # none of them has parameters of its own
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    def set_params(self, **parameters: Any) -> Learner:
        """Change parameters; they take effect with the next `fit`."""
        for name, value in parameters.items():
            if name not in signature(type(self)).parameters:
                known = ", ".join(signature(type(self)).parameters)
                raise SettingsError(f"a Learner has no parameter {name!r}; it has {known}")
            setattr(self, name, value)
        return self

    def fit(self, data: Data, y: None = None) -> Learner:
        """Learn from data alone; what was learned before is forgotten."""
        before = None if self._model is None else self._model.columns
        request = EncoderRequest.of(self.columns, self.bins or {}, before)
        return self._learn(read_data(data, request, self.horizon))

    def partial_fit(self, data: Data, y: None = None) -> Learner:
        """Add data to what was learned from before, and learn again from all of it.

        The episodes are kept in memory, mostly a byte for each step. New ones are binned as the first ones were.
        """
        if self._episodes is None:
            return self.fit(data)
        alike, before = self._alike, self._episodes.horizon
        more = read_data(data, alike, self.horizon)
        if more.here.horizon > before:  # whether those before ended there, or were cut off, is not known any more
            raise LogError(
                f"the new episodes are longer ({more.here.horizon} decisions) than those before ({before}); fit "
                "them together: fit([old, new]), or give a horizon"
            )
        if more.here.horizon < before and not isinstance(data, Episodes):
            more = read_data(data, alike, before)
        return self._learn(more._replace(episodes=Episodes.joined([self._episodes, more.here])))

    @property
    def model_(self) -> Model:
        """What was learned."""
        if self._model is None:
            raise ModelError("this Learner has learned nothing yet; call fit(data) first")
        return self._model

    @property
    def n_states_(self) -> int:
        """How many states the automaton has, all layers together."""
        return self.model_.rdp.n_states

    def predict(self, data: Data) -> NDArray[Any]:
        """What the plan does at each decision of the data, given the history up to there.

        One action for each row, ordered by episode and step whatever the order of the rows. Where the plan is to behave
        as the log did, what the log did most often there.
        """
        rdp = self.model_.rdp
        episodes = read_data(data, self._alike).here
        refuse_other_features(rdp, episodes)
        if rdp.limit is not None and episodes.horizon > rdp.limit:
            raise LogError(
                f"episodes of {episodes.horizon} decisions are longer than the plan, which is for {rdp.horizon}"
            )
        policy = self.model_.policy(deterministic=True)
        places = policy.memory.along(episodes)[:-1]
        acts = (episodes.letters[:, 0] != PAD)[episodes.word[1:]]
        usual = policy.memory.choices(policy.plan.actions).argmax(axis=1)
        actions = policy.alphabet.actions
        mixed = len({isinstance(action, str) for action in actions}) > 1  # numpy would make text of all
        return np.asarray(np.array(actions, object if mixed else None)[usual[places.T[acts.T]]])

    def score(self, data: Data, y: None = None) -> float:
        """What the plan would bring per episode, by episodes that it was not learned from.

        Doubly robust; where too few of them do what the plan would, by the automaton alone (see `planning.off_policy`).
        """
        model = self.model_
        read = read_data(data, self._alike, model.rdp.horizon)
        if read.here.digest() == model.about.log_hash:
            raise SettingsError(
                "these are the very episodes that it learned from, which flatter the plan; hold some out before fit, "
                "and score it on those"
            )
        judged = evaluate_off_policy(model.planned, model.required_plan(), read.here, read.propensities)
        by_both = judged.doubly_robust
        return by_both.value if math.isfinite(by_both.error) else judged.model_based.value

    @property
    def _alike(self) -> EncoderRequest:
        """To read other data as that before."""
        return EncoderRequest.of(self.columns, None, self.model_.encoder)

    def _learn(self, read: Reading) -> Learner:
        own = ("columns", "horizon", "bins")
        how = {name: value for name, value in self.get_params().items() if name not in own}
        self._model, self._episodes = learn(read.here, bins=read.encoder.kinds, **how), read.here
        return self
