"""Whether an automaton still fits episodes that it was not learned from, such as a later log.

Two kinds of tests, each a sum of Pearson's X² over all pairs of a state and an action, with exact moments:

*before*    does what came before a state predict what follows it? These are the lack-of-fit tests of cross-fitting.
            If so, the automaton lacks states
*training*  does what follows a state occur as often as in the training episodes? If not, the process has changed

An automaton fits if no z is 3 or more. Theory: docs/theory.md, section 6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import PAD
from suffice.data.episodes import Episodes, known_outcomes
from suffice.kernels.contingency import excess_of_tables
from suffice.planning.cross_fitting import MISFIT, one_of_each_group, tested_refinements
from suffice.planning.held_out_value import HeldOutPlan
from suffice.planning.plan import Plan

TRAINING = "training"
ONE_SIDED = 0.5 * math.erfc(MISFIT / math.sqrt(2))  # level of a single test


@dataclass(frozen=True, slots=True)
class LaterFit:
    """Tests of an automaton on episodes that it was not learned from.

    Attributes
    ----------
    z
        Standardised statistic of each test: "edge", "two edges", "first observation" and, for stationary automata,
        "step" are what may predict what follows a state; "training" compares with the training episodes. With groups
        it is missing, because a model does not keep how much the groups of its training episodes differ.
    grouped
        Whether episodes have groups, so that the tests use one episode of each.

    Examples
    --------
    >>> fit = model.evaluate("more.parquet").fit
    >>> fit.fits, round(fit.level, 4)
    (True, 0.0054)
    """

    z: dict[str, float]
    grouped: bool = False

    @property
    def largest(self) -> float:
        """The largest z of all tests."""
        return max(self.z.values(), default=0.0)

    @property
    def fits(self) -> bool:
        """Whether no test rejects the automaton."""
        return self.largest < MISFIT

    @property
    def level(self) -> float:
        """The probability that some test rejects a right automaton is at most this, for large samples."""
        return len(self.z) * ONE_SIDED

    @property
    def changed(self) -> bool:
        """Whether what follows the states occurs more or less often than in the training episodes."""
        return self.z.get(TRAINING, 0.0) >= MISFIT

    @property
    def lacks_states(self) -> bool:
        """Whether what came before a state predicts what follows it."""
        return any(z >= MISFIT for name, z in self.z.items() if name != TRAINING)

    @property
    def sentence(self) -> str:
        """The result as a sentence."""
        if self.fits:
            of = "; one episode of each group, not compared with the training episodes" if self.grouped else ""
            return f"The model fits these episodes (largest z {self.largest:.1f}; from {MISFIT:g} it would not{of})."
        found = []
        if self.changed:
            found.append(f"outcomes differ from those of the training episodes (z {self.z[TRAINING]:.1f})")
        if self.lacks_states:
            most = max(z for name, z in self.z.items() if name != TRAINING)
            found.append(f"what came before a state predicts what follows it, so states are missing (z {most:.1f})")
        return f"The model does not fit these episodes: {'; '.join(found)}. Learn it again with them."

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON data.

        Returns
        -------
        dict
            Whether the model fits, the largest z, its level, and z of each test.
        """
        return {"fits": self.fits, "z": self.largest, "level": self.level, "tests": dict(self.z)}


def later_fit(rdp: RDP, plan: Plan, episodes: Episodes) -> LaterFit:
    """Test an automaton on episodes that it was not learned from.

    Parameters
    ----------
    rdp
        The automaton.
    plan
        A plan on its layers.
    episodes
        The episodes, with at most as many decisions as the automaton.

    Returns
    -------
    LaterFit
        z of every test.
    """
    walked = HeldOutPlan(rdp, plan, episodes, np.ones(episodes.horizon))
    tested = one_of_each_group(episodes)
    tests = {name: walked.fit(name, tested) for name in tested_refinements(rdp)}
    if tested is None:
        tests[TRAINING] = _against_training(rdp, episodes)
    return LaterFit({name: _z(*test) for name, test in tests.items()}, tested is not None)


def _z(excess: float, variance: float) -> float:
    return excess / math.sqrt(variance) if variance > 0 else 0.0


def _against_training(rdp: RDP, episodes: Episodes) -> tuple[float, float]:
    """Compare the letters that follow each state and action with those of the training episodes.

    A decision counts if it is known what followed it, as among the training episodes.
    """
    letter, action = rdp.codes_in(episodes)
    states, n_letters, n_actions = rdp.run_all(episodes), len(rdp.letters), rdp.alphabet.n_actions
    weight = np.ones(episodes.n) if episodes.weight is None else episodes.weight.astype(float)
    known = np.append(rdp.counts.any(axis=1), False)  # UNSEEN is the last
    cells, rows, outcomes, times = [], [], [], []
    state, code = np.nonzero(rdp.counts * (rdp.letters[:, 0] > PAD))
    cells.append(state * n_actions + rdp.letters[code, 0])
    rows.append(2 * cells[0])
    outcomes.append(code)
    times.append(rdp.counts[state, code].astype(float))
    outcome_known = known_outcomes(episodes)
    shorter = not rdp.stationary and episodes.horizon < rdp.horizon  # what followed its last decision is not known
    for t in range(1, rdp.steps_in(episodes) - shorter):
        word = episodes.word[t]
        here = known[states[t]] & outcome_known[t - 1] & (action[word] > PAD) & (action[word] != UNSEEN)
        cells.append(states[t][here].astype(np.int64) * n_actions + action[word][here])
        rows.append(2 * cells[-1] + 1)
        found = letter[word][here]
        outcomes.append(np.where(found == UNSEEN, n_letters, found))
        times.append(weight[here])
    return excess_of_tables(*(np.concatenate(part) for part in (cells, rows, outcomes, times)))
