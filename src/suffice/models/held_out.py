"""Held-out episodes: which part of a log a model was not learned from, and what that part says about its plan.

Which episodes are held out depends on the log alone, so that they can be found again in it. A log is recognised by its
content, whose digest a model keeps, or by the fingerprint of its file, which is in the notes beside the model file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from suffice.data.episodes import Episodes
from suffice.data.log import Log
from suffice.data.logs.datasets import files_of
from suffice.errors import SufficeError
from suffice.files.atomic import fingerprint
from suffice.files.run_notes import RunNotes, load_run_notes, save_run_notes
from suffice.kernels.array_types import Float
from suffice.models.model import Model
from suffice.planning.off_policy import OffPolicyEvaluation, evaluate_off_policy

HOLD_OUT_SEED = 0  # which episodes are held out depends on the log alone, so that they can be found again


class HeldOut(NamedTuple):
    """Episodes that a model was not learned from."""

    episodes: Episodes
    propensities: Float | None  # [H+1, N] of their actions, if the log says so
    of_same_log: bool  # they are the held-out part of the log that was learned from; else all of another log


class LogEvaluation(NamedTuple):
    """What a log says about the plan of a model."""

    judged: OffPolicyEvaluation
    held_out: bool  # by the held-out part of the log that was learned from; else by all of another log
    logged: bool  # the log has the probabilities of its actions; else they are estimated


def learned_from(log: Log, share: float | None) -> Log:
    """The episodes of a log that are learned from if a share of them is held out."""
    if share is None:
        return log
    return log.divide(share, np.random.default_rng(HOLD_OUT_SEED))[0]


def note_run(path: str | Path, seconds: float, peak_bytes: int, logs: Sequence[str]) -> None:
    """Write the notes beside a model file: what the run took, and by what its log files are recognised."""
    known = [fingerprint(*files_of(log)) for log in logs]
    one, several = (known[0], []) if len(known) == 1 else ("", known)
    save_run_notes(path, RunNotes(round(seconds, 4), peak_bytes, one, several))


def is_log_of(path: str | Path, log: str) -> bool:
    """Whether a model file was learned from a log file alone, by the notes beside it.

    A log that it was learned from among others is refused: none of its episodes can be found again.
    """
    notes, file = load_run_notes(path), fingerprint(*files_of(log))
    if notes is None or not file:
        return False
    if file in notes.log_files:
        raise SufficeError(f"{path} was learned from {log} among others, which would flatter it; give another log")
    return notes.log_file == file


def find_held_out(
    model: Model,
    episodes: Episodes,
    propensities: Float | None = None,
    *,
    same_log: bool = False,
    cut: bool | None = None,
    names: tuple[str, str] = ("the model", "the log"),
) -> HeldOut:
    """The episodes of a log that a model was not learned from: the held-out part of its own log, or all of another.

    Parameters
    ----------
    model
        A learned model.
    episodes
        A log, read with the bins and columns of the model.
    propensities
        [H+1, N] the probabilities of its actions, if known.
    same_log
        The log is known to be that of the model (`is_log_of`). Otherwise its content says whether it is.
    cut
        Whether episodes were cut when the log was read, as its report says: `report.cut > 0`. If that is not known, a
        log that is shorter than the model's is taken to be cut.
    names
        What messages call model and log.

    Raises
    ------
    SufficeError
        If the model was learned from all of these episodes, or the log was read in another way than for learning; or
        if it is cut before the model's horizon: then it is neither known as that of the model nor one of early ends.

    Examples
    --------
    >>> from suffice.models.held_out import find_held_out
    >>> held = suffice.learn(episodes, hold_out=0.2)
    >>> find_held_out(held, episodes).episodes
    <Episodes: 60 of up to 5 decisions, 20 distinct steps>
    """
    found = _find_held_out(model, episodes, propensities, same_log, names)
    if cut is not False and episodes.horizon < model.rdp.horizon:
        (name, log), horizon = names, episodes.horizon
        if cut:
            raise SufficeError(
                f"{log}: cut to {horizon} decisions, where {name} plans {model.rdp.horizon}; leave --horizon out"
            )
        raise SufficeError(
            f"{log}: at most {horizon} decisions, where {name} plans {model.rdp.horizon}; read it without a horizon, "
            "or say cut=False if its episodes end that early"
        )
    return found


def _find_held_out(
    model: Model, episodes: Episodes, propensities: Float | None, same_log: bool, names: tuple[str, str]
) -> HeldOut:
    about, (name, log) = model.about, names
    if not same_log and episodes.digest(about.held_out > 0) != about.log_hash:
        return HeldOut(episodes, propensities, False)
    if not about.held_out:
        raise SufficeError(
            f"{name} was learned from all of {log}, which would flatter it; learn with --hold-out 0.2, or give "
            "another log"
        )
    rest, held, chosen = episodes.divide(about.held_out, np.random.default_rng(HOLD_OUT_SEED))
    half = about.plan is not None and about.plan.split
    used = rest.divide(0.5, np.random.default_rng(0))[0] if half else rest
    if used.total != about.episodes:  # an episode's place among those kept says if it is held out
        raise SufficeError(f"{log}: other episodes are kept than when {name} was learned; read it as it was then")
    return HeldOut(held, None if propensities is None else propensities[:, chosen], True)


def judge_log(
    model: Model,
    episodes: Episodes,
    propensities: Float | None = None,
    *,
    same_log: bool = False,
    cut: bool | None = None,
    names: tuple[str, str] = ("the model", "the log"),
) -> LogEvaluation:
    """Evaluate the plan of a model off-policy, by the episodes of a log that it was not learned from.

    Parameters are those of `find_held_out`.

    Examples
    --------
    >>> from suffice.models.held_out import judge_log
    >>> evaluation = judge_log(suffice.learn(episodes, hold_out=0.2), episodes)
    >>> evaluation.held_out, evaluation.judged.episodes, round(evaluation.judged.log.value, 2)
    (True, 60, 2.5)
    """
    held = find_held_out(model, episodes, propensities, same_log=same_log, cut=cut, names=names)
    return judge_held_out(model, held)


def judge_held_out(model: Model, held: HeldOut) -> LogEvaluation:
    """Evaluate the plan of a model off-policy, by held-out episodes."""
    judged = evaluate_off_policy(model.planned, model.required_plan(), held.episodes, held.propensities)
    return LogEvaluation(judged, held.of_same_log, held.propensities is not None)
