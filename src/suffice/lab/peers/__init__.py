"""Peers that learn probabilistic automata from the episodes we learn from: AALpy and FlexFringe.

Both read a step as one letter, action, observation and reward together. A log is given to them in one of two ways:
- *closed*, as in the paper: all steps, and one termination symbol at the end of every trace.
- *open*: without step H, whose o_⊥ is the cut of the log and which a peer would take for something that happened. Best
  for an automaton that is the same at all times.
Either way padding is left out. What a peer is spared, always in its favour:
- Where an end leads, and in open logs where a symbol leads that was logged in step H−1 alone: nothing is known of what
  follows, so that the peer had to guess. Such transitions are left out of what it found.
- Rewards: histories have none. Where one symbol leads to several states by its rewards, the most frequent counts.
- Transitions it never saw lead where their symbol leads from most states, so that a plan goes on. How like the truth
  its automaton is does not depend on them.
"""
