"""A program as users write them: `make check` holds it to the types of the public names; it is never run."""

import matplotlib.figure
import numpy as np
from numpy.typing import NDArray

import suffice
from suffice import Columns, Episodes, Learner, Model, Planning, Policy, Settings


def use_a_log() -> None:
    model: Model = suffice.learn("log.csv", delta=0.01, stationary="auto", columns=Columns(action="did"), bins={"x": 4})
    again: Model = suffice.learn(["a.csv", "b.csv"], like=model, planning=Planning(), settings=Settings(threads=2))
    states: int = again.rdp.n_states
    sentence: str = model.about.promise.sentence
    print(repr(model), sentence, states, sentence + 1)  # type: ignore[operator]
    suffice.learn("log.csv", stationary="sometimes")  # type: ignore[arg-type]


def use_a_model() -> None:
    policy: Policy = suffice.load("x.model").policy()
    policy.reset()
    action: bool | int | float | str = policy.act((1, 2))
    figure: matplotlib.figure.Figure = suffice.draw_automaton(policy.rdp, policy.plan)
    print(action, figure)


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
