"""The loops that numpy cannot express, compiled: arrays in, arrays out, nothing else.

Every kernel releases the GIL and is single-threaded; parallelism is a matter of giving each thread its own shard.
The plain counterparts live in `tests/oracle` and must agree exactly.
"""

from suffice.kernels.comparing import (
    DIFFERENCE,
    FISHER,
    LIKELIHOOD,
    attainable_in_tree,
    compare_trees,
    judge_rows,
    nearest,
    tarone,
    tarone_threshold,
)
from suffice.kernels.digests import mix
from suffice.kernels.evidence import DEPTH, fold, screen, weigh
from suffice.kernels.folding import meet, meet_from
from suffice.kernels.patterns import count_patterns, letters_in_patterns, patterns_met
from suffice.kernels.rolling import roll
from suffice.kernels.sketches import compare_sketch, hash_prefixes, sketch_add, sketch_query_all
from suffice.kernels.summing import add_values, significands, squares
from suffice.kernels.tables import ln_table
from suffice.kernels.telling import tell_apart
from suffice.kernels.trees import add_paths, leaves_of, prefix_tree, sort_by_letter
from suffice.kernels.tying import (
    Labels,
    cells_met,
    count_letters,
    follow,
    group,
    likelihoods,
    meet_tied,
    meet_twice,
    trace,
)
from suffice.kernels.walking import (
    add_rows,
    advance,
    advance_along,
    advance_and_meet,
    cross_count,
    relabel,
    tally,
    tally_along,
)
from suffice.kernels.words import ID_BITS, joint_weights, rehash_pairs, rehash_rows, walk_back

__all__ = [
    "DEPTH",
    "DIFFERENCE",
    "FISHER",
    "ID_BITS",
    "LIKELIHOOD",
    "Labels",
    "add_paths",
    "add_rows",
    "add_values",
    "advance",
    "advance_along",
    "advance_and_meet",
    "attainable_in_tree",
    "cells_met",
    "compare_sketch",
    "compare_trees",
    "count_letters",
    "count_patterns",
    "cross_count",
    "fold",
    "follow",
    "group",
    "hash_prefixes",
    "joint_weights",
    "judge_rows",
    "leaves_of",
    "letters_in_patterns",
    "likelihoods",
    "ln_table",
    "meet",
    "meet_from",
    "meet_tied",
    "meet_twice",
    "mix",
    "nearest",
    "patterns_met",
    "prefix_tree",
    "rehash_pairs",
    "rehash_rows",
    "relabel",
    "roll",
    "screen",
    "significands",
    "sketch_add",
    "sketch_query_all",
    "sort_by_letter",
    "squares",
    "tally",
    "tally_along",
    "tarone",
    "tarone_threshold",
    "tell_apart",
    "trace",
    "walk_back",
    "weigh",
]
