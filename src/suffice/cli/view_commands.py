"""The commands that show a model to people. Heavy imports wait until a command needs them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from suffice.cli.app import app
from suffice.cli.evaluating_logs import judge_by
from suffice.cli.names import FileName
from suffice.cli.options import DEFAULT_LOG, Flag, LogOptions, Output, Whole, read, refuse_output, words
from suffice.cli.printing import command, named_after, say, say_next
from suffice.cli.output import print_json
from suffice.cli.progress import waiting
from suffice.errors import MissingError, SettingsError, SufficeError

if TYPE_CHECKING:
    from suffice.data.episodes import Episodes
    from suffice.models.model import Model

OptionalOutput = Annotated[FileName | None, Parameter(name=["--output", "-o"])]
REPLAYED = 20  # episodes


@app.command
def draw(
    model: FileName,
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
    from suffice.files.atomic import replacing
    from suffice.models.export import to_dot
    from suffice.models.model import Model

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
        say(f"Wrote {output}.")
        say_next(shlex.join(["dot", "-Tsvg", output, "-o", str(Path(output).with_suffix(".svg"))]))
        return
    with waiting("Drawing"):
        _draw(loaded, output, labels, full, title, most)
    say(f"Wrote {output}.")
    say_next(command("explore", model, "-o", named_after(model, ".html")))


def _draw(model: Model, output: str, labels: bool | None, full: bool, title: str, most: int | None) -> None:
    from suffice.view.automaton import draw_automaton
    from suffice.view.saving import save_picture
    from suffice.view.style import refuse_without_matplotlib

    try:
        refuse_without_matplotlib()
    except MissingError as error:
        raise MissingError(
            f"{error}; or write {Path(output).with_suffix('.dot')} instead, which needs nothing"
        ) from error
    figure = draw_automaton(model.in_words.rdp, model.own_plan, title=title, labels=labels, brief=not full, most=most)
    save_picture(figure, output)


@app.command
def explore(
    model: FileName,
    /,
    *,
    output: Output,
    log: FileName | None = None,
    compare: FileName | None = None,
    episodes: Whole = REPLAYED,
    options: LogOptions = DEFAULT_LOG,
) -> None:
    """Write a page to explore a model in a browser.

    It is one file, which works without a network.

    Pan and zoom the automaton, search its states, and click one to read who leads there, what comes next and how
    likely, what the plan does and what that is worth, and why it is a state of its own. Replay episodes step by step,
    or go on by hand, and watch what is expected change. With a second model both are shown beside each other.

    Examples:

        suffice explore maze.model -o maze.html
        suffice explore maze.model --log log.parquet -o maze.html  # replay it
        suffice explore maze.model --compare other.model -o both.html

    Parameters
    ----------
    model
        Model file.
    output
        Page to write, such as maze.html.
    log
        Log of which some episodes can be replayed, chosen so that they visit many states. Default: none, and episodes
        are made up from the model's counts.
    compare
        Another model file, to show beside the first.
    episodes
        How many to replay at most.
    """
    refuse_output(output, model, *filter(None, (log, compare)))
    if not 0 < episodes <= 1000:
        raise SettingsError(f"--episodes is how many can be replayed, from 1 to 1000, not {episodes}; try {REPLAYED}")
    if log is None and words(options):
        raise SettingsError(f"{words(options)} is about a log, and none is given; add --log LOG, or leave it out")
    from suffice.files.atomic import replacing
    from suffice.models.model import Model
    from suffice.view.explorer.page import page_of

    loaded, other = Model.load(model), Model.load(compare) if compare else None
    logged = _episodes_of(loaded, log, options) if log else None
    with waiting("Laying out the automaton"):
        page = page_of(
            loaded,
            other=other,
            episodes=logged,
            title=Path(model).name,
            other_title=Path(compare).name if compare else "",
            most=episodes,
        )
    with replacing(Path(output)) as temporary:
        temporary.write_text(page, encoding="utf-8")
    say(f"Wrote {output} ({len(page.encode()) / 1e6:.1f} MB). Open it in a browser: {Path(output).resolve().as_uri()}")
    say_next(command("report", model), command("info", model, "--states"))


def _episodes_of(loaded: Model, log: str, options: LogOptions) -> Episodes:
    from suffice.planning.off_policy import refuse_other_features

    with waiting(f"Reading {log}"):
        episodes, _ = read(log, options, loaded)
    refuse_other_features(loaded.rdp, episodes)
    return episodes


@app.command
def report(
    model: FileName,
    /,
    *,
    output: OptionalOutput = None,
    log: FileName | None = None,
    title: str | None = None,
    json: Flag = False,
    options: LogOptions = DEFAULT_LOG,
) -> None:
    """Write a page about a model for a colleague.

    It says what to do, what that would bring, and how far to trust it, in one HTML file that needs nothing from
    elsewhere: send it, print it, keep it. It shows the data, what is promised, the automaton, the plan beside what the
    log did, its value with intervals, where more data would help, and what to be careful about. With a log of episodes
    that were not learned from it also has the figures of suffice evaluate.

    Examples:

        suffice report maze.model                    # writes maze-report.html
        suffice report maze.model -o page.html --title "What the maze teaches"
        suffice report held.model --log log.parquet  # by held-out episodes too
        suffice report maze.model --json             # for machines, no page

    Parameters
    ----------
    model
        Model file.
    output
        HTML file to write. Default: the model's name with -report.html.
    log
        Log to evaluate the plan by; the one that was learned from if the model was learned with --hold-out.
    title
        Heading of the page. Default: the model's name.
    json
        Print the content as JSON and nothing else; no page is written.
    """
    from msgspec import to_builtins

    from suffice.files.atomic import replacing
    from suffice.models.model import Model
    from suffice.view.report.content import content_of
    from suffice.view.report.report import report_of

    page = Path(output) if output is not None else Path(model).with_name(f"{Path(model).stem}-report.html")
    if not json:
        refuse_output(str(page) if output is None else output, model, *([log] if log else []))
    if log is None and words(options):
        raise SufficeError(f"{words(options)} is about a log, and none is named; leave it out, or say --log LOG")
    loaded = Model.load(model)
    heading = Path(model).stem if title is None else title
    judged = None if log is None else judge_by(loaded, model, log, options).judged
    if json:
        print_json(to_builtins(content_of(loaded, judged, heading)))
        return
    with waiting("Drawing"):
        text = report_of(loaded, evaluation=judged, title=heading)
    with replacing(page) as temporary:
        temporary.write_text(text, encoding="utf-8")
    say(f"Wrote {page} ({page.stat().st_size / 1000:,.0f} kB). Open it in a browser: {page.resolve().as_uri()}")
    say_next(command("explore", model, "-o", named_after(model, ".html")))
