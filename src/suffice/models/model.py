"""Model files: an automaton, how it came about, and nothing that could run.

A file is a zip archive of a JSON header, a JSON list of witnesses and plain arrays: data only, no sentences, and
reading it executes nothing. Equal results give equal bytes. What differs from run to run although the result does not
(seconds, memory) is not part of the model and stands in a small file beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from suffice.automata.rdp import BEHAVE, RDP
from suffice.data.alphabet import Alphabet
from suffice.data.encoding.binning import Bins
from suffice.data.encoding.columns import Columns
from suffice.data.encoding.encoder import Encoder
from suffice.data.log import Log
from suffice.errors import ModelError, SettingsError
from suffice.evidence.bounds import BOUNDS, Bound
from suffice.evidence.events import Witness
from suffice.files.archives import Kind, Shape, opened, write_archive
from suffice.learning.adact_h import Learned
from suffice.learning.borderline import BorderlineMerge, borderline_merges
from suffice.learning.merging import Decision, columns_of, decisions_of, shapes_of_decisions
from suffice.learning.stationary.learner import E_VALUES
from suffice.models import repr
from suffice.models.header import FORMAT, FORMAT_VERSION, Header, header_of
from suffice.planning.plan import Plan, fold_plan
from suffice.planning.policy import Policy
from suffice.planning.regorl import Solution

MODEL_FILE = Kind(
    "model file",
    FORMAT,
    FORMAT_VERSION,
    ModelError,
    remake="learn or copy it again",
    make="make one with: suffice learn LOG -o",
    renew="learn it again from its log",
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Model:
    """A learned automaton as it is kept in a file.

    >>> model
    <Model: 11 states in layers 1 1 2 2 2 2 1, from 300 episodes
      no false split: with probability at least 0.989 (11 tests)
      plan: safe, predicted 5 per episode, likely at least 4.894 if the automaton is right
      the log brought: 2.503>
    >>> model.save("again.model")
    >>> suffice.load("again.model").about.log_hash == episodes.digest()
    True
    """

    rdp: RDP
    about: Header
    decisions: tuple[Decision, ...]
    plan: Plan | None = None  # on the layers of the automaton

    def __repr__(self) -> str:
        return repr.text(self.rdp, self.about)

    def _repr_html_(self) -> str:
        return repr.html(self.rdp, self.about)

    @property
    def headline(self) -> str:
        """One line: how many states, and from how many episodes."""
        return repr.headline(self.rdp, self.about)

    @property
    def encoder(self) -> Encoder:
        """How rows of its log became symbols, to read other logs and observations alike."""
        return Encoder.from_data(self.about.encoder)

    @property
    def bins(self) -> dict[str, Bins]:
        """Those of the encoder."""
        return self.encoder.bins

    @property
    def columns(self) -> Columns:
        """Those of the encoder."""
        return self.encoder.columns

    @property
    def own_plan(self) -> Plan | None:
        """The plan on the automaton's own states: of a stationary one, what it does where it is most often in each."""
        return None if self.plan is None else fold_plan(self.rdp, self.plan)

    @property
    def planned(self) -> RDP:
        """The automaton with its layers, which the plan is of."""
        return self.rdp.layered()

    @property
    def in_words(self) -> Model:
        """The same for people: with an alphabet in which bins read as the values they hold."""
        return replace(self, rdp=replace(self.rdp, alphabet=self.encoder.display(self.rdp.alphabet)))

    @classmethod
    def of(
        cls,
        result: Learned | Solution,
        episodes: Log,
        *,
        encoder: Encoder | None = None,
        held_out: float = 0.0,
        bins: Mapping[str, Bins] | None = None,  # deprecated, as columns: parts of the encoder
        columns: Columns | None = None,
    ) -> Model:
        """A model of what was learned from a log; the log is given whole, also where part of it was held out."""
        solution = result if isinstance(result, Solution) else None
        learned = solution.learned if solution else result
        assert isinstance(learned, Learned)
        encoder = Encoder.given(encoder, episodes.alphabet.features, bins, columns)
        about = header_of(learned, episodes, solution, encoder, held_out)
        return cls(learned.rdp, about, learned.decisions, solution.plan if solution else None)

    def policy(self, rng: np.random.Generator | None = None, *, deterministic: bool = False) -> Policy:
        """The plan as something that acts: for the horizon it was made for, or if discounted for ever."""
        plan, rdp = self.required_plan(), self.planned
        if self.about.plan is not None and self.about.plan.discount is not None:
            plan, rdp = fold_plan(self.rdp, plan), self.rdp
        return Policy(rdp, plan, rng, deterministic=deterministic, encoder=self.encoder, states=self.rdp.n_states)

    def required_plan(self) -> Plan:
        """The plan, or a word on how to make one."""
        if self.plan is None:
            raise ModelError("this model has no plan: learn it again, without --planner none or plan=False")
        return self.plan

    def undecided(self) -> list[BorderlineMerge]:
        """The merges that more episodes might undo, where the histories that were merged read differently."""
        return self._undecided(self._power())

    def undecided_if_known(self) -> list[BorderlineMerge] | None:
        """The same; None where the bound that decided is not installed, or cannot be loaded."""
        try:
            power = self._power()
        except (ModelError, SettingsError):
            return None
        return self._undecided(power)

    def _undecided(self, power: int) -> list[BorderlineMerge]:
        found = borderline_merges(self.rdp, self.decisions, self.about.episodes, power)
        return [doubt for doubt in found if doubt.histories[0] != doubt.histories[1]]

    def _power(self) -> int:
        """How evidence grows with episodes: see `Measure`."""
        by_e_values = self.about.second_look or self.about.bound == E_VALUES
        return 1 if by_e_values else self._bound().measure.power

    def _bound(self) -> Bound:
        """The test that the states were told apart by, which may be of a package that is not installed here."""
        if self.about.bound not in BOUNDS:
            raise ModelError(
                f"this model was learned with the bound {self.about.bound!r}, which is not installed; install the "
                f"package that adds it (known: {', '.join(BOUNDS)})"
            )
        return BOUNDS[self.about.bound]

    def save(self, path: str | Path) -> None:
        """Write the file, whole or not at all."""
        arrays = _arrays_of(self.rdp) | columns_of(self.decisions) | _arrays_of_plan(self.plan)
        write_archive(Path(path), self.about, {"witnesses": [d.placement.witness for d in self.decisions]}, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Model:
        """Read a model file; a damaged or foreign one is refused in one line."""
        with opened(Path(path), MODEL_FILE) as archive:
            about = archive.header(Header)
            witnesses = archive.text("witnesses", list[Witness | None])
            arrays = archive.arrays(_declared(about, len(witnesses), cut="cut.npy" in archive.members))
            if about.layers != arrays["layers"].tolist():
                raise ValueError("its header is of another automaton")
            letters, symbols, layers, tau, counts = (arrays[name] for name in _RDP_ARRAYS)
            rdp = RDP(_alphabet_of(about), letters, symbols, layers, tau, counts, about.steps, arrays.get("cut"))
            _refuse_strange(arrays, rdp)
            return cls(rdp, about, decisions_of(arrays, witnesses, rdp.alphabet), _plan_of(about, arrays, rdp))


def load(path: str | Path) -> Model:
    """Read a model file: short for `Model.load`.

    >>> suffice.load("log.model").headline
    '11 states in layers 1 1 2 2 2 2 1, from 300 episodes'
    """
    return Model.load(path)


# ---------------------------------------------------------------- arrays in the archive

_RDP_ARRAYS = ("letters", "symbols", "layers", "tau", "counts")
_PLAN_ARRAYS = ("actions", "values", "lower")


def _declared(about: Header, decisions: int, cut: bool) -> dict[str, tuple[str, Shape]]:
    """The arrays that a header asks for; X letters, Y symbols and P states of the plan are for them to say."""
    states = sum(about.layers)
    shapes: dict[str, tuple[str, Shape]] = {
        "letters": ("iu", ("X", 3)),
        "symbols": ("iu", ("Y", 2)),
        "layers": ("i8", (len(about.layers),)),
        "tau": ("i4", (states, "Y")),
        "counts": ("i8", (states, "X")),
    }
    shapes |= {"cut": ("i8", (states, "X"))} if cut else {}
    shapes |= shapes_of_decisions(decisions)
    for name in _PLAN_ARRAYS if about.plan else ():
        shapes[f"plan_{name}"] = "i8" if name == "actions" else "f8", ("P",)
    return shapes


def _alphabet_of(about: Header) -> Alphabet:
    observations = tuple(map(tuple, about.observations))
    return Alphabet(tuple(about.actions), Encoder.from_data(about.encoder).features, observations, tuple(about.rewards))


def _refuse_strange(arrays: dict[str, Any], rdp: RDP) -> None:
    """Decisions on layers, states and symbols that the automaton does not have."""
    names = ("layer", "state", "symbol", "n", "target", "nearest")
    layer, state, symbol, n, target, nearest = (arrays[f"decision_{name}"] for name in names)
    before = rdp.layer_at(1)  # how many layers a transition leads on
    if np.any((layer < before) | (layer >= len(rdp.layers))):
        raise ValueError("its decisions are of other layers")
    here = rdp.layers[layer]
    wrong = (state < 0) | (state >= rdp.layers[layer - before]) | (symbol < 0) | (symbol >= len(rdp.symbols)) | (n < 0)
    if np.any(wrong | (target < 0) | (target >= here) | (nearest < -1) | (nearest >= here)):
        raise ValueError("its decisions are of another automaton")


def _arrays_of(rdp: RDP) -> dict[str, Any]:
    cut = {} if rdp.cut is None else {"cut": rdp.cut}
    return {name: getattr(rdp, name) for name in _RDP_ARRAYS} | cut


def _arrays_of_plan(plan: Plan | None) -> dict[str, Any]:
    return {} if plan is None else {f"plan_{name}": getattr(plan, name) for name in _PLAN_ARRAYS}


def _plan_of(about: Header, arrays: dict[str, Any], rdp: RDP) -> Plan | None:
    if about.plan is None:
        return None
    actions, values, lower = (arrays[f"plan_{name}"] for name in _PLAN_ARRAYS)
    rdp, _ = rdp.unroll(most=actions.size)
    if len(actions) != rdp.n_states:
        raise ValueError("its plan is of another automaton")
    if not (np.isfinite(values).all() and np.isfinite(lower).all()):
        raise ValueError("its plan has values that are no numbers")
    if actions.min() < BEHAVE or actions.max() >= len(rdp.alphabet.actions):
        raise ValueError("its plan names actions that do not exist")
    return Plan(actions, values, lower, about.plan.error)
