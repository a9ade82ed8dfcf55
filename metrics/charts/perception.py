"""Labels of annotators and a machine by the majority label of annotators."""

import math

from django.utils.safestring import SafeString

from metrics.charts.svg import COLOURS, NOTHING, svg, tag, text
from tiebreak.report.model import CriterionSection


def perception_chart(
    section: CriterionSection, names: dict[str, str], machine: str | None
) -> SafeString:
    """Draw the labels of annotators and of one machine for each majority label of annotators."""
    bins = section.perception
    if not bins:
        return NOTHING
    labels = [str(label) for label in section.labels]
    bar, gap = 20, 14
    group = len(labels) * (2 * bar + 2 + gap)
    width = max(600, len(bins) * (group + 24) + 20)
    body, majorities = "", []
    for index, row in enumerate(bins):
        left = 20 + index * (group + 24)
        name = names.get(row.label, row.label)
        body += text(left + group / 2, 18, f"Majority: {name} · {row.share:.0%}")
        majorities.append(f"{name} in {row.share:.0%} of items")
        for position, label in enumerate(labels):
            x = left + position * (2 * bar + 2 + gap)
            body += _bar(x, bar, row.humans[label], "human", COLOURS["human"], rounded=True)
            if machine is not None:
                share = row.machines[machine][label]
                body += _bar(x + bar + 2, bar, share, "machine", COLOURS["machine"], rounded=False)
            body += text(x + bar + 1, 166, names.get(label, label))
    raters = f"annotators and {machine}" if machine else "annotators"
    description = f"Labels of {raters} by majority label of annotators: {'; '.join(majorities)}"
    return svg(width, 176, description, body)


def _bar(x: float, width: int, share: float, css_class: str, colour: str, *, rounded: bool) -> str:
    share = 0.0 if math.isnan(share) else share
    height = 110 * share
    return tag(
        "rect",
        tag("title", f"{share:.0%}"),
        x=x,
        y=150 - height,
        width=width,
        height=height,
        rx=4 if rounded else 0,
        class_=css_class,
        fill=colour,
    )
