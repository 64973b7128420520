"""All learners by name, as experiments call them.

1,1,1/paper  conjunctions/fisher  adaptive/fisher  prefixes/paper  sketch/paper    AdaCT-H: family or metric, bound
layers                                         what `suffice learn` does: conjunctions, fisher and a second look
stationary                                                              what `suffice learn --stationary` does
aalpy/0.05  aalpy/auto/closed  aalpy-gsm/0.5                            ALERGIA by its eps, see `peers` for closed
flexfringe/likelihood-ratio  flexfringe/css/closed                                                by its heuristic
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib.util import find_spec
from typing import NamedTuple

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.episodes import Episodes
from suffice.errors import MissingError, SettingsError
from suffice.evidence.adaptive import ADAPTIVE, AdaptiveLanguages
from suffice.evidence.bounds import BOUNDS
from suffice.evidence.language_counts import LanguageCounts
from suffice.evidence.languages import Family
from suffice.evidence.prefix_sketch import PrefixSketches
from suffice.evidence.prefix_tree import PrefixCounts
from suffice.evidence.statistic import Statistic
from suffice.kernels.array_types import Mask
from suffice.lab.peers import alergia, flexfringe
from suffice.lab.peers.machines import Machine, as_rdp, as_tau, with_end
from suffice.lab.resources import ResourceUse, measure
from suffice.learning.adact_h import Learned, Settings, adact_h
from suffice.learning.layers import learn_layers
from suffice.learning.stationary.learner import tie

WARM_UP = 10_000  # episodes that compile everything a run uses
MOST_EPS = 2.0  # that ALERGIA takes

Learner = Callable[[Episodes], Learned]


class Found(NamedTuple):
    """An automaton to plan on, and what it took."""

    rdp: RDP
    states: int  # as the learner counts them
    took: ResourceUse
    tests: int = 0
    promised: float | None = None
    sure: Mask | None = None  # [Q, Y] transitions that are no guess; None: all of them


def missing(name: str, binary: str | None) -> str:
    """What a learner needs and is not here, with the way to get it."""
    if name.startswith("flexfringe/") and binary is None:
        return flexfringe.ABSENT
    if name.startswith("aalpy") and find_spec("aalpy") is None:
        return alergia.ABSENT
    return ""


def find(name: str, episodes: Episodes, delta: float, binary: str | None) -> Found:
    """Learn from episodes, and measure it."""
    kind, _, rest = name.partition("/")
    setting = rest.removesuffix("/closed")
    closed = setting != rest
    if kind in ("aalpy", "aalpy-gsm"):
        return _of_peer(alergia.aalpy(episodes, _eps(setting, name), closed, general=kind == "aalpy-gsm"), episodes)
    if kind == "flexfringe":
        if setting not in flexfringe.HEURISTICS:
            raise SettingsError(f"{name} is no learner: its heuristic is none of {', '.join(flexfringe.HEURISTICS)}")
        if binary is None:
            raise MissingError(flexfringe.ABSENT)
        return _of_peer(flexfringe.flexfringe(episodes, binary, flexfringe.HEURISTICS[setting], closed), episodes)
    learner = learner_of(name, delta)
    learner(episodes.columns(slice(0, WARM_UP)))
    learned, took = measure(lambda: learner(episodes))
    took = took._replace(bytes=took.bytes + episodes.word.nbytes)
    promise = learned.promise
    tests, split = promise.tests + promise.second_tests, promise.split + promise.second_split
    return Found(learned.rdp, learned.rdp.n_states, took, tests, split)


def learner_of(name: str, delta: float) -> Learner:
    """One of ours."""
    if name == "stationary":
        return lambda episodes: tie(episodes, Settings(delta=delta))
    if name == "layers":
        return lambda episodes: learn_layers(episodes, Settings(delta=delta))
    futures, _, bound = name.partition("/")
    if bound not in BOUNDS:
        raise SettingsError(f"{name} is no learner: its bound is none of {', '.join(BOUNDS)}")
    settings = Settings(_statistic(futures), BOUNDS[bound], delta)
    return lambda episodes: adact_h(episodes, settings)


def _statistic(name: str) -> Statistic:
    others: dict[str, Statistic] = {
        "prefixes": PrefixCounts(),
        "sketch": PrefixSketches(0),
        ADAPTIVE: AdaptiveLanguages(),
    }
    return others[name] if name in others else LanguageCounts(Family.parse(name))


def _eps(text: str, name: str) -> float | str:
    if text == "auto":
        return text
    try:
        eps = float(text)
    except ValueError:
        eps = math.nan
    if not 0 < eps <= MOST_EPS:
        raise SettingsError(f"{name} is no learner: its eps is neither auto nor a number above 0, up to {MOST_EPS:g}")
    return eps


def _of_peer(machine: Machine, episodes: Episodes) -> Found:
    tau = as_tau(machine, episodes)
    sure = with_end(tau, episodes) != UNSEEN
    return Found(as_rdp(tau, episodes), machine.n_states, machine.took, sure=sure)
