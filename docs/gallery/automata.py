"""Pictures of minimal automata, with layers as columns; for large ones, the sizes of the layers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise, permutations

import numpy as np
from labels import Words, label_arrows
from numpy.typing import NDArray
from svg import Drawing, Point, number, width_of

from suffice.automata.histories import show
from suffice.domains.exact.minimal import Minimal

LARGEST, WIDEST = 40, 7  # states that fit a page, and a column
ROW, GAP, TOP, MARGIN = 54.0, 50.0, 24.0, 26.0
SMALL, BIG = 5.0, 13.0  # radius of a state that is never visited, and of one that always is
SIZE = 10.0  # of labels
SPOTS = (50, 45, 55, 40, 60, 35, 65, 30, 70, 25, 75)  # positions of a label on its arrow, in percent, best first
DEPTH = 3  # length of the futures by which states of different layers are compared

Float = NDArray[np.float64]
Step = tuple[int, str, int]  # from one row to another, and the label
Box = tuple[float, float, float, float]  # left, top, right, bottom


def draw(minimal: Minimal, name: str, words: Words) -> Drawing:
    """Draw the automaton if it fits a page, otherwise the sizes of its layers."""
    return Layered(minimal, words).draw(name) if fits_a_page(minimal) else bars(minimal, name)


def fits_a_page(minimal: Minimal) -> bool:
    """Check whether all states can be drawn."""
    return minimal.n_states <= LARGEST and max(minimal.layers) <= WIDEST


def bars(minimal: Minimal, name: str) -> Drawing:
    """Draw the number of states of each layer as bars."""
    layers, wide, high = minimal.layers, 30.0, 110.0
    title = f"{minimal.n_states} states of {name} in layers of {', '.join(map(str, layers))}"
    page = Drawing(len(layers) * wide + 2 * MARGIN + 20, high + 66, title)
    for t, n in enumerate(layers):
        x, tall = MARGIN + 20 + t * wide, high * n / max(layers)
        page.rect(x, 26 + high - tall, wide - 8, tall, "state", 2)
        page.text(x + wide / 2 - 4, 18 + high - tall, str(n), 10)
        page.text(x + wide / 2 - 4, 26 + high + 12, str(t), 10, "note")
    page.text(MARGIN + 6, 26 + high + 12, "t", 10, "note")
    page.text(page.width / 2, 26 + high + 28, "states per layer", 10, "note")
    return page


@dataclass(frozen=True, slots=True)
class Curve:
    """A cubic curve from one state to another, level at both ends."""

    start: Point
    end: Point

    @property
    def handles(self) -> tuple[Point, Point]:
        """The two control points of the curve."""
        (x1, y1), (x2, y2) = self.start, self.end
        reach = 0.42 * (x2 - x1)
        return (x1 + reach, y1), (x2 - reach, y2)

    def at(self, s: float) -> Point:
        """Return the point at a parameter from 0 to 1."""
        (b, c), r = self.handles, 1 - s
        weights = (r**3, 3 * r * r * s, 3 * r * s * s, s**3)
        points = (self.start, b, c, self.end)
        return tuple(sum(w * p[i] for w, p in zip(weights, points, strict=True)) for i in (0, 1))  # type: ignore[return-value]

    def path(self) -> str:
        """Return the curve as an SVG path."""
        (b, c), (x, y) = self.handles, self.start
        return f"M{number(x)} {number(y)} C" + " ".join(f"{number(u)} {number(v)}" for u, v in (b, c, self.end))


class Layered:
    """Layout of states and arrows on a page."""

    def __init__(self, minimal: Minimal, words: Words) -> None:
        self._rdp = minimal.rdp()
        self._labels = label_arrows(self._rdp, words)
        self._layer, self._offsets = self._rdp.layer_of().tolist(), self._rdp.offsets().tolist()
        self._share = [float(p) for layer in minimal.occupancy() for p in layer]
        self._flow = self._flows(minimal)
        self._means = self._meanings(minimal)
        self._order = self._ordered()
        self._places = self._placed()

    def _flows(self, minimal: Minimal) -> dict[tuple[int, int], float]:
        """Return the share of the episodes that take each arrow."""
        flow = dict.fromkeys(self._labels, 0.0)
        for t, arrows in enumerate(minimal.arrows):
            for (q, *_, target), p in zip(arrows.rows(), arrows.probability, strict=True):
                q, target = self._offsets[t] + q, self._offsets[t + 1] + target
                flow[q, target] += self._share[q] * float(p)
        return flow

    def _meanings(self, minimal: Minimal) -> list[Float]:
        """Return, for each length, [Q, …] the probabilities of the next actions and rewards of each state."""
        wide = minimal.alphabet.n_actions * len(minimal.rewards)
        futures = np.ones((self._rdp.n_states, 1))
        found = [futures]
        for _ in range(DEPTH):
            longer = np.zeros((len(futures), wide, futures.shape[1]))
            for t, arrows in enumerate(minimal.arrows):
                letter = arrows.action * len(minimal.rewards) + arrows.reward
                follows = futures[self._offsets[t + 1] + arrows.target]
                place = (self._offsets[t] + arrows.source, letter)
                np.add.at(longer, place, arrows.probability.astype(float)[:, None] * follows)
            futures = longer.reshape(len(futures), -1)
            found.append(futures)
        return found

    def _ordered(self) -> list[list[int]]:
        """Order the states of each layer from top to bottom, sweeping from the left or from the right."""
        layers = [list(range(a, b)) for a, b in pairwise(self._offsets)]
        return min((self._sweep(layers), self._sweep(layers[::-1])[::-1]), key=self._crossings)

    def _sweep(self, layers: list[list[int]]) -> list[list[int]]:
        order = layers[:1]
        for layer in layers[1:]:
            alike = len(order) > 1 and len(order[-2]) == len(order[-1])
            before = set(self._gap(order[-2], order[-1])) if alike else set()
            score = partial(self._score, order[-1], before)
            order.append(max(map(list, permutations(layer)), key=score))
        return order

    def _gap(self, one: list[int], other: list[int]) -> list[Step]:
        """Return the arrows between two columns, in either order, by the rows they join."""
        first, second = (one, other) if one[0] < other[0] else (other, one)
        arrows = [(a, b) for a, b in self._labels if a in first and b in second]
        return [(first.index(a), self._labels[a, b], second.index(b)) for a, b in arrows]

    def _score(self, one: list[int], before: set[Step], other: list[int]) -> tuple[float, ...]:
        """Prefer arrows as in the gap before, then rows of similar futures, then few crossings."""
        steps = self._gap(one, other)
        if len(one) != len(other):
            return 0, 0, -_crossings(steps)
        left = len(self._offsets) - 2 - max(self._layer[one[0]], self._layer[other[0]])  # steps
        means = self._means[min(left, DEPTH)]
        unlike = np.abs(means[one] - means[other]).sum()
        return len(before.intersection(steps)), -round(float(unlike), 6), -_crossings(steps)

    def _crossings(self, order: list[list[int]]) -> int:
        return sum(_crossings(self._gap(one, other)) for one, other in pairwise(order))

    def _placed(self) -> dict[int, Point]:
        """Place the columns as far apart as their labels need."""
        x, places = MARGIN + BIG, {}
        tallest = max(map(len, self._order))
        for t, layer in enumerate(self._order):
            for i, q in enumerate(layer):
                places[q] = (x, TOP + ROW * (i + (tallest - len(layer)) / 2) + ROW / 2)
            texts = [text for (a, _), text in self._labels.items() if self._layer[a] == t]
            x += GAP + max((width_of(text, SIZE) for text in texts), default=0) + 5 * max(0, len(texts) - 4)
        return places

    def _radius(self, q: int) -> float:
        return SMALL + (BIG - SMALL) * math.sqrt(self._share[q])

    def draw(self, name: str) -> Drawing:
        """Draw arrows, then states, then labels where they cover least."""
        right = max(x for x, _ in self._places.values()) + MARGIN + BIG
        tallest = max(map(len, self._order))
        title = f"The minimal automaton of {name}: {self._rdp.n_states} states in {len(self._order)} layers"
        page = Drawing(right, TOP + ROW * tallest + 4, title)
        curves = {arrow: self._curve(*arrow) for arrow in self._labels}
        for arrow, curve in curves.items():
            page.path(curve.path(), "hair", 0.8 + 2 * math.sqrt(self._flow[arrow]))
            page.head(curve.end, curve.at(0.9), "shade")
        for t, layer in enumerate(self._order):
            page.text(self._places[layer[0]][0], 16, f"t = {t}" if t == 0 else str(t), 10, "note")
        for q, history in enumerate(self._rdp.typical_histories()):
            x, y = self._places[q]
            page.circle(
                x, y, self._radius(q), "state", f"{100 * self._share[q]:.3g} % of the episodes; {show(history)}"
            )
        self._write(page, curves)
        return page

    def _curve(self, q: int, target: int) -> Curve:
        (x1, y1), (x2, y2) = self._places[q], self._places[target]
        return Curve((x1 + self._radius(q), y1), (x2 - self._radius(target) - 1, y2))

    def _write(self, page: Drawing, curves: dict[tuple[int, int], Curve]) -> None:
        """Draw each label where it covers least: first gaps in the lines, then the texts."""
        states = [_around(place, 2 * self._radius(q), 2 * self._radius(q)) for q, place in self._places.items()]
        boxes: dict[tuple[int, int], Box] = {}
        for arrow in list(self._labels) * 3:  # repeated, because the other labels move too
            taken = [*states, *(box for other, box in boxes.items() if other != arrow)]
            lines = [curve.at(s / 24) for other, curve in curves.items() if other != arrow for s in range(25)]
            wide = width_of(self._labels[arrow], SIZE) + 3
            spots = [_around(curves[arrow].at(s / 100), wide, SIZE + 2) for s in SPOTS]
            cover = [sum(_overlap(spot, box) for box in taken) + 5 * _points_in(spot, lines) for spot in spots]
            boxes[arrow] = spots[cover.index(min(cover))]
        for left, top, right, bottom in boxes.values():
            page.rect(left, top, right - left, bottom - top, "bare", 2)
        for arrow, (left, top, right, bottom) in boxes.items():
            page.text((left + right) / 2, (top + bottom) / 2, self._labels[arrow], SIZE)


def _crossings(steps: list[Step]) -> int:
    return sum((a - c) * (b - d) < 0 for (a, _, b), (c, _, d) in combinations(steps, 2))


def _around(centre: Point, wide: float, high: float) -> Box:
    x, y = centre
    return x - wide / 2, y - high / 2, x + wide / 2, y + high / 2


def _overlap(a: Box, b: Box) -> float:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))


def _points_in(box: Box, points: list[Point]) -> int:
    return sum(box[0] <= x <= box[2] and box[1] <= y <= box[3] for x, y in points)
