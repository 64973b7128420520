"""The command that proves the others: the paper's table, its figures, and the curves it lacks."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Literal

from suffice.cli.app import app
from suffice.cli.names import FileName
from suffice.cli.options import Flag, Output, Whole
from suffice.cli.printing import complain, say, say_next
from suffice.cli.output import print_json
from suffice.cli.progress import progress_bar, waiting
from suffice.errors import SufficeError
from suffice.files.signals import if_interrupted, is_kept_in

LONGEST_RUN = 1e7  # seconds

if TYPE_CHECKING:
    from pathlib import Path

    from suffice.lab.experiment import Result
    from suffice.lab.runner import RunSettings


@app.command
def reproduce(
    what: Literal["table1", "figures", "curves", "stationary"],
    /,
    *,
    output: Output,
    quick: Flag = False,
    flexfringe: FileName | None = None,
    jobs: Whole | None = None,
    time_limit: float = 1800.0,
    json: Flag = False,
) -> None:
    """Run the paper's experiments again, and those it lacks.

    table1 is the paper's table, with exact optima, memory and more learners, beside what the paper printed; curves are
    returns, states, time and memory against the number of episodes and much else; figures are the paper's automata,
    drawn from what is learned; stationary compares `--stationary` with AALpy and FlexFringe on longer episodes. Every
    run is a file in DIR/runs as soon as it is done: stop it when you like, and the same command goes on.

    Examples:

        suffice reproduce table1 --quick -o quick         # minutes
        suffice reproduce table1 -o full                  # hours
        suffice reproduce curves --flexfringe ~/flexfringe/build/flexfringe -o full
        suffice reproduce stationary --time-limit 60 -o full

    Parameters
    ----------
    what
        table1, figures, curves or stationary.
    output
        Folder for the page, the pictures and the results; made if need be.
    quick
        Minutes instead of hours: smaller logs, a single seed or few.
    flexfringe
        The FlexFringe binary. Default: that of the variable FLEXFRINGE, or on the path; without one it is left out.
    jobs
        Processes at a time, each of up to 8 GiB. Default: one for each core.
    time_limit
        Seconds after which a run is given up, by the clock; the paper's limit unless you say so.
    json
        Print JSON and nothing else.
    """
    from suffice.lab.learners import missing
    from suffice.lab.peers.flexfringe import find_flexfringe
    from suffice.lab.reproduce import folder_of
    from suffice.lab.runner import RunSettings
    from suffice.view.style import refuse_without_matplotlib

    if jobs is not None and jobs < 1:
        raise SufficeError(f"--jobs must be at least 1, not {jobs}")
    if not 0 < time_limit < LONGEST_RUN:
        raise SufficeError(f"--time-limit is a number of seconds below {LONGEST_RUN:g}, not {time_limit:g}; try 60")
    if not sys.platform.startswith("linux"):
        raise SufficeError("experiments measure and limit their processes in ways that only Linux has; run it there")
    binary = find_flexfringe(flexfringe)
    folder = folder_of(output)
    if what in ("figures", "curves"):
        refuse_without_matplotlib()  # now rather than in some hours
    if what != "figures":
        for absent in filter(None, (missing(peer, binary) for peer in ("flexfringe/", "aalpy/"))):
            complain(f"{absent}. Until then it is left out.")
    settings = RunSettings(jobs or len(os.sched_getaffinity(0)), time_limit, flexfringe=binary)
    with if_interrupted(is_kept_in(output)):
        runs, files = _draw(folder, quick) if what == "figures" else _run(what, folder, settings, quick)
    stopped = dict(sorted((run.experiment.id, run.stopped) for run in runs if run.stopped))
    died = sum(run.failed for run in runs)
    if json:
        print_json({"files": [str(file) for file in files], "runs": len(runs), "stopped": stopped})
        sys.exit(1 if died else 0)
    if runs:
        given_up = f", {len(stopped) - died} of them given up" if len(stopped) > died else ""
        say(f"{len(runs) - died:,} runs{given_up}; each is a line of {files[-1]}.")
    say(f"Wrote {len(files)} files to {output}.")
    say_next(f"read {files[0]}")
    if died:
        first = next(run for run in runs if run.failed)
        complain(f"{died} runs failed and are left out ({first.experiment.id} {first.stopped})")
        sys.exit(1)


def _draw(folder: Path, quick: bool) -> tuple[list[Result], list[Path]]:
    from suffice.lab.figures import draw_figures

    with waiting("Learning and drawing"):
        return [], draw_figures(folder, quick)


def _run(what: str, folder: Path, settings: RunSettings, quick: bool) -> tuple[list[Result], list[Path]]:
    from suffice.lab.reproduce import run_studies
    from suffice.lab.studies import STUDIES

    with progress_bar("Running experiments", "runs") as progress:
        return run_studies(what, STUDIES[what], folder, settings, quick, progress)
