"""Finite models → the exact truth: minimal RDP, values, distinguishability, episodes needed (theory.md §7)."""

from suffice.exact.distances import Closest
from suffice.exact.minimal import TOLERANCE, Minimal, Telling, minimal_rdp
from suffice.exact.stationary import Stationary, stationary_rdp
from suffice.exact.truth import Distinguishability, Needed, Truth, by_languages, by_prefixes, by_sum, truth_of
from suffice.exact.values import Evaluation, Plan, best_plan, concentrability, evaluate

__all__ = [
    "TOLERANCE",
    "Closest",
    "Distinguishability",
    "Evaluation",
    "Minimal",
    "Needed",
    "Plan",
    "Stationary",
    "Telling",
    "Truth",
    "best_plan",
    "by_languages",
    "by_prefixes",
    "by_sum",
    "concentrability",
    "evaluate",
    "minimal_rdp",
    "stationary_rdp",
    "truth_of",
]
