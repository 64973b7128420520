"""The check of a log before learning: contents, problems, whether there is enough data, and what learning will cost.

The trial runs on a sample of the log are in `trial`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import to_builtins

from suffice.data.alphabet import PAD, STOP, Alphabet
from suffice.data.encoding.binning import Binning
from suffice.data.encoding.columns import Columns
from suffice.data.encoding.encoder import Encoder
from suffice.data.ends import Ends
from suffice.data.episodes import Episodes
from suffice.data.logs.reading import ReadOptions, read_as
from suffice.data.memory_limit import half_of_memory
from suffice.data.report import ReadReport
from suffice.data.streaming import MemoryBudget
from suffice.data.whole_logs import require_whole
from suffice.errors import require_function
from suffice.learning.adact_h import Settings
from suffice.models.column_choice import ChosenColumns, choose_columns, columns_chosen_by
from suffice.models.column_findings import ColumnsFound
from suffice.models.column_texts import column_sentences, found_text
from suffice.models.learn_options import LearnOptions, memory_bytes
from suffice.models.log_options import MAX_VALUES, LogOptions
from suffice.models.log_warnings import LogWarning, log_warnings
from suffice.models.trial import SECONDS, Progress, refuse_budget, silently, try_sample
from suffice.models.trial_findings import Trial

COST = "learning takes"  # label
ShowFacts = Callable[[Mapping[str, str], Sequence[str]], None]  # shows contents and remarks
REPORTED = ("rows", "episodes", "horizon", "lengths", "sorted", "cut", "padded", "dropped", "values", "observations")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LogCheck:
    """What a log contains, whether it is enough to learn from, and what learning will cost.

    `print(check)` shows the findings as text.

    Attributes
    ----------
    report : ReadReport
        How the log was read: rows, episodes, lengths, columns, distinct values, notes.
    trial : Trial
        What learning from a sample of the episodes found.
    n_steps : int
        Number of distinct steps (action, observation, reward).
    weighted : bool
        Whether a column states how many episodes each logged episode represents.
    warnings : tuple of LogWarning
        Problems of the log that make results misleading.
    found : ColumnsFound or None
        Evidence for and against each column; None if the columns were not chosen by it.
    ignored : tuple of str
        Observation columns of the log that do not matter.

    Examples
    --------
    >>> check = suffice.check("log.parquet")
    >>> check.n_episodes, check.n_rows, check.columns
    (300, 1500, ['row', 'column', 'guard'])
    >>> check.enough, check.memory_matters
    (True, False)
    """

    report: ReadReport
    trial: Trial
    n_steps: int
    weighted: bool = False
    warnings: tuple[LogWarning, ...] = ()
    found: ColumnsFound | None = None
    ignored: tuple[str, ...] = ()

    @property
    def n_episodes(self) -> int:
        """Return the number of episodes, weights counted."""
        return self.trial.episodes

    @property
    def n_rows(self) -> int:
        """Return the number of rows of the log."""
        return self.report.rows

    @property
    def horizon(self) -> int:
        """Return the largest number of decisions of an episode."""
        return self.report.horizon

    @property
    def columns(self) -> list[str]:
        """Return the names of the observation columns that are used: those that matter, if they were chosen."""
        return list(self.report.encoder.features)

    @property
    def column_sentences(self) -> tuple[str, ...]:
        """Return which columns matter, for what and with which evidence, in sentences; none if none were chosen."""
        if self.found is None:
            return ()
        edges = {name: binned.edges for name, binned in self.report.bins.items()}
        text = found_text(self.columns, edges, self.found, len(self.ignored))
        return (f"{text[0].upper()}{text[1:]}.", *column_sentences(self.found))

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what is unusual about the log, in sentences."""
        return self.report.notes

    @property
    def enough(self) -> bool:
        """Return whether more episodes are unlikely to show more states."""
        return self.trial.enough

    @property
    def memory_matters(self) -> bool | None:
        """Return whether the last observation is clearly not enough to act; None if that could not be compared."""
        return self.trial.memory_matters

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return sentences about the columns that matter, the amount of data and the need of memory."""
        return (*self.column_sentences, *self.trial.sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as `suffice check --json` prints them, without the name of the log.

        Returns
        -------
        dict
            Plain values: numbers, texts, lists and dicts.
        """
        found: dict[str, Any] = {name: getattr(self.report, name) for name in REPORTED}
        found["bins"] = {name: list(binned.cuts) for name, binned in self.report.bins.items()}
        if self.weighted:
            found["total"] = self.n_episodes
        return found | {
            "letters": self.n_steps,
            "notes": list(self.notes),
            **self.trial.to_dict(),
            "warnings": [warning.to_dict() for warning in self.warnings],
            "columns": self.columns,
            "columns_ignored": list(self.ignored),
            **({} if self.found is None else {"columns_evidence": to_builtins(self.found)}),
        }

    @property
    def contents(self) -> dict[str, str]:
        """Return what is in the log and what learning will cost, as text by label; empty texts are to be left out."""
        return contents_of(self.report, self.n_steps, self.n_episodes, self.weighted) | {COST: self.trial.cost}

    def __repr__(self) -> str:
        return (
            f"<LogCheck: {self.n_episodes:,} episodes, {self.n_rows:,} rows, {'enough' if self.enough else 'unsure'}>"
        )

    def __str__(self) -> str:
        contents = {name: text for name, text in self.contents.items() if text}
        width = max(map(len, contents))
        lines = [f"  {name:<{width}} {text}" for name, text in contents.items()]
        return "\n".join([*lines, *self.remarks, *self.sentences, self.conclusion])

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return warnings and notes, as lines of text."""
        return remarks_of(self.warnings, self.notes)

    @property
    def conclusion(self) -> str:
        """Return the last line of the check, which refers to the warnings and notes if there are any."""
        above = [name for name, lines in (("warnings", self.warnings), ("notes", self.notes)) if lines]
        if not above:
            return "No problems found."
        return f"No errors found, but read the {' and '.join(above)} above before learning."


def contents_of(report: ReadReport, n_steps: int, total: int, weighted: bool) -> dict[str, str]:
    """Return what is in a log, as text by label; empty texts are to be left out."""
    shortest, median, longest = report.lengths
    steps = f"{longest}" if shortest == longest else f"{shortest} to {longest} (median {median:g})"
    changed = {
        f"cut to {report.horizon}": report.cut,
        "end early": report.padded,
        "truncated and left out": report.dropped,
    }
    *values, rewards = (f"{name} {count:,}" for name, count in report.values.items())
    action, features = values[0], values[1:]
    together = f"; {report.observations:,} combinations" if len(features) > 1 else ""
    roles = {
        role: getattr(report.columns, role) for role in ("episode", "step", "weight", "terminated", "truncated", "done")
    }
    return {
        "episodes": f"{total:,} of {steps} decisions, {report.rows:,} rows"
        + (f" (weights counted; {report.episodes:,} distinct)" if weighted else ""),
        "of these": ", ".join(f"{count:,} {what}" for what, count in changed.items() if count),
        "columns": ", ".join(f"{role} in {name!r}" for role, name in roles.items() if name not in (None, role)),
        "distinct values": f"{action}; {', '.join(features)}{together}; {rewards}",
        "bins": "; ".join(
            f"{name} from {', '.join(f'{e:.4g}' for e in bins.cuts)}" for name, bins in report.bins.items()
        ),
        "distinct steps": f"{n_steps:,} (action, observation, reward)",
    }


def remarks_of(warnings: Sequence[LogWarning], notes: Sequence[str]) -> tuple[str, ...]:
    """Return warnings and notes, as lines of text."""
    return (*(f"Warning: {warning.text}." for warning in warnings), *(f"Note: {note}." for note in notes))


def check(
    data: Any,
    *,
    columns: Columns | Mapping[str, Any] | str | None = None,
    observations: Sequence[str] | str | None = None,
    horizon: int | None = None,
    bins: Mapping[str, Binning | str] | None = None,
    drop_truncated: bool = False,
    ends: Ends = "auto",
    group_column: str | None = None,
    max_values: int = MAX_VALUES,
    schema: Alphabet | str | Path | None = None,
    seconds: float | None = SECONDS,
    memory: int | str | None = None,
    progress: Progress = silently,
) -> LogCheck:
    """Inspect a log before learning from it.

    Reports what the log contains, which columns matter, whether there are enough episodes, whether memory is needed
    beyond the last observation, and what learning will cost. A sample of the episodes is learned from to find out.

    Parameters
    ----------
    data
        Anything that `read_log` accepts: a path, a DataFrame, arrays, or `Episodes`.
    columns, observations, horizon, bins, drop_truncated, max_values, schema, ends, group_column
        How the log is read: as in `learn`.
    seconds
        Time budget of the trial runs: a smaller sample is learned from, or fewer steps of its episodes, if they would
        take longer. Default: 20. None: no limit; the sample has at most 20,000 episodes and their first 1,000 steps.
        Facts that need no trial runs are always reported.
    memory
        Memory that the trial runs may take, in bytes or as text such as "4GB", and that learning is estimated for.
        Default: 1 GB, and what `learn` may take by default.
    progress
        Called with the percentage done and 100.

    Returns
    -------
    LogCheck
        Findings as data; `print(check)` shows them as text.

    Raises
    ------
    LogError
        If the log cannot be read. The message names file, row, column and the fix.

    Examples
    --------
    >>> suffice.check("log.parquet").n_episodes
    300
    """
    options = LogOptions(
        columns=columns,
        observations=observations,
        horizon=horizon,
        bins=bins,
        drop_truncated=drop_truncated,
        ends=ends,
        group_column=group_column,
        max_values=max_values,
        schema=schema,
    )
    refuse_budget(seconds)
    require_function("progress", progress)
    if isinstance(data, Episodes):
        options.refuse_for_episodes(data)
        data = data if horizon is None or horizon >= data.horizon else data.cut(horizon)
        return check_episodes(data, getattr(data, "report", None) or _report_of(data), progress, seconds, memory)
    how, chosen = choose_for_check(data, options)
    return with_columns(check_episodes(*read_as(data, how), progress, seconds, memory), chosen)


def choose_for_check(data: Any, options: LogOptions) -> tuple[ReadOptions, ChosenColumns | None]:
    """Return how a log is read with the columns that `learn` would choose, and what was found about them."""
    how = options.read_options()
    require_whole(data, how)
    room = MemoryBudget(half_of_memory())
    chosen = choose_columns(data, how, room, Settings(), columns_chosen_by(options, LearnOptions(), None))
    return (how, None) if chosen is None else (chosen.how, chosen)


def with_columns(found: LogCheck, chosen: ChosenColumns | None) -> LogCheck:
    """Add what was found about columns to the check of a log."""
    if chosen is None:
        return found
    ignored = tuple(name for name in chosen.offered if name not in found.columns)
    return replace(found, found=chosen.found, ignored=ignored)


def check_episodes(
    episodes: Episodes,
    report: ReadReport,
    progress: Progress = silently,
    seconds: float | None = SECONDS,
    memory: int | str | None = None,
    show: ShowFacts = lambda contents, remarks: None,
) -> LogCheck:
    """Check a log that has been read; `show` gets what is known at once, before the trial runs."""
    refuse_budget(seconds)
    most = None if memory is None else memory_bytes(memory)
    warnings = log_warnings(episodes, report.encoder, report.ends)
    n_steps, weighted = len(episodes.letters), episodes.weight is not None
    show(contents_of(report, n_steps, episodes.total, weighted), remarks_of(warnings, report.notes))
    return LogCheck(report, try_sample(episodes.ended(), progress, seconds, most), n_steps, weighted, warnings)


def _report_of(episodes: Episodes) -> ReadReport:
    """Make the report on episodes that were not read from a log."""
    alphabet, horizon, letters = episodes.alphabet, episodes.horizon, episodes.letters
    acts = letters[:, 0] > PAD
    lengths = acts[episodes.word[1:]].sum(axis=0)
    actions, rewards = np.unique(letters[acts, 0]), np.unique(letters[acts, 2])
    seen = [alphabet.observations[code - STOP - 1] for code in np.unique(letters[:, 1]).tolist() if code > STOP]
    values = {"action": len(actions)}
    values |= {name: len({observation[i] for observation in seen}) for i, name in enumerate(alphabet.features)}
    return ReadReport(
        rows=int(lengths.sum()),
        episodes=episodes.n,
        horizon=horizon,
        lengths=(int(lengths.min()), float(np.median(lengths)), int(lengths.max())),
        sorted=False,
        cut=0,
        padded=int(np.count_nonzero(lengths < horizon)),
        dropped=0,
        values=values | {"reward": len(rewards)},
        observations=len(seen),
        encoder=Encoder.of_features(alphabet.features),
        notes=(),
    )
