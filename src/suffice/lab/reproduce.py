"""Run the experiments of studies and write their pages, figures and results (`suffice reproduce`)."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from suffice.errors import SufficeError
from suffice.files.atomic import replacing
from suffice.lab.experiment import Result, distinct
from suffice.lab.runner import RunSettings, run_all
from suffice.lab.store import BUNDLE, load_bundle, save_bundle
from suffice.lab.study import Page, Study
from suffice.view.saving import save_figure

CURVES_TITLE = """# Experiments beyond the paper

Written by `suffice reproduce curves`. Every number comes from its results or from exact computation.
"""


def folder_of(name: str) -> Path:
    """Return a folder that can be written to, creating it if necessary."""
    if not name:
        raise SufficeError("the name of the output folder is empty. Name a folder; it is created if necessary.")
    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise SufficeError(
            f"{name}: the folder cannot be written to ({error.strerror}). Choose another folder."
        ) from error


def run_studies(
    name: str,
    studies: Sequence[Study],
    folder: Path,
    settings: RunSettings,
    quick: bool = False,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> tuple[list[Result], list[Path]]:
    """Run studies; return all results and the files that were written: page, figures and a bundle of results."""
    wanted = distinct(experiment for study in studies for experiment in study.experiments(quick))
    results = run_all(wanted, folder, settings, progress)
    while more := distinct(e for study in studies for e in study.more(results, quick) if e.id not in results):
        found = run_all(more, folder, settings, progress)
        if not found:  # the remaining experiments cannot run here
            break
        results |= found
    kept = {id: result for id, result in results.items() if not result.failed}
    bundle = folder / f"{name}{BUNDLE}"
    before = {old.experiment.id: old for old in load_bundle(bundle)} if bundle.exists() else {}
    save_bundle({**before, **kept}.values(), bundle)  # a quick run must not delete the results of a full one
    return list(results.values()), [*write_page(analyse(studies, kept), folder, name), bundle]


def analyse(studies: Sequence[Study], results: dict[str, Result]) -> Page:
    """Put all studies on one page; a single study has its own title."""
    pages = [study.analyse(results) for study in studies]
    text = "\n".join([*([CURVES_TITLE] if len(pages) > 1 else []), *(page.text for page in pages)])
    return Page(text, tuple(figure for page in pages for figure in page.figures))


def write_page(page: Page, folder: Path, name: str) -> list[Path]:
    """Write a page and its figures, and return the files."""
    written = [file for title, figure in page.figures for file in save_figure(figure, folder / title)]
    with replacing(folder / f"{name}.md") as temporary:
        temporary.write_text(page.text, encoding="utf-8")
    return [folder / f"{name}.md", *written]
