"""Literal, slow versions of the algorithms, which use only the data types of `suffice`; fast code must agree."""

from .adact import OracleDecision, OracleResult, adact_h, distance, suffix_alphabet
from .adaptive import LadderDecision, adaptive_adact_h
from .languages import Conjunctions, Languages, SuffixAlphabet
from .prefixes import Prefixes
from .random_rdp import random_episodes

__all__ = [
    "Conjunctions",
    "LadderDecision",
    "Languages",
    "OracleDecision",
    "OracleResult",
    "Prefixes",
    "SuffixAlphabet",
    "adact_h",
    "adaptive_adact_h",
    "distance",
    "random_episodes",
    "suffix_alphabet",
]
