"""Distributions of separability and of the alignments that it is computed from."""

from django.utils.safestring import SafeString

from metrics.charts.svg import COLOURS, LINE, NOTHING, line, svg, tag, text

BINS = 24


def separability_histogram(delta: list[float]) -> SafeString:
    """Draw a histogram of the instances' separability."""
    if not delta:
        return NOTHING
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
        body += tag("rect", tag("title", title), **bar, class_="human", fill=COLOURS["human"])
    body += line((40, 320), (568, 320), "grid", LINE)
    body += text(40, 338, f"{low:.2f}", "start") + text(568, 338, f"{high:.2f}", "end")
    body += text(304, 356, "separability (δ) of the instance")
    body += text(34, 46, str(highest), "end")
    median = sorted(delta)[len(delta) // 2]
    description = (
        f"{len(delta)} instances with separability from {low:.2f} to {high:.2f}, median"
        f" {median:.2f}"
    )
    return svg(600, 364, description, body)


def scenarios_chart(cross: list[float], best_self: list[float]) -> SafeString:
    """Draw instances by cross-alignment (x) and the higher of the two self-alignments (y).

    The four corners are the four scenarios of Ghosh et al. 2024, figure 2. Above the diagonal, the
    systems can be told apart.
    """
    if not cross:
        return NOTHING

    def x(value: float) -> float:
        return 50 + 300 * min(max(value, 0.0), 1.0)

    def y(value: float) -> float:
        return 320 - 300 * min(max(value, 0.0), 1.0)

    body = line((x(0), y(0)), (x(1), y(1)), "grid", LINE)
    body += line((x(0), y(0)), (x(1), y(0)), "grid", LINE)
    body += line((x(0), y(0)), (x(0), y(1)), "grid", LINE)
    for tick in (0, 0.5, 1):
        body += text(x(tick), 338, f"{tick:g}") + text(42, y(tick) + 4, f"{tick:g}", "end")
    for c, s in zip(cross, best_self, strict=True):
        body += tag(
            "circle",
            cx=x(c),
            cy=y(s),
            r=3.5,
            class_="human",
            fill=COLOURS["human"],
            fill_opacity=0.45,
        )
    body += text(200, 356, "similarity between the two systems")
    body += text(52, 12, "similarity within the more consistent system", "start")
    above = sum(s > c for c, s in zip(cross, best_self, strict=True))
    description = (
        f"Self-alignment against cross-alignment of {len(cross)} instances, {above} of them above"
        " the diagonal"
    )
    return svg(400, 364, description, body)
