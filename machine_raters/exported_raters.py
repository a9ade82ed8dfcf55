"""How the machine raters of a study were made, for its export.

Raters whose ratings were uploaded are not listed: this server does not know how they were made.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from django.db.models import Count, F, Max, Min, Q, Sum

from machine_raters.judging.forms import JUDGE_SETTINGS
from machine_raters.models import ExampleSet, Judge, Verdict
from studies.models import Study
from tiebreak.formats.rows import Row

COLUMNS = (
    "rater",
    "kind",
    "criterion",
    "created_at",
    "settings",
    "answers",
    "excluded",
    "excluded_reason",
)
# The name of a model server says something about the installation, and nothing about the judge.
PRIVATE = {"name", "criterion", "server"}


def machine_rater_rows(study: Study) -> Iterator[Row]:
    """Yield a row for each judge, simple rater and jury."""
    for judge in study.judges.select_related("criterion", "rater", "example_set"):
        settings = {name: _plain(judge, name) for name in JUDGE_SETTINGS if name not in PRIVATE}
        settings["examples_sha256"] = judge.examples_sha256
        if judge.steps:
            settings |= {"steps": judge.steps, "steps_prompt": judge.steps_prompt}
        yield _row("judge", judge, settings) | {"answers": _answers(judge)}
    for baseline in study.baselines.select_related("criterion", "rater"):
        settings = {"method": baseline.method, "seed": baseline.seed}
        if baseline.language_model:
            settings["language_model"] = baseline.language_model
        exclusion = {name: getattr(baseline, name) for name in ("excluded", "excluded_reason")}
        yield _row("simple rater", baseline, settings) | exclusion
    for jury in study.juries.select_related("criterion", "rater").prefetch_related("members"):
        members = sorted(member.pseudonym for member in jury.members.all())
        yield _row("jury", jury, {"rule": jury.rule, "members": members})


def _plain(judge: Judge, name: str) -> Any:
    value = getattr(judge, name)
    return str(value) if isinstance(value, Decimal | ExampleSet) else value


def _row(kind: str, machine: Any, settings: dict[str, Any]) -> Row:
    return {
        "rater": machine.rater.pseudonym,
        "kind": kind,
        "criterion": machine.criterion.name,
        "created_at": machine.created_at.isoformat(),
        "settings": settings,
        "answers": [],
        "excluded": False,
        "excluded_reason": "",
    }


def _answers(judge: Judge) -> list[dict[str, Any]]:
    """Return what came of the requests, by the model's name and revision as the server gave them."""
    answers = (
        Verdict.objects.filter(judge=judge)
        .values("revision", model=F("language_model"))
        .annotate(
            answers=Count("pk"),
            unreadable=Count("pk", filter=Q(rating__label__isnull=True)),
            constrained=Count("pk", filter=Q(is_constrained=True)),
            prompt_tokens=Sum("prompt_tokens"),
            tokens=Sum("tokens"),
            prompts=Count("prompt_sha256", distinct=True),
            first=Min("rating__created_at"),
            last=Max("rating__created_at"),
        )
        .order_by("model", "revision")
    )
    return [
        {**row, "first": row["first"].isoformat(), "last": row["last"].isoformat()}
        for row in answers
    ]
