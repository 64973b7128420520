"""Insert the current outputs of examples into pages: `python tests/rewrite_examples.py [PAGE ...]`, default all."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from support.page_examples import PAGES, with_outputs, with_table
from support.paths import ROOT

if __name__ == "__main__":
    for page in sys.argv[1:] or PAGES:
        with tempfile.TemporaryDirectory() as name:
            text = with_outputs((ROOT / page).read_text(encoding="utf-8"), Path(name))
            (ROOT / page).write_text(with_table(text), encoding="utf-8")
