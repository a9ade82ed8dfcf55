"""Which rows belong to a study, from the models' relations: a new model belongs by itself.

A row belongs to the study or the dataset to which its relations lead, required ones first. What such rows
refer to besides, such as raters, is shared with other studies. Accounts belong to nobody but their server.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from typing import Any

from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db.models import ForeignKey, Model, Q, QuerySet

from jobs.models import Job
from studies.models import Dataset, Study

Kind = type[Model]
Relation = ForeignKey[Any, Any]
# Rows that no file carries: the other server has its own, which are found by these fields.
MATCHED: dict[Kind, tuple[str, ...]] = {
    User: ("username", "email"),
    ContentType: ("app_label", "model"),
}
# The two that name their study without a relation.
OF_STUDY: dict[Kind, str] = {Study: "pk", Job: "owner", LogEntry: "object_id"}


@dataclass(frozen=True)
class Belongings:
    """The models whose rows belong to a study, to its dataset, or to several studies.

    The first two have the lookup from a row to the key of its study or dataset.
    """

    of_study: dict[Kind, str]
    of_dataset: dict[Kind, str]
    shared: tuple[Kind, ...]

    def in_order(self) -> list[Kind]:
        """Return the models, each after those to which it refers."""
        models = [*MATCHED, *self.shared, *self.of_dataset, *self.of_study]
        needs = {
            model: {one.related_model for one in relations(model)} & {*models} - {model}
            for model in models
        }
        return list(TopologicalSorter(needs).static_order())

    def rows(self, model: Kind, studies: Collection[str]) -> QuerySet[Any]:
        """Return the rows of a model that belong to these studies, in the order of their making."""
        rows = model._base_manager.order_by("pk")
        if model in self.of_study:
            return rows.filter(**{f"{self.of_study[model]}__in": studies})
        if model in self.of_dataset:
            datasets = Study.objects.filter(pk__in=studies).values("dataset")
            return rows.filter(**{f"{self.of_dataset[model]}__in": datasets})
        named = Q(pk__in=[])
        for other in (*self.of_study, *self.of_dataset):
            for field in relations(other):
                if field.related_model is model:
                    keys = self.rows(other, studies).order_by().values(field.attname)
                    named |= Q(pk__in=keys)
        return rows.filter(named)


def label(model: Kind) -> str:
    return model._meta.label


def fields_of(model: Kind) -> list[Any]:
    """Return the fields of a model's own table that a file carries."""
    fields = model._meta.local_concrete_fields
    if model not in MATCHED:
        return list(fields)
    return [one for one in fields if one.primary_key or one.name in MATCHED[model]]


def relations(model: Kind) -> list[Relation]:
    """Return the relations in a model's own table."""
    return [one for one in model._meta.local_concrete_fields if isinstance(one, ForeignKey)]


@cache
def belongings() -> Belongings:
    of_study = _reached(OF_STUDY)
    of_dataset = _reached({Dataset: "pk"}, apart_from=of_study)
    known = {*of_study, *of_dataset, *MATCHED}
    named = {one.related_model for model in of_study for one in relations(model)} - known
    of_accounts = {model for model in named if _is_of_account(model)}
    for model in list(of_study):
        if any(not one.null and one.related_model in of_accounts for one in relations(model)):
            del of_study[model]  # such as the studies of somebody's token
    return Belongings(of_study, of_dataset, tuple(sorted(named - of_accounts, key=label)))


def _is_of_account(model: Kind) -> bool:
    return any(one.related_model is User and not one.null for one in relations(model))


def _reached(roots: dict[Kind, str], *, apart_from: Collection[Kind] = ()) -> dict[Kind, str]:
    """Return the models from which relations lead to the roots, with the shortest lookup of each."""
    reached, is_optional = dict(roots), False
    others = [
        model
        for model in apps.get_models(include_auto_created=True)
        if not model._meta.proxy and model not in {*roots, *apart_from, *MATCHED}
    ]
    while True:
        new = {
            model: f"{one.name}__{reached[one.related_model]}"
            for model in others
            if model not in reached
            for one in reversed(relations(model))  # of several, the first stays
            if one.null == is_optional and one.related_model in reached
        }
        if not new and is_optional:
            return reached
        is_optional, reached = not new, reached | new
