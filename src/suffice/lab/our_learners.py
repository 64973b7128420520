"""The learners of this project, as experiments run them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from suffice.automata.rdp import RDP
from suffice.data.alphabet import STOP
from suffice.data.episodes import Episodes
from suffice.errors import SettingsError, alternatives
from suffice.evidence.bounds import BOUNDS
from suffice.evidence.statistic import Statistic, StatisticOptions
from suffice.evidence.tables import STATISTICS
from suffice.files.checkpoints import NO_CHECKPOINT
from suffice.kernels.array_types import Mask
from suffice.lab.learner import LearnerKind, LearnerResult, Task
from suffice.lab.resources import measure
from suffice.learning.adact_h import Learned, Settings, adact_h
from suffice.learning.layers import learn_layers
from suffice.learning.memories import silently
from suffice.learning.stationary.learner import learn_stationary
from suffice.planning.memory_plans import PlanMaker, chosen_kinds
from suffice.planning.planner import Planning

WARM_UP: Final = 10_000  # episodes of a first run, which compiles all kernels

Learn = Callable[[Episodes, Settings], Learned]


def run_ours(learn: Learn, episodes: Episodes, settings: Settings) -> LearnerResult:
    """Learn after a warm-up run, and measure CPU time and memory, including the episodes."""
    learn(episodes.columns(slice(0, WARM_UP)), settings)
    learned, took = measure(lambda: learn(episodes, settings))
    took = took._replace(bytes=took.bytes + episodes.word.nbytes)
    promise = learned.promise
    tests, split = promise.tests + promise.second_tests, promise.split + promise.second_split
    return LearnerResult(learned.rdp, learned.rdp.n_states, took, tests, split)


def adact_h_settings(name: str, delta: float) -> Settings:
    """Return the settings of AdaCT-H for a name, which is statistic/bound."""
    futures, _, bound = name.partition("/")
    if bound not in BOUNDS:
        raise SettingsError(f"learner {name!r}: {bound!r} is not a bound. Choose {alternatives(BOUNDS)}.")
    return Settings(_statistic(futures), BOUNDS[bound], delta)


def _statistic(name: str) -> Statistic:
    """Return a statistic by its metric or its family of languages."""
    return (StatisticOptions(name) if name in STATISTICS else StatisticOptions(family=name)).make()


def _adact_h(task: Task) -> LearnerResult:
    return run_ours(adact_h, task.episodes, adact_h_settings(task.name, task.delta))


def _layers(task: Task) -> LearnerResult:
    return run_ours(learn_layers, task.episodes, Settings(delta=task.delta))


def _stationary(task: Task) -> LearnerResult:
    found = run_ours(learn_stationary, task.episodes, Settings(delta=task.delta))
    return found._replace(sure=_with_sequel(found.rdp, task.episodes))


def _default(task: Task) -> LearnerResult:
    """Choose the memory by held-out episodes, and learn it from all."""
    found = run_ours(_learn_chosen, task.episodes, Settings(delta=task.delta))
    return found._replace(sure=_with_sequel(found.rdp, task.episodes)) if found.rdp.stationary else found


def _learn_chosen(episodes: Episodes, settings: Settings) -> Learned:
    maker = PlanMaker(settings, Planning(), np.random.default_rng(0))
    kinds = chosen_kinds(episodes, maker, "auto", True, silently).kinds
    return maker.first_that_fits(kinds, episodes, silently, NO_CHECKPOINT)[1]


def _with_sequel(rdp: RDP, episodes: Episodes) -> Mask:
    """Return which transitions [Q, Y] are taken before the last step; the targets of others are guesses.

    Guesses are not scored, for the peers neither.
    """
    sure = np.broadcast_to(rdp.symbols[:, 1] == STOP, rdp.tau.shape).copy()
    state, of_letter = np.zeros(episodes.n, np.int64), episodes.symbols()[1]
    for word in episodes.word[:-2]:
        symbol = of_letter[word]
        sure[state, symbol] = True
        state = rdp.tau[state, symbol].astype(np.int64)
    return sure


ADACT_H: Final = LearnerKind(_adact_h, cyclic=False)
LAYERS: Final = LearnerKind(_layers, cyclic=False, has_settings=False)
STATIONARY: Final = LearnerKind(_stationary, cyclic=True, has_settings=False)
DEFAULT: Final = LearnerKind(_default, cyclic=True, has_settings=False)
