"""
What is predicted, and what comes
=================================

Every plan comes with a prediction and a number that it will likely not fall below. Are they true?
"""

# %%
# Thirty logs of 500 episodes. For each: what the plan on it is predicted to bring, the lower limit (95 % confidence),
# and what it brings, computed exactly.
import numpy as np
from matplotlib.figure import Figure

from suffice import Controller, exact_value, make, regorl
from suffice.view import save_figure

NAME, HORIZON, RUNS = "rotating-mab", 6, 30
model = make(NAME).model(HORIZON)
predicted, lower, brought = np.zeros((3, RUNS))
for run in range(RUNS):
    solution = regorl(make(NAME).simulate(500, HORIZON, np.random.default_rng(run)))
    policy = Controller.on_automaton(solution.learned.rdp, model.alphabet, solution.plan.actions)
    brought[run] = float(exact_value(model, policy, HORIZON).mean_return)
    predicted[run], lower[run] = solution.prediction.value, solution.lower_bound

# %%
# Predictions scatter around what comes, since they are made from few episodes; the limits allow for it.
order = np.argsort(predicted, kind="stable")
figure = Figure(figsize=(8, 3.6), layout="constrained")
axes = figure.subplots()
axes.vlines(range(RUNS), lower[order], predicted[order], color="#8fbbe6", linewidth=4, label="from the lower limit up")
axes.scatter(range(RUNS), predicted[order], color="#3f74ad", s=22, label="predicted", zorder=2)
axes.scatter(range(RUNS), brought[order], color="#e0863f", s=22, label="brought", marker="D", zorder=3)
held = int((brought >= lower).sum())
axes.set_title(f"{held} of {RUNS} plans brought at least their lower limit", size=10)
axes.set(xlabel="logs, ordered by prediction", ylabel="mean return", xticks=())
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, fontsize=9, loc="lower right")
save_figure(figure, "prediction")
