"""Machine raters that this server lets rate: their names, and the assignments of their ratings."""

from collections.abc import Iterable

from django.db.models import Q, QuerySet

from annotation.models import HIT, Assignment, HITUnit, Rater
from annotation.services.rating_writer import create_raters, provider_of
from machine_raters.judging.passes import Pass
from machine_raters.messages import RATER_NAME_TAKEN
from studies.models import Study
from studies.services import record_version
from tiebreak.errors import DomainError


def create_machine_rater(study: Study, name: str) -> Rater:
    """Create a machine rater. Raises `DomainError` if a rater of the study has this name."""
    unused_raters(study, name).delete()
    here = Q(provider=provider_of(study), external_id=name) | Q(
        participations__study=study, pseudonym=name
    )
    if Rater.objects.filter(here).exists():
        raise DomainError("name_taken", RATER_NAME_TAKEN.format(name=name))
    return create_raters(study, {name: Rater.Kind.MACHINE})[name]


def unused_raters(study: Study, name: str) -> QuerySet[Rater]:
    """Return the machine rater that a deleted judge of this name has left, if it never rated."""
    return Rater.objects.filter(
        provider=provider_of(study),
        external_id=name,
        kind=Rater.Kind.MACHINE,
        judge__isnull=True,
        baseline__isnull=True,
        jury__isnull=True,
        ratings__isnull=True,
    )


def machine_assignments(
    study: Study, rater: Rater, asked: Iterable[Pass]
) -> dict[Pass, Assignment]:
    """Return the assignment of each pass; missing ones are created."""
    asked = list(asked)
    hits = dict(
        HITUnit.objects.filter(
            unit__in={one.unit for one in asked}, repeat=0, hit__kind=HIT.Kind.MAIN
        ).values_list("unit", "hit")
    )
    known = {
        (row.hit_id, row.order, row.run): row
        for row in Assignment.objects.filter(rater=rater, hit__in=set(hits.values()))
    }
    wanted = dict.fromkeys((hits[one.unit], one.order, one.run) for one in asked)
    position = Assignment.objects.filter(rater=rater).count()
    version = record_version(study=study)
    new = [
        Assignment(
            hit_id=hit,
            rater=rater,
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
