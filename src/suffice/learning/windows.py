"""Automata whose state is a window of the last k observations: the plain alternatives to a learned memory.

With k = 0 there is a single state, with k = 1 the state is the last observation. The states are the windows that occur
in the log, shorter ones at the start of an episode; nothing is tested and nothing is merged. A window is the right
memory where the process is Markov, or needs only what was seen in the last k steps, and the yardstick elsewhere: a
learned automaton is worth its states only if it predicts more. Theory: docs/theory.md, section 8.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import STOP
from suffice.data.log import Log, require_log, room_for_tables, run_query
from suffice.data.queries import EpisodesView
from suffice.errors import MemoryLimitError, SettingsError, gigabytes, is_whole, parameter
from suffice.evidence.guarantees import Promise
from suffice.kernels.array_types import Int32, Int64
from suffice.learning.adact_h import Criterion, Learned, Settings
from suffice.learning.stationary.learner import count_steps
from suffice.learning.stationary.pointers import END

WINDOW, UNTESTED = "window", "none"  # metric and bound of a window
MOST_CODES = 1 << 62  # windows are numbered by int64
BLOCK_CELLS = 1 << 20  # steps of episodes whose windows are found at once
BYTES_A_CELL = 40  # of the tables by state and letter: counts, their parts and transitions


def learn_window(episodes: Log, length: int, settings: Settings | None = None) -> Learned:
    """Make the automaton whose states are the last observations.

    Parameters
    ----------
    episodes
        The logged episodes.
    length
        Number k of observations that are remembered; 0 for none.
    settings
        Settings of the learner, of which memory and threads are used. Default: `Settings()`.

    Returns
    -------
    Learned
        The stationary automaton, without decisions, because nothing is tested.

    Raises
    ------
    MemoryLimitError
        If its tables do not fit into memory.

    Examples
    --------
    >>> suffice.learn_window(episodes, 1).rdp
    <RDP: 17 states in one layer>
    """
    require_log(episodes)
    settings = settings or Settings()
    if not is_whole(length) or length < 0:
        raise SettingsError(f"length={length!r} is not a number of observations. Use 0 or more.")
    codes = windows_of(episodes, length, settings.threads)
    symbols, _ = episodes.symbols()
    needed = BYTES_A_CELL * (len(codes) + 2) * max(len(episodes.letters), 1)
    if needed > room_for_tables(settings.memory, episodes):
        raise MemoryLimitError(
            f"the automaton of the last {length} observations has {len(codes):,} states, which takes about "
            f"{gigabytes(needed)}. Raise {parameter('memory')}, or use a shorter window."
        )
    ends = symbols[:, 1] == STOP
    tau = np.full((len(codes) + 2, len(symbols)), UNSEEN, np.int32)  # the start, the end, and all windows
    windows = np.concatenate([[0, 0], codes])
    for y in np.flatnonzero(~ends).tolist():
        following = _shifted(windows, int(symbols[y, 1]), length, episodes.alphabet.n_observations)
        place = np.minimum(np.searchsorted(codes, following), max(len(codes) - 1, 0))
        tau[:, y] = np.where(codes[place] == following, place + 2, UNSEEN) if len(codes) else UNSEEN
    tau[END] = UNSEEN
    tau[:, ends] = END
    return Learned(
        rdp=_automaton(episodes, tau, settings.threads),
        decisions=(),
        promise=Promise(0.0, 0, None, None, 1.0, stationary=True),
        candidates=(0,),
        languages=(),
        deltas=(settings.delta,),
        forced_share=0.0,
        settings=settings,
        criterion=Criterion(WINDOW, str(length), UNTESTED),
    )


def windows_of(log: Log, length: int, threads: int = 1) -> Int64:
    """Return the distinct windows before the decisions of a log, as numbers in order.

    The digits of a number, in the base of all observation codes, are the last observations, the latest one last; 1 if
    nothing is remembered. The sequence is empty if there are more windows than numbers.
    """
    if length > longest_window(log.alphabet.n_observations):
        return np.zeros(0, np.int64)
    found = run_query(log, _Windows(length, log.alphabet.n_observations, log.letters[:, 1].astype(np.int64)), threads)
    return np.asarray(found)


def longest_window(n_observations: int) -> int:
    """Return the largest number of observations whose windows can be numbered."""
    length, codes = 0, 1
    while codes * n_observations < MOST_CODES and length < 62:
        length, codes = length + 1, codes * n_observations
    return length


def _shifted(window: Int64, observation: Int64 | int, length: int, base: int) -> Int64:
    """Return the windows after a further observation, of which 1 and above are codes of observations."""
    if length == 0:
        return np.ones_like(window)
    return np.asarray(window % base ** (length - 1) * base + observation)


class _Windows(NamedTuple):
    """Query for the distinct windows of a log."""

    length: int
    base: int  # codes of observations: 0 for the end, and for nothing yet
    observed: Int64  # [X] observation code of each letter

    def __call__(self, view: EpisodesView) -> Int64:
        """Return the windows of some episodes; see `Query`."""
        episodes, found = view.episodes, np.zeros(0, np.int64)
        size = max(1, BLOCK_CELLS // max(episodes.n, 1))
        for begin in range(0, episodes.horizon, size):  # many steps at once: a long episode has few others beside it
            since = max(begin - max(self.length - 1, 0), 0)
            seen = self.observed[episodes.word[since : min(begin + size, episodes.horizon)]]
            window = np.zeros_like(seen) if self.length else np.ones_like(seen)
            for back in range(min(self.length, len(seen))):
                window[back:] += seen[: len(seen) - back] * self.base**back
            own = slice(begin - since, None)
            found = np.union1d(found, window[own][seen[own] != STOP])
        return found

    def combine(self, answers: list[Int64]) -> Int64:
        """Return the windows of all parts; see `Query`."""
        return np.unique(np.concatenate(answers))


def _automaton(log: Log, tau: Int32, threads: int) -> RDP:
    """Count the letters in all states, and make the automaton; the end, if there is one, is the last state."""
    tau, counts, cut = count_steps(log, tau, threads)
    kept = [q for q in range(len(tau)) if q != END] + [END] * bool((tau == END).any())
    place = np.full(len(tau) + 1, UNSEEN, np.int32)
    place[kept] = np.arange(len(kept))
    symbols, _ = log.symbols()
    layers = np.array([len(kept)], np.int64)
    return RDP(log.alphabet, log.letters, symbols, layers, place[tau[kept]], counts[kept], log.horizon, cut[kept])
