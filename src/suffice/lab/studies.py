"""All studies, by the names that `suffice reproduce` accepts."""

from __future__ import annotations

from typing import Final

from suffice.lab.curves.studies import CURVES
from suffice.lab.stationary.page import STATIONARY
from suffice.lab.table1 import TABLE1

STUDIES: Final = {"table1": (TABLE1,), "curves": CURVES, "stationary": (STATIONARY,)}
