"""suffice: learn the memory that suffices to act.

    import suffice

    model = suffice.learn("log.parquet")            # what was learned, what it promises, and a plan
    model.save("log.model")
    policy = suffice.load("log.model").policy()     # reset(), act(observation), and so on

In the examples of this library `episodes` and `model` are these, `log.parquet` and `log.model` their files, and
`more.parquet` has 300 episodes more:

    corridor = suffice.make("corridor").model(5)
    episodes = suffice.simulate(corridor, n=300, horizon=5, rng=np.random.default_rng(1))
    model = suffice.learn(episodes)

Names are imported when they are first used, so that the command line answers at once.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from suffice.errors import (
    CheckpointError,
    EngineError,
    LogError,
    MissingError,
    ModelError,
    SettingsError,
    SufficeError,
)
from suffice.version import __version__

if TYPE_CHECKING:
    from suffice.bounds import BOUNDS, FISHER_EXACT, LIKELIHOOD_RATIO, PAPER, TWO_SAMPLE, Bound, Promise
    from suffice.controller import Controller
    from suffice.decisions import Decision
    from suffice.differences import compare
    from suffice.domains import Domain, make, register
    from suffice.engines.cluster import Ray
    from suffice.episodes import Alphabet, Episodes
    from suffice.estimator import Learner
    from suffice.exact import Minimal, Truth, evaluate, minimal_rdp, truth_of
    from suffice.finite import FiniteModel, Outcome
    from suffice.languages import CONJUNCTIONS, Family
    from suffice.learner import Learned, Settings, adact_h
    from suffice.learning import learn
    from suffice.logs import Bins, Columns, EqualWidth, read_log, read_schema, write_log, write_schema
    from suffice.merging import Verdict
    from suffice.model import Model, load
    from suffice.planner import GREEDY, Plan, Planning, plan_on
    from suffice.policy import Policy
    from suffice.rdp import RDP, UNSEEN
    from suffice.refining import refine
    from suffice.simulation import simulate
    from suffice.sketch import CountMinSketch
    from suffice.solution import Solution, Split, regorl
    from suffice.stationarity import Stationarity, is_stationary
    from suffice.statistics.adaptive import AdaptiveLanguages
    from suffice.statistics.language_counts import LanguageCounts
    from suffice.statistics.prefix_sketch import PrefixSketches
    from suffice.statistics.prefix_tree import PrefixCounts
    from suffice.tying import tie
    from suffice.view import draw_automaton

_HOMES = {
    "bounds": ("BOUNDS", "FISHER_EXACT", "LIKELIHOOD_RATIO", "PAPER", "TWO_SAMPLE", "Bound", "Promise"),
    "controller": ("Controller",),
    "differences": ("compare",),
    "domains": ("Domain", "make", "register"),
    "engines.cluster": ("Ray",),
    "episodes": ("Alphabet", "Episodes"),
    "estimator": ("Learner",),
    "exact": ("Minimal", "Truth", "evaluate", "minimal_rdp", "truth_of"),
    "finite": ("FiniteModel", "Outcome"),
    "languages": ("CONJUNCTIONS", "Family"),
    "decisions": ("Decision",),
    "learner": ("Learned", "Settings", "adact_h"),
    "learning": ("learn",),
    "logs": ("Bins", "Columns", "EqualWidth", "read_log", "read_schema", "write_log", "write_schema"),
    "merging": ("Verdict",),
    "model": ("Model", "load"),
    "planner": ("GREEDY", "Plan", "Planning", "plan_on"),
    "policy": ("Policy",),
    "rdp": ("RDP", "UNSEEN"),
    "refining": ("refine",),
    "simulation": ("simulate",),
    "sketch": ("CountMinSketch",),
    "solution": ("Solution", "Split", "regorl"),
    "stationarity": ("Stationarity", "is_stationary"),
    "statistics.adaptive": ("AdaptiveLanguages",),
    "statistics.language_counts": ("LanguageCounts",),
    "statistics.prefix_sketch": ("PrefixSketches",),
    "statistics.prefix_tree": ("PrefixCounts",),
    "tying": ("tie",),
    "view": ("draw_automaton",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "BOUNDS",
    "CONJUNCTIONS",
    "FISHER_EXACT",
    "GREEDY",
    "LIKELIHOOD_RATIO",
    "PAPER",
    "RDP",
    "TWO_SAMPLE",
    "UNSEEN",
    "AdaptiveLanguages",
    "Alphabet",
    "Bins",
    "Bound",
    "CheckpointError",
    "Columns",
    "Controller",
    "CountMinSketch",
    "Decision",
    "Domain",
    "EngineError",
    "Episodes",
    "EqualWidth",
    "Family",
    "FiniteModel",
    "LanguageCounts",
    "Learned",
    "Learner",
    "LogError",
    "Minimal",
    "MissingError",
    "Model",
    "ModelError",
    "Outcome",
    "Plan",
    "Planning",
    "Policy",
    "PrefixCounts",
    "PrefixSketches",
    "Promise",
    "Ray",
    "Settings",
    "SettingsError",
    "Solution",
    "Split",
    "Stationarity",
    "SufficeError",
    "Truth",
    "Verdict",
    "__version__",
    "adact_h",
    "compare",
    "draw_automaton",
    "evaluate",
    "is_stationary",
    "learn",
    "load",
    "make",
    "minimal_rdp",
    "plan_on",
    "read_log",
    "read_schema",
    "refine",
    "register",
    "regorl",
    "simulate",
    "tie",
    "truth_of",
    "write_log",
    "write_schema",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'suffice' has no attribute {name!r}")
    return getattr(import_module(f"suffice.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)


if "gymnasium" in sys.modules:  # importing it takes time, so it is left to those who use it
    import_module("suffice.domains.registration").register()
