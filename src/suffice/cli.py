"""The command line: parsing and printing only.

Exit code 0 is success, 2 a mistake in the input (one clear line on stderr), 1 a fault of ours. Results go to stdout,
progress to stderr and only to a terminal. Heavy imports wait until a command needs them.
"""

from __future__ import annotations

import json as jsonlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import cyclopts
from cyclopts import App, Parameter

from suffice.errors import SufficeError
from suffice.version import __version__

if TYPE_CHECKING:
    from suffice.episodes import Episodes
    from suffice.learner import Settings
    from suffice.logs import Report
    from suffice.model import Model

app = App(
    name="suffice",
    version=__version__,
    help="""Learn the memory that suffices to act.

    From logged episodes of (observation, action, reward), learn the hidden automaton that decides what happens next,
    with a guarantee. A first session:

    suffice simulate t-maze --episodes 100000 -o log.parquet  ·
    suffice learn log.parquet -o maze.model  ·
    suffice info maze.model
    """,
)

Output = Annotated[str, Parameter(name=["--output", "-o"])]
Flag = Annotated[bool, Parameter(negative=())]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """How to read a log: one row per decision with episode, step, observations, action, reward."""

    horizon: int | None = None
    "Cut longer episodes to so many decisions. Default: the longest episode."
    episode_column: str = "episode"
    "Column of the episode's id."
    step_column: str = "step"
    "Column that counts the decisions of an episode, from 0 or 1."
    action_column: str = "action"
    "Column of the action taken."
    reward_column: str = "reward"
    "Column of the reward it brought."
    observations: str | None = None
    "Observation columns, separated by commas. Default: all others, in file order."
    weight_column: str | None = None
    "Column that says how many episodes one stands for. Default: 'weight' if there is one."
    truncated_column: str | None = None
    "Column that is true where the logger cut an episode off. Default: 'truncated' if there is one."
    drop_truncated: Flag = False
    "Leave truncated episodes out."
    bin: Annotated[tuple[str, ...], Parameter(negative=())] = ()
    "COLUMN=K: replace a numeric column by K quantile bins. May be repeated."
    max_values: int = 1000
    "Refuse columns with more distinct values."
    schema: str | None = None
    "JSON file that declares the alphabet; write one with: suffice check LOG --write-schema FILE."


DEFAULT_LOG = LogOptions()


@app.command
def learn(
    log: str,
    /,
    *,
    output: Output,
    metric: Literal["languages", "prefixes", "sketch"] = "languages",
    family: str | None = None,
    bound: Literal["paper", "two-sample", "likelihood-ratio", "fisher"] | None = None,
    delta: float | None = None,
    confidence: float | None = None,
    cut: float = 0.0,
    seed: int = 0,
    threads: int | None = None,
    memory: str | None = None,
    json: Flag = False,
    options: LogOptions = DEFAULT_LOG,
) -> None:
    """Learn the automaton behind a log.

    Histories end up in the same state unless their futures differ significantly. How futures are compared is the
    metric: by languages ("north and reward 4 within 5 steps"), by exact prefixes, or by a sketch of prefixes.

    Parameters
    ----------
    log
        Parquet or CSV file; one row per decision.
    output
        Model file to write.
    metric
        How futures are compared.
    family
        Languages to compare by: conjunctions (the default) or I,J,K, such as 1,1,1 (the paper's hierarchy).
    bound
        Statistical test. Default: fisher, the sharpest; for sketches paper, the one proved for them.
    delta
        Failure probability of each test. Default: 0.001.
    confidence
        Instead of --delta: keep all true states whole with this probability, dividing it among the tests.
    cut
        Share of the episodes below which a candidate founds no state but joins the nearest (AdaCT-H-A).
    seed
        Seed of the sketch's hash functions.
    threads
        Default: all cores. The result is the same to the bit.
    memory
        Limit for tables, such as 4GB. Default: half of the machine's.
    json
        Print JSON and nothing else.
    """
    from time import perf_counter

    from suffice.learner import adact_h
    from suffice.model import Model, save_run_notes

    settings = _settings(metric, family, bound, delta, confidence, cut, seed, threads, memory)
    _refuse_missing_folder(output)
    with _waiting(f"Reading {log}"):
        episodes, _ = _read(log, options)
    start = perf_counter()
    with _progress("Learning") as progress:
        learned = adact_h(episodes, settings, progress)
    seconds = perf_counter() - start
    model = Model.of(learned, episodes)
    model.save(output)
    save_run_notes(output, seconds, _peak_bytes())
    if json:
        _print_json(_info(model, output))
        return
    print(_summary(model), f"in {seconds:.2f} s")
    print(model.about.promise.sentence)
    if model.about.forced_share:
        print(f"{model.about.forced_share:.1%} of the data joined a state only because it was rarer than --cut.")
    _print_witnesses(model, 3)
    print(f"Saved to {output}. Next: suffice info {output}   or   suffice export {output} --format dot -o FILE")


@app.command
def check(
    log: str, /, *, write_schema: str | None = None, json: Flag = False, options: LogOptions = DEFAULT_LOG
) -> None:
    """Say what is in a log, what is wrong with it, and what learning would cost.

    Parameters
    ----------
    log
        Parquet or CSV file; one row per decision.
    write_schema
        Write the log's alphabet to this JSON file, for --schema.
    json
        Print JSON and nothing else.
    """
    from suffice.logs import write_schema as save_schema

    with _waiting(f"Reading {log}"):
        episodes, report = _read(log, options)
    if write_schema:
        save_schema(episodes.alphabet, write_schema)
    with _waiting("Trying a sample"):
        found = _contents(log, episodes, report) | _cost(episodes)
    if json:
        _print_json(found)
        return
    _print_table(found)
    print(f"Nothing is wrong with it. Next: suffice learn {log} -o MODEL")


@app.command
def info(model: str, /, *, states: Flag = False, decisions: int = 0, json: Flag = False) -> None:
    """Show a model: its states, what it promises, and why states were told apart.

    Parameters
    ----------
    model
        Model file.
    states
        Also show every state with its share of the episodes and a typical history.
    decisions
        Also show so many of the decisions to promote, with their witnesses.
    json
        Print JSON and nothing else.
    """
    from suffice.model import Model

    loaded = Model.load(model)
    if json:
        _print_json(_info(loaded, model))
        return
    print(_summary(loaded))
    _print_table({k: v for k, v in _info(loaded, model).items() if k not in ("promise", "states")})
    print(loaded.about.promise.sentence)
    print(loaded.about.promise.paper_sentence)
    if states:
        _print_states(loaded)
    _print_witnesses(loaded, decisions)
    print(f"Next: suffice export {model} --format json -o FILE   or   suffice compare {model} OTHER")


@app.command
def export(model: str, /, *, format: Literal["json", "dot"], output: Output) -> None:
    """Write a model for other programs.

    Parameters
    ----------
    model
        Model file.
    format
        json: every transition with counts and rewards. dot: a picture for Graphviz.
    output
        File to write.
    """
    from suffice.export import to_dot, to_json
    from suffice.files import replacing
    from suffice.model import Model

    text = {"json": to_json, "dot": to_dot}[format](Model.load(model))
    with replacing(Path(output)) as temporary:
        temporary.write_text(text, encoding="utf-8")
    hint = f"dot -Tsvg {output} -o {Path(output).with_suffix('.svg')}" if format == "dot" else f"suffice info {model}"
    print(f"Wrote {output}. Next: {hint}")


@app.command
def compare(first: str, second: str, /, *, json: Flag = False) -> None:
    """Say whether two models are equal up to renaming of states, or the shortest history that tells them apart.

    Parameters
    ----------
    first
        Model file.
    second
        Model file.
    json
        Print JSON and nothing else.
    """
    from suffice.model import Model
    from suffice.rdp import compare as compare_rdps
    from suffice.rdp import show

    difference = compare_rdps(Model.load(first).rdp, Model.load(second).rdp)
    if json:
        told = None if difference is None else {"history": show(difference.history), "reason": difference.reason}
        _print_json({"equal": difference is None, "difference": told})
    elif difference is None:
        print("Equal up to renaming of states.")
    else:
        print(f"Different. After {show(difference.history)}: {difference.reason}.")


@app.command
def simulate(
    domain: str,
    /,
    *,
    episodes: int,
    output: Output,
    horizon: int | None = None,
    seed: int = 0,
    set: Annotated[tuple[str, ...], Parameter(negative=())] = (),
) -> None:
    """Write a log of simulated episodes under the uniform policy.

    Parameters
    ----------
    domain
        t-maze or mini-hall.
    episodes
        How many.
    output
        Log to write, .parquet or .csv.
    horizon
        Decisions per episode. Default: the domain's.
    seed
        Same seed, same log.
    set
        OPTION=VALUE of the domain, such as length=5. May be repeated.
    """
    import numpy as np

    from suffice.domains import make
    from suffice.logs import write_log

    if episodes < 1:
        raise SufficeError(f"--episodes must be at least 1, not {episodes}")
    made = make(domain, dict(_pair(text, "--set", "OPTION=VALUE") for text in set))
    _refuse_missing_folder(output)
    with _waiting("Simulating"):
        log = made.simulate(episodes, horizon or made.DEFAULT_HORIZON, np.random.default_rng(seed))
        write_log(log, output)
    print(f"Wrote {episodes:,} episodes of {domain} to {output}. Next: suffice learn {output} -o MODEL")


# ---------------------------------------------------------------- from words to objects


def _settings(
    metric: str, family: str | None, bound: str | None, delta: float | None, confidence: float | None, cut: float,
    seed: int, threads: int | None, memory: str | None,
) -> Settings:  # fmt: skip
    from suffice.bounds import BOUNDS
    from suffice.languages import CONJUNCTIONS, Family
    from suffice.learner import Settings
    from suffice.statistics import Statistic
    from suffice.statistics.language_counts import LanguageCounts
    from suffice.statistics.prefix_sketch import PrefixSketches
    from suffice.statistics.prefix_tree import PrefixCounts

    if delta is not None and confidence is not None:
        raise SufficeError("--delta and --confidence both fix the level of the tests; give one of them")
    if family is not None and metric == "sketch":
        raise SufficeError(
            "--family does not go with --metric sketch: languages overlap, so their counts add up to more than the "
            "sample and the sketch's error bound fails (paper, §4.2); use --metric languages"
        )
    if family is not None and metric == "prefixes":
        raise SufficeError("--family goes with --metric languages only; leave one of them out")
    statistics: dict[str, Statistic] = {
        "languages": LanguageCounts(Family.parse(family) if family else CONJUNCTIONS),
        "prefixes": PrefixCounts(),
        "sketch": PrefixSketches(seed),
    }
    return Settings(
        statistic=statistics[metric],
        bound=BOUNDS[bound] if bound else None,
        delta=1e-3 if delta is None else delta,
        confidence=confidence,
        cut=cut,
        threads=len(os.sched_getaffinity(0)) if threads is None else threads,
        memory=_bytes(memory) if memory else 0,
    )


def _bytes(text: str) -> int:
    number = text.upper().removesuffix("B").removesuffix("I")
    factor = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}.get(number[-1:], 1)
    try:
        size = int(float(number.rstrip("KMGT")) * factor)
    except ValueError:
        raise SufficeError(f"--memory {text} is no size; write it like 500MB or 4GB") from None
    if size <= 0:
        raise SufficeError(f"--memory {text} leaves no room; try 1GB")
    return size


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise SufficeError(f"{option} {text} should read {option} {form}")
    return name, value


def _read(log: str, options: LogOptions) -> tuple[Episodes, Report]:
    from suffice.logs import Columns, read_log, read_schema

    bins = dict(_pair(text, "--bin", "COLUMN=K") for text in options.bin)
    if bad := [f"{name}={k}" for name, k in bins.items() if not k.isdecimal()]:
        raise SufficeError(f"--bin {bad[0]} needs a whole number of bins, such as --bin {bad[0].partition('=')[0]}=8")
    columns = Columns(
        episode=options.episode_column,
        step=options.step_column,
        action=options.action_column,
        reward=options.reward_column,
        observations=None if options.observations is None else tuple(options.observations.split(",")),
        weight=options.weight_column,
        truncated=options.truncated_column,
    )
    return read_log(
        log,
        columns,
        horizon=options.horizon,
        schema=None if options.schema is None else read_schema(options.schema),
        drop_truncated=options.drop_truncated,
        max_values=options.max_values,
        bins={name: int(k) for name, k in bins.items()},
    )


def _refuse_missing_folder(output: str) -> None:
    """Before the work, not after it."""
    if not Path(output).parent.is_dir():
        raise SufficeError(f"{output}: there is no folder {Path(output).parent}; create it first")


# ---------------------------------------------------------------- what is said


def _summary(model: Model) -> str:
    about = model.about
    widths = " ".join(map(str, about.layers))
    return f"{model.rdp.n_states} states in layers {widths}, from {about.episodes:,} episodes"


def _info(model: Model, path: str) -> dict[str, Any]:
    from msgspec import to_builtins

    from suffice.model import load_run_notes

    about, notes = model.about, load_run_notes(path)
    kept = (
        "layers",
        "candidates",
        "languages",
        "metric",
        "family",
        "bound",
        "delta",
        "confidence",
        "cut",
        "forced_share",
    )
    return {
        "states": model.rdp.n_states,
        "horizon": model.rdp.horizon,
        **{name: getattr(about, name) for name in kept},
        "promise": to_builtins(about.promise),
        "seconds": notes.seconds if notes else None,
        "bytes": notes.bytes if notes else None,
        "episodes": about.episodes,
        "log_hash": about.log_hash,
        "version": about.version,
    }


def _contents(log: str, episodes: Episodes, report: Report) -> dict[str, Any]:
    names = (
        "rows",
        "episodes",
        "horizon",
        "lengths",
        "sorted",
        "cut",
        "padded",
        "dropped",
        "values",
        "observations",
        "bins",
    )
    found: dict[str, Any] = {name: getattr(report, name) for name in names}
    return {"log": log} | found | {"letters": len(episodes.letters), "notes": list(report.notes)}


def _cost(episodes: Episodes) -> dict[str, Any]:
    """|X| per layer, memory, and seconds extrapolated from a sample: the time is linear in the episodes."""
    from time import perf_counter

    from suffice.learner import Settings, adact_h
    from suffice.statistics.language_counts import LanguageCounts

    settings = Settings()
    plan = LanguageCounts().plan(episodes, settings.chosen_bound, settings.memory)
    sample = episodes.columns(slice(0, 10_000))
    adact_h(episodes.columns(slice(0, 100)))  # compile first
    start = perf_counter()
    adact_h(sample)
    seconds = (perf_counter() - start) * max(1.0, episodes.n / sample.n)
    return {
        "languages": [0, *(plan.size(length, settings.delta) for length in range(episodes.horizon, 0, -1)), 0],
        "learning_seconds": round(seconds, 3),
        "learning_bytes": plan.least_bytes(episodes.n) + 12 * episodes.n,
    }


def _print_states(model: Model) -> None:
    from suffice.rdp import show

    rdp = model.rdp
    layer, offsets, histories = rdp.layer_of(), rdp.offsets(), rdp.typical_histories()
    for q in range(rdp.n_states - 1):
        share = rdp.counts[q].sum() / model.about.episodes
        print(f"  layer {layer[q]} state {q - offsets[layer[q]]}  {share:6.1%}  {show(histories[q])}")


def _print_witnesses(model: Model, most: int) -> None:
    told = [d for d in model.decisions if d.verdict.promoted and d.verdict.witness]
    if most and told:
        print("Told apart, for example, by:")
    for d in told[:most]:
        print(f"  layer {d.layer}, states {d.verdict.target} and {d.verdict.nearest}: {d.verdict.witness}")


def _print_json(content: dict[str, Any]) -> None:
    print(jsonlib.dumps(content, ensure_ascii=False, indent=1))


def _print_table(content: dict[str, Any]) -> None:
    width = max(map(len, content))
    for name, value in content.items():
        if value not in (None, [], {}):
            print(f"  {name.replace('_', ' '):<{width}}  {_shown(value)}")


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {_shown(v)}" for k, v in value.items())
    if isinstance(value, list | tuple):
        return " ".join(map(_shown, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)


# ---------------------------------------------------------------- while it runs


@contextmanager
def _waiting(text: str) -> Iterator[None]:
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


@contextmanager
def _progress(text: str) -> Iterator[Callable[[int, int], None]]:
    if not sys.stderr.isatty():
        yield lambda done, of: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)


def _peak_bytes() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> NoReturn:
    """Run the command line."""
    try:
        app(exit_on_error=False, print_error=False)
        sys.stdout.flush()
    except (SufficeError, cyclopts.CycloptsError) as error:
        _fail(str(error), 2)
    except KeyboardInterrupt:
        _fail("interrupted; nothing was written", 130)
    except BrokenPipeError:  # the reader of our output has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except MemoryError:
        _fail("out of memory; try a smaller --family or --horizon, or fewer episodes", 1)
    sys.exit(0)


def _fail(text: str, code: int) -> NoReturn:
    print(f"suffice: {' '.join(text.split())}", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
