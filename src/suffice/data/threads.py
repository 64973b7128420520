"""Threads that share a list of tasks: each takes the next task when it is free."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Generic, NamedTuple, TypeVar

S = TypeVar("S")
T = TypeVar("T")

ANSWERS_A_THREAD = 3  # results that a thread holds at a time: those so far, the next one, and their sum


class SharedTasks(Generic[T]):
    """Tasks that this thread and helper threads share; a free thread takes the next one.

    Each thread combines the results of its own tasks, so that it holds few of them at a time. After a task has
    failed, no further task is started.
    """

    def __init__(
        self, tasks: Sequence[S], others: Helpers, task: Callable[[S], T], together: Callable[[list[T]], T]
    ) -> None:
        self._left = iter(tasks)  # Python's lock gives each item to one thread only
        self._task, self._combine = task, together
        self._parts = [] if others.pool is None else [others.pool.submit(self._work) for _ in range(others.n)]

    def finish(self) -> T:
        """Work on the remaining tasks in this thread, wait for the helpers, and return the combined result."""
        try:
            parts = self._work()
        except Exception:
            wait(self._parts)  # or they would still use the data of the caller
            raise
        if self._parts:
            wait(self._parts)
        for part in self._parts:
            parts += part.result()
        return self._combine(parts)

    def _work(self) -> list[T]:
        total: list[T] = []
        try:
            for task in self._left:
                total.append(self._task(task))
                total = total if len(total) == 1 else [self._combine(total)]
        except BaseException:
            deque(self._left, maxlen=0)
            raise
        return total


def gather(n: int, threads: int, task: Callable[[int], T], together: Callable[[list[T]], T]) -> T:
    """Run n tasks in threads and combine their results."""
    with helpers(min(threads, n) - 1) as others:
        return SharedTasks(range(n), others, task, together).finish()


class Helpers(NamedTuple):
    """A pool of threads besides the calling one."""

    n: int
    pool: Executor | None  # None: there are none


@contextmanager
def helpers(n: int) -> Iterator[Helpers]:
    """Start n threads until the end of the block; after an error they are not waited for."""
    if n < 1:
        yield Helpers(0, None)
        return
    pool = ThreadPoolExecutor(n)
    try:
        yield Helpers(n, pool)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
