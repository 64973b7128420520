"""The studies of `suffice reproduce curves`, one per file."""

from typing import Final

from suffice.lab.curves.cost import COST
from suffice.lab.curves.families import FAMILY_STUDY
from suffice.lab.curves.levels import LEVELS
from suffice.lab.curves.needs import NEEDS
from suffice.lab.curves.noise import NOISE
from suffice.lab.curves.recovery import RECOVERY
from suffice.lab.curves.sketches import SKETCHES

CURVES: Final = (RECOVERY, NEEDS, LEVELS, FAMILY_STUDY, NOISE, COST, SKETCHES)
