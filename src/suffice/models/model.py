"""A learned model (an automaton, the plan on it, how they were obtained) and the file that stores it.

A file is a zip archive of a JSON header, a JSON list of witnesses and plain arrays: data only, no sentences, and
reading it executes nothing. Equal results give equal bytes. Time and memory differ from run to run although the result
does not, so they are not part of the model and are stored in a small file beside it.

Methods that need packages above this one (pictures, pages, domains) load them by reference when they are called
(docs/decisions/0023).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from msgspec import to_builtins

from suffice.automata.compare import Difference, compare
from suffice.automata.rdp import RDP
from suffice.data.alphabet import Alphabet
from suffice.data.encoding.binning import Bins
from suffice.data.encoding.columns import Columns
from suffice.data.encoding.encoder import Encoder
from suffice.data.ends import LogEnds
from suffice.data.episodes import Episodes
from suffice.data.log import Log
from suffice.data.logs.formats import all_suffixes
from suffice.data.memory_limit import require_memory
from suffice.errors import ModelError, SettingsError, parameter, require_path
from suffice.evidence.bounds import BOUNDS, Bound
from suffice.evidence.events import Witness
from suffice.files.archives import Kind, opened, write_archive
from suffice.learning.adact_h import Learned
from suffice.learning.borderline import BorderlineMerge, borderline_merges
from suffice.learning.merging import Decision, columns_of, decisions_of
from suffice.learning.stationary.learner import E_VALUES
from suffice.learning.windows import UNTESTED
from suffice.models import repr
from suffice.models.header import FORMAT, FORMAT_VERSION, Header, episodes_of, header_of
from suffice.models.log_warnings import LogWarning
from suffice.models.model_arrays import (
    RDP_ARRAYS,
    alphabet_of,
    arrays_of,
    arrays_of_plan,
    declared_arrays,
    plan_of,
    refuse_invalid_decisions,
)
from suffice.planning.memory_comparison import MemoryComparison
from suffice.planning.plan import Plan, fold_plan
from suffice.planning.policy import Policy
from suffice.planning.regorl import Solution
from suffice.planning.verdict import PlanVerdict
from suffice.registry import Lazy

if TYPE_CHECKING:  # for annotations only: these modules are above this one
    import matplotlib.figure

    from suffice.data.ends import Ends
    from suffice.data.loading import Data
    from suffice.domains.domain import Domain
    from suffice.domains.finite import FiniteModel
    from suffice.domains.model_evaluation import DomainEvaluation
    from suffice.models.log_evaluation import LogEvaluation
    from suffice.planning.controller import Controller

MODEL_FILE = Kind(
    "model file",
    FORMAT,
    FORMAT_VERSION,
    ModelError,
    remake="learn or copy it again",
    make=("make one with suffice.learn(log).save({path!r}).", "make one with: suffice learn LOG -o {path}"),
    renew="learn it again from its log",
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Model:
    """A learned automaton with its plan, as `learn` returns it and a model file stores it.

    `print(model)` begins with the advice: whether to follow the plan.

    Attributes
    ----------
    rdp : RDP
        The automaton.
    about : Header
        How the model was learned: log, settings, guarantee, plan.
    decisions : tuple of Decision
        Every merge and split of the learner, with the evidence for it.
    plan : Plan or None
        The plan, on the layers of the automaton (`planned`).
    warnings : tuple of LogWarning
        Problems of the log that make results misleading, as `learn` found them. They are not part
        of the file; the command line stores them in the notes beside it.

    Examples
    --------
    >>> model
    <Model: Follow the plan: 5.00 per episode expected, at least 4.58 with 95 % confidence; gain at least 2.07
      Logged return: 2.50 per episode on average, 95 % confidence interval 2.38 to 2.62
      Memory: 11 states in layers 1 1 2 2 2 2 1 (one per step), from 300 episodes of up to 5 steps
      Columns: row, column, guard
      Guarantee: no false split with probability at least 0.982 (18 tests), under assumptions (model.why())>
    >>> model.n_states, model.verdict.code
    (11, 'follow')
    >>> model.save("again.model")
    >>> suffice.load("again.model").about.log_hash == episodes.digest()
    True
    """

    rdp: RDP
    about: Header
    decisions: tuple[Decision, ...]
    plan: Plan | None = None
    warnings: tuple[LogWarning, ...] = ()

    def __repr__(self) -> str:
        return repr.text(self.rdp, self.about, [warning.text for warning in self.warnings])

    def _repr_html_(self) -> str:
        return repr.html(self.rdp, self.about, [warning.text for warning in self.warnings])

    # ------------------------------------------------------------ contents

    @property
    def headline(self) -> str:
        """Return the number of states and of episodes in one line."""
        return repr.headline(self.rdp, self.about)

    @property
    def n_states(self) -> int:
        """Return the number of states, of all layers together."""
        return self.rdp.n_states

    @property
    def verdict(self) -> PlanVerdict | None:
        """Return the advice on the plan, `verdict.code` "follow" or "keep"; None without a plan."""
        plan = self.about.plan
        return None if plan is None else PlanVerdict(plan.verdict, tuple(plan.verdict_reasons))

    @property
    def compared(self) -> MemoryComparison | None:
        """Return the comparison that chose the kind of memory; None if the kind was given."""
        found = self.about.compared
        return MemoryComparison.from_data(to_builtins(found)) if found else None

    @property
    def states(self) -> Any:
        """Return a table of the states, a pandas DataFrame or a list of dicts where pandas is not installed.

        The index is `state`, the number over all layers. Columns: `label` (layer and place, as in pictures), `layer`
        (None if stationary), `share` (of the episodes that visit it; if stationary, of all steps), `ended` (the episode
        is over there), `action` (of the plan; "as logged" where it keeps the logged behaviour), `value` (expected
        return from there on), `common` (what arrivals share), `varies` (what they do not share), `example` (a typical
        history).
        """
        return _load("models.model_data:state_table")(self)

    @property
    def encoder(self) -> Encoder:
        """Return the encoder that turned rows of the log into symbols, to read other logs in the same way."""
        return Encoder.from_data(self.about.encoder)

    @property
    def bins(self) -> dict[str, Bins]:
        """Return the bins of the encoder by column."""
        return self.encoder.bins

    @property
    def columns(self) -> Columns:
        """Return the names of columns by role."""
        return self.encoder.columns

    @property
    def own_plan(self) -> Plan | None:
        """Return the plan on the automaton's own states; if stationary, each has its most frequent action."""
        return None if self.plan is None else fold_plan(self.rdp, self.plan)

    @property
    def planned(self) -> RDP:
        """Return the automaton in layers, whose states the plan refers to."""
        return self.rdp.layered()

    @property
    def in_words(self) -> Model:
        """Return the same model with an alphabet in which bins read as the values they hold, for texts."""
        return replace(self, rdp=replace(self.rdp, alphabet=self.encoder.display(self.rdp.alphabet)))

    def why(self, examples: int = 3) -> str:
        """Return the evidence behind the model as text, as `suffice learn --why` prints it.

        Parameters
        ----------
        examples
            Largest number of events that distinguish states, and of undecided merges, to list.

        Returns
        -------
        str
            The full guarantee with its assumptions, the prediction for the plan, and examples of the evidence.

        Examples
        --------
        >>> print(model.why(examples=1).splitlines()[0].partition(". ")[0])
        No false split with probability at least 0.989 (11 tests), as long as no merge is wrong
        """
        return str(_load("models.details:details")(self, examples))

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the header as `suffice info --json` prints it.

        Returns
        -------
        dict
            Plain values. `seconds` and `bytes` are None: they are in the notes beside a model file.
        """
        return cast("dict[str, Any]", _load("models.model_data:model_dict")(self))

    def to_networkx(self) -> Any:
        """Return the automaton as a graph of networkx, which `pip install 'suffice[graphs]'` installs.

        Returns
        -------
        networkx.MultiDiGraph
            Nodes are state numbers with the columns of `states` as attributes. There is one edge per transition with
            `action`, `observation` (a dict by column, None at the end), `count`, `share` (of the visits of its source)
            and `reward` (mean).

        Raises
        ------
        MissingError
            If networkx is not installed.
        """
        return _load("models.model_data:to_networkx")(self)

    @classmethod
    def of(
        cls,
        result: Learned | Solution,
        episodes: Log,
        *,
        encoder: Encoder | None = None,
        held_out: float = 0.0,
        logs: Sequence[str] = (),
        compared: MemoryComparison | None = None,
        ends: LogEnds | None = None,
        bins: Mapping[str, Bins] | None = None,
        columns: Columns | None = None,
    ) -> Model:
        """Make a model of what `adact_h`, `learn_stationary` or `regorl` returned.

        Parameters
        ----------
        result
            The automaton, or the automaton with a plan.
        episodes
            The whole log, including held-out episodes.
        encoder
            The encoder of the log. Default: that of `episodes.report`; without a report, observations as
            they are.
        held_out
            Share of the episodes that was not learned from.
        logs
            Digest of each log if there are several, by which `evaluate` recognises them.
        compared
            Comparison that chose the kind of memory. Default: that of a `Solution`.
        ends
            How the episodes of the log end. Default: as `episodes.report` says.
        bins, columns
            Deprecated: parts of the encoder.

        Returns
        -------
        Model
            The model, ready to be saved.
        """
        solution = result if isinstance(result, Solution) else None
        learned = solution.learned if solution else result
        assert isinstance(learned, Learned)
        if isinstance(episodes, Episodes) and episodes.report is not None and bins is None and columns is None:
            encoder = encoder or episodes.report.encoder
        encoder = Encoder.given(encoder, episodes.alphabet.features, bins, columns)
        if solution is not None:
            compared = solution.compared
        if ends is None and isinstance(episodes, Episodes) and episodes.report is not None:
            ends = episodes.report.ends
        about = header_of(learned, episodes, solution, encoder, held_out, logs, compared, ends)
        return cls(learned.rdp, about, learned.decisions, solution.plan if solution else None)

    # ------------------------------------------------------------ acting and evaluating

    def policy(
        self, rng: np.random.Generator | None = None, *, deterministic: bool = False, strict: bool = False
    ) -> Policy:
        """Return the plan as a policy that acts step by step.

        Parameters
        ----------
        rng
            Draws actions where the plan keeps the logged behaviour. Default: a generator with a fixed seed.
        deterministic
            Take the most frequent logged action there instead of drawing one.
        strict
            Refuse observations that the model does not know. Default: the policy falls back, and warns once.

        Returns
        -------
        Policy
            A policy for the horizon of the model; a discounted plan has no horizon.
        """
        plan, rdp = self.required_plan(), self.planned
        if self.about.plan is not None and self.about.plan.endless is not None:
            plan, rdp = fold_plan(self.rdp, plan), self.rdp
        return Policy(
            rdp,
            plan,
            rng,
            deterministic=deterministic,
            encoder=self.encoder,
            states=self.rdp.n_states,
            strict=strict,
        )

    def required_plan(self) -> Plan:
        """Return the plan; a model without one is refused.

        Returns
        -------
        Plan
            The plan on the layers of the automaton.
        """
        if self.plan is None:
            raise ModelError(f"this model has no plan. Learn it again without {parameter('plan', False)}.")
        return self.plan

    def evaluate(
        self,
        data: Data,
        *,
        columns: Columns | Mapping[str, Any] | str | None = None,
        observations: Sequence[str] | str | None = None,
        horizon: int | None = None,
        drop_truncated: bool = False,
        ends: Ends = "auto",
        group_column: str | None = None,
        max_values: int = 1000,
        schema: Alphabet | str | Path | None = None,
    ) -> LogEvaluation:
        """Evaluate the plan off-policy by a log, as `suffice evaluate MODEL --log LOG` does.

        If the model was learned from this log with `hold_out`, its held-out episodes are found again and used. All
        episodes of another log are used. Only the same log as a whole is recognised: a part of it, or a log that
        shares episodes with it, is assumed to be new, and the result would be biased.

        Parameters
        ----------
        data
            What `read_log` accepts, `Episodes`, or a list of several of these. It is read with the columns and bins of
            the model.
        columns, observations, horizon, drop_truncated, max_values, schema, ends, group_column
            As in `learn`, where this log needs others.

        Returns
        -------
        LogEvaluation
            Estimates with confidence intervals and the coverage of the plan by the log; `print` shows them as text.

        Raises
        ------
        SufficeError
            If the model was learned from all of these episodes, or has no plan.

        Examples
        --------
        >>> suffice.learn("log.parquet", hold_out=0.2).evaluate("log.parquet").n_episodes
        60
        >>> model.evaluate("more.parquet")
        <LogEvaluation: plan 5 (4.875 to 5), log 2.633, by 300 episodes assumed to be new>
        """
        options = _load("models.log_options:LogOptions")(
            columns=columns,
            observations=observations,
            horizon=horizon,
            drop_truncated=drop_truncated,
            ends=ends,
            group_column=group_column,
            max_values=max_values,
            schema=schema,
        )
        return cast("LogEvaluation", _load("models.log_evaluation:evaluate_log")(self, data, options))

    def evaluate_in(
        self,
        domain: Domain | FiniteModel | str,
        *,
        episodes: int = 10_000,
        seed: int = 0,
        exact: bool = False,
        behaviour: Controller | None = None,
        options: Mapping[str, Any] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> DomainEvaluation:
        """Evaluate the plan by acting in a domain, as `suffice evaluate MODEL --domain DOMAIN` does.

        Parameters
        ----------
        domain
            A domain, a finite model, the name of a domain, a `.POMDP` file, or the id of a Gymnasium environment.
        episodes
            Number of episodes to play.
        seed
            Seed of the episodes.
        exact
            Compute expected values instead of playing; not for Gymnasium environments.
        behaviour
            Policy to compare with. Default: the domain's usual behaviour.
        options
            Options of a domain or environment that is given by name, such as `{"length": 8}`.
        progress
            Called with the episodes played and their number.

        Returns
        -------
        DomainEvaluation
            Mean return, return per step and success rate of the plan and of the behaviour, and the optimum;
            `print` shows them as text.

        Examples
        --------
        >>> model.evaluate_in("corridor", exact=True).policy.mean_return.value
        5.0
        """
        return cast(
            "DomainEvaluation",
            _load("domains.model_evaluation:evaluate_in")(
                self,
                domain,
                episodes=episodes,
                seed=seed,
                exact=exact,
                behaviour=behaviour,
                options=options,
                progress=progress,
            ),
        )

    def compare(self, other: Model | RDP | Domain | FiniteModel | str) -> Difference | None:
        """Compare the automaton with that of another model, or with the exact one of a domain.

        Parameters
        ----------
        other
            A model, an automaton, a domain or finite model, or the name of a domain.

        Returns
        -------
        Difference or None
            None if they are equal up to renaming of states, else the shortest history that distinguishes them.

        Examples
        --------
        >>> model.compare("corridor") is None
        True
        """
        rdp = other.rdp if isinstance(other, Model) else other
        if not isinstance(rdp, RDP):
            rdp = _load("domains.model_evaluation:automaton_like")(rdp, self.rdp, self.encoder)
        return compare(self.rdp, rdp)

    def undecided(self) -> list[BorderlineMerge]:
        """Return the merges that more episodes might undo, where the merged histories read differently.

        Returns
        -------
        list of BorderlineMerge
            The histories, the witness and the number of episodes that would probably decide.
        """
        return self._undecided(self._power())

    def undecided_if_known(self) -> list[BorderlineMerge] | None:
        """Return the undecided merges, or None where the bound of the model is not installed here.

        Returns
        -------
        list of BorderlineMerge or None
            As `undecided`.
        """
        try:
            power = self._power()
        except (ModelError, SettingsError):
            return None
        return self._undecided(power)

    def _undecided(self, power: int) -> list[BorderlineMerge]:
        found = borderline_merges(self.rdp, self.decisions, self.about.episodes, power)
        return [merge for merge in found if merge.histories[0] != merge.histories[1]]

    def _power(self) -> int:
        """Return how evidence grows with the number of episodes: see `Measure`."""
        by_e_values = self.about.second_look or self.about.bound == E_VALUES
        return 1 if by_e_values or self.about.bound == UNTESTED else self._bound().measure.power

    def _bound(self) -> Bound:
        """Return the test of this model, which may belong to a package that is not installed here."""
        if self.about.bound not in BOUNDS:
            raise ModelError(
                f"this model was learned with the bound {self.about.bound!r}, which is not installed. Install the "
                f"package that adds it (installed: {', '.join(BOUNDS)})."
            )
        return BOUNDS[self.about.bound]

    # ------------------------------------------------------------ pictures, pages and files

    def draw(
        self,
        path: str | Path | None = None,
        *,
        labels: bool | None = None,
        full: bool = False,
        title: str = "",
        most: int | None = None,
    ) -> matplotlib.figure.Figure | Path:
        """Draw the automaton, as `suffice draw` does.

        Parameters
        ----------
        path
            File to write: .svg, .png, .pdf, or .dot for Graphviz. Default: none.
        labels
            Whether arrows are labelled. Default: if there are not too many.
        full
            Write action, observation and reward on every arrow, needed or not.
        title
            Title of the picture.
        most
            Draw at most this many states and gather the others. Default: 60, or fewer if they have many arrows.

        Returns
        -------
        matplotlib.figure.Figure or pathlib.Path
            The picture, or the file that was written.

        Examples
        --------
        >>> model.draw("corridor.dot").name
        'corridor.dot'
        """
        return cast(
            "matplotlib.figure.Figure | Path",
            _load("view.model_views:draw")(self, path, labels=labels, full=full, title=title, most=most),
        )

    def draw_columns(self, path: str | Path | None = None) -> matplotlib.figure.Figure | Path:
        """Draw the evidence for each column of the log, as `suffice draw --columns` does.

        Parameters
        ----------
        path
            File to write: .svg, .png or .pdf. Default: none.

        Returns
        -------
        matplotlib.figure.Figure or pathlib.Path
            The picture, or the file that was written.

        Raises
        ------
        SufficeError
            If the columns of the model were not chosen by the data.

        Examples
        --------
        >>> suffice.learn("log.parquet", observations="auto").draw_columns("columns.svg").name
        'columns.svg'
        """
        return cast("matplotlib.figure.Figure | Path", _load("view.model_views:draw_columns")(self, path))

    def explore(
        self,
        path: str | Path | None = None,
        *,
        log: Data | None = None,
        compare: Model | str | Path | None = None,
        episodes: int = 20,
        title: str = "",
        compare_title: str = "",
    ) -> str | Path:
        """Write a page to explore the model in a browser, as `suffice explore` does.

        Parameters
        ----------
        path
            HTML file to write. Default: none.
        log
            Data of which episodes can be replayed. Default: episodes drawn from the model's counts.
        compare
            Another model, or its file, to show beside this one.
        episodes
            Number of episodes that can be replayed, at most.
        title, compare_title
            What the page calls the models; the command uses the names of their files.

        Returns
        -------
        str or pathlib.Path
            The page, or the file that was written.

        Examples
        --------
        >>> model.explore("corridor.html", log="log.parquet").name
        'corridor.html'
        """
        return cast(
            "str | Path",
            _load("view.model_views:explore")(
                self, path, log=log, compare=compare, episodes=episodes, title=title, compare_title=compare_title
            ),
        )

    def report(
        self,
        path: str | Path | None = None,
        *,
        log: Data | None = None,
        title: str = "",
        format: Literal["html", "json"] = "html",
    ) -> str | Path:
        """Write a page about the model for colleagues, as `suffice report` does.

        Parameters
        ----------
        path
            File to write. Default: none.
        log
            Data to evaluate the plan by, as in `evaluate`.
        title
            Heading of the page; the command uses the name of the model file.
        format
            "html" for the page, "json" for its content.

        Returns
        -------
        str or pathlib.Path
            The page or its content, or the file that was written.

        Examples
        --------
        >>> model.report("corridor-report.html", log="more.parquet").name
        'corridor-report.html'
        """
        return cast("str | Path", _load("view.model_views:report")(self, path, log=log, title=title, format=format))

    def export(
        self, path: str | Path | None = None, *, format: Literal["json", "dot", "pomdp"] | None = None
    ) -> str | Path:
        """Write the model for other programs, as `suffice export` does.

        Parameters
        ----------
        path
            File to write. Default: none.
        format
            "json" (every transition with counts and rewards), "dot" (Graphviz) or "pomdp" (Cassandra's format).
            Default: as the suffix of the path says.

        Returns
        -------
        str or pathlib.Path
            The text, or the file that was written.

        Examples
        --------
        >>> model.export(format="json")[:15]
        '{\\n "horizon": 5'
        >>> model.export("corridor.POMDP").name
        'corridor.POMDP'
        """
        return cast("str | Path", _load("view.model_views:export")(self, path, format))

    def save(self, path: str | Path) -> None:
        """Write the model file; an interrupted write leaves no partial file.

        Parameters
        ----------
        path
            File to write. An existing log is not replaced.
        """
        path = require_path(path)
        _refuse_log_file(path)
        arrays = arrays_of(self.rdp) | columns_of(self.decisions) | arrays_of_plan(self.plan)
        write_archive(path, self.about, {"witnesses": [d.placement.witness for d in self.decisions]}, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Model:
        """Read a model file; a damaged file is refused with a `ModelError`.

        Parameters
        ----------
        path
            File that `save` or `suffice learn` wrote.

        Returns
        -------
        Model
            The model.
        """
        with opened(require_path(path), MODEL_FILE) as archive:
            about = archive.header(Header)
            witnesses = archive.text("witnesses", list[Witness | None])
            require_memory(archive.nbytes, "the model")
            arrays = archive.arrays(declared_arrays(about, len(witnesses), cut="cut.npy" in archive.members))
            if about.layers != arrays["layers"].tolist():
                raise ValueError("its header does not match its automaton")
            letters, symbols, layers, tau, counts = (arrays[name] for name in RDP_ARRAYS)
            rdp = RDP(alphabet_of(about), letters, symbols, layers, tau, counts, about.steps, arrays.get("cut"))
            if about.episodes != episodes_of(rdp):
                raise ValueError("its header has another number of episodes than its automaton")
            refuse_invalid_decisions(arrays, rdp)
            return cls(rdp, about, decisions_of(arrays, witnesses, rdp.alphabet), plan_of(about, arrays, rdp))


def load(path: str | Path) -> Model:
    """Read a model from its file.

    Parameters
    ----------
    path
        File that `Model.save` or `suffice learn` wrote.

    Returns
    -------
    Model
        The model.

    Raises
    ------
    ModelError
        If the file is damaged, or not a model file. Reading a file never executes code from it.

    Examples
    --------
    >>> suffice.load("log.model").headline
    '11 states in layers 1 1 2 2 2 2 1, from 300 episodes'
    """
    return Model.load(path)


def _refuse_log_file(path: Path) -> None:
    """Refuse to replace an existing log, which a model must never overwrite."""
    if path.name.lower().endswith(all_suffixes()) and path.is_file() and path.stat().st_size:
        raise SettingsError(f"{path}: the existing file is a log. Choose another name, such as {path.stem}.model.")


def _load(reference: str) -> Any:
    """Import a function by reference, from a module that itself imports this one."""
    return Lazy(f"suffice.{reference}").load()
