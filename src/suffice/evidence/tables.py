"""Tables of bounds: what the library, the command line, model files and the laboratory can choose from.

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
    needs=("measure", "threshold", "thresholds", "detectable", "sufficient", "likely"),
)
