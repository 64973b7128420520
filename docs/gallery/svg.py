"""Simple SVG drawings with styles for light and dark pages."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

Point = tuple[float, float]

LIGHT = {
    "page": "#fcfbf8",
    "ink": "#2f343b",
    "faint": "#9299a3",
    "cell": "#ffffff",
    "dark": "#5d646e",
    "blue": "#cfe0f3",
    "green": "#d3e9d3",
    "red": "#f4d3cb",
    "gold": "#f6e0a8",
    "state": "#3f74ad",
}
DARK = {
    "page": "#1c1f24",
    "ink": "#dde1e6",
    "faint": "#7f8792",
    "cell": "#272b32",
    "dark": "#0d0f12",
    "blue": "#2c4a6b",
    "green": "#2f5638",
    "red": "#6a372d",
    "gold": "#6d5620",
    "state": "#6fa3dc",
}
FILLS = ("page", "cell", "dark", "blue", "green", "red", "gold")


def _rules(colour: dict[str, str]) -> str:
    fills = "".join(f".{name}{{fill:{colour[name]};stroke:{colour['ink']}}}" for name in FILLS)
    return (
        f"text{{fill:{colour['ink']}}}.note{{fill:{colour['faint']}}}{fills}"
        f".bare{{fill:{colour['page']};stroke:none}}.state{{fill:{colour['state']};stroke:none}}"
        f".ink{{fill:{colour['ink']};stroke:none}}.shade{{fill:{colour['faint']};stroke:none}}"
        f".line{{fill:none;stroke:{colour['ink']}}}.hair{{fill:none;stroke:{colour['faint']}}}"
    )


FONT = "text{font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif;text-anchor:middle;stroke:none}"
STYLE = f"<style>{FONT}{_rules(LIGHT)}@media(prefers-color-scheme:dark){{{_rules(DARK)}}}</style>"


def number(value: float) -> str:
    """Format a number with at most one decimal."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def width_of(text: str, size: float) -> float:
    """Estimate the width of a text, generously, because fonts differ."""
    narrow, wide = set("iljtfI.,:;|'()[]/ "), set("mwMW→½·")
    return size * sum(0.34 if c in narrow else 0.9 if c in wide else 0.68 if c.isupper() else 0.58 for c in text)


@dataclass(slots=True)
class Drawing:
    """Shapes on a background; later shapes cover earlier ones."""

    width: float
    height: float
    title: str  # text alternative
    _shapes: list[str] = field(default_factory=list)

    def rect(
        self, x: float, y: float, w: float, h: float, look: str = "cell", corner: float = 3, tip: str = ""
    ) -> None:
        """Draw a rectangle given by its upper left corner."""
        x, y, w, h = map(float, (x, y, w, h))
        size = f'x="{number(x)}" y="{number(y)}" width="{number(w)}" height="{number(h)}" rx="{number(corner)}"'
        self._add("rect", size, look, tip)

    def circle(self, x: float, y: float, r: float, look: str = "cell", tip: str = "") -> None:
        """Draw a disc given by its centre; the tip is shown on hovering."""
        self._add("circle", f'cx="{number(x)}" cy="{number(y)}" r="{number(r)}"', look, tip)

    def path(self, d: str, look: str = "line", wide: float = 1, dashed: bool = False) -> None:
        """Draw any SVG path."""
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        self._add("path", f'd="{d}" stroke-width="{number(wide)}"{dash}', look)

    def line(self, *points: Point, look: str = "line", wide: float = 1, dashed: bool = False) -> None:
        """Draw straight lines from point to point."""
        self.path("M" + " L".join(f"{number(x)} {number(y)}" for x, y in points), look, wide, dashed)

    def arrow(self, *points: Point, look: str = "line", wide: float = 1.2) -> None:
        """Draw straight lines from point to point, with an arrowhead at the last."""
        self.line(*points, look=look, wide=wide)
        self.head(points[-1], points[-2], "ink" if look == "line" else "shade")

    def bow(self, start: Point, end: Point, lift: float, look: str = "line") -> None:
        """Draw an arrow whose middle is lifted (or lowered, if negative)."""
        middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 - 2 * lift)
        (x1, y1), (x2, y2), (x3, y3) = start, middle, end
        numbers = " ".join(map(number, (x2, y2, x3, y3)))
        self.path(f"M{number(x1)} {number(y1)} Q{numbers}", look, 1.2)
        self.head(end, middle, "ink" if look == "line" else "shade")

    def head(self, tip: Point, back: Point, look: str = "ink", size: float = 6) -> None:
        """Draw the head of an arrow that comes from `back`."""
        angle = math.atan2(tip[1] - back[1], tip[0] - back[0])
        corners = [(tip[0] - size * math.cos(angle + s), tip[1] - size * math.sin(angle + s)) for s in (0.45, -0.45)]
        points = " L".join(f"{number(x)} {number(y)}" for x, y in (tip, *corners))
        self.path(f"M{points} Z", look, 0)

    def text(self, x: float, y: float, words: str, size: float = 12, look: str = "", anchor: str = "") -> None:
        """Draw a text centred on a point, beginning at it (`start`) or ending at it (`end`)."""
        place = f'x="{number(x)}" y="{number(y + 0.36 * size)}" font-size="{number(size)}"'
        style = f' style="text-anchor:{anchor}"' if anchor else ""
        named = f' class="{look}"' if look else ""
        self._shapes.append(f"<text {place}{named}{style}>{escape(words)}</text>")

    def svg(self) -> str:
        """Return the drawing as an SVG file."""
        w, h = number(self.width), number(self.height)
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" role="img">',
            f"<title>{escape(self.title)}</title>",
            STYLE,
            f'<rect class="bare" width="{w}" height="{h}" rx="8"/>',
            *self._shapes,
            "</svg>",
        ]
        return "\n".join(lines) + "\n"

    def _add(self, name: str, attributes: str, look: str, tip: str = "") -> None:
        end = f"><title>{escape(tip)}</title></{name}>" if tip else "/>"
        self._shapes.append(f'<{name} class="{look}" {attributes}{end}')
