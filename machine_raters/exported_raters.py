"""How the machine raters of a study were made, for its export.

Of raters whose ratings were uploaded only those are listed of which somebody said what a rating cost: this
server does not know how they were made.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from django.db.models import Count, F, Max, Min, Q, Sum

from annotation.models import Rating
from annotation.models.rating import is_unparsed
from machine_raters.forms import JUDGE_CRITERIA, JUDGE_SETTINGS
from machine_raters.judging.job import questions_of
from machine_raters.judging.second_answers import asked_again
from machine_raters.models import (
    SERVED_BY,
    Baseline,
    ExampleSet,
    Judge,
    JudgeCriterion,
    Jury,
    MachineRater,
    StatedCost,
    Verdict,
)
from studies.instance_selection.written_fields import writers_of
from studies.models import Criterion, Study
from tiebreak.formats.rows import Row

COLUMNS = (
    "rater",
    "kind",
    "criterion",
    "created_at",
    "settings",
    "answers",
    "asked_again",
    "excluded",
    "excluded_reason",
)
# The name of a model server says something about the installation, and nothing about the judge.
UPLOADED = "uploaded"
PRIVATE = {"name", *JUDGE_CRITERIA, "server"}


def machine_rater_rows(study: Study) -> Iterator[Row]:
    """Yield a row for each simple rater and jury, and for each judge and criterion."""
    for judge in Judge.objects.filter(study=study).select_related("rater", "example_set"):
        for question in questions_of(judge):
            yield _judge_row(judge, question)
    for baseline in Baseline.objects.filter(study=study).select_related("criterion", "rater"):
        settings = {"method": baseline.method, "seed": baseline.seed}
        if baseline.language_model:
            settings["language_model"] = baseline.language_model
        yield _row(baseline, baseline.criterion, settings)
    juries = Jury.objects.filter(study=study).select_related("criterion", "rater")
    for jury in juries.prefetch_related("members"):
        members = sorted(member.pseudonym for member in jury.members.all())
        yield _row(jury, jury.criterion, {"rule": jury.rule, "members": members})
    for stated in StatedCost.objects.filter(study=study).select_related("rater"):
        yield from _uploaded_rows(stated)


def _judge_row(judge: Judge, question: JudgeCriterion) -> Row:
    values = {name: getattr(judge, name) for name in JUDGE_SETTINGS if name not in PRIVATE}
    settings = {
        name: str(value) if isinstance(value, Decimal | ExampleSet) else value
        for name, value in values.items()
    }
    settings["examples_sha256"] = question.examples_sha256
    writers = writers_of(judge.study.dataset_id) if judge.reference_field else {}
    if written_by := writers.get(judge.reference_field):
        settings["reference_written_by"] = written_by
    if question.steps:
        settings |= {"steps": question.steps, "steps_prompt": question.steps_prompt}
    came = {"answers": _answers(question), "asked_again": _asked_again(question)}
    return _row(judge, question.criterion, settings) | came


def _row(machine: MachineRater, criterion: Criterion, settings: dict[str, Any]) -> Row:
    assert machine.rater is not None
    return {
        "rater": machine.rater.pseudonym,
        "kind": machine.get_kind_display(),
        "criterion": criterion.name,
        "created_at": machine.created_at.isoformat(),
        "settings": settings,
        "answers": [],
        "asked_again": [],
        "excluded": machine.excluded,
        "excluded_reason": machine.excluded_reason,
    }


def _uploaded_rows(stated: StatedCost) -> Iterator[Row]:
    """Yield a row for each criterion by which a machine rated elsewhere, with what a rating cost."""
    rated = Rating.objects.filter(rater=stated.rater).order_by().values("criterion")
    for criterion in Criterion.objects.filter(pk__in=rated).order_by("position"):
        yield {
            "rater": stated.rater.pseudonym,
            "kind": UPLOADED,
            "criterion": criterion.name,
            "created_at": stated.rater.created_at.isoformat(),
            "settings": {"cost_of_a_rating": f"{stated.amount.normalize():f}"},
            "answers": [],
            "asked_again": [],
            "excluded": False,
            "excluded_reason": "",
        }


def _answers(question: JudgeCriterion) -> list[dict[str, Any]]:
    """Return what came of the requests, by the model's name and revision as the server gave them, and by the server."""
    answers = (
        Verdict.objects.filter(judge=question.judge, rating__criterion=question.criterion)
        .values(*SERVED_BY[1:], model=F("language_model"))
        .annotate(
            answers=Count("pk"),
            unreadable=Count("pk", filter=is_unparsed("rating__")),
            nonresponses=Count("pk", filter=~Q(rating__nonresponse="")),
            constrained=Count("pk", filter=Q(is_constrained=True)),
            prompt_tokens=Sum("prompt_tokens"),
            tokens=Sum("tokens"),
            prompts=Count("prompt_sha256", distinct=True),
            first=Min("rating__created_at"),
            last=Max("rating__created_at"),
        )
        .order_by("model", *SERVED_BY[1:])
    )
    return [
        {**row, "first": row["first"].isoformat(), "last": row["last"].isoformat()}
        for row in answers
    ]


def _asked_again(question: JudgeCriterion) -> list[dict[str, Any]]:
    """Return how often each test of the server brought the same verdict by the criterion."""
    judge, name = question.judge, question.criterion.name
    return [
        {
            "test": test.test,
            "asked_at": test.asked_at,
            "servers": list(test.servers),
            "answers": one.answers,
            "flips": one.flips,
            **{part: getattr(one.same, part) for part in ("value", "low", "high")},
        }
        for test in asked_again(judge.study, [judge])[judge.pk]
        for one in test.criteria
        if one.criterion == name
    ]
