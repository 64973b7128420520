"""Small logs, their layers and distances, for tests of the learner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.data.alphabet import DUMMY, PAD, STOP, Alphabet
from suffice.data.episodes import Episodes
from suffice.evidence.bounds import BOUNDS, PAPER, Bound
from suffice.evidence.language_counts import LanguageCounts
from suffice.evidence.languages import Family
from suffice.evidence.prefix_sketch import PrefixSketches
from suffice.evidence.prefix_tree import PrefixCounts
from suffice.evidence.statistic import CandidateLayer, Statistic
from suffice.kernels.comparing import DIFFERENCE, FISHER, LIKELIHOOD
from suffice.learning.adact_h import Learned, Settings

Letter = tuple[int, int, int]  # codes of action, observation, reward
Suffix = tuple[Letter, ...]

MEMORY = 1 << 30
DELTA = 0.1
KINDS = (DIFFERENCE, LIKELIHOOD, FISHER)
NEVER_DISTINCT = (np.full(1, np.inf), np.full(1, np.inf))  # thresholds, for a layer with one state


def languages(family: str) -> LanguageCounts:
    return LanguageCounts(Family.parse(family))


STATISTICS: dict[str, Statistic] = {
    "conjunctions": languages("conjunctions"),
    "1,1,1": languages("1,1,1"),
    "1,2,1": languages("1,2,1"),
    "1,1,2": languages("1,1,2"),
    "prefixes": PrefixCounts(),
    "sketch": PrefixSketches(),
}


def of_one_feature(observations: int, rewards: int = 2) -> Alphabet:
    return Alphabet((0, 1), ("f",), tuple((v,) for v in range(observations)), tuple(float(r) for r in range(rewards)))


def side_by_side(*samples: Sequence[Suffix]) -> Episodes:
    """Join samples of suffixes of one length into one log, whose first observation is the number of the sample."""
    steps = [[(DUMMY, i + 1, 0), *suffix] for i, sample in enumerate(samples) for suffix in sample]
    action, observation, reward = np.moveaxis(np.array(steps), (2, 1), (0, 1))
    return Episodes.from_steps(of_one_feature(max(len(samples), 2)), action, observation, reward)


def sample_of(episodes: Episodes) -> NDArray[np.uint32]:
    """Return the sample of each episode of `side_by_side`."""
    return (episodes.letters[episodes.word[0], 1] - 1).astype(np.uint32)


def layer_at(
    t: int,
    statistic: Statistic,
    episodes: Episodes,
    candidate: NDArray[np.uint32],
    *,
    bound: Bound = PAPER,
    cuts: Iterable[int] = (),
) -> CandidateLayer:
    """Return the layer of the suffixes from step t by candidate, counted in shards between the cuts."""
    plan, n = statistic.plan(episodes.outline, bound, MEMORY), int(candidate.max()) + 1
    parts = parts_at(t, plan, episodes, candidate, cuts)
    sizes = np.bincount(candidate, episodes.weight, minlength=n).astype(np.int64)
    return plan.layer(t, plan.combine(parts), sizes, DELTA)


def parts_at(
    t: int, plan: Any, episodes: Episodes, candidate: NDArray[np.uint32], cuts: Iterable[int] = ()
) -> list[Any]:
    n = int(candidate.max()) + 1
    shards = [slice(begin, end) for begin, end in pairwise([0, *sorted(cuts), episodes.n])]
    return [plan.shard(episodes.columns(shard)).count(t, candidate[shard], n) for shard in shards]


def distance(statistic: Statistic, episodes: Episodes, a: int, b: int, kind: int = DIFFERENCE) -> float:
    """Return the distance between two samples of `side_by_side`."""
    return distances(statistic, episodes, [a], b, kind)[0]


def distances(
    statistic: Statistic, episodes: Episodes, samples: Iterable[int], b: int, kind: int = DIFFERENCE
) -> list[float]:
    """Return the distances of several samples of `side_by_side` to one."""
    layer = layer_at(1, statistic, episodes, sample_of(episodes))
    layer.promote(b)
    return [layer.judge(kind, a, *NEVER_DISTINCT, DELTA).distance for a in samples]


def coins(rng: np.random.Generator, horizon: int, n: int, effect: float = 0.0) -> Episodes:
    """Simulate fair coins; with probability `effect` the first reward repeats the first observation."""
    action = rng.integers(2, size=(horizon + 1, n)) + 2
    observation = rng.integers(2, size=(horizon + 1, n)) + 1
    reward = rng.integers(2, size=(horizon + 1, n))
    reward[1] = np.where(rng.random(n) < effect, observation[0] - 1, reward[1])
    action[0], observation[-1], reward[0] = DUMMY, STOP, 0
    return Episodes.from_steps(of_one_feature(2), action, observation, reward)


def starts(counts: Sequence[int], rewards: Sequence[int]) -> Episodes:
    """Return episodes whose first observation is 0, 1, 2, … `counts` times each and determines the only reward."""
    start = np.repeat(np.arange(len(counts)), counts)
    zero = np.zeros_like(start)
    action, observation = np.stack([zero + DUMMY, zero + 2]), np.stack([start + 1, zero + STOP])
    alphabet = of_one_feature(len(counts), max(rewards) + 1)
    return Episodes.from_steps(alphabet, action, observation, np.stack([zero, np.array(rewards)[start]]))


def from_values(steps: Sequence[Sequence[tuple[Any, Any, float]]]) -> Episodes:
    """Make episodes from steps (action, features or None for o_⊥, reward).

    The action of step 0 is None, that of padding "pad".
    """
    flat = [step for episode in steps for step in episode]
    features = next(len(o) for _, o, _ in flat if o is not None)
    alphabet = Alphabet(
        tuple({a for a, _, _ in flat} - {None, "pad"}),
        tuple(f"f{i}" for i in range(features)),
        tuple({o for _, o, _ in flat} - {None}),
        tuple({r for _, _, r in flat}),
    )
    actions = {None: DUMMY, "pad": PAD} | {a: i + 2 for i, a in enumerate(alphabet.actions)}
    observations = {None: STOP} | {o: i + 1 for i, o in enumerate(alphabet.observations)}
    codes = [[(actions[a], observations[o], alphabet.rewards.index(r)) for a, o, r in e] for e in steps]
    return Episodes.from_steps(alphabet, *np.moveaxis(np.array(codes), (2, 1), (0, 1)))


def to_values(episodes: Episodes) -> list[list[tuple[Any, Any, float]]]:
    """Convert episodes to steps; the inverse of `from_values`."""
    known = episodes.alphabet
    letters = [(known.action(a), known.observation(o), known.rewards[r]) for a, o, r in episodes.letters.tolist()]
    return [[letters[x] for x in column] for column in episodes.word.T.tolist()]


def everything(learned: Learned) -> tuple[Any, ...]:
    """Return all results of a run, for exact comparison."""
    rdp = learned.rdp
    arrays = tuple((a.shape, a.dtype.str, a.tobytes()) for a in (rdp.layers, rdp.tau, rdp.counts))
    return arrays, learned.decisions, learned.promise, learned.deltas, learned.languages, learned.forced_share


def settings(statistic: str, bound: str, delta: float = DELTA, **options: Any) -> Settings:
    return Settings(STATISTICS[statistic], BOUNDS[bound], delta, **options)


def rising(n: int, horizon: int = 8) -> Episodes:
    """Simulate rewards whose probability grows with the step, which observations do not show."""
    rng = np.random.default_rng(1)
    action = rng.integers(2, size=(horizon + 1, n)) + 2
    observation = rng.integers(2, size=(horizon + 1, n)) + 1
    action[0], observation[-1] = DUMMY, STOP
    reward = np.zeros_like(action)
    for t in range(1, horizon + 1):
        reward[t] = rng.random(n) < t / (horizon + 1)
    return Episodes.from_steps(of_one_feature(2), action, observation, reward)
