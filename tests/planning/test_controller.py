"""Controllers from tables and from plans on automata, and the errors for invalid ones."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from suffice.domains.exact.minimal import minimal_rdp
from suffice.domains.exact.values import best_plan, evaluate
from suffice.domains.tasks.cheese import Cheese
from suffice.domains.tasks.cookie import Cookie
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import SufficeError
from suffice.planning.controller import Controller, uniform_over
from suffice.planning.planner import backward_induction
from suffice.planning.policy_table import read_policy_table

F = Fraction


def table(tmp_path: Path, text: str, domain=None, horizon: int = 5) -> Controller:
    (tmp_path / "policy.csv").write_text(text)
    return read_policy_table(tmp_path / "policy.csv", (domain or TMaze()).model(horizon).alphabet, horizon)


def chances_after(policy: Controller, *history: object) -> dict[object, Fraction]:
    """Return the action probabilities after a first observation and pairs of an action and an observation."""
    alphabet = policy.alphabet
    code = {o: i + 1 for i, o in enumerate(alphabet.observations)}
    memory = policy.first[code[history[0]]]
    for action, observation in zip(history[1::2], history[2::2], strict=True):
        memory = policy.after[memory, alphabet.actions.index(action), code[observation]]
    return {a: p for a, p in zip(alphabet.actions, policy.chances[memory], strict=True) if p}


CUE, CORRIDOR, JUNCTION = (0, 1, 1), (1, 0, 1), (0, 1, 0)


def test_read_policy_table_uses_first_matching_row(tmp_path: Path) -> None:
    policy = table(tmp_path, "bit1,bit2,bit3,E,N,S,W\n0,1,0,0,1/2,0.5,0\n0,,,1,,,\n,,,0.9,0,0,0.1\n")
    assert chances_after(policy, CUE) == {"E": 1}
    assert chances_after(policy, CUE, "E", CORRIDOR) == {"E": F(9, 10), "W": F(1, 10)}
    assert chances_after(policy, CUE, "E", CORRIDOR, "E", JUNCTION) == {"N": F(1, 2), "S": F(1, 2)}


def test_read_policy_table_accepts_any_column_order_and_missing_features(tmp_path: Path) -> None:
    policy = table(tmp_path, "W,bit2,S,E,N\n0,1,0,1,0\n1/3,0,1/3,1/3,0\n")
    assert chances_after(policy, CUE) == {"E": 1}
    assert chances_after(policy, CUE, "E", CORRIDOR) == dict.fromkeys("ESW", F(1, 3))


def test_read_policy_table_supports_step_column(tmp_path: Path) -> None:
    policy = table(tmp_path, "step,bit2,E,N,S,W\n0,,1,0,0,0\n2,0,0,1,0,0\n,,0,0,1,0\n", horizon=4)
    assert chances_after(policy, CUE) == {"E": 1}
    assert chances_after(policy, CUE, "E", CORRIDOR) == {"S": 1}
    assert chances_after(policy, CUE, "E", CORRIDOR, "S", CORRIDOR) == {"N": 1}
    assert chances_after(policy, CUE, "E", CORRIDOR, "S", CORRIDOR, "N", CORRIDOR) == {"S": 1}


def test_read_policy_table_scales_rounded_probabilities_to_one(tmp_path: Path) -> None:
    policy = table(tmp_path, "E,N,S,W\n0.3333333,0.3333333,0.3333333,0\n")
    assert chances_after(policy, CUE) == dict.fromkeys("ENS", F(1, 3))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "policy.csv, row 1: there is no column for action E. Add one for each of E, N, S, W."),
        ("E,N,S\n", "row 1: there is no column for action W"),
        ("E,N,S,W,bits\n", "row 1: column 'bits' is neither a feature nor an action. Use bit1, bit2, bit3, step"),
        ("E,N,S,W,E\n", "row 1: column 'E' occurs twice"),
        ("E,N,S,W\n", "no row follows the header"),
        ("E,N,S,W\n1,0,0\n", "row 2: 3 cells under 4 columns"),
        ("E,N,S,W\n1,0,0,0\n\n1,0,0,much\n", "row 4: column 'W': 'much' is not a probability. Write it like 0.25"),
        ("E,N,S,W\n1.5,-0.5,0,0\n", "row 2: column 'E': '1.5' is not a probability"),
        ("E,N,S,W\n1/0,0,0,0\n", "row 2: column 'E': '1/0' is not a probability"),
        ("E,N,S,W\n0.5,0,0,0\n", "row 2: the probabilities add up to 0.5. Make them add up to 1."),
        ("bit2,E,N,S,W\n2,1,0,0,0\n", "row 2: column 'bit2': '2' never occurs. Use 0, 1."),
        (
            "step,E,N,S,W\nfirst,1,0,0,0\n",
            "row 2: column 'step': 'first' never occurs. Use 0, 1, 2, 3, 4.",
        ),
        ("bit2,E,N,S,W\n1,1,0,0,0\n", "no row matches bit1 = 1, bit2 = 0, bit3 = 1. Add one, or a last row with"),
    ],
)
def test_read_policy_table_refuses_invalid_tables(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(SufficeError) as caught:
        table(tmp_path, text)
    assert complaint in str(caught.value) and "policy.csv" in str(caught.value)


def test_read_policy_table_refuses_binary_and_missing_files(tmp_path: Path) -> None:
    alphabet = TMaze().model(3).alphabet
    (tmp_path / "noise.csv").write_bytes(b"\xff\xfe\x00\x01")
    for name in ("noise.csv", "missing.csv"):
        with pytest.raises(
            SufficeError, match=f"{name}: (there is no such file|the table cannot be read|this is not a CSV file)"
        ):
            read_policy_table(tmp_path / name, alphabet, 3)


@pytest.mark.parametrize(("domain", "horizon"), [(TMaze(), 5), (Cookie(actions="sensible"), 9), (Cheese(), 6)])
def test_controller_on_exact_automaton_has_optimal_return(domain, horizon: int) -> None:
    """Counts of 10¹² episodes are close enough to the probabilities for the plan to be optimal."""
    model = domain.model(horizon)
    minimal = minimal_rdp(model, horizon)
    rdp = minimal.rdp(10**12)
    plan = backward_induction(rdp)
    best = best_plan(minimal).value
    assert plan.values[0] == pytest.approx(float(best), abs=1e-6)
    greedy = Controller.on_automaton(rdp, model.alphabet, plan.actions, F(0))
    assert evaluate(model, greedy, horizon).mean_return == best


def test_controller_on_automaton_mixes_in_uniform_actions_with_epsilon() -> None:
    model = TMaze().model(5)
    rdp = minimal_rdp(model, 5).rdp()
    policy = Controller.on_automaton(rdp, model.alphabet, backward_induction(rdp).actions, F(1, 5))
    assert chances_after(policy, CUE) == {"E": F(17, 20), "N": F(1, 20), "S": F(1, 20), "W": F(1, 20)}
    everything = Controller.on_automaton(rdp, model.alphabet, backward_induction(rdp).actions, F(1))
    uniform = evaluate(model, Controller.uniform(model.alphabet), 5)
    assert evaluate(model, everything, 5) == uniform


def test_controller_on_automaton_keeps_behaviour_on_unseen_histories_and_recovers() -> None:
    learned = minimal_rdp(TMaze(actions="east").model(3), 3).rdp()
    noisy = TMaze(noise=True).model(5).alphabet
    policy = Controller.on_automaton(learned, noisy, backward_induction(learned).actions)
    assert chances_after(policy, CUE) == {"E": 1}
    assert chances_after(policy, CUE, "E", (1, 1, 1)) == {"E": 1}  # a new combination, which leads to the corridor
    assert chances_after(policy, CUE, "E", (1, 1, 1), "E", CORRIDOR) == {"N": 1}  # so that the cue is not forgotten
    assert set(chances_after(policy, CUE, "E", (1, 1, 1), "E", JUNCTION).values()) == {1}  # back on the plan
    assert chances_after(policy, CUE, *["E", CORRIDOR] * 5) == dict.fromkeys("ENSW", F(1, 4))  # beyond the horizon


def test_controller_on_automaton_refuses_missing_actions() -> None:
    rdp = minimal_rdp(TMaze().model(3), 3).rdp()
    with pytest.raises(
        SufficeError, match=r"the model's action 'E' does not exist here\. Use a model whose actions are among"
    ):
        Controller.on_automaton(rdp, Cookie().model(3).alphabet, backward_induction(rdp).actions, F(0))


def test_controller_refuses_inconsistent_tables() -> None:
    alphabet = TMaze().model(3).alphabet
    good = Controller.uniform(alphabet)
    half = tuple(p / 2 for p in uniform_over(alphabet, "EN"))
    with pytest.raises(SufficeError, match="add up to 1"):
        Controller(alphabet, good.first, good.after, (half,))
    with pytest.raises(SufficeError, match=r"a memory does not exist\. Use numbers from 0 to 0"):
        Controller(alphabet, good.first + 1, good.after, good.chances)
    with pytest.raises(SufficeError, match="first and after: their shapes are"):
        Controller(alphabet, good.first[1:], good.after, good.chances)
    assert np.allclose(good.table, 0.25)
