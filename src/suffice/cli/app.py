"""The application that the commands belong to, and the order in which its help presents them."""

from __future__ import annotations

from cyclopts import App, Group

from suffice.version import __version__

app = App(
    name="suffice",
    version=__version__,
    help_format="markdown",
    suppress_keyboard_interrupt=False,  # main() reports what was saved
    help="""Learn from logged episodes what to remember, and what to do.

The log has observations, actions and rewards. suffice learns an automaton whose states are the memory that suffices to
predict and to act, with a guarantee, and plans a policy on it. A first session:

    suffice simulate t-maze --episodes 100000 -o log.parquet  # or use your log
    suffice learn log.parquet -o maze.model
    suffice evaluate maze.model --domain t-maze               # test the plan
    suffice info maze.model --states                          # show the states

Each command has examples: suffice learn --help. Documentation: README.md and docs/.
""",
)

# Groups of commands in the help, in the order of a typical session.
COMMANDS = {
    "Start": ("simulate", "domains", "check"),
    "Learn": ("learn", "train", "info", "evaluate", "suggest"),
    "View": ("draw", "explore", "report"),
    "Compare and export": ("compare", "export", "exact"),
    "Reproduce the paper": ("reproduce",),
    "Set up": ("completion", "--help", "--version"),
}
USAGE = {
    "simulate": "suffice simulate DOMAIN --episodes N -o LOG",
    "domains": "suffice domains",
    "check": "suffice check LOG",
    "learn": "suffice learn LOG -o MODEL",
    "train": "suffice train ENV --episodes N -o MODEL",
    "suggest": "suffice suggest MODEL",
    "info": "suffice info MODEL",
    "evaluate": "suffice evaluate MODEL --domain DOMAIN   or   suffice evaluate MODEL --log LOG",
    "draw": "suffice draw MODEL -o FILE.svg",
    "explore": "suffice explore MODEL -o FILE.html",
    "report": "suffice report MODEL",
    "compare": "suffice compare FIRST SECOND",
    "export": "suffice export MODEL --format FORMAT -o FILE",
    "exact": "suffice exact DOMAIN",
    "reproduce": "suffice reproduce EXPERIMENT -o FOLDER",
    "completion": "suffice completion SHELL",
}


def arrange_help() -> None:
    """Group the commands in the help and set their usage lines, once all of them are defined."""
    for place, (title, names) in enumerate(COMMANDS.items()):
        group = Group(title, sort_key=place)
        for rank, name in enumerate(names):
            if name in app:
                app[name].group = (group,)
                app[name].sort_key = rank
    for name, usage in USAGE.items():
        app[name].usage = f"Usage: {usage}   [OPTIONS]" if name != "completion" else f"Usage: {usage}"
