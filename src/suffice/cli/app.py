"""The application that the commands belong to."""

from __future__ import annotations

from cyclopts import App

from suffice.version import __version__

app = App(
    name="suffice",
    version=__version__,
    help_format="markdown",
    suppress_keyboard_interrupt=False,  # main() says what became of the work
    help="""Learn the memory that suffices to act.

From logged episodes of observations, actions and rewards, learn the hidden automaton that decides what happens next,
with a guarantee, and plan a policy on it. A first session:

1. suffice simulate t-maze --episodes 100000 -o log.parquet
2. suffice learn log.parquet -o maze.model
3. suffice evaluate maze.model --domain t-maze
4. suffice info maze.model --states
""",
)
