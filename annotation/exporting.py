"""A study's ratings as rows of the published format: what the export writes and analytics read."""

from collections.abc import Iterator
from typing import Any, cast

from django.db.models import F

from annotation.models import Rating
from metrics.stats.scales import Scale
from studies.models import Study

# Row column → path from the rating, in the order of the format's table.
_COLUMNS = {
    "unit": "unit__key",
    "rater": "rater__pseudonym",
    "label": "label",
    "kind": "rater__kind",
    "criterion": "criterion__name",
    "role": "unit__role",
    "run": "assignment__run",
    "repeat": "repeat",
    "order": "assignment__order",
    "instance": "unit__instance__key",
    "system_a": "unit__system_a__name",
    "system_b": "unit__system_b__name",
    "sample_a": "unit__sample_a",
    "sample_b": "unit__sample_b",
    "category": "unit__instance__category",
    "separability": "unit__separability",
    "separability_raw": "unit__separability_raw",
    "similarity": "unit__similarity",
    "phase": "unit__phase",
    "inclusion_probability": "unit__inclusion_probability",
    "side_a": "side_a",
    "layout": "layout",
    "position": "position",
    "hit_position": "assignment__position",
    "duration_ms": "duration_ms",
    "created_at": "created_at",
    "study_version": "study_version__number",
    "participation": "assignment__participation__public_id",
    "surplus": "surplus",
    "superseded": "superseded",
    "partial": "partial",
    "late": "late",
    "excluded": "excluded",
    "excluded_reason": "excluded_reason",
    "simulated": "simulated",
    "raw": "raw",
}


def rating_rows(study: Study) -> Iterator[dict[str, Any]]:
    """Every rating of the study, flagged ones too, oldest first; memory does not grow.

    A repeat of a main unit gets the role `repeat`. Raters appear under their pseudonyms.
    """
    scales = {c.name: c.parsed_scale for c in study.criteria.all()}
    rows = (
        Rating.objects.filter(unit__study=study)
        .order_by("pk")
        .values(**{f"row_{column}": F(path) for column, path in _COLUMNS.items()})
    )
    for row in rows.iterator(chunk_size=2000):
        values = cast(dict[str, Any], row)
        yield _typed({column: values[f"row_{column}"] for column in _COLUMNS}, scales)


def _typed(row: dict[str, Any], scales: dict[str, Scale]) -> dict[str, Any]:
    if row["label"] is not None:
        row["label"] = scales[row["criterion"]].parse_label(row["label"])
    if row["repeat"] and row["role"] == "main":
        row["role"] = "repeat"
    row["created_at"] = row["created_at"].isoformat()
    return row
