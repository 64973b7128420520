"""A picture of the evidence for each column of a log, with the evidence that was needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from suffice.errors import SufficeError, parameter
from suffice.models.column_texts import evidence_rows
from suffice.models.model import Model
from suffice.view.style import FAINT, INK, NOTE, PLAN_COLOUR, RIM, drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROWS = 30  # columns that are shown: those with most evidence
WIDTH, ROW = 7.2, 0.26  # inches
TICKS = (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 100000, 1000000)  # powers of ten
LEAST = 0.05  # length of the bar of a column without evidence


def draw_column_evidence(model: Model) -> Figure:
    """Draw how much evidence there is for each column, as powers of ten.

    Parameters
    ----------
    model
        A model whose columns were chosen by the data.

    Returns
    -------
    matplotlib.figure.Figure
        A bar for each column, the chosen ones first, and a mark at the evidence that is needed.

    Raises
    ------
    SufficeError
        If the columns of the model were not chosen by the data.
    """
    found = model.about.columns_found
    if not found:
        raise SufficeError(
            "the columns of this model were not chosen by the data, so there is no evidence to draw. Learn with "
            f"{parameter('observations', 'auto')}."
        )
    chosen = {" and ".join(one.columns) for one in found.chosen}
    rows = evidence_rows(found)[:MOST_ROWS]
    with drawing():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH, 1.1 + ROW * len(rows)), layout="constrained")
        axes = figure.add_subplot()
        for place, (name, evidence, needed) in enumerate(rows):
            colour = RIM if name in chosen else FAINT
            axes.barh(place, max(evidence, LEAST), color=colour, height=0.62)
            axes.plot([needed, needed], [place - 0.4, place + 0.4], color=PLAN_COLOUR, linewidth=2)
        axes.set_yticks(range(len(rows)), [name for name, *_ in rows], color=INK)
        axes.invert_yaxis()
        axes.set_xscale("symlog", linthresh=10)
        axes.set_xlim(left=0)
        most = max(max(evidence, needed) for _, evidence, needed in rows)
        ticks = [0, *(tick for tick in TICKS if tick <= most)]
        axes.set_xticks(ticks, [f"$10^{{{tick}}}$" if tick else "1" for tick in ticks], minor=False)
        axes.minorticks_off()
        axes.set_xlabel("evidence, to 1 (orange: needed)", color=NOTE)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.tick_params(axis="y", length=0)
    return figure
