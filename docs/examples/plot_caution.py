"""
Why plans are cautious
======================

A plan that takes what looks best in a small log follows luck. A *safe* plan does what the log did, unless an action is
better even by a cautious estimate. That matters most where the log was made by somebody who knew what to do.
"""

# %%
# Somebody in the cheese maze acts well seven times of ten, and at random otherwise. From logs of what they did we learn
# automata, and make two plans on each.
from fractions import Fraction

import numpy as np
from matplotlib.figure import Figure

from suffice import GREEDY, Controller, Planning, adact_h, exact_value, make, plan_on, simulate, truth_of
from suffice.view import save_figure

HORIZON, SIZES, RUNS = 6, (100, 200, 500, 1_000, 2_000), 12
maze = make("cheese")
model = maze.model(HORIZON)


def policy_of(rdp, planning, epsilon=Fraction(0)):
    """The plan on an automaton, with some random actions."""
    return Controller.on_automaton(rdp, model.alphabet, plan_on(rdp, planning).actions, epsilon)


known = adact_h(maze.simulate(100_000, HORIZON, np.random.default_rng(0))).rdp
logger = policy_of(known, Planning(), Fraction(3, 10))
planners = {"greedy: the best by plain averages": (GREEDY, "#b3261e"), "safe: the default": (Planning(), "#3f74ad")}
returns = np.zeros((len(planners), len(SIZES), RUNS))
for i, n in enumerate(SIZES):
    for run in range(RUNS):
        learned = adact_h(simulate(model, n, HORIZON, np.random.default_rng(run), logger)).rdp
        for k, (planning, _) in enumerate(planners.values()):
            returns[k, i, run] = float(exact_value(model, policy_of(learned, planning), HORIZON).mean_return)

# %%
# What they bring is computed exactly. Lines are means over logs, bands reach from the worst to the best. Caution does
# not help where the log is too small to know even what its maker did; there the verdict is to keep to what the log did.
figure = Figure(figsize=(7.5, 3.8), layout="constrained")
axes = figure.subplots()
for (name, (_, colour)), found in zip(planners.items(), returns, strict=True):
    axes.fill_between(range(len(SIZES)), found.min(axis=1), found.max(axis=1), color=colour, alpha=0.15, linewidth=0)
    axes.plot(found.mean(axis=1), color=colour, marker="o", label=name)
best, logged = truth_of(model, HORIZON).optimal_value, exact_value(model, logger, HORIZON).mean_return
axes.axhline(float(best), color="#2b7a3d", linestyle=":", label="the best policy there is")
axes.axhline(float(logged), color="#727a85", linestyle="--", label="who made the log")
axes.set_xticks(range(len(SIZES)), [f"{n:,}" for n in SIZES])
axes.set(xlabel="episodes in the log", ylabel="mean return")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, fontsize=9, loc="lower right")
save_figure(figure, "caution")
