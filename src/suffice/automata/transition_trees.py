"""Decision trees over columns that predict where combinations of values lead that were never seen.

The transitions of a state under an action are examples: each observation leads to one state. A decision tree over the
columns that explains them says where another combination of values leads. At each node the test is chosen that tells
most about the next state (information gain, weighted by visits), until all examples that are left agree. Tests are "the
value is v" and, for numbers and ranges, "the value is at most v". A value that a column never had fails every test for
equality, so that it leads where most others do. Nodes are made when they are first needed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice.data.alphabet import Value, in_order
from suffice.kernels.array_types import Float, Int32, Int64, Mask

Observation = tuple[Value, ...]
LEAST_GAIN = 1e-9


class TransitionTree:
    """A decision tree that predicts the next state from the values of an observation.

    Parameters
    ----------
    examples
        The observations that occurred, at least one, with a value for each column.
    following
        [n] state that each led to.
    weight
        [n] how often.
    """

    def __init__(self, examples: Sequence[Observation], following: Int32, weight: Int64) -> None:
        columns = list(zip(*examples, strict=True))
        self._values = [in_order(column) for column in columns]
        places = [{value: code for code, value in enumerate(values)} for values in self._values]
        codes = [[place[value] for value in column] for place, column in zip(places, columns, strict=True)]
        self._states, self._following = np.unique(following, return_inverse=True)
        # Transitions that were never taken, as in an automaton that was made by hand, count too.
        self._root = _Node(np.array(codes).T, self._following, weight.astype(float) + 1.0)
        self._ordered = [not any(isinstance(value, str | bool) for value in values) for values in self._values]

    def predict(self, observation: Observation) -> int:
        """Return the state that an observation leads to; of several that remain, the most frequent one."""
        node = self._root
        while node.divide(self._ordered):
            value, tested = observation[node.column], self._values[node.column][node.code]
            if not node.threshold:
                node = node.children[0 if value == tested else 1]
            elif isinstance(value, str):
                break
            else:
                node = node.children[0 if value <= tested else 1]  # type: ignore[operator]
        return int(self._states[np.bincount(node.following, node.weight).argmax()])


class _Node:
    """Some of the examples, and the test that divides them."""

    __slots__ = ("children", "code", "codes", "column", "done", "following", "threshold", "weight")

    def __init__(self, codes: Int64, following: Int64, weight: Float) -> None:
        self.codes, self.following, self.weight = codes, following, weight  # [n, columns], [n], [n]
        self.column, self.code, self.threshold = 0, 0, False
        self.children: tuple[_Node, ...] = ()
        self.done = bool((following == following[0]).all())

    def divide(self, ordered: Sequence[bool]) -> bool:
        """Choose the test and make the children, once; return whether there are any."""
        if not self.done:
            self.done = True
            best = LEAST_GAIN
            for column in range(self.codes.shape[1]):
                for threshold in (False, True)[: 1 + ordered[column]]:
                    gains = self._gains(column, threshold)
                    code = int(gains.argmax())
                    if gains[code] > best:
                        best = float(gains[code]) + LEAST_GAIN
                        self.column, self.code, self.threshold = column, code, threshold
            if best > LEAST_GAIN:
                codes = self.codes[:, self.column]
                inside = codes <= self.code if self.threshold else codes == self.code
                self.children = (self._part(inside), self._part(~inside))
        return bool(self.children)

    def _gains(self, column: int, threshold: bool) -> Float:
        """Return the information gain of the test for each value of a column; 0 if it does not divide the examples."""
        size = int(self.codes[:, column].max()) + 1
        table = np.zeros((size, int(self.following.max()) + 1))
        np.add.at(table, (self.codes[:, column], self.following), self.weight)
        inside = np.cumsum(table, axis=0) if threshold else table
        whole = table.sum(axis=0)
        gains = _impurity(whole[None])[0] - _impurity(inside) - _impurity(np.maximum(whole - inside, 0.0))
        mass = inside.sum(axis=1)
        return np.where((mass > LEAST_GAIN) & (mass < whole.sum() - LEAST_GAIN), gains, 0.0)

    def _part(self, chosen: Mask) -> _Node:
        return _Node(self.codes[chosen], self.following[chosen], self.weight[chosen])


def _impurity(counts: Float) -> Float:
    """Return the entropy of the distribution in each row, times its mass."""
    mass = counts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(counts > 0, counts * np.log(counts), 0.0).sum(axis=1)
        return np.asarray(np.where(mass > 0, mass * np.log(mass), 0.0) - each)
