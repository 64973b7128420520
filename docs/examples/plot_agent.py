"""
An agent that learns while it acts
==================================

Two keys must be found and used, and only the second opening is rewarded: a random episode succeeds once in 2,900. An
agent tries what it knows least about, so that it learns the task in about a thousand episodes.
"""

# %%
# The agent learns whenever its episodes have grown by half. Each of these rounds has the states of the automaton, the
# predicted return of the greedy policy, and the returns of the episodes since the round before.
import suffice
from suffice.view import save_figure
from suffice.view.learning_curve import learning_curve

agent = suffice.train("two-keys", episodes=1_500, seed=1)
print(agent.rounds[-1])

# %%
# The upper part shows returns, the lower part the number of states. Exploration is rarely rewarded; the greedy policy
# is, once the states are known that matter.
save_figure(learning_curve(agent.rounds), "agent")
