"""Learn the memory that suffices to act, from logged episodes.

    import suffice

    model = suffice.learn("log.parquet")            # print(model) begins with the advice
    model.save("log.model")
    policy = suffice.load("log.model").policy()     # policy.reset(), policy.act(observation)

The examples of this library use the following `episodes` and `model`. `log.parquet` and `log.model` are their files,
and `more.parquet` has 300 more episodes:

    corridor = suffice.make("corridor").model(5)
    episodes = suffice.simulate(corridor, n=300, horizon=5, rng=np.random.default_rng(1))
    model = suffice.learn(episodes)

Names are imported when they are first used, so that the command line starts fast.
"""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from suffice.errors import (
    CheckpointError,
    EngineError,
    LogError,
    LogProblemsError,
    MissingError,
    ModelError,
    SettingsError,
    SufficeError,
    TrainingError,
)
from suffice.version import __version__

if TYPE_CHECKING:
    from suffice import domains as domains
    from suffice import playing as playing
    from suffice import view as view
    from suffice.automata.compare import compare
    from suffice.automata.describe import describe_witness
    from suffice.automata.rdp import RDP, UNSEEN
    from suffice.data.alphabet import Alphabet
    from suffice.data.encoding.binning import Bins, EqualWidth
    from suffice.data.encoding.columns import Columns
    from suffice.data.episodes import Episodes
    from suffice.data.logs.reading import read_log
    from suffice.data.logs.schema import read_schema, write_schema
    from suffice.data.logs.writing import write_log
    from suffice.data.memory_limit import limit_memory
    from suffice.data.report import ReadReport
    from suffice.domains.agent.agent import Agent, LearningRound
    from suffice.domains.agent.player import Player
    from suffice.domains.agent.training import train
    from suffice.domains.domain import Domain
    from suffice.domains.exact.minimal import Minimal, minimal_rdp
    from suffice.domains.exact.truth import Truth, truth_of
    from suffice.domains.exact.values import exact_value
    from suffice.domains.finite import FiniteModel, Outcome
    from suffice.domains.gym.automaton_state import AutomatonState
    from suffice.domains.gym.recording import record
    from suffice.domains.gym.registration import register
    from suffice.domains.gym.rollouts import play, play_vector
    from suffice.domains.model_evaluation import DomainEvaluation
    from suffice.domains.registry import make
    from suffice.domains.simulation import simulate
    from suffice.engines.ray import Ray
    from suffice.evidence.adaptive import AdaptiveLanguages
    from suffice.evidence.bounds import BOUNDS, FISHER_EXACT, LIKELIHOOD_RATIO, PAPER, TWO_SAMPLE, Bound
    from suffice.evidence.events import Witness
    from suffice.evidence.guarantees import Promise
    from suffice.evidence.language_counts import LanguageCounts
    from suffice.evidence.languages import CONJUNCTIONS, Family
    from suffice.evidence.prefix_sketch import PrefixSketches
    from suffice.evidence.prefix_tree import PrefixCounts
    from suffice.evidence.sketch import CountMinSketch
    from suffice.learning.adact_h import Learned, Settings, adact_h
    from suffice.learning.memory_choice import Stationarity, is_stationary
    from suffice.learning.merging import Decision, Placement
    from suffice.learning.refinement import refine
    from suffice.learning.stationary.learner import learn_stationary
    from suffice.learning.windows import learn_window
    from suffice.models.api import learn
    from suffice.models.estimator import Learner
    from suffice.models.log_check import LogCheck, check
    from suffice.models.log_evaluation import LogEvaluation
    from suffice.models.log_warnings import LogWarning
    from suffice.models.model import Model, load
    from suffice.models.suggestions import Suggestion, suggest
    from suffice.planning.controller import Controller
    from suffice.planning.later_fit import LaterFit
    from suffice.planning.memory_comparison import MemoryAlternative, MemoryComparison
    from suffice.planning.off_policy import OffPolicyEvaluation, RareAction, evaluate_off_policy
    from suffice.planning.plan import Plan
    from suffice.planning.planner import GREEDY, Planning, plan_on
    from suffice.planning.policy import Policy
    from suffice.planning.regorl import Solution, Split, regorl
    from suffice.planning.verdict import PlanVerdict
    from suffice.view.automaton import draw_automaton

_HOMES = {
    "automata.compare": ("compare",),
    "automata.describe": ("describe_witness",),
    "automata.rdp": ("RDP", "UNSEEN"),
    "data.alphabet": ("Alphabet",),
    "data.encoding.binning": ("Bins", "EqualWidth"),
    "data.encoding.columns": ("Columns",),
    "data.episodes": ("Episodes",),
    "data.logs.reading": ("read_log",),
    "data.logs.schema": ("read_schema", "write_schema"),
    "data.logs.writing": ("write_log",),
    "data.memory_limit": ("limit_memory",),
    "data.report": ("ReadReport",),
    "domains.agent.agent": ("Agent", "LearningRound"),
    "domains.agent.player": ("Player",),
    "domains.agent.training": ("train",),
    "domains.domain": ("Domain",),
    "domains.exact.minimal": ("Minimal", "minimal_rdp"),
    "domains.exact.truth": ("Truth", "truth_of"),
    "domains.exact.values": ("exact_value",),
    "domains.finite": ("FiniteModel", "Outcome"),
    "domains.gym.automaton_state": ("AutomatonState",),
    "domains.gym.recording": ("record",),
    "domains.gym.registration": ("register",),
    "domains.gym.rollouts": ("play", "play_vector"),
    "domains.model_evaluation": ("DomainEvaluation",),
    "domains.registry": ("make",),
    "domains.simulation": ("simulate",),
    "engines.ray": ("Ray",),
    "evidence.adaptive": ("AdaptiveLanguages",),
    "evidence.bounds": ("BOUNDS", "FISHER_EXACT", "LIKELIHOOD_RATIO", "PAPER", "TWO_SAMPLE", "Bound"),
    "evidence.events": ("Witness",),
    "evidence.guarantees": ("Promise",),
    "evidence.language_counts": ("LanguageCounts",),
    "evidence.languages": ("CONJUNCTIONS", "Family"),
    "evidence.prefix_sketch": ("PrefixSketches",),
    "evidence.prefix_tree": ("PrefixCounts",),
    "evidence.sketch": ("CountMinSketch",),
    "learning.adact_h": ("Learned", "Settings", "adact_h"),
    "learning.memory_choice": ("Stationarity", "is_stationary"),
    "learning.merging": ("Decision", "Placement"),
    "learning.refinement": ("refine",),
    "learning.stationary.learner": ("learn_stationary",),
    "learning.windows": ("learn_window",),
    "models.api": ("learn",),
    "models.estimator": ("Learner",),
    "models.log_check": ("LogCheck", "check"),
    "models.log_warnings": ("LogWarning",),
    "models.log_evaluation": ("LogEvaluation",),
    "models.suggestions": ("Suggestion", "suggest"),
    "models.model": ("Model", "load"),
    "planning.controller": ("Controller",),
    "planning.later_fit": ("LaterFit",),
    "planning.memory_comparison": ("MemoryAlternative", "MemoryComparison"),
    "planning.off_policy": ("OffPolicyEvaluation", "RareAction", "evaluate_off_policy"),
    "planning.plan": ("Plan",),
    "planning.planner": ("GREEDY", "Planning", "plan_on"),
    "planning.policy": ("Policy",),
    "planning.regorl": ("Solution", "Split", "regorl"),
    "planning.verdict": ("PlanVerdict",),
    "view.automaton": ("draw_automaton",),
}
_RENAMED = {"Verdict": "Placement", "evaluate": "exact_value", "tie": "learn_stationary"}  # deprecated names
_SUBMODULES = ("domains", "playing", "view")  # available as attributes after `import suffice`
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
    "Agent",
    "Alphabet",
    "AutomatonState",
    "Bins",
    "Bound",
    "CheckpointError",
    "Columns",
    "Controller",
    "CountMinSketch",
    "Decision",
    "Domain",
    "DomainEvaluation",
    "EngineError",
    "Episodes",
    "EqualWidth",
    "Family",
    "FiniteModel",
    "LanguageCounts",
    "LaterFit",
    "Learned",
    "Learner",
    "LearningRound",
    "LogCheck",
    "LogError",
    "LogEvaluation",
    "LogProblemsError",
    "LogWarning",
    "MemoryAlternative",
    "MemoryComparison",
    "Minimal",
    "MissingError",
    "Model",
    "ModelError",
    "OffPolicyEvaluation",
    "Outcome",
    "Placement",
    "Plan",
    "PlanVerdict",
    "Planning",
    "Player",
    "Policy",
    "PrefixCounts",
    "PrefixSketches",
    "Promise",
    "RareAction",
    "Ray",
    "ReadReport",
    "Settings",
    "SettingsError",
    "Solution",
    "Split",
    "Stationarity",
    "SufficeError",
    "Suggestion",
    "TrainingError",
    "Truth",
    "Witness",
    "__version__",
    "adact_h",
    "check",
    "compare",
    "describe_witness",
    "draw_automaton",
    "evaluate_off_policy",
    "exact_value",
    "is_stationary",
    "learn",
    "learn_stationary",
    "learn_window",
    "limit_memory",
    "load",
    "make",
    "minimal_rdp",
    "plan_on",
    "play",
    "play_vector",
    "read_log",
    "read_schema",
    "record",
    "refine",
    "register",
    "regorl",
    "simulate",
    "suggest",
    "train",
    "truth_of",
    "write_log",
    "write_schema",
]


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        warnings.warn(f"suffice.{name} is deprecated. Use suffice.{_RENAMED[name]}.", DeprecationWarning, stacklevel=2)
        name = _RENAMED[name]
    if name in _SUBMODULES:
        return import_module(f"suffice.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'suffice' has no attribute {name!r}")
    return getattr(import_module(f"suffice.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, *_SUBMODULES]


import_module("suffice.domains.gym.registration").register_on_import()
