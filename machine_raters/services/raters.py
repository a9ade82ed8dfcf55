"""The raters of a study's machines: their names, their assignments, and whether they may rate."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, TypeVar, cast

from django.db.models import Q, QuerySet

from annotation.models import HIT, Assignment, HITUnit, Rater, Rating
from annotation.services.rating_writer import provider_of
from annotation.services.tallies import apply_tally_deltas, tally_key
from jobs.clock import database_now
from jobs.models import Job
from machine_raters.judging.passes import Pass
from machine_raters.messages import MACHINE_EXCLUDED, NO_SUCH_MACHINE, RATER_NAME_TAKEN
from machine_raters.models import MachineRater
from studies.freshness import note_change
from studies.models import Criterion, JoinedSystem, Study
from studies.services import record_version
from tiebreak.asking.prompts import A_FIRST, B_FIRST
from tiebreak.errors import DomainError

# Where the text of system A was shown, by the order of the texts.
SIDES = {"": "", A_FIRST: "left", B_FIRST: "right"}
Machine = TypeVar("Machine", bound=MachineRater)


def machine_of(job: Job, model: type[Machine]) -> Machine:
    """Return the machine rater of a job.

    Raises `DomainError` if it was deleted or excluded in the meantime.
    """
    here = model._default_manager.select_related("study", "rater")
    own = here.filter(public_id=job.options["rater"], study=job.owner)
    return in_use(cast("Machine | None", own.first()))


def lock_in_use(machine: MachineRater) -> None:
    """Lock a machine rater so that it is neither deleted nor excluded while it stores something.

    Raises as `machine_of` does.
    """
    in_use(MachineRater.objects.select_for_update().filter(pk=machine.pk).first())


def check_in_use(machine: MachineRater) -> None:
    if machine.excluded:
        raise DomainError("machine_rater_excluded", MACHINE_EXCLUDED.format(name=machine.name))


def in_use(machine: Machine | None) -> Machine:
    if machine is None:
        raise DomainError("no_such_machine_rater", NO_SUCH_MACHINE, status=404)
    check_in_use(machine)
    return machine


def check_name(study: Study, name: str) -> None:
    """Raise `DomainError` if a machine or a person of the study has this name."""
    raters = Rater.objects.filter(
        Q(provider=provider_of(study), external_id=name)
        | Q(participations__study=study, pseudonym=name)
    )
    if study.machine_raters.filter(name=name).exists() or raters.exists():
        raise DomainError("name_taken", RATER_NAME_TAKEN.format(name=name))


def unused_raters(study: Study, name: str) -> QuerySet[Rater]:
    """Return the rater that a deleted machine of this name has left, if it never rated."""
    return Rater.objects.filter(
        provider=provider_of(study),
        external_id=name,
        kind=Rater.Kind.MACHINE,
        machine_rater__isnull=True,
        ratings__isnull=True,
    )


def store_ratings(
    machine: MachineRater, answers: Mapping[Criterion, Mapping[Pass, Mapping[str, Any]]]
) -> list[Rating]:
    """Store the rating of each criterion and pass, whose label and other fields are given, with its tallies.

    The machine rater must be locked so that two workers do not store the same ratings.
    """
    asked = {one for passes in answers.values() for one in passes}
    assignments, now = _assignments(machine, asked), database_now()
    ratings = [
        Rating(
            assignment=assignments[one],
            rater=machine.rater,
            unit_id=one.unit,
            criterion=criterion,
            study_version_id=assignments[one].study_version_id,
            side_a=SIDES[one.order],
            client_key=f"{machine.kind}-{machine.public_id}",
            created_at=now,
            **fields,
        )
        for criterion, passes in answers.items()
        for one, fields in passes.items()
    ]
    Rating.objects.bulk_create(ratings)
    apply_tally_deltas(Counter(tally_key(rating) for rating in ratings if rating.is_tallied))
    note_joined(machine)
    return ratings


def note_joined(machine: MachineRater) -> None:
    """Record that the board of a study is out of date whose joined system the machine rater judges."""
    joins = JoinedSystem.objects.filter(study=machine.study_id)
    for study_id in joins.values_list("joined", flat=True):
        note_change(study_id)


def _assignments(machine: MachineRater, asked: Collection[Pass]) -> dict[Pass, Assignment]:
    """Return the assignment of each pass; missing ones are created."""
    hits = dict(
        HITUnit.objects.filter(
            unit__in={one.unit for one in asked}, repeat=0, hit__kind=HIT.Kind.MAIN
        ).values_list("unit", "hit")
    )
    own = Assignment.objects.filter(rater=machine.rater)
    known = {
        (row.hit_id, row.order, row.run): row for row in own.filter(hit__in=set(hits.values()))
    }
    wanted = dict.fromkeys((hits[one.unit], one.order, one.run) for one in asked)
    position = own.count()
    version = record_version(study=machine.study)
    new = [
        Assignment(
            hit_id=hit,
            rater=machine.rater,
            study_version=version,
            status=Assignment.Status.ABANDONED,
            position=position + i,
            run=run,
            order=order,
        )
        for i, (hit, order, run) in enumerate((key for key in wanted if key not in known), 1)
    ]
    Assignment.objects.bulk_create(new)
    known |= {(row.hit_id, row.order, row.run): row for row in new}
    return {one: known[hits[one.unit], one.order, one.run] for one in asked}
