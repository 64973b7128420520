"""Threads that share tasks: every task runs once, and none starts after a failure."""

from __future__ import annotations

import threading
import time

import pytest

from suffice.data.threads import SharedTasks, gather, helpers


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_gather_runs_every_task_once(threads: int) -> None:
    found = gather(50, threads, lambda i: [i], lambda parts: [i for part in parts for i in part])
    assert sorted(found) == list(range(50))


@pytest.mark.parametrize("fails_in", ["the caller", "a helper"])
def test_shared_tasks_start_no_task_after_a_failure(fails_in: str) -> None:
    caller, done, busy = threading.get_ident(), [], threading.Event()

    def task(i: int) -> int:
        if (threading.get_ident() == caller) == (fails_in == "the caller"):
            busy.wait(10)  # until the other thread works
            raise ValueError("it failed")
        busy.set()
        time.sleep(0.2)
        done.append(i)
        return i

    with helpers(1) as others:
        begun = SharedTasks(range(20), others, task, sum)
        with pytest.raises(ValueError, match="it failed"):
            begun.finish()
        ended = len(done)
        time.sleep(0.3)
        assert len(done) == ended <= 2  # running tasks have ended, so the caller may reuse their data
