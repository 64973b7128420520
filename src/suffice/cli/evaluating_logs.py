"""Off-policy evaluation of a policy from a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from suffice.cli.options import LogOptions, read
from suffice.cli.output import print_json
from suffice.cli.printing import command, put, say, say_next
from suffice.cli.progress import waiting

if TYPE_CHECKING:
    from suffice.models.log_evaluation import LogEvaluation
    from suffice.models.model import Model


def by_log(loaded: Model, name: str, log: str, options: LogOptions, json: bool) -> None:
    """Evaluate a model by a log and print the result."""
    found = evaluate_by(loaded, name, log, options)
    if json:
        print_json({"model": name, "log": log} | found.to_dict())
        return
    say(found.title)
    print("\n".join(found.table))
    for sentence in found.sentences:
        say(sentence)
    for gap in found.gaps:
        put(gap)
    say_next(command("info", name, "--states"))


def evaluate_by(loaded: Model, name: str, log: str, options: LogOptions) -> LogEvaluation:
    """Evaluate a model off-policy, on the held-out episodes if it was learned from this log."""
    from suffice.models.held_out import find_held_out, is_log_of
    from suffice.models.log_evaluation import evaluate_held_out

    with waiting(f"Reading {log}"):
        episodes, report = read(log, options, loaded)
    same, names, cut = is_log_of(name, log), (name, log), report.cut > 0
    held = find_held_out(loaded, episodes, report.propensities, report.keys, same_log=same, cut=cut, names=names)
    with waiting("Evaluating"):
        return evaluate_held_out(loaded, held, names)
