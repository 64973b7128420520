"""The output of `suffice learn`, a summary of a few lines, and with `--why` the details."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from suffice.cli.output import print_comparison, print_sentences, print_undecided, print_witnesses
from suffice.cli.printing import OR, command, say, say_block, say_next

if TYPE_CHECKING:
    from suffice.models.model import Model

EXAMPLES = 3  # of events that distinguish states, and of undecided merges


class TimedRun(NamedTuple):
    """A learned model and how long learning took."""

    model: Model
    notes: Sequence[str]  # on how the log was read
    seconds: float


def print_learned(learned: TimedRun, output: str, notes: Sequence[str], following: Sequence[str], why: bool) -> None:
    """Print the summary of a run, how to see its details, and suggested next commands."""
    from suffice.models.summary import summary_rows, warning_rows

    model = learned.model
    rows = summary_rows(model.rdp, model.about, "--why")
    rows += warning_rows(model.about, model.undecided_if_known(), notes)
    width = max(len(label) for label, _ in rows) + 1
    say_block(rows)
    say(f"{output} (learned in {learned.seconds:.2f} s)", label=f"{'Saved':<{width}}", wrap=False)
    if why:
        _print_details(learned)
    else:
        details = command("info", output, "--decisions", str(EXAMPLES))
        say(f"{details}{OR}learn with --why", label=f"{'Details':<{width}}", wrap=False)
    say_next(*following, label=f"{'Next':<{width}}")


def _print_details(learned: TimedRun) -> None:
    print()
    print_comparison(learned.model)
    print_sentences(learned.model)
    print_witnesses(learned.model, EXAMPLES)
    print_undecided(learned.model, EXAMPLES)
    print()
