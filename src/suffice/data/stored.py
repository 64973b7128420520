"""Episodes in a file, read block by block: one or two bytes per step on disk, almost nothing in memory.

A log that does not fit into memory is read piece by piece into such a file, once. Each piece numbers its letters by
itself; the code of each letter in the whole log is known at the end, and is looked up when a block is read. The file
has no name, so nothing remains of it however the process ends.
"""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import IO, Any, NamedTuple, TypeVar

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
    """The letters of a piece, numbered by the piece."""

    alphabet: Alphabet
    letters: Codes  # [X, 3]
    follows: Mask  # [X]

    @classmethod
    def of(cls, episodes: Log) -> PieceLetters:
        """Return the letters of some episodes."""
        return cls(episodes.alphabet, episodes.letters, episodes.follows)


class SharedLetters(NamedTuple):
    """The letters of all pieces together, and the codes there of the letters of each piece."""

    vocabulary: PieceLetters
    places: list[Codes]  # [X of the piece] for each piece, codes in the vocabulary

    @classmethod
    def of(cls, pieces: list[PieceLetters]) -> SharedLetters:
        """Number the letters as in a log that is read at once."""
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


ATTRIBUTES: dict[str, np.dtype[Any]] = {
    "weight": np.dtype(np.int64),
    "length": np.dtype(np.int32),
    "group": np.dtype(np.uint64),
}  # arrays [N] of episodes that follow their steps in the file


class Block(NamedTuple):
    """The position of some episodes in the file."""

    offset: int  # in bytes
    n: int
    piece: int
    kind: np.dtype[np.integer]  # type of the codes of the piece
    attributes: tuple[str, ...]  # weight, length and group, so far as the episodes have them

    def attribute(self, name: str, after: int) -> tuple[int, int] | None:
        """Return the position and size in bytes of an attribute, `after` the bytes of all steps; None if absent."""
        if name not in self.attributes:
            return None
        before = self.attributes[: self.attributes.index(name)]
        begin = self.offset + after + sum(ATTRIBUTES[other].itemsize for other in before) * self.n
        return begin, ATTRIBUTES[name].itemsize * self.n


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StoredLog(ExternalLog):
    """A log whose episodes are in a file."""

    file: IO[bytes]
    blocks: tuple[Block, ...]
    places: list[Codes]
    threads: int
    first: int = 0  # index of the first episode, if this is a part of a log
    chosen: tuple[Mask, ...] | None = None  # by block; None: all episodes
    all_ended: bool = False  # ignore the stored lengths

    @property
    def weighted(self) -> bool:
        """Whether the stored episodes have weights."""
        return any("weight" in block.attributes for block in self.blocks)

    @property
    def censored(self) -> bool:
        """Whether some of the stored episodes were cut off before the horizon."""
        return not self.all_ended and any("length" in block.attributes for block in self.blocks)

    @property
    def grouped(self) -> bool:
        """Whether the stored episodes belong to groups."""
        return any("group" in block.attributes for block in self.blocks)

    @property
    def sizes(self) -> list[int]:
        """Number of episodes in each block."""
        if self.chosen is None:
            return [block.n for block in self.blocks]
        return [int(np.count_nonzero(mask)) for mask in self.chosen]

    def block(self, i: int, since: int = 0) -> Episodes:
        """Read the episodes of one block, from step `since` on."""
        block, steps = self.blocks[i], self.horizon + 1
        row = block.n * block.kind.itemsize
        raw = self._bytes(block.offset + since * row, (steps - since) * row)
        word: Codes = np.frombuffer(raw, block.kind).reshape(steps - since, block.n)
        place = self.places[block.piece]
        if place.dtype != word.dtype or not np.array_equal(place, np.arange(len(place))):
            word = place[word]
        found: dict[str, Any] = {}
        for name, kind in ATTRIBUTES.items():
            where = block.attribute(name, steps * row)
            found[name] = None if where is None else np.frombuffer(self._bytes(*where), kind)
        if self.all_ended:
            found["length"] = None
        if found["length"] is not None:
            found["length"] = np.maximum(found["length"] - np.int32(since), 0)
        episodes = Episodes(self.alphabet, self.letters, word, self.follows, declared=self.declared, **found)
        return episodes if self.chosen is None else episodes.columns(np.flatnonzero(self.chosen[i]))

    def _bytes(self, offset: int, size: int) -> bytes:
        found = os.pread(self.file.fileno(), size, offset)
        while len(found) < size:
            more = os.pread(self.file.fileno(), size - len(found), offset + len(found))
            if not more:
                raise LogError(
                    "the file of steps in the temporary folder is shorter than written. Check whether the disk is "
                    "full, and run again."
                )
            found += more
        return found

    def ended(self) -> StoredLog:
        """Return the log as if episodes that were cut off had ended there."""
        return replace(self, all_ended=True)

    def run_query(self, query: Query[T]) -> T:
        """Answer a query over all episodes, block by block."""
        begin = (self.first + np.concatenate([[0], np.cumsum(self.sizes)])).tolist()
        filled = [i for i, size in enumerate(self.sizes) if size]

        def answer(k: int) -> T:
            return query(EpisodesView(self.block(filled[k]), begin[filled[k]]))

        return gather(len(filled), self.threads, answer, query.combine)

    def in_blocks(self, threads: int) -> InBlocks:
        """Return the blocks, and the number of threads that fit into memory."""
        return InBlocks(self, min(threads, self.threads), self.first)

    def among(self, chosen: Mask) -> StoredLog:
        """Return the log restricted to some of its episodes."""
        if self.chosen is not None:  # the mask refers to the episodes chosen before
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
            f"{tempfile.gettempdir()}: the steps of a log larger than memory are stored here, but the folder cannot be "
            f"written to ({error.strerror}). Free space, or set TMPDIR to another folder."
        ) from error


class Writer:
    """A writer that appends pieces of a log to a file."""

    def __init__(self, horizon: int, folder: str | None = None) -> None:
        self._horizon, self._length = horizon, block_length(horizon)
        with _writing():
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 it is open as long as the log exists
        self._blocks: list[Block] = []
        self._vocabularies: list[PieceLetters] = []
        self._n, self._total, self._declared = 0, 0, False

    def add(self, episodes: Episodes) -> None:
        """Append a piece, which has the horizon of the whole log."""
        for begin in range(0, episodes.n, self._length):
            part = episodes.columns(slice(begin, begin + self._length))
            arrays = {name: getattr(part, name) for name in ATTRIBUTES if getattr(part, name) is not None}
            kind = np.dtype(part.word.dtype)
            self._blocks.append(Block(self._file.tell(), part.n, len(self._vocabularies), kind, tuple(arrays)))
            with _writing():
                self._file.write(part.word.tobytes())
                for array in arrays.values():
                    self._file.write(array.tobytes())
        self._vocabularies.append(PieceLetters.of(episodes))
        self._n, self._total, self._declared = self._n + episodes.n, self._total + episodes.total, episodes.declared

    def finish(self, threads: int) -> StoredLog:
        """Return the log after all its pieces were added."""
        with _writing():
            self._file.flush()
        common = SharedLetters.of(self._vocabularies)
        return StoredLog(
            *common.vocabulary, self._declared, self._horizon, self._n, self._total,
            self._file, tuple(self._blocks), common.places, threads,
        )  # fmt: skip


def in_turn(items: Iterable[S], work: Callable[[S], T], threads: int) -> Iterator[T]:
    """Process items in several threads, a few ahead of the consumer; yield results in order."""
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
