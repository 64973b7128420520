"""A model as one page for a colleague who never read the paper: what to do, why to believe it, and how far."""

from __future__ import annotations

from suffice.models.model import Model
from suffice.planning.off_policy import OffPolicyEvaluation
from suffice.view.report.content import content_of
from suffice.view.report.pictures import automaton_svg
from suffice.view.report.sections import page_of
from suffice.view.report.structure import Content

__all__ = ["Content", "content_of", "report_of"]


def report_of(model: Model, *, evaluation: OffPolicyEvaluation | None = None, title: str = "") -> str:
    """The page, as HTML that needs nothing from elsewhere; `evaluation` is by episodes that were not learned from."""
    return page_of(content_of(model, evaluation, title), automaton_svg(model))
