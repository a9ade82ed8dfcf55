"""The smallest difference of two systems that a study can see, and what more ratings would change."""

from math import isnan, sqrt

from tiebreak.digits import in_digits
from tiebreak.reading.charts.lines import Line, line_chart
from tiebreak.reading.figures.figure import Figure, empty_figure
from tiebreak.reading.figures.planning.stopping import USUAL_WIDTH
from tiebreak.reading.leading_numbers import hardest_pair, pair_rates
from tiebreak.report.model.report import CriterionSection
from tiebreak.stats import Estimate

NAME = "smallest-difference"
TITLE = "Smallest difference by number of ratings"
COLUMNS = ("ratings", "difference")
# From a quarter of the ratings to four times as many.
TIMES = tuple(2 ** (step / 4) for step in range(-8, 9))
MOST_TIMES = 16  # as many ratings, up to which the usual precision is in sight
TOLD = f"a win rate to ±{USUAL_WIDTH / 2:g}"
READING = (
    "The line shows the smallest difference of a pair's two win rates, p and 1 − p, that four of five studies of a size would"
    " show, for the pair of systems that needs the largest. The dashed part is a forecast: it supposes that"
    " instances and annotators grow in the same proportion and are like those of this study. More instances"
    f" for the same annotators gain less. The horizontal line is what a study sees that tells the win rate of that pair"
    f" to ±{USUAL_WIDTH / 2:g}, by a 95% interval. The true difference may be smaller than what any affordable study"
    " can see."
)


def smallest_differences(section: CriterionSection) -> dict[int, float]:
    """Return what studies of several numbers of ratings would see, which is a forecast; empty if unknown."""
    _, now, _ = hardest_pair(section)
    if isnan(now.value):
        return {}
    reach, last = (now.value / usual_target(section)) ** 2, max(TIMES)
    further = (1.5 * last, 2 * last, 3 * last, reach) if 1 < reach <= MOST_TIMES else ()
    times = sorted({*TIMES, *(one for one in further if one <= max(reach, last))})
    sizes = {one: round(one * section.n_ratings) for one in times}
    return {n: now.value / sqrt(one) for one, n in sizes.items()}


def usual_target(section: CriterionSection) -> float:
    """Return what a study sees that knows the win rate of the hardest pair to a usual width.

    Both the width and the smallest difference fall with the root of the number of ratings.
    """
    pair, now, _ = hardest_pair(section)
    rate = pair_rates(section)[pair]
    return now.value * USUAL_WIDTH / (rate.high - rate.low)


def _open(section: CriterionSection) -> dict[str, Estimate]:
    """Return the pairs of which no difference is shown."""
    return {
        name: rate
        for name, rate in pair_rates(section).items()
        if rate.is_defined and (not rate.has_interval or rate.low <= 0.5 <= rate.high)
    }


def _answer(section: CriterionSection) -> str:
    """Return whether more ratings are needed to show which system of each pair is better."""
    n_open, n = len(_open(section)), sum(one.is_defined for one in pair_rates(section).values())
    if n > 1:
        return f"Yes, for {n_open} of {n} pairs" if n_open else "No, every pair differs"
    return "Yes, no difference is shown" if n_open else "No, a difference is shown"


def _sentence(pair: str, n_pairs: int, reached: int | None) -> str:
    hardest = f"{pair} needs the largest difference of {n_pairs} pairs." if n_pairs > 1 else ""
    many = f"About {reached:,} ratings would tell {TOLD}." if reached else ""
    return f"{hardest} {many}".strip()


def smallest_difference_figure(section: CriterionSection) -> Figure:
    """Return how the smallest difference falls with the number of ratings, which is a forecast."""
    pair, now, n_pairs = hardest_pair(section)
    if isnan(now.value):
        return empty_figure(NAME, TITLE, now.reason or "")
    size, target = section.n_ratings, usual_target(section)
    points = list(smallest_differences(section).items())
    so_far = tuple((n, least) for n, least in points if n <= size and least < 1)
    ahead = tuple((n, least) for n, least in points if n >= size)
    reached = next((n for n, least in ahead if least <= target < now.value), None)
    finding = f"{_answer(section)}: this study sees differences from {in_digits(now.value)} on"
    return Figure(
        NAME,
        finding,
        _sentence(pair, n_pairs, reached),
        line_chart(
            [Line("human-open", "forecast", ahead), Line("human", "this study", so_far)],
            finding=finding,
            x_label="ratings by annotators",
            y_label="difference of two win rates within a pair",
            target=target,
            target_name=f"tells {TOLD}:",
            unit="ratings",
        ),
        COLUMNS,
        tuple(dict.fromkeys(so_far + ahead)),
        READING,
        title=TITLE,
    )
