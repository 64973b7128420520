"""Pictures, pages and exports of a model: what `model.draw`, `explore`, `report` and `export` do.

The commands of the same names call these functions too, so that both write the same bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import to_builtins

from suffice.data.episodes import Episodes
from suffice.data.loading import Data, read_data, sources_of
from suffice.data.memory_limit import require_memory
from suffice.domains.pomdp.writing import to_pomdp
from suffice.errors import (
    LogError,
    MissingError,
    ModelError,
    SettingsError,
    alternatives,
    naming_options,
    parameter,
    spelled,
)
from suffice.files.atomic import replacing
from suffice.models.export import to_dot, to_json
from suffice.models.log_evaluation import evaluate_log
from suffice.models.log_options import LogOptions
from suffice.models.model import Model
from suffice.planning.off_policy import OffPolicyEvaluation, refuse_other_features
from suffice.view.explorer.page import REPLAYED_EPISODES, page_of
from suffice.view.pages import PAGES, refuse_as_page, write_page
from suffice.view.report.content import content_of
from suffice.view.report.report import report_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = (".svg", ".png", ".pdf", ".dot")
EXPORTS = {"json": to_json, "dot": to_dot, "pomdp": to_pomdp}
MOST_STEPS = 50_000  # of a stationary automaton whose layers are written
BYTES_A_CELL = 1500  # memory of a state, or of a letter of a state, on a page
BYTES_COMPARED = 100  # memory of a state and a letter, while states of a layer are compared
MOST_REPLAYED = 1000  # episodes; more would make a page of hundreds of megabytes


def draw(
    model: Model,
    path: str | Path | None = None,
    *,
    labels: bool | None = None,
    full: bool = False,
    title: str = "",
    most: int | None = None,
) -> Figure | Path:
    """Draw the automaton of a model; see `Model.draw`."""
    kind = None if path is None else Path(path).suffix.lower()
    if kind is not None and kind not in PICTURES:
        raise SettingsError(f"{path}: the file type is not known. End the name in .svg, .png, .pdf or .dot.")
    if kind == ".dot":
        if labels is not None or full or title or most is not None:
            raise SettingsError(
                f"{path}: a .dot file has the whole automaton with all labels. Leave out {parameter('labels')}, "
                f"{parameter('full')}, {parameter('title')} and {parameter('most')}."
            )
        return _write(to_dot(model), path)
    figure = _figure(model, path, labels=labels, brief=not full, title=title, most=most)
    if path is None:
        return figure
    from suffice.view.saving import save_picture

    return save_picture(figure, path)


def draw_columns(model: Model, path: str | Path | None = None) -> Figure | Path:
    """Draw the evidence for each column of the log of a model; see `Model.draw_columns`."""
    from suffice.view.column_evidence import draw_column_evidence
    from suffice.view.saving import save_picture

    figure = draw_column_evidence(model)
    return figure if path is None else save_picture(figure, path)


def _figure(model: Model, path: str | Path | None, **how: Any) -> Figure:
    from suffice.view.automaton import draw_automaton
    from suffice.view.style import refuse_without_matplotlib

    try:
        refuse_without_matplotlib()
    except MissingError as error:
        dot = "a .dot file" if path is None else Path(path).with_suffix(".dot")
        raise MissingError(f"{str(error).rstrip('.')}. Or write {dot}, which needs no further package.") from error
    return draw_automaton(model.in_words.rdp, model.own_plan, **how)


def explore(
    model: Model,
    path: str | Path | None = None,
    *,
    log: Data | None = None,
    compare: Model | str | Path | None = None,
    episodes: int = REPLAYED_EPISODES,
    title: str = "",
    compare_title: str = "",
) -> str | Path:
    """Make a page to explore a model in a browser; see `Model.explore`."""
    if not 0 < episodes <= MOST_REPLAYED:
        raise SettingsError(
            f"{parameter('episodes', episodes)}: the number of episodes to replay is from 1 to {MOST_REPLAYED:,}. Try "
            f"{REPLAYED_EPISODES}."
        )
    _refuse_long(model)
    _require_memory_for_page(model)
    other = Model.load(compare) if isinstance(compare, str | Path) else compare
    if path is not None:
        refuse_as_page(path)
        _refuse_input(path, log, compare)
    logged = None if log is None else read_for(model, log)
    if other is not None and not isinstance(other, Model):
        raise SettingsError(
            f"compare is of type {type(compare).__name__}, not a model. Pass what suffice.load or "
            "suffice.learn returns."
        )
    other_title = compare_title if other else ""
    with naming_options():  # pages show commands, wherever they are made
        page = page_of(model, other=other, episodes=logged, title=title, other_title=other_title, most=episodes)
    return page if path is None else write_page(path, page)


@contextmanager
def _advising_read_log() -> Iterator[None]:
    """Complete errors that advise a parameter of reading, because views do not have these parameters."""
    try:
        yield
    except LogError as error:
        advised = re.search(
            r"(columns|bins|horizon|drop_truncated)=|raise max_values|(with|in) observations", str(error)
        )
        advice = spelled(" Pass this to suffice.read_log, and its result as log.", "")
        if advised and advice and "read_log" not in str(error):
            raise LogError(f"{error}{advice}") from error
        raise


def read_for(model: Model, log: Data) -> Episodes:
    """Read a log with the encoder of a model, and refuse one with other observations."""
    how = LogOptions().read_options(model.encoder)
    with _advising_read_log():
        episodes = read_data(log, how.encoder, None, None, how).here
    try:
        refuse_other_features(model.rdp, episodes)
    except LogError as error:
        raise LogError(f"{log}: {error}" if isinstance(log, str | Path) else str(error)) from error
    return episodes


def report(
    model: Model,
    path: str | Path | None = None,
    *,
    log: Data | None = None,
    evaluation: OffPolicyEvaluation | None = None,
    title: str = "",
    format: Literal["html", "json"] = "html",
) -> str | Path:
    """Make a page about a model for colleagues, or its content as JSON; see `Model.report`."""
    if format not in ("html", "json"):
        raise SettingsError(
            f"{parameter('format', format)} is not a format of a report. Choose {alternatives(['html', 'json'])}."
        )
    if path is not None and format == "html":
        refuse_as_page(path)
    if path is not None:
        _refuse_input(path, log)
        _refuse_other_kind(path, format)
    if log is not None:
        with _advising_read_log():
            evaluation = evaluate_log(model, log).off_policy
    with naming_options():  # pages show commands, wherever they are made
        if format == "html":
            text = report_of(model, evaluation=evaluation, title=title)
        else:
            content = to_builtins(content_of(model, evaluation, title))
            text = json.dumps(content, ensure_ascii=False, indent=1) + "\n"
    if path is None:
        return text
    return write_page(path, text) if format == "html" else _write(text, path)


def export(model: Model, path: str | Path | None = None, format: str | None = None) -> str | Path:
    """Write a model for other programs; see `Model.export`."""
    if format is None:
        format = "" if path is None else Path(path).suffix.lower().removeprefix(".")
        if format not in EXPORTS:
            raise SettingsError(
                f"{'the export' if path is None else path}: the format is not clear. Set {parameter('format')} to "
                f"{alternatives(EXPORTS)}."
            )
    if format not in EXPORTS:
        raise SettingsError(f"{parameter('format', format)} is not a format. Choose {alternatives(EXPORTS)}.")
    if path is not None:
        _refuse_other_kind(path, format)
    if format == "pomdp":
        _refuse_long(model)
    text = EXPORTS[format](model)
    return text if path is None else _write(text, path)


def _refuse_long(model: Model) -> None:
    """Refuse a stationary automaton whose layers, one for each step, would take minutes to write."""
    steps = model.rdp.horizon
    if model.rdp.stationary and steps > MOST_STEPS:
        raise ModelError(
            f"the model has {steps:,} steps, and at most {MOST_STEPS:,} can be shown. Learn it with a smaller "
            f"{parameter('horizon')}."
        )


def _require_memory_for_page(model: Model) -> None:
    """Refuse a page that does not fit into memory: its text, and tables that compare the states of a layer."""
    rdp = model.rdp
    cells, widest = len(rdp.cells()[0]), int(rdp.layers.max())
    needed = BYTES_A_CELL * (cells + rdp.n_states) + BYTES_COMPARED * widest * len(rdp.letters)
    require_memory(
        needed, f"a page with {rdp.n_states:,} states and {cells:,} transitions", "draw the automaton instead"
    )


def _refuse_input(path: str | Path, *inputs: Data) -> None:
    """Refuse an output file that is one of the inputs."""
    files = [Path(source) for data in inputs for source in sources_of(data) if isinstance(source, str | Path)]
    if any(Path(path).exists() and file.exists() and file.samefile(path) for file in files):
        raise SettingsError(f"{path}: this would overwrite an input file. Choose another name.")


def _refuse_other_kind(path: str | Path, format: str) -> None:
    """Refuse an existing file whose name says that it is of another kind, such as a log, a page or a model."""
    path = Path(path)
    suffixes = PAGES if format == "html" else (f".{format}",)
    if path.is_file() and path.stat().st_size and path.suffix and path.suffix.lower() not in suffixes:
        raise SettingsError(
            f"{path}: the existing file is probably not {format.upper()}. Choose another name to keep that file, such "
            f"as {path.with_suffix(suffixes[0])}."
        )


def _write(text: str, path: str | Path | None) -> Path:
    assert path is not None
    path = Path(path)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path
