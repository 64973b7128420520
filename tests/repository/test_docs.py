"""The site fetches nothing, its reference is whole, and its pages lead somewhere; `make docs` builds it."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

import suffice
import suffice.errors
import suffice.playing
import suffice.view
from support.paths import ROOT

DOCS = ROOT / "docs"
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


def load(name: str) -> object:
    spec = importlib.util.spec_from_file_location(Path(name).stem, DOCS / name)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example.org/a.js"></script>',
        '<link rel="stylesheet" href="//fonts.example.org/css">',
        '<img src="http://example.org/a.png">',
        "<style>@import 'https://example.org/a.css';</style>",
        '<p style="background: url(https://example.org/a.png)">',
    ],
)
def test_fetched_finds_resources_of_other_sites(text: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    assert len(list(load("check.py").fetched(tmp_path))) == 1


def test_fetched_finds_fonts_but_not_links(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("@font-face { src: url('https://example.org/a.woff2') }", encoding="utf-8")
    (tmp_path / "a.html").write_text('<a href="https://a.org">x</a><script src="a.js"></script>', encoding="utf-8")
    assert [path.name for path, _ in load("check.py").fetched(tmp_path)] == ["a.css"]


@pytest.mark.parametrize("module", [suffice, suffice.playing, suffice.view, suffice.errors])
def test_reference_contains_every_public_name_once(module: ModuleType) -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in sorted((DOCS / "api").glob("*.md")))
    shown = re.findall(r"^\.\. (?:auto\w+|py:data):: suffice\.(?:\w+\.)*(\w+)$", pages, re.M)
    assert len(shown) == len(set(shown))
    own = [thing for thing in vars(module).values() if getattr(thing, "__module__", "") == module.__name__]
    classes = [thing.__name__ for thing in own if isinstance(thing, type)]
    assert set(getattr(module, "__all__", classes)) - {"__version__"} <= set(shown)


def test_links_of_pages_lead_to_files_and_pictures_are_shown() -> None:
    """Links must also work on code hosts, which do not resolve the references of Sphinx."""
    pages = [DOCS.parent / "README.md", *DOCS.glob("*.md"), *DOCS.glob("howto/*.md")]
    broken = [
        f"{page.name}: {target}"
        for page in pages
        for target in LINK.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert not broken


def test_translate_converts_docstrings_to_sphinx_markup() -> None:
    plain = load("_ext/plain_docstrings.py")
    lines = ["The rate of |X|, V* and `a*b_`.", "", "    b = c * d", "", ">>> 1 * 1", "1"]
    plain.translate(None, "function", "f", None, None, lines)
    assert lines[0] == r"The rate of \|X\|, V\* and `a*b_`."
    assert lines[2:5] == ["::", "", "    b = c * d"] and lines[6:8] == [">>> 1 * 1", "1"]


def test_commands_page_contains_the_help_of_every_command() -> None:
    from suffice.cli.main import app

    text = load("_ext/live_pages.py").commands()
    assert all(f"## suffice {name}\n" in text for name in app if not name.startswith("-"))
    assert "--output" in text
