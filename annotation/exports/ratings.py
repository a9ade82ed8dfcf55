"""A study's ratings as rows of the published format, for exports, analytics and programs."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from operator import itemgetter, or_
from typing import Any

import numpy as np
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast, Length

from annotation.models import Assignment, Rating
from annotation.models.rating import RatingQuerySet
from studies.models import Study, Unit
from tiebreak.formats.lines import Batch
from tiebreak.formats.rating_cells import FLAGS, written_probabilities
from tiebreak.formats.rows import Row
from tiebreak.formats.shown_fields import field_cells, field_columns
from tiebreak.formats.writing import Columns, rows_of
from tiebreak.scales import BAD, Scale

# Planning a query and reading whole tables for it cost the same for a small batch as for a large one.
BATCH = 8000
KEYS_AT_ONCE = 20_000
# A batch is read as a range of keys unless so many times more keys than ratings are in it.
MAX_GAPS = 4
# For each column its lookup path, from the rating itself, its unit, or its assignment. Facts of
# units and assignments are read once for a batch of ratings, which is faster than a join per rating.
_OF_RATING: dict[str, str | Cast] = {
    "label": "label",
    "criterion": "criterion__name",
    "repeat": "repeat",
    "study_version": "study_version__number",
    # As text, because making times of PostgreSQL's answer took a fifth of an export's time.
    "created_at": Cast("created_at", TextField()),
    **{name: name for name in ("side_a", "layout", "position", "duration_ms")},
    **{name: name for name in ("nonresponse", "reason")},
    **{name: name for name in (*FLAGS, "excluded_reason", "raw", "probabilities")},
}
_KEYS = ("pk", "unit_id", "assignment_id")
# The reason of ratings whose unit was set aside.
SET_ASIDE = "item set aside"
_OF_UNIT: dict[str, str | Length] = {
    "unit": "key",
    "role": "role",
    "set_aside": "set_aside",
    "instance": "instance__key",
    "system_a": "text_a__system__name",
    "system_b": "text_b__system__name",
    "category": "instance__category",
    "perturbation": "text_a__system__perturbation",
    "original_system": "text_a__system__perturbed_from__name",
    "sample_a": "text_a__sample",
    "sample_b": "text_b__sample",
    **{name: name for name in ("similarity", "phase")},
    **{name: name for name in ("separability", "separability_raw", "inclusion_probability")},
    # Only the lengths are exported with ratings, because the texts are in the generations file.
    "chars_a": Length("text_a__generation__text"),
    "chars_b": Length("text_b__generation__text"),
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
    "metadata": "instance__metadata",
    "text_a": "text_a__generation__text",
    "text_b": "text_b__generation__text",
}


def rating_rows(
    study: Study, ratings: RatingQuerySet | None = None, *, with_texts: bool = False
) -> Iterator[Row]:
    """Yield ``ratings``, or all ratings of the study including flagged ones, oldest first.

    The memory used hardly grows with their number: eight bytes for each rating. No statement is
    open between two batches so that the caller may write to the database. A repeat of a main unit
    gets the role `repeat`. Raters appear under their pseudonyms. With `with_texts`, each row also has
    the texts that were rated, and the name of the system that was preferred.
    """
    for columns in rating_batches(study, ratings, with_texts=with_texts):
        yield from rows_of(columns())


def rating_batches(
    study: Study, ratings: RatingQuerySet | None = None, *, with_texts: bool = False
) -> Iterator[Columns]:
    """Yield the ratings of `rating_rows` in batches: read, and with a function that returns columns.

    Work on columns is cheaper than work on rows, because most of it is done in C. A thread may do it
    while the next batch is read.
    """
    ratings = Rating.objects.filter(unit__study=study) if ratings is None else ratings
    scales = {c.name: c.parsed_scale for c in study.criteria.all()}
    parse = lru_cache(1000)(lambda criterion, label: scales[criterion].parse_label(label))
    of_unit = _OF_UNIT | _TEXTS_OF_UNIT if with_texts else _OF_UNIT

    def columns(stored: _Stored) -> Batch:
        batch = stored.columns(of_unit)
        labels = zip(batch["criterion"], batch["label"], strict=True)
        batch["label"] = [text if text is None else parse(name, text) for name, text in labels]
        roles = zip(batch["role"], batch["repeat"], strict=True)
        batch["role"] = ["repeat" if n and role == "main" else role for role, n in roles]
        _exclude(batch, batch.pop("set_aside"))
        batch["created_at"] = list(map(_in_utc, batch["created_at"]))
        shares = batch["probabilities"]
        batch["probabilities"] = [one and written_probabilities(one) for one in shares]
        if with_texts:
            texts = zip(batch["source"], batch.pop("messages"), strict=True)
            batch["source"] = [source or _conversation(messages) for source, messages in texts]
            facts = [field_cells(study.fields, one or {}) for one in batch.pop("metadata")]
            batch |= {name: [one[name] for one in facts] for name in field_columns(study.fields)}
            batch["winner"] = [winner(row, scales[row["criterion"]]) for row in rows_of(batch)]
        return batch

    for keys, some in _batches(ratings):
        yield partial(columns, _Stored.of(keys, some, of_unit))


@dataclass(frozen=True)
class _Stored:
    """Ratings as the database has them, with what is known of their units and assignments."""

    ratings: list[tuple[Any, ...]]
    units: dict[int, tuple[Any, ...]]
    assignments: dict[int, tuple[Any, ...]]

    @classmethod
    def of(cls, keys: set[int], ratings: RatingQuerySet, of_unit: Mapping[str, Any]) -> "_Stored":
        """Read the ratings with these keys."""
        units = Unit.objects.filter(pk__in=ratings.values("unit"))
        assignments = Assignment.objects.filter(pk__in=ratings.values("assignment"))
        stored = ratings.order_by("pk").values_list(*_KEYS, *_OF_RATING.values())
        return cls(
            [row for row in stored if row[0] in keys],  # without other studies' rows
            _facts(units, of_unit),
            _facts(assignments, _OF_ASSIGNMENT),
        )

    def columns(self, of_unit: Mapping[str, Any]) -> Batch:
        of_ratings = _by_name((*_KEYS, *_OF_RATING), self.ratings)
        _, units, assignments = (of_ratings.pop(name) for name in _KEYS)
        return {
            **_by_name(of_unit, [self.units[key] for key in units]),
            **_by_name(_OF_ASSIGNMENT, [self.assignments[key] for key in assignments]),
            **of_ratings,
        }


def _by_name(names: Collection[str], rows: Sequence[Sequence[Any]]) -> Batch:
    # zip(*rows) would make an iterator for each row, and the garbage collector would visit them all.
    return {name: list(map(itemgetter(i), rows)) for i, name in enumerate(names)}


def _exclude(batch: Batch, set_aside: Sequence[bool]) -> None:
    """Flag the ratings of units that were set aside as excluded."""
    if any(set_aside):
        reasons = zip(batch["excluded_reason"], set_aside, strict=True)
        batch["excluded_reason"] = [reason or SET_ASIDE * aside for reason, aside in reasons]
        batch["excluded"] = list(map(or_, batch["excluded"], set_aside))


_WITH_MICROSECONDS = len("2026-11-22 09:05:01.500000+00")


def _in_utc(text: str) -> str:
    """Return a time in ISO 8601, given a database's text of it, such as "2026-11-22 09:05:01.5+00".

    Connections are in UTC; SQLite has no zones. The text is cut, because to parse it took longer
    than to write the rest of a row.
    """
    if len(text) == _WITH_MICROSECONDS:
        return f"{text[:10]}T{text[11:]}:00"
    date, time = text.removesuffix("+00").split(" ")
    seconds, _, fraction = time.partition(".")
    return f"{date}T{seconds}.{fraction:0<6}+00:00" if fraction else f"{date}T{seconds}+00:00"


def _conversation(messages: Sequence[Mapping[str, str]] | None) -> str:
    return "\n\n".join(message["content"] for message in messages or ())


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
    stored = ratings.order_by().values_list("pk", flat=True).iterator(KEYS_AT_ONCE)
    keys = np.fromiter(stored, np.int64)
    keys.sort()  # in place and faster than in a database
    for first in range(0, len(keys), BATCH):
        batch = keys[first : first + BATCH].tolist()
        # A range is found much faster than a list of keys, but may have ratings of other studies.
        # With the study as a condition, databases would search all its units every time.
        is_dense = batch[-1] - batch[0] < MAX_GAPS * BATCH
        which = {"pk__range": (batch[0], batch[-1])} if is_dense else {"pk__in": batch}
        yield set(batch), Rating.objects.order_by().filter(**which)


def _facts(rows: QuerySet[Any], columns: Mapping[str, Any]) -> dict[int, tuple[Any, ...]]:
    return {row[0]: row[1:] for row in rows.order_by().values_list("pk", *columns.values())}
