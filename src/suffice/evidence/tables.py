"""Tables of bounds, statistics and language families, used by the library, the command line, model files and the lab.

This module imports no implementation, so that the command line can list names without loading any.
"""

from __future__ import annotations

from typing import Any, Final

from suffice.registry import Lazy, Registry

BOUNDS: Final[Registry[Any]] = Registry(
    "bound",
    {
        "paper": Lazy("suffice.evidence.bounds:PAPER"),
        "two-sample": Lazy("suffice.evidence.bounds:TWO_SAMPLE"),
        "likelihood-ratio": Lazy("suffice.evidence.bounds:LIKELIHOOD_RATIO"),
        "fisher": Lazy("suffice.evidence.bounds:FISHER_EXACT"),
    },
    group="suffice.bounds",
    needs=(
        "measure",
        "name",
        "threshold",
        "thresholds",
        "kind",
        "attainable",
        "detectable",
        "allows_estimates",
        "sufficient",
        "likely",
    ),
    instances=True,
)

# Functions that create a statistic from `StatisticOptions`.
STATISTICS: Final[Registry[Any]] = Registry(
    "metric",
    {
        "languages": Lazy("suffice.evidence.adaptive:languages_of"),
        "prefixes": Lazy("suffice.evidence.prefix_tree:PrefixCounts.of"),
        "sketch": Lazy("suffice.evidence.prefix_sketch:PrefixSketches.of"),
    },
    group="suffice.statistics",
    needs=("__call__",),
)
USUAL_METRIC: Final = "languages"

# A `Family`, or a tuple of them from small to large, which are tried in turn. Other families are written as I,J,K.
FAMILIES: Final[Registry[Any]] = Registry(
    "family",
    {
        "conjunctions": Lazy("suffice.evidence.languages:CONJUNCTIONS"),
        "adaptive": Lazy("suffice.evidence.adaptive:LADDER"),
    },
    group="suffice.families",
    instances=True,
)
