"""Fuzzing in a separate process with limited memory: `python -m fuzz.running made|grown …`.

*Made* inputs come from Hypothesis and are always the same. *Grown* inputs come from Atheris, which mutates those that
reach new lines of our code; it exits the process at the end.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
import traceback
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FOUND = Path(__file__).parent / "found"  # inputs that failed once, by kind of file
ROOM = 1 << 30  # bytes beyond the memory of the process at the start
PATIENCE = 30  # seconds for one input


def keep_within(room: int) -> None:
    """Limit the memory of the process, so that larger allocations fail."""
    status = Path("/proc/self/status").read_text()
    data = 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (data + room, data + room))


def trust_check_sums() -> None:
    """Disable check sums of archives, which would refuse almost every changed one."""
    from suffice.files import archives

    archives._has_checksum = lambda raw: True
    zipfile.ZipExtFile._update_crc = lambda *_: None  # type: ignore[attr-defined]


def made(examples: int, last: Path, names: list[str]) -> None:
    """Print for each kind of file, as a line of JSON, the number of inputs and the first failure."""
    from fuzz.spoiling import inputs
    from fuzz.targets import TARGETS

    trust_check_sums()
    strategies = {name: inputs(name) for name in names}
    for name in names:
        assert all(map(TARGETS[name], TARGETS[name].seeds())), f"{name}: a valid file is refused"
        for file in sorted(FOUND.glob(f"{name}-*")):
            last.write_bytes(file.read_bytes())
            TARGETS[name](file.read_bytes())
    keep_within(ROOM)
    signal.signal(signal.SIGALRM, _give_up)
    for name in names:
        found = _try_all(TARGETS[name], strategies[name], examples // TARGETS[name].cost, last)
        print(json.dumps({"target": name} | found), flush=True)


def _try_all(target: Callable[[bytes], bool], inputs: Any, examples: int, last: Path) -> dict[str, Any]:
    from hypothesis import HealthCheck, Phase, given, settings

    found: dict[str, Any] = {"inputs": 0, "accepted": 0, "failure": ""}

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(data=inputs)
    def check(data: bytes) -> None:
        last.write_bytes(data)
        found["inputs"] += 1
        signal.alarm(PATIENCE)
        found["accepted"] += target(data)
        signal.alarm(0)

    try:
        check()
    except BaseException as error:
        signal.alarm(0)
        found["failure"] = f"{last.read_bytes()[:2000]!r}\n{''.join(traceback.format_exception(error))[-4000:]}"
    return found


def _give_up(*_: object) -> None:
    raise TimeoutError(f"an input took more than {PATIENCE} seconds")


def grown(seconds: int, folder: Path, name: str) -> None:
    """Fuzz one kind of file for this many seconds; failing inputs stay in the folder."""
    import atheris

    spec = find_spec("suffice")
    assert spec is not None and spec.origin is not None
    kernels = [f"suffice.kernels.{file.stem}" for file in (Path(spec.origin).parent / "kernels").glob("*.py")]
    with atheris.instrument_imports(include=["suffice"], exclude=kernels):  # compiled by numba
        from fuzz.targets import TARGETS

    trust_check_sums()
    target, corpus = TARGETS[name], folder / "corpus"
    corpus.mkdir()
    for i, seed in enumerate(target.seeds()):
        (corpus / f"seed{i}").write_bytes(seed)
    quoted = ("".join(f"\\x{byte:02x}" for byte in word) for word in target.words)
    (folder / "words").write_text("".join(f'"{word}"\n' for word in quoted))
    options = {
        "max_total_time": seconds,
        "timeout": PATIENCE,
        "rss_limit_mb": 4096,
        "max_len": 1 << 17,
        "dict": folder / "words",
        "artifact_prefix": f"{folder}/failure-",
    }
    arguments = [f"-{option}={value}" for option, value in options.items()]
    atheris.Setup([sys.argv[0], *arguments, str(corpus)], lambda data: target(data) and None)
    atheris.Fuzz()


if __name__ == "__main__":
    kind, amount, place, *which = sys.argv[1:]
    if kind == "made":
        made(int(amount), Path(place), which)
    else:
        grown(int(amount), Path(place), which[0])
