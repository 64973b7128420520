"""All learners by name, as experiments call them.

1,1,1/paper  conjunctions/fisher  adaptive/fisher  prefixes/paper  sketch/paper    AdaCT-H: family or metric, bound
layers                                         what `suffice learn` does: conjunctions, fisher and a second look
stationary                                                              what `suffice learn --stationary` does
aalpy/0.05  aalpy/auto/closed                                           ALERGIA by its eps, see `peers` for closed
flexfringe/likelihood-ratio  flexfringe/css/closed                                                by its heuristic
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib.util import find_spec
from typing import NamedTuple

from suffice.bounds import BOUNDS
from suffice.episodes import Episodes, Mask
from suffice.errors import SufficeError
from suffice.lab.measuring import Took, measured
from suffice.lab.peers import ABSENT, HEURISTICS, Machine, aalpy, as_rdp, as_tau, flexfringe, with_end
from suffice.languages import Family
from suffice.learner import Learned, Settings, adact_h
from suffice.rdp import RDP, UNSEEN
from suffice.solution import learn_layers
from suffice.statistics import Statistic
from suffice.statistics.adaptive import ADAPTIVE, AdaptiveLanguages
from suffice.statistics.language_counts import LanguageCounts
from suffice.statistics.prefix_sketch import PrefixSketches
from suffice.statistics.prefix_tree import PrefixCounts
from suffice.tying import tie

WARM_UP = 200  # episodes that compile everything a run uses
MOST_EPS = 2.0  # that ALERGIA takes

Learner = Callable[[Episodes], Learned]


class Found(NamedTuple):
    """An automaton to plan on, and what it took."""

    rdp: RDP
    states: int  # as the learner counts them
    took: Took
    tests: int = 0
    promised: float | None = None
    sure: Mask | None = None  # [Q, Y] transitions that are no guess; None: all of them


def needs_flexfringe(name: str) -> bool:
    """Whether a learner runs another program."""
    return name.startswith("flexfringe/")


def is_here(name: str, binary: str | None) -> bool:
    """Whether what a learner needs is installed."""
    if name.startswith("aalpy/"):
        return find_spec("aalpy") is not None
    return binary is not None or not needs_flexfringe(name)


def find(name: str, episodes: Episodes, delta: float, binary: str | None) -> Found:
    """Learn from episodes, and measure it."""
    kind, _, rest = name.partition("/")
    setting = rest.removesuffix("/closed")
    closed = setting != rest
    if kind == "aalpy":
        return _of_peer(aalpy(episodes, _eps(setting, name), closed), episodes)
    if kind == "flexfringe":
        if setting not in HEURISTICS:
            raise SufficeError(f"{name} is no learner: its heuristic is none of {', '.join(HEURISTICS)}")
        if binary is None:
            raise SufficeError(ABSENT)
        return _of_peer(flexfringe(episodes, binary, HEURISTICS[setting], closed), episodes)
    learner = learner_of(name, delta)
    learner(episodes.columns(slice(0, WARM_UP)))
    learned, took = measured(lambda: learner(episodes))
    took = took._replace(bytes=took.bytes + episodes.word.nbytes)
    return Found(learned.rdp, learned.rdp.n_states, took, learned.promise.tests, learned.promise.split)


def learner_of(name: str, delta: float) -> Learner:
    """One of ours."""
    if name == "stationary":
        return lambda episodes: tie(episodes, Settings(delta=delta))
    if name == "layers":
        return lambda episodes: learn_layers(episodes, Settings(delta=delta))
    futures, _, bound = name.partition("/")
    if bound not in BOUNDS:
        raise SufficeError(f"{name} is no learner: its bound is none of {', '.join(BOUNDS)}")
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
        raise SufficeError(f"{name} is no learner: its eps is neither auto nor a number above 0 and up to {MOST_EPS:g}")
    return eps


def _of_peer(machine: Machine, episodes: Episodes) -> Found:
    tau = as_tau(machine, episodes)
    sure = with_end(tau, episodes) != UNSEEN
    return Found(as_rdp(tau, episodes), machine.n_states, machine.took, sure=sure)
