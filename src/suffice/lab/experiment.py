"""Experiments and their results as data, which files store."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import msgspec

from suffice.domains.domain import Domain
from suffice.domains.registry import make


class Experiment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run of a learner on simulated episodes of a domain."""

    domain: str
    options: tuple[tuple[str, str], ...] = ()  # names and values of the domain's options
    horizon: int
    episodes: int
    seed: int
    learner: str  # see `learners`
    delta: float = 1e-3  # level of each test; peers have their own settings

    @property
    def id(self) -> str:
        """Return a readable, unique name that depends only on the fields."""
        digest = hashlib.blake2b(msgspec.json.encode(self, order="deterministic"), digest_size=6).hexdigest()
        options = [f"{name}={value}" for name, value in self.options]
        words = [self.domain, *options, f"h{self.horizon}", f"n{self.episodes}", f"s{self.seed}", self.learner]
        return "_".join([*(word.replace("/", "-").replace(",", "") for word in words), digest])

    def made(self) -> Domain:
        """Return the domain with its options."""
        return make(self.domain, dict(self.options))


class Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Result of an experiment; values of policies are exact expectations, not samples."""

    experiment: Experiment
    stopped: str = ""  # why there is no other result
    limit: float = 0.0  # time limit of a stopped run in seconds; 0 if the run crashed
    states: int = 0  # as the learner counts them
    before_end: int | None = None  # states reached before an episode ends
    mean_return: float = 0.0
    return_per_step: float = 0.0
    success_rate: float = 0.0
    recovered: int | None = None  # true states that correspond one to one to a learned state
    splits: int | None = None  # superfluous states: of those that represent one true state, all but the first
    merges: int | None = None  # states that represent several true ones
    tests: int = 0  # made by the learner
    promised: float | None = None  # upper bound on the probability of a false split
    seconds: float = 0.0  # CPU time of learning alone
    bytes: int = 0  # peak memory of learning, including the log

    @property
    def failed(self) -> bool:
        """Whether the run crashed, instead of being stopped or refused; it is not stored and run again."""
        return bool(self.stopped) and not self.limit


Results = Mapping[str, Result]  # by id


def options_of(options: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Return options as sorted pairs of strings, so that equal options are equal data."""
    return tuple(sorted((name, str(value)) for name, value in options.items()))


def distinct(experiments: Iterable[Experiment]) -> list[Experiment]:
    """Remove duplicates, which occur when several studies use the same run."""
    return list({experiment.id: experiment for experiment in experiments}.values())
