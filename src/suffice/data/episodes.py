"""The data D: episodes `(a_0 o_0 / r_0) … (a_H o_H / r_H)` as one small integer per step.

A *letter* is a whole step, action, observation and reward together; a *symbol* is its `ao` part, which is all that
histories and policies may read. Letters and symbols are numbered in the alphabet's order: special symbols first,
numbers numerically, strings by code point, features in column order. Step 0 has the dummy action and reward 0; the
observation of an episode's own last step is o_⊥; after an early end the pad letter repeats up to the horizon.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from suffice.data.alphabet import PAD, STOP, Alphabet, smallest_uint
from suffice.errors import LogError, SettingsError
from suffice.kernels import sums
from suffice.kernels.array_types import Codes, Int64, Mask

MAX_EPISODES = 1 << 40  # so many are compared exactly (`kernels.tables`); their steps,
MAX_STEPS = 1 << 52  # padding included, are counted in floats here and there, which hold them exactly
MOST_PERMUTED = 10**9  # episodes that numpy draws from
MAX_LETTERS = 1 << 20  # beyond this a "finite alphabet" means somebody logged a real number


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Outline:
    """What there is to know of a log but its episodes."""

    alphabet: Alphabet
    letters: Codes  # [X, 3] action, observation and reward codes of each letter, in lexicographic order
    follows: Mask  # [X] whether a letter occurs in steps 1..H of the whole log, so that a suffix can hold it
    declared: bool  # the alphabet was declared, not read off the data
    horizon: int  # H: the steps run from 0 to H
    n: int  # columns; with weights each stands for several episodes
    total: int  # N, the number of episodes

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.total:,} of up to {self.horizon} decisions, {self.steps} distinct steps>"

    @property
    def steps(self) -> int:
        """X: how many distinct steps there are."""
        return len(self.letters)

    def symbols(self) -> tuple[Codes, Codes]:
        """The symbols `ao` in order, [Y, 2], and the symbol of each letter, [X]."""
        pairs, of_letter = np.unique(self.letters[:, :2], axis=0, return_inverse=True)
        return pairs, of_letter.reshape(-1).astype(smallest_uint(len(pairs)))

    def suffix_alphabet(self) -> tuple[Codes, Codes, Codes]:
        """Codes A, O, R of what can follow a history: what occurs in steps 1..H, or all that was declared."""
        action, observation, reward = (np.unique(column) for column in self.letters[self.follows].T)
        if self.declared:
            action = np.union1d(action, np.arange(2, self.alphabet.n_actions))
            observation = np.union1d(observation, np.arange(1, self.alphabet.n_observations))
            reward = np.arange(len(self.alphabet.rewards))
        return action, observation, reward

    def digest(self, mixed: NDArray[np.uint64]) -> str:
        """A hash of the content, given what all episodes add to it."""
        h = hashlib.blake2b(digest_size=16)
        h.update(repr((self.alphabet, self.declared, self.horizon, self.total)).encode())
        for array in (self.letters.astype(np.int32), mixed):
            h.update(np.ascontiguousarray(array).tobytes())
        return h.hexdigest()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Episodes:
    """N episodes of H+1 steps, one letter code per step, time-major so that a layer is one contiguous row.

    >>> episodes
    <Episodes: 300 of up to 5 decisions, 20 distinct steps>
    >>> episodes.columns(slice(0, 10)).total
    10
    >>> suffice.Episodes.joined([episodes, episodes]).total
    600
    """

    alphabet: Alphabet
    letters: Codes  # [X, 3] action, observation and reward codes of each letter, in lexicographic order
    word: Codes  # [H+1, N] the letter of each step
    follows: Mask  # [X] whether a letter occurs in steps 1..H of the whole log, so that a suffix can hold it
    weight: Int64 | None = None  # [N] how many episodes each column stands for; None: one each
    declared: bool = False  # the alphabet was declared, not read off the data

    def __post_init__(self) -> None:
        if self.weight is not None:
            self._refuse_weights(self.weight)
        for array in (self.letters, self.word, self.follows, self.weight):
            if array is not None:
                array.setflags(write=False)

    def _refuse_weights(self, weight: Int64) -> None:
        if weight.size and weight.min() < 1:
            raise LogError(f"an episode cannot have weight {weight.min()}: it stands for one episode or more")
        total = weight.sum(dtype=np.float64)  # unlike integers it does not wrap
        if total > MAX_EPISODES:
            raise LogError(f"the weights add up to more than {MAX_EPISODES:,} episodes; divide them by a factor")
        if total * len(self.word) > MAX_STEPS:
            raise LogError(
                f"{total:,.0f} episodes of {len(self.word):,} steps are more than {MAX_STEPS:,}, which is as far as "
                "steps are counted; divide the weights by a factor, or cut the episodes"
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
    ) -> Episodes:
        """Episodes from three [H+1, N] arrays of codes, special symbols already in their places."""
        if action.shape[1] == 0:
            raise LogError("there are no episodes")
        present, word = _number_steps(alphabet, action, observation, reward)
        if len(present) > MAX_LETTERS:
            raise LogError(f"{len(present):,} distinct steps are no finite alphabet; bin the observations")
        shape = (alphabet.n_actions, alphabet.n_observations, len(alphabet.rewards))
        letters = np.stack(np.unravel_index(present, shape), axis=1).astype(np.int32)
        follows = np.zeros(len(letters), dtype=bool)
        for row in word[1:]:
            follows[row] = True
        return cls(alphabet, letters, word, follows, weight, declared)

    @classmethod
    def beside(cls, parts: Sequence[Episodes]) -> Episodes:
        """Parts of one log one after the other."""
        weighted = parts[0].weight is not None
        return replace(
            parts[0],
            word=np.concatenate([part.word for part in parts], axis=1),
            weight=np.concatenate([part.weight for part in parts if part.weight is not None]) if weighted else None,
        )

    @classmethod
    def joined(cls, parts: Sequence[Episodes]) -> Episodes:
        """The episodes of several logs one after the other, in one alphabet, padded up to the longest horizon."""
        alphabet = Alphabet.union([part.alphabet for part in parts])
        horizon = max(part.horizon for part in parts)
        steps = [(part if part.horizon == horizon else part.padded(horizon))._steps_in(alphabet) for part in parts]
        weight = None
        if any(part.weight is not None for part in parts):
            ones = (np.ones(part.n, np.int64) if part.weight is None else part.weight for part in parts)
            weight = np.concatenate(list(ones))
        action, observation, reward = (np.concatenate(columns, axis=1) for columns in zip(*steps, strict=True))
        declared = all(part.declared for part in parts)
        return cls.from_steps(alphabet, action, observation, reward, weight, declared)

    def _steps_in(self, alphabet: Alphabet) -> tuple[Codes, Codes, Codes]:
        """[H+1, N] the codes of action, observation and reward in an alphabet that has them all."""
        sizes = alphabet.n_actions, alphabet.n_observations, len(alphabet.rewards)
        columns = self.alphabet.codes_in(alphabet, self.letters)
        action, observation, reward = (
            column.astype(smallest_uint(size))[self.word] for column, size in zip(columns, sizes, strict=True)
        )
        return action, observation, reward

    def __repr__(self) -> str:
        return f"<Episodes: {self.total:,} of up to {self.horizon} decisions, {len(self.letters)} distinct steps>"

    @property
    def horizon(self) -> int:
        """H: the steps run from 0 to H."""
        return int(self.word.shape[0]) - 1

    @property
    def n(self) -> int:
        """Columns; with weights each stands for several episodes."""
        return int(self.word.shape[1])

    @property
    def total(self) -> int:
        """N, the number of episodes."""
        return self.n if self.weight is None else int(self.weight.sum())

    @property
    def nbytes(self) -> int:
        """Memory of the encoded log."""
        return int(self.word.nbytes + self.letters.nbytes + (0 if self.weight is None else self.weight.nbytes))

    @property
    def outline(self) -> Outline:
        """All but the episodes themselves."""
        return Outline(self.alphabet, self.letters, self.follows, self.declared, self.horizon, self.n, self.total)

    def symbols(self) -> tuple[Codes, Codes]:
        """The symbols `ao` in order, [Y, 2], and the symbol of each letter, [X]."""
        return self.outline.symbols()

    def columns(self, part: slice | Int64, since: int = 0) -> Episodes:
        """A shard: some of the episodes, with the same letters; if wanted without their first steps."""
        weight = None if self.weight is None else self.weight[part]
        return Episodes(self.alphabet, self.letters, self.word[since:, part], self.follows, weight, self.declared)

    def cut(self, horizon: int) -> Episodes:
        """The same episodes up to a shorter horizon, where o_⊥ then stands."""
        if horizon < 1:
            raise SettingsError(f"a horizon of {horizon} leaves no decision; use 1 or more")
        action, observation, reward = (column[self.word[: horizon + 1]] for column in self.letters.T)
        observation[-1] = STOP
        return Episodes.from_steps(self.alphabet, action, observation, reward, self.weight, self.declared)

    def padded(self, horizon: int) -> Episodes:
        """The same episodes with padding up to a longer horizon."""
        missing = ((0, horizon - self.horizon), (0, 0))
        nothing = PAD, STOP, self.alphabet.rewards.index(0.0)
        action, observation, reward = (
            np.pad(column[self.word], missing, constant_values=code)
            for column, code in zip(self.letters.T, nothing, strict=True)
        )
        return Episodes.from_steps(self.alphabet, action, observation, reward, self.weight, self.declared)

    def divide(self, share: float, rng: np.random.Generator) -> tuple[Episodes, Episodes, Int64]:
        """The episodes without a random share of them, that share, and which columns it has, in order."""
        weight = np.ones(self.n, np.int64) if self.weight is None else self.weight
        size = share_of(share, self.total)
        if self.weight is None:
            taken = np.zeros(self.n, np.int64)
            taken[rng.permutation(self.n)[:size]] = 1
        else:  # a column may belong to both sides
            if self.total >= MOST_PERMUTED:
                raise LogError(f"episodes of weights that add up to {MOST_PERMUTED:,} or more cannot be divided")
            taken = rng.multivariate_hypergeometric(weight, size, method="marginals")
        rest, chosen = np.flatnonzero(weight > taken), np.flatnonzero(taken)
        sides = (self.columns(rest), weight - taken, rest), (self.columns(chosen), taken, chosen)
        if self.weight is None:
            return sides[0][0], sides[1][0], chosen
        kept, held = (replace(side, weight=weights[columns]) for side, weights, columns in sides)
        return kept, held, chosen

    def suffix_alphabet(self) -> tuple[Codes, Codes, Codes]:
        """Codes A, O, R of what can follow a history: what occurs in steps 1..H, or all that was declared."""
        return self.outline.suffix_alphabet()

    def mixed(self, first: int = 0, ordered: bool = False) -> NDArray[np.uint64]:
        """[2] what the episodes, of which `first` is the place of the first, add to a digest."""
        weight = np.zeros(0, np.int64) if self.weight is None else self.weight
        return np.asarray(sums.mix(self.word, weight, first, ordered))

    def digest(self, ordered: bool = False) -> str:
        """A hash of the content: equal for a CSV and a Parquet file with the same episodes, if wanted in one order."""
        return self.outline.digest(self.mixed(ordered=ordered))


def share_of(share: float, total: int) -> int:
    """How many of so many episodes; neither none nor all."""
    size = round(share * total) if 0 < share < 1 else 0
    if not 0 < size < total:
        raise SettingsError(f"a share of {share:g} of {total:,} episodes leaves one side empty; log more")
    return size


def _number_steps(alphabet: Alphabet, action: Codes, observation: Codes, reward: Codes) -> tuple[Int64, Codes]:
    """The distinct steps in lexicographic order, as mixed-radix numbers, and each step's place among them.

    By table while one fits, row by row so that only one row of wide numbers exists at a time; else by sorting.
    """

    def keys() -> Iterator[Int64]:
        for a, o, r in zip(action, observation, reward, strict=True):
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
    for t, key in enumerate(keys()):
        word[t] = code[key]
    return present, word


UNWEIGHTED = np.zeros(0, dtype=np.int64)  # how kernels are told that every episode counts once


UNWEIGHTED.setflags(write=False)  # as the weights of a log, or every kernel would be compiled for both


def weights(episodes: Episodes) -> Int64:
    """The weights as kernels take them."""
    return UNWEIGHTED if episodes.weight is None else episodes.weight
