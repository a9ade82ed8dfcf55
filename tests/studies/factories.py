"""Small studies for tests, which are created through the services wherever there is a service."""

from typing import Any

from django.contrib.auth.models import User

from annotation.models import Participation
from annotation.services.participations import mark_guidelines_read
from annotation.services.planning import plan_hits
from recruitment.services.entry import Entrant, give_consent
from recruitment.services.lifecycle import open_study
from studies.models import Criterion, Dataset, Generation, Instance, Membership, Study, System
from studies.models.study import StudySystem


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
    design = {"guidelines": "Prefer the note that leaves nothing out.", **design}
    study = Study.objects.create(title="Which note is better?", dataset=dataset, **design)
    for position, system in enumerate(dataset.systems.order_by("name")):
        StudySystem.objects.create(study=study, system=system, position=position)
    Criterion.objects.create(
        study=study, name="preference", question="Which do you prefer?", scale=scale
    )
    if member is not None:
        Membership.objects.create(study=study, user=member)
    return study


def make_open_study(**design: Any) -> Study:
    study = make_study(**design)
    plan_hits(study=study)
    return open_knowingly(study)


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
