"""The smallest difference of two systems that a study can see, and what more ratings would change."""

from math import isnan, sqrt

from tiebreak.digits import in_digits
from tiebreak.reading.charts.lines import Line, line_chart
from tiebreak.reading.figures.figure import Figure, empty_figure
from tiebreak.reading.leading_numbers import hardest_pair, pair_rates
from tiebreak.report.model.report import CriterionSection

NAME = "smallest-difference"
TITLE = "Smallest difference by number of ratings"
COLUMNS = ("ratings", "difference")
# From a quarter of the ratings to four times as many.
TIMES = tuple(2 ** (step / 4) for step in range(-8, 9))
READING = (
    "The line shows the smallest difference of a pair's two win rates, p and 1 − p, that four of five studies of a size would"
    " show, for the pair of systems that needs the largest. The dashed part is a forecast: it supposes that"
    " instances and annotators grow in the same proportion and are like those of this study. More instances"
    " for the same annotators gain less. The true difference may be smaller than what any affordable study"
    " can see."
)


def smallest_differences(section: CriterionSection) -> dict[int, float]:
    """Return what studies of several numbers of ratings would see, which is a forecast; empty if unknown."""
    _, now, _ = hardest_pair(section)
    sizes = {times: round(times * section.n_ratings) for times in TIMES}
    return {} if isnan(now.value) else {n: now.value / sqrt(x) for x, n in sizes.items()}


def _answer(section: CriterionSection) -> str:
    """Return whether more ratings are needed to show which system of each pair is better."""
    rates = [rate for rate in pair_rates(section).values() if rate.is_defined]
    open_ = sum(not rate.has_interval or rate.low <= 0.5 <= rate.high for rate in rates)
    if len(rates) > 1:
        return f"Yes, for {open_} of {len(rates)} pairs" if open_ else "No, every pair differs"
    return "Yes, no difference is shown" if open_ else "No, a difference is shown"


def smallest_difference_figure(section: CriterionSection) -> Figure:
    """Return how the smallest difference falls with the number of ratings, which is a forecast."""
    pair, now, n_pairs = hardest_pair(section)
    if isnan(now.value):
        return empty_figure(NAME, TITLE, now.reason or "")
    size = section.n_ratings
    points = list(smallest_differences(section).items())
    so_far = tuple((n, least) for n, least in points if n <= size and least < 1)
    ahead = tuple((n, least) for n, least in points if n >= size)
    finding = f"{_answer(section)}: this study sees differences from {in_digits(now.value)} on"
    return Figure(
        NAME,
        finding,
        f"{pair} needs the largest difference of {n_pairs} pairs." if n_pairs > 1 else "",
        line_chart(
            [Line("human-open", "forecast", ahead), Line("human", "this study", so_far)],
            finding=finding,
            x_label="ratings by annotators",
            y_label="difference of two win rates within a pair",
            unit="ratings",
        ),
        COLUMNS,
        tuple(dict.fromkeys(so_far + ahead)),
        READING,
        title=TITLE,
    )
