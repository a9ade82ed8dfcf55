"""Separability scores as rows, for programs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from django.db.models import F, Max, Min

from studies.models import SeparabilityScore, Study, System
from studies.models.separability import SeparabilityScoreQuerySet
from tiebreak.similarity.scores import normalised_scores

_COLUMNS = {
    "instance": "instance__key",
    "system_a": "system_a__name",
    "system_b": "system_b__name",
    "similarity": "similarity",
    "delta": "delta",
    "delta_standard_error": "delta_standard_error",
    "self_alignment_a": "self_alignment_a",
    "self_alignment_b": "self_alignment_b",
    "cross_alignment": "cross_alignment",
    "samples_a": "samples_a",
    "samples_b": "samples_b",
    "truncated": "truncated",
}
ALIGNMENTS = ("self_alignment_a", "self_alignment_b", "cross_alignment")
COLUMNS = (*_COLUMNS, "delta_normalised", "scenario")
Ends = dict[tuple[str, str], tuple[float, float]]


@dataclass(frozen=True)
class ScorePage:
    """Scores after a cursor, the cursor of the next page, and whether there are more.

    `ends` are the smallest and the largest alignment of each pair of systems by all scores.
    """

    scores: SeparabilityScoreQuerySet
    ends: Ends
    cursor: int
    has_more: bool


def score_page(study: Study, *, similarity: str = "", after: int = 0, limit: int) -> ScorePage:
    """Return up to ``limit`` scores of the study's systems, by its own similarity or another."""
    systems = study.study_systems.values("system")
    every = SeparabilityScore.objects.filter(
        instance__dataset=study.dataset_id,
        system_a__in=systems,
        system_b__in=systems,
        similarity=similarity or study.similarity,
    )
    scores = every.filter(pk__gt=after).order_by("pk")
    keys = list(scores.values_list("pk", flat=True)[limit - 1 : limit + 1])
    newest = scores.reverse().values_list("pk", flat=True).first()
    cursor = keys[0] if keys else newest or after
    return ScorePage(scores.filter(pk__lte=cursor), ends_of(every), cursor, len(keys) > 1)


def ends_of(scores: SeparabilityScoreQuerySet) -> Ends:
    """Return the smallest and the largest alignment of each pair of systems that has two of them."""
    pairs = scores.order_by().values_list("system_a__name", "system_b__name")
    found: Ends = {}
    for a, b, *ends in pairs.annotate(*map(Min, ALIGNMENTS), *map(Max, ALIGNMENTS)):
        if known := [end for end in ends if end is not None]:
            found[a, b] = min(known), max(known)
    return found


def normalised_of(
    pair: tuple[System, System], similarity: str
) -> dict[int, tuple[float | None, str | None]]:
    """Return the normalised δ and the scenario of a pair's scores, by their ids."""
    rows = SeparabilityScore.objects.filter(
        system_a=pair[0], system_b=pair[1], similarity=similarity
    ).values_list("pk", *ALIGNMENTS)
    scores = {key: tuple(alignments) for key, *alignments in rows.order_by("pk")}
    return dict(zip(scores, normalised_scores(list(scores.values())), strict=True))


def score_rows(page: ScorePage) -> Iterator[dict[str, Any]]:
    """Yield scores as rows. The memory used does not grow with their number."""
    columns = {f"row_{name}": F(path) for name, path in _COLUMNS.items()}
    for row in page.scores.values(**columns).iterator(chunk_size=2000):
        values = cast(dict[str, Any], row)
        shown = {name: values[f"row_{name}"] for name in _COLUMNS}
        ends = page.ends.get((shown["system_a"], shown["system_b"]))
        [(delta, scenario)] = normalised_scores([tuple(shown[n] for n in ALIGNMENTS)], ends)
        yield {**shown, "delta_normalised": delta, "scenario": scenario}
