"""The examples of the README and of the pages beside it: run, and put back with what they print."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from suffice.lab.store import load_bundle
from suffice.lab.table1 import summary
from support.cli import suffice
from support.paths import ROOT

RESULTS = ROOT / "docs" / "reproduction" / "table1.jsonl.gz"
HOWTO = sorted((ROOT / "docs" / "howto").glob("*-*.md"))
PAGES = ("README.md", "docs/tutorial.md", *(f"docs/howto/{page.name}" for page in HOWTO))

BIN = Path(sys.executable).parent
SHOWN = re.compile(r"```console\n(\$ .*?)```|```python\n([^`]*?)```(\n\n```text\n.*?```)?", re.S)
NOT_RUN = re.compile(r"visits\.csv")  # the reader's own
FILE = re.compile(r"# (\w+\.py)\n")  # the first line of what is put into a file
OF_THE_SHELL = re.compile(r"[|<>&;$*`\\]")


def printed(command: str, folder: Path) -> str:
    """What a line in a terminal prints, a refusal included; nothing else may go wrong.

    Our own program runs within this process unless it needs a shell, because starting one takes longer than most runs.
    """
    program, *arguments = shlex.split(command, comments=True)
    if program == "suffice" and not OF_THE_SHELL.search(command):
        with contextlib.chdir(folder):
            ran = suffice(*arguments)
        code, out, err = ran.code, ran.out, ran.err
    else:
        found = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(command, shell=True, cwd=folder, env=os.environ | found, capture_output=True, text=True)
        code, out, err = done.returncode, done.stdout, done.stderr
    assert code in (0, 2), f"{command}: {err}"
    return (out + err).replace(str(folder), "/home/you")


def with_outputs(page: str, folder: Path) -> str:
    """The page with every example run, in order and in one folder, and its output put in its place."""

    def run(found: re.Match[str]) -> str:
        commands, code, output = found.groups()
        if code and (file := FILE.match(code)):
            (folder / file[1]).write_text(code, encoding="utf-8")
            return found[0]
        if code:
            said = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
            assert said.returncode == 0, said.stderr
            assert bool(said.stdout) == bool(output), f"shown without what it prints, or the other way round:\n{code}"
            return f"```python\n{code}```" + (f"\n\n```text\n{said.stdout}```" if output else "")
        if NOT_RUN.search(commands):
            return found[0]
        told = re.findall(r"^\$ (.*)$", commands, re.M)
        return "```console\n" + "".join(f"$ {command}\n{printed(command, folder)}" for command in told) + "```"

    def unless_the_same(found: re.Match[str]) -> str:
        """Times alone are no news."""
        now = run(found)
        return found[0] if steady(now) == steady(found[0]) else now

    shutil.copytree(ROOT / "examples", folder / "examples")
    return SHOWN.sub(unless_the_same, page)


TABLE = re.compile(r"(?<=<!-- table1 -->\n).*?(?=<!-- /table1 -->)", re.S)


def with_table(readme: str) -> str:
    """The README with the table of the committed results."""
    results = {result.experiment.id: result for result in load_bundle(RESULTS)}
    return TABLE.sub(lambda _: summary(results), readme)


def steady(text: str) -> str:
    """Without what differs from run to run, or with every word of a page that is written."""
    text = re.sub(r"\([\d.]+ [kM]B\)", "(… kB)", text)
    return re.sub(r"(in \d+\.\d\d|about [\d.]+) s(?!\w)", "… s", text)
