"""The commands `draw`, `explore` and `report`, which write pictures and pages about a model."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from suffice.cli.app import app
from suffice.cli.evaluating_logs import judge_by
from suffice.cli.names import FileName
from suffice.cli.options import DEFAULT_LOG, Flag, LogOptions, Output, Whole, read, refuse_output, words
from suffice.cli.output import print_json
from suffice.cli.printing import command, named_after, say, say_next
from suffice.cli.progress import waiting
from suffice.errors import MissingError, SettingsError, SufficeError

if TYPE_CHECKING:
    from suffice.data.episodes import Episodes
    from suffice.models.model import Model

OptionalOutput = Annotated[FileName | None, Parameter(name=["--output", "-o"])]
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
    """
    from suffice.files.atomic import replacing
    from suffice.models.export import to_dot
    from suffice.models.model import Model

    kind = Path(output).suffix.lower()
    if kind not in (".svg", ".png", ".pdf", ".dot"):
        raise SettingsError(f"-o {output}: the file type is not known. End the name in .svg, .png, .pdf or .dot.")
    if kind == ".dot" and (labels is not None or full or title or most is not None):
        raise SettingsError(
            "-o FILE.dot always writes the whole automaton with all labels. Leave the other options out."
        )
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
            f"{str(error).rstrip('.')}; or write {Path(output).with_suffix('.dot')}, which needs no further package"
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
    """
    refuse_output(output, model, *filter(None, (log, compare)))
    if not 0 < episodes <= 1000:
        raise SettingsError(f"--episodes {episodes}: between 1 and 1000 episodes can be replayed. Try {REPLAYED}.")
    if log is None and words(options):
        raise SettingsError(
            f"{words(options)} applies to logs only, and none is given. Add --log LOG, or leave it out."
        )
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
        raise SufficeError(f"{words(options)} applies to logs only, and none is given. Add --log LOG, or leave it out.")
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
