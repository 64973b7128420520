"""From words to objects: the options of the command line and what they stand for."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter, Token

from suffice.cli.names import FileName, PlannerName
from suffice.errors import LogError, SettingsError, closest
from suffice.files.atomic import refuse_what_is_no_file

if TYPE_CHECKING:
    from suffice.data.encoding.encoder import EncoderRequest
    from suffice.data.episodes import Episodes
    from suffice.data.loading import Reading
    from suffice.data.logs.reading import ReadOptions
    from suffice.data.report import ReadReport
    from suffice.data.streaming import MemoryBudget
    from suffice.domains.finite import FiniteModel
    from suffice.models.model import Model
    from suffice.planning.controller import Controller

Output = Annotated[FileName, Parameter(name=["--output", "-o"])]
# Groups of options in the help of a command, what most people need first.
WHAT = Group("What to learn", sort_key=1)
READING = Group("How the log is read", sort_key=2)
COMPARING = Group("How futures are compared", sort_key=3)
PLANNING = Group("How to plan", sort_key=4)
RESOURCES = Group("Resources", sort_key=5)
DOMAIN = Group("The domain", sort_key=6)
Flag = Annotated[bool, Parameter(negative=(), show_default=False)]


def _whole(kind: object, tokens: Sequence[Token]) -> int:
    """cyclopts would round 5.5 to 5."""
    del kind
    text = tokens[0].value
    try:
        scientific = "e" in text.lower() and float(text).is_integer()  # 1e6 is a whole number too
        return int(float(text)) if scientific else int(text)
    except (ValueError, OverflowError):
        raise ValueError(f"{tokens[0].keyword} needs a whole number, not {tokens[0].value}") from None


Whole = Annotated[int, Parameter(converter=_whole)]


@Parameter(name="*", group=READING)
@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """How to read a log: one row per decision with episode, step, observations, action, reward."""

    horizon: Whole | None = None
    "Cut longer episodes to so many decisions. Default: the longest episode."
    columns: str | None = None
    (
        "Which column is what: ROLE=NAME, separated by commas, such as episode=patient,action=drug,reward=outcome. "
        "Roles are those of the options below, without -column. Default: usual names (episode, eps_id …)."
    )
    episode_column: str | None = None
    "Column of the episode's id. Without one, an episode ends where it is terminated, truncated or done."
    step_column: str | None = None
    "Column that counts the decisions of an episode, from 0 or 1. Without one, its rows are in order."
    action_column: str | None = None
    "Column of the action taken."
    reward_column: str | None = None
    "Column of the reward it brought."
    observations: str | None = None
    "Observation columns, separated by commas. Default: all others, in file order."
    weight_column: str | None = None
    "Column that says how many episodes one stands for. Default: 'weight' if there is one."
    terminated_column: str | None = None
    "Column that is true where an episode came to its end: one without was cut off. Default: 'terminated' and the like."
    truncated_column: str | None = None
    "Column that is true where the logger cut an episode off. Default: 'truncated' and the like."
    done_column: str | None = None
    "Column that is true on the last row of every episode, whichever way it ended. Default: 'done' if there is one."
    propensity_column: str | None = None
    "Column of the probability with which the logged action was chosen; it is no observation."
    drop_truncated: Flag = False
    "Leave out episodes that were truncated before the horizon."
    bin: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)] = ()
    (
        "COLUMN=K: replace a numeric column, or a reward, by K bins with equally many rows; K:width for bins of equal "
        "width, or edges such as 0,10,50. May be repeated."
    )
    max_values: Whole = 1000
    "Refuse columns with more distinct values."
    schema: FileName | None = None
    "JSON file that declares the alphabet; write one with: suffice check LOG --write-schema FILE."


DEFAULT_LOG = LogOptions()


@Parameter(name="*", group=PLANNING)
@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """How to plan on what was learned."""

    planner: PlannerName = "safe"
    (
        "safe: as the log did unless an action is better even by a cautious estimate. pessimistic: the best by "
        "cautious estimates (VI-LCB). greedy: the best by plain ones. subsampled: safe, on independent counts, as its "
        "proof needs."
    )
    strength: float | None = None
    "How cautious: the factor c of the penalties. Default: 0.01; the theory's is 16."
    split: Flag = False
    "One half of the log for the automaton, the other for the plan, as in the paper; --delta is then for all of it."
    accuracy: float | None = None
    "With --split --planner subsampled: how far from the best policy is good enough; the result says if it is proved."
    max_states: Whole = 1000
    "With --split: an upper bound on the number of states, among which the paper divides δ."
    second_look: Annotated[bool | None, Parameter(negative="--no-second-look", group=COMPARING)] = None
    "Compare merged histories again along the automaton. Default: yes, unless you choose a test, level, or no plan."
    strict: Annotated[Flag, Parameter(group=COMPARING)] = False
    "With --stationary: compare only in ways whose level is proved. Needs several times the episodes."
    discount: float | None = None
    "With --stationary: plan for ever, a reward being worth so much less with every step, such as 0.99."
    hold_out: Annotated[float | None, Parameter(group=WHAT)] = None
    "Leave a random share of the episodes out, such as 0.2, for: suffice evaluate MODEL --log LOG."


DEFAULT_PLAN = PlanOptions()


@Parameter(name="*", group=DOMAIN)
@dataclass(frozen=True, kw_only=True)
class DomainChoice:
    """Which domain exactly, and how episodes are logged in it."""

    set: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)] = ()
    "OPTION=VALUE of the domain, such as length=5. May be repeated."
    observe_reward: Flag = False
    "Make the reward part of what is observed."
    behaviour: FileName | None = None
    "Behaviour policy: a table (.csv) of action probabilities by observation, or a model, whose plan is followed."
    epsilon: str | None = None
    "With a model as behaviour: how often any action is taken instead. Default: 0.1."


@Parameter(name="*", group=DOMAIN)
@dataclass(frozen=True, kw_only=True)
class DomainOptions(DomainChoice):
    """The same where the horizon is free."""

    horizon: Whole | None = None
    "Decisions per episode. Default: the domain's."


DEFAULT_DOMAIN = DomainOptions()
DEFAULT_CHOICE = DomainChoice()


def names_domain(name: str) -> bool:
    """Whether a domain is meant rather than a model file."""
    from suffice.domains.registry import DOMAINS

    return name.lower().endswith(".pomdp") or (not Path(name).exists() and name in DOMAINS)


def names_domain_or_model(name: str) -> bool:
    """The same where anything else is a model file: a misspelt domain is none that `suffice learn` could make."""
    from suffice.domains.registry import DOMAINS

    found = names_domain(name)
    if not found and not Path(name).suffix and not Path(name).exists() and (meant := closest(name, DOMAINS)):
        raise SettingsError(f"{name} is neither a file nor a domain; did you mean the domain {meant}?")
    return found


def refuse_domain_options(options: DomainChoice) -> None:
    """Where no domain is named."""
    if words(options):
        raise SettingsError(f"{words(options)} is about a domain, and none is named; leave it out")


def domain_of(
    name: str, options: DomainChoice, usual_horizon: int | None = None
) -> tuple[FiniteModel, Controller, int]:
    """The model of a domain or a file, its behaviour policy and the horizon."""
    from suffice.domains.registry import make

    chosen = [pair(text, "--set", "OPTION=VALUE") for text in options.set]
    if twice := [option for option, _ in chosen if sum(option == other for other, _ in chosen) > 1]:
        raise SettingsError(f"--set {twice[0]} is given twice; leave one out")
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
        raise SettingsError("--epsilon goes with a model as --behaviour; leave it out, or give a model")
    if options.behaviour is None:
        return model.usual
    if table:
        return read_policy_table(options.behaviour, model.alphabet, horizon)
    try:
        epsilon = Fraction(options.epsilon or "0.1")
    except (ValueError, ZeroDivisionError):
        epsilon = Fraction(-1)
    if not 0 <= epsilon <= 1:
        raise SettingsError(f"--epsilon is a probability between 0 and 1, not {options.epsilon}; try 0.1")
    loaded = Model.load(options.behaviour)
    rdp = loaded.planned
    plan = loaded.plan or backward_induction(rdp)
    if unknown := [a for a in rdp.alphabet.actions if a not in model.alphabet.actions]:
        known = ", ".join(map(str, model.alphabet.actions))
        raise SettingsError(
            f"{options.behaviour}: its action {unknown[0]} is none of the domain's ({known}); give one of this domain"
        )
    return Controller.on_automaton(rdp, model.alphabet, plan.actions, epsilon)


def words(options: LogOptions | DomainChoice) -> str:
    """Options as they were given, to be given again."""
    given = []
    for field in fields(options):
        value, option = getattr(options, field.name), f"--{field.name.replace('_', '-')}"
        if value != field.default:
            values = value if isinstance(value, tuple) else (value,)
            given += [option] if value is True else [word for v in values for word in (option, str(v))]
    return shlex.join(given)


def pair(text: str, option: str, form: str) -> tuple[str, str]:
    """NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise SettingsError(f"{option} {text} should read {option} {form}")
    return name, value


def read(log: str, options: LogOptions, like: Model | None = None) -> tuple[Episodes, ReadReport]:
    """The episodes of a log, read as the options say, or else as that of a model was."""
    from suffice.data.logs.reading import read_as

    return read_as(log, _how(options, _request(options, like), options.horizon))


def read_logs(logs: Sequence[str], options: LogOptions, like: Model | None, room: MemoryBudget) -> Reading:
    """The episodes of several logs together, read as the options say, or with the encoder and horizon of a model."""
    from suffice.data.loading import read_source, read_together, room_for
    from suffice.data.logs.datasets import Dataset

    request, horizon = _request(options, like), options.horizon
    if like is not None and horizon is None:
        horizon = like.rdp.horizon

    def one(log: str, request: EncoderRequest, horizon: int | None) -> Reading:
        return read_source(log, _how(options, request, horizon), room_for(logs, room))

    try:
        return read_together(logs, one, request, horizon)
    except LogError as error:
        if len(logs) > 1 and len({Path(log).parent for log in logs}) == 1 and all(map(Dataset.of, logs)):
            raise LogError(f"{error} If these files are one log, name their folder, or quote the pattern.") from error
        raise


def _request(options: LogOptions, like: Model | None) -> EncoderRequest:
    """What the options say about columns; how they are encoded, unless a model knows."""
    from suffice.data.encoding.binning import parse_binning
    from suffice.data.encoding.columns import Columns
    from suffice.data.encoding.encoder import EncoderRequest

    named = Columns(
        episode=options.episode_column,
        step=options.step_column,
        action=options.action_column,
        reward=options.reward_column,
        observations=None if options.observations is None else tuple(options.observations.split(",")),
        weight=options.weight_column,
        terminated=options.terminated_column,
        truncated=options.truncated_column,
        done=options.done_column,
        propensity=options.propensity_column,
    ).over(Columns.parse(options.columns or ""))
    bins = {name: parse_binning(how) for name, how in (pair(text, "--bin", "COLUMN=K") for text in options.bin)}
    if like is None:
        return EncoderRequest.of(named, bins)
    if others := [name for name in bins if name not in like.bins]:
        raise SettingsError(f"--bin {others[0]}: the model has no bins of it; leave it out, or learn anew")
    return EncoderRequest.of(named, None, like.encoder)


def _how(options: LogOptions, request: EncoderRequest, horizon: int | None) -> ReadOptions:
    from suffice.data.logs.reading import ReadOptions
    from suffice.data.logs.schema import read_schema

    return ReadOptions(
        request,
        horizon=horizon,
        schema=None if options.schema is None else read_schema(options.schema),
        drop_truncated=options.drop_truncated,
        max_values=options.max_values,
    )


def refuse_output(output: str, *inputs: str) -> None:
    """Before the work, not after it."""
    path = Path(output)
    refuse_what_is_no_file(path)
    if not output or path.is_dir():
        raise SettingsError(f"-o {output!r} names no file; give a file to write")
    if not path.parent.is_dir():
        raise SettingsError(f"{output}: there is no folder {path.parent}; create it first")
    if not os.access(path.parent, os.W_OK):
        raise SettingsError(f"{output}: nothing can be written to {path.parent}; choose another folder")
    if any(Path(name).exists() and path.exists() and path.samefile(name) for name in inputs):
        raise SettingsError(f"{output}: this would replace the file that is read; give another name to -o")


def refuse_seed(seed: int) -> None:
    """Generators take no negative seeds."""
    if seed < 0:
        raise SettingsError(f"--seed must be 0 or more, not {seed}")
