"""Rules of ruff forbid code that could execute data."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT

BIN = Path(sys.executable).parent

FORBIDDEN = {
    "import pickle": "TID251",
    "from pickle import loads": "TID251",
    "import marshal": "TID251",
    "import shelve": "TID251",
    "import dill": "TID251",
    "import cloudpickle": "TID251",
    "import numpy as np\nnp.load('a.npy')": "TID251",
    "from numpy import load\nload('a.npy', allow_pickle=True)": "TID251",
    "import numpy as np\nnp.lib.format.read_array(file)": "TID251",
    "import pandas\npandas.read_pickle('a')": "TID251",
    "eval(text)": "S307",
    "exec(text)": "S102",
    "import os\nos.system(text)": "TID251",
    "import subprocess\nsubprocess.run(text, shell=True)": "S602",
    "import yaml\nyaml.load(text)": "S506",
}


def rules(text: str, name: str = "src/suffice/anything.py") -> set[str]:
    """List the rules that a file of the project would break."""
    command = [BIN / "ruff", "check", "--no-cache", "--output-format", "concise", "--stdin-filename", name, "-"]
    ran = subprocess.run(command, cwd=ROOT, input=text, capture_output=True, text=True)
    return set(re.findall(r"^\S+: ([A-Z]+\d+)", ran.stdout, flags=re.M))


@pytest.mark.skipif(not (BIN / "ruff").exists(), reason="ruff is not installed here")
@pytest.mark.parametrize("text", FORBIDDEN)
def test_ruff_rejects_code_that_could_execute_data(text: str) -> None:
    assert FORBIDDEN[text] in rules(text)


@pytest.mark.skipif(not (BIN / "ruff").exists(), reason="ruff is not installed here")
def test_ruff_accepts_code_that_cannot_execute_data() -> None:
    assert "TID251" not in rules("import re\nimport numpy as np\n\nre.compile('a')\nnp.lib.format.read_magic(file)\n")


@pytest.mark.parametrize("name", ["compile", "eval", "exec", "__import__"])
def test_source_never_turns_text_into_code(name: str) -> None:
    """Independently of ruff."""
    for file in (ROOT / "src").rglob("*.py"):
        names = (node for node in ast.walk(ast.parse(file.read_bytes())) if isinstance(node, ast.Name))
        assert name not in {node.id for node in names}, file
