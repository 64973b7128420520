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

from suffice import portrait
from suffice.about import FORMAT, FORMAT_VERSION, About, about_of
from suffice.bounds import BOUNDS
from suffice.doubts import Doubt, doubts
from suffice.episodes import Alphabet, Episodes
from suffice.errors import ModelError, SufficeError
from suffice.files import name_beside, replacing
from suffice.kernels import FISHER
from suffice.learner import Decision, Learned
from suffice.logs import Bins, Columns
from suffice.merging import Verdict
from suffice.planner import BEHAVE, Plan, fold_plan
from suffice.policy import Policy
from suffice.rdp import RDP
from suffice.solution import Solution, layered
from suffice.version import __version__

MAX_BYTES = 1 << 33  # of a model in memory: no more is unpacked


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Model:
    """A learned automaton as it is kept in a file.

    >>> model
    <Model: 11 states in layers 1 1 2 2 2 2 1, from 300 episodes
      no false split: with probability at least 0.989 (11 tests)
      plan: safe, predicted 5 per episode, likely at least 4.894
      the log brought: 2.503>
    >>> model.save("again.model")
    >>> suffice.load("again.model").about.log_hash == episodes.digest()
    True
    """

    rdp: RDP
    about: About
    decisions: tuple[Decision, ...]
    plan: Plan | None = None  # on the layers of the automaton

    def __repr__(self) -> str:
        return portrait.text(self.rdp, self.about)

    def _repr_html_(self) -> str:
        return portrait.html(self.rdp, self.about)

    @property
    def headline(self) -> str:
        """One line: how many states, and from how many episodes."""
        return portrait.headline(self.rdp, self.about)

    @property
    def bins(self) -> dict[str, Bins]:
        """Of binned columns, to read other logs alike."""
        levels = self.about.levels
        return {name: Bins(tuple(e), tuple(levels.get(name, ()))) for name, e in self.about.bins.items()}

    @property
    def columns(self) -> Columns:
        """As its log had them, to read other logs alike."""
        return Columns(**self.about.columns, observations=tuple(self.about.features))

    @property
    def own_plan(self) -> Plan | None:
        """The plan on the automaton's own states: of a stationary one, what it does where it is most often in each."""
        return fold_plan(self.rdp, self.plan) if self.plan is not None and self.rdp.stationary else self.plan

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
        columns: Columns | None = None,
    ) -> Model:
        """A model of what was learned from a log; the log is given whole, also where part of it was held out."""
        solution = result if isinstance(result, Solution) else None
        learned = solution.learned if solution else result
        assert isinstance(learned, Learned)
        about = about_of(learned, episodes, solution, bins or {}, held_out, columns or Columns())
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
            raise ModelError("this model has no plan: learn it again, without --planner none or plan=False")
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
            raise ModelError(f"{path}: this model file is damaged ({reason}); learn or copy it again") from error
        except _NewerError as error:
            raise ModelError(f"{path}: {error}") from error


def load(path: str | Path) -> Model:
    """Read a model file: short for `Model.load`.

    >>> suffice.load("log.model").headline
    '11 states in layers 1 1 2 2 2 2 1, from 300 episodes'
    """
    return Model.load(path)


class _NewerError(Exception):
    """A file of a format that this version cannot know."""


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
                raise ModelError(f"{path}: this is no model file: it would unpack to over {MAX_BYTES >> 30} GiB")
            return {name: archive.read(name) for name in archive.namelist()}
    except FileNotFoundError:
        instead = f"{hint} If not," if (hint := name_beside(path)) else ";"
        raise ModelError(f"{path}: there is no such file{instead} make one with: suffice learn LOG -o {path}") from None
    except OSError as error:
        raise ModelError(f"{path}: the file cannot be read ({error.strerror or error})") from error
    except SufficeError:
        raise
    except Exception as error:  # a damaged archive sets off whatever its decompressors raise
        text = "this is no model file, or a damaged one"
        raise ModelError(f"{path}: {text} ({error}); learn or copy it again") from error


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
