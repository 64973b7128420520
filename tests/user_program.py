"""A program as users write it: `make check` checks it against the types of the public names; it is never run."""

import matplotlib.figure
import numpy as np
from numpy.typing import NDArray

import suffice
from suffice import Columns, Episodes, Learner, Model, Planning, Policy, Settings


def use_a_log() -> None:
    check: suffice.LogCheck = suffice.check("log.csv", observations=["x"], bins={"x": 4})
    print(check, check.n_episodes, check.to_dict()["enough"])
    model: Model = suffice.learn("log.csv", delta=0.01, stationary="auto", columns=Columns(action="did"), bins={"x": 4})
    again: Model = suffice.learn(["a.csv", "b.csv"], like=model, planning=Planning(), settings=Settings(threads=2))
    states: int = again.n_states
    sentence: str = model.about.promise.sentence
    print(repr(model), sentence, states, sentence + 1)  # type: ignore[operator]
    suffice.learn("log.csv", bound="paper", family="1,1,1", metric="languages", planning="greedy", memory="4GB")
    suffice.learn("log.csv", stationary="sometimes")  # type: ignore[arg-type]


def use_a_model() -> None:
    policy: Policy = suffice.load("x.model").policy()
    policy.reset()
    action: bool | int | float | str = policy.act((1, 2))
    figure: matplotlib.figure.Figure = suffice.draw_automaton(policy.rdp, policy.plan)
    print(action, figure)


def evaluate_a_model() -> None:
    model = suffice.load("x.model")
    evaluation: suffice.LogEvaluation = model.evaluate("log.csv")
    low, high = evaluation.interval(0.9)
    value: float = evaluation.doubly_robust.value
    tried: suffice.DomainEvaluation = model.evaluate_in("t-maze", exact=True)
    print(low < value < high, tried.policy.mean_return.value, model.compare("t-maze") is None)
    print(model.draw("x.svg"), model.explore("x.html"), model.report(), model.export(format="json"), model.states)
    model.export(format="xml")  # type: ignore[arg-type]


def use_an_estimator() -> None:
    learner = Learner(stationary=True, seed=1).fit("log.csv").partial_fit("more.csv")
    value: float = learner.score("other.csv")
    actions: NDArray[np.generic] = learner.predict("other.csv")
    print(value, actions, learner.model_.headline, learner.states_)  # type: ignore[attr-defined]


def use_episodes() -> None:
    try:
        episodes: Episodes = suffice.read_log("x.csv")
    except suffice.LogError as error:
        raise SystemExit(str(error)) from error
    rdp: suffice.RDP = suffice.regorl(episodes).learned.rdp
    print(suffice.compare(rdp, rdp) is None)
