"""Child processes whose signal handling does not depend on how the tests were started."""

from __future__ import annotations

import signal
from collections.abc import Callable

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def with_signals(ignored: int | None = None) -> Callable[[], None]:
    """Return a `preexec_fn` that gives each signal its default disposition, except one that is ignored.

    Children inherit ignored signals: SIGHUP under `nohup`, and SIGINT in the background of a shell script.
    """

    def set_dispositions() -> None:
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN if number == ignored else signal.SIG_DFL)

    return set_dispositions
