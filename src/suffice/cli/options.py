"""Options that several commands share, and the objects that they describe: logs, domains, output files."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import CoercionError, Group, Parameter, Token

from suffice.cli.names import OUTPUT, EndsName, FileName, ObjectiveOption, PlannerName
from suffice.errors import LogError, LogProblemsError, SettingsError, closest
from suffice.files.atomic import link_target, refuse_special_file

if TYPE_CHECKING:
    from suffice.data.episodes import Episodes
    from suffice.data.loading import Reading
    from suffice.data.logs.reading import ReadOptions
    from suffice.data.report import ReadReport
    from suffice.data.streaming import MemoryBudget
    from suffice.domains.finite import FiniteModel
    from suffice.learning.adact_h import Settings
    from suffice.models.learn_options import LearnOptions
    from suffice.models.log_options import LogOptions as ReadingOptions
    from suffice.models.model import Model
    from suffice.planning.controller import Controller

Output = Annotated[FileName, Parameter(name=OUTPUT)]
# Groups of options in the help of a command, in this order.
COMMON = Group("Common options", sort_key=1)
RESULT = Group("Printed result", sort_key=2)
READING = Group("Reading the log", sort_key=3)
COMPARING = Group("Learning and tests", sort_key=4)
PLANNING = Group("Planning", sort_key=5)
RESOURCES = Group("Resources and seed", sort_key=6)
DOMAIN = Group("Domain", sort_key=7)
Flag = Annotated[bool, Parameter(negative=(), show_default=False)]


def _whole(kind: object, tokens: Sequence[Token]) -> int:
    """Read a whole number, also as 1e6. The converter of cyclopts would round 5.5 to 5."""
    del kind
    text = tokens[0].value
    try:
        scientific = "e" in text.lower() and float(text).is_integer()
        return int(float(text)) if scientific else int(text)
    except (ValueError, OverflowError):
        raise CoercionError(token=tokens[0], target_type=int) from None


Whole = Annotated[int, Parameter(converter=_whole)]
Repeated = Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)]
RepeatedCommon = Annotated[tuple[str, ...], Parameter(negative=(), show_default=False, group=COMMON)]
Common = Annotated[str | None, Parameter(group=COMMON)]


@Parameter(name="*", group=READING)
@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """Options for reading a log."""

    columns: str | None = None
    (
        "Which column is what, as ROLE=NAME,...: episode=patient,action=drug,reward=outcome. Roles: episode, step, "
        "action, reward, weight, terminated, truncated, done, propensity, group. Default: usual names."
    )
    observations: str | None = None
    (
        "Observation columns, separated by commas; auto: those that tell what follows, with cuts of numbers; all: all "
        "columns without a role. Default: auto, but all of a few columns that do no harm."
    )
    bin: Repeated = ()
    (
        "COLUMN=K: replace a numeric column by K bins with equally many rows. Also K:width for bins of equal width, or "
        "edges such as 0,10,50. May be repeated."
    )
    horizon: Whole | None = None
    "Cut longer episodes to this many decisions. Default: the longest episode."
    episode_column: str | None = None
    "Column of the episode id. Without one, an episode ends where it is terminated, truncated or done."
    step_column: str | None = None
    "Column that counts the decisions of an episode from 0 or 1. Without one, rows are in order."
    action_column: str | None = None
    "Column of the action taken."
    reward_column: str | None = None
    "Column of the reward received for it."
    weight_column: str | None = None
    "Column of the number of episodes that one row's episode stands for. Default: weight, if present."
    terminated_column: str | None = None
    "Column that is true where an episode ended by itself. Default: terminated or similar, if present."
    truncated_column: str | None = None
    "Column that is true where the logger cut an episode off. Default: truncated or similar, if present."
    done_column: str | None = None
    "Column that is true in the last row of every episode. Default: done, if present."
    propensity_column: str | None = None
    "Column of the probability with which the logged action was chosen. It is not an observation."
    group_column: str | None = None
    "Column of the person or site of an episode. Episodes of one group may depend on each other; see the documentation."
    ends: EndsName = "auto"
    (
        "How episodes end that are shorter than the horizon, if no column marks it: terminal (by themselves), censored "
        "(observation stopped), or auto, by whether anything predicts the end."
    )
    drop_truncated: Flag = False
    "Leave out episodes that were truncated before the horizon."
    max_values: Whole = 1000
    "Largest number of distinct values that a column may have."
    schema: FileName | None = None
    "JSON file that declares actions, observations and rewards. Write one with suffice check LOG --write-schema FILE."


@Parameter(name="*", group=READING)
@dataclass(frozen=True, kw_only=True)
class LearnLogOptions(LogOptions):
    """Options for reading a log, with those that most people need among the common options."""

    columns: Common = None
    observations: Common = None
    bin: RepeatedCommon = ()


DEFAULT_LOG = LogOptions()
DEFAULT_LEARN_LOG = LearnLogOptions()


@Parameter(name="*", group=PLANNING)
@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """Options for planning on a learned automaton."""

    planner: PlannerName = "safe"
    (
        "safe: keep the logged behaviour unless an action is better by a cautious estimate. pessimistic: best action "
        "by cautious estimates (VI-LCB). greedy: best action by plain estimates. subsampled: safe, on independent "
        "counts, which its proof needs. none: no plan."
    )
    strength: float | None = None
    "Factor c of the penalties of cautious estimates. Default: 0.01; the theory uses 16."
    split: Flag = False
    "Learn the automaton from one half of the log and the plan from the other, as in the paper."
    accuracy: float | None = None
    "Distance from the best policy that should be proved, with --split --planner subsampled."
    max_states: Whole = 1000
    "Upper bound on the number of states, among which --split divides delta."
    second_look: Annotated[bool | None, Parameter(negative="--no-second-look", group=COMPARING)] = None
    (
        "Refine layers: compare merged histories again along the automaton. Default: yes, unless a test, a level or "
        "--planner none is chosen."
    )
    strict: Annotated[Flag, Parameter(group=COMPARING)] = False
    "With --stationary: use only comparisons whose level is proved. Needs several times the episodes."
    objective: ObjectiveOption = "return"
    (
        "What is maximised and predicted. return: sum of an episode's rewards. discounted: with --discount. per-step: "
        "expected return divided by the expected number of decisions."
    )
    discount: float | None = None
    (
        "Factor per step of --objective discounted, such as 0.95. Otherwise, with --stationary: plan without a last "
        "step, with this factor per step, such as 0.99."
    )
    hold_out: float | None = None
    "Leave out this share of the episodes, such as 0.2, for suffice evaluate MODEL --log LOG."


DEFAULT_PLAN = PlanOptions()


@Parameter(name="*", group=DOMAIN)
@dataclass(frozen=True, kw_only=True)
class DomainChoice:
    """Options of a domain and of the behaviour policy in it."""

    set: Repeated = ()
    "OPTION=VALUE of the domain, such as length=5. May be repeated."
    observe_reward: Flag = False
    "Make the reward part of the observation."
    behaviour: FileName | None = None
    "Behaviour policy: a .csv table of action probabilities per observation, or a model whose plan is followed."
    epsilon: str | None = None
    "With a model as --behaviour: probability of a random action instead. Default: 0.1."


@Parameter(name="*", group=DOMAIN)
@dataclass(frozen=True, kw_only=True)
class DomainOptions(DomainChoice):
    """Options of a domain with a horizon that can be chosen."""

    horizon: Whole | None = None
    "Decisions per episode. Default: that of the domain."


DEFAULT_DOMAIN = DomainOptions()
DEFAULT_CHOICE = DomainChoice()


def names_domain(name: str) -> bool:
    """Return whether a name is that of a domain rather than a model file."""
    from suffice.domains.registry import DOMAINS

    return name.lower().endswith(".pomdp") or (not Path(name).exists() and name in DOMAINS)


def names_domain_or_model(name: str) -> bool:
    """Return whether a name is that of a domain and not a model file; refuse a misspelt domain."""
    from suffice.domains.registry import DOMAINS

    found = names_domain(name)
    if not found and not Path(name).suffix and not Path(name).exists() and (meant := closest(name, DOMAINS)):
        raise SettingsError(f"{name} is neither a file nor a domain. Did you mean the domain {meant}?")
    return found


def refuse_domain_options(options: DomainChoice) -> None:
    """Refuse options of a domain where none is named."""
    if words(options):
        raise SettingsError(f"{words(options)} applies to domains only, and none is given. Leave it out.")


def domain_of(
    name: str, options: DomainChoice, usual_horizon: int | None = None
) -> tuple[FiniteModel, Controller, int]:
    """Return the finite model of a domain or .POMDP file, its behaviour policy and the horizon."""
    from suffice.domains.registry import make

    chosen = [pair(text, "--set", "OPTION=VALUE") for text in options.set]
    if twice := [option for option, _ in chosen if sum(option == other for other, _ in chosen) > 1]:
        raise SettingsError(f"--set {twice[0]} is given twice. Leave one out.")
    domain = make(name, dict(chosen))
    usual_horizon = domain.default_horizon if usual_horizon is None else usual_horizon
    asked = options.horizon if isinstance(options, DomainOptions) else None
    horizon = usual_horizon if asked is None else asked
    model = domain.model(horizon)
    if options.observe_reward:
        model = model.observing_reward()
    return model, _behaviour(model, options, horizon), horizon


def _behaviour(model: FiniteModel, options: DomainChoice, horizon: int) -> Controller:
    from fractions import Fraction

    from suffice.models.model import Model
    from suffice.planning.controller import Controller
    from suffice.planning.planner import backward_induction
    from suffice.planning.policy_table import read_policy_table

    table = options.behaviour is not None and options.behaviour.lower().endswith(".csv")
    if options.epsilon is not None and (table or options.behaviour is None):
        raise SettingsError("--epsilon needs a model as --behaviour. Leave it out, or name a model file.")
    if options.behaviour is None:
        return model.usual
    if table:
        return read_policy_table(options.behaviour, model.alphabet, horizon)
    try:
        epsilon = Fraction(options.epsilon or "0.1")
    except (ValueError, ZeroDivisionError):
        epsilon = Fraction(-1)
    if not 0 <= epsilon <= 1:
        raise SettingsError(f"--epsilon {options.epsilon} is not a probability. Use a number from 0 to 1, such as 0.1.")
    loaded = Model.load(options.behaviour)
    rdp = loaded.planned
    plan = loaded.plan or backward_induction(rdp)
    if unknown := [a for a in rdp.alphabet.actions if a not in model.alphabet.actions]:
        known = ", ".join(map(str, model.alphabet.actions))
        raise SettingsError(
            f"{options.behaviour}: the domain has no action {unknown[0]} (it has {known}). "
            "Use a model that was learned in this domain."
        )
    return Controller.on_automaton(rdp, model.alphabet, plan.actions, epsilon)


def words(options: LogOptions | DomainChoice) -> str:
    """Return options as the user wrote them, for another command."""
    given = []
    for field in fields(options):
        value, option = getattr(options, field.name), f"--{field.name.replace('_', '-')}"
        if value != field.default:
            values = value if isinstance(value, tuple) else (value,)
            given += [option] if value is True else [word for v in values for word in (option, str(v))]
    return shlex.join(given)


def pair(text: str, option: str, form: str) -> tuple[str, str]:
    """Split NAME=VALUE into name and value."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise SettingsError(f"{option} {text}: the value is missing. Write {option} {form}.")
    return name, value


def environment_options(given: Sequence[str]) -> dict[str, Any]:
    """Return options of a Gymnasium environment: numbers, true, false and null as Python values, all else as text."""
    import json

    def value(text: str) -> Any:
        try:
            return json.loads(text.lower() if text in ("True", "False") else text)
        except json.JSONDecodeError:
            return text

    return {name: value(text) for name, text in (pair(text, "--set", "OPTION=VALUE") for text in given)}


def read(log: str, options: LogOptions, like: Model | None = None) -> tuple[Episodes, ReadReport]:
    """Read a log as the options say, and otherwise with the columns and bins of a model."""
    from suffice.data.whole_logs import read_whole

    return read_whole(log, _read_options(options, like))


def _read_options(options: LogOptions, like: Model | None) -> ReadOptions:
    from suffice.models.held_out import read_like

    how = reading_options(options).read_options(None if like is None else like.encoder)
    return how if like is None else read_like(how, like)


def read_logs(
    logs: Sequence[str],
    options: LogOptions,
    like: Model | None,
    room: MemoryBudget,
    learning: tuple[LearnOptions, Settings],
) -> Reading:
    """Read several logs as one, as the options say, and otherwise with the encoder and horizon of a model."""
    from suffice.data.logs.datasets import Dataset
    from suffice.models.column_choice import columns_chosen_by, read_for_learning

    given = reading_options(options)
    how = _read_options(options, like)
    horizon = options.horizon
    if like is not None and horizon is None:
        horizon = like.rdp.horizon
    try:
        chosen_by = columns_chosen_by(given, learning[0], like)
        how = replace(how, horizon=horizon, held_out=learning[0].hold_out)
        return read_for_learning(list(logs), how, room, learning[1], chosen_by, like)
    except LogError as error:
        if len(logs) > 1 and len({Path(log).parent for log in logs}) == 1 and all(map(Dataset.of, logs)):
            advice = "If these files are one log, pass their folder or a quoted pattern."
            if isinstance(error, LogProblemsError):
                raise LogProblemsError([*error.problems, advice]) from error
            raise LogError(f"{str(error).rstrip('.')}. {advice}") from error
        raise


def reading_options(options: LogOptions) -> ReadingOptions:
    """Return the options under the names of the Python parameters, which `models.log_options` turns into a request."""
    from suffice.data.encoding.columns import Columns
    from suffice.models.log_options import LogOptions as ReadingOptions

    named = Columns(
        episode=options.episode_column,
        step=options.step_column,
        action=options.action_column,
        reward=options.reward_column,
        weight=options.weight_column,
        terminated=options.terminated_column,
        truncated=options.truncated_column,
        done=options.done_column,
        propensity=options.propensity_column,
        group=options.group_column,
    ).over(Columns.parse(options.columns or ""))
    pairs = [pair(text, "--bin", "COLUMN=K") for text in options.bin]
    if twice := [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]:
        raise SettingsError(f"--bin {twice[0]} is given twice. Leave one out.")
    return ReadingOptions(
        columns=named,
        observations=options.observations,
        horizon=options.horizon,
        bins=dict(pairs) or None,
        drop_truncated=options.drop_truncated,
        ends=options.ends,
        max_values=options.max_values,
        schema=options.schema,
    )


def refuse_output(output: str, *inputs: str, option: str = "-o") -> None:
    """Refuse an output file that cannot be written or is an input, before any work is done."""
    path = link_target(Path(output))
    refuse_special_file(path)
    if not output or path.is_dir():
        problem = "this is a folder" if output else "the file name is empty"
        raise SettingsError(f"{option} {shlex.quote(output)}: {problem}. Name a file to write.")
    if not path.parent.is_dir():
        raise SettingsError(f"{option} {output}: there is no folder {path.parent}. Create it first.")
    if not os.access(path.parent, os.W_OK):
        raise SettingsError(f"{option} {output}: the folder {path.parent} is not writable. Choose another folder.")
    if any(Path(name).exists() and path.exists() and path.samefile(name) for name in inputs):
        raise SettingsError(f"{option} {output}: this would overwrite an input file. Choose another name.")


def refuse_seed(seed: int) -> None:
    """Refuse negative seeds, which NumPy does not accept."""
    if seed < 0:
        raise SettingsError(f"--seed {seed} is negative. Use 0 or more.")
