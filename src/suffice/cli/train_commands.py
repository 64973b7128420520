"""The commands `train` and `suggest`: learning while acting, and what to try next."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suffice.cli.app import app
from suffice.cli.learned_output import TimedRun, print_learned
from suffice.cli.names import DomainName, FileName
from suffice.cli.options import Flag, Output, Repeated, Whole, environment_options, pair, refuse_output, refuse_seed
from suffice.cli.output import describe, print_json
from suffice.cli.printing import command, complain, named_after, put, say, say_next
from suffice.cli.progress import peak_bytes, waiting
from suffice.errors import SettingsError, TrainingError
from suffice.files.signals import if_interrupted

if TYPE_CHECKING:
    from suffice.domains.agent.agent import Agent
    from suffice.models.model import Model

SHOW_EVERY = 0.2  # seconds between updates of the live line
PURPOSES = {"uniform": "random actions", "explore": "exploring", "deviate": "exploring", "exploit": "greedy"}


@app.command
def train(
    env: DomainName,
    /,
    *,
    episodes: Whole,
    output: Output,
    horizon: Whole | None = None,
    seed: Whole = 0,
    set: Repeated = (),  # the option is called --set
    log: FileName | None = None,
    plot: FileName | None = None,
    start: FileName | None = None,
    like: FileName | None = None,
    why: Flag = False,
    json: Flag = False,
) -> None:
    """Learn while acting in an environment.

    The agent tries what it knows least about, and follows its best policy in a share of the episodes that grows. It
    learns again when the episodes have grown by half. Ctrl-C keeps what was learned so far.

    Examples:

        suffice train two-keys --episodes 1500 -o keys.model
        suffice train t-maze --set length=10 --horizon 40 --episodes 1000 \\
            -o maze.model --log maze.parquet
        suffice train FrozenLake-v1 --episodes 3000 -o lake.model --plot lake.svg

    Parameters
    ----------
    env
        Name of a domain (see suffice domains), a .POMDP file, or the id of a Gymnasium environment.
    episodes
        Number of episodes to play.
    output
        Model file to write.
    horizon
        Decisions per episode. Default: that of the domain; Gymnasium environments end their own episodes.
    seed
        Seed of the environment and of the agent.
    set
        OPTION=VALUE of the domain or environment, such as length=5. May be repeated.
    log
        Write the episodes to this log: .parquet, .arrow or .csv.
    plot
        Draw the learning curve to this file: .svg, .png or .pdf.
    start
        Logged episodes of the same environment to start from.
    like
        Earlier model of the same environment to start from.
    why
        Also print the full guarantee, events that distinguish states, and undecided merges.
    json
        Print JSON and nothing else.
    """
    from suffice.domains.agent.training import agent_for, run, world_of

    refuse_seed(seed)
    for name, option in ((output, "-o"), (log, "--log"), (plot, "--plot")):
        if name is not None:
            refuse_output(name, env, *filter(None, (start, like)), option=option)
    begun = time.perf_counter()
    world = world_of(env, horizon, seed, _options(env, set))
    agent = agent_for(world, episodes, seed, log=start, like=like)
    with _keeping(agent, output, log, plot), _live_line() as show:
        run(world.world, agent, episodes, show)
    model = _save(agent, output, log, plot)
    if json:
        rounds = [found.to_dict() for found in agent.rounds]
        print_json(describe(model, output) | {"environment": env, "seed": seed, "rounds": rounds})
        return
    learned = TimedRun(model, (), time.perf_counter() - begun)
    notes = [warning.text for warning in model.warnings]
    print_learned(learned, output, notes, _next_commands(env, output, set), why)


def _options(env: str, given: Sequence[str]) -> dict[str, Any]:
    """Return the options of an environment, or of a domain, which reads them from text."""
    from suffice.domains.model_evaluation import is_environment, names_domain

    if not names_domain(env) and is_environment(env):
        return environment_options(given)
    return dict(pair(text, "--set", "OPTION=VALUE") for text in given)


def _next_commands(env: str, output: str, options: tuple[str, ...]) -> list[str]:
    given = " ".join(f"--set {option}" for option in options)
    return [command("evaluate", output, "--domain", env, options=given), command("suggest", output)]


def _save(agent: Agent, output: str, log: str | None, plot: str | None) -> Model:
    """Write the model, and the log and the learning curve if they are asked for."""
    from suffice.data.logs.writing import write_log
    from suffice.models.held_out import note_run

    begun = time.perf_counter()
    if log is not None:
        write_log(agent.table(), log)
    with waiting("Judging the plan"):
        model = agent.model()
    model.save(output)
    note_run(output, time.perf_counter() - begun, peak_bytes(), () if log is None else (log,), model.warnings)
    if plot is not None:
        from suffice.view.learning_curve import learning_curve
        from suffice.view.saving import save_picture

        save_picture(learning_curve(agent.rounds), Path(plot))
    return model


@contextmanager
def _keeping(agent: Agent, output: str, log: str | None, plot: str | None) -> Iterator[None]:
    """Save what was learned so far if the block is interrupted or the environment fails."""
    try:
        yield
    except (KeyboardInterrupt, TrainingError) as error:
        if not agent.n_episodes:
            raise
        complain(f"{'interrupted' if isinstance(error, KeyboardInterrupt) else 'stopped'}; saving {output}")
        _save(agent, output, log, plot)
        kept = f"what was learned from {agent.n_episodes:,} episodes is in {output}"
        if isinstance(error, TrainingError):
            raise TrainingError(f"{error} ({kept[0].upper()}{kept[1:]}.)") from error
        with if_interrupted(kept):
            raise


@contextmanager
def _live_line() -> Iterator[Any]:
    """Show one line about the agent on stderr while the block runs, if that is a terminal."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda agent, episodes: None
        return
    last = [0.0]

    def show(agent: Agent, episodes: int) -> None:
        now = time.monotonic()
        if now - last[0] >= SHOW_EVERY or agent.n_episodes == episodes:
            last[0] = now
            print(f"\r\x1b[K{live_text(agent, episodes)}", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def live_text(agent: Agent, episodes: int) -> str:
    """Return episode, states, what is being done, and returns of exploration and greedy policy, in one line."""
    text = f"episode {agent.n_episodes:,} of {episodes:,}"
    if not agent.rounds:
        return f"{text} · {PURPOSES[agent.purpose]}"
    last = agent.rounds[-1]
    means = (("exploring", last.explored), ("greedy", last.exploited))
    returns = [f"{name} {value:.2f}" for name, value in means if value is not None]
    found = f"{last.states} states · {PURPOSES[agent.purpose]} · predicted {last.predicted:.2f}"
    return f"{text} · {found}" + (f" · returns: {', '.join(returns)}" if returns else "")


@app.command
def suggest(model: FileName, /, *, most: Whole = 5, json: Flag = False) -> None:
    """List the histories and actions whose trial would tell most.

    Rare actions come first, by what they might gain; then histories that were merged for lack of evidence. The number
    of episodes assumes that each goes straight there.

    Examples:

        suffice suggest maze.model
        suffice suggest maze.model --most 20 --json

    Parameters
    ----------
    model
        Model file with a plan.
    most
        Largest number of suggestions of each kind.
    json
        Print JSON and nothing else.
    """
    from suffice.models.model import Model
    from suffice.models.suggestions import suggest as suggestions

    if most < 1:
        raise SettingsError(f"--most {most} is too few. Use 1 or more.")
    found = suggestions(Model.load(model), most)
    if json:
        print_json({"model": model, "suggestions": [one.to_dict() for one in found]})
        return
    say("Nothing stands out: every action was tried, and no merge is close." if not found else "Try next:")
    for one in found:
        gain = f"; may gain {one.gain:.2g} per episode" if one.gain else ""
        put(f"  {one.text}{gain}", hang=4)
    say_next(command("info", model, "--decisions", "3"), command("report", model, "-o", named_after(model, ".html")))
