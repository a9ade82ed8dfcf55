"""A study's ratings as rows of the published format, for exports, analytics and programs."""

from array import array
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Length

from annotation.models import Assignment, Rating
from annotation.models.rating import RatingQuerySet
from studies.models import Study, Unit
from tiebreak.formats.rating_cells import FLAGS
from tiebreak.scales import BAD, Scale

BATCH = 2000
# A batch is read as a range of keys unless so many times more keys than ratings are in it.
MAX_GAPS = 4
# For each column its lookup path, from the rating itself, its unit, or its assignment. Facts of
# units and assignments are read once for a batch of ratings, which is faster than a join per rating.
_OF_RATING = {
    "label": "label",
    "criterion": "criterion__name",
    "repeat": "repeat",
    "study_version": "study_version__number",
    "created_at": "created_at",
    **{name: name for name in ("side_a", "layout", "position", "duration_ms")},
    **{name: name for name in (*FLAGS, "excluded_reason", "raw")},
}
_OF_UNIT: dict[str, str | Length] = {
    "unit": "key",
    "role": "role",
    "instance": "instance__key",
    "system_a": "system_a__name",
    "system_b": "system_b__name",
    "category": "instance__category",
    **{name: name for name in ("sample_a", "sample_b", "similarity", "phase")},
    **{name: name for name in ("separability", "separability_raw", "inclusion_probability")},
    # Only the lengths are exported with ratings, because the texts are in the generations file.
    "chars_a": Length("generation_a__text"),
    "chars_b": Length("generation_b__text"),
}
_OF_ASSIGNMENT = {
    "rater": "rater__pseudonym",
    "kind": "rater__kind",
    "run": "run",
    "order": "order",
    "hit_position": "position",
    "participation": "participation__public_id",
}
_TEXTS_OF_UNIT: dict[str, str | Length] = {
    "source": "instance__source",
    "messages": "instance__messages",
    "text_a": "generation_a__text",
    "text_b": "generation_b__text",
}


def rating_rows(
    study: Study, ratings: RatingQuerySet | None = None, *, with_texts: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield ``ratings``, or all ratings of the study including flagged ones, oldest first.

    The memory used hardly grows with their number: eight bytes for each rating. No statement is
    open between two batches, so that the caller may write to the database. A repeat of a main unit
    gets the role `repeat`. Raters appear under their pseudonyms. With `with_texts`, each row also has
    the texts that were rated, and the name of the system that was preferred.
    """
    ratings = Rating.objects.filter(unit__study=study) if ratings is None else ratings
    scales = {c.name: c.parsed_scale for c in study.criteria.all()}
    parse = lru_cache(1000)(lambda criterion, label: scales[criterion].parse_label(label))
    columns = ("pk", "unit_id", "assignment_id", *_OF_RATING.values())
    of_unit = _OF_UNIT | _TEXTS_OF_UNIT if with_texts else _OF_UNIT
    names = (*of_unit, *_OF_ASSIGNMENT, *_OF_RATING)
    for keys, batch in _batches(ratings):
        units = _facts(Unit.objects.filter(pk__in=batch.values("unit")), of_unit)
        assignments = Assignment.objects.filter(pk__in=batch.values("assignment"))
        work = _facts(assignments, _OF_ASSIGNMENT)
        for pk, unit, assignment, *values in batch.order_by("pk").values_list(*columns):
            if pk not in keys:  # of another study
                continue
            row = dict(zip(names, (*units[unit], *work[assignment], *values), strict=True))
            if row["label"] is not None:
                row["label"] = parse(row["criterion"], row["label"])
            if row["repeat"] and row["role"] == "main":
                row["role"] = "repeat"
            row["created_at"] = row["created_at"].isoformat()
            if with_texts:
                _add_texts(row, scales[row["criterion"]])
            yield row


def _add_texts(row: dict[str, Any], scale: Scale) -> None:
    messages = row.pop("messages") or []
    row["source"] = row["source"] or "\n\n".join(message["content"] for message in messages)
    row["winner"] = winner(row, scale)


def winner(row: Mapping[str, Any], scale: Scale) -> str:
    """Return the name of the preferred system; "" where nothing was compared or understood."""
    label = row["label"]
    if scale.kind != "preference" or label is None:
        return ""
    if label == BAD:
        return BAD
    return ("tie", row["system_b"], row["system_a"])[scale.side_of(label)]


def _batches(ratings: RatingQuerySet) -> Iterator[tuple[set[int], RatingQuerySet]]:
    """Yield the keys of some ratings at a time, and a query that finds them."""
    keys = array("q", ratings.order_by("pk").values_list("pk", flat=True).iterator(BATCH))
    for first in range(0, len(keys), BATCH):
        batch = keys[first : first + BATCH]
        # A range is found much faster than a list of keys, but may have ratings of other studies.
        # With the study as a condition, databases would search all its units every time.
        is_dense = batch[-1] - batch[0] < MAX_GAPS * BATCH
        which = {"pk__range": (batch[0], batch[-1])} if is_dense else {"pk__in": batch}
        yield set(batch), Rating.objects.order_by().filter(**which)


def _facts(rows: QuerySet[Any], columns: Mapping[str, Any]) -> dict[int, list[Any]]:
    return {pk: values for pk, *values in rows.order_by().values_list("pk", *columns.values())}
