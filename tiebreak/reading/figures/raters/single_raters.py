"""Figures of single raters: confusion with the others, Dawid and Skene's model, self-consistency.

They are evidence of what to look at, not a verdict on anyone.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import urlencode

from tiebreak.digits import percent, rounded
from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.charts.matrices import matrix_chart
from tiebreak.reading.charts.svg import Kind
from tiebreak.reading.figures.after_draw import after_draw
from tiebreak.reading.figures.figure import Cell, Figure, empty_figure, table_of
from tiebreak.reading.figures.raters.perception import label_names
from tiebreak.reading.findings import scope_sentence, scope_suffix
from tiebreak.report.model.fields import Matrix
from tiebreak.report.model.raters import DawidSkeneRater, RaterSection
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.sections.raters.raters import MAX_LABELS, NOBODY_ELSE
from tiebreak.stats import Estimate, undefined

MAX_DRAWN = 40
NOT_A_VERDICT = (
    " Differences are a reason to read this annotator's answers, not a verdict: the others may be"
    " wrong, and where they disagree among themselves, both answers may be right."
)
CONFUSION_READING = (
    "A row has the items to which the other annotators most often gave one label, and its cells say"
    " which share of them got each label here. Full agreement is 100% on the diagonal. Where the"
    " others are divided, an item counts in equal parts for each of their most frequent labels."
    f"{NOT_A_VERDICT}"
)
MODEL_READING = (
    "The model assumes that each item has one true label, that annotators err independently of each"
    " other, and that each has typical errors; truth and errors are estimated together (Dawid and"
    " Skene 1979). Where texts are equally good there is no true label, and annotators who err alike"
    f" look right.{NOT_A_VERDICT}"
)
MODEL_ROWS_READING = (
    "● the probability that the annotator gives the true label; ○ for comparison, how often the"
    " annotator gives the most frequent label of the others, which needs no model. "
    f"{MODEL_READING}"
)
REPEATS_READING = (
    "Planned repeats show an annotator an item a second time with the sides swapped. A point is the"
    " share answered as the first time, and the line its 95% interval. Where a text is hardly better"
    " than the other, careful people may answer differently, so few repeats show little about one"
    " person. The intervals of single annotators hold only for them and these items."
)
MATRIX_COLUMNS = ("rater", "row", "label", "units", "share")
ACCURACY_COLUMNS = ("rater", "accuracy", "low", "high", "agreement_with_others", "ratings")
REPEATS_TITLE = "Planned repeats"


def single_rater_figures(section: CriterionSection, rater: str) -> list[Figure]:
    """Return the figures of one rater, or of all annotators if there is no such rater."""
    drawn = (
        ("raters", section.raters, confusion_figure(section, rater)),
        # The model has no estimates that would say whether instances were drawn.
        ("dawid_skene", section.raters, dawid_skene_figure(section, rater)),
        ("self_consistency", section.self_consistency, self_consistency_figure(section)),
    )
    return [one for name, part, figure in drawn for one in after_draw(name, part, [figure])]


def confusion_figure(section: CriterionSection, rater: str = "") -> Figure:
    """Return one rater's labels, or all annotators' labels, by the others' most frequent label."""
    one = section.raters.get(rater)
    who = rater if one else "annotators"
    title = f"Answers of {who} by the most frequent answer of the others"
    matrix = one.confusion if one else _summed(section.raters.values())
    if matrix is None:
        return empty_figure("confusion", title, _why_no_confusion(section, one))
    shares = [
        [n / total if total else None for n in row] for row in matrix for total in [math.fsum(row)]
    ]
    labels = ("most frequent answer of the others", f"answer of {who}")
    chart = matrix_chart(_names(section), shares, finding=title, labels=labels, kind=_kind(one))
    total = math.fsum(n for row in matrix for n in row)
    alike = math.fsum(matrix[k][k] for k in range(len(matrix)))
    sentence = (
        f"{percent(alike / total)} of {int(rounded(total, 0)):,} answers equal the most frequent answer of the others,"
        " where several count in equal parts."
    )
    rows = _matrix_rows(section, who, matrix, shares)
    query = urlencode({"rater": rater}) if one else ""
    return Figure(
        "confusion",
        title,
        sentence,
        chart,
        MATRIX_COLUMNS,
        tuple(rows),
        CONFUSION_READING,
        query=query,
    )


def _matrix_rows(
    section: CriterionSection, who: str, matrix: Matrix, shares: Sequence[Sequence[float | None]]
) -> Iterator[tuple[Cell, ...]]:
    for row, label in enumerate(section.labels):
        for column, answer in enumerate(section.labels):
            yield (who, label, answer, matrix[row][column], shares[row][column])


def dawid_skene_figure(section: CriterionSection, rater: str = "") -> Figure:
    """Return one annotator's errors in the model, or the accuracy of each annotator."""
    fit, title = section.dawid_skene, "Annotators in the model of Dawid and Skene"
    if fit is None or fit.reason or not fit.converged:
        reason = fit.reason if fit else section.problems.get("dawid_skene")
        return empty_figure(
            "dawid-skene", title, reason or "The estimation did not come to an end."
        )
    if rater not in fit.raters:
        return _accuracy_figure(section, title)
    title = f"Answers of {rater} by the true label, in the model of Dawid and Skene"
    matrix = fit.raters[rater].confusion
    labels = ("estimated true label", f"answer of {rater}")
    chart = matrix_chart(_names(section), matrix, finding=title, labels=labels)
    one = fit.raters[rater]
    ends = f" ({percent(one.low)} to {percent(one.high)})" if one.low < one.high else ""
    sentence = f"The probability of the true label is {percent(one.accuracy)}{ends}."
    rows = tuple(
        (rater, true, label, None, share)
        for true, row in zip(section.labels, matrix, strict=True)
        for label, share in zip(section.labels, row, strict=True)
    )
    query = urlencode({"rater": rater})
    return Figure(
        "dawid-skene", title, sentence, chart, MATRIX_COLUMNS, rows, MODEL_READING, query=query
    )


def _accuracy_figure(section: CriterionSection, title: str) -> Figure:
    fit = section.dawid_skene
    assert fit is not None
    by_accuracy = sorted(fit.raters.items(), key=lambda item: (item[1].accuracy, item[0]))
    rows = [
        IntervalRow(
            name,
            (
                Mark("human", _accuracy(one, section.raters[name].n_ratings), "model"),
                Mark(
                    "human-open",
                    section.raters[name].leave_one_out or undefined(""),
                    "agreement with the others",
                ),
            ),
        )
        for name, one in by_accuracy
    ]
    chart = interval_chart(
        rows[:MAX_DRAWN], finding=title, label="probability of the true label", bounds=(0, 1)
    )
    sentence = f"{len(rows):,} annotators and {fit.n_units:,} units.{_cut(len(rows))}"
    return Figure(
        "dawid-skene",
        title,
        sentence,
        chart,
        ACCURACY_COLUMNS,
        tuple(_accuracies(section, by_accuracy)),
        MODEL_ROWS_READING,
    )


def _accuracy(one: DawidSkeneRater, n: int) -> Estimate:
    return Estimate(one.accuracy, one.low, one.high, n=n)


def _accuracies(
    section: CriterionSection, fitted: Iterable[tuple[str, DawidSkeneRater]]
) -> Iterator[tuple[Cell, ...]]:
    for name, one in fitted:
        rater = section.raters[name]
        agreement = rater.leave_one_out
        known = agreement.value if agreement and agreement.is_defined else None
        yield (name, one.accuracy, one.low, one.high, known, rater.n_ratings)


def self_consistency_figure(section: CriterionSection) -> Figure:
    """Return the share of planned repeats answered alike, of all annotators and of each rater."""
    consistency = section.self_consistency
    if consistency is None or not consistency.raters:
        reason = consistency.humans.reason if consistency else None
        reason = reason or section.problems.get("self_consistency")
        return empty_figure("self-consistency", REPEATS_TITLE, reason or "")
    humans = consistency.humans
    shares = sorted(consistency.raters.items(), key=lambda item: (item[1].value, item[0]))
    rows = [
        IntervalRow("All annotators", (Mark("human", humans),)),
        *(
            IntervalRow(name, (Mark(_kind(section.raters.get(name)), share),))
            for name, share in shares
        ),
    ]
    finding, share = REPEATS_TITLE, ""
    if humans.is_defined:
        share = f"{percent(humans.value)} of planned repeats were answered as the first time"
    if humans.has_interval:
        finding, share = f"These annotators: {share}{scope_suffix(humans)}", ""
    chart = interval_chart(
        rows[: MAX_DRAWN + 1], finding=finding, label="share answered alike", bounds=(0, 1)
    )
    about = [f"{share}." if share else "", humans.reason, scope_sentence(humans)]
    sentence = " ".join(filter(None, about)) + _cut(len(shares)) if humans.is_defined else ""
    return Figure(
        "self-consistency",
        finding,
        sentence,
        chart,
        *table_of(rows, "rater"),
        REPEATS_READING,
        title=REPEATS_TITLE,
    )


def _cut(n: int) -> str:
    return f" The chart shows the {MAX_DRAWN} with the lowest value." if n > MAX_DRAWN else ""


def _why_no_confusion(section: CriterionSection, rater: RaterSection | None) -> str:
    for part in ("raters", "confusion"):
        if part in section.problems:
            return section.problems[part]
    if len(section.labels) > MAX_LABELS:
        return (
            f"Answers are not compared label by label on a scale of more than {MAX_LABELS} labels."
        )
    return NOBODY_ELSE if rater else "No item has answers of two annotators yet."


def _summed(raters: Iterable[RaterSection]) -> Matrix | None:
    """Return the sum over annotators, or None if none of them is compared with others."""
    known = [rater.confusion for rater in raters if rater.kind == "human" and rater.confusion]
    if not known:
        return None
    return tuple(
        tuple(math.fsum(cells) for cells in zip(*rows, strict=True))
        for rows in zip(*known, strict=True)
    )


def _names(section: CriterionSection) -> list[str]:
    names = label_names(section)
    return [names.get(str(label), str(label)) for label in section.labels]


def _kind(rater: RaterSection | None) -> Kind:
    return "machine" if rater and rater.kind == "machine" else "human"
