"""The held-out episodes of a log, from which a model was not learned.

Which episodes are held out depends on the content of the log alone, so that they can be found again in it, in any order
of its episodes. Of several equal episodes some may be held out and others not. A log is recognised by the digest of its
content, which the model stores, or by the fingerprint of its file, which the notes beside the model file store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec import UnsetType

from suffice.data.alphabet import PAD, STOP, Alphabet
from suffice.data.content import content_hashes
from suffice.data.episodes import Episodes, share_of
from suffice.data.log import Log
from suffice.data.logs.datasets import files_of
from suffice.data.logs.episode_sample import HOLD_OUT_SEED
from suffice.data.logs.reading import ReadOptions
from suffice.errors import SufficeError, parameter, spelled
from suffice.files.atomic import fingerprint
from suffice.files.run_notes import RunNotes, load_run_notes, save_run_notes
from suffice.kernels.array_types import Float, Int64, UInt64
from suffice.models.log_warnings import LogWarning
from suffice.models.model import Model


class HeldOut(NamedTuple):
    """Episodes that a model was not learned from."""

    episodes: Episodes
    propensities: Float | None  # [H+1, N] probabilities of their actions, if the log has them
    of_same_log: bool  # the held-out part of the log that was learned from; else all of another log


def learned_from(log: Log, share: float | None, keys: UInt64 | None = None) -> Log:
    """Return the episodes of a log that are learned from if a share of them is held out; `keys` identify them, [N]."""
    if share is None:
        return log
    rng = np.random.default_rng(HOLD_OUT_SEED)
    return log.divide(share, rng, keys)[0] if isinstance(log, Episodes) else log.divide(share, rng)[0]


def read_like(how: ReadOptions, model: Model) -> ReadOptions:
    """Return reading options with the ends of a model's log, unless the user chose others."""
    ends = model.about.ends
    if model.about.held_out and is_held_apart(model):
        how = replace(how, keyed=tuple(model.encoder.offered or model.encoder.features))
    if how.ends != "auto" or isinstance(ends, UnsetType) or ends.kind not in ("terminal", "censored"):
        return how
    return replace(how, ends=ends.kind)


def is_held_apart(model: Model) -> bool:
    """Return whether the held-out episodes of a model are identified by all columns of its log, not only by its own."""
    found = model.about.columns_found
    return not isinstance(found, UnsetType) and found.apart


def note_run(
    path: str | Path, seconds: float, peak_bytes: int, logs: Sequence[str], warnings: Sequence[LogWarning] = ()
) -> None:
    """Write the notes beside a model file: time and memory of the run, fingerprints of its logs, and warnings."""
    known = [fingerprint(*files_of(log)) for log in logs]
    one, several = (known[0], []) if len(known) == 1 else ("", known)
    save_run_notes(path, RunNotes(round(seconds, 4), peak_bytes, one, several, list(map(asdict, warnings))))


def is_log_of(path: str | Path, log: str) -> bool:
    """Return whether a model file was learned from this log file alone, according to the notes beside it.

    A log that was learned from together with others is refused: its held-out episodes cannot be found again.
    """
    notes, file = load_run_notes(path), fingerprint(*files_of(log))
    if notes is None or not file:
        return False
    if file in notes.log_files:
        raise SufficeError(
            f"{path} was learned from {log} among others, so that an evaluation on it would be biased. Use another log."
        )
    return notes.log_file == file


def find_held_out(
    model: Model,
    episodes: Episodes,
    propensities: Float | None = None,
    keys: UInt64 | None = None,
    *,
    same_log: bool = False,
    cut: bool | None = None,
    names: tuple[str, str] = ("the model", "the log"),
) -> HeldOut:
    """Find the episodes of a log that a model was not learned from.

    Parameters
    ----------
    model
        A learned model.
    episodes
        A log, read with the bins and columns of the model.
    propensities
        [H+1, N] probabilities of the logged actions, if known.
    keys
        [N] hashes of the content of all columns, `report.keys`, if the model chose columns with episodes held out.
    same_log
        Whether the log is known to be the model's own (`is_log_of`). Otherwise its content decides.
    cut
        Whether episodes were cut when the log was read, `report.cut > 0`. If that is not known, a log that is shorter
        than the model's is assumed to be cut.
    names
        What messages call the model and the log.

    Returns
    -------
    HeldOut
        The held-out part of the model's own log, or all episodes of another log.

    Raises
    ------
    SufficeError
        If the model was learned from all of these episodes, if the log was read in another way than for learning, or
        if it is cut before the model's horizon.

    Examples
    --------
    >>> from suffice.models.held_out import find_held_out
    >>> held = suffice.learn(episodes, hold_out=0.2)
    >>> find_held_out(held, episodes).episodes
    <Episodes: 60 of up to 5 decisions, 20 distinct steps>
    """
    found = _find_held_out(model, _Read(episodes, propensities, keys), same_log, names)
    if cut is not False and episodes.horizon < model.rdp.horizon:
        (name, log), horizon = names, episodes.horizon
        if cut:
            raise SufficeError(
                f"{log}: episodes are cut to {horizon} decisions, and {name} plans {model.rdp.horizon}. Leave out "
                f"{spelled('horizon, and do not cut the episodes', '--horizon')}."
            )
        raise SufficeError(
            f"{log}: episodes have at most {horizon} decisions, and {name} plans {model.rdp.horizon}. Read the log "
            f"without a horizon, or use episodes.padded({model.rdp.horizon}) if the episodes end that early."
        )
    return found


class _Read(NamedTuple):
    """A log, with the probabilities of its actions and the hashes of its episodes if they are known."""

    episodes: Episodes
    propensities: Float | None
    keys: UInt64 | None


def _find_held_out(model: Model, read: _Read, same_log: bool, names: tuple[str, str]) -> HeldOut:
    about, (name, log), (episodes, propensities, keys) = model.about, names, read
    if not same_log and _is_one_of_several(model, episodes):
        raise SufficeError(
            f"{name} was learned from {log} among others, so that an evaluation on it would be biased. Use another log."
        )
    same_content = _is_same_content(model, episodes)
    if not (same_log or same_content):
        return HeldOut(episodes, propensities, False)
    if not about.held_out:
        raise SufficeError(
            f"{name} was learned from all of {log}, so that an evaluation on it would be biased. Learn with "
            f"{parameter('hold_out', 0.2)}, or use another log."
        )
    if about.log_content:
        raise SufficeError(
            f"{name} was learned by an earlier version, which held out episodes by their position in {log}. Learn it "
            "again, or use another log."
        )
    if _is_other(model, episodes, same_content):
        raise SufficeError(
            f"{log}: the episodes are not the same as when {name} was learned. Read the log with the same options as "
            "then."
        )
    if is_held_apart(model) and keys is None:
        raise SufficeError(
            f"{log}: the held-out episodes are found by all columns from which {name} chose. Pass the log itself, with "
            "all of these columns."
        )
    keys = keys if is_held_apart(model) else None
    if propensities is not None:
        order = _shuffled(content_hashes(episodes) if keys is None else keys, propensities)
        episodes, propensities = episodes.columns(order), propensities[:, order]
        keys = None if keys is None else keys[order]
    _, held, chosen = episodes.divide(about.held_out, np.random.default_rng(HOLD_OUT_SEED), keys)
    return HeldOut(held, None if propensities is None else propensities[:, chosen], True)


def _is_other(model: Model, episodes: Episodes, same_content: bool) -> bool:
    """Return whether the model's log was read with other episodes; a log with another horizon is refused later."""
    rest = episodes.total - share_of(model.about.held_out, episodes.total)
    half = model.about.plan is not None and model.about.plan.split
    used = rest - share_of(0.5, rest) if half else rest
    return used != model.about.episodes or (not same_content and episodes.horizon == model.rdp.horizon)


def _shuffled(hashes: UInt64, propensities: Float) -> Int64:
    """Return a random order of episodes that depends on their content and propensities alone.

    Equal episodes may differ in their propensities, and the first of equal episodes are held out.
    """
    order = np.lexsort((*propensities, hashes))
    return np.asarray(order[np.random.default_rng(HOLD_OUT_SEED).permutation(len(order))])


def is_learned_from(model: Model, episodes: Episodes) -> bool:
    """Return whether episodes are the log of a model, or one of its logs."""
    return _is_same_content(model, episodes) or _is_one_of_several(model, episodes)


def _is_one_of_several(model: Model, episodes: Episodes) -> bool:
    """Return whether a model was learned from these episodes together with other logs."""
    horizon = model.rdp.horizon
    if not model.about.log_hashes or episodes.horizon > horizon:
        return False
    padded = replace(episodes, report=None).padded(horizon)
    return _has_content(model, padded, model.about.log_hashes)


def _is_same_content(model: Model, episodes: Episodes) -> bool:
    """Return whether a model was learned from these episodes, even if their alphabets declare other unused symbols."""
    expected = [model.about.log_content or model.about.log_hash]  # an earlier version stored both
    if _has_content(model, episodes, expected):
        return True
    shorter = episodes.horizon < model.rdp.horizon
    return shorter and _has_content(model, replace(episodes, report=None).padded(model.rdp.horizon), expected)


def _has_content(model: Model, episodes: Episodes, expected: Sequence[str]) -> bool:
    if episodes.digest() in expected:
        return True
    recoded = _in_alphabet(episodes.compact(), model.rdp.alphabet)
    if recoded is None:
        return False
    return any(replace(recoded, declared=declared).digest() in expected for declared in (False, True))


def _in_alphabet(episodes: Episodes, alphabet: Alphabet) -> Episodes | None:
    """Return the same episodes with another alphabet; None if it lacks a symbol that occurs."""
    ours = episodes.alphabet
    if ours.features != alphabet.features:
        return None
    parts = (
        (ours.actions, alphabet.actions, PAD + 1),
        (ours.observations, alphabet.observations, STOP + 1),
        (ours.rewards, alphabet.rewards, 0),
    )
    codes = []
    for column, (values, known, special) in zip(episodes.letters.T, parts, strict=True):
        places = {value: place for place, value in enumerate(known)}
        unknown = -special - 1
        of_code = [*range(special), *(special + places.get(value, unknown) for value in values)]
        codes.append(np.array(of_code, np.int64)[column])
        if codes[-1].min() < 0:
            return None
    action, observation, reward = (part.astype(np.uint32)[episodes.word] for part in codes)
    return Episodes.from_steps(
        alphabet, action, observation, reward, episodes.weight, length=episodes.length, group=episodes.group
    )
