"""The application that the commands belong to, and how its help presents them."""

from __future__ import annotations

from cyclopts import App, Group

from suffice.version import __version__

app = App(
    name="suffice",
    version=__version__,
    help_format="markdown",
    suppress_keyboard_interrupt=False,  # main() says what became of the work
    help="""Learn the memory that suffices to act.

From logged episodes of observations, actions and rewards, learn the hidden automaton that decides what happens next,
with a guarantee, and plan a policy on it. A first session:

    suffice simulate t-maze --episodes 100000 -o log.parquet  # or a log of yours
    suffice learn log.parquet -o maze.model
    suffice evaluate maze.model --domain t-maze               # is the plan good?
    suffice info maze.model --states                          # what was found?

Every command has examples: suffice learn --help. Why it works and what it promises: README.md and docs/.
""",
)

# What one wants, in the order in which one wants it.
COMMANDS = {
    "Start": ("simulate", "domains", "check"),
    "Learn": ("learn", "info", "evaluate"),
    "Look": ("draw", "explore", "report"),
    "Compare and hand on": ("compare", "export", "exact"),
    "Prove": ("reproduce",),
    "Set up": ("completion", "--help", "--version"),
}


def arrange_help() -> None:
    """Group the commands by what one wants, once all of them are there."""
    for place, (title, names) in enumerate(COMMANDS.items()):
        group = Group(title, sort_key=place)
        for rank, name in enumerate(names):
            if name in app:
                app[name].group = (group,)
                app[name].sort_key = rank
