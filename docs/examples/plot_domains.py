"""
Memory needed in each domain
============================

Each domain of `suffice` is a finite model, so that its smallest sufficient automaton can be computed: layered, and
stationary where the process is the same at every step.
"""

# %%
# The number of states of each domain at its default horizon.
from matplotlib.figure import Figure

from suffice import SufficeError, make, minimal_rdp
from suffice.domains.exact.stationary import stationary_rdp
from suffice.domains.registry import DOMAINS
from suffice.view import save_figure


def sizes(name):
    """Return the numbers of states of the layered and the stationary automaton; None if it is not finite."""
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
axes.barh(names, [found[name][0] for name in names], color="#8fbbe6", label="layered")
axes.barh(names, [found[name][1] or 0 for name in names], 0.4, color="#3f74ad", label="stationary, where finite")
axes.set(xscale="log", xlabel="states")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, fontsize=9, loc="lower right")
save_figure(figure, "domains")
