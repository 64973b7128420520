"""
From a log to a policy
======================

Learn from a log in memory, evaluate the policy on held-out episodes, and look at the states. The page can be downloaded
as a notebook.
"""

# %%
# The log of a help desk. A customer has a new problem, or one that happened before, and says so in the first message
# only. Once the details are known, the right reply depends on that first message.
import random

import suffice

random.seed(1)
log = []
for _ in range(2000):
    before = random.random() < 0.4
    message, conversation = "it happened before" if before else "a new problem", []
    for _ in range(4):
        reply = random.choice(["ask", "answer", "escalate"])
        solved = message == "details" and reply == ("escalate" if before else "answer")
        conversation.append(({"message": message, "mood": random.choice(["calm", "angry"])}, reply, int(solved)))
        if reply != "ask":
            break
        message = "details"
    log.append(conversation)

# %%
# Check what is in the log before learning from it.
print(suffice.check(log))

# %%
# Learn a stationary automaton from 70 % of the conversations, and plan on it.
model = suffice.learn(log, stationary=True, hold_out=0.3)
print(model)

# %%
# The other 30 % show what the policy is worth. The estimates rest on different assumptions and agree.
print(model.evaluate(log))

# %%
# Every state with the action of the plan and what is observed on arrival. The mood plays no role.
states = model.states
print(states[["share", "action", "value", "common"]].to_string())

# %%
# The same as a picture: orange is the plan.
model.draw("log_to_policy.svg")

# %%
# At run time the policy takes observations, returns actions, and remembers what it has to.
policy = model.policy()
for first in ("it happened before", "a new problem"):
    policy.reset()
    replies = [policy.act({"message": message, "mood": "calm"}) for message in (first, "details")]
    print(first, replies)
