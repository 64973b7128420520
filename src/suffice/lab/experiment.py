"""Experiments and their results, as data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import msgspec

from suffice.domains.domain import Domain
from suffice.domains.registry import make


class Experiment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run: a learner on simulated episodes of a domain."""

    domain: str
    options: tuple[tuple[str, str], ...] = ()  # of the domain, by name
    horizon: int
    episodes: int
    seed: int
    learner: str  # see `learners`
    delta: float = 1e-3  # of each test; peers have levels of their own

    @property
    def id(self) -> str:
        """A readable, unique name that depends only on the fields."""
        digest = hashlib.blake2b(msgspec.json.encode(self, order="deterministic"), digest_size=6).hexdigest()
        options = [f"{name}={value}" for name, value in self.options]
        words = [self.domain, *options, f"h{self.horizon}", f"n{self.episodes}", f"s{self.seed}", self.learner]
        return "_".join([*(word.replace("/", "-").replace(",", "") for word in words), digest])

    def made(self) -> Domain:
        """The domain."""
        return make(self.domain, dict(self.options))


class Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What came of an experiment. Values of policies are expected ones, not sampled."""

    experiment: Experiment
    stopped: str = ""  # why there is nothing else
    limit: float = 0.0  # seconds that a stopped run was given; 0 if it died by itself
    states: int = 0  # as the learner counts them
    before_end: int | None = None  # states that histories lead to before an episode ends, on the log's evidence
    mean_return: float = 0.0
    return_per_step: float = 0.0
    success_rate: float = 0.0
    recovered: int | None = None  # true states that one learned state stands for, and it for them alone
    splits: int | None = None  # states too many: of those that stand for one true state, all but the first of each
    merges: int | None = None  # states that stand for several true ones
    tests: int = 0  # made by the learner
    promised: float | None = None  # at most so probable is a false split
    seconds: float = 0.0  # of CPU time, for learning alone
    bytes: int = 0  # peak of memory while learning, the log included

    @property
    def failed(self) -> bool:
        """Whether it died by itself instead of being stopped or refused: worth another try, and nothing to keep."""
        return bool(self.stopped) and not self.limit


Results = Mapping[str, Result]  # by id


def options_of(options: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """In order, so that equal choices are equal data."""
    return tuple(sorted((name, str(value)) for name, value in options.items()))


def distinct(experiments: Iterable[Experiment]) -> list[Experiment]:
    """Each once, in the order of their first mention: several analyses may want the same run."""
    return list({experiment.id: experiment for experiment in experiments}.values())
