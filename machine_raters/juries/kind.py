"""Juries, as a kind of machine rater."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db import transaction
from django.db.models import Count, OuterRef, Prefetch, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation.models import Rater, Rating
from jobs.kinds import ChunkPlan, Progress
from jobs.models import Job
from machine_raters.forms import JuryForm
from machine_raters.judging.passes import Pass, comparisons_of, items_of
from machine_raters.juries.verdicts import (
    JuryVerdict,
    answers_of,
    known_to,
    undecided_units,
    verdicts_of,
)
from machine_raters.kind import Kind, MachineJob, Shown
from machine_raters.messages import (
    FEW_MEMBERS,
    JURY_MEMBER_EXCLUDED,
    JURY_MEMBER_HAS_BUDGET,
    JURY_MEMBER_LACKS,
    JURY_NEEDS_ALL_ANSWERS,
    JURY_NEEDS_ANNOTATORS,
    JURY_NEEDS_LABELS,
    JURY_NO_MEMBERS,
    JURY_NOTHING_TO_DECIDE,
)
from machine_raters.models import Judge, Jury, MachineRater
from machine_raters.services.raters import lock_in_use, machine_of, store_ratings
from machine_raters.services.rating_costs import rating_costs
from studies.models import Study
from tiebreak.errors import DomainError

# The items of a chunk. These rules look at all items together.
CHUNK = 5_000
WHOLE = {Jury.Rule.DAWID_SKENE, Jury.Rule.COMPOSITE}
NO_MAJORITY, NO_ANSWER = "no majority", "no readable answer that counts"


class JuryJob(MachineJob):
    """Decides the items that all members have answered. Decided items are never decided again."""

    name = "jury"
    label = "let a jury decide"
    page = "juries"

    def plan(self, job: Job) -> Iterator[ChunkPlan]:
        jury = machine_of(job, Jury)
        units = list(undecided_units(jury).values_list("pk", flat=True))
        size = len(units) if jury.rule in WHOLE else CHUNK
        for start in range(0, len(units), size):
            chunk = units[start : start + size]
            yield ChunkPlan(len(chunk), {"units": chunk})

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:
        jury, units = machine_of(job, Jury), payload["units"]
        store_verdicts(jury, verdicts_of(jury, units))
        yield Progress(len(units))


@transaction.atomic
def store_verdicts(jury: Jury, verdicts: Mapping[int, JuryVerdict]) -> None:
    """Store verdicts as ratings. The jury is locked so that no item is decided twice."""
    lock_in_use(jury)
    undecided = undecided_units(jury).filter(pk__in=verdicts).values_list("pk", flat=True)
    answers = {Pass(unit, "", "1"): _fields(verdicts[unit]) for unit in undecided}
    store_ratings(jury, {jury.criterion: answers})


def _fields(verdict: JuryVerdict) -> dict[str, Any]:
    why_not = "" if verdict.label is not None else NO_MAJORITY if verdict.shares else NO_ANSWER
    return {
        "label": None if verdict.label is None else str(verdict.label),
        "raw": "; ".join(filter(None, (", ".join(verdict.followed), why_not))),
        "probabilities": verdict.shares or None,
    }


class JuryKind(Kind):
    name, model, form, job = MachineRater.Kind.JURY, Jury, JuryForm, JuryJob
    rows = ("members",)
    path, page, heading, button = "juries", "juries", "Juries", "Add a jury"

    def of(self, study: Study) -> QuerySet[Any]:
        """Return juries with how many items each has decided, and how many not by a label."""
        verdicts = Rating.objects.filter(
            rater=OuterRef("rater"), criterion=OuterRef("criterion"), superseded=False
        )
        undecided = verdicts.filter(label__isnull=True)
        return (
            Jury.objects.filter(study=study)
            .select_related("study", "criterion", "rater")
            .prefetch_related(Prefetch("members", Rater.objects.order_by("pseudonym")))
            .annotate(decided=_count(verdicts), without_label=_count(undecided))
        )

    def listed(self, study: Study, **only: Any) -> list[Any]:
        """Return juries with what a rating of each costs."""
        juries = super().listed(study, **only)
        costs = rating_costs(study) if juries else {}
        for jury in juries:
            jury.cost = costs[str(jury.rater)]
        return juries

    def check_new(self, jury: Jury, rows: Mapping[str, Any]) -> None:
        if len(rows["members"]) < 2:
            raise DomainError("few_members", FEW_MEMBERS, status=400)
        if not jury.criterion.parsed_scale.labels:
            sentence = JURY_NEEDS_LABELS.format(criterion=jury.criterion)
            raise DomainError("no_labels", sentence, status=400)

    def add_rows(self, jury: Jury, rows: Mapping[str, Any]) -> None:
        jury.members.set(rows["members"])
        self.check_start(jury)

    def check_start(self, jury: Jury) -> None:
        if excluded := jury.members.filter(machine_rater__excluded=True).first():
            raise DomainError("member_excluded", JURY_MEMBER_EXCLUDED.format(member=excluded))
        if jury.rule == Jury.Rule.DAWID_SKENE:
            _check_all_answered(jury)
        if not undecided_units(jury).exists():
            raise DomainError("nothing_to_decide", JURY_NOTHING_TO_DECIDE)
        if jury.rule == Jury.Rule.COMPOSITE and not known_to(jury).suffices:
            raise DomainError("too_few_labelled", JURY_NEEDS_ANNOTATORS)

    def facts(self, jury: Jury) -> dict[str, Any]:
        names = sorted(jury.members.values_list("pseudonym", flat=True))
        return {"rule": jury.rule, "members": names}

    def row(self, jury: Any, shown: Shown) -> dict[str, Any]:
        items = shown.items.number
        start = "Decide what was answered since" if jury.decided < items else ""
        return {"items": items, "answers": jury.decided, "start": start}

    def why_not(self, form: Any) -> str:
        return "" if form.fields["members"].choices else JURY_NO_MEMBERS


def _count(ratings: QuerySet[Rating]) -> Coalesce:
    counted = ratings.order_by().values("rater").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted), 0)


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
