"""A model as one page for a colleague: the advice, its basis, how certain it is, and what to do next."""

from __future__ import annotations

from suffice.models.model import Model
from suffice.planning.off_policy import OffPolicyEvaluation
from suffice.view.report.content import content_of
from suffice.view.report.pictures import automaton_svg, evidence_svg
from suffice.view.report.sections import page_of
from suffice.view.report.structure import Content

__all__ = ["Content", "content_of", "report_of"]


def report_of(model: Model, *, evaluation: OffPolicyEvaluation | None = None, title: str = "") -> str:
    """Return a report on a model as an HTML page without external resources.

    Parameters
    ----------
    model
        Model to report on.
    evaluation
        Evaluation of the plan on episodes that were not used for learning. Default: none.
    title
        Heading of the page. Default: a general heading.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> from suffice.view.report.report import report_of
    >>> report_of(model, title="Corridor")[:15]
    '<!DOCTYPE html>'
    """
    evidence = evidence_svg(model) if model.about.columns_found else ""
    return page_of(content_of(model, evaluation, title), automaton_svg(model), evidence)
