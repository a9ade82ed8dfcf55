"""Figures of scoring against pairwise comparison."""

from collections.abc import Callable, Iterator

from tiebreak.digits import counted, percent
from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.charts.svg import Kind
from tiebreak.reading.figures.figure import (
    Cell,
    Figure,
    draws,
    empty_figure,
    reading_if_drawn,
    table_of,
)
from tiebreak.reading.messages import LEFT_OUT
from tiebreak.report.model.machines import (
    ScoringAgreement,
    ScoringComparison,
    ScoringSection,
    SystemCorrelations,
)
from tiebreak.stats import Estimate

TITLE = "Agreement with annotators: scores of single texts, and comparisons of two"
DIFFERENCE_TITLE = "Scoring minus comparing: difference of agreement with annotators"
RANKS_TITLE = "Ranking of systems by scores and by comparisons"
MAX_SENTENCES = 4
Marks = Callable[[ScoringAgreement], tuple[Mark, ...]]
TIES = {"as an answer": "a tie is an answer", "as half": "a tie is a coin toss"}
READING = (
    "A machine rater's scores of two texts imply a preference: the higher score wins, and equal scores"
    " tie. A point is how often that preference, or one of a machine rater's comparisons of the same two"
    " texts drawn at random, agrees with one annotator drawn at random, on the pairs that all of them"
    " rated. If a tie is an"
    " answer, it agrees only with an annotator's tie; if it is a coin toss, it is worth half. An answer"
    " that could not be read is a disagreement. Several scores of a text are averaged before they are"
    " compared. Comparisons are not: if a judge prefers A in one order and B in the other, each has"
    " half the weight, so their agreement may differ from that on the Machine raters page. Higher scores count as better, so where"
    " they are not, agreement is low. Annotators do not agree with each other either, so 1 cannot be"
    " reached."
)
DIFFERENCE_READING = (
    "A point is how much more often the preferences that scores imply agree with one annotator drawn at"
    " random than comparisons do, on the same pairs. The lines are drawn so wide that they hold simultaneously"
    " with 95%. An interval around 0 does not show that scoring is as good as comparing. Where"
    " the two rules for ties disagree, the difference is one of the scale: scores with few steps tie"
    " often. A result applies to these annotators, and to language models and prompts like these; scores"
    " of one quality need not tell which text is better overall. How many answers each took is in the"
    " next table: scoring takes one for each text, and comparing up to two for each pair."
)
RANKS_READING = (
    "A point is Spearman's correlation over systems, on the same pairs: of mean scores, or of win rates"
    " by comparisons, with win rates by annotators, and of mean scores with win rates by comparisons."
    " Correlations have no interval here and are coarse for few systems, so do not read the higher one as"
    " the better method: the difference of agreement has an interval."
)
TOOK = ("pairs", "instances", "score_answers", "comparison_answers")
SERIES: tuple[tuple[Kind, str, str], ...] = (
    ("machine", "scores_with_annotators", "scores and annotators"),
    ("machine-open", "comparisons_with_annotators", "comparisons and annotators"),
    ("human-open", "scores_with_comparisons", "scores and comparisons"),
)


@draws("scoring_against_pairwise")
def scoring_figures(section: ScoringSection) -> list[Figure]:
    if not section.comparisons:
        return [empty_figure("scoring", TITLE, section.reason or "")]
    return [_agreement(section), _differences(section), _ranks(section)]


def _agreement(section: ScoringSection) -> Figure:
    def marks(one: ScoringAgreement) -> tuple[Mark, ...]:
        return (
            Mark("machine", one.scores, "scores"),
            Mark("machine-open", one.comparisons, "comparisons"),
        )

    chart = interval_chart(
        _grouped(section, marks),
        finding=TITLE,
        label="agreement with an annotator",
        bounds=(0, 1),
    )
    few = [*section.comparisons.items()][:MAX_SENTENCES]
    sentence = " ".join([*(_sentence(name, one) for name, one in few), *_left_out(section)])
    rows = _by_rule(section, marks)
    table = table_of(rows, "scores vs comparisons")
    reading = READING + _if_drawn(section)
    return Figure("scoring", TITLE, sentence, chart, *table, reading)


def _differences(section: ScoringSection) -> Figure:
    def marks(one: ScoringAgreement) -> tuple[Mark, ...]:
        return (Mark("machine", one.difference),)

    chart = interval_chart(
        _grouped(section, marks),
        finding=DIFFERENCE_TITLE,
        label="difference of agreement",
        reference=0,
        bounds=(-1, 1),
    )
    table = table_of(_by_rule(section, marks), "scores vs comparisons")
    reading = DIFFERENCE_READING + _if_drawn(section)
    return Figure("scoring-differences", DIFFERENCE_TITLE, "", chart, *table, reading)


def _if_drawn(section: ScoringSection) -> str:
    agreements = (of for one in section.comparisons.values() for of in one.agreement.values())
    return reading_if_drawn(of.difference for of in agreements)


def _grouped(section: ScoringSection, marks: Marks) -> list[IntervalRow]:
    """Return a heading for each two machine raters, and below it a row for each rule for ties."""
    return [
        row
        for name, one in section.comparisons.items()
        for row in (
            IntervalRow(name),
            *(IntervalRow(TIES[rule], marks(of)) for rule, of in one.agreement.items()),
        )
    ]


def _by_rule(section: ScoringSection, marks: Marks) -> list[IntervalRow]:
    """Return the same rows for a table, in which each name has the raters and the rule."""
    return [
        IntervalRow(f"{name}: {TIES[rule]}", marks(of))
        for name, one in section.comparisons.items()
        for rule, of in one.agreement.items()
    ]


def _left_out(section: ScoringSection) -> Iterator[str]:
    if section.left_out:
        yield "Shown are the comparisons with the most pairs of texts."
        names = ", ".join(section.left_out)
        yield LEFT_OUT.format(names=names, section="scoring_against_pairwise")


def _sentence(name: str, one: ScoringComparison) -> str:
    """Say what the agreement is of, and what the scores and the comparisons took."""
    scores, comparisons = one.scores_tied.value, one.comparisons_tied.value
    return (
        f"{name}: {counted(one.pairs, 'pair')} of texts of {counted(one.instances, 'instance')}."
        f" The scores took {counted(one.score_answers, 'answer')} and tie {percent(scores)} of the pairs;"
        f" the comparisons took {one.comparison_answers}, of which {percent(comparisons)} are ties."
    )


def _ranks(section: ScoringSection) -> Figure:
    of = {name: one.systems for name, one in section.comparisons.items()}
    ranked = {name: marks for name, one in of.items() if (marks := tuple(_marks(one)))}
    rows = [IntervalRow(name, marks) for name, marks in ranked.items()]
    chart = interval_chart(
        rows, finding=RANKS_TITLE, label="rank correlation", reference=0, bounds=(-1, 1)
    )
    reasons = dict.fromkeys(one.reason for one in of.values() if one.reason)
    keys = [key for _, key, _ in SERIES]
    columns = ("scores vs comparisons", *TOOK, "systems", *keys, "speaks_of", "reason")
    cells: tuple[tuple[Cell, ...], ...] = tuple(
        (
            *(name, *(getattr(one, key) for key in TOOK), one.systems.systems),
            *(getattr(one.systems, key) for key in keys),
            *(one.systems.speaks_of, one.systems.reason or ""),
        )
        for name, one in section.comparisons.items()
    )
    reading = RANKS_READING + _if_drawn(section)
    return Figure(
        *("scoring-ranks", RANKS_TITLE, " ".join(reasons), chart, columns, cells, reading),
    )


def _marks(one: SystemCorrelations) -> Iterator[Mark]:
    for kind, key, series in SERIES:
        value = getattr(one, key)
        if value is not None:
            yield Mark(kind, Estimate(value, n=one.systems), series)
