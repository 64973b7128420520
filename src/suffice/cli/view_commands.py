"""The commands that show a model to people. Heavy imports wait until a command needs them."""

from __future__ import annotations

import shlex
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from suffice.cli.app import app
from suffice.cli.evaluating_logs import evaluate_by
from suffice.cli.names import FileName
from suffice.cli.options import DEFAULT_LOG, Flag, LogOptions, Output, Whole, read, refuse_output, words
from suffice.cli.printing import command, named_after, say, say_next
from suffice.cli.saying import print_json
from suffice.cli.waiting import waiting
from suffice.errors import SettingsError, SufficeError

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
    from suffice.models.model import Model
    from suffice.view.model_views import PICTURES
    from suffice.view.model_views import draw as draw_model

    kind = Path(output).suffix.lower()
    if kind not in PICTURES:
        raise SettingsError(f"-o {output}: end it in .svg, .png, .pdf or .dot, which says what to write")
    refuse_output(output, model)
    loaded = Model.load(model)
    with waiting("Drawing"):
        draw_model(loaded, output, labels=labels, full=full, title=title, most=most)
    say(f"Wrote {output}.")
    if kind == ".dot":
        say_next(shlex.join(["dot", "-Tsvg", output, "-o", str(Path(output).with_suffix(".svg"))]))
    else:
        say_next(command("explore", model, "-o", named_after(model, ".html")))


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
    if log is None and words(options):
        raise SettingsError(f"{words(options)} is about a log, and none is given; add --log LOG, or leave it out")
    from suffice.models.model import Model
    from suffice.view.model_views import explore as explore_model

    loaded, other = Model.load(model), Model.load(compare) if compare else None
    logged = _episodes_of(loaded, log, options) if log else None
    with waiting("Laying out the automaton"):
        explore_model(
            loaded,
            output,
            log=logged,
            compare=other,
            episodes=episodes,
            title=Path(model).name,
            compare_title=Path(compare).name if compare else "",
        )
    size = Path(output).stat().st_size / 1e6
    say(f"Wrote {output} ({size:.1f} MB). Open it in a browser: {Path(output).resolve().as_uri()}")
    say_next(command("report", model), command("info", model, "--states"))


def _episodes_of(loaded: Model, log: str, options: LogOptions) -> Episodes:
    with waiting(f"Reading {log}"):
        return read(log, options, loaded)[0]


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
    from suffice.models.model import Model
    from suffice.view.model_views import report as report_on

    page = Path(output) if output is not None else Path(model).with_name(f"{Path(model).stem}-report.html")
    if not json:
        refuse_output(str(page) if output is None else output, model, *([log] if log else []))
    if log is None and words(options):
        raise SufficeError(f"{words(options)} is about a log, and none is named; leave it out, or say --log LOG")
    loaded = Model.load(model)
    heading = Path(model).stem if title is None else title
    evaluation = None if log is None else evaluate_by(loaded, model, log, options).off_policy
    if json:
        print_json(loads(str(report_on(loaded, evaluation=evaluation, title=heading, format="json"))))
        return
    with waiting("Drawing"):
        report_on(loaded, page, evaluation=evaluation, title=heading)
    say(f"Wrote {page} ({page.stat().st_size / 1000:,.0f} kB). Open it in a browser: {page.resolve().as_uri()}")
    say_next(command("explore", model, "-o", named_after(model, ".html")))
