"""`suffice.learn`: the same bytes as the command line, several sources, and learning again like an earlier model."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, replace
from inspect import signature
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas
import pytest

import suffice
from suffice import (
    BOUNDS,
    GREEDY,
    AdaptiveLanguages,
    Columns,
    Episodes,
    Family,
    LanguageCounts,
    LogError,
    Model,
    Planning,
    PrefixCounts,
    PrefixSketches,
    Settings,
    Split,
    SufficeError,
    make,
    read_log,
    simulate,
    write_log,
)
from suffice.cli.learning_commands import learn as learn_command
from suffice.cli.options import LogOptions, PlanOptions
from suffice.data.encoding.encoder import Encoder
from support.cli import ok
from support.cli import suffice as run
from support.samples import from_values, to_values

HORIZON = 5


def corridor(n: int, seed: int = 0) -> Episodes:
    return simulate(make("corridor").model(HORIZON), n, HORIZON, np.random.default_rng(seed))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("learning")
    for name, seed in (("old", 1), ("new", 2)):
        write_log(corridor(600, seed), folder / f"{name}.parquet")
    suffice.write_schema(corridor(600, 1).alphabet, folder / "schema.json")
    rng = np.random.default_rng(3)
    rows = ["episode,step,heat,action,reward"]
    for episode in range(400):
        for step in range(3):
            heat, action = rng.normal(10 * (episode % 2), 1), rng.integers(2)
            rows.append(f"{episode},{step},{heat:.3f},{'ab'[action]},{int(action == episode % 2)}")
    (folder / "heat.csv").write_text("\n".join(rows))
    return folder


def saved(model: Model) -> bytes:
    model.save("python.model")
    return Path("python.model").read_bytes()


def by_command(*words: str) -> bytes:
    ok("learn", *words, "-o", "command.model")
    return Path("command.model").read_bytes()


# The same model as from the command line


WAYS: list[tuple[str, dict[str, Any]]] = [
    ("", {}),
    ("--delta 0.001", {"delta": 0.001}),
    ("--confidence 0.9", {"confidence": 0.9}),
    ("--stationary", {"stationary": True}),
    ("--stationary auto --seed 4", {"stationary": "auto", "seed": 4}),
    ("--stationary yes --discount 0.9", {"stationary": "yes", "discount": 0.9}),
    ("--stationary --discount 0.9", {"stationary": True, "planning": Planning(discount=0.9)}),
    ("--stationary --strict", {"stationary": True, "strict": True}),
    ("--stationary --strict --threads 1", {"stationary": True, "settings": Settings(strict=True)}),
    ("--planner none", {"plan": False}),
    ("--planner none --cut 0", {"planning": "none", "cut": 0.0}),
    ("--planner greedy", {"planning": "greedy"}),
    ("--planner greedy --threads 1", {"planning": GREEDY, "threads": 1}),
    ("--planner pessimistic --strength 0.5", {"planning": "pessimistic", "strength": 0.5}),
    ("--strength 0.5 --planner pessimistic", {"planning": Planning(0.5, safe=False)}),
    ("--planner subsampled --seed 2", {"planning": "subsampled", "seed": 2}),
    ("--split --max-states 30 --delta 0.1", {"split": True, "max_states": 30, "delta": 0.1}),
    ("--split --delta 0.1 --max-states 30", {"split": Split(0.1, None, 30)}),
    (
        "--split --planner subsampled --accuracy 2",
        {"split": True, "planning": "subsampled", "accuracy": 2.0},
    ),
    ("--hold-out 0.25", {"hold_out": 0.25}),
    ("--horizon 3", {"horizon": 3}),
    ("--no-second-look", {"second_look": False}),
    ("--delta 0.01 --second-look", {"delta": 0.01, "second_look": True}),
    ("--family 1,1,1", {"family": "1,1,1"}),
    ("--threads 1 --family 1,1,1", {"settings": Settings(LanguageCounts(Family(1, 1, 1)))}),
    ("--family adaptive", {"family": "adaptive"}),
    ("--family adaptive --threads 1", {"settings": Settings(AdaptiveLanguages())}),
    ("--metric prefixes --bound paper", {"metric": "prefixes", "bound": "paper"}),
    ("--bound paper --metric prefixes", {"settings": Settings(PrefixCounts(), BOUNDS["paper"])}),
    ("--metric sketch --seed 3", {"metric": "sketch", "seed": 3}),
    ("--seed 3 --metric sketch", {"settings": Settings(PrefixSketches(3)), "seed": 3}),
    ("--cut 0.05 --threads 1", {"cut": 0.05, "threads": 1}),
    ("--memory 2GB --metric languages", {"memory": "2GB", "metric": "languages"}),
    ("--observations row,guard --max-values 50", {"observations": ["row", "guard"], "max_values": 50}),
    ("--columns action=action", {"columns": {"action": "action"}}),
    ("--schema schema.json", {"schema": "schema.json"}),
    ("--engine local", {"engine": "local"}),
]


@pytest.mark.parametrize(("words", "chosen"), WAYS, ids=[words or "usual" for words, _ in WAYS])
def test_learn_gives_the_same_bytes_as_the_command_line(here: Path, words: str, chosen: dict[str, Any]) -> None:
    assert saved(suffice.learn("old.parquet", **chosen)) == by_command("old.parquet", *words.split())


@pytest.mark.parametrize(("words", "chosen"), WAYS, ids=[words or "usual" for words, _ in WAYS])
def test_learn_like_a_model_repeats_it(here: Path, words: str, chosen: dict[str, Any]) -> None:
    """The held-out share, the seed (except of a sketch) and a schema are not stored, so they are given again."""
    first = suffice.learn("old.parquet", **chosen)
    again = {name: chosen[name] for name in ("hold_out", "seed", "schema") if name in chosen}
    assert saved(suffice.learn("old.parquet", like=first, **again)) == saved(first)


def test_learn_accepts_bins_and_columns_like_the_command_line(here: Path) -> None:
    model = suffice.learn("heat.csv", bins={"heat": 2}, columns=Columns(observations=("heat",)))
    assert saved(model) == by_command("heat.csv", "--bin", "heat=2", "--observations", "heat")
    assert list(model.bins) == ["heat"]
    again = suffice.learn("heat.csv", like=model)
    assert saved(again) == saved(model)


def test_learn_from_episodes_equals_learning_from_their_file(here: Path) -> None:
    episodes = read_log("old.parquet")
    assert saved(suffice.learn(episodes)) == saved(suffice.learn("old.parquet"))
    cut = read_log("old.parquet", horizon=3)
    assert suffice.learn(episodes, horizon=3).about.layers == suffice.learn(cut).about.layers


@pytest.mark.parametrize("stationary", [False, True, "auto"])
def test_learn_reports_progress_from_nothing_to_all(stationary: Any) -> None:
    shares: list[float] = []
    suffice.learn(corridor(300), stationary=stationary, progress=lambda done, of: shares.append(done / of))
    assert shares == sorted(shares) and shares[-1] == 1


# Several sources


def test_learn_from_several_logs_equals_learning_from_their_union(here: Path) -> None:
    old, new = (read_log(f"{name}.parquet") for name in ("old", "new"))
    joined = Episodes.joined([old, new])
    assert to_values(joined) == to_values(old) + to_values(new)
    write_log(joined, "all.parquet")
    together = suffice.learn(["old.parquet", Path("new.parquet")])
    assert len(together.about.log_hashes or ()) == 2
    without = replace(together, about=msgspec.structs.replace(together.about, log_hashes=msgspec.UNSET))
    assert saved(without) == saved(suffice.learn("all.parquet"))
    expected = saved(together)
    assert saved(suffice.learn((old, "new.parquet"))) == expected
    assert by_command("old.parquet", "new.parquet") == expected
    assert saved(suffice.learn(["old.parquet"])) == saved(suffice.learn("old.parquet"))


def test_learn_from_tables_equals_learning_from_their_files(here: Path) -> None:
    """A list may be a single source or several sources."""
    tables = [pandas.read_parquet(f"{name}.parquet") for name in ("old", "new")]
    assert saved(suffice.learn(tables[0])) == saved(suffice.learn("old.parquet"))
    expected = saved(suffice.learn(["old.parquet", "new.parquet"]))
    assert saved(suffice.learn(tables)) == saved(suffice.learn((tables[0], "new.parquet"))) == expected
    steps = [[(0, "a", 0.0), (1, "b", 1.0)], [(1, "a", 1.0)]] * 20
    assert suffice.learn(steps).about.episodes == 40  # one source, not 40
    assert suffice.learn([pandas.DataFrame(t.to_dict("list")) for t in tables], like=suffice.learn(tables)).plan


def test_joined_episodes_share_alphabet_and_horizon_and_keep_weights() -> None:
    short = from_values([[(None, (1,), 0.0), ("b", None, 2.0)]])
    long = from_values([[(None, (3,), 0.0), ("a", (1,), 0.5), ("b", None, 0.0)]])
    weighted = Episodes.from_steps(long.alphabet, *(c[long.word] for c in long.letters.T), np.array([7]))
    joined = Episodes.joined([short, weighted])
    assert joined.alphabet.actions == ("a", "b") and joined.alphabet.rewards == (0.0, 0.5, 2.0)
    assert joined.weight is not None and joined.weight.tolist() == [1, 7] and joined.total == 8
    assert to_values(joined)[0] == [*to_values(short)[0], ("pad", None, 0.0)]
    assert to_values(joined)[1] == to_values(long)[0]


def test_learn_refuses_logs_with_other_observations(here: Path) -> None:
    Path("other.csv").write_text("episode,step,heat,action,reward\n0,0,1,0,0\n")
    with pytest.raises(LogError, match="row, column, guard, those of another are heat"):
        suffice.learn(["old.parquet", "other.csv"])
    with pytest.raises(LogError, match="the list of data is empty"):
        suffice.learn([])


def test_learn_bins_later_logs_as_the_first(here: Path) -> None:
    text = Path("heat.csv").read_text().splitlines()
    Path("hot.csv").write_text("\n".join([text[0], *(line for line in text[1:] if int(line.split(",")[0]) % 2)]))
    first, both = (suffice.learn(data, bins={"heat": 2}) for data in ("heat.csv", ["heat.csv", "hot.csv"]))
    assert both.bins == first.bins and both.about.episodes == 600


def test_learn_refuses_layers_of_a_truncated_log_beside_longer_episodes(here: Path) -> None:
    """The horizon of the log alone is where it was cut; with longer episodes, the cut would look like an end."""
    header = "episode,step,seen,action,reward,truncated"
    Path("short.csv").write_text(f"{header}\n0,0,1,a,0,false\n0,1,1,a,0,true\n")
    Path("long.csv").write_text("\n".join([header, *(f"0,{t},1,a,1,false" for t in range(3))]))
    with pytest.raises(SufficeError, match="cut off before the horizon 3, and layers need whole"):
        suffice.learn(["short.csv", "long.csv"], stationary=False)
    assert suffice.learn(["short.csv", "long.csv"], horizon=2).rdp.horizon == 2


def test_learn_command_adds_logs_to_an_earlier_model(here: Path) -> None:
    by_command("old.parquet", "--horizon", "4", "--delta", "0.01")
    Path("command.model").rename("earlier.model")
    added = by_command("old.parquet", "new.parquet", "--like", "earlier.model")
    earlier = suffice.load("earlier.model")
    assert added == saved(suffice.learn(["old.parquet", "new.parquet"], like=earlier))
    found = suffice.load("command.model")
    assert (found.about.delta, found.rdp.horizon, found.about.episodes) == (0.01, 4, 1200)
    ran = run("evaluate", "command.model", "--log", "new.parquet")
    assert ran.code == 2 and "learned from new.parquet among others" in ran.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("old.parquet --like m --delta 0.1", "--like takes test, level, automaton and plan from the earlier model"),
        ("old.parquet --like m --stationary", "--like takes test, level, automaton and plan from the earlier model"),
        (
            "old.parquet --like m --planner greedy",
            "--like takes test, level, automaton and plan from the earlier model",
        ),
        ("old.parquet --like m --bin row=2", "--bin row=2: the earlier model does not bin this column"),
        ("old.parquet --like old.parquet", "model file"),
        ("old.parquet new.parquet --hold-out 0.2", "--hold-out needs a single log"),
        ("old.parquet nothing.parquet", "nothing.parquet: there is no such file"),
    ],
)
def test_learn_command_refuses_options_that_cannot_be_combined(here: Path, words: str, message: str) -> None:
    suffice.learn("old.parquet").save("m")
    ran = run("learn", *words.split(), "-o", "b.model")
    assert ran.code == 2 and message in ran.err and not Path("b.model").exists()


def test_learn_command_refuses_to_overwrite_a_log(here: Path) -> None:
    before = Path("new.parquet").read_bytes()
    assert run("learn", "old.parquet", "new.parquet", "-o", "new.parquet").code == 2
    assert Path("new.parquet").read_bytes() == before


# Options of the command and parameters of the function


def test_learn_has_a_parameter_for_every_option_of_the_command() -> None:
    """Options without a counterpart concern files and output; columns by role are parts of `columns`."""
    elsewhere = {"log", "more", "output", "json", "why", "plan", "options"}
    named = {"planner": "planning", "bin": "bins"}
    options = [*signature(learn_command).parameters, *(f.name for f in fields(PlanOptions) + fields(LogOptions))]
    expected = {
        "columns" if option.endswith("_column") else named.get(option, option)
        for option in options
        if option not in elsewhere
    }
    assert expected <= set(signature(suffice.learn).parameters)


def test_learn_and_the_command_drop_the_same_truncated_episodes(here: Path) -> None:
    rows = ["patient,step,seen,drug,reward,truncated"]
    rows += [f"{e},{t},{t % 2},{'ab'[e % 2]},1,{int(e < 5 and t == 1)}" for e in range(40) for t in range(3 - (e < 5))]
    Path("cut.csv").write_text("\n".join(rows))
    words = "cut.csv --columns episode=patient --action-column drug --drop-truncated"
    chosen = suffice.learn("cut.csv", columns={"episode": "patient", "action": "drug"}, drop_truncated=True)
    assert saved(chosen) == by_command(*words.split()) and chosen.about.episodes == 35


def test_learn_accepts_bins_as_text(here: Path) -> None:
    words = saved(suffice.learn("heat.csv", bins={"heat": "4:width"}))
    assert words == saved(suffice.learn("heat.csv", bins={"heat": suffice.EqualWidth(4)}))
    assert words == by_command("heat.csv", "--bin", "heat=4:width")


# Types and imports


def test_package_ships_types_and_public_names() -> None:
    """`make check` checks the types themselves, also on tests/user_program.py."""
    assert (Path(suffice.__file__).parent / "py.typed").exists()
    assert set(suffice.__all__) <= set(dir(suffice)) and all(hasattr(suffice, name) for name in suffice.__all__)
    with pytest.raises(AttributeError, match="no attribute 'lern'"):
        _ = suffice.lern  # type: ignore[attr-defined]


def test_importing_suffice_loads_no_large_package() -> None:
    code = "import sys, suffice; print([m for m in ('numpy', 'numba', 'pyarrow', 'matplotlib') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_model_of_uses_the_encoder_of_the_report_unless_another_is_given(here: Path) -> None:
    episodes = read_log("old.parquet", bins={"column": 2})
    assert episodes.report is not None
    learned = suffice.adact_h(episodes)
    binned = suffice.Model.of(learned, episodes)
    assert binned.about == suffice.Model.of(learned, episodes, encoder=episodes.report.encoder).about
    assert list(binned.bins) == ["column"] and binned.bins == episodes.report.bins
    plain = Encoder.of_features(episodes.alphabet.features)
    assert not suffice.Model.of(learned, episodes, encoder=plain).bins
    assert not suffice.Model.of(learned, replace(episodes, report=None)).bins
