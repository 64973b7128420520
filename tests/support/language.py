"""Check of the language in source, tests and documentation: `python tests/support/language.py [PATH ...]`.

Only what a program can find is checked: words that have a plainer equivalent, docstrings whose first sentence is too
short to say anything, and test names that do not state a behaviour. The rules for writers are in CONTRIBUTING.md.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from support.paths import ROOT

CHECKED = ("src", "tests", "docs", "examples", "benchmarks")
FILES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", "pyproject.toml", ".ci/run")
SUFFIXES = {".py", ".md", ".js", ".txt", ".html"}
GENERATED = {"__pycache__", "made"}  # folders
OWN_FILE = Path(__file__).resolve()
PLAINER = {  # pattern: what to write instead
    r"(?<![a-z])told(?![a-z])": "distinguished, reported, stated",
    r"\btell(s|ing)?\b[^.;]{0,40}\bapart\b": "distinguish",
    r"\bso many\b": "the number itself, or 'this many' with a noun",
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\blet alone\b": "nor",
    r"\banew\b": "again",
    r"\bwhoever\b": "a user who",
    r"(?<!there )\b(is|are) no (?!longer|more\b|less\b|\w+(er|se) than)": "is not a",
    r"\bnobody\b": "no one, or name what is missing",
    r"\bfor ever\b": "without end, or 'discounted'",
    r"\b(brings?|brought|bringing)\b": "returns, earns, yields",
    r"\bfold(s|ed|ing)? time\b": "stationary",
    r"\b(first|second) looks?\b(?! at)": "learning pass, refinement",
    r"\b(be|to be) had\b": "is available",
    r"\bsay `?--": "use --",
    r"\bas good as\b": "nearly",
    r"\bby the letter\b|\bto the letter\b": "literally, exactly",
    r"\bought to\b": "should",
    r"\bhad better\b": "should",
    r"\bhitherto\b|\blest\b|\bthereof\b|\bwherein\b|\bof yours\b|\bof theirs\b": "a plain modern word",
    r"\ba fault of ours\b": "an internal error",
    r"\bstrangers?\b": "untrusted sources",
    r"\bsaid of\b|\bsaid by\b": "stated, reported",
    r"\bNothing is wrong\b": "No problems found",
    r"\bis kept in\b": "is stored in",
    r"\bat all times\b": "at every step",
}
_PLAINER = [(re.compile(pattern, re.IGNORECASE), advice) for pattern, advice in PLAINER.items()]
SHORTEST_SENTENCE = 5  # words of a docstring's first sentence
SHORTEST_TEST_NAME = 3  # words after test_


def checked_files() -> list[Path]:
    """List the files of the repository that people read."""
    found = [path for folder in CHECKED for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    found += [ROOT / name for name in FILES]
    return sorted(path for path in found if path.resolve() != OWN_FILE and not GENERATED & {*path.parts})


def findings(path: Path) -> Iterator[str]:
    """List what is wrong in a file, as `path:line: problem`."""
    text = path.read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, advice in _PLAINER:
            if found := pattern.search(line):
                yield f"{path}:{number}: {found.group()!r}: write {advice}"
    if path.suffix == ".py":
        yield from _docstring_findings(path, ast.parse(text))


def _docstring_findings(path: Path, tree: ast.Module) -> Iterator[str]:
    in_source = "src" in path.parts
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            continue
        name, number = getattr(node, "name", "module"), getattr(node, "lineno", 1)
        if name.startswith("test_") and len(name.split("_")) <= SHORTEST_TEST_NAME:
            yield f"{path}:{number}: {name}: name the function and its behaviour"
        if in_source and (text := ast.get_docstring(node)):
            sentence = re.split(r"(?<=[.:!?])\s", text.split("\n\n")[0], maxsplit=1)[0]
            if len(sentence.split()) < SHORTEST_SENTENCE:
                yield f"{path}:{number}: {name}: docstring {sentence!r} is too short to say what it does"


if __name__ == "__main__":
    chosen = [Path(name).resolve() for name in sys.argv[1:]] or [ROOT]
    problems = [
        problem
        for path in checked_files()
        if any(path.resolve().is_relative_to(place) for place in chosen)
        for problem in findings(path)
    ]
    print("\n".join(problems))
    print(f"{len(problems)} findings")
    sys.exit(bool(problems))
