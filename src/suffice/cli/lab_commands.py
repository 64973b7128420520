"""The command `reproduce`, which repeats the experiments of the paper."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Literal

from suffice.cli.app import app
from suffice.cli.names import FileName
from suffice.cli.options import Flag, Output, Whole
from suffice.cli.output import print_json
from suffice.cli.printing import complain, say, say_next
from suffice.cli.progress import progress_bar, waiting
from suffice.errors import SufficeError
from suffice.files.signals import if_interrupted, resume_message

LONGEST_RUN = 1e7  # seconds

if TYPE_CHECKING:
    from pathlib import Path

    from suffice.lab.experiment import Result
    from suffice.lab.runner import RunSettings


@app.command
def reproduce(
    experiment: Literal["table1", "figures", "curves", "stationary"],
    /,
    *,
    output: Output,
    quick: Flag = False,
    flexfringe: FileName | None = None,
    jobs: Whole | None = None,
    time_limit: float = 1800.0,
    json: Flag = False,
) -> None:
    """Repeat the experiments of the paper, and run further ones.

    table1: the table of the paper with exact optima, memory and more learners. curves: returns, states, time and memory
    against the number of episodes. figures: automata of the paper, drawn from learned models. stationary: --stationary
    against AALpy and FlexFringe on longer episodes. Each finished run is saved in FOLDER/runs; after an interruption
    the same command continues.

    Examples:

        suffice reproduce table1 --quick -o quick         # minutes
        suffice reproduce table1 -o full                  # hours
        suffice reproduce curves --flexfringe ~/flexfringe/build/flexfringe -o full
        suffice reproduce stationary --time-limit 60 -o full

    Parameters
    ----------
    experiment
        table1, figures, curves or stationary.
    output
        Folder for the page, the pictures and the results. It is created if necessary.
    quick
        Minutes instead of hours: smaller logs and fewer seeds.
    flexfringe
        FlexFringe binary. Default: $FLEXFRINGE, or the one on the path. Without it FlexFringe is left out.
    jobs
        Number of parallel processes, each of up to 8 GiB. Default: one per core.
    time_limit
        Seconds after which a run is stopped. Default: the limit of the paper.
    json
        Print JSON and nothing else.
    """
    from suffice.lab.learners import missing
    from suffice.lab.peers.flexfringe import find_flexfringe
    from suffice.lab.reproduce import folder_of
    from suffice.lab.runner import RunSettings
    from suffice.view.style import refuse_without_matplotlib

    if jobs is not None and jobs < 1:
        raise SufficeError(f"--jobs {jobs} is too few. Use 1 or more.")
    if not 0 < time_limit < LONGEST_RUN:
        raise SufficeError(
            f"--time-limit {time_limit:g} is not a number of seconds between 0 and {LONGEST_RUN:g}. Try 60."
        )
    if not sys.platform.startswith("linux"):
        raise SufficeError("reproduce: measuring time and memory of processes needs Linux. Run it on a Linux machine.")
    binary = find_flexfringe(flexfringe)
    folder = folder_of(output)
    if experiment in ("figures", "curves"):
        refuse_without_matplotlib()  # before hours of work
    if experiment != "figures":
        for absent in filter(None, (missing(peer, binary) for peer in ("flexfringe/", "aalpy/"))):
            complain(f"{absent}. Until then it is left out.")
    settings = RunSettings(jobs or len(os.sched_getaffinity(0)), time_limit, flexfringe=binary)
    with if_interrupted(resume_message(output, "results")):
        runs, files = _draw(folder, quick) if experiment == "figures" else _run(experiment, folder, settings, quick)
    stopped = dict(sorted((run.experiment.id, run.stopped) for run in runs if run.stopped))
    died = sum(run.failed for run in runs)
    if json:
        print_json({"files": [str(file) for file in files], "runs": len(runs), "stopped": stopped})
        sys.exit(1 if died else 0)
    if runs:
        at_limit = f", {len(stopped) - died} of them stopped at the limit" if len(stopped) > died else ""
        say(f"{len(runs) - died:,} runs{at_limit}; each is a line of {files[-1]}.")
    say(f"Wrote {len(files)} files to {output}.")
    say_next(f"read {files[0]}")
    if died:
        first = next(run for run in runs if run.failed)
        complain(f"{died} runs failed and are left out (first: {first.experiment.id} {first.stopped}).")
        sys.exit(1)


def _draw(folder: Path, quick: bool) -> tuple[list[Result], list[Path]]:
    from suffice.lab.figures import draw_figures

    with waiting("Learning and drawing"):
        return [], draw_figures(folder, quick)


def _run(experiment: str, folder: Path, settings: RunSettings, quick: bool) -> tuple[list[Result], list[Path]]:
    from suffice.lab.reproduce import run_studies
    from suffice.lab.studies import STUDIES

    with progress_bar("Running experiments", "runs") as progress:
        return run_studies(experiment, STUDIES[experiment], folder, settings, quick, progress)
