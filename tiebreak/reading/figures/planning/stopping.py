"""Figures of the width of the confidence sequences against the number of ratings."""

from tiebreak.digits import counted, in_digits
from tiebreak.reading.charts.lines import Line, line_chart
from tiebreak.reading.figures.figure import Figure, empty_figure
from tiebreak.reading.messages import NO_PLAN_KNOWN, NO_SEQUENCE_YET
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.stopping import PairSequence

MAX_PAIRS = 6
USUAL_WIDTH = 0.1  # a win rate that is known to ±0.05
TITLE = "Width of the interval by number of ratings"
COLUMNS = ("instances", "ratings", "low", "high", "width")
READING = (
    "The line shows how wide the confidence sequence of the win rate was after each complete instance,"
    " by the number of ratings of these instances. It never widens. Ratings of instances that wait for"
    " an unfinished one before them are not counted. A narrow interval that contains ½ says that the"
    " systems are close; it does not say that they are equal."
)


def width_figures(section: CriterionSection, target: float | None) -> list[Figure]:
    """Return a figure for each pair of systems, with the study's target width or a usual one."""
    stopping = section.stopping
    if stopping is None or not stopping.pairs:
        reason = NO_PLAN_KNOWN if stopping is None else stopping.reason or NO_SEQUENCE_YET
        return [empty_figure("interval-width", TITLE, reason)]
    pairs = list(stopping.pairs.items())[:MAX_PAIRS]
    return [_figure(n, name, pair, target) for n, (name, pair) in enumerate(pairs, start=1)]


def _figure(number: int, name: str, pair: PairSequence, target: float | None) -> Figure:
    slug = "interval-width" if number == 1 else f"interval-width-{number}"
    title, points = f"{TITLE}: {name}", [p for p in pair.path if p.low <= p.high]
    if not points:
        return empty_figure(slug, title, pair.win_rate.reason or NO_SEQUENCE_YET)
    last = points[-1]
    finding = (
        f"{name}: the interval is {in_digits(last.high - last.low)} wide after"
        f" {counted(last.ratings, 'rating')}"
    )
    line = Line("human", name, tuple((p.ratings, p.high - p.low) for p in points))
    return Figure(
        slug,
        finding,
        f"It runs from {in_digits(last.low)} to {in_digits(last.high)}.",
        line_chart(
            [line],
            finding=finding,
            x_label="ratings",
            y_label="width",
            target=target or USUAL_WIDTH,
            target_name="target" if target else "usual target",
            unit="ratings",
        ),
        COLUMNS,
        tuple((p.instances, p.ratings, p.low, p.high, p.high - p.low) for p in points),
        READING,
    )
