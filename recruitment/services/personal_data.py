"""Everything that is stored about one person, found through the models and not from a list of them."""

import json
from collections.abc import Collection, Iterator
from typing import Any

from django.core.serializers import serialize
from django.db import models
from django.db.models import Q

from annotation.models import Place, Rater, Rating
from studies.models import Study, StudyEvent

# A place is the study's, and only lent to an assignment.
LENT = {Place}
BATCH = 500
Model = type[models.Model]
Rows = dict[Model, set[Any]]


def rows_about(rater: Rater) -> Rows:
    """Return the keys of the rows of each model that lead to a person."""
    return rows_leading_to(Rater, [rater.pk])


def rows_leading_to(start: Model, keys: Collection[Any]) -> Rows:
    """Return the keys of the rows of each model that lead to these, over any number of relations."""
    rows: Rows = {start: set(keys)}
    following: list[Model] = [start]
    while following:
        model = following.pop()
        for referring, name in _referring(model):
            found = {row.pk for row in in_batches(referring, rows[model], name)}
            if found - rows.get(referring, set()):
                rows[referring] = rows.get(referring, set()) | found
                following.append(referring)
    return rows


def _referring(model: Model) -> Iterator[tuple[Model, str]]:
    """Yield the models that refer to this one, with the name of the field that does."""
    for relation in model._meta.get_fields(include_hidden=True):
        if isinstance(relation, models.ManyToOneRel) and relation.field.model not in LENT:
            yield relation.field.model, relation.field.name


def in_batches(model: Model, keys: Collection[Any], name: str = "pk") -> Iterator[models.Model]:
    for some in batches_of(keys):
        yield from rows_of(model, some, name).order_by("pk")


def batches_of(keys: Collection[Any]) -> Iterator[list[Any]]:
    """Yield so many keys as a statement of any database takes."""
    ordered = sorted(keys)
    for start in range(0, len(ordered), BATCH):
        yield ordered[start : start + BATCH]


def rows_of(model: Model, keys: Collection[Any], name: str = "pk") -> models.QuerySet[models.Model]:
    """Return rows by the base manager, through which append-only rows can be changed, too."""
    return model._base_manager.filter(**{f"{name}__in": keys})


def studies_of_person(rater: Rater) -> models.QuerySet[Study]:
    """Return the studies in which someone took part, or which were imported with their ratings."""
    rated = Rating.objects.filter(rater=rater).order_by().values("unit__study")
    in_study = Q(pk__in=rater.participations.values("study")) | Q(pk__in=rated)
    return Study.objects.filter(in_study).order_by("pk")


def events_about(rater: Rater) -> list[StudyEvent]:
    """Return the entries of the logs that name the person's pseudonym, alone or among others."""
    events = StudyEvent.objects.filter(study__in=studies_of_person(rater)).order_by("pk")
    return [event for event in events if rater.pseudonym in names_in(event)]


def names_in(event: StudyEvent) -> list[str]:
    named = event.details.get("annotator", [])
    return [named] if isinstance(named, str) else named


def own_data(rater: Rater) -> str:
    """Return what is stored about a person as JSON: the rows of each model, and entries of the logs."""
    rows: dict[str, list[Any]] = {
        model._meta.label: list(in_batches(model, keys))
        for model, keys in rows_about(rater).items()
    }
    events = events_about(rater)
    for event in events:
        event.details["annotator"] = rater.pseudonym  # and nobody else who was paid with them
    rows[StudyEvent._meta.label] = events
    tables = {
        label: [{"id": row["pk"], **row["fields"]} for row in json.loads(serialize("json", found))]
        for label, found in rows.items()
    }
    return json.dumps(tables, ensure_ascii=False, indent=1)
