"""Figures of discernment: whether raters notice perturbed copies, and how they score them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from math import inf

from tiebreak.digits import in_digits
from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.charts.svg import Kind, kinds_of
from tiebreak.reading.charts.tables import AT_MOST, Column, Row, table_chart
from tiebreak.reading.figures.figure import (
    ESTIMATE_COLUMNS,
    Cell,
    Figure,
    Simple,
    draws_raters,
    estimate_rows,
)
from tiebreak.reading.words import counted
from tiebreak.report.model.discernment import (
    DiscernmentOverCriteria,
    DiscernmentSection,
    PerturbationTest,
    RaterDiscernment,
    ScoreSummary,
)
from tiebreak.report.sections.machines.discernment import ANNOTATORS
from tiebreak.stats import Estimate
from tiebreak.stats.core.results import undefined
from tiebreak.stats.machines.discernment import NO_PAIRS

TITLE = "Discernment: which damage each rater notices"
ALL_TITLE = "Discernment of each rater over perturbations"
NOTICED = "noticed at p = 0.05"
NO_LEVEL = "This rater scored no copy of this level."
STYLES_TITLE = "How each rater scores originals and their perturbed copies"
READING = (
    "A point is D = log₀.₀₅ p of a perturbation: p is from a one-sided Wilcoxon signed-rank test of"
    " whether the originals score higher than their copies, text by text (Wang et al. 2024). D is 0"
    " if the copies score as high as the originals, 1 on the line at p = 0.05, and grows with the"
    " damage that a rater sees and with the number of texts. So compare raters, in the same row, and"
    " never studies of different size. Annotators are tested by their mean scores. A D above 1 says"
    " that the rater noticed this damage on average; it does not say that its scores are right, nor"
    " that it would notice the smaller differences between real systems. A D below 1 does not show"
    " that a rater is blind: there may be too few texts."
)
COMBINED_READING = (
    " p is the harmonic mean over all criteria that a rater scored, which have equal weights, so one"
    " criterion that shows the damage clearly suffices: {}."
)
DIFFERENT_READING = " Do not compare raters that scored different criteria: the damage may show on some of them only."
ALL_READING = (
    "For each rater, average is the mean of the levels' means, so characters, words and sentences"
    " count equally however many perturbations they have, and minimum is the perturbation that it"
    " notices least. The averages of raters may be compared if they scored the same texts. They have no"
    " intervals: do not read a small distance as a difference. A high average says that a rater notices"
    " known damage. It does not say that the rater agrees with annotators on real texts; the agreement"
    " on this page does."
)
STYLES_READING = (
    "● median score of the originals, ○ of their copies, with lines from the lower to the upper"
    " quartile. A rater whose lines lie on each other scores both alike; one whose lines are all at the"
    " end of the scale has no room to show a difference. Only pairs of which both texts were scored"
    " count. A rater that uses other parts of the scale than annotators is not thereby a worse one."
)
COLUMNS = (
    *("rater", "perturbation", "level", "pairs", "without_a_pair", "equal_scores", "D", "p"),
    *("p_pratt", "mean_original", "mean_copy", "criteria_together_D", "criteria_together_p"),
    *("expert_weighted_D", "expert_weights", "reason"),
)
STYLE_COLUMNS = (
    *("rater", "perturbation", "texts", "mean", "lower_quartile", "median", "upper_quartile"),
)


@draws_raters("discernment")
def discernment_figures(section: DiscernmentSection, simple: Simple = None) -> list[Figure]:
    return [_tests(section, simple), _summary(section, simple), *_styles(section)]


def _kind(rater: str) -> Kind:
    return "human" if rater == ANNOTATORS else "machine"


def _open_kind(rater: str) -> Kind:
    return "human-open" if rater == ANNOTATORS else "machine-open"


def _tests(section: DiscernmentSection, simple: Simple) -> Figure:
    together = len(section.criteria) > 1 and section.all_criteria
    raters: Mapping[str, RaterDiscernment | DiscernmentOverCriteria] = (
        section.all_criteria if together else section.raters
    )
    names = dict.fromkeys(name for rater in raters.values() for name in rater.tests)
    rows = [row for name in names for row in _rows_of(name, raters, simple)]
    chart = interval_chart(rows, finding=TITLE, label="discernment D", reference=1)
    reading = READING + (_about_criteria(section) if together else "")
    return Figure(
        "discernment",
        TITLE,
        _about(section),
        chart,
        COLUMNS,
        tuple(_rows(section)),
        reading,
    )


def _about_criteria(section: DiscernmentSection) -> str:
    """Say which criteria each rater scored, and warn if they are not the same."""
    groups = _raters_by_criteria(section)
    named = "; ".join(
        f"{', '.join(raters)} over {counted(len(criteria), 'criterion', 'criteria')}"
        f" ({', '.join(criteria)})"
        for criteria, raters in groups.items()
    )
    return COMBINED_READING.format(named) + _warning(groups)


def _raters_by_criteria(section: DiscernmentSection) -> dict[tuple[str, ...], list[str]]:
    """Return the raters by the criteria on which they scored originals and copies."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for rater, one in section.all_criteria.items():
        scored = {criterion for test in one.tests.values() for criterion in test.weights}
        criteria = tuple(name for name in section.criteria if name in scored)
        groups.setdefault(criteria, []).append(rater)
    return groups


def _warning(groups: Mapping[tuple[str, ...], Sequence[str]]) -> str:
    return DIFFERENT_READING if len(groups) > 1 else ""


def _rows_of(
    name: str, raters: Mapping[str, RaterDiscernment | DiscernmentOverCriteria], simple: Simple
) -> Iterator[IntervalRow]:
    """Yield the name of a perturbation, and a row for each rater below it."""
    yield IntervalRow(name)
    kinds = {ANNOTATORS: "human"} | kinds_of(raters.keys() - {ANNOTATORS}, simple)
    for rater, one in raters.items():
        if name in one.tests:
            yield IntervalRow(rater, (Mark(kinds[rater], one.tests[name].score, rater),))


def _about(section: DiscernmentSection) -> str:
    tests = [test for rater in section.raters.values() for test in rater.tests.values()]
    most = max((test.pairs for test in tests), default=0)
    incomplete = sum(test.incomplete for test in tests)
    missing = f" {counted(incomplete, 'copy', 'copies')} or originals lack a score." * bool(
        incomplete
    )
    return f"At most {counted(most, 'text')} with a scored copy for each perturbation.{missing}"


def _rows(section: DiscernmentSection) -> Iterator[tuple[Cell, ...]]:
    for rater, one in section.raters.items():
        for name, test in one.tests.items():
            yield (
                *(rater, name, test.level, test.pairs, test.incomplete, test.unchanged),
                *(_value(e) for e in (test.score, test.p, test.p_pratt)),
                *(_number(test.original.mean), _number(test.copy.mean)),
                *_combined(section.all_criteria, rater, name)[:2],
                *_combined(section.expert_weighted, rater, name)[::2],
                test.p.reason or "",
            )


def _combined(
    raters: Mapping[str, DiscernmentOverCriteria], rater: str, name: str
) -> tuple[Cell, Cell, Cell]:
    """Return D, p and the weights of a perturbation over the criteria together."""
    test = raters[rater].tests.get(name) if rater in raters else None
    if test is None:
        return None, None, ""
    weights = ", ".join(
        f"{criterion} {in_digits(share)}" for criterion, share in test.weights.items()
    )
    return _value(test.score), _value(test.p), weights


def _summary(section: DiscernmentSection, simple: Simple) -> Figure:
    """Return each rater's average, minimum and levels, with experts' weights if there are any."""
    weighted = [
        ("equal weights", section.all_criteria),
        ("expert weights", section.expert_weighted),
    ]
    kinds = {ANNOTATORS: "human"} | kinds_of(section.all_criteria.keys() - {ANNOTATORS}, simple)
    summaries = {
        (rater, weights): dict(_summaries(one))
        for weights, raters in weighted
        for rater, one in raters.items()
    }
    names = list(dict.fromkeys(name for one in summaries.values() for name in one))
    columns = [Column(name.removeprefix("level ").capitalize(), "", ("", name)) for name in names]
    rows = [
        Row(
            rater,
            kinds[rater],
            tuple(one.get(name, undefined(NO_LEVEL)) for name in names),
            weights if section.expert_weighted else "",
        )
        for (rater, weights), one in summaries.items()
    ]
    rows.append(Row(NOTICED, AT_MOST, tuple(Estimate(1.0, n=0) for _ in names), "D = 1"))
    estimates = [
        ((rater, weights, what), estimate)
        for (rater, weights), one in summaries.items()
        for what, estimate in one.items()
    ]
    label = f"discernment D; dashed: {NOTICED}"
    chart = table_chart(columns, rows, finding=ALL_TITLE, corner="", label=label, most=inf)
    return Figure(
        "discernment-summary",
        ALL_TITLE,
        _left_out(section),
        chart,
        ("rater", "weights", "of", *ESTIMATE_COLUMNS),
        estimate_rows(estimates),
        ALL_READING + _warning(_raters_by_criteria(section)),
    )


def _summaries(one: DiscernmentOverCriteria) -> Sequence[tuple[str, Estimate]]:
    levels = [(f"level {name}", level) for name, level in one.levels.items()]
    return [("average", one.average), ("minimum", one.minimum), *levels]


def _left_out(section: DiscernmentSection) -> str:
    undefined = [name for name, one in section.all_criteria.items() if not one.average.is_defined]
    if not undefined:
        return ""
    return (
        f"No average, because a perturbation has no score on a criterion: {', '.join(undefined)}."
    )


def _styles(section: DiscernmentSection) -> Iterator[Figure]:
    """Yield a figure of the scores of originals and copies, with a group of rows for each rater."""
    rows = []
    for rater, one in section.raters.items():
        rows.append(IntervalRow(rater))
        for name, test in one.tests.items():
            marks = (
                Mark(_kind(rater), _spread(test.original, test), "originals"),
                Mark(_open_kind(rater), _spread(test.copy, test), "copies"),
            )
            rows.append(IntervalRow(name, marks))
    chart = interval_chart(rows, finding=STYLES_TITLE, label="score, median and quartiles")
    cells = tuple(_style_rows(section))
    yield Figure(
        "response-styles",
        STYLES_TITLE,
        "",
        chart,
        STYLE_COLUMNS,
        cells,
        STYLES_READING,
    )


def _style_rows(section: DiscernmentSection) -> Iterator[tuple[Cell, ...]]:
    for rater, one in section.raters.items():
        for name, test in one.tests.items():
            for what, scores in ((f"originals of {name}", test.original), (name, test.copy)):
                numbers = (scores.mean, scores.lower_quartile, scores.median, scores.upper_quartile)
                yield rater, what, test.pairs, *map(_number, numbers)


def _spread(scores: ScoreSummary, test: PerturbationTest) -> Estimate:
    """Return the median with the quartiles, as a chart of intervals draws them."""
    if not test.pairs:
        return undefined(NO_PAIRS)
    low, high = scores.lower_quartile, scores.upper_quartile
    return Estimate(scores.median, low, high, n=test.pairs, method="median and quartiles")


def _value(estimate: Estimate) -> float | None:
    return _number(estimate.value)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
