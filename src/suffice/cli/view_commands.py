"""Commands that show a model to people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from suffice.cli.app import app
from suffice.cli.options import Flag, Output, Whole, refuse_output
from suffice.cli.waiting import waiting
from suffice.errors import MissingError, SettingsError

if TYPE_CHECKING:
    from suffice.model import Model


@app.command
def draw(
    model: str,
    /,
    *,
    output: Output,
    labels: Annotated[bool | None, Parameter(negative="--no-labels")] = None,
    full: Flag = False,
    title: str = "",
    most: Whole | None = None,
) -> None:
    """Draw a model's automaton.

    A circle is a state, with its number and what the plan does in it; the darker, the more the plan expects from there.
    Steps go from left to right. Without layers, states go by their distance from the start, and arrows also lead back.

    An arrow says what takes it, in the fewest words that tell it from the others out of its state: an action, → what is
    seen, : what is paid. The thicker, the more often it was taken; orange is what the plan does. Of a large automaton
    the states that the log and the plan pass most are drawn, and the others gathered. The caption says all this again.

    Examples:

        suffice draw maze.model -o maze.svg               # or .png, or .pdf
        suffice draw maze.model -o maze.svg --most 200    # more states
        suffice draw maze.model -o maze.dot               # for Graphviz

    Parameters
    ----------
    model
        Model file.
    output
        Picture to write: .svg, .png, .pdf, or .dot.
    labels
        Whether arrows say what takes them. Default: if there are not too many.
    full
        Say action, observation and reward on every arrow, needed or not.
    title
        Words above the picture.
    most
        States to draw at most; the others are gathered. Default: 60, or fewer if they have more than 240 arrows.
    """
    from suffice.export import to_dot
    from suffice.files import replacing
    from suffice.model import Model

    kind = Path(output).suffix.lower()
    if kind not in (".svg", ".png", ".pdf", ".dot"):
        raise SettingsError(f"-o {output}: end it in .svg, .png, .pdf or .dot, which says what to write")
    if kind == ".dot" and (labels is not None or full or title or most is not None):
        raise SettingsError("-o FILE.dot writes the whole automaton, with all labels; leave the other options out")
    refuse_output(output, model)
    loaded = Model.load(model)
    if kind == ".dot":
        with replacing(Path(output)) as temporary:
            temporary.write_text(to_dot(loaded), encoding="utf-8")
        print(f"Wrote {output}. Next: dot -Tsvg {output} -o {Path(output).with_suffix('.svg')}")
        return
    with waiting("Drawing"):
        _draw(loaded, output, labels, full, title, most)
    print(f"Wrote {output}. Next: suffice explore {model} -o FILE.html")


def _draw(model: Model, output: str, labels: bool | None, full: bool, title: str, most: int | None) -> None:
    from suffice.planner import fold_plan
    from suffice.view.automaton import draw_automaton
    from suffice.view.saving import save_picture
    from suffice.view.style import refuse_without_matplotlib

    try:
        refuse_without_matplotlib()
    except MissingError as error:
        raise MissingError(
            f"{error}; or write {Path(output).with_suffix('.dot')} instead, which needs nothing"
        ) from error
    plan = model.plan
    if plan is not None and model.rdp.stationary:
        plan = fold_plan(model.rdp, plan)
    save_picture(draw_automaton(model.rdp, plan, title=title, labels=labels, brief=not full, most=most), output)
