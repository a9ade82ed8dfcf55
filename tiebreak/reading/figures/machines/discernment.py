"""Figures of discernment: whether raters notice perturbed copies, and how they score them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from math import inf

from tiebreak.digits import counted, in_digits
from tiebreak.reading.charts.chart import NOTHING, Chart, Strip, x_axis
from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.charts.perception import SHARES, share_bars
from tiebreak.reading.charts.svg import Kind, kinds_of
from tiebreak.reading.charts.tables import AT_MOST, Column, Row, table_chart
from tiebreak.reading.figures.figure import (
    ESTIMATE_COLUMNS,
    MAX_DRAWN,
    Cell,
    Figure,
    Simple,
    draws_raters,
    estimate_rows,
)
from tiebreak.report.model.discernment import (
    DiscernmentOverCriteria,
    DiscernmentSection,
    RaterDiscernment,
)
from tiebreak.report.sections.machines.discernment import ANNOTATORS
from tiebreak.stats import Estimate
from tiebreak.stats.core.results import undefined

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
    "For each score, the first bar is the share of the originals that a rater gave it, and the second, hollow"
    " one the share of their copies. If the bars are alike, the rater scores both alike; if nearly all originals"
    " have the highest score, there is no room for better ones, and if copies have it as well, none to show"
    " damage. A mean of several scores counts as the nearest. A rater that uses other parts of the scale than"
    " annotators is not thereby a worse one: D does not depend on it."
)
STYLES_KEY = (("machine", "originals"), ("machine-open", "copies"))
CORRELATIONS_TITLE = "How alike raters order the originals: ρ of their scores"
CORRELATIONS_READING = (
    "Spearman's ρ of the scores that two raters gave the same originals: 1 if both put them in the same"
    " order, 0 if knowing one order says nothing of the other. Copies do not count, because raters that"
    " notice the damage would agree on them. Where most originals have one score, ρ is small however good"
    " both raters are. The coefficients have no intervals: do not read small differences."
)
COLUMNS = (
    *("rater", "perturbation", "level", "pairs", "without_a_pair", "equal_scores", "D", "p"),
    *("p_pratt", "mean_original", "mean_copy", "criteria_together_D", "criteria_together_p"),
    *("expert_weighted_D", "expert_weights", "reason"),
)
STYLE_COLUMNS = ("rater", "score", "share_of_originals", "share_of_copies")


@draws_raters("discernment")
def discernment_figures(section: DiscernmentSection, simple: Simple = None) -> list[Figure]:
    figures = [_tests(section, simple), _summary(section, simple)]
    return [*figures, _styles(section), *_correlations(section)]


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


def _styles(section: DiscernmentSection) -> Figure:
    """Return how often each rater gave each score to originals and to copies."""
    styles = {rater: one.style for rater, one in section.raters.items() if one.style}
    strips: list[Strip] = []
    rows: list[tuple[Cell, ...]] = []
    words: list[str] = []
    for rater, style in styles.items():
        numbers = (
            f"{counted(style.n_originals, 'original')}, {counted(style.n_copies, 'copy', 'copies')}"
        )
        strips.append(Strip(f"{rater} · {numbers}", css="group"))
        for score, share in style.originals.items():
            both = share, style.copies[score]
            bars = share_bars(score, [(_kind(rater), both[0]), (_open_kind(rater), both[1])])
            strips.append(bars)
            words.append(f"{rater} {score}: {bars.value}")
            rows.append((rater, score, *map(_number, both)))
    strips += x_axis(SHARES, "share of texts; the value is of originals · of copies")
    said = f"Share of originals · of copies: {'; '.join(words)}"
    chart = Chart(STYLES_TITLE, said, tuple(strips), STYLES_KEY) if rows else NOTHING
    return Figure(
        "response-styles", STYLES_TITLE, "", chart, STYLE_COLUMNS, tuple(rows), STYLES_READING
    )


def _correlations(section: DiscernmentSection) -> list[Figure]:
    """Return ρ of each two raters' scores of the originals, if there are two raters."""
    if not section.correlations:
        return []
    pairs = [
        ((one, other), estimate)
        for one, others in section.correlations.items()
        for other, estimate in others.items()
    ]
    rows = [
        IntervalRow(f"{one} and {other}", (Mark(_kind(one), estimate),))
        for (one, other), estimate in pairs[:MAX_DRAWN]
    ]
    chart = interval_chart(rows, finding=CORRELATIONS_TITLE, label="Spearman's ρ", bounds=(-1, 1))
    columns = ("rater", "other_rater", *ESTIMATE_COLUMNS)
    table = columns, estimate_rows(pairs)
    name = "score-correlations"
    return [Figure(name, CORRELATIONS_TITLE, "", chart, *table, CORRELATIONS_READING)]


def _value(estimate: Estimate) -> float | None:
    return _number(estimate.value)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
