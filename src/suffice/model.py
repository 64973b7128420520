"""Model files: an automaton, how it came about, and nothing that could run.

A file is a zip archive of a JSON header, a JSON list of witnesses and plain arrays; reading it executes nothing. Equal
results give equal bytes. What differs from run to run although the result does not (seconds, memory) is no part of the
model and stands in a small file beside it.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any

import msgspec
import numpy as np

from suffice.bounds import BOUNDS
from suffice.doubts import Doubt, doubts
from suffice.episodes import Alphabet, Episodes, Value
from suffice.errors import SufficeError
from suffice.files import replacing
from suffice.kernels import FISHER
from suffice.languages import BEYOND
from suffice.learner import Decision, Learned, Report
from suffice.logs import Bins
from suffice.merging import Verdict
from suffice.planner import BEHAVE, Plan, fold_plan
from suffice.policy import Policy
from suffice.rdp import RDP
from suffice.solution import Solution, layered
from suffice.statistics import Statistic
from suffice.statistics.adaptive import ADAPTIVE, AdaptiveLanguages
from suffice.statistics.language_counts import LanguageCounts
from suffice.version import __version__

FORMAT = "suffice-rdp"
FORMAT_VERSION = 1
MAX_BYTES = 1 << 33  # of a model in memory: no more is unpacked
OUTCOMES, E_VALUES = "outcomes", "e-values"  # metric and bound of a stationary automaton
EXACT = 1 << 53  # larger integers do not survive JSON readers that use doubles


class Promised(msgspec.Struct, frozen=True):
    """`bounds.Promise`, written down."""

    sentence: str
    paper_sentence: str
    false_split: float
    tests: int
    detectable: float | None
    detectable_worst: float | None
    paper: float
    second_look_sentence: str = ""
    second_look_tests: int = 0
    second_look_false_split: float = 0.0


class NeededLanguages(msgspec.Struct, frozen=True):
    """`learner.Report`, written down."""

    sentence: str
    ladder: list[str]
    layers: list[str | None]  # [H+2] the largest family that each layer needed
    left_out: list[str]


class Planned(msgspec.Struct, frozen=True):
    """`solution.Solution`, written down."""

    planner: str
    strength: float
    delta: float
    value: float  # of the first state, if every merge is right
    error: float
    predicted: float  # see `predicting`
    predicted_error: float
    lower_bound: float  # of what is predicted
    behaviour_value: float  # the log's
    sentence: str
    split: bool
    proved_lower: float | None
    proved_upper: float | None
    discount: float | None = None  # of a plan on a cycle
    behaviour_error: float | None = None  # of the log's mean return; older files do not say


class About(msgspec.Struct, frozen=True):
    """Where a model comes from and what it promises."""

    format: str
    format_version: int
    version: str  # of suffice
    log_hash: str
    episodes: int
    metric: str
    family: str | None
    bound: str
    delta: float  # of one test; with a confidence the largest of all layers
    confidence: float | None
    cut: float
    seed: int | None
    layers: list[int]  # [H+2], or [1] of a stationary automaton
    candidates: list[int]  # as many
    languages: list[int | float]  # as many: |X|; a stationary automaton is learned without
    forced_share: float
    promise: Promised
    actions: list[Value]
    features: list[str]
    observations: list[list[Value]]
    rewards: list[float]
    bins: dict[str, list[float]] = {}  # of binned columns, the lower edges of bins 1, 2, …
    levels: dict[str, list[float]] = {}  # of binned rewards, what each bin stands for
    held_out: float = 0.0  # share of the log's episodes that was not learned from
    second_look: bool = False
    plan: Planned | None = None
    steps: int | None = None  # H of a stationary automaton
    needed: NeededLanguages | None = None  # with --family adaptive, or stationary


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A learned automaton as it is kept in a file."""

    rdp: RDP
    about: About
    decisions: tuple[Decision, ...]
    plan: Plan | None = None  # on the layers of the automaton

    @property
    def bins(self) -> dict[str, Bins]:
        """Of binned columns, to read other logs alike."""
        levels = self.about.levels
        return {name: Bins(tuple(e), tuple(levels.get(name, ()))) for name, e in self.about.bins.items()}

    @property
    def planned(self) -> RDP:
        """The automaton with its layers, which the plan is of."""
        return layered(self.rdp)

    @classmethod
    def of(
        cls,
        result: Learned | Solution,
        episodes: Episodes,
        *,
        bins: Mapping[str, Bins] | None = None,
        held_out: float = 0.0,
    ) -> Model:
        """A model of what was learned from a log; the log is given whole, also where part of it was held out."""
        solution = result if isinstance(result, Solution) else None
        learned = solution.learned if solution else result
        assert isinstance(learned, Learned)
        about = _about(learned, episodes, _planned(solution) if solution else None, bins or {}, held_out)
        return cls(learned.rdp, about, learned.decisions, solution.plan if solution else None)

    def policy(self, rng: np.random.Generator | None = None, *, deterministic: bool = False) -> Policy:
        """The plan as something that acts: for the horizon it was made for, or if discounted for ever."""
        plan, rdp = self.required_plan(), self.planned
        if self.about.plan is not None and self.about.plan.discount is not None:
            plan, rdp = fold_plan(self.rdp, plan), self.rdp
        return Policy(rdp, plan, rng, deterministic=deterministic, bins=self.about.bins)

    def required_plan(self) -> Plan:
        """The plan, or a word on how to make one."""
        if self.plan is None:
            raise SufficeError("this model has no plan: learn it again, without --planner none")
        return self.plan

    def undecided(self) -> list[Doubt]:
        """The merges that more episodes might undo."""
        evidence = self.about.second_look or self.rdp.stationary
        kind = FISHER if evidence else BOUNDS[self.about.bound].kind
        return doubts(self.rdp, self.decisions, self.about.episodes, kind)

    def save(self, path: str | Path) -> None:
        """Write the file, whole or not at all."""
        entries = {"header.json": msgspec.json.format(msgspec.json.encode(self.about), indent=1)}
        entries["witnesses.json"] = msgspec.json.encode([d.verdict.witness for d in self.decisions])
        for name, array in (_arrays_of(self.rdp) | _columns_of(self.decisions) | _arrays_of_plan(self.plan)).items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
            entries[f"{name}.npy"] = buffer.getvalue()
        with replacing(Path(path)) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in entries.items():
                archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)  # ZipInfo: no time of day

    @classmethod
    def load(cls, path: str | Path) -> Model:
        """Read a model file; a damaged or foreign one is refused in one line."""
        entries = _read_entries(Path(path))
        try:
            about = _read_header(entries)
            arrays = {name[:-4]: _array(data) for name, data in entries.items() if name.endswith(".npy")}
            alphabet = Alphabet(
                tuple(about.actions), tuple(about.features), tuple(map(tuple, about.observations)), tuple(about.rewards)
            )
            letters, symbols, layers, tau, counts = (arrays[name] for name in _RDP_ARRAYS)
            rdp = RDP(alphabet, letters, symbols, layers, tau, counts, about.steps, arrays.get("cut"))
            if about.layers != rdp.layers.tolist():
                raise ValueError("its header is of another automaton")
            witnesses = msgspec.json.decode(entries["witnesses.json"], type=list[str])
            return cls(rdp, about, _decisions_of(arrays, witnesses), _plan_of(about, arrays, rdp))
        except (SufficeError, ValueError, KeyError, TypeError, MemoryError, SyntaxError, TokenError) as error:
            reason = " ".join(str(error).split())
            raise SufficeError(f"{path}: this model file is damaged ({reason}); learn or copy it again") from error
        except _NewerError as error:
            raise SufficeError(f"{path}: {error}") from error


class _NewerError(Exception):
    """A file of a format that this version cannot know."""


def _planned(solution: Solution) -> Planned:
    plan, bracket = solution.plan, solution.bracket
    return Planned(
        planner=solution.planning.name,
        strength=solution.planning.strength,
        delta=solution.planning.delta,
        value=plan.value,
        error=plan.error,
        predicted=solution.prediction.value,
        predicted_error=solution.prediction.error,
        lower_bound=solution.lower_bound,
        behaviour_value=solution.behaviour_value,
        sentence=solution.sentence,
        split=solution.split is not None,
        proved_lower=bracket.lower if bracket else None,
        proved_upper=bracket.upper if bracket else None,
        discount=solution.planning.discount,
        behaviour_error=solution.behaviour.error if math.isfinite(solution.behaviour.error) else None,
    )


def _about(
    learned: Learned,
    episodes: Episodes,
    plan: Planned | None,
    bins: Mapping[str, Bins],
    held_out: float,
) -> About:
    settings, alphabet, promise = learned.settings, learned.rdp.alphabet, learned.promise
    statistic = settings.statistic
    return About(
        format=FORMAT,
        format_version=FORMAT_VERSION,
        version=__version__,
        log_hash=episodes.digest(),
        episodes=int(learned.rdp.counts[0].sum()),
        metric=OUTCOMES if learned.rdp.stationary else statistic.name,
        family=None if learned.rdp.stationary else _family_of(statistic),
        bound=E_VALUES if learned.rdp.stationary else settings.chosen_bound.name,
        delta=max(learned.deltas),
        confidence=settings.confidence,
        cut=settings.cut,
        seed=getattr(statistic, "seed", None),
        layers=learned.rdp.layers.tolist(),
        candidates=list(learned.candidates) if learned.rdp.stationary else [1, *learned.candidates],
        languages=[0, *(size if size < EXACT else float(min(size, BEYOND)) for size in learned.languages)],
        forced_share=learned.forced_share,
        promise=Promised(
            promise.sentence,
            promise.paper_sentence,
            promise.split,
            promise.tests,
            promise.detectable,
            promise.detectable_worst,
            promise.paper,
            promise.second_sentence,
            promise.second_tests,
            promise.second_split,
        ),
        actions=list(alphabet.actions),
        features=list(alphabet.features),
        observations=[list(o) for o in alphabet.observations],
        rewards=list(alphabet.rewards),
        bins={name: list(binned.edges) for name, binned in bins.items()},
        levels={name: list(binned.levels) for name, binned in bins.items() if binned.levels},
        held_out=held_out,
        second_look=learned.second_look,
        plan=plan,
        steps=learned.rdp.steps,
        needed=_needed(learned.needed, learned.rdp.stationary) if learned.needed else None,
    )


def _family_of(statistic: Statistic) -> str | None:
    if isinstance(statistic, AdaptiveLanguages):
        return ADAPTIVE
    return str(statistic.family) if isinstance(statistic, LanguageCounts) else None


def _needed(needed: Report, stationary: bool) -> NeededLanguages:
    ladder = [str(family) for family in needed.ladder]
    layers = [*([] if stationary else [None]), *(ladder[r] if r >= 0 else None for r in needed.layers)]
    return NeededLanguages(needed.sentence, ladder, layers, [str(family) for family in needed.left_out])


# ---------------------------------------------------------------- arrays in the archive

_RDP_ARRAYS = ("letters", "symbols", "layers", "tau", "counts")
_PLACES = ("layer", "state", "symbol", "n")
_VERDICT = ("target", "promoted", "forced", "nearest", "distance", "threshold", "detectable")


def _arrays_of(rdp: RDP) -> dict[str, Any]:
    cut = {} if rdp.cut is None else {"cut": rdp.cut}
    return {name: getattr(rdp, name) for name in _RDP_ARRAYS} | cut


_PLAN_ARRAYS = ("actions", "values", "lower")


def _arrays_of_plan(plan: Plan | None) -> dict[str, Any]:
    return {} if plan is None else {f"plan_{name}": getattr(plan, name) for name in _PLAN_ARRAYS}


def _plan_of(about: About, arrays: dict[str, Any], rdp: RDP) -> Plan | None:
    if about.plan is None:
        return None
    actions, values, lower = (arrays[f"plan_{name}"] for name in _PLAN_ARRAYS)
    if rdp.horizon > actions.size:  # before it is unrolled: a plan has a state for every step
        raise ValueError("its plan is of another automaton")
    rdp = layered(rdp)
    if any(array.shape != (rdp.n_states,) or array.dtype.kind not in "if" for array in (actions, values, lower)):
        raise ValueError("its plan is of another automaton")
    if not (np.isfinite(values).all() and np.isfinite(lower).all()):
        raise ValueError("its plan has values that are no numbers")
    if actions.dtype.kind != "i" or actions.min() < BEHAVE or actions.max() >= len(rdp.alphabet.actions):
        raise ValueError("its plan names actions that do not exist")
    return Plan(actions, values, lower, about.plan.error)


def _columns_of(decisions: tuple[Decision, ...]) -> dict[str, Any]:
    """Decisions as columns; −1 and NaN stand for none."""
    places = {f"decision_{name}": np.array([getattr(d, name) for d in decisions], np.int64) for name in _PLACES}
    for name in _VERDICT:
        kind, none = (np.float64, math.nan) if name in ("distance", "threshold", "detectable") else (np.int64, -1)
        values = [getattr(d.verdict, name) for d in decisions]
        places[f"decision_{name}"] = np.array([none if v is None else v for v in values], kind)
    return places


def _decisions_of(arrays: dict[str, Any], witnesses: list[str]) -> tuple[Decision, ...]:
    columns = {name: arrays[f"decision_{name}"].tolist() for name in (*_PLACES, *_VERDICT)} | {"witness": witnesses}
    if len({len(column) for column in columns.values()}) > 1:
        raise ValueError("its decisions are incomplete")
    if any(arrays[f"decision_{name}"].dtype.kind not in "iuf" for name in (*_PLACES, *_VERDICT)):
        raise ValueError("its decisions are no numbers")
    decisions = []
    for i in range(len(witnesses)):
        row = {name: column[i] for name, column in columns.items()}
        row |= {name: None for name in ("distance", "threshold", "detectable") if math.isnan(row[name])}
        row |= {"promoted": bool(row["promoted"]), "forced": bool(row["forced"])}
        row["nearest"] = None if row["nearest"] < 0 else row["nearest"]
        verdict = Verdict(**{name: row[name] for name in (*_VERDICT, "witness")})
        decisions.append(Decision(**{name: row[name] for name in _PLACES}, verdict=verdict))
    return tuple(decisions)


# ---------------------------------------------------------------- reading


def _read_entries(path: Path) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MAX_BYTES:
                raise SufficeError(f"{path}: this is no model file: it would unpack to over {MAX_BYTES >> 30} GiB")
            return {name: archive.read(name) for name in archive.namelist()}
    except FileNotFoundError:
        raise SufficeError(f"{path}: there is no such file; make one with: suffice learn LOG -o {path}") from None
    except OSError as error:
        raise SufficeError(f"{path}: the file cannot be read ({error.strerror or error})") from error
    except SufficeError:
        raise
    except Exception as error:  # a damaged archive sets off whatever its decompressors raise
        text = "this is no model file, or a damaged one"
        raise SufficeError(f"{path}: {text} ({error}); learn or copy it again") from error


class _Kind(msgspec.Struct):
    format: str
    format_version: int
    version: str = "?"


def _read_header(entries: dict[str, bytes]) -> About:
    kind = msgspec.json.decode(entries["header.json"], type=_Kind)
    if kind.format != FORMAT:
        raise ValueError(f"its format is {kind.format!r}, not {FORMAT!r}")
    if kind.format_version > FORMAT_VERSION:
        raise _NewerError(
            f"written by suffice {kind.version} in format {kind.format_version}, newer than the {FORMAT_VERSION} that "
            f"suffice {__version__} reads; upgrade suffice"
        )
    return msgspec.json.decode(entries["header.json"], type=About)


def _array(data: bytes) -> Any:
    return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
