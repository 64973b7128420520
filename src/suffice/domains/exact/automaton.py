"""The exact automaton of a domain, to compare a learned one with, and the value of its best policy."""

from __future__ import annotations

from suffice.automata.rdp import RDP
from suffice.domains.exact.minimal import minimal_rdp
from suffice.domains.exact.stationary import stationary_rdp
from suffice.domains.exact.values import best_plan
from suffice.domains.finite import FiniteModel
from suffice.errors import ModelError, SufficeError
from suffice.planning.controller import Controller


class NoAutomatonError(ModelError):
    """A domain whose automaton of complete futures does not exist; the message gives the reason."""


def exact_rdp(model: FiniteModel, horizon: int, policy: Controller | None = None, *, stationary: bool = False) -> RDP:
    """Compute the minimal automaton of a domain under a policy, layered or stationary.

    Compare a learned automaton with it: `compare(rdp, exact_rdp(..., stationary=rdp.stationary))`.

    Parameters
    ----------
    model
        The finite model of the domain.
    horizon
        Number of actions per episode.
    policy
        The behaviour policy. Default: that of the model.
    stationary
        Whether to compute the stationary automaton instead of the layered one.

    Returns
    -------
    RDP
        The automaton, with expected counts.

    Raises
    ------
    NoAutomatonError
        If rewards determine the future, which the states of a layered automaton cannot remember.

    Examples
    --------
    >>> from suffice.domains.exact.automaton import exact_rdp
    >>> exact_rdp(suffice.make("t-maze").model(4), 4, stationary=True)
    <RDP: 10 states in one layer>
    """
    if stationary:
        return stationary_rdp(model, policy).rdp(horizon)
    minimal = minimal_rdp(model, horizon, policy)
    if minimal.reward_dependence:
        raise NoAutomatonError(minimal.reward_dependence.sentence)
    return minimal.rdp()


def optimal_value(model: FiniteModel, horizon: int) -> float | None:
    """Compute V*, the mean return of the best policy.

    Parameters
    ----------
    model
        The finite model of the domain.
    horizon
        Number of actions per episode.

    Returns
    -------
    float or None
        The value; None if the exact analysis is too large or not defined.

    Examples
    --------
    >>> from suffice.domains.exact.automaton import optimal_value
    >>> optimal_value(suffice.make("t-maze").model(4), 4)
    4.0
    """
    try:
        return float(best_plan(minimal_rdp(model, horizon, Controller.uniform(model.alphabet))).value)
    except SufficeError:
        return None
