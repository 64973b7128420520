"""Pictures of the domains without places: bandits, and tasks drawn as a sequence of observations."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from svg import Drawing

from suffice.domains.tasks import cheat_mab, delayed_match, malfunction_mab, repeat_first, rotating_mab, symbol
from suffice.domains.tasks.cheat_mab import CheatMAB
from suffice.domains.tasks.delayed_match import DelayedMatch
from suffice.domains.tasks.malfunction_mab import MalfunctionMAB
from suffice.domains.tasks.memory_length import MemoryLength
from suffice.domains.tasks.repeat_first import RepeatFirst
from suffice.domains.tasks.repeat_previous import RepeatPrevious
from suffice.domains.tasks.rotating_mab import ResetRotatingMAB, RotatingMAB
from suffice.domains.tasks.symbol import Symbol

ARM, MARGIN, TOP = 84.0, 16.0, 40.0


def bandit(title: str, chances: Sequence[Fraction], best: int | None, note: str, wide: float = 0) -> Drawing:
    """Draw the arms side by side, each with its probability of a win."""
    page = Drawing(max(len(chances) * ARM + 2 * MARGIN, wide), 140, title)
    left = (page.width - len(chances) * ARM) / 2
    for arm, p in enumerate(chances):
        x = left + arm * ARM
        page.rect(x + 10, TOP, ARM - 26, 66, "gold" if arm == best else "cell", 8)
        page.text(x + ARM / 2 - 3, TOP + 16, f"arm {arm}", 11)
        page.rect(x + 22, TOP + 28, ARM - 50, 24, "page", 3)
        page.text(x + ARM / 2 - 3, TOP + 40, str(p), 13)
        page.line((x + ARM - 16, TOP + 36), (x + ARM - 8, TOP + 36), (x + ARM - 8, TOP + 14), wide=2)
        page.circle(x + ARM - 8, TOP + 10, 4.5, "red")
    page.text(page.width / 2, TOP + 84, note, 11, "note")
    return page


def rotating(domain: RotatingMAB) -> Drawing:
    """Draw the best arm, and how it changes after a win or a loss."""
    resets = isinstance(domain, ResetRotatingMAB)
    note = "after a win the next arm is best; after a loss, arm 0" if resets else "after a win the next arm is best"
    chances = [rotating_mab.OTHER] * domain.arms
    chances[0] = rotating_mab.BEST
    page = bandit(f"{domain.arms} arms; the best one changes with every win", chances, 0, note, 300)
    left = (page.width - domain.arms * ARM) / 2
    xs = [left + arm * ARM + ARM / 2 - 3 for arm in range(domain.arms)]
    for x, following in pairwise(xs):
        page.bow((x + 8, TOP - 3), (following - 8, TOP - 3), 9)
    page.path(f"M{xs[-1] + 8:.1f} {TOP - 3} V14 H{xs[0]:.1f} V{TOP - 6}", "hair")
    page.head((xs[0], TOP - 2), (xs[0], TOP - 20), "shade")
    return page


def malfunctioning(domain: MalfunctionMAB) -> Drawing:
    """Draw the better arm with a lamp for each pull until it fails."""
    note = f"after {domain.limit} pulls of arm 0 it fails for one step"
    page = bandit("Two arms; the better one fails for a step", malfunction_mab.CHANCES, 0, note, 300)
    x = (page.width - 2 * ARM) / 2 + ARM / 2 - 3
    for pull in range(domain.limit + 1):
        page.circle(x + 13 * (pull - domain.limit / 2), TOP - 14, 4.5, "red" if pull == domain.limit else "green")
    return page


def cheating(domain: CheatMAB) -> Drawing:
    """Draw two poor arms and the code."""
    page = bandit(
        "Two arms and a secret code", [cheat_mab.CHANCE] * 2, None, "the code makes every later pull win", 300
    )
    for place, arm in enumerate(domain.code):
        x = page.width / 2 + 24 * (place - len(domain.code) / 2)
        page.rect(x, TOP - 28, 20, 20, "gold")
        page.text(x + 10, TOP - 18, arm, 12)
    return page


Moment = tuple[str, str, str]  # observation, style, and purpose of the next action


def moments(title: str, row: Sequence[Moment], note: str, box: float = 58) -> Drawing:
    """Draw the observation of each step, with the purpose of the next action below it."""
    page = Drawing(len(row) * (box + 14) + 2 * MARGIN - 14, 128, title)
    for t, (seen, look, done) in enumerate(row):
        x = MARGIN + t * (box + 14)
        page.text(x + box / 2, 16, str(t), 10, "note")
        page.rect(x, 28, box, 34, look, 5)
        page.text(x + box / 2, 45, seen, 11)
        page.text(x + box / 2, 76, done, 11)
        if t:
            page.arrow((x - 13, 45), (x - 1, 45))
    page.text(page.width / 2, 108, note, 11, "note")
    return page


def symbols(domain: Symbol) -> Drawing:
    """Draw the colour and the side, which are asked for later."""
    del domain
    shown: Moment = (f"{symbol.COLOURS[0]}, {symbol.SIDES[0]}", "red", "wait")
    waiting: list[Moment] = [("blank", "cell", "wait")] * (symbol.WAITING - 1)
    asked: list[Moment] = [("blank", "cell", "colour?"), ("blank", "cell", "side?")]
    note = f"{len(symbol.COLOURS)} colours and {len(symbol.SIDES)} sides, all equally likely; a wrong answer ends it"
    return moments("A colour and a side, three blanks, and two questions", [shown, *waiting, *asked], note, 66)


def suits(domain: RepeatFirst) -> Drawing:
    """Draw a random suit for each step, with the first marked."""
    count = domain.answers or domain.DEFAULT_HORIZON
    names, looks = repeat_first.SUITS, {"diamonds": "red", "hearts": "red"}
    order = [2, 0, 3, 3, 1, 0, 2, 1]  # an arbitrary order
    row: list[Moment] = [
        (names[i], "gold" if t == 0 else looks.get(names[i], "cell"), f"{names[order[0]]}?")
        for t, i in enumerate(order[i % len(order)] for i in range(count))
    ]
    return moments("A row of suits, the first marked", row, f"1/{count} for each action that names the first suit", 62)


def bits(domain: MemoryLength) -> Drawing:
    """Draw the bit, the blanks, and the last action."""
    row: list[Moment] = [
        ("0 or 1" if t == 0 else "blank", "gold" if t == 0 else "cell", "") for t in range(domain.length)
    ]
    row[-1] = (*row[-1][:2], "the bit?")
    return moments("A bit, blanks, and a question", row, "only the last action counts")


def matching(domain: DelayedMatch) -> Drawing:
    """Draw the first colour, the blanks and the probe."""
    first, *_ = delayed_match.COLOURS
    blanks: list[Moment] = [("blank", "cell", "")] * domain.delay
    row: list[Moment] = [(first, "gold", ""), *blanks, (f"{first}, or not", "gold", "the same?")]
    return moments("A colour, blanks, and a second colour", row, "only the last action counts", 74)


def window(domain: RepeatPrevious) -> Drawing:
    """Draw a random suit for each step; the action after it names an earlier one."""
    names, k, count = domain.all_actions, domain.k, domain.k + 4
    order = [2, 0, 3, 1, 0, 1, 3, 2]  # an arbitrary order
    shown = [names[order[t % len(order)] % len(names)] for t in range(count)]
    row: list[Moment] = [
        (shown[t], "gold" if t < count - k + 1 else "cell", f"{shown[t - k + 1]}?" if t >= k - 1 else "")
        for t in range(count)
    ]
    return moments(
        "A row of suits, to be named later", row, f"each action names the suit shown {k} observations ago", 66
    )
