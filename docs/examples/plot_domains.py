"""
How much memory the domains take
================================

Each domain that comes with `suffice` is a finite model, so that the smallest automaton that remembers enough can be
computed: with layers, and folded where the process is the same at all times.
"""

# %%
# How many states each takes at its usual horizon.
from matplotlib.figure import Figure

from suffice import SufficeError, make, minimal_rdp
from suffice.domains.exact.stationary import stationary_rdp
from suffice.domains.registry import DOMAINS
from suffice.view import save_figure


def sizes(name):
    """States with layers, and folded, None where that takes infinitely many or more than fit."""
    domain = make(name)
    model = domain.model()
    layers = minimal_rdp(model, domain.default_horizon).n_states
    try:
        return layers, stationary_rdp(model, model.usual).n_states
    except SufficeError:
        return layers, None


found = {name: sizes(name) for name in DOMAINS}
names = sorted(found, key=lambda name: found[name][0])
figure = Figure(figsize=(7.5, 4.6), layout="constrained")
axes = figure.subplots()
axes.barh(names, [found[name][0] for name in names], color="#8fbbe6", label="with layers")
axes.barh(names, [found[name][1] or 0 for name in names], 0.4, color="#3f74ad", label="folded, where finite")
axes.set(xscale="log", xlabel="states")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, fontsize=9, loc="lower right")
save_figure(figure, "domains")
