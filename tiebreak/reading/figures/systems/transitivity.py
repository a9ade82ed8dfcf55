"""The figure of whether one order explains the win rates of pairs."""

from math import exp

from tiebreak.digits import in_digits, p_in_digits, percent
from tiebreak.reading.charts.curves import scatter_chart
from tiebreak.reading.figures.figure import Figure, empty_figure
from tiebreak.reading.findings import scope_suffix
from tiebreak.report.model.rankings import TransitivitySection
from tiebreak.report.model.report import CriterionSection

SIGNIFICANT = 0.05
MIN_SYSTEMS = 3
TWO_SYSTEMS = "With two systems there is nothing to contradict an order."
ORDER_TITLE = "Win rates of pairs and those that one order implies"
ORDER_READING = (
    "Each point is a pair of systems: its win rate by the Bradley–Terry strengths, in which each"
    " system has one strength, and its observed win rate. Points on the diagonal fit. The p-value"
    " tests the hypothesis that the model holds (Pearson's X² of the pairs' win rates, corrected for"
    " instances that differ). Three systems are a cycle if each beats the next; with systems that are"
    " equally good, chance makes a quarter of all triples cycles. Where the model does not fit, a"
    " ranking hides which system beats which: report pairs. Where no deviation is shown, there may"
    " still be one that these ratings are too few to show."
)
ORDER_COLUMNS = ("systems", "observed", "by_strengths")


def order_figure(section: CriterionSection) -> Figure:
    order, points = section.transitivity, _points(section)
    if not has_several(section):
        return empty_figure("order", ORDER_TITLE, TWO_SYSTEMS)
    if order is None or not points:
        reason = order.fit.p.reason if order else section.problems.get("transitivity")
        return empty_figure("order", ORDER_TITLE, reason or "The ratings do not compare systems.")
    finding = _finding(order)
    chart = scatter_chart(
        [(fitted, observed, "human", name) for name, observed, fitted in points],
        finding=finding,
        x_label="win rate by strengths",
        y_label="observed win rate",
        diagonal="as the strengths imply",
    )
    return Figure(
        "order",
        finding,
        _sentence(order),
        chart,
        ORDER_COLUMNS,
        tuple(points),
        ORDER_READING,
        title=ORDER_TITLE,
    )


def has_several(section: CriterionSection) -> bool:
    """Return whether there are three systems, so an order may be contradicted."""
    return bool(section.systems and len(section.systems.win_rate) >= MIN_SYSTEMS)


def _points(section: CriterionSection) -> list[tuple[str, float, float]]:
    """Return each pair with its observed win rate and that by the strengths."""
    systems = section.systems
    strengths = (systems.bradley_terry or {}) if systems else {}
    points = []
    for name, rate in (systems.pairs if systems else {}).items():
        first, _, second = name.partition(" vs ")
        ends = strengths.get(first), strengths.get(second)
        if rate.is_defined and all(end and end.is_defined for end in ends):
            difference = ends[1].value - ends[0].value  # type: ignore[union-attr]
            points.append((name, rate.value, 1 / (1 + exp(difference))))
    return points


def _finding(order: TransitivitySection) -> str:
    p = order.fit.p
    if not p.is_defined:
        return ORDER_TITLE
    suffix = scope_suffix(p)
    if p.value < SIGNIFICANT:
        return f"One order of the systems does not explain the win rates of all pairs{suffix}"
    return f"No contradiction of one order of the systems is shown{suffix}"


def _sentence(order: TransitivitySection) -> str:
    triads, fit = order.triads, order.fit
    parts = []
    if triads.decided:
        parts.append(
            f"{triads.cyclic:,} of {triads.decided:,} triples of systems with a winner in each"
            f" pair form a cycle ({percent(triads.share.value)})."
        )
    if triads.example:
        x, y, z = triads.example
        parts.append(f"One is {x} over {y}, {y} over {z}, and {z} over {x}.")
    if fit.pair:
        first, second = fit.pair
        parts.append(
            f"The largest deviation is {first} against {second}: {in_digits(fit.observed)} observed,"
            f" {in_digits(fit.fitted)} by the strengths."
        )
    p = fit.p
    known = p_in_digits(p.value, equals="= ") if p.is_defined else ""
    parts.append(f"p {known}." if known else p.reason or "")
    return " ".join(parts)
