"""suffice: learn the memory that suffices to act.

    from suffice import adact_h, read_log

    episodes, report = read_log("log.parquet")
    learned = adact_h(episodes)
    print(learned.rdp.layers, learned.promise.sentence)

Names are imported when they are first used, so that the command line answers at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from suffice.errors import SufficeError
from suffice.version import __version__

if TYPE_CHECKING:
    from suffice.bounds import BOUNDS, FISHER_EXACT, LIKELIHOOD_RATIO, PAPER, TWO_SAMPLE, Bound, Promise
    from suffice.episodes import Alphabet, Episodes
    from suffice.languages import CONJUNCTIONS, Family
    from suffice.learner import Decision, Learned, Settings, adact_h
    from suffice.logs import Columns, read_log, read_schema, write_log, write_schema
    from suffice.merging import Verdict
    from suffice.model import Model
    from suffice.rdp import RDP, UNSEEN, compare
    from suffice.sketch import CountMinSketch
    from suffice.statistics.language_counts import LanguageCounts
    from suffice.statistics.prefix_sketch import PrefixSketches
    from suffice.statistics.prefix_tree import PrefixCounts

_HOMES = {
    "bounds": ("BOUNDS", "FISHER_EXACT", "LIKELIHOOD_RATIO", "PAPER", "TWO_SAMPLE", "Bound", "Promise"),
    "episodes": ("Alphabet", "Episodes"),
    "languages": ("CONJUNCTIONS", "Family"),
    "learner": ("Decision", "Learned", "Settings", "adact_h"),
    "logs": ("Columns", "read_log", "read_schema", "write_log", "write_schema"),
    "merging": ("Verdict",),
    "model": ("Model",),
    "rdp": ("RDP", "UNSEEN", "compare"),
    "sketch": ("CountMinSketch",),
    "statistics.language_counts": ("LanguageCounts",),
    "statistics.prefix_sketch": ("PrefixSketches",),
    "statistics.prefix_tree": ("PrefixCounts",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "BOUNDS",
    "CONJUNCTIONS",
    "FISHER_EXACT",
    "LIKELIHOOD_RATIO",
    "PAPER",
    "RDP",
    "TWO_SAMPLE",
    "UNSEEN",
    "Alphabet",
    "Bound",
    "Columns",
    "CountMinSketch",
    "Decision",
    "Episodes",
    "Family",
    "LanguageCounts",
    "Learned",
    "Model",
    "PrefixCounts",
    "PrefixSketches",
    "Promise",
    "Settings",
    "SufficeError",
    "Verdict",
    "__version__",
    "adact_h",
    "compare",
    "read_log",
    "read_schema",
    "write_log",
    "write_schema",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'suffice' has no attribute {name!r}")
    return getattr(import_module(f"suffice.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
