"""Separability scores as rows, for programs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from django.db.models import F

from studies.models import SeparabilityScore, Study
from studies.models.separability import SeparabilityScoreQuerySet

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
COLUMNS = tuple(_COLUMNS)


@dataclass(frozen=True)
class ScorePage:
    """Scores after a cursor, the cursor of the next page, and whether there are more."""

    scores: SeparabilityScoreQuerySet
    cursor: int
    has_more: bool


def score_page(study: Study, *, similarity: str = "", after: int = 0, limit: int) -> ScorePage:
    """Return up to ``limit`` scores of the study's systems, by its own similarity or another."""
    systems = study.study_systems.values("system")
    scores = SeparabilityScore.objects.filter(
        instance__dataset=study.dataset_id,
        system_a__in=systems,
        system_b__in=systems,
        similarity=similarity or study.similarity,
        pk__gt=after,
    ).order_by("pk")
    keys = list(scores.values_list("pk", flat=True)[limit - 1 : limit + 1])
    newest = scores.reverse().values_list("pk", flat=True).first()
    cursor = keys[0] if keys else newest or after
    return ScorePage(scores.filter(pk__lte=cursor), cursor, len(keys) > 1)


def score_rows(scores: SeparabilityScoreQuerySet) -> Iterator[dict[str, Any]]:
    """Yield scores as rows. The memory used does not grow with their number."""
    columns = {f"row_{name}": F(path) for name, path in _COLUMNS.items()}
    for row in scores.values(**columns).iterator(chunk_size=2000):
        values = cast(dict[str, Any], row)
        yield {name: values[f"row_{name}"] for name in COLUMNS}
