"""Continue a stationary automaton with more episodes, instead of learning it again.

Known transitions stay as they are. Transitions that only new episodes take are placed by a round of pointers that
starts with the known automaton (`pointers`), or settled where no test decides; then every transition is tested on all
episodes (`division`), and gets a state of its own where it is distinct from its target. Theory: docs/theory.md,
section 13.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import STOP
from suffice.data.episodes import Episodes
from suffice.data.sampling import shuffled_sample
from suffice.kernels.array_types import Int32, Int64
from suffice.learning.adact_h import Learned, Settings, for_groups
from suffice.learning.merging import Decision
from suffice.learning.stationary.division import verify
from suffice.learning.stationary.labels import Labelling, PointerLog
from suffice.learning.stationary.learner import LABEL_SAMPLE, ORDER_SEED, finished, levels_of
from suffice.learning.stationary.pointers import END, SPECIAL, START, Choice, Round, RoundResult
from suffice.learning.stationary.reference import completed
from suffice.learning.stationary.rounds import FoundRound
from suffice.learning.stationary.verification import Levels, extend


def continue_stationary(
    episodes: Episodes, earlier: RDP, decisions: Sequence[Decision] = (), settings: Settings | None = None
) -> Learned:
    """Continue the automaton of earlier episodes with all episodes, whose alphabet may have grown.

    Parameters
    ----------
    episodes
        All episodes, earlier and new ones.
    earlier
        The stationary automaton so far.
    decisions
        The decisions with which it was learned; they stay valid for transitions that are not decided again.
    settings
        Settings as for `learn_stationary`. Default: `Settings()`.

    Returns
    -------
    Learned
        The automaton with the transitions, states and counts of all episodes.

    Examples
    --------
    >>> from suffice.learning.stationary.continuation import continue_stationary
    >>> earlier = suffice.learn_stationary(episodes[:200])
    >>> continue_stationary(episodes, earlier.rdp, earlier.decisions).rdp
    <RDP: 8 states in one layer>
    """
    settings = for_groups(settings or Settings(), episodes)
    chosen = shuffled_sample(episodes, episodes.n, np.random.default_rng(ORDER_SEED), settings.threads)
    steps = PointerLog.of(chosen, adaptive=settings.adaptive_logger)
    few = steps.columns(np.arange(0, chosen.n, max(chosen.n // LABEL_SAMPLE, 1)))
    independent = settings.dependence == 1 and chosen.weight is None and settings.cut == 0
    levels = Levels(levels_of(settings), settings.cut * chosen.total, independent)

    def resume(part: PointerLog, tau: Int32) -> RoundResult:
        labelling = Labelling(few, completed(tau), settings.memory)
        return Round(part, labelling, levels.level, levels.least, {}, known=tau).run(again=False)

    known = _translated(earlier, decisions, steps)
    found = verify(steps, extend(steps, 1, known, resume), levels)
    return finished(episodes, settings, found)


def _translated(rdp: RDP, decisions: Sequence[Decision], steps: PointerLog) -> FoundRound:
    """Return an automaton in the numbering of a round (START, END, others) and the symbols of another log."""
    state, symbol = _round_states(rdp), _symbols_in(rdp, steps)
    tau = np.full((int(state.max(initial=END)) + 1, len(steps.symbols)), UNSEEN, np.int32)
    rows, columns = np.nonzero(rdp.tau != UNSEEN)
    same = symbol[columns] != UNSEEN
    rows, columns = rows[same], columns[same]
    tau[state[rows], symbol[columns]] = state[rdp.tau[rows, columns]]
    tau[:, steps.ends()] = END
    choices = []
    for d in decisions:
        nearest = None if d.placement.nearest is None else int(state[d.placement.nearest])
        target = int(state[d.placement.target])
        if symbol[d.symbol] != UNSEEN:
            moved = d.placement._replace(target=target, nearest=nearest)
            choices.append(Choice(int(state[d.state]), int(symbol[d.symbol]), d.n, moved))
    return FoundRound(tau, RoundResult(tau, choices, [], [], {}, {}))


def _round_states(rdp: RDP) -> Int64:
    """Return [Q], the number of each state in a round: START and END first."""
    ends = rdp.tau[:, rdp.symbols[:, 1] == STOP]
    end = int(ends.max(initial=UNSEEN))  # all transitions that end an episode lead to one state
    others = [q for q in range(1, rdp.n_states) if q != end]
    number = np.full(rdp.n_states, END, np.int64)
    number[0] = START
    number[others] = np.arange(SPECIAL, SPECIAL + len(others))
    return number


def _symbols_in(rdp: RDP, steps: PointerLog) -> Int64:
    """Return [Y], the number of each symbol in a log, or UNSEEN."""
    alphabet = steps.episodes.alphabet
    pairs = enumerate(steps.symbols.tolist())
    known = {(alphabet.action(a), alphabet.observation(o)): y for y, (a, o) in pairs}
    return np.array([known.get(rdp.symbol(y), UNSEEN) for y in range(len(rdp.symbols))], np.int64)
