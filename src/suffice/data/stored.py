"""Episodes in a file, block by block: one or two bytes a step on disk, and next to nothing in memory.

A log too large for memory is read piece by piece into such a file, once. Pieces number the letters that they have seen
themselves; what each stands for in the whole log is known at the end, and is looked up whenever a block is read. The
file has no name, so nothing is left of it however the process ends.
"""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import IO, NamedTuple, TypeVar

import numpy as np

from suffice.data.alphabet import Alphabet, smallest_uint
from suffice.data.episodes import Episodes
from suffice.data.log import ExternalLog, InBlocks, Log, block_length
from suffice.data.queries import EpisodesView, Query
from suffice.data.threads import gather
from suffice.errors import LogError
from suffice.kernels.array_types import Codes, Mask

T = TypeVar("T")
S = TypeVar("S")


class PieceLetters(NamedTuple):
    """The letters of a piece, as the piece numbers them."""

    alphabet: Alphabet
    letters: Codes  # [X, 3]
    follows: Mask  # [X]

    @classmethod
    def of(cls, episodes: Log) -> PieceLetters:
        """Those of some episodes."""
        return cls(episodes.alphabet, episodes.letters, episodes.follows)


class SharedLetters(NamedTuple):
    """The letters of all pieces together, and what those of each piece are there."""

    vocabulary: PieceLetters
    places: list[Codes]  # by piece, [X of the piece]

    @classmethod
    def of(cls, pieces: list[PieceLetters]) -> SharedLetters:
        """As a log that is read at once numbers them."""
        alphabet = Alphabet.union([piece.alphabet for piece in pieces])
        shape = (alphabet.n_actions, alphabet.n_observations, len(alphabet.rewards))
        keys = [np.ravel_multi_index(piece.alphabet.codes_in(alphabet, piece.letters), shape) for piece in pieces]
        present = np.unique(np.concatenate(keys))
        letters = np.stack(np.unravel_index(present, shape), axis=1).astype(np.int32)
        places = [np.searchsorted(present, key).astype(smallest_uint(len(present))) for key in keys]
        follows = np.zeros(len(present), bool)
        for piece, place in zip(pieces, places, strict=True):
            follows[place[piece.follows]] = True
        return cls(PieceLetters(alphabet, letters, follows), places)


class Block(NamedTuple):
    """Where some episodes lie in the file."""

    offset: int  # in bytes
    n: int
    piece: int
    kind: np.dtype[np.integer]  # of the letters as the piece numbers them
    weighted: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StoredLog(ExternalLog):
    """A log in a file."""

    file: IO[bytes]
    blocks: tuple[Block, ...]
    places: list[Codes]
    threads: int
    first: int = 0  # the place of the first episode, where this is a part of a log
    ascending: bool = True  # the ids of the episodes grow, as they do in memory
    chosen: tuple[Mask, ...] | None = None  # by block, if some only

    @property
    def weighted(self) -> bool:
        """See `ExternalLog`."""
        return any(block.weighted for block in self.blocks)

    @property
    def sizes(self) -> list[int]:
        """See `Blocks`."""
        if self.chosen is None:
            return [block.n for block in self.blocks]
        return [int(np.count_nonzero(mask)) for mask in self.chosen]

    def block(self, i: int, since: int = 0) -> Episodes:
        """See `Blocks`."""
        block, steps = self.blocks[i], self.horizon + 1
        row = block.n * block.kind.itemsize
        raw = self._bytes(block.offset + since * row, (steps - since) * row)
        word: Codes = np.frombuffer(raw, block.kind).reshape(steps - since, block.n)
        place = self.places[block.piece]
        if place.dtype != word.dtype or not np.array_equal(place, np.arange(len(place))):
            word = place[word]
        weight = None
        if block.weighted:
            weight = np.frombuffer(self._bytes(block.offset + steps * row, 8 * block.n), np.int64)
        episodes = Episodes(self.alphabet, self.letters, word, self.follows, weight, self.declared)
        return episodes if self.chosen is None else episodes.columns(np.flatnonzero(self.chosen[i]))

    def _bytes(self, offset: int, size: int) -> bytes:
        found = os.pread(self.file.fileno(), size, offset)
        while len(found) < size:
            more = os.pread(self.file.fileno(), size - len(found), offset + len(found))
            if not more:
                raise LogError("the file of steps in the temporary folder was cut short; is the disk full?")
            found += more
        return found

    def run_query(self, query: Query[T]) -> T:
        """See `ExternalLog`."""
        begin = (self.first + np.concatenate([[0], np.cumsum(self.sizes)])).tolist()
        filled = [i for i, size in enumerate(self.sizes) if size]

        def answer(k: int) -> T:
            return query(EpisodesView(self.block(filled[k]), begin[filled[k]]))

        return gather(len(filled), self.threads, answer, query.combine)

    def in_blocks(self, threads: int) -> InBlocks:
        """See `ExternalLog`."""
        return InBlocks(self, min(threads, self.threads), self.first)

    def among(self, chosen: Mask) -> StoredLog:
        """See `ExternalLog`."""
        if self.chosen is not None:  # of those that had been chosen before
            of_all = np.concatenate(self.chosen)
            of_all[of_all] = chosen
            chosen = of_all
        by_block = np.split(chosen, np.cumsum([block.n for block in self.blocks])[:-1])
        n = int(np.count_nonzero(chosen))
        return replace(self, n=n, total=n, chosen=tuple(by_block))


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LogError(
            f"the steps of a log larger than memory go to a file in {tempfile.gettempdir()}, which cannot be written "
            f"({error.strerror}); make room, or set TMPDIR to a folder that has some"
        ) from error


class Writer:
    """Puts pieces into a file, one after the other."""

    def __init__(self, horizon: int, folder: str | None = None) -> None:
        self._horizon, self._length = horizon, block_length(horizon)
        with _writing():
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 it lives as long as the log
        self._blocks: list[Block] = []
        self._vocabularies: list[PieceLetters] = []
        self._n, self._total, self._declared = 0, 0, False

    def add(self, episodes: Episodes) -> None:
        """A piece, of the horizon of the whole log."""
        for begin in range(0, episodes.n, self._length):
            part = episodes.columns(slice(begin, begin + self._length))
            kind, weighted = np.dtype(part.word.dtype), part.weight is not None
            self._blocks.append(Block(self._file.tell(), part.n, len(self._vocabularies), kind, weighted))
            with _writing():
                self._file.write(part.word.tobytes())
                if part.weight is not None:
                    self._file.write(part.weight.tobytes())
        self._vocabularies.append(PieceLetters.of(episodes))
        self._n, self._total, self._declared = self._n + episodes.n, self._total + episodes.total, episodes.declared

    def finish(self, threads: int) -> StoredLog:
        """The log, once all its pieces are there."""
        with _writing():
            self._file.flush()
        common = SharedLetters.of(self._vocabularies)
        return StoredLog(
            *common.vocabulary, self._declared, self._horizon, self._n, self._total,
            self._file, tuple(self._blocks), common.places, threads,
        )  # fmt: skip


def in_turn(items: Iterable[S], work: Callable[[S], T], threads: int) -> Iterator[T]:
    """Work on items in several threads, a few ahead of what is taken; results come in order."""
    waiting: deque[Future[T]] = deque()
    pool = ThreadPoolExecutor(threads)
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
