"""Logs ↔ Episodes: one row per decision, in the order people log.

    episode, step, <observation columns…>, action, reward

Row i of an episode has the observation of step i, the action taken on it, and the reward that brought: action and
reward of step i+1. So n rows make the steps 0..n; the observation of step n is o_⊥. H is the longest n, or the
horizon asked for: longer episodes are cut (o_⊥ then stands at step H), shorter ones padded. Rows may come in any
order; episodes are ordered by id. Steps count from 0 or from 1, in all episodes alike, without a gap. `weight` says
how many episodes one stands for; `truncated` is true on the last row of an episode that the logger cut off,
`terminated` on that of one that came to its end.

`sources` opens what holds a log, with `files`, `json_files` and `arrays` for its kinds; `nesting` brings it to one row
per decision and one value per cell, `columns` finds what each column means, `placement` where each row belongs, and
`reading` makes Episodes of it all. A log larger than memory is Parquet: `datasets` finds its files, `pieces` cuts it
into pieces of whole episodes.
"""

from suffice.logs.binning import Binning, Bins, EqualWidth, parse_binning
from suffice.logs.columns import Columns
from suffice.logs.datasets import Dataset, files_of
from suffice.logs.reading import HowToRead, Report, read_as, read_log, read_table
from suffice.logs.schema import read_schema, write_schema
from suffice.logs.writing import write_log

__all__ = [
    "Binning",
    "Bins",
    "Columns",
    "Dataset",
    "EqualWidth",
    "HowToRead",
    "Report",
    "files_of",
    "parse_binning",
    "read_as",
    "read_log",
    "read_schema",
    "read_table",
    "write_log",
    "write_schema",
]
