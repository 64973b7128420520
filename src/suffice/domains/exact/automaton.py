"""The exact automaton of a domain, of the same kind as one that was learned, and the value of its best policy."""

from __future__ import annotations

from suffice.automata.rdp import RDP
from suffice.domains.exact.minimal import minimal_rdp
from suffice.domains.exact.stationary import stationary_rdp
from suffice.domains.exact.values import best_plan
from suffice.domains.finite import FiniteModel
from suffice.errors import ModelError, SufficeError
from suffice.planning.controller import Controller


class NoAutomatonError(ModelError):
    """A domain has no automaton of whole futures; the message says why."""


def exact_rdp(model: FiniteModel, horizon: int, policy: Controller | None = None, *, stationary: bool = False) -> RDP:
    """The minimal automaton of a domain under a policy: with layers, or stationary.

    It is what a learned automaton is compared with: `compare(rdp, exact_rdp(..., stationary=rdp.stationary))`. Layers
    are refused with a `NoAutomatonError` where rewards, which states cannot remember, tell what will happen.

    >>> from suffice.domains.exact.automaton import exact_rdp
    >>> exact_rdp(suffice.make("t-maze").model(4), 4, stationary=True)
    <RDP: 10 states in one layer>
    """
    if stationary:
        return stationary_rdp(model, policy).rdp(horizon)
    minimal = minimal_rdp(model, horizon, policy)
    if minimal.telling:
        raise NoAutomatonError(minimal.telling.sentence)
    return minimal.rdp()


def optimal_value(model: FiniteModel, horizon: int) -> float | None:
    """V*, the mean return of the best policy; None where the exact analysis is too large, or not defined.

    >>> from suffice.domains.exact.automaton import optimal_value
    >>> optimal_value(suffice.make("t-maze").model(4), 4)
    4.0
    """
    try:
        return float(best_plan(minimal_rdp(model, horizon, Controller.uniform(model.alphabet))).value)
    except SufficeError:
        return None
