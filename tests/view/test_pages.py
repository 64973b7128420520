"""Writing of HTML pages: only under names of pages, and never over other files."""

from __future__ import annotations

from pathlib import Path

import pytest

from suffice.errors import SettingsError
from suffice.view.explorer.page import page_of
from suffice.view.pages import refuse_as_page, write_page
from suffice.view.report.report import report_of
from support.explorer_models import maze


@pytest.mark.parametrize("name", ["maze.html", "maze.htm", "Maze.HTML"])
def test_write_page_replaces_older_pages(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for page in (report_of(maze(500)), page_of(maze(500)), "<!-- saved --><html></html>", "<!doctype html>\n"):
        assert write_page(str(path), page) == path
        assert path.read_text(encoding="utf-8") == page


def test_write_page_replaces_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "maze.html").touch()
    assert write_page(tmp_path / "maze.html", "<html></html>").read_text() == "<html></html>"


@pytest.mark.parametrize("name", ["maze.model", "maze", "log.csv", ".html"])
def test_write_page_refuses_names_without_the_ending_of_a_page(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match=r"the name of a page ends in \.html or \.htm\. Use .*\.html\."):
        write_page(tmp_path / name, "<html></html>")
    assert not list(tmp_path.iterdir())


def test_write_page_keeps_existing_files_that_are_not_pages(tmp_path: Path) -> None:
    path = tmp_path / "maze.html"
    maze(500).save(path)
    before = path.read_bytes()
    for refused in (refuse_as_page, lambda path: write_page(path, "<html></html>")):
        with pytest.raises(SettingsError, match=r"maze\.html: the existing file is not an HTML page\."):
            refused(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
