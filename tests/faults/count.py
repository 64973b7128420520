"""Count the faults that the suite injects, and time its loads: `python tests/faults/count.py [--long]`.

The figures of docs/promises.md come from here. Tests report what they tried with `record_property`.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

HERE = Path(__file__).parent


class Tally:
    """Pytest plugin that adds up the properties recorded by tests."""

    def __init__(self) -> None:
        self.tried: Counter[str] = Counter()
        self.loads: dict[str, float] = {}
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the properties of a test that passed."""
        if report.failed:
            self.failed.append(report.nodeid)
        if report.when == "call" and report.passed:
            for name, value in report.user_properties:
                if name.startswith("seconds "):
                    self.loads[name] = float(str(value))
                else:
                    self.tried[name] += int(str(value))


def main() -> int:
    """Run the suite and print its figures."""
    tally = Tally()
    chosen = ["-m", "long or not long"] if "--long" in sys.argv[1:] else []
    code = pytest.main([str(HERE), "-p", "no:cacheprovider", "-q", *chosen], plugins=[tally])
    for name, number in sorted(tally.tried.items()):
        print(f"{number:7,} {name}")
    print(f"{sum(tally.tried.values()):7,} faults survived" if not tally.failed else f"FAILED: {tally.failed}")
    for name, seconds in tally.loads.items():
        print(f"{seconds:7,.1f} {name}")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
