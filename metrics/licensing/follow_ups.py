"""Follow-up studies of licences: fresh labels of a few items, and fresh ratings by the machine rater."""

import random

from django.contrib.auth.models import User
from django.db import transaction

from jobs.clock import database_now
from machine_raters.judging.passes import items_of
from machine_raters.judging.services import copy_judge
from machine_raters.models import Judge
from metrics.licensing.messages import (
    FOLLOW_UP_IS_DRAFT,
    FOLLOW_UP_OF_ENDED,
    FOLLOW_UP_TOO_LARGE,
)
from metrics.models import FollowUp, Licence
from recruitment.services.cloning import clone_study
from studies.models import InstanceSelection, SelectedInstance, Study, StudyEvent
from studies.services import LONGEST_TITLE, record_event
from tiebreak.errors import DomainError
from tiebreak.stats.design.selection import CONTROL


def instances_for(licence: Licence) -> list[int]:
    """Return the ids of the instances whose items the licence is for."""
    items = items_of(licence.study)
    if licence.category:
        items = items.filter(instance__category=licence.category)
    known = items.exclude(instance=None).order_by("instance").distinct()
    return list(known.values_list("instance", flat=True))


@transaction.atomic
def make_follow_up(*, licence: Licence, instances: int, by: User | None = None) -> FollowUp:
    """Create a draft with the same design for a few instances, which are drawn at random.

    Its annotators rate each item once, or twice if both orders are to be shown. If the machine rater
    is a judge, the draft has the same judge, which asks its language model anew. Raises `DomainError`
    if the licence has ended, if its last follow-up study is still a draft, or if it has fewer
    instances. Locks the study.
    """
    study = Study.objects.select_for_update().get(pk=licence.study_id)
    _check_needs_one(licence)
    known = instances_for(licence)
    if instances > len(known):
        sentence = FOLLOW_UP_TOO_LARGE.format(instances=len(known), items=licence.items)
        raise DomainError("too_many", sentence, status=400)
    number = licence.follow_ups.count() + 1
    if study.unit_kind == Study.UnitKind.GENERATION:
        instances = len(known)  # single texts are not drawn
    drawn = random.Random(f"{licence.public_id}:{number}").sample(known, instances)
    clone = _small_clone(study, number)
    select_instances(clone, drawn, of=len(known))
    judge = Judge.objects.filter(rater=licence.rater).first()
    if judge is not None:
        copy_judge(judge=judge, study=clone, by=by)
    details = {
        "study": clone.title,
        "machine rater": licence.rater.pseudonym,
        "instances": instances,
    }
    record_event(study=study, verb=StudyEvent.Verb.FOLLOW_UP, by=by, details=details)
    return FollowUp.objects.create(licence=licence, study=clone)


def _check_needs_one(licence: Licence) -> None:
    """Raise `DomainError` if the licence has ended, or its last follow-up study is still a draft."""
    if not licence.is_in_force:
        raise DomainError("licence_ended", FOLLOW_UP_OF_ENDED)
    draft = licence.follow_ups.filter(study__status=Study.Status.DRAFT).first()
    if draft is not None:
        raise DomainError("follow_up_is_draft", FOLLOW_UP_IS_DRAFT.format(draft.study.title))


def _small_clone(study: Study, number: int) -> Study:
    """Return a clone with one rating per item; the seed is the same, so the pairs are."""
    clone = clone_study(study=study).study
    end = f" (follow-up {number})"
    clone.title = f"{study.title[: LONGEST_TITLE - len(end)].rstrip()}{end}"
    clone.seed = study.seed
    clone.ratings_per_hit = 2 if study.pairing == Study.Pairing.SYMMETRIC else 1
    clone.further_share = 0.0
    clone.save(update_fields=["title", "seed", "ratings_per_hit", "further_share"])
    return clone


def select_instances(study: Study, instances: list[int], *, of: int) -> None:
    """Store a uniform draw of instances, for all pairs of systems."""
    InstanceSelection.objects.filter(study=study).delete()
    SelectedInstance.objects.filter(study=study).delete()
    if study.unit_kind == Study.UnitKind.GENERATION:
        return
    InstanceSelection.objects.create(
        study=study,
        design=InstanceSelection.Design.UNIFORM,
        instances=len(instances),
        drawn_at=database_now(),
    )
    SelectedInstance.objects.bulk_create(
        SelectedInstance(
            study=study,
            instance_id=instance,
            system_a=a,
            system_b=b,
            phase=CONTROL,
            inclusion_probability=len(instances) / of,
        )
        for instance in instances
        for a, b in study.system_pairs()
    )
