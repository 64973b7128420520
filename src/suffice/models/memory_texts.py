"""The memory of a model in words: its kind, its size, and what it adds to the last observation."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import to_builtins

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import PAD, STOP
from suffice.data.listing import layer_sizes
from suffice.learning.memories import Window
from suffice.learning.windows import WINDOW
from suffice.models.header import Header
from suffice.planning.memory_comparison import MemoryAlternative, MemoryComparison, is_clear

LAST_OBSERVATION = Window(1).name
NO_MEMORY = Window(0).name


def memory_of(rdp: RDP, about: Header | None = None) -> str:
    """Return the kind of memory: "none", "last observation", "last k observations", "layers" or "cycle".

    Layers without two states at any step are "none". So is an automaton with a single state for all steps; where the
    last observation determines the state, that is the memory.
    """
    if about is not None and about.metric == WINDOW and (about.family or "").isdecimal():
        return Window(int(about.family or 0)).name
    acting = (rdp.tau[:, rdp.symbols[:, 0] != PAD] != UNSEEN).any(axis=1)
    if not rdp.stationary:
        per_layer = np.bincount(rdp.layer_of()[acting])
        return "layers" if per_layer.max(initial=0) > 1 else NO_MEMORY
    if acting[1:].sum() <= 1:  # without the initial state, which is left at once
        return NO_MEMORY
    return LAST_OBSERVATION if _by_last_observation(rdp) else "cycle"


def _by_last_observation(rdp: RDP) -> bool:
    """Return whether each observation leads to one state only, if the episode goes on."""
    sources, symbols = np.nonzero((rdp.tau != UNSEEN) & (rdp.symbols[:, 1] != STOP))
    pairs = np.unique(np.stack([rdp.symbols[symbols, 1], rdp.tau[sources, symbols]]), axis=1)
    return bool(len(np.unique(pairs[0])) == pairs.shape[1])


def memory_text(rdp: RDP, about: Header) -> str:
    """Return the size of the memory, and how many episodes it was learned from."""
    count = f"{rdp.n_states:,} state{'s' if rdp.n_states > 1 else ''}"
    source = f"from {about.episodes:,} episodes of up to {rdp.horizon} step{'s' if rdp.horizon > 1 else ''}"
    memory = memory_of(rdp, about)
    if memory == NO_MEMORY:
        few = about.promise.detectable is None or about.promise.detectable > 1
        why = "too few episodes to tell" if few and not rdp.stationary else _nothing_found(rdp, about)
        return f"none found ({why}): one state {'for all steps' if rdp.stationary else 'per step'}, {source}"
    if memory == "layers":
        return f"{count} in layers {layer_sizes(about.layers)} (one per step), {source}"
    if memory == "cycle":
        return f"{count}, the same at every step, {source}"
    return f"the {memory}: {count}, the same at every step, {source}"


def _nothing_found(rdp: RDP, about: Header) -> str:
    """Return what was compared if no memory was found: all that follows, or only a part of it."""
    limit = about.promise.second_steps
    if rdp.stationary or (about.second_look and limit is None):
        return "no history changes what follows"
    if about.second_look:
        return f"sequences of more than {max(limit or 0, 1)} steps were not compared"
    return "by the events that were compared"


def added_text(rdp: RDP, about: Header) -> str:
    """Return what the memory adds to a simpler one on held-out episodes; empty if nothing was compared."""
    memory = memory_of(rdp, about)
    if not about.compared:
        return ""
    compared = MemoryComparison.from_data(to_builtins(about.compared))
    simpler = NO_MEMORY if memory == LAST_OBSERVATION else LAST_OBSERVATION
    other = compared.of(simpler)
    if other is None:
        return ""
    if memory == NO_MEMORY and rdp.stationary:
        return f"the last observation adds nothing clear: {differences(other, -1)} per held-out episode"
    than = "no memory" if simpler == NO_MEMORY else "the last observation"
    if other.clearly_worse:
        return f"adds {differences(other)} per held-out episode to {than}{unclear(other)}"
    return f"adds nothing clear to {than}: {differences(other)} per held-out episode"


def differences(other: MemoryAlternative, sign: int = 1) -> str:
    """Return by how much the chosen memory is better than another one, in return and in bits."""
    bits, less = f"{with_error(sign * other.more_bits.value, other.more_bits.error)} bits", other.less_return
    if less is None or (sign > 0 and other.clearly_worse and not is_clear(less)):
        return bits
    return f"{with_error(sign * less.value, less.error)} of return and {bits}"


def unclear(other: MemoryAlternative) -> str:
    """Return a remark on a return that is not clearly better; empty if it is."""
    less = other.less_return
    return "" if less is None or is_clear(less) else f"; return {with_error(less.value, less.error)}, not clear"


def with_error(value: float, error: float) -> str:
    """Format a difference and its standard error, which has two digits."""
    decimals = 3 if error <= 0 else int(min(max(0, 1 - np.floor(np.log10(error))), 6))
    return f"{round(value, decimals) + 0.0:,.{decimals}f} ± {error:.{decimals}f}"


def comparison_lines(about: Header) -> list[str]:
    """Return a table of all kinds of memory that were compared, as lines of text; empty if none were."""
    compared = about.compared
    if not compared:
        return []
    lines = [
        f"Kinds of memory, compared on {compared.episodes:,} episodes that they were not learned from:",
        f"  {'memory':<22}{'states':>8}{'bits':>10}{'more than chosen':>22}{'less return':>22}",
    ]
    for one in compared.alternatives:
        mark = "*" if one.memory == compared.memory else " "
        less = "" if one.less_return is None else with_error(one.less_return, one.less_return_error or 0.0)
        bits = with_error(one.more_bits, one.more_bits_error)
        lines.append(f"{mark} {one.memory:<22}{one.states:>8,.1f}{one.bits:>10.4g}{bits:>22}{less:>22}")
    return lines


def stationarity_json(about: Header) -> dict[str, Any] | None:
    """Return layers against a cycle under the keys of earlier versions; None if they were not compared."""
    compared = about.compared
    if not compared:
        return None
    found = {one.memory: one for one in compared.alternatives}
    layers, cycle = found.get("layers"), found.get("cycle")
    other = layers if compared.memory == "cycle" else cycle if compared.memory == "layers" else None
    return {
        "stationary": about.steps is not None,
        "layered_bits": layers and layers.bits,
        "tied_bits": cycle and cycle.bits,
        "error_bits": other and other.more_bits_error,
        "layered_states": layers and layers.states,
        "tied_states": cycle and cycle.states,
    }
