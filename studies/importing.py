"""A bundle's dataset and design, into the database."""

import hashlib
import json
from dataclasses import asdict

from django.contrib.auth.models import User
from django.db import transaction

from studies.formats import Bundle, InstanceRow
from studies.models import Criterion, Dataset, Generation, Instance, Membership, Study, System
from studies.models.study import StudySystem

BATCH = 1000
# What a study and its bundle call by one name.
DESIGN_FIELDS = (
    "title",
    "guidelines",
    "consent",
    "ratings_per_hit",
    "comparisons_per_hit",
    "bundling",
    "repeats_per_hit",
    "repeat_distance",
    "abandoned",
    "unit_kind",
    "hits_per_annotator",
    "hits_per_day",
    "most_answers",
    "most_answers_per_day",
    "lease_minutes",
    "similarity",
)


@transaction.atomic
def import_design(*, bundle: Bundle, owner: User | None) -> Study:
    """A draft study and its dataset, from a bundle that was read and found whole.

    A dataset with the same content is not stored twice: the study uses the one that is there.
    """
    dataset = _dataset(bundle, owner)
    study = Study.objects.create(
        dataset=dataset, **{name: getattr(bundle.spec, name) for name in DESIGN_FIELDS}
    )
    systems = {system.name: system for system in dataset.systems.all()}
    StudySystem.objects.bulk_create(
        StudySystem(study=study, system=systems[name], position=position)
        for position, name in enumerate(bundle.spec.systems)
    )
    Criterion.objects.bulk_create(
        Criterion(study=study, position=position, **asdict(spec))
        for position, spec in enumerate(bundle.spec.criteria)
    )
    if owner is not None:
        Membership.objects.create(study=study, user=owner)
    return study


def content_digest(bundle: Bundle) -> str:
    """The same for the same instances, systems and generations, in whatever order."""
    rows = [json.dumps(asdict(row), sort_keys=True) for row in bundle.instances]
    rows += [json.dumps(asdict(row), sort_keys=True) for row in bundle.generations]
    rows += sorted([*bundle.spec.systems, *bundle.spec.controls])
    return hashlib.sha256("\n".join(sorted(rows)).encode()).hexdigest()


def _dataset(bundle: Bundle, owner: User | None) -> Dataset:
    digest = content_digest(bundle)
    known = Dataset.objects.filter(sha256=digest, created_by=owner).first()
    if known is not None:
        return known
    dataset = Dataset.objects.create(name=bundle.spec.title, sha256=digest, created_by=owner)
    systems = System.objects.bulk_create(
        System(dataset=dataset, name=name, is_control=name in bundle.spec.controls)
        for name in (*bundle.spec.systems, *bundle.spec.controls)
    )
    instances = Instance.objects.bulk_create(
        (_instance(dataset, row) for row in bundle.instances), batch_size=BATCH
    )
    _store_generations(bundle, systems, instances)
    return dataset


def _instance(dataset: Dataset, row: InstanceRow) -> Instance:
    values = asdict(row)
    return Instance(dataset=dataset, key=values.pop("id"), **values)


def _store_generations(bundle: Bundle, systems: list[System], instances: list[Instance]) -> None:
    by_name = {system.name: system for system in systems}
    by_key = {instance.key: instance for instance in instances}
    Generation.objects.bulk_create(
        (
            Generation(
                instance=by_key[row.instance],
                system=by_name[row.system],
                sample_index=row.sample_index,
                text=row.text,
                seed=row.seed,
                params=row.params,
                is_dummy=row.is_dummy,
            )
            for row in bundle.generations
        ),
        batch_size=BATCH,
    )
