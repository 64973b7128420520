"""Run the examples of the README and of documentation pages, and insert what they print."""

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
NOT_RUN = re.compile(r"visits\.csv")  # a file of the reader
FILE = re.compile(r"# (\w+\.py)\n")  # first line of an example that becomes a file
SHELL_SYNTAX = re.compile(r"[|<>&;$*`\\]")


def printed(command: str, folder: Path) -> str:
    """Return what a command line prints; exit codes other than 0 and 2 are failures.

    `suffice` runs within this process unless the line needs a shell, because starting a process is slow.
    """
    program, *arguments = shlex.split(command, comments=True)
    if program == "suffice" and not SHELL_SYNTAX.search(command):
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
    """Run every example of a page, in order and in one folder, and return the page with the current outputs."""

    def run(found: re.Match[str]) -> str:
        commands, code, output = found.groups()
        if code and (file := FILE.match(code)):
            (folder / file[1]).write_text(code, encoding="utf-8")
            return found[0]
        if code:
            ran = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
            assert ran.returncode == 0, ran.stderr
            assert bool(ran.stdout) == bool(output), f"shown output and printed output differ in kind:\n{code}"
            return f"```python\n{code}```" + (f"\n\n```text\n{ran.stdout}```" if output else "")
        if NOT_RUN.search(commands):
            return found[0]
        lines = re.findall(r"^\$ (.*)$", commands, re.M)
        return "```console\n" + "".join(f"$ {command}\n{printed(command, folder)}" for command in lines) + "```"

    def run_if_changed(found: re.Match[str]) -> str:
        """Keep the old output if only times differ."""
        now = run(found)
        return found[0] if steady(now) == steady(found[0]) else now

    shutil.copytree(ROOT / "examples", folder / "examples")
    return SHOWN.sub(run_if_changed, page)


TABLE = re.compile(r"(?<=<!-- table1 -->\n).*?(?=<!-- /table1 -->)", re.S)


def with_table(readme: str) -> str:
    """Return the README with the table of the committed results."""
    results = {result.experiment.id: result for result in load_bundle(RESULTS)}
    return TABLE.sub(lambda _: summary(results), readme)


def steady(text: str) -> str:
    """Replace times and sizes, which differ from run to run."""
    text = re.sub(r"\([\d.]+ [kM]B\)", "(… kB)", text)
    return re.sub(r"(in \d+\.\d\d|about [\d.]+) s(?!\w)", "… s", text)
