"""Hostile text in a log is shown as text by pages, drawings, graphs and terminals, and never interpreted."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import suffice
from suffice.data.alphabet import DUMMY, STOP, Alphabet
from suffice.data.episodes import Episodes
from suffice.data.logs.reading import read_log
from suffice.errors import LogError, SufficeError, visible
from suffice.models.export import to_dot
from suffice.models.model import Model
from suffice.view.automaton import draw_automaton
from suffice.view.explorer.page import page_of
from suffice.view.report.report import report_of
from suffice.view.saving import save_picture
from support.cli import ok
from support.cli import suffice as run

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]><svg onload=alert(2)>",
    "\"'><img src=x onerror=alert(3)>&lt;&amp;",
    "\u2028\u2029`${alert(4)}\\",
    "\x1b[31mred\x1b[0m\x07\x08",
    "\u202egnp.\u2066exe\u2069",
    "two\nlines\r\tand\x00more",
    "long" * 500,
    "😀é",
)
TAME = tuple(f"word{i}" for i in range(len(HOSTILE)))
CONTROL = "\x1b\x07\x08\x00\r\u202e\u2066\u2028"


@cache
def model(words: tuple[str, ...]) -> Model:
    """Learn a model whose features, actions and observations are the given words."""
    rng, shape = np.random.default_rng(0), (3, 600)
    alphabet = Alphabet(words[:2], words[2:4], tuple((word, words[4]) for word in words), (0.0, 1.0))
    action, observation = rng.integers(2, 4, shape), rng.integers(1, len(words) + 1, shape)
    reward = ((action == 2) & (np.roll(observation, 1, axis=0) < 5)).astype(int)
    action[0], reward[0], observation[-1] = DUMMY, 0, STOP
    return suffice.learn(Episodes.from_steps(alphabet, action, observation, reward))


class Elements(HTMLParser):
    """Count the elements of a page by name and attributes, and collect its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found[tag, tuple(name for name, _ in attrs)] += 1

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("show", [Model._repr_html_, lambda m: page_of(m, title=m.encoder.features[0])])
def test_pages_have_same_elements_with_hostile_words(show: Any) -> None:
    hostile, tame = (Elements(show(model(words))) for words in (HOSTILE, TAME))
    assert hostile.found == tame.found
    assert not any(character in show(model(HOSTILE)) for character in CONTROL)


def test_report_of_has_no_other_elements_with_hostile_words() -> None:
    hostile, tame = (Elements(report_of(model(words), title=words[0])) for words in (HOSTILE, TAME))
    assert set(hostile.found) == set(tame.found), "the number of elements depends on how labels are drawn"
    assert not any(character in report_of(model(HOSTILE)) for character in "\x1b\x07\x00\u202e")
    assert HOSTILE[0] in hostile.text and HOSTILE[9] in hostile.text


def test_explorer_data_keep_hostile_words_as_text() -> None:
    page = page_of(model(HOSTILE))
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])["models"][0]
    assert set(HOSTILE[:2]) < set(data["actions"])
    seen = " ".join(map(str, data["observations"]))
    assert all(word in seen for word in (*HOSTILE[:5], HOSTILE[9]))
    assert "�[31mred�[0m" in seen and "�gnp.�exe�" in seen and "\\u202e" not in seen


def test_save_picture_writes_valid_svg_with_hostile_words(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = []
    for words in (HOSTILE, TAME):
        made = model(words)
        path = save_picture(draw_automaton(made.rdp, made.own_plan, title=words[7]), str(tmp_path / "a.svg"))
        found.append({element.tag for element in ElementTree.parse(path).iter()})
    assert found[0] <= found[1]


def test_to_dot_writes_valid_graph_with_hostile_words() -> None:
    hostile, tame = to_dot(model(HOSTILE)), to_dot(model(TAME))
    assert hostile.count("\n") == tame.count("\n") and hostile.replace("\n", "").isprintable()
    if dot := shutil.which("dot"):
        ran = subprocess.run([dot, "-Tplain"], input=hostile, capture_output=True, text=True)
        assert ran.returncode == 0 and not ran.stderr


@pytest.mark.parametrize("arguments", ["", "--states", "--decisions 3", "--json"])
def test_info_prints_no_control_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str) -> None:
    monkeypatch.chdir(tmp_path)
    model(HOSTILE).save("a.model")
    printed = ok("info", "a.model", *arguments.split())
    assert printed.replace("\n", "").isprintable()


@pytest.mark.parametrize("name", ["\x1b[31m.csv", "\u202egnp.csv", "a b\t.csv", "é\x7f.csv", "$(x);`y`.csv"])
def test_check_names_files_with_odd_names_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("episode,step,o,action,reward\n0,0,\x1b[2J,1,0\n0,0,../../x,1,0\n")
    ran = run("check", name)
    assert ran.code == 2 and ran.err.count("\n") == 1 and ran.err.rstrip("\n").isprintable()
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_learn_treats_ids_that_look_like_paths_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    rows = "".join(f"{episode},0,/etc/passwd,../up,{i}\n" for i, episode in enumerate(("../../a", "/b", "~/c")))
    Path("log.csv").write_text("episode,step,o,action,reward\n" + rows)
    ok("learn", "log.csv", "-o", "a.model")
    ok("explore", "a.model", "-o", "a.html", "--log", "log.csv")
    assert {file.name for file in tmp_path.iterdir()} == {"here"}
    assert {file.name for file in folder.iterdir()} == {"log.csv", "a.model", "a.model.run.json", "a.html"}


def test_errors_are_one_printable_line() -> None:
    printed = str(LogError(f"a\x1b[2J.csv: two\nlines of \u202e {'x' * 10_000}; fix it"))
    assert (
        printed.isprintable()
        and printed.startswith("a\\x1b[2J.csv: two lines of \\u202e xxx")
        and printed.endswith("fix it")
    )
    assert len(printed) < 2000
    assert visible("plain, é 😀") == "plain, é 😀" and visible("\ud800\0") == "\\ud800\\x00"
    with pytest.raises(SufficeError, match=r"\\x1b"):
        read_log("\x1b.csv")
