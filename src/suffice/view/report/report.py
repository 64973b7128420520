"""A model as one page for a colleague: the advice, its basis, how certain it is, and what to do next."""

from __future__ import annotations

from pathlib import Path

from suffice.models.model import Model
from suffice.planning.off_policy import OffPolicyEvaluation
from suffice.view.pages import refuse_as_page, write_page
from suffice.view.report.content import content_of
from suffice.view.report.pictures import automaton_svg
from suffice.view.report.sections import page_of
from suffice.view.report.structure import Content

__all__ = ["Content", "content_of", "report_of", "write_report"]


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
    return page_of(content_of(model, evaluation, title), automaton_svg(model))


def write_report(
    model: Model, path: str | Path, *, evaluation: OffPolicyEvaluation | None = None, title: str = ""
) -> Path:
    """Write a report on a model: one HTML page that can be sent, printed and archived.

    Parameters
    ----------
    model
        Model to report on.
    path
        File to write, with a name that ends in .html or .htm. An existing file is replaced only if it is an HTML page.
    evaluation
        Evaluation of the plan on episodes that were not used for learning. Default: none.
    title
        Heading of the page. Default: the name of the file without its ending.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    SettingsError
        If the name has another ending, or belongs to a file that is not an HTML page.

    Examples
    --------
    >>> from suffice.view import write_report
    >>> write_report(model, "corridor.html").name
    'corridor.html'
    """
    refuse_as_page(path)
    return write_page(path, report_of(model, evaluation=evaluation, title=title or Path(path).stem))
