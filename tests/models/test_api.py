"""Learning from Python: in one call, as the command line does, from several sources, again, and as an estimator."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

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
    Learner,
    LogError,
    Model,
    ModelError,
    Planning,
    PrefixCounts,
    PrefixSketches,
    Settings,
    SettingsError,
    Split,
    SufficeError,
    make,
    read_log,
    simulate,
    write_log,
)
from suffice.models.choices import Choices
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


# As the command line


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
    ("--columns action=action --drop-truncated", {"columns": "action=action", "drop_truncated": True}),
    ("--schema schema.json", {"schema": "schema.json"}),
    ("--engine local", {"engine": "local"}),
]


@pytest.mark.parametrize(("words", "chosen"), WAYS, ids=[words or "usual" for words, _ in WAYS])
def test_python_and_the_command_line_give_the_same_bytes(here: Path, words: str, chosen: dict[str, Any]) -> None:
    assert saved(suffice.learn("old.parquet", **chosen)) == by_command("old.parquet", *words.split())


@pytest.mark.parametrize(("words", "chosen"), WAYS, ids=[words or "usual" for words, _ in WAYS])
def test_a_model_can_be_learned_again_as_it_was(here: Path, words: str, chosen: dict[str, Any]) -> None:
    """What was held out, and a seed but for a sketch's, are no part of how it was learned."""
    first = suffice.learn("old.parquet", **chosen)
    again = {name: chosen[name] for name in ("hold_out", "seed") if name in chosen}
    assert saved(suffice.learn("old.parquet", like=first, **again)) == saved(first)


def test_bins_and_columns_are_those_of_the_command_line(here: Path) -> None:
    model = suffice.learn("heat.csv", bins={"heat": 2}, columns=Columns(observations=("heat",)))
    assert saved(model) == by_command("heat.csv", "--bin", "heat=2", "--observations", "heat")
    assert list(model.bins) == ["heat"]
    again = suffice.learn("heat.csv", like=model)
    assert saved(again) == saved(model)


def test_episodes_are_learned_from_as_their_file_is(here: Path) -> None:
    episodes, _ = read_log("old.parquet")
    assert saved(suffice.learn(episodes)) == saved(suffice.learn("old.parquet"))
    cut, _ = read_log("old.parquet", horizon=3)
    assert suffice.learn(episodes, horizon=3).about.layers == suffice.learn(cut).about.layers


@pytest.mark.parametrize("stationary", [False, True, "auto"])
def test_progress_is_told_from_nothing_to_all(stationary: Any) -> None:
    told: list[float] = []
    suffice.learn(corridor(300), stationary=stationary, progress=lambda done, of: told.append(done / of))
    assert told == sorted(told) and told[-1] == 1


# Several sources


def test_several_logs_are_one(here: Path) -> None:
    old, new = (read_log(f"{name}.parquet")[0] for name in ("old", "new"))
    joined = Episodes.joined([old, new])
    assert to_values(joined) == to_values(old) + to_values(new)
    write_log(joined, "all.parquet")
    expected = saved(suffice.learn("all.parquet"))
    assert saved(suffice.learn(["old.parquet", Path("new.parquet")])) == expected
    assert saved(suffice.learn((old, "new.parquet"))) == expected
    assert by_command("old.parquet", "new.parquet") == expected
    assert saved(suffice.learn(["old.parquet"])) == saved(suffice.learn("old.parquet"))


def test_data_in_memory_is_learned_from_as_its_file_is(here: Path) -> None:
    """A list may be one source, or several."""
    tables = [pandas.read_parquet(f"{name}.parquet") for name in ("old", "new")]
    assert saved(suffice.learn(tables[0])) == saved(suffice.learn("old.parquet"))
    expected = saved(suffice.learn(["old.parquet", "new.parquet"]))
    assert saved(suffice.learn(tables)) == saved(suffice.learn((tables[0], "new.parquet"))) == expected
    steps = [[(0, "a", 0.0), (1, "b", 1.0)], [(1, "a", 1.0)]] * 20
    assert suffice.learn(steps).about.episodes == 40  # no 40 sources
    assert suffice.learn([pandas.DataFrame(t.to_dict("list")) for t in tables], like=suffice.learn(tables)).plan


def test_joined_episodes_have_one_alphabet_one_horizon_and_their_weights() -> None:
    short = from_values([[(None, (1,), 0.0), ("b", None, 2.0)]])
    long = from_values([[(None, (3,), 0.0), ("a", (1,), 0.5), ("b", None, 0.0)]])
    weighted = Episodes.from_steps(long.alphabet, *(c[long.word] for c in long.letters.T), np.array([7]))
    joined = Episodes.joined([short, weighted])
    assert joined.alphabet.actions == ("a", "b") and joined.alphabet.rewards == (0.0, 0.5, 2.0)
    assert joined.weight is not None and joined.weight.tolist() == [1, 7] and joined.total == 8
    assert to_values(joined)[0] == [*to_values(short)[0], ("pad", None, 0.0)]
    assert to_values(joined)[1] == to_values(long)[0]


def test_logs_of_other_observations_are_refused(here: Path) -> None:
    Path("other.csv").write_text("episode,step,heat,action,reward\n0,0,1,0,0\n")
    with pytest.raises(LogError, match="row, column, guard, of another heat"):
        suffice.learn(["old.parquet", "other.csv"])
    with pytest.raises(LogError, match="nothing to learn from"):
        suffice.learn([])


def test_later_logs_are_binned_as_the_first(here: Path) -> None:
    text = Path("heat.csv").read_text().splitlines()
    Path("hot.csv").write_text("\n".join([text[0], *(line for line in text[1:] if int(line.split(",")[0]) % 2)]))
    first, both = (suffice.learn(data, bins={"heat": 2}) for data in ("heat.csv", ["heat.csv", "hot.csv"]))
    assert both.bins == first.bins and both.about.episodes == 600


def test_a_log_that_was_cut_off_does_not_pass_for_one_that_ended(here: Path) -> None:
    """Alone, its horizon is where it was cut; beside longer episodes that would be an end."""
    header = "episode,step,seen,action,reward,truncated"
    Path("short.csv").write_text(f"{header}\n0,0,1,a,0,false\n0,1,1,a,0,true\n")
    Path("long.csv").write_text("\n".join([header, *(f"0,{t},1,a,1,false" for t in range(3))]))
    with pytest.raises(SufficeError, match="truncated before the horizon 3"):
        suffice.learn(["short.csv", "long.csv"])
    assert suffice.learn(["short.csv", "long.csv"], horizon=2).rdp.horizon == 2


def test_more_logs_can_be_added_on_the_command_line(here: Path) -> None:
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
    ("words", "said"),
    [
        ("old.parquet --like m --delta 0.1", "--like takes test, level and plan from the earlier model"),
        ("old.parquet --like m --stationary", "--like takes test, level and plan from the earlier model"),
        ("old.parquet --like m --planner greedy", "--like takes test, level and plan from the earlier model"),
        ("old.parquet --like m --bin row=2", "leave it out"),
        ("old.parquet --like old.parquet", "this is no model file"),
        ("old.parquet new.parquet --hold-out 0.2", "--hold-out is for one log"),
        ("old.parquet nothing.parquet", "nothing.parquet: there is no such file"),
    ],
)
def test_what_does_not_go_together_is_refused(here: Path, words: str, said: str) -> None:
    suffice.learn("old.parquet").save("m")
    ran = run("learn", *words.split(), "-o", "b.model")
    assert ran.code == 2 and said in ran.err and not Path("b.model").exists()


def test_the_output_may_be_none_of_the_logs(here: Path) -> None:
    before = Path("new.parquet").read_bytes()
    assert run("learn", "old.parquet", "new.parquet", "-o", "new.parquet").code == 2
    assert Path("new.parquet").read_bytes() == before


# Choices that cannot be right


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"delta": 0.1, "confidence": 0.9}, "give one of them"),
        ({"delta": 2.0}, "delta is a probability between 0 and 1, not 2"),
        ({"stationary": "sometimes"}, "True, False or 'auto', not 'sometimes'"),
        ({"stationary": True, "split": Split()}, "proved for layers"),
        ({"stationary": True, "planning": Planning(subsample=True)}, "proved for layers"),
        ({"stationary": True, "settings": Settings(PrefixCounts())}, "without a statistic or bound"),
        ({"planning": Planning(discount=0.9)}, "stationary=True"),
        ({"settings": Settings(strict=True)}, "stationary=True"),
        ({"plan": False, "split": Split()}, "a split is for a plan"),
        ({"split": Split(), "second_look": True}, "takes no second look"),
        ({"seed": -1}, "from 0 on, not -1"),
        ({"horizon": 0}, "use 1 or more"),
        ({"bins": {"row": 4}}, "give 'row' the Bins of the report"),
        ({"hold_out": 1.0}, "leaves one side empty"),
    ],
)
def test_choices_that_cannot_be_right_are_refused(chosen: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said) as caught:
        suffice.learn(corridor(50), **chosen)
    assert isinstance(caught.value, ValueError)


def test_choices_are_the_usual_ones_of_a_usual_model() -> None:
    assert Choices.of(suffice.learn(corridor(300))) == Choices()


# What a model says


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.seen.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("stationary", [False, True])
def test_a_model_says_what_was_learned(stationary: bool) -> None:
    model = suffice.learn(corridor(600), stationary=stationary)
    about, told, tags = model.about, repr(model), _Tags()
    assert about.plan is not None
    html = model._repr_html_()
    for text in (told, html):
        for part in (f"{model.rdp.n_states} states", "600 episodes", f"{about.plan.predicted:.4g} per episode"):
            assert part in text
        assert f"{about.plan.behaviour_value:.4g}" in text
    assert len(told.splitlines()) <= 5
    tags.feed(html)
    assert not tags.open and "script" not in tags.seen
    assert tags.seen.count("circle") == (0 if stationary else model.rdp.n_states)
    assert "none" in repr(suffice.learn(corridor(300), plan=False))


def test_names_of_the_log_do_no_harm_in_a_notebook() -> None:
    bad = "<script>alert('x')</script>"
    steps = [[(None, (1,), 0.0), (bad if i % 2 else "b", None, float(i % 2))] for i in range(40)]
    html = suffice.learn(from_values(steps))._repr_html_()
    assert "<script" not in html and "&lt;script&gt;" in html


# The estimator


def test_parameters_are_kept_as_given() -> None:
    settings = Settings(delta=0.01)
    learner = Learner(settings=settings, horizon=4, bins={"x": 3})
    parameters = learner.get_params()
    clone = Learner(**parameters)  # what sklearn.base.clone does
    assert clone is not learner and all(clone.get_params()[name] is value for name, value in parameters.items())
    assert repr(Learner()) == "Learner()" and repr(clone).startswith("Learner(settings=Settings(")
    assert learner.set_params(horizon=5, seed=2) is learner and (learner.horizon, learner.seed) == (5, 2)
    with pytest.raises(SettingsError, match="no parameter 'depth'; it has stationary, delta"):
        learner.set_params(depth=3)


def test_an_estimator_learns_as_learn_does(here: Path) -> None:
    learner = Learner(delta=0.01)
    with pytest.raises(ModelError, match="fit"):
        _ = learner.model_
    assert learner.fit("old.parquet") is learner
    assert saved(learner.model_) == saved(suffice.learn("old.parquet", delta=0.01))
    assert learner.n_states_ == learner.model_.rdp.n_states
    learner.partial_fit("new.parquet")
    assert saved(learner.model_) == saved(suffice.learn(["old.parquet", "new.parquet"], delta=0.01))
    learner.fit("old.parquet")
    assert learner.model_.about.episodes == 600


def test_partial_fit_keeps_the_bins_of_the_first(here: Path) -> None:
    learner = Learner(bins={"heat": 2}).partial_fit("heat.csv")
    edges = learner.model_.bins
    assert learner.partial_fit("heat.csv").model_.bins == edges
    assert learner.model_.about.episodes == 800


@pytest.mark.parametrize("chosen", [{}, {"stationary": True}, {"stationary": True, "planning": Planning(discount=0.9)}])
def test_predictions_are_what_the_policy_does(here: Path, chosen: dict[str, Any]) -> None:
    learner = Learner(**chosen).fit("old.parquet")
    policy = learner.model_.policy(deterministic=True)
    expected = []
    for steps in to_values(corridor(40, seed=9)):
        policy.reset()
        for action, observation, _ in steps[:-1]:
            policy.observe(action, observation)
            expected.append(policy.act())
    found = learner.predict(corridor(40, seed=9))
    assert found.tolist() == expected and len(found) == 40 * HORIZON


def test_predictions_are_by_episode_and_step_without_padding(here: Path) -> None:
    learner = Learner(bins={"heat": [5.0]}).fit("heat.csv")
    lines = Path("heat.csv").read_text().splitlines()
    kept = [line for line in lines[1:] if not line.startswith(("1,1,", "1,2,"))]  # episode 1 ends early
    Path("some.csv").write_text("\n".join([lines[0], *reversed(kept)]))
    found = learner.predict("some.csv")
    assert len(found) == len(kept) and found[3] == "b" and found[4:7].tolist() == ["a"] * 3
    with pytest.raises(LogError, match="the model's heat"):
        learner.predict(corridor(5))


def test_a_score_is_what_the_plan_brings_elsewhere(here: Path) -> None:
    learner = Learner().fit("old.parquet")
    assert learner.score(corridor(4000, seed=7)) == pytest.approx(5, abs=0.4)  # the best there is
    assert learner.score("new.parquet") > 4
    few = learner.score(corridor(3, seed=7))
    assert np.isfinite(few)


def test_a_score_by_what_was_learned_from_is_refused(here: Path) -> None:
    """However it is given; it flatters."""
    learner = Learner().fit("old.parquet")
    for same in ("old.parquet", read_log("old.parquet")[0]):
        with pytest.raises(SettingsError, match="the very episodes that it learned from"):
            learner.score(same)
    learner.partial_fit("new.parquet")
    with pytest.raises(SettingsError, match="hold some out"):
        learner.score(["old.parquet", "new.parquet"])


# Types


def test_types_are_shipped() -> None:
    """What they are is checked by `make check`, on user_program.py too."""
    assert (Path(suffice.__file__).parent / "py.typed").exists()
    assert set(suffice.__all__) <= set(dir(suffice)) and all(hasattr(suffice, name) for name in suffice.__all__)
    with pytest.raises(AttributeError, match="no attribute 'lern'"):
        _ = suffice.lern  # type: ignore[attr-defined]


def test_importing_it_is_quick() -> None:
    code = "import sys, suffice; print([m for m in ('numpy', 'numba', 'pyarrow', 'matplotlib') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_more_data_may_be_shorter_but_not_longer(here: Path) -> None:
    """Whether kept episodes ended at their last step, or were cut off there, is not known any more."""
    Path("short.csv").write_text("episode,step,o,action,reward,truncated\n" + "0,0,a,x,0,0\n0,1,a,x,0,1\n" * 1)
    Path("long.csv").write_text("episode,step,o,action,reward\n" + "".join(f"0,{t},a,x,1\n" for t in range(3)))
    with pytest.raises(SufficeError, match=r"longer \(3 decisions\) than those before \(2\)"):
        Learner().fit("short.csv").partial_fit("long.csv")
    with pytest.raises(SufficeError, match="truncated before the horizon 3"):
        Learner().fit("long.csv").partial_fit("short.csv")
    with pytest.raises(SufficeError, match="3 decisions are longer than the plan, which is for 2"):
        Learner().fit("short.csv").predict("long.csv")
