"""Episodes `(a_0 o_0 / r_0) … (a_H o_H / r_H)`, stored as one small integer per step.

A *letter* is a whole step: action, observation and reward. A *symbol* is its action–observation part, which is all that
histories and policies may read. Letters and symbols are numbered in the alphabet's order (`alphabet`). Step 0 has the
dummy action and reward 0; the observation of an episode's last step is o_⊥; after an early end the pad letter repeats
up to the horizon. An episode that was cut off before the horizon (truncated, or censored) has a `length`: steps from
there on were not observed, although the pad letter stands in their place, and the observation of its last observed step
is unknown, like that of the last step of an episode that is cut off at the horizon. Theory: docs/theory.md, section 1.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from suffice.data import content
from suffice.data.alphabet import MAX_LETTERS, PAD, STOP, Alphabet, Value, smallest_uint
from suffice.errors import LogError, SettingsError, is_whole, parameter
from suffice.kernels import sums
from suffice.kernels.array_types import Codes, Int32, Int64, Mask, UInt64

if TYPE_CHECKING:
    from suffice.data.report import ReadReport

MAX_EPISODES = 1 << 40  # more cannot be compared exactly (`kernels.tables`)
BLOCK_CELLS = 1 << 16  # steps whose codes are computed at once
MAX_STEPS = 1 << 52  # with padding; more cannot be counted exactly in floats


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Outline:
    """Everything about a log except its episodes."""

    alphabet: Alphabet
    letters: Codes  # [X, 3] action, observation and reward codes of each letter, in lexicographic order
    follows: Mask  # [X] whether a letter occurs in steps 1..H of the whole log, so that a suffix can hold it
    declared: bool  # the alphabet was declared, not found in the data
    horizon: int  # H: the steps run from 0 to H
    n: int  # stored episodes; with weights, each stands for several
    total: int  # N, the number of episodes, counted with their weights

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.total:,} of up to {self.horizon} decisions, {self.steps} distinct steps>"

    @property
    def steps(self) -> int:
        """X, the number of distinct steps."""
        return len(self.letters)

    def symbols(self) -> tuple[Codes, Codes]:
        """Return the [Y, 2] symbols in order, and the [X] symbol of each letter."""
        pairs, of_letter = np.unique(self.letters[:, :2], axis=0, return_inverse=True)
        return pairs, of_letter.reshape(-1).astype(smallest_uint(len(pairs)))

    def suffix_alphabet(self) -> tuple[Codes, Codes, Codes]:
        """Return the codes A, O, R that can follow a history: those of steps 1..H, or all that were declared."""
        action, observation, reward = (np.unique(column) for column in self.letters[self.follows].T)
        if self.declared:
            action = np.union1d(action, np.arange(2, self.alphabet.n_actions))
            observation = np.union1d(observation, np.arange(1, self.alphabet.n_observations))
            reward = np.arange(len(self.alphabet.rewards))
        return action, observation, reward

    def digest(self, mixed: NDArray[np.uint64]) -> str:
        """Return a hash of the content, given the sum of the hashes of all episodes."""
        h = hashlib.blake2b(digest_size=16)
        # unlike `repr`, `ascii` does not depend on which characters a version of Python can print
        h.update(ascii((self.alphabet, self.declared, self.horizon, self.total)).encode())
        for array in (self.letters.astype(np.int32), mixed):
            h.update(np.ascontiguousarray(array).tobytes())
        return h.hexdigest()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Episodes:
    """N episodes of H+1 steps each, one letter code per step.

    `len(episodes)` is the number of stored episodes, and `episodes[3]` one of them as a list of `Step`.
    `episodes[:10]`, `episodes[mask]` and `episodes[indices]` are `Episodes` again, with the same alphabet and horizon.

    Parameters
    ----------
    alphabet
        The actions, observations and rewards.
    letters
        [X, 3] action, observation and reward code of each letter, in lexicographic order.
    word
        [H+1, N] the letter of each step; time-major, so that a layer is one contiguous row.
    follows
        [X] whether a letter occurs in steps 1..H of the whole log, so that a suffix can contain it.
    weight
        [N] the number of episodes that each stored one stands for. Default: one each.
    declared
        Whether the alphabet was declared, rather than found in the data.
    report
        Report on reading the log, with its columns and bins. None if the episodes were not read from a log.
    length
        [N] the number of observed steps, from 1 to H+1: steps from there on are unknown. Default: all H+1 are observed,
        because an episode reached the horizon or ended before it.
    group
        [N] hash of the person, site or other group of each episode. Default: each episode is a group.

    Examples
    --------
    >>> episodes
    <Episodes: 300 of up to 5 decisions, 20 distinct steps>
    >>> len(episodes), len(episodes[:10])
    (300, 10)
    >>> episodes[0][-1]
    Step(observation={'row': 0, 'column': 4, 'guard': 'enemy'}, action=0, reward=1.0)
    """

    alphabet: Alphabet
    letters: Codes  # [X, 3] action, observation and reward codes of each letter, in lexicographic order
    word: Codes  # [H+1, N] the letter of each step
    follows: Mask  # [X] whether a letter occurs in steps 1..H of the whole log, so that a suffix can hold it
    weight: Int64 | None = None  # [N] how many episodes each column stands for; None: one each
    declared: bool = False  # the alphabet was declared, not found in the data
    report: ReadReport | None = None  # on reading the log
    length: Int32 | None = None  # [N] observed steps, 1..H+1; None: all H+1
    group: UInt64 | None = None  # [N] hash of the group that each episode belongs to; None: each is one

    def __post_init__(self) -> None:
        if self.weight is not None:
            self._refuse_weights(self.weight)
        for array in (self.letters, self.word, self.follows, self.weight, self.length, self.group):
            if array is not None:
                array.setflags(write=False)

    def _refuse_weights(self, weight: Int64) -> None:
        if weight.size and weight.min() < 1:
            raise LogError(
                f"an episode has weight {weight.min()}, but a weight is a number of episodes. Use 1 or more."
            )
        total = weight.sum(dtype=np.float64)  # unlike an integer sum it does not overflow
        if total > MAX_EPISODES:
            raise LogError(f"the weights add up to more than {MAX_EPISODES:,} episodes. Divide them by a factor.")
        if total * len(self.word) > MAX_STEPS:
            raise LogError(
                f"{total:,.0f} episodes of {len(self.word):,} steps are more than {MAX_STEPS:,} steps, the most that "
                "can be counted. Divide the weights by a factor, or cut the episodes."
            )

    @classmethod
    def from_steps(
        cls,
        alphabet: Alphabet,
        action: Codes,
        observation: Codes,
        reward: Codes,
        weight: Int64 | None = None,
        declared: bool = False,
        length: Int32 | None = None,
        group: UInt64 | None = None,
    ) -> Episodes:
        """Build episodes from the codes of their actions, observations and rewards.

        Parameters
        ----------
        alphabet
            The alphabet of the codes.
        action, observation, reward
            [H+1, N] codes of each step, with the special symbols in their places.
        weight
            [N] the number of episodes that each stands for. Default: one each.
        declared
            Whether the alphabet was declared, rather than found in the data.
        length
            [N] the number of observed steps; unobserved ones are padded. Default: all are observed.
        group
            [N] hash of the group that each belongs to. Default: each is one.

        Returns
        -------
        Episodes
            The N episodes, without a report.
        """
        if action.shape[1] == 0:
            raise LogError("there are no episodes. Select at least one.")
        present, word = _number_steps(alphabet, action, observation, reward)
        if len(present) > MAX_LETTERS:
            raise LogError(
                f"{len(present):,} distinct steps are too many for a finite alphabet. Bin numeric columns with "
                f"{parameter('bins')}, or name fewer {parameter('observations')}."
            )
        shape = (alphabet.n_actions, alphabet.n_observations, len(alphabet.rewards))
        letters = np.stack(np.unravel_index(present, shape), axis=1).astype(np.int32)
        follows = np.zeros(len(letters), dtype=bool)
        for rows in blocks_of_rows(word[1:]):
            follows[rows] = True
        if length is not None and (length == len(word)).all():
            length = None
        return cls(alphabet, letters, word, follows, weight, declared, None, length, group)

    @classmethod
    def beside(cls, parts: Sequence[Episodes]) -> Episodes:
        """Concatenate parts of one log.

        Parameters
        ----------
        parts
            Episodes with the same letters and horizon, such as blocks of one log.

        Returns
        -------
        Episodes
            All episodes in order, without a report.
        """
        word = np.concatenate([part.word for part in parts], axis=1)
        return replace(parts[0], word=word, report=None, **_attributes_of_all(parts))

    @classmethod
    def joined(cls, parts: Sequence[Episodes]) -> Episodes:
        """Concatenate the episodes of several logs in one alphabet, padded to the longest horizon.

        Parameters
        ----------
        parts
            Episodes with the same observation columns.

        Returns
        -------
        Episodes
            All episodes in order, without a report.
        """
        alphabet = Alphabet.union([part.alphabet for part in parts])
        horizon = max(part.horizon for part in parts)
        padded = [part if part.horizon == horizon else part.padded(horizon) for part in parts]
        steps = [part._steps_in(alphabet) for part in padded]
        action, observation, reward = (np.concatenate(columns, axis=1) for columns in zip(*steps, strict=True))
        declared = all(part.declared for part in parts)
        attributes = _attributes_of_all(padded)
        return cls.from_steps(alphabet, action, observation, reward, declared=declared, **attributes)

    def _steps_in(self, alphabet: Alphabet) -> tuple[Codes, Codes, Codes]:
        """Return the [H+1, N] codes of action, observation and reward in an alphabet that contains this one."""
        sizes = alphabet.n_actions, alphabet.n_observations, len(alphabet.rewards)
        columns = self.alphabet.codes_in(alphabet, self.letters)
        action, observation, reward = (
            column.astype(smallest_uint(size))[self.word] for column, size in zip(columns, sizes, strict=True)
        )
        return action, observation, reward

    def __repr__(self) -> str:
        return f"<Episodes: {self.total:,} of up to {self.horizon} decisions, {len(self.letters)} distinct steps>"

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[list[Step]]:
        return (self[i] for i in range(self.n))

    @overload
    def __getitem__(self, index: int) -> list[Step]: ...

    @overload
    def __getitem__(self, index: slice | Sequence[int] | Sequence[bool] | NDArray[Any]) -> Episodes: ...

    def __getitem__(self, index: Any) -> list[Step] | Episodes:
        """Return one episode as a list of steps, or some episodes; see `Episodes`."""
        part = _selection(index, self.n)
        if isinstance(part, int):
            return self._decode(part)
        chosen = self.columns(part)
        return chosen if self.report is None else replace(chosen, report=self.report.select(part, chosen))

    def _decode(self, i: int) -> list[Step]:
        """Return the steps of one episode in the values of the log, without padding."""
        alphabet, names = self.alphabet, self.alphabet.features
        codes: list[tuple[int, int, int]] = self.letters[self.word[:, i]].tolist()
        steps = []
        for (_, seen, _), (action, _, reward) in pairwise(codes):
            if seen == STOP:
                break
            values = alphabet.observations[seen - 1]
            observation = values[0] if len(names) == 1 else dict(zip(names, values, strict=True))
            steps.append(Step(observation, alphabet.actions[action - PAD - 1], alphabet.rewards[reward]))
        return steps

    @property
    def horizon(self) -> int:
        """H, the number of decisions; steps run from 0 to H."""
        return int(self.word.shape[0]) - 1

    @property
    def n(self) -> int:
        """Number of stored episodes; with weights, each stands for several."""
        return int(self.word.shape[1])

    @property
    def total(self) -> int:
        """N, the number of episodes, counted with their weights."""
        return self.n if self.weight is None else int(self.weight.sum())

    @property
    def nbytes(self) -> int:
        """Memory of the encoded log in bytes."""
        arrays = (self.word, self.letters, self.weight, self.length, self.group)
        return sum(int(array.nbytes) for array in arrays if array is not None)

    @property
    def censored(self) -> bool:
        """Whether some episodes were cut off before the horizon, so that what followed is not known."""
        return self.length is not None and bool((self.length <= self.horizon).any())

    @property
    def grouped(self) -> bool:
        """Whether episodes belong to groups, such as persons, within which they may depend on each other."""
        return self.group is not None

    def ended(self) -> Episodes:
        """Return the same episodes as if those that were cut off had ended there.

        Returns
        -------
        Episodes
            The episodes without lengths.
        """
        return self if self.length is None else replace(self, length=None)

    def observed(self, t: int) -> Mask:
        """Return which episodes were still observed at a step.

        Parameters
        ----------
        t
            The step, from 0 to H.

        Returns
        -------
        array
            [N] True where step t was observed, or is padding after the end of the episode.
        """
        return np.ones(self.n, bool) if self.length is None else np.asarray(self.length > t)

    @property
    def outline(self) -> Outline:
        """Everything except the episodes themselves."""
        return Outline(self.alphabet, self.letters, self.follows, self.declared, self.horizon, self.n, self.total)

    def symbols(self) -> tuple[Codes, Codes]:
        """Return the action–observation symbols of the log.

        Returns
        -------
        tuple of arrays
            [Y, 2] action and observation code of each symbol, in order, and [X] the symbol of each letter.
        """
        return self.outline.symbols()

    def lengths(self) -> Int64:
        """Return the number of decisions of each episode, [N].

        Returns
        -------
        array
            Decisions up to the end of the episode or the horizon.
        """
        acts = self.letters[:, 0] > PAD
        return np.asarray(acts[self.word[1:]].sum(axis=0, dtype=np.int64))

    def compact(self) -> Episodes:
        """Leave out the letters that do not occur, such as those of the other episodes of a log.

        Returns
        -------
        Episodes
            The same episodes; this object if all letters occur.
        """
        used = np.zeros(len(self.letters), dtype=bool)
        for row in self.word:
            used[row] = True
        if used.all():
            return self
        code = (np.cumsum(used) - 1).astype(smallest_uint(int(used.sum())))
        return replace(self, letters=self.letters[used], word=code[self.word], follows=self.follows[used])

    def columns(self, part: slice | Int64, since: int = 0) -> Episodes:
        """Return some of the episodes with the same letters, without a report.

        Parameters
        ----------
        part
            Slice or [n] indices of the episodes.
        since
            First step to keep. Default: 0.

        Returns
        -------
        Episodes
            The chosen episodes from step `since` on.
        """
        weight = None if self.weight is None else self.weight[part]
        group = None if self.group is None else self.group[part]
        length = None if self.length is None else np.maximum(self.length[part] - np.int32(since), 0)
        return Episodes(
            self.alphabet, self.letters, self.word[since:, part], self.follows, weight, self.declared, None, length,
            group,
        )  # fmt: skip

    def cut(self, horizon: int) -> Episodes:
        """Cut the episodes to a shorter horizon, where they end with o_⊥.

        Parameters
        ----------
        horizon
            Decisions per episode, at least 1 and at most the present horizon.

        Returns
        -------
        Episodes
            The same episodes of at most `horizon` decisions.
        """
        if not is_whole(horizon) or not 1 <= horizon <= self.horizon:
            raise SettingsError(
                f"{parameter('horizon', horizon)}: episodes of {self.horizon} decisions cannot be cut to it. Use a "
                f"whole number from 1 to {self.horizon}."
            )
        action, observation, reward = (column[self.word[: horizon + 1]] for column in self.letters.T)
        observation[-1] = STOP
        length = None if self.length is None else np.minimum(self.length, np.int32(horizon + 1))
        return self._with_steps(action, observation, reward, length)

    def padded(self, horizon: int) -> Episodes:
        """Pad the episodes to a longer horizon.

        In a log with censored episodes, those that reach the present horizon are censored there.

        Parameters
        ----------
        horizon
            Decisions per episode, at least the present horizon.

        Returns
        -------
        Episodes
            The same episodes with `horizon` decisions, padding included.
        """
        if not is_whole(horizon) or horizon < self.horizon:
            raise SettingsError(
                f"{parameter('horizon', horizon)}: episodes of {self.horizon} decisions cannot be padded to it. Use a "
                f"whole number from {self.horizon} on."
            )
        if horizon > self.horizon and self.report is not None and self.report.cut:
            raise SettingsError(
                f"{self.report.cut:,} episodes are cut to {self.horizon} decisions, and what followed is not known. "
                f"Read the log without {parameter('horizon')} instead of padding them."
            )
        missing = ((0, horizon - self.horizon), (0, 0))
        nothing = PAD, STOP, self.alphabet.rewards.index(0.0)
        action, observation, reward = (
            np.pad(column[self.word], missing, constant_values=code)
            for column, code in zip(self.letters.T, nothing, strict=True)
        )
        length = self.length
        if length is not None and horizon > self.horizon:
            ended = self.letters[self.word[-1], 0] == PAD
            length = np.where((length > self.horizon) & ended, np.int32(horizon + 1), length)
        return self._with_steps(action, observation, reward, length)

    def _with_steps(self, action: Codes, observation: Codes, reward: Codes, length: Int32 | None) -> Episodes:
        """Return the same episodes at another horizon, with their report."""
        made = Episodes.from_steps(
            self.alphabet, action, observation, reward, self.weight, self.declared, length, self.group
        )
        return made if self.report is None else replace(made, report=self.report.resize(made.horizon, self))

    def divide(
        self, share: float, rng: np.random.Generator, keys: UInt64 | None = None
    ) -> tuple[Episodes, Episodes, Int64]:
        """Divide the episodes at random into two parts, which do not depend on the order of the episodes.

        Parameters
        ----------
        share
            Share of the episodes in the second part, between 0 and 1.
        rng
            Random generator that chooses them.
        keys
            [N] hashes of the episodes, by which they are chosen. Default: those of their content.

        Returns
        -------
        tuple
            The rest of the episodes, the chosen share, and the indices of the chosen ones in order. With weights, a
            stored episode may belong to both parts. Episodes of a group stay together, so that the share may differ.
        """
        if self.group is not None:
            drawn = content.draw_groups(self.group, self.weight, share, rng)
            return self.columns(np.flatnonzero(~drawn)), self.columns(np.flatnonzero(drawn)), np.flatnonzero(drawn)
        hashes, size = content.content_hashes(self) if keys is None else keys, share_of(share, self.total)
        if self.weight is None:
            drawn = content.draw(hashes, size, rng)
            chosen = np.flatnonzero(drawn)
            return self.columns(np.flatnonzero(~drawn)), self.columns(chosen), chosen
        taken = content.draw_weighted(hashes, self.weight, size, rng)
        sides = self.weight - taken, taken
        rest, held = (replace(self.columns(np.flatnonzero(side)), weight=side[side > 0]) for side in sides)
        return rest, held, np.flatnonzero(taken)

    def suffix_alphabet(self) -> tuple[Codes, Codes, Codes]:
        """Return the codes that can follow a history.

        Returns
        -------
        tuple of arrays
            Action, observation and reward codes that occur in steps 1..H, or all declared ones.
        """
        return self.outline.suffix_alphabet()

    def mixed(self, first: int = 0, ordered: bool = False) -> NDArray[np.uint64]:
        """Hash the episodes so that the hashes of blocks add up to that of the log.

        Parameters
        ----------
        first
            Index of the first episode in the whole log.
        ordered
            Whether the order of the episodes matters.

        Returns
        -------
        array
            [2] sums of hashes.
        """
        weight = np.zeros(0, np.int64) if self.weight is None else self.weight
        length = np.zeros(0, np.int32) if self.length is None else self.length
        return np.asarray(sums.mix(self.word, weight, length, first, ordered))

    def digest(self, ordered: bool = False) -> str:
        """Return a hash of the content: equal for a CSV and a Parquet file with the same episodes.

        Parameters
        ----------
        ordered
            Whether the order of the episodes matters. Default: no.

        Returns
        -------
        str
            32 hexadecimal digits.
        """
        used = self.compact()
        return used.outline.digest(used.mixed(ordered=ordered))


class Step(NamedTuple):
    """One decision of an episode, in the values of the log; a binned value is the number of its bin."""

    observation: Value | dict[str, Value]  # by column; the value alone if there is one column
    action: Value
    reward: float


def _selection(index: Any, n: int) -> int | slice | Int64:
    """Return a checked index of n episodes: an integer from 0, a slice, or an array of integers."""
    if isinstance(index, slice):
        return index
    if isinstance(index, range) or (hasattr(index, "__array__") and getattr(index, "ndim", 1) == 1):
        index = np.asarray(index)  # also a mask of pandas or polars
    if not isinstance(index, list | tuple | np.ndarray):
        if isinstance(index, bool | np.bool_) or not hasattr(index, "__index__"):
            raise TypeError(
                f"episodes[{index!r}]: not an index. Use an integer, a slice, a mask or an array of integers."
            )
        place = operator.index(index)
        if not -n <= place < n:
            raise IndexError(f"episodes[{place}]: there are {n:,} episodes. Use an index from {-n} to {n - 1}.")
        return place % n
    array = np.asarray(index)
    if array.ndim != 1 or not (array.dtype.kind in "biu" or array.size == 0):
        raise TypeError("episodes[…]: not a list of indices. Use a mask or integers, in one dimension.")
    if array.dtype.kind == "b":
        if len(array) != n:
            raise IndexError(
                f"episodes[mask]: the mask has {len(array):,} entries for {n:,} episodes. Give one for each."
            )
        return np.flatnonzero(array)
    array = array.astype(np.int64)
    if wrong := array[(array < -n) | (array >= n)].tolist():
        raise IndexError(f"episodes[{wrong[0]}]: there are {n:,} episodes. Use indices from {-n} to {n - 1}.")
    return np.asarray(array % max(n, 1))


def _attributes_of_all(parts: Sequence[Episodes]) -> dict[str, Any]:
    """Concatenate the weights, lengths and groups of parts of one horizon; None where no part has any."""
    found: dict[str, Any] = {"weight": None, "length": None, "group": None}
    if any(part.weight is not None for part in parts):
        ones = (np.ones(part.n, np.int64) if part.weight is None else part.weight for part in parts)
        found["weight"] = np.concatenate(list(ones))
    if any(part.length is not None for part in parts):
        whole = (np.full(part.n, len(part.word), np.int32) if part.length is None else part.length for part in parts)
        found["length"] = np.concatenate(list(whole))
    grouped = [part.group for part in parts if part.group is not None]
    if grouped and len(grouped) < len(parts):
        raise LogError(
            "some of the logs have groups and others do not. Read all of them with the same "
            f"{parameter('group_column')}."
        )
    if grouped:
        found["group"] = np.concatenate(grouped)
    return found


def share_of(share: float, total: int) -> int:
    """Return the number of episodes in a share of them; refuse a share that leaves one part empty."""
    size = round(share * total) if 0 < share < 1 else 0
    if not 0 < size < total:
        of = f"{total:,} episode{'s' if total != 1 else ''}"
        raise SettingsError(
            f"a share of {share:g} of {of} leaves one part empty. Choose another share, or log more episodes."
        )
    return size


def _number_steps(alphabet: Alphabet, action: Codes, observation: Codes, reward: Codes) -> tuple[Int64, Codes]:
    """Return the distinct steps in lexicographic order, as mixed-radix numbers, and the index of each step among them.

    A look-up table is used while one fits, some rows at a time, so that few wide numbers exist at once; sorting
    otherwise.
    """

    def keys() -> Iterator[Int64]:
        for a, o, r in zip(*map(blocks_of_rows, (action, observation, reward)), strict=True):
            key = a.astype(np.int64) * alphabet.n_observations + o
            yield key * len(alphabet.rewards) + r

    size = alphabet.n_actions * alphabet.n_observations * len(alphabet.rewards)
    if size > max(1 << 24, 4 * action.size):
        distinct, place = np.unique(np.concatenate(list(keys())), return_inverse=True)
        codes: Codes = place.astype(smallest_uint(len(distinct)))
        return distinct, codes.reshape(action.shape)
    seen = np.zeros(size, dtype=bool)
    for key in keys():
        seen[key] = True
    present = np.flatnonzero(seen)
    code: Codes = np.zeros(size, dtype=smallest_uint(len(present)))
    code[present] = np.arange(len(present))
    word: Codes = np.empty(action.shape, code.dtype)
    for rows, key in zip(blocks_of_rows(word), keys(), strict=True):
        rows[:] = code[key]
    return present, word


def blocks_of_rows(table: Codes) -> Iterator[Codes]:
    """Yield views of consecutive rows with a bounded number of cells, at least one row each."""
    size = max(1, BLOCK_CELLS // max(table.shape[1], 1))
    for begin in range(0, len(table), size):
        yield table[begin : begin + size]


UNWEIGHTED = np.zeros(0, dtype=np.int64)  # tells kernels that every episode counts once
UNWEIGHTED.setflags(write=False)  # read-only like the weights of a log, or every kernel would be compiled for both


def weights_at(episodes: Episodes, t: int) -> Int64:
    """Return the weights for counting step t with what follows: 0 where its observation or the step is unknown."""
    if episodes.length is None:
        return weights(episodes)
    known = (episodes.length > t + 1) | (episodes.length > episodes.horizon)
    return known.astype(np.int64) if episodes.weight is None else np.where(known, episodes.weight, 0)


def observed_decisions(episodes: Episodes) -> Mask:
    """Return [H, N], whether the reward of each decision is known, or the episode had ended before."""
    if episodes.length is None:
        return np.ones((episodes.horizon, episodes.n), bool)
    return np.asarray(episodes.length > np.arange(1, episodes.horizon + 1)[:, None])


def known_outcomes(episodes: Episodes) -> Mask:
    """Return [H, N], whether it is known what followed each decision, or that nothing did."""
    seen = observed_decisions(episodes)
    if episodes.length is not None:
        cut = np.flatnonzero(episodes.length <= episodes.horizon)
        seen[np.maximum(episodes.length[cut] - 2, 0), cut] = False  # its last decision: the observation is missing
    return seen


def weights(episodes: Episodes) -> Int64:
    """Return the weights as kernels take them: empty if every episode counts once."""
    return UNWEIGHTED if episodes.weight is None else episodes.weight
