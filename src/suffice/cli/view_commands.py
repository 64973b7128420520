"""The commands `draw`, `explore` and `report`, which write pictures and pages about a model."""

from __future__ import annotations

import shlex
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from suffice.cli.app import app
from suffice.cli.evaluating_logs import evaluate_by
from suffice.cli.names import OUTPUT, FileName
from suffice.cli.options import DEFAULT_LOG, Flag, LogOptions, Output, Whole, read, refuse_output, words
from suffice.cli.output import print_json
from suffice.cli.printing import command, named_after, say, say_next
from suffice.cli.progress import waiting
from suffice.data.memory_limit import keep_to_memory
from suffice.errors import SettingsError, SufficeError

if TYPE_CHECKING:
    from suffice.data.episodes import Episodes
    from suffice.models.model import Model

OptionalOutput = Annotated[FileName | None, Parameter(name=OUTPUT)]
REPLAYED = 20  # episodes that a page can replay, unless --episodes is given


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
    columns: Flag = False,
    memory: str | None = None,
) -> None:
    """Draw the automaton of a model.

    A circle is a state, with its number and the plan's action; a darker circle has a higher value. Steps go from left
    to right. The states of a stationary automaton are placed by their distance from the start, and arrows may lead
    back.

    An arrow is labelled with action → observation : reward, as far as needed to distinguish it from other arrows of its
    state. Thick arrows are frequent, and the plan's arrows are orange. Of a large automaton only the most visited
    states are drawn, and the others are combined. The caption explains the signs.

    Examples:

        suffice draw maze.model -o maze.svg               # or .png, or .pdf
        suffice draw maze.model -o maze.svg --most 200    # more states
        suffice draw maze.model -o maze.dot               # for Graphviz

    Parameters
    ----------
    model
        Model file.
    output
        Picture to write: .svg, .png, .pdf or .dot.
    labels
        Label the arrows. Default: unless there are too many.
    full
        Label every arrow with action, observation and reward.
    title
        Title above the picture.
    most
        Largest number of states to draw. Default: 60, or fewer if they have more than 240 arrows.
    columns
        Draw the evidence for each column of the log instead of the automaton.
    memory
        Most memory that the command may take, such as 4GB; what does not fit is refused. Default: half of all memory.
    """
    from suffice.models.model import Model
    from suffice.view.model_views import PICTURES, draw_columns
    from suffice.view.model_views import draw as draw_model

    kind = Path(output).suffix.lower()
    if kind not in PICTURES:
        raise SettingsError(f"-o {output}: the file type is not known. End the name in .svg, .png, .pdf or .dot.")
    refuse_output(output, model)
    keep_to_memory(memory)
    loaded = Model.load(model)
    with waiting("Drawing"):
        if columns:
            draw_columns(loaded, output)
        else:
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
    memory: str | None = None,
    options: LogOptions = DEFAULT_LOG,
) -> None:
    """Write an interactive HTML page about a model.

    The page is one file that works without a network. Pan and zoom the automaton, search for states, and click a state
    to see how it is reached, what follows, the plan's action and value, and what distinguishes it from similar states.
    Replay episodes step by step, or choose each step by hand. A second model is shown beside the first.

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
        Log with episodes to replay; those that visit many states are chosen. Default: episodes sampled from the model.
    compare
        Another model file, shown beside the first.
    episodes
        Largest number of episodes to replay.
    memory
        Most memory that the command may take, such as 4GB; what does not fit is refused. Default: half of all memory.
    """
    refuse_output(output, model, *filter(None, (log, compare)))
    if log is None and words(options):
        raise SettingsError(
            f"{words(options)} applies to logs only, and none is given. Add --log LOG, or leave it out."
        )
    from suffice.models.model import Model
    from suffice.view.model_views import explore as explore_model

    keep_to_memory(memory)
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
    say(f"Wrote {output} ({size:.1f} MB).")
    say(f"Open it in a browser: {Path(output).resolve().as_uri()}", wrap=False)
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
    memory: str | None = None,
    options: LogOptions = DEFAULT_LOG,
) -> None:
    """Write a printable HTML report about a model.

    The report is one file without external parts. It contains the advice, the expected return and how reliable it is,
    the data, the guarantee, the automaton, the plan beside the logged behaviour, and where more data would help. With a
    log of episodes that were not used for learning it also contains the estimates of suffice evaluate.

    Examples:

        suffice report maze.model                    # writes maze-report.html
        suffice report maze.model -o page.html --title "Results for the maze"
        suffice report held.model --log log.parquet  # with held-out episodes
        suffice report maze.model --json             # for scripts, no page

    Parameters
    ----------
    model
        Model file.
    output
        HTML file to write. Default: the model's name with -report.html.
    log
        Log to evaluate on. The log of a model learned with --hold-out may be used: only held-out episodes count.
    title
        Title of the page. Default: the model's name.
    json
        Print the content as JSON and nothing else; write no page.
    memory
        Most memory that the command may take, such as 4GB; what does not fit is refused. Default: half of all memory.
    """
    from suffice.models.model import Model
    from suffice.view.model_views import report as report_on

    page = Path(output) if output is not None else Path(model).with_name(f"{Path(model).stem}-report.html")
    if not json:
        refuse_output(str(page) if output is None else output, model, *([log] if log else []))
    if log is None and words(options):
        raise SufficeError(f"{words(options)} applies to logs only, and none is given. Add --log LOG, or leave it out.")
    keep_to_memory(memory)
    loaded = Model.load(model)
    heading = Path(model).stem if title is None else title
    evaluation = None if log is None else evaluate_by(loaded, model, log, options).off_policy
    if json:
        print_json(loads(str(report_on(loaded, evaluation=evaluation, title=heading, format="json"))))
        return
    with waiting("Drawing"):
        report_on(loaded, page, evaluation=evaluation, title=heading)
    say(f"Wrote {page} ({page.stat().st_size / 1000:,.0f} kB).")
    say(f"Open it in a browser: {page.resolve().as_uri()}", wrap=False)
    explorer = named_after(model, ".html")
    if Path(explorer).resolve() == page.resolve():
        explorer = named_after(model, "-explorer.html")
    say_next(command("explore", model, "-o", explorer))
