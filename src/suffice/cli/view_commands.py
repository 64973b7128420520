"""Commands that show what was learned. Heavy imports wait until they are needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from suffice.cli.app import app
from suffice.cli.options import DEFAULT_LOG, LogOptions, Output, Whole, read, refuse_output, words
from suffice.cli.waiting import waiting
from suffice.errors import SettingsError

if TYPE_CHECKING:
    from suffice.episodes import Episodes
    from suffice.model import Model

EPISODES = 20  # to replay


@app.command
def explore(
    model: str,
    /,
    *,
    output: Output,
    log: str | None = None,
    compare: str | None = None,
    episodes: Whole = EPISODES,
    options: LogOptions = DEFAULT_LOG,
) -> None:
    """Write a page to explore a model in a browser: one file, which works without a network.

    Pan and zoom the automaton, search its states, and click one to read who leads there, what comes next and how
    likely, what the plan does and what that is worth, and why it is a state of its own. Replay episodes step by step,
    or go on by hand, and watch what is expected change. With a second model both are shown beside each other.

    Examples:

        suffice explore maze.model -o maze.html                       # episodes are made up from the model's counts
        suffice explore maze.model --log log.parquet -o maze.html     # episodes of a log
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
        raise SettingsError(f"--episodes is how many can be replayed, from 1 to 1000, not {episodes}; try {EPISODES}")
    if log is None and words(options):
        raise SettingsError(f"{words(options)} is about a log, and none is given; add --log LOG, or leave it out")
    from suffice.files import replacing
    from suffice.model import Model
    from suffice.view.explorer import page_of

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
    print(
        f"Wrote {output} ({len(page.encode()) / 1e6:.1f} MB). Open it in a browser: {Path(output).resolve().as_uri()}"
    )
    print(f"Next: click a state, press ? for help; suffice info {model} --states has the same in words")


def _episodes_of(loaded: Model, log: str, options: LogOptions) -> Episodes:
    with waiting(f"Reading {log}"):
        return read(log, options, loaded.about.bins)[0]
