"""Adding juries, and letting them decide."""

from collections.abc import Collection
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, OuterRef, Prefetch, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation.models import Rater, Rating
from annotation.services.rating_writer import provider_of
from jobs.models import Job
from jobs.services import start_job
from machine_raters.judging.passes import comparisons_of, items_of
from machine_raters.juries.job import JuryJob
from machine_raters.juries.verdicts import answers_of, undecided_units
from machine_raters.messages import (
    FEW_MEMBERS,
    JURY_MEMBER_EXCLUDED,
    JURY_MEMBER_HAS_BUDGET,
    JURY_MEMBER_LACKS,
    JURY_NEEDS_ALL_ANSWERS,
    JURY_NEEDS_LABELS,
    JURY_NOTHING_TO_DECIDE,
    NO_SUCH_JURY,
)
from machine_raters.models import Judge, Jury
from machine_raters.services.raters import create_machine_rater
from studies.models import Study, StudyEvent
from studies.services import record_event
from tiebreak.errors import DomainError


def juries_of(study: Study) -> QuerySet[Jury]:
    """Return the study's juries, with how many items each has decided, and how many not by a label."""
    verdicts = Rating.objects.counted().filter(
        rater=OuterRef("rater"), criterion=OuterRef("criterion")
    )
    undecided = verdicts.filter(label__isnull=True)
    return (
        study.juries.select_related("criterion")
        .prefetch_related(Prefetch("members", Rater.objects.order_by("pseudonym")))
        .annotate(decided=_count(verdicts), without_label=_count(undecided))
    )


def _count(ratings: QuerySet[Rating]) -> Coalesce:
    counted = ratings.order_by().values("rater").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted), 0)


def jury_named(study: Study, public_id: str) -> Jury:
    """Return a jury of the study. Raises `DomainError` if there is none with this id."""
    jury = juries_of(study).filter(public_id=public_id).first()
    if jury is None:
        raise DomainError("no_such_jury", NO_SUCH_JURY, status=404)
    return jury


def possible_members(study: Study) -> QuerySet[Rater]:
    """Return the study's machine raters that are no juries themselves, and are not excluded."""
    machines = Rater.objects.filter(provider=provider_of(study), kind=Rater.Kind.MACHINE)
    machines = machines.filter(jury__isnull=True).exclude(baseline__excluded=True)
    return machines.order_by("pseudonym")


def add_jury(
    *, study: Study, members: Collection[Rater], by: User | None = None, **settings: Any
) -> Jury:
    """Create a jury with its machine rater, and queue a job in which it decides.

    Raises `DomainError` if its name is taken, or if there is nothing that it could decide.
    """
    if len(members) < 2:
        raise DomainError("few_members", FEW_MEMBERS, status=400)
    jury = Jury(study=study, **settings)
    if not jury.criterion.parsed_scale.labels:
        sentence = JURY_NEEDS_LABELS.format(criterion=jury.criterion)
        raise DomainError("no_labels", sentence, status=400)
    with transaction.atomic():
        jury.full_clean(exclude=["rater"], validate_constraints=False)
        jury.rater = create_machine_rater(study, jury.name)
        jury.save()
        jury.members.set(members)
        _check(jury)
        names = sorted(member.pseudonym for member in members)
        details = {"jury": jury.name, "rule": jury.rule, "members": names}
        record_event(study=study, verb=StudyEvent.Verb.ADD_JURY, by=by, details=details)
    start_jury(jury=jury, by=by)
    return jury


def start_jury(*, jury: Jury, by: User | None = None) -> Job:
    """Queue a job in which the jury decides what its members have answered since."""
    _check(jury)
    return start_job(
        kind=JuryJob.name,
        owner=jury.study_id,
        exclusive_key=f"{JuryJob.name}:{jury.public_id}",
        options={"jury": jury.public_id, "name": jury.name},
        by=by,
    )


def _check(jury: Jury) -> None:
    if excluded := jury.members.filter(baseline__excluded=True).first():
        raise DomainError("member_excluded", JURY_MEMBER_EXCLUDED.format(member=excluded))
    if jury.rule == Jury.Rule.DAWID_SKENE:
        _check_all_answered(jury)
    if not undecided_units(jury).exists():
        raise DomainError("nothing_to_decide", JURY_NOTHING_TO_DECIDE)


def _check_all_answered(jury: Jury) -> None:
    """Raise `DomainError` if a member lacks an answer, or could never give them all."""
    items = items_of(jury.study).count()
    members = jury.members.order_by("pseudonym")
    lacking = {member: missing for member in members if (missing := _open(jury, member))}
    if not lacking:
        return
    named = ", ".join(
        JURY_MEMBER_LACKS.format(member=member, missing=missing)
        for member, missing in lacking.items()
    )
    if limited := [str(member) for member in lacking if _has_small_budget(member, items)]:
        facts = {"items": items, "lacking": named, "judges": " and ".join(limited)}
        raise DomainError("member_has_budget", JURY_MEMBER_HAS_BUDGET.format(**facts))
    sentence = JURY_NEEDS_ALL_ANSWERS.format(items=items, lacking=named)
    raise DomainError("answers_missing", sentence)


def _open(jury: Jury, member: Rater) -> int:
    """Return how many items this member has not answered."""
    answered = answers_of(jury, member.pk).values("unit")
    return items_of(jury.study).exclude(pk__in=answered).count()


def _has_small_budget(member: Rater, items: int) -> bool:
    judge = Judge.objects.filter(rater=member).exclude(budget=None).first()
    return judge is not None and len(comparisons_of(judge)) < items
