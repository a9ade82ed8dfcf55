"""Small studies for tests, which are created through the services wherever there is a service."""

from copy import copy
from datetime import datetime
from itertools import product
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db.models import Model

from annotation.models import Participation
from annotation.services.participations import mark_guidelines_read
from annotation.services.planning import plan_hits
from jobs.clock import database_now
from recruitment.services.entry import Entrant, give_consent
from recruitment.services.lifecycle import open_study
from studies.models import Criterion, Dataset, Generation, Instance, Membership, Study, System
from studies.models.study import StudySystem
from tests.draws import draw_from
from tiebreak.identifiers import new_public_id


class _Everything(frozenset[str]):
    def __contains__(self, code: object) -> bool:
        return True


# It stands for all warnings, because finding them takes as long as opening the study.
EVERY_WARNING = _Everything()


def make_dataset(*, instances: int = 4, systems: int = 2, samples: int = 5) -> Dataset:
    dataset = Dataset.objects.create(name="Notes")
    rows = [System.objects.create(dataset=dataset, name=f"system-{i}") for i in range(systems)]
    for i in range(instances):
        instance = Instance.objects.create(
            dataset=dataset, key=f"note-{i}", source=f"Source text {i}.", category=f"kind-{i % 2}"
        )
        Generation.objects.bulk_create(
            Generation(instance=instance, system=system, sample_index=k, text=f"Text {i} {s} {k}.")
            for s, system in enumerate(rows)
            for k in range(samples)
        )
    return dataset


def make_study(
    *,
    instances: int = 4,
    systems: int = 2,
    samples: int = 5,
    scale: str = "preference:tie",
    member: User | None = None,
    **design: Any,
) -> Study:
    """Create a draft study with a new dataset and one criterion, which is ready to be planned."""
    dataset = make_dataset(instances=instances, systems=systems, samples=samples)
    texts = {"guidelines": "Prefer the note that leaves nothing out.", "consent": "We are N. N."}
    design = {**texts, **design}
    study = Study.objects.create(title="Which note is better?", dataset=dataset, **design)
    for position, system in enumerate(dataset.systems.order_by("name")):
        StudySystem.objects.create(study=study, system=system, position=position)
    Criterion.objects.create(
        study=study, name="preference", question="Which do you prefer?", scale=scale
    )
    if member is not None:
        Membership.objects.create(study=study, user=member)
    return study


def make_open_study(*, member: User | None = None, **design: Any) -> Study:
    """Open a study, or store again what a test before has opened, which takes a fifth of the time."""
    is_first = not (Dataset.objects.exists() or Study.objects.exists())
    study = _OPENED.stored_again(design) if is_first else _open(design)
    if member is not None:
        Membership.objects.create(study=study, user=member)
    return study


def _open(design: dict[str, Any]) -> Study:
    study = make_study(**design)
    plan_hits(study=study)
    return open_knowingly(study)


class _OpenedStudies:
    """The rows of studies that were opened where there was no other, by their design."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[Study, list[list[Model]]]] = {}

    def stored_again(self, design: dict[str, Any]) -> Study:
        """Store a study as if it were opened now, with an id of its own because caches outlive a test."""
        key = repr(sorted(design.items()))
        if key not in self.rows:
            return self._first(key, design)
        study, tables = self.rows[key]
        past, new_id = database_now() - study.opened_at, new_public_id()
        for rows in tables:
            again = [copy(row) for row in rows]
            for row, field in product(again, rows[0]._meta.concrete_fields):
                value = getattr(row, field.attname)
                if isinstance(value, datetime):
                    setattr(row, field.attname, value + past)
                elif value == study.pk:
                    setattr(row, field.attname, new_id)
            type(rows[0])._base_manager.bulk_create(again)
        return Study.objects.get(pk=new_id)

    def _first(self, key: str, design: dict[str, Any]) -> Study:
        models = [one for one in apps.get_models() if not one.__module__.startswith("django.")]
        is_alone = not any(one._base_manager.exists() for one in models)
        with pytest.MonkeyPatch.context() as patch:
            draw_from(key, patch)
            study = _open(design)
        if is_alone:
            tables = (list(one._base_manager.all()) for one in models)
            self.rows[key] = study, [rows for rows in tables if rows]
        return study


_OPENED = _OpenedStudies()


def open_knowingly(study: Study) -> Study:
    """Open a study despite all warnings, like a researcher who has read them."""
    return open_study(study=study, confirmed_warnings=EVERY_WARNING)


def make_participation(study: Study, name: str = "ann") -> Participation:
    """Create the participation of an annotator who has agreed and has read the guidelines."""
    participation = give_consent(
        study=study, entrant=Entrant(provider="test", external_id=name, submission_id=name)
    )
    mark_guidelines_read(participation=participation)
    participation.refresh_from_db()
    return participation
