"""The figure of separability (δ) by pair of systems, of one study or of several."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from urllib.parse import urlencode

from django.contrib.auth.models import AnonymousUser, User

from metrics.planning.score_distributions import (
    ScoreDistribution,
    comparable_studies,
    score_distributions,
    scored_similarities,
)
from studies.access import studies_of
from studies.models import Study
from tiebreak.digits import percent
from tiebreak.reading.charts.separability import Ridge, ridges_chart
from tiebreak.reading.figures.figure import Cell, Figure, empty_figure
from tiebreak.similarity import similarity_title

TITLE = "Separability (δ) by pair of systems"
READING = (
    "Each row is a pair of systems. The bars show which share of the instances has each separability"
    " δ, on one scale for all rows, and the point is the mean. The further to the right, the easier"
    " the systems' texts are to tell apart, and the more consistent ratings can be expected to be. At"
    " δ = 0 the texts of two systems differ no more than the texts of one of them. δ is not"
    " normalised; compare pairs and datasets only with the same similarity, and with the same number of"
    " generations at the same temperature."
)
COLUMNS = ("study", "systems", "similarity", "statistic", "from", "to", "value")
MAX_ROWS = 30


def separability_figure(study: Study, similarity: str, other: Study | None = None) -> Figure:
    """Return δ of a study's pairs, next to another study's pairs."""
    rows = score_distributions([study, other] if other else [study], similarity)
    title = similarity_title(similarity)
    if not rows:
        reason = f"No instance has been scored by {title} yet."
        return replace(empty_figure("separability", TITLE, reason), is_of_ratings=False)
    drawn = rows[:MAX_ROWS]
    chart = ridges_chart(
        list(_ridges(drawn)),
        finding=TITLE,
        label=f"separability (δ) by {title}",
        reference=(0, "alike"),
    )
    query = {"similarity": similarity} | ({"with": other.pk} if other else {})
    return Figure(
        "separability",
        TITLE,
        _sentence(rows),
        chart,
        COLUMNS,
        tuple(_summaries(rows, similarity)) + tuple(_shares(rows, similarity)),
        READING,
        query=urlencode(query),
        is_of_ratings=False,
    )


def requested_separability(
    study: Study, query: Mapping[str, str], user: User | AnonymousUser
) -> Figure:
    """Return the figure that an address asks for; another study only if the user sees it."""
    similarity, beside = requested_similarity(study, query), query.get("with", "")
    others = studies_of(user).filter(pk=beside) if beside else Study.objects.none()
    other = comparable_studies(study, similarity, others).first()
    return separability_figure(study, similarity, other)


def requested_similarity(study: Study, query: Mapping[str, str]) -> str:
    """Return the similarity in the address if texts are scored by it, or else the study's."""
    asked = query.get("similarity", "")
    return asked if asked and asked in scored_similarities(study) else study.similarity


def _ridges(rows: Iterable[ScoreDistribution]) -> Iterator[Ridge]:
    """Yield the pairs, under the studies' titles where there are several studies."""
    studies = [(study, list(of_study)) for study, of_study in groupby(rows, lambda row: row.study)]
    for study, of_study in studies:
        if len(studies) > 1:
            yield Ridge(study.title)
        for row in of_study:
            bins = tuple((one.low, one.high, one.n / row.n) for one in row.bins)
            yield Ridge(row.name, "human", bins, row.mean)


def _sentence(rows: Sequence[ScoreDistribution]) -> str:
    above, n = sum(row.above_zero for row in rows), sum(row.n for row in rows)
    sentence = (
        f"{percent(above / n)} of {n} scores, one for each instance and pair, are above 0: the texts of one"
        " system are more like each other than like the other system's texts."
    )
    if len(rows) > MAX_ROWS:
        sentence += f" The chart shows the first {MAX_ROWS} of {len(rows)} pairs."
    return sentence


def _summaries(rows: Iterable[ScoreDistribution], similarity: str) -> Iterator[tuple[Cell, ...]]:
    for row in rows:
        about = (row.study.title, row.name, similarity)
        yield (*about, "instances", row.low, row.high, row.n)
        yield (*about, "mean", row.low, row.high, row.mean)
        yield (*about, "share above 0", row.low, row.high, row.above_zero / row.n)


def _shares(rows: Iterable[ScoreDistribution], similarity: str) -> Iterator[tuple[Cell, ...]]:
    for row in rows:
        for one in row.bins:
            share = one.n / row.n
            yield (row.study.title, row.name, similarity, "share", one.low, one.high, share)
