"""Figures as SVG: attributes for print, classes for the page's light and dark colours.

Every figure says in words what it shows, and people and machines differ in shape, not only in
colour.
"""

from typing import Any
from xml.sax.saxutils import escape, quoteattr

from django.utils.safestring import SafeString, mark_safe

Json = dict[str, Any]
Point = tuple[float, float]

HUMAN, MACHINE, LINE, SOFT = "#1f5f5b", "#b8721f", "#dfdbd2", "#67635b"
FONT = "system-ui, sans-serif"


def _tag(name: str, inside: str = "", **attributes: Any) -> str:
    text = "".join(
        f" {key.rstrip('_').replace('_', '-')}={quoteattr(_value(value))}"
        for key, value in attributes.items()
    )
    return f"<{name}{text}>{inside}</{name}>"


def _value(value: Any) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    return _tag(
        "text",
        escape(words),
        x=x,
        y=y,
        text_anchor=anchor,
        class_="tick",
        fill=SOFT,
        font_size=12,
        font_family=FONT,
    )


def _line(start: Point, end: Point, kind: str, colour: str, *, width: float = 1) -> str:
    (x1, y1), (x2, y2) = start, end
    return _tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind, stroke=colour, stroke_width=width)


def _picture(width: int, height: int, says: str, body: str, kind: str) -> SafeString:
    title = _tag("title", escape(says))
    return mark_safe(  # noqa: S308  every text in it was escaped above
        _tag(
            "svg",
            title + body,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {width} {height}",
            width=width,
            height=height,
            role="img",
            class_=kind,
            aria_label=says,
        )
    )


def interval_glyph(estimate: Json, *, low: float = -1.0, high: float = 1.0) -> SafeString:
    """A value with its interval on a small axis; an empty picture where it is undefined."""
    width, height, margin = 140, 14, 6
    value = estimate["value"]
    if value is None:
        return mark_safe("")

    def x(number: float) -> float:
        clipped = min(max(number, low), high)
        return margin + float((clipped - low) / (high - low)) * (width - 2 * margin)

    middle = 0.0 if low < 0 else (low + high) / 2
    body = _line((x(middle), 0), (x(middle), height), "grid", LINE)
    says = f"{value:.2f}"
    if estimate["low"] is not None:
        ends = (x(estimate["low"]), 7), (x(estimate["high"]), 7)
        body += _line(*ends, "human-line", HUMAN, width=2)
        says += f", interval {estimate['low']:.2f} to {estimate['high']:.2f}"
    body += _tag("circle", cx=x(value), cy=7, r=3.5, class_="human", fill=HUMAN)
    return _picture(width, height, says, body, "glyph")


def separability_chart(sets: Json) -> SafeString:
    """Mean consistency per range of separability, with intervals (the paper's figure 8)."""
    ranges = [each for each in sets["by_separability"] if each["consistency"]["value"] is not None]
    if not ranges:
        return mark_safe("")
    first, last = sets["by_separability"][0]["low"], sets["by_separability"][-1]["high"]

    def x(delta: float) -> float:
        return 60 + float((delta - first) / max(last - first, 1e-9)) * 510

    def y(consistency: float) -> float:
        return 230 - consistency * 200

    body = "".join(
        _line((60, y(tick)), (570, y(tick)), "grid", LINE)
        + _text(52, y(tick) + 4, f"{tick:.2f}", "end")
        for tick in (0, 0.25, 0.5, 0.75, 1)
    )
    body += _text(315, 276, "separability δ of the instance")
    edges = [each["low"] for each in sets["by_separability"]] + [last]
    body += "".join(_text(x(edge), 250, f"{edge:.2f}") for edge in edges)
    for each in ranges:
        middle, mean = (each["low"] + each["high"]) / 2, each["consistency"]
        if mean["low"] is not None:
            ends = (x(middle), y(mean["low"])), (x(middle), y(mean["high"]))
            body += _line(*ends, "human-line", HUMAN, width=2)
        body += _tag("circle", cx=x(middle), cy=y(mean["value"]), r=4.5, class_="human", fill=HUMAN)
        body += _text(x(middle), y(mean["high"] or mean["value"]) - 8, f"n = {each['n']}")
    says = "Mean consistency per range of separability: " + ", ".join(
        f"{each['low']:.2f} to {each['high']:.2f}: {each['consistency']['value']:.2f}"
        for each in ranges
    )
    return _picture(600, 290, says, body, "chart")


def perception_chart(section: Json, names: dict[str, str], machine: str | None) -> SafeString:
    """Per bin of the human majority, the labels people gave beside those of one machine."""
    bins = section["perception"]
    if not bins:
        return mark_safe("")
    labels = [str(label) for label in section["labels"]]
    bar, gap = 20, 14
    group = len(labels) * (2 * bar + 2 + gap)
    width = max(600, len(bins) * (group + 24) + 20)
    body, says = "", []
    for index, each in enumerate(bins):
        left = 20 + index * (group + 24)
        name = names.get(each["label"], each["label"])
        body += _text(left + group / 2, 18, f"Humans mostly say {name} · {each['share']:.0%}")
        says.append(f"{name} {each['share']:.0%} of units")
        for position, label in enumerate(labels):
            at = left + position * (2 * bar + 2 + gap)
            body += _bar(at, bar, each["humans"][label], "human", HUMAN, rounded=True)
            if machine is not None:
                shown = each["machines"][machine][label]
                body += _bar(at + bar + 2, bar, shown, "machine", MACHINE, rounded=False)
            body += _text(at + bar + 1, 166, names.get(label, label))
    who = f"people and {machine}" if machine else "people"
    return _picture(
        width, 176, f"Labels of {who} by human majority: {'; '.join(says)}", body, "chart"
    )


def _bar(
    x: float, width: int, share: float | None, kind: str, colour: str, *, rounded: bool
) -> str:
    height = 110 * (share or 0.0)
    return _tag(
        "rect",
        _tag("title", f"{share or 0:.0%}"),
        x=x,
        y=150 - height,
        width=width,
        height=height,
        rx=4 if rounded else 0,
        class_=kind,
        fill=colour,
    )
