"""Figures as SVG. Attributes set colours for print, and classes the page's light and dark colours.

Each figure has a text alternative, and annotators and machines differ in shape as well as colour.
"""

import math
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from django.utils.safestring import SafeString, mark_safe

from tiebreak.report.model import CriterionSection, RaterSets
from tiebreak.stats import Estimate

Point = tuple[float, float]

HUMAN, MACHINE, LINE, SOFT = "#1f5f5b", "#b8721f", "#dfdbd2", "#67635b"
FONT = "system-ui, sans-serif"


def _tag(name: str, content: str = "", **attributes: Any) -> str:
    markup = "".join(
        f" {key.rstrip('_').replace('_', '-')}={quoteattr(_value(value))}"
        for key, value in attributes.items()
    )
    return f"<{name}{markup}>{content}</{name}>"


def _value(value: Any) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return _tag(
        "text",
        escape(text),
        x=x,
        y=y,
        text_anchor=anchor,
        class_="tick",
        fill=SOFT,
        font_size=12,
        font_family=FONT,
    )


def _line(start: Point, end: Point, css_class: str, colour: str, *, width: float = 1) -> str:
    (x1, y1), (x2, y2) = start, end
    return _tag(
        "line", x1=x1, y1=y1, x2=x2, y2=y2, class_=css_class, stroke=colour, stroke_width=width
    )


def _figure(width: int, height: int, description: str, body: str, css_class: str) -> SafeString:
    title = _tag("title", escape(description))
    return mark_safe(  # noqa: S308  `_tag` and `escape` escaped every text in it
        _tag(
            "svg",
            title + body,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {width} {height}",
            width=width,
            height=height,
            role="img",
            class_=css_class,
            aria_label=description,
        )
    )


def interval_glyph(estimate: Estimate, *, low: float = -1.0, high: float = 1.0) -> SafeString:
    """Draw a value with its interval on a small axis, or return "" if the value is undefined."""
    width, height, margin = 140, 14, 6
    value = estimate.value
    if not estimate.is_defined:
        return mark_safe("")

    def x(number: float) -> float:
        clipped = min(max(number, low), high)
        return margin + float((clipped - low) / (high - low)) * (width - 2 * margin)

    middle = 0.0 if low < 0 else (low + high) / 2
    body = _line((x(middle), 0), (x(middle), height), "grid", LINE)
    description = f"{value:.2f}"
    if estimate.has_interval:
        ends = (x(estimate.low), 7), (x(estimate.high), 7)
        body += _line(*ends, "human-line", HUMAN, width=2)
        description += f", interval {estimate.low:.2f} to {estimate.high:.2f}"
    body += _tag("circle", cx=x(value), cy=7, r=3.5, class_="human", fill=HUMAN)
    return _figure(width, height, description, body, "glyph")


def separability_chart(sets: RaterSets) -> SafeString:
    """Draw mean consistency by range of separability, as in Ghosh et al. 2024, figure 8."""
    ranges = [row for row in sets.by_separability if row.consistency.is_defined]
    if not ranges:
        return mark_safe("")
    first, last = sets.by_separability[0].low, sets.by_separability[-1].high

    def x(delta: float) -> float:
        return 60 + float((delta - first) / max(last - first, 1e-9)) * 470

    def y(consistency: float) -> float:
        return 230 - consistency * 200

    body = "".join(
        _line((60, y(tick)), (530, y(tick)), "grid", LINE)
        + _text(52, y(tick) + 4, f"{tick:.2f}", "end")
        for tick in (0, 0.25, 0.5, 0.75, 1)
    )
    body += _text(295, 276, "separability (δ) of the instance")
    edges = [row.low for row in sets.by_separability] + [last]
    body += "".join(_text(x(edge), 250, f"{edge:.2f}") for edge in edges)
    for row in ranges:
        middle, mean = (row.low + row.high) / 2, row.consistency
        if mean.has_interval:
            ends = (x(middle), y(mean.low)), (x(middle), y(mean.high))
            body += _line(*ends, "human-line", HUMAN, width=2)
        body += _tag("circle", cx=x(middle), cy=y(mean.value), r=4.5, class_="human", fill=HUMAN)
        body += _text(
            x(middle), y(mean.high if mean.has_interval else mean.value) - 8, f"{row.n} sets"
        )
    description = "Mean consistency by range of separability: " + ", ".join(
        f"{row.low:.2f} to {row.high:.2f}: {row.consistency.value:.2f}" for row in ranges
    )
    return _figure(560, 290, description, body, "chart")


def perception_chart(
    section: CriterionSection, names: dict[str, str], machine: str | None
) -> SafeString:
    """Draw the labels of annotators and of one machine for each majority label of annotators."""
    bins = section.perception
    if not bins:
        return mark_safe("")
    labels = [str(label) for label in section.labels]
    bar, gap = 20, 14
    group = len(labels) * (2 * bar + 2 + gap)
    width = max(600, len(bins) * (group + 24) + 20)
    body, majorities = "", []
    for index, row in enumerate(bins):
        left = 20 + index * (group + 24)
        name = names.get(row.label, row.label)
        body += _text(left + group / 2, 18, f"Majority: {name} · {row.share:.0%}")
        majorities.append(f"{name} in {row.share:.0%} of units")
        for position, label in enumerate(labels):
            x = left + position * (2 * bar + 2 + gap)
            body += _bar(x, bar, row.humans[label], "human", HUMAN, rounded=True)
            if machine is not None:
                share = row.machines[machine][label]
                body += _bar(x + bar + 2, bar, share, "machine", MACHINE, rounded=False)
            body += _text(x + bar + 1, 166, names.get(label, label))
    raters = f"annotators and {machine}" if machine else "annotators"
    description = f"Labels of {raters} by majority label of annotators: {'; '.join(majorities)}"
    return _figure(width, 176, description, body, "chart")


def _bar(x: float, width: int, share: float, css_class: str, colour: str, *, rounded: bool) -> str:
    share = 0.0 if math.isnan(share) else share
    height = 110 * share
    return _tag(
        "rect",
        _tag("title", f"{share:.0%}"),
        x=x,
        y=150 - height,
        width=width,
        height=height,
        rx=4 if rounded else 0,
        class_=css_class,
        fill=colour,
    )


BINS = 24


def separability_histogram(delta: list[float]) -> SafeString:
    """Draw a histogram of the instances' separability."""
    if not delta:
        return mark_safe("")
    low, high = min(delta), max(delta)
    width = (high - low) / BINS or 1.0
    counts = [0] * BINS
    for value in delta:
        counts[min(int((value - low) / width), BINS - 1)] += 1
    highest = max(counts)
    body = ""
    for index, n in enumerate(counts):
        x, height = 40 + index * 22, 280 * n / highest
        title = f"{low + index * width:.2f} to {low + (index + 1) * width:.2f}: {n}"
        bar = {"x": x, "y": 320 - height, "width": 20, "height": height, "rx": 2}
        body += _tag("rect", _tag("title", title), **bar, class_="human", fill=HUMAN)
    body += _line((40, 320), (568, 320), "grid", LINE)
    body += _text(40, 338, f"{low:.2f}", "start") + _text(568, 338, f"{high:.2f}", "end")
    body += _text(304, 356, "separability (δ) of the instance")
    body += _text(34, 46, str(highest), "end")
    median = sorted(delta)[len(delta) // 2]
    description = (
        f"{len(delta)} instances with separability from {low:.2f} to {high:.2f}, median"
        f" {median:.2f}"
    )
    return _figure(600, 364, description, body, "chart")


def scenarios_chart(cross: list[float], best_self: list[float]) -> SafeString:
    """Draw instances by cross-alignment (x) and the higher of the two self-alignments (y).

    The four corners are the four scenarios of Ghosh et al. 2024, figure 2. Above the diagonal, the
    systems can be told apart.
    """
    if not cross:
        return mark_safe("")

    def x(value: float) -> float:
        return 50 + 300 * min(max(value, 0.0), 1.0)

    def y(value: float) -> float:
        return 320 - 300 * min(max(value, 0.0), 1.0)

    body = _line((x(0), y(0)), (x(1), y(1)), "grid", LINE)
    body += _line((x(0), y(0)), (x(1), y(0)), "grid", LINE)
    body += _line((x(0), y(0)), (x(0), y(1)), "grid", LINE)
    for tick in (0, 0.5, 1):
        body += _text(x(tick), 338, f"{tick:g}") + _text(42, y(tick) + 4, f"{tick:g}", "end")
    for c, s in zip(cross, best_self, strict=True):
        body += _tag(
            "circle", cx=x(c), cy=y(s), r=3.5, class_="human", fill=HUMAN, fill_opacity=0.45
        )
    body += _text(200, 356, "similarity between the two systems")
    body += _text(52, 12, "similarity within the more consistent system", "start")
    above = sum(s > c for c, s in zip(cross, best_self, strict=True))
    description = (
        f"Self-alignment against cross-alignment of {len(cross)} instances, {above} of them above"
        " the diagonal"
    )
    return _figure(400, 364, description, body, "chart")
