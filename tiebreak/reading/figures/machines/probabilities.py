"""Figures of machines' probabilities: reliability diagrams, and agreement after debiasing."""

import math
from collections.abc import Iterator

from tiebreak.digits import counted, in_digits, percent
from tiebreak.reading.charts.curves import Series, range_chart
from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.figures.figure import (
    ESTIMATE_COLUMNS,
    Cell,
    Figure,
    draws,
    empty_figure,
    estimate_cells,
)
from tiebreak.report.model.machines import DebiasingSection, MachineProbabilities
from tiebreak.stats import Estimate

MAX_DIAGRAMS = 6
RELIABILITY_TITLE = "Probabilities and answers of annotators: {name}"
RELIABILITY_READING = (
    "Each point has the items whose probability lies in one tenth of the axis: its place is their mean"
    " probability and the share of annotators' answers that say the same, with a 95% interval that"
    " resamples whole items or instances. On the diagonal, probabilities say how often annotators give"
    " that answer; below it the machine rater is too sure. It does not show that single answers are"
    " right: a machine rater that always states the overall share is calibrated, and distinguishes no item"
    " from another. The intervals take the annotators as they are."
)
ANSWER_NAMES = {
    "A": "of the answer that the first system is preferred",
    "most probable": "of each item's most probable answer",
}
SOURCES = {
    "probabilities": "Probabilities {of} came with the ratings of {items}.",
    "shares": "The probabilities {of} are shares of several answers to the same question about {items}.",
}
BIASED = (
    "The calibration error is biased upwards where items are few, so do not compare it between"
    " studies of different size."
)
DEBIASING_TITLE = "Agreement with annotators before and after debiasing the position"
DEBIASING_READING = (
    "A point is the share of annotators' preferences for one of the two texts that the machine rater"
    " shares, and the line its 95% interval. Of each answer, only the probabilities of the two texts are"
    " compared, however probable a tie is; equal probabilities count as half. Debiased, it prefers the text shown"
    " first only above the threshold at which either text wins half of its answers. Averaged, the probabilities of both"
    " orders of a pair count as one. If both lie to the right, a part of the disagreement comes from"
    " the position and not from the texts. The ratings themselves are never changed by this. It does"
    " not show that the machine rater judges well, and the threshold applies to these prompts and"
    " systems only."
)
WAY_NAMES = ("as it is", "debiased", "both orders averaged")
DEBIASING_COLUMNS = (
    *("rater", "answers", "first_preferred", "threshold", "alpha", "prior_shift", "decided"),
    *ESTIMATE_COLUMNS,
)
RELIABILITY_COLUMNS = ("from", "to", "ratings", "probability", *ESTIMATE_COLUMNS)


@draws("machine_probabilities")
def machine_probability_figures(section: dict[str, MachineProbabilities]) -> list[Figure]:
    """Return the reliability diagrams of the first machines, and the debiasing of all."""
    diagrams = [
        _reliability(number, name, one)
        for number, (name, one) in enumerate(sorted(section.items())[:MAX_DIAGRAMS], start=1)
    ]
    return [*diagrams, *_debiasing(section)]


def _reliability(number: int, name: str, one: MachineProbabilities) -> Figure:
    title, slug = RELIABILITY_TITLE.format(name=name), f"reliability-{number}"
    points = tuple((part.probability, part.share) for part in one.bins if part.n_ratings)
    chart = range_chart(
        [Series("machine", "share of annotators", points)],
        (0, 1),
        finding=title,
        x_label=f"probability {ANSWER_NAMES[one.answer]}",
        y_label="share of annotators",
        diagonal="perfectly calibrated",
    )
    if not chart:
        return empty_figure(slug, title, one.brier_score.reason or "")
    rows = tuple(
        (
            part.low,
            part.high,
            part.n_ratings,
            part.probability if part.n_ratings else None,
            *estimate_cells(part.share),
        )
        for part in one.bins
    )
    calibration = f"Expected calibration error {_in_words(one.expected_calibration_error)}."
    brier = f"Brier score {_in_words(one.brier_score)}."
    items, of = counted(one.n_units, "item"), ANSWER_NAMES[one.answer]
    sentence = f"{SOURCES[one.source].format(of=of, items=items)} {calibration} {brier} {BIASED}"
    return Figure(slug, title, sentence, chart, RELIABILITY_COLUMNS, rows, RELIABILITY_READING)


def _in_words(estimate: Estimate) -> str:
    value = in_digits(estimate.value)
    if not estimate.has_interval:
        return f"{value} (no interval: {(estimate.reason or '').rstrip('.')})"
    return f"{value} (95% interval {in_digits(estimate.low)} to {in_digits(estimate.high)})"


def _debiasing(section: dict[str, MachineProbabilities]) -> list[Figure]:
    """Return the figure of all machines with known orders, if there are any."""
    rows: list[IntervalRow] = []
    cells: list[tuple[Cell, ...]] = []
    sentences = []
    for name, one in sorted(section.items()):
        if one.debiasing is None:
            continue
        ways = dict(_ways(one, one.debiasing))
        rows += [IntervalRow(name)]
        rows += [IntervalRow(way, (Mark("machine", agreement),)) for way, agreement in ways.items()]
        d = one.debiasing
        shares = (d.prefers_first, d.threshold, d.alpha, d.prior_shift)
        facts = (d.n, *(None if math.isnan(share) else share for share in shares))
        cells += [(name, *facts, way, *estimate_cells(e)) for way, e in ways.items()]
        sentences.append(_preference(name, d))
    if not rows:
        return []
    chart = interval_chart(
        rows, finding=DEBIASING_TITLE, label="share of annotators' preferences", bounds=(0, 1)
    )
    if not chart:
        reasons = {
            one.debiasing.agreement.reason or "" for one in section.values() if one.debiasing
        }
        return [empty_figure("position-debiasing", DEBIASING_TITLE, " ".join(sorted(reasons)))]
    figure = Figure(
        "position-debiasing",
        DEBIASING_TITLE,
        " ".join(sentences),
        chart,
        DEBIASING_COLUMNS,
        tuple(cells),
        DEBIASING_READING,
    )
    return [figure]


def _ways(one: MachineProbabilities, debiasing: DebiasingSection) -> Iterator[tuple[str, Estimate]]:
    agreements = (debiasing.agreement, debiasing.debiased, one.both_orders)
    for way, agreement in zip(WAY_NAMES, agreements, strict=True):
        if agreement is not None:
            yield way, agreement


def _preference(name: str, debiasing: DebiasingSection) -> str:
    return (
        f"{name} gives the text shown first the larger probability in {percent(debiasing.prefers_first)} of"
        f" {counted(debiasing.n, 'answer')} (ties aside), and in half of them one above the threshold"
        f" {in_digits(debiasing.threshold)}."
    )
