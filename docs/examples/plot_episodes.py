"""
How much is learned from how many episodes
==========================================

From few episodes too few states are found: differences that nobody can be sure of are not made. So errors are of a kind
that vanishes with more data.
"""

# %%
# Twenty-five logs of each size, and what a learner makes of them: on the left how many find exactly the automaton that
# there is, on the right what the plans on it bring, computed exactly.
import numpy as np
from matplotlib.figure import Figure

from suffice import Controller, adact_h, exact_value, make, plan_on, truth_of
from suffice.view import save_figure

HORIZON, SIZES, RUNS = 5, (10, 20, 40, 60, 80, 100, 200), 25
model = make("corridor").model(HORIZON)
truth = truth_of(model, horizon=HORIZON)
states, returns = np.zeros((len(SIZES), RUNS)), np.zeros((len(SIZES), RUNS))
for i, n in enumerate(SIZES):
    for run in range(RUNS):
        learned = adact_h(make("corridor").simulate(n, HORIZON, np.random.default_rng(run))).rdp
        plan = plan_on(learned)
        states[i, run] = learned.n_states
        policy = Controller.on_automaton(learned, model.alphabet, plan.actions)
        returns[i, run] = float(exact_value(model, policy, HORIZON).mean_return)

# %%
# States too many, which is what the promise is about, are next to none.
exact = truth.minimal.n_states
parts = [(states < exact).mean(axis=1), (states == exact).mean(axis=1), (states > exact).mean(axis=1)]
figure = Figure(figsize=(9, 3.4), layout="constrained")
left, right = figure.subplots(1, 2)
labels = ("too few states", f"exactly the {exact} states", "too many states")
left.stackplot(range(len(SIZES)), parts, colors=("#e3e6ea", "#8fbbe6", "#b3261e"), labels=labels)
left.set(ylabel="share of the logs", ylim=(0, 1), xlim=(0, len(SIZES) - 1))
left.legend(loc="center left", fontsize=9)
right.fill_between(range(len(SIZES)), *np.quantile(returns, (0.1, 0.9), axis=1), color="#8fbbe6", alpha=0.5)
right.plot(returns.mean(axis=1), color="#3f74ad", marker="o", label="the plan (and 8 of 10 logs)")
right.axhline(float(truth.optimal_value), color="#2b7a3d", linestyle=":", label="the best policy there is")
right.axhline(float(truth.behaviour.mean_return), color="#727a85", linestyle="--", label="the log's random actions")
right.set(ylabel="mean return")
right.legend(loc="center right", frameon=False, fontsize=9)
for axes in (left, right):
    axes.set_xticks(range(len(SIZES)), [f"{n:,}" for n in SIZES])
    axes.set_xlabel("episodes in the log")
    axes.spines[["top", "right"]].set_visible(False)
save_figure(figure, "episodes")
