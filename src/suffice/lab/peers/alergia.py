"""AALpy's learners of stochastic Mealy machines (ALERGIA)."""

from __future__ import annotations

import gc
import math
import warnings
from functools import partial
from importlib.util import find_spec
from typing import Any, Final

import numpy as np

from suffice.automata.rdp import UNSEEN
from suffice.data.alphabet import DUMMY
from suffice.data.episodes import Episodes
from suffice.errors import MissingError, SettingsError
from suffice.lab.learner import LearnerKind, LearnerResult, Task
from suffice.lab.peers.machines import Machine, as_found, closed_setting, traces
from suffice.lab.resources import measure

ABSENT: Final = "AALpy is not installed: pip install 'suffice[baselines]'"
MOST_EPS: Final = 2.0  # largest eps that ALERGIA accepts
FIRST_ACTION: Final = 2  # the code of the first logged action
ON_COUNTS: Final = {"compat_on_pta_trans": False, "compat_on_pta_count": False}  # statistics of merged states


def aalpy(episodes: Episodes, eps: float | str, closed: bool = False, general: bool = False) -> Machine:
    """Run `run_Alergia`, or with `general` the variant that tests merged states; data preparation is not measured.

    Inputs are actions, outputs letters. The input of step 0 is the first logged action: AALpy treats states without a
    common input as compatible, so a root with only the dummy action would be merged with every state. The termination
    symbol has the same input, so that it can distinguish states.
    """
    try:
        from aalpy.learning_algs import run_Alergia, run_Alergia_GSM
    except ImportError:
        raise MissingError(ABSENT) from None
    action = [FIRST_ACTION if a == DUMMY else a for a in episodes.letters[:, 0].tolist()]
    steps = list(zip([*action, FIRST_ACTION], range(len(action) + 1), strict=True))
    data = [[steps[letter] for letter in trace] for trace in traces(episodes, closed)]
    learn = partial(run_Alergia_GSM, **ON_COUNTS) if general else run_Alergia
    collecting = gc.isenabled()
    gc.disable()  # garbage collection frees nothing in a growing prefix tree and doubles the time
    try:
        with warnings.catch_warnings(action="ignore"):  # warnings that an automaton lacks inputs
            machine, took = measure(lambda: learn(data, automaton_type="smm", eps=eps))
    finally:
        if collecting:
            gc.enable()
    return Machine(_delta(machine, len(action)), took, closed)


def _delta(machine: Any, n_letters: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the transition table [states, X], with the initial state first."""
    states = [machine.initial_state, *(state for state in machine.states if state is not machine.initial_state)]
    number = {id(state): q for q, state in enumerate(states)}
    delta = np.full((len(states), n_letters + 1), UNSEEN)
    for q, state in enumerate(states):
        for target, letter, _ in (row for rows in state.transitions.values() for row in rows):
            delta[q, letter] = number[id(target)]
    return delta[:, :n_letters]


def _eps(text: str, name: str) -> float | str:
    if text == "auto":
        return text
    try:
        eps = float(text)
    except ValueError:
        eps = math.nan
    if not 0 < eps <= MOST_EPS:
        raise SettingsError(
            f"learner {name!r}: {text!r} is not an eps. Use 'auto' or a number above 0 and up to {MOST_EPS:g}."
        )
    return eps


def _learn(task: Task, general: bool) -> LearnerResult:
    setting, closed = closed_setting(task.setting)
    return as_found(aalpy(task.episodes, _eps(setting, task.name), closed, general=general), task.episodes)


def _missing(flexfringe: str | None) -> str:
    del flexfringe
    return ABSENT if find_spec("aalpy") is None else ""


AALPY: Final = LearnerKind(partial(_learn, general=False), cyclic=True, missing=_missing)
AALPY_GSM: Final = LearnerKind(partial(_learn, general=True), cyclic=True, missing=_missing)
