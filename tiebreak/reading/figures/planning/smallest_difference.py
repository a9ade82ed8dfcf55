"""How precisely a study tells win rates, what it can see, and what more ratings would change."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import comb, isnan, sqrt

from tiebreak.digits import in_digits
from tiebreak.reading.charts.lines import Line, line_chart
from tiebreak.reading.figures.figure import Figure, empty_figure
from tiebreak.reading.figures.planning.stopping import USUAL_WIDTH
from tiebreak.reading.leading_numbers import hardest_pair, pair_rates
from tiebreak.reading.messages import WITH_THESE
from tiebreak.report.model.report import CriterionSection
from tiebreak.stats import Estimate

NAME = "smallest-difference"
TITLE = "Precision of a win rate by number of ratings"
COLUMNS = ("ratings", "half_width", "difference")
# From a quarter of the ratings to four times as many.
TIMES = tuple(2 ** (step / 4) for step in range(-8, 9))
MOST_TIMES = 16  # as many ratings, up to which the usual precision is in sight
NEARLY, FEW_TIMES = (
    1.05,
    3,
)  # below which a precision is reached, and a number of times has a decimal
USUAL = USUAL_WIDTH / 2
PRECISION = f"±{USUAL:g}"
TOLD = f"a win rate to {PRECISION}"
READING = (
    "The line shows how precisely a study of a size tells a pair's win rate: half the width of its 95% interval, for"
    " the pair of systems whose interval is the widest. The dashed part is a forecast: it supposes that"
    " instances and annotators grow in the same proportion and are like those of this study. More instances"
    f" for the same annotators gain less. The horizontal line is {PRECISION}. A study sees a difference of the two win"
    " rates, p and 1 − p, if four of five studies like it would show it, and the true difference may be smaller than"
    " what any affordable study can see."
)


def smallest_differences(section: CriterionSection) -> dict[int, float]:
    """Return what studies of several numbers of ratings would see, which is a forecast; empty if unknown."""
    _, now, _ = hardest_pair(section)
    if isnan(now.value):
        return {}
    reach, last = (widest(section) / USUAL_WIDTH) ** 2, max(TIMES)
    further = (1.5 * last, 2 * last, 3 * last, reach) if 1 < reach <= MOST_TIMES else ()
    times = sorted({*TIMES, *(one for one in further if one <= max(reach, last))})
    sizes = {one: round(one * section.n_ratings) for one in times}
    return {n: now.value / sqrt(one) for one, n in sizes.items()}


def widest(section: CriterionSection) -> float:
    """Return the width of the widest interval of a pair's win rate, which falls with the root of the number of ratings."""
    return max(one.high - one.low for one in pair_rates(section).values() if one.has_interval)


def precisions(section: CriterionSection) -> dict[int, float]:
    """Return to what studies of several numbers of ratings tell any pair's win rate: half the widest interval."""
    sees = smallest_differences(section)
    each = widest(section) / 2 / sees[section.n_ratings] if sees else 0.0
    # Rounded, so that the number that reaches the usual precision is not beside it by the error of a product.
    return {n: round(least * each, 12) for n, least in sees.items()}


def _open(section: CriterionSection) -> dict[str, Estimate]:
    """Return the pairs of which no difference is shown."""
    return {
        name: rate
        for name, rate in pair_rates(section).items()
        if rate.is_defined and (not rate.has_interval or rate.low <= 0.5 <= rate.high)
    }


def _answer(section: CriterionSection) -> str:
    """Return for how many pairs it is shown which system is better, and what the others need.

    No number of ratings is named that would show a difference, because there may be none: only the
    number that tells the win rates to a usual precision.
    """
    rates = {name: one for name, one in pair_rates(section).items() if one.is_defined}
    still_open, n = _open(section), len(rates)
    shown = [one for name, one in rates.items() if name not in still_open]
    whose = WITH_THESE if any(one.scope.raters == "these" for one in shown) else ""
    if not still_open:
        settled = "a difference is shown" if n == 1 else f"all {n} pairs are settled"
        return f"{whose}{settled}; more ratings would only narrow the intervals".capitalize()
    if n == 1:
        return f"No difference is shown{_need(still_open, '')}"
    if len(still_open) == n:
        return f"No pair is settled{_need(still_open, '')}"
    if found := _settled_system(rates, still_open):
        system, others = found
        enough = f"{whose}enough for " if whose else "Enough for "
        return f"{enough}{system}{_need(still_open, others)}"
    others = "the other" if len(still_open) == 1 else "the others"
    return f"{whose}{len(shown)} of {n} pairs settled{_need(still_open, others)}"


def _settled_system(
    rates: Mapping[str, Estimate], still_open: Mapping[str, Estimate]
) -> tuple[str, str] | None:
    """Return the one system that is told apart from each other one, if no two others are, and what to call these."""
    pairs = {name: frozenset(name.split(" vs ")) for name in rates}
    systems = frozenset[str]().union(*pairs.values())
    others = frozenset[str]().union(*(pairs[name] for name in still_open))
    is_complete = len(rates) == comb(len(systems), 2)
    if not is_complete or len(systems - others) != 1 or len(still_open) < comb(len(others), 2):
        return None
    (system,) = systems - others
    return system, f"the other {'two' if len(others) == 2 else len(others)}"


def _need(still_open: Mapping[str, Estimate], whose: str) -> str:
    """Return how many times the ratings tell the win rates of these pairs to a usual precision.

    That would not tell systems apart if their lead were the small one that is seen.
    """
    if not all(rate.has_interval for rate in still_open.values()):
        return ""
    # Widths fall with the root of the number of ratings, so the widest needs the most.
    times = max((rate.high - rate.low) / USUAL_WIDTH for rate in still_open.values()) ** 2
    if times < NEARLY:
        verb = "is" if whose == "the other" else "are"
        return f", known to {PRECISION}" if not whose else f"; {whose} {verb} known to {PRECISION}"
    about = f"about {in_digits(times, 0 if times >= FEW_TIMES else 1)}"
    many = f"{f'over {MOST_TIMES}' if times > MOST_TIMES else about} times the ratings"
    if seen := _too_small(still_open, whose):
        return f"; {seen} too small for {PRECISION}"
    if not whose:
        return f"; {PRECISION} takes {many}"
    need = "needs" if whose == "the other" else "need"
    return f"; {whose} {need} {many} for {PRECISION}"


def _too_small(still_open: Mapping[str, Estimate], whose: str) -> str:
    """Return which leads were seen, if studies that tell win rates to the usual precision would show none of them."""
    widest = max(rate.high - rate.low for rate in still_open.values())
    # Where the widest interval has the usual width, the others are as much narrower as they are now.
    halves = {name: USUAL * (rate.high - rate.low) / widest for name, rate in still_open.items()}
    if any(abs(rate.value - 0.5) > halves[name] for name, rate in still_open.items()):
        return ""
    noun, verb = ("lead", "is") if len(still_open) == 1 else ("leads", "are")
    if whose in ("the other", "the others"):
        return f"the other {noun} seen {verb}"
    return f"the {noun} seen{f' between {whose}' if whose else ''} {verb}"


def _seen(section: CriterionSection) -> str:
    """Return the leads of which none is shown: estimates, from which no number of ratings is foretold."""
    leads = sorted(abs(rate.value - 0.5) for rate in _open(section).values())
    if not leads:
        return ""
    told = " to ".join(dict.fromkeys(in_digits(leads[n]) for n in (0, -1)))
    which, true = ("lead", "true one") if len(leads) == 1 else ("leads", "true ones")
    return f"{which} seen: {told} over one half; the {true} may be larger or smaller"


def _sentence(pair: str, least: float, n_pairs: int, reached: int | None) -> str:
    sees = f"This study sees differences from {in_digits(least)} on"
    of = f", which is for {pair}; other pairs need less" if n_pairs > 1 else ""
    many = f" About {reached:,} ratings would tell {TOLD}." if reached else ""
    return f"{sees}{of}.{many}"


def reached_at(section: CriterionSection) -> int | None:
    """Return the number of ratings, above those that there are, that tell a win rate to a usual precision."""
    told = precisions(section)
    if told.get(section.n_ratings, 0.0) <= USUAL:
        return None
    return next((n for n, half in told.items() if half <= USUAL), None)


def smallest_difference_figure(
    section: CriterionSection, cost: Callable[[float], str] | None = None
) -> Figure:
    """Return how precisely more ratings would tell a win rate, which is a forecast.

    ``cost`` says what a number of ratings costs, beside the numbers of ratings that are named.
    """
    pair, now, n_pairs = hardest_pair(section)
    if isnan(now.value):
        return empty_figure(NAME, TITLE, now.reason or "")
    size, sees, told = section.n_ratings, smallest_differences(section), precisions(section)
    known = [n for n in told if n >= size or sees[n] < 1]
    reached, finding = reached_at(section), _answer(section)
    so_far = tuple((n, told[n]) for n in known if n <= size)
    ahead = tuple((n, told[n]) for n in known if size <= n <= (reached or n))
    return Figure(
        NAME,
        finding,
        _sentence(pair, now.value, n_pairs, reached),
        replace(
            line_chart(
                [Line("human-open", "forecast", ahead), Line("human", "this study", so_far)],
                finding=finding,
                x_label="ratings by annotators",
                y_label="a pair's win rate is known to within ±",
                target=USUAL,
                target_name="usual precision:",
                unit="ratings",
                sign="±",
                noted=cost,
            ),
            caption=_seen(section),
        ),
        COLUMNS,
        tuple((n, told[n], sees[n]) for n in known),
        READING,
        title=TITLE,
    )
