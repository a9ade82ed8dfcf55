"""What a rating of a machine costs: by its prices, as somebody said, or as those of a jury's members.

What is not known is None with the reason, and never 0.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Q

from annotation.models import Rater, Rating
from annotation.services.rating_writer import provider_of
from machine_raters.judging.progress import Progress, progress_of
from machine_raters.messages import (
    BAD_RATING_COST,
    COST_FOLLOWS_FROM_PRICES,
    MEMBER_COST_UNKNOWN,
    NO_ANSWERS_YET,
    NO_COST_STATED,
    NO_SUCH_MACHINE,
)
from machine_raters.models import Judge, Jury, MachineRater, StatedCost
from machine_raters.models.stated_cost import COST_DIGITS, MAX_RATING_COST
from studies.models import Study, StudyEvent
from studies.services import record_event
from tiebreak.errors import DomainError

FREE = Decimal(0)
Kind = MachineRater.Kind
# By member of a jury and criterion.
_Answers = Mapping[tuple[int, int], Decimal]


@dataclass(frozen=True)
class RatingCost:
    """What one rating costs, in the study's currency; None is not known, and `unknown_because` says why."""

    amount: Decimal | None
    unknown_because: str = ""

    @property
    def in_digits(self) -> str:
        """The cost as people type it, or "" if it is not known."""
        return "" if self.amount is None else f"{round(self.amount, COST_DIGITS).normalize():f}"


@dataclass(frozen=True)
class UploadedRater:
    """A machine whose ratings were not made here, with their number, how many are simulated, and their cost."""

    name: str
    ratings: int
    simulated: int
    cost: RatingCost


def uploaded_raters(study: Study) -> list[UploadedRater]:
    """Return the machines that were not made here and have ratings."""
    uploaded = Rater.objects.filter(
        provider=provider_of(study), kind=Rater.Kind.MACHINE, machine_rater__isnull=True
    )
    simulated = Count("ratings", filter=Q(ratings__simulated=True))
    rows = uploaded.annotate(n=Count("ratings"), simulated=simulated).filter(n__gt=0)
    columns = ("external_id", "n", "simulated", "stated_cost__amount")
    return [
        UploadedRater(name, n, made_up, _as_stated(amount))
        for name, n, made_up, amount in rows.order_by("external_id").values_list(*columns)
    ]


@transaction.atomic
def state_rating_cost(
    *, study: Study, rater: str, cost: Decimal | None, by: User | None = None
) -> RatingCost:
    """Store what a rating of a machine cost that rated elsewhere; None if nobody knows any longer.

    Raises `DomainError` if there is no such machine, if it was made here, or if the cost is negative, has too
    many digits or is no number.
    """
    if cost is not None:
        cost = _checked(cost)
    machine = Rater.objects.select_for_update().filter(
        provider=provider_of(study), kind=Rater.Kind.MACHINE, external_id=rater
    )
    found = machine.first()
    if found is None:
        raise DomainError("no_such_machine_rater", NO_SUCH_MACHINE, status=404)
    if study.machine_raters.filter(rater=found).exists():
        raise DomainError("made_here", COST_FOLLOWS_FROM_PRICES.format(name=rater))
    before = StatedCost.objects.filter(rater=found).first()
    if (before.amount if before else None) == cost:
        return _as_stated(cost)
    if cost is None:
        StatedCost.objects.filter(rater=found).delete()
    else:
        StatedCost.objects.update_or_create(rater=found, defaults={"study": study, "amount": cost})
    details = {"machine": rater, "cost": _as_stated(cost).in_digits or "unknown"}
    record_event(study=study, verb=StudyEvent.Verb.STATE_COST, by=by, details=details)
    return _as_stated(cost)


def rating_costs(study: Study) -> dict[str, RatingCost]:
    """Return what a rating of each machine rater costs, by their names.

    A simple rater costs nothing. A jury needs all of its members' answers to an item, so its rating costs
    what they cost together.
    """
    machines = Rater.objects.filter(provider=provider_of(study), kind=Rater.Kind.MACHINE)
    rows = list(machines.values_list("pseudonym", "machine_rater__kind", "stated_cost__amount"))
    costs = {name: _as_stated(amount) for name, kind, amount in rows if kind is None}
    costs |= {name: RatingCost(FREE) for name, kind, _ in rows if kind == Kind.BASELINE}
    kinds = {kind for _, kind, _ in rows}
    costs |= _of_judges(study) if Kind.JUDGE in kinds else {}
    return costs | (_of_juries(study, costs) if Kind.JURY in kinds else {})


def _checked(cost: Decimal) -> Decimal:
    is_possible = cost.is_finite() and 0 <= cost <= MAX_RATING_COST
    if not is_possible or cost != (stored := round(cost, COST_DIGITS)):
        raise DomainError("bad_cost", BAD_RATING_COST.format(most=MAX_RATING_COST), status=400)
    return stored


def _as_stated(cost: Decimal | None) -> RatingCost:
    return RatingCost(cost) if cost is not None else RatingCost(None, NO_COST_STATED)


def _of_judges(study: Study) -> dict[str, RatingCost]:
    judges = list(Judge.objects.filter(study=study, rater__isnull=False).select_related("rater"))
    progress = progress_of(study, judges) if judges else {}
    return {str(judge.rater): _of_judge(progress[judge.pk]) for judge in judges}


def _of_judge(progress: Progress) -> RatingCost:
    answers = sum(model.answers for model in progress.models)
    if not answers:
        return RatingCost(None, NO_ANSWERS_YET)
    if progress.cost.amount is None:
        return RatingCost(None, progress.cost.unknown_because)
    return RatingCost(Decimal(progress.cost.amount) / answers)


def _of_juries(study: Study, costs: Mapping[str, RatingCost]) -> dict[str, RatingCost]:
    juries = Jury.objects.filter(study=study, rater__isnull=False)
    juries = juries.select_related("rater").prefetch_related("members")
    answers = _answers_to_an_item({member.pk for jury in juries for member in jury.members.all()})
    return {str(jury.rater): _of_jury(jury, costs, answers) for jury in juries}


def _of_jury(jury: Jury, costs: Mapping[str, RatingCost], answers: _Answers) -> RatingCost:
    total = FREE
    for member in jury.members.all():
        cost = costs.get(str(member), RatingCost(None, NO_COST_STATED))
        if cost.amount is None:
            why = MEMBER_COST_UNKNOWN.format(member=member, why=cost.unknown_because)
            return RatingCost(None, why)
        total += cost.amount * answers.get((member.pk, jury.criterion_id), Decimal(1))
    return RatingCost(total)


def _answers_to_an_item(members: Collection[int]) -> _Answers:
    """Return how many answers each member gave to an item of a criterion, of both orders and all runs."""
    rows = Rating.objects.counted().filter(rater__in=members, repeat=0)
    counts = rows.values("rater", "criterion").annotate(
        n=Count("pk"), items=Count("unit", distinct=True)
    )
    return {
        (row["rater"], row["criterion"]): Decimal(row["n"]) / row["items"]
        for row in counts.order_by()
    }
