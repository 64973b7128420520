"""Episodes that are gone through block by block: more of them than fit into memory, once prepared for counting.

One pass a layer: each thread takes a block at a time, reads what is left of its episodes, lets them take the step, and
asks them. Between passes nothing is kept but where each episode is: 4 bytes of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from suffice import kernels
from suffice.asking import Blocks, Question, View, gather
from suffice.episodes import Outline
from suffice.statistics import Candidates, Int64, weights

T = TypeVar("T")

SMALL = 1 << 20  # cells up to which a table of the letters that candidates meet is kept


class BlockEngine:
    """See `Engine`."""

    def __init__(self, blocks: Blocks, outline: Outline, threads: int) -> None:
        self._blocks, self._horizon, self._letters = blocks, outline.horizon, len(outline.letters)
        self._threads = threads
        self._begin = np.concatenate([[0], np.cumsum(blocks.sizes)]).tolist()
        self._group: Candidates = np.zeros(self._begin[-1], np.uint32)
        self._following: Int64 | None = None  # [C, X] how often each candidate is followed by each letter, if small
        self._since = 0  # the step that was read last

    def letters(self, t: int, join: Int64, n_states: int) -> Int64:
        """See `Engine`."""
        if self._following is not None:
            return np.asarray(kernels.add_rows(self._following, join, n_states))

        def count(i: int) -> Int64:
            episodes = self._blocks.block(i, t)
            counted = (self._of(i), join, episodes.word[0], weights(episodes), n_states, self._letters)
            return np.asarray(kernels.cross_count(*counted))

        return self._each(count, _sum)

    def advance(
        self, t: int, join: Int64, candidate_of: Int64, n_candidates: int, question: Question[T], again: bool = False
    ) -> T | None:
        """See `Engine`."""
        if t == self._horizon:
            return None
        small = n_candidates * self._letters <= SMALL

        def read(i: int) -> tuple[T, Int64]:
            episodes, group = self._blocks.block(i, t), self._of(i)
            kernels.advance(group, join, candidate_of, self._letters, episodes.word[0])
            answer = question(View(episodes, self._begin[i], t, group))
            return answer, self._met(episodes.word[1], weights(episodes), group, n_candidates if small else 0)

        def together(answers: list[tuple[T, Int64]]) -> tuple[T, Int64]:
            return question.together([answer for answer, _ in answers]), _sum([met for _, met in answers])

        answer, following = self._each(read, together)
        self._following, self._since = following if small else None, t
        return answer

    def _met(self, word: Int64, weight: Int64, group: Candidates, n: int) -> Int64:
        """[n, X]."""
        if n == 0:
            return np.zeros((0, self._letters), np.int64)
        return np.asarray(kernels.cross_count(group, np.arange(n), word, weight, n, self._letters))

    def ask(self, question: Question[T]) -> T:
        """See `Engine`."""

        def answer(i: int) -> T:
            return question(View(self._blocks.block(i, self._since), self._begin[i], self._since, self._of(i)))

        return self._each(answer, question.together)

    def _of(self, i: int) -> Candidates:
        return self._group[self._begin[i] : self._begin[i + 1]]

    def _each(self, task: Callable[[int], T], together: Callable[[list[T]], T]) -> T:
        filled = [i for i, size in enumerate(self._blocks.sizes) if size]
        return gather(len(filled), self._threads, lambda k: task(filled[k]), together)


def _sum(parts: list[Int64]) -> Int64:
    return np.asarray(sum(parts[1:], parts[0]))
