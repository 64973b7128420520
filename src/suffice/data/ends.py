"""How the episodes of a log end, where no column marks it: by themselves, or because observation stopped.

An episode that is shorter than the horizon has *ended* (terminal: nothing follows, and no reward), or was *cut off*
(censored: it went on, unobserved). Both look the same in a log without a column that marks ends. The rule of "auto":

- if all episodes have the same number of decisions, that number is the horizon, and nothing is assumed;
- with fewer than 20 episodes nothing can be compared, and they count as ended;
- otherwise, for each number of decisions, episodes that stop there are compared with those that go on: by the last
  observation (column by column), the last action and the last reward. If one of these predicts the stop, episodes
  end by themselves; if none does, they were cut off.

The comparison is Pearson's X² of the table of values against stops, with its exact mean and variance given the margins
(Haldane, 1940), added up over the numbers of decisions. If episodes belong to groups, counts are divided by the design
effect (`data.groups`), as if each group had one episode. It takes enough episodes to notice what ends depend on, and it
cannot tell an end that strikes at random from a cut. The result of reading says what was assumed; `ends` overrides
the rule. Decision: docs/decisions/0035.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np

from suffice.data.alphabet import Alphabet
from suffice.data.episodes import Episodes, weights
from suffice.data.groups import group_sizes
from suffice.data.log import Log, run_query
from suffice.data.queries import EpisodesView, added
from suffice.errors import LogError, SettingsError, parameter
from suffice.kernels import walking
from suffice.kernels.array_types import Int64
from suffice.kernels.contingency import excess_of_tables

Ends = Literal["terminal", "censored", "auto"]
ENDS: tuple[Ends, ...] = ("terminal", "censored", "auto")
LEVEL = 0.001  # of the normal approximation; of 400 small logs cut off at random, 1 % were taken to end by themselves
FEWEST_EPISODES = 20  # episodes below which ends are not compared
MOST_CELLS = 1 << 22  # cells of the table of stops; of longer logs, only the first decisions are compared


@dataclass(frozen=True, slots=True)
class LogEnds:
    """How the episodes of a log end, and who says so.

    Attributes
    ----------
    kind : str
        "horizon" (all have the same number of decisions), "marked" (a column says it), "terminal" (shorter episodes
        have ended) or "censored" (shorter episodes were cut off).
    assumed : bool
        Whether the rule of "auto" chose "terminal" or "censored", because neither a column nor the user did.
    shorter : int
        Episodes with fewer decisions than the horizon, counted with their weights; 0 if no length was in question.
    cut_off : int
        Those of them that were cut off.
    predictor : str or None
        What predicts best that an episode stops: the name of a column, "action" or "reward". None if not compared, or
        if a layered automaton had to take episodes as ended although nothing predicts where they stop. If the user
        says that episodes were cut off, only what predicts it clearly.
    z : float or None
        How clearly it does so, in standard errors.
    other_verdict : str or None
        The verdict on the plan if the other assumption were made, where it differs; None if it is the same, or unknown.

    Examples
    --------
    >>> suffice.read_log("log.parquet").report.ends.kind
    'horizon'
    """

    kind: Literal["horizon", "marked", "terminal", "censored"] = "horizon"
    assumed: bool = False
    shorter: int = 0
    cut_off: int = 0
    predictor: str | None = None
    z: float | None = None
    other_verdict: str | None = None

    @property
    def text(self) -> str | None:
        """What was assumed about ends, and how to change it, without a full stop; None if nothing was assumed."""
        if not (self.assumed or self.doubtful):
            return None
        changed = "" if self.other_verdict is None else f", which changes the verdict to {self.other_verdict!r}"
        return f"{self._assumption}{changed}"

    @property
    def _assumption(self) -> str:
        other = parameter("ends", "terminal" if self.kind == "censored" else "censored")
        if self.doubtful:
            return (
                f"{self.shorter:,} episodes stop early and count as cut off, because {parameter('ends', 'censored')} "
                f"says so, but {self.predictor!r} predicts where they stop; if they ended, use {other}"
            )
        if self.kind == "censored":
            return (
                f"{self.shorter:,} episodes stop early and no column marks ends; nothing predicts where they stop, so "
                f"they count as cut off, not ended; if they ended, use {other}"
            )
        why = "there are too few to compare" if self.z is None else f"{self.predictor!r} predicts where they stop"
        if self.z is not None and self.predictor is None:
            return (
                f"{self.shorter:,} episodes stop early and no column marks ends; nothing predicts where they stop, but "
                f"layers need whole episodes, so they count as ended; to count them as cut off, use {other} and "
                f"{parameter('stationary', True)}"
            )
        return (
            f"{self.shorter:,} episodes stop early and no column marks ends; {why}, so they count as ended; if they "
            f"were cut off, use {other}"
        )

    def named(self, action: str | None, reward: str | None) -> LogEnds:
        """Name the action or the reward that predicts ends by its column.

        Parameters
        ----------
        action, reward
            The names of the columns; None if there is none.

        Returns
        -------
        LogEnds
            The same ends.
        """
        columns = {"action": action, "reward": reward}
        return replace(self, predictor=columns.get(self.predictor or "") or self.predictor)

    @property
    def clear(self) -> bool:
        """Whether ends were found to depend on what came last, so that the assumption needs no warning."""
        return self.assumed and self.kind == "terminal" and self.predictor is not None

    @property
    def doubtful(self) -> bool:
        """Whether the user says that episodes were cut off, although something predicts where they stop."""
        return self.kind == "censored" and not self.assumed and self.predictor is not None

    def to_dict(self) -> dict[str, Any]:
        """Return the ends under the keys of `--json`.

        Returns
        -------
        dict
            Kind, whether it was assumed, numbers of episodes, and the predictor with its z.
        """
        return {name: getattr(self, name) for name in self.__slots__} | {"text": self.text}


NO_EARLY_ENDS = LogEnds()


def ends_of(ends: object) -> Ends:
    """Return a checked choice of ends."""
    if ends not in ENDS:
        raise SettingsError(f"{parameter('ends', ends)} is not a choice. Choose 'terminal', 'censored' or 'auto'.")
    return ends


def decide_ends(log: Log, ends: Ends, marked: bool) -> tuple[Log, LogEnds]:
    """Decide how episodes end whose lengths, where shorter than the horizon, are noted as if all were cut off.

    Parameters
    ----------
    log
        The log, with the lengths of all shorter episodes; if a column marks ends, of those that were cut off.
    ends
        What to assume without marks.
    marked
        Whether a column marks ends.

    Returns
    -------
    tuple
        The log, without lengths if its episodes have ended, and what was decided.
    """
    if not log.censored:
        return log.ended(), LogEnds("marked" if marked else "horizon")
    stops = run_query(log, _Stops(0 if marked or ends == "terminal" else _compared_steps(log)))
    shorter, cut_off = stops.shorter, stops.cut_off
    if marked:
        return log, LogEnds("marked", shorter=shorter, cut_off=cut_off)
    if stops.fewest == stops.most:
        return log.ended(), LogEnds(shorter=shorter)
    if ends == "terminal":
        return log.ended(), LogEnds("terminal", shorter=shorter)
    dependence = dependence_of(log)
    if log.total < FEWEST_EPISODES * dependence:
        decided = LogEnds("terminal", True, shorter)
    else:
        decided = judged_by(_predictors(stops.table, log, dependence), shorter, cut_off)
    if ends == "auto":
        return (log.ended() if decided.kind == "terminal" else log), decided
    predictor, z = (decided.predictor, decided.z) if decided.kind == "terminal" else (None, None)
    return log, LogEnds("censored", False, shorter, cut_off, predictor, z)


def dependence_of(log: Log) -> float:
    """Return the design effect of the groups of a log; 1 if its episodes are independent."""
    sizes = group_sizes(log)
    return 1.0 if sizes is None else max(1.0, sizes.design_effect)


def judged_by(predictors: Mapping[str, float], shorter: int, cut_off: int) -> LogEnds:
    """Decide by how clearly each of several predictors tells where episodes stop, in standard errors."""
    best = max(predictors, key=lambda name: predictors[name])
    z = predictors[best]
    if z >= NormalDist().inv_cdf(1 - LEVEL / len(predictors)):
        return LogEnds("terminal", True, shorter, 0, best, z)
    return LogEnds("censored", True, shorter, cut_off, best, z)


def otherwise(episodes: Episodes) -> Episodes:
    """Return the same episodes by the other assumption: cut off if they ended, ended if some were cut off."""
    if episodes.censored:
        return episodes.ended()
    decisions = episodes.lengths()
    length = np.where(decisions < episodes.horizon, decisions + 1, episodes.horizon + 1).astype(np.int32)
    return replace(episodes, length=length)


def whole_if_assumed(log: Log, ends: LogEnds) -> tuple[Log, LogEnds]:
    """Return a log for a layered automaton: episodes that were only assumed to be cut off count as ended."""
    if not (log.censored and ends.assumed):
        return log, ends
    return log.ended(), replace(ends, kind="terminal", cut_off=0, predictor=None)


def refuse_cut_off(log: Log) -> None:
    """Refuse episodes that were cut off before the horizon, for a learner that needs whole episodes."""
    if not log.censored:
        return
    stops = run_query(log, _Stops(0))
    verb = "is" if stops.cut_off == 1 else "are"
    raise LogError(
        f"{stops.cut_off:,} of {log.total:,} episodes {verb} cut off before the horizon {log.horizon}, and layers need "
        f"whole episodes. Use {parameter('stationary', True)}, cut all with {parameter('horizon', stops.shortest)}, or "
        f"leave out those that are marked with {parameter('drop_truncated', True)}."
    )


class _StopCounts(NamedTuple):
    """Counts of stops, and the numbers of decisions of a log."""

    table: Int64  # [T, O + X, 2] last observation, or letter of the last step, by whether the episode stops there
    shorter: int
    cut_off: int
    fewest: int
    most: int
    shortest: int  # of the episodes that were cut off


class _Stops(NamedTuple):
    """Query that counts after which observations, actions and rewards episodes stop before the horizon."""

    steps: int  # numbers of decisions that are compared

    def __call__(self, view: EpisodesView) -> _StopCounts:
        """Count the stops of some episodes; see `Query`."""
        episodes = view.episodes
        times = np.ones(episodes.n, np.int64) if episodes.weight is None else episodes.weight
        decisions, n_seen = episodes.lengths(), episodes.alphabet.n_observations
        seen, size = episodes.letters[:, 1], n_seen + len(episodes.letters)
        table, same = np.zeros((self.steps, size, 2), np.int64), np.arange(3)
        for step in range(self.steps):  # from 0
            ahead = np.clip(decisions - step, 0, 2).astype(np.uint32)  # decisions: none, the last, or several
            before, last = (
                walking.cross_count(ahead, same, word, weights(episodes), 3, len(episodes.letters))[[2, 1]].T
                for word in episodes.word[step : step + 2]
            )
            np.add.at(table[step], seen, before)
            table[step, n_seen:] = last
        cut = np.zeros(episodes.n, bool) if episodes.length is None else episodes.length <= episodes.horizon
        shorter, shortest = int(times[decisions < episodes.horizon].sum()), decisions[cut].min(initial=episodes.horizon)
        return _StopCounts(
            table, shorter, int(times[cut].sum()), int(decisions.min()), int(decisions.max()), int(shortest)
        )

    def combine(self, answers: list[_StopCounts]) -> _StopCounts:
        """Add up the counts of parts of the log; see `Query`."""
        shorter, cut_off = (sum(getattr(answer, name) for answer in answers) for name in ("shorter", "cut_off"))
        fewest, shortest = (min(getattr(answer, name) for answer in answers) for name in ("fewest", "shortest"))
        most = max(answer.most for answer in answers)
        return _StopCounts(added([answer.table for answer in answers]), shorter, cut_off, fewest, most, shortest)


def _compared_steps(log: Log) -> int:
    """Return the number of decisions after which stops are compared: those before the horizon, if they are not many."""
    width = 2 * (log.alphabet.n_observations + len(log.letters))
    return max(1, min(log.horizon - 1, MOST_CELLS // width)) if log.horizon > 1 else 0


def _predictors(table: Int64, log: Log, dependence: float) -> dict[str, float]:
    """Return how clearly each column, the action and the reward predict stops."""
    n_seen = log.alphabet.n_observations
    found = {}
    for name, codes in _values_by_column(log.alphabet).items():
        found[name] = association(_grouped(table[:, :n_seen], codes), dependence)
    for name, column in (("action", 0), ("reward", 2)):
        found[name] = association(_grouped(table[:, n_seen:], log.letters[:, column].astype(np.int64)), dependence)
    return found


def _values_by_column(alphabet: Alphabet) -> dict[str, Int64]:
    """Return for each observation column the number of its value in each observation code; 0 for o_⊥."""
    found = {}
    for i, name in enumerate(alphabet.features):
        numbers: dict[Any, int] = {}
        values = [numbers.setdefault(observation[i], len(numbers) + 1) for observation in alphabet.observations]
        found[name] = np.array([0, *values], np.int64)
    return found


def _grouped(table: Int64, group: Int64) -> Int64:
    """Add up the rows of a table [T, R, 2] that belong to one group, [T, G, 2]."""
    order = np.argsort(group, kind="stable")
    begin = np.flatnonzero(np.diff(group[order], prepend=-1))
    return np.asarray(np.add.reduceat(table[:, order], begin, axis=1))


def association(table: Int64, dependence: float = 1.0) -> float:
    """Return how clearly rows and columns of tables [S, R, C] depend on each other, in standard errors.

    The sum of Pearson's X² over the tables, less its mean, over its standard deviation, if all ways to combine the rows
    and columns of a table with the same margins are equally likely (Haldane, 1940). Counts are divided by the
    `dependence`, the number of episodes that count as one.
    """
    stratum, row, column = np.nonzero(table)
    times = table[stratum, row, column] / dependence
    excess, variance = excess_of_tables(stratum, stratum * table.shape[1] + row, column, times)
    return excess / math.sqrt(variance) if variance > 0 else 0.0
