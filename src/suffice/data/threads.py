"""Threads that share tasks: whichever is free takes the next."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Generic, NamedTuple, TypeVar

S = TypeVar("S")
T = TypeVar("T")


class SharedTasks(Generic[T]):
    """Tasks that this thread and others share; whoever is free takes the next.

    Every thread adds up what its own come to, so that of each no more than its answer and a new one are kept. Once one
    fails, nobody begins with another.
    """

    def __init__(
        self, tasks: Sequence[S], others: Helpers, task: Callable[[S], T], together: Callable[[list[T]], T]
    ) -> None:
        self._left = iter(tasks)  # whose next one, under Python's lock, only one thread gets
        self._task, self._combine = task, together
        self._parts = [others.pool.submit(self._work) for _ in range(others.n)]

    def finish(self) -> T:
        """Help with the tasks that nobody has begun with, and wait for the others."""
        try:
            parts = self._work()
        except Exception:
            wait(self._parts)  # or they would be at work on what their caller goes on with
            raise
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
    """What n tasks come to together."""
    with helpers(min(threads, n) - 1) as others:
        return SharedTasks(range(n), others, task, together).finish()


class Helpers(NamedTuple):
    """Threads besides the one that asks."""

    n: int
    pool: Executor


@contextmanager
def helpers(n: int) -> Iterator[Helpers]:
    """So many threads, until the end of the block; after an error nobody waits for them."""
    pool = ThreadPoolExecutor(max(1, n))
    try:
        yield Helpers(n, pool)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
