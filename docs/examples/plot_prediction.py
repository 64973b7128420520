"""
Predicted and actual returns
============================

Every plan has a predicted return and a lower bound with 95 % confidence. This example compares them with the actual
return.
"""

# %%
# Thirty logs of 500 episodes. For each log: the predicted return of the plan, its lower bound, and its actual return,
# computed exactly.
import numpy as np
from matplotlib.figure import Figure

from suffice import Controller, exact_value, make, regorl
from suffice.view import save_figure

NAME, HORIZON, RUNS = "rotating-mab", 6, 30
model = make(NAME).model(HORIZON)
predicted, lower, actual = np.zeros((3, RUNS))
for run in range(RUNS):
    solution = regorl(make(NAME).simulate(500, HORIZON, np.random.default_rng(run)))
    policy = Controller.on_automaton(solution.learned.rdp, model.alphabet, solution.plan.actions)
    actual[run] = float(exact_value(model, policy, HORIZON).mean_return)
    predicted[run], lower[run] = solution.prediction.value, solution.lower_bound

# %%
# Predictions scatter around the actual returns, because each log is small; the lower bounds allow for this.
order = np.argsort(predicted, kind="stable")
figure = Figure(figsize=(8, 3.6), layout="constrained")
axes = figure.subplots()
axes.vlines(range(RUNS), lower[order], predicted[order], color="#8fbbe6", linewidth=4, label="from the lower bound")
axes.scatter(range(RUNS), predicted[order], color="#3f74ad", s=22, label="predicted", zorder=2)
axes.scatter(range(RUNS), actual[order], color="#e0863f", s=22, label="actual", marker="D", zorder=3)
held = int((actual >= lower).sum())
axes.set_title(f"{held} of {RUNS} plans return at least their lower bound", size=10)
axes.set(xlabel="logs, ordered by prediction", ylabel="mean return", xticks=())
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, fontsize=9, loc="lower right")
save_figure(figure, "prediction")
