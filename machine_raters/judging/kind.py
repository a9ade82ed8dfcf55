"""Judges, as a kind of machine rater."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from annotation.models.rating import is_unparsed
from annotation.services.planning import ensure_plan
from machine_raters.forms import JudgeForm
from machine_raters.judging.again_job import SENT_AGAIN, AskAgainJob
from machine_raters.judging.example_sets import check_examples, fix_examples
from machine_raters.judging.injection_job import JudgeInjectionJob
from machine_raters.judging.job import JudgeDryRunJob, JudgingJob, questions_of
from machine_raters.judging.passes import Items, items_of
from machine_raters.judging.presets import preset_named
from machine_raters.judging.progress import progress_of
from machine_raters.judging.second_answers import asked_again
from machine_raters.kind import Kind, Shown
from machine_raters.messages import (
    JUDGE_ASKS_ALL,
    JUDGE_ASKS_TWICE,
    JUDGE_IN_DRAFT,
    JUDGE_WITHOUT_CRITERION,
    NO_ITEMS,
    NO_MODEL,
)
from machine_raters.models import Judge, MachineRater, SyntheticVerdict
from studies.model_servers import check_model
from studies.models import Study
from tiebreak.asking.requests import check_settings
from tiebreak.errors import DomainError


class JudgeKind(Kind):
    name, model, form = MachineRater.Kind.JUDGE, Judge, JudgeForm
    job, other_jobs = JudgingJob, (JudgeDryRunJob, JudgeInjectionJob, AskAgainJob)
    rows = ("criteria",)
    # Its prompts are read in a trial first.
    starts_at_once = False
    path, heading, button = "judges", "Judges", "Create"

    def of(self, study: Study) -> QuerySet[Any]:
        """Return judges with how many answers are stored, and how many were unreadable."""
        judges = Judge.objects.filter(study=study).select_related("study", "rater", "example_set")
        tests = SyntheticVerdict.objects.filter(judge=OuterRef("pk"))
        return judges.prefetch_related("questions__criterion").annotate(
            answers=Count("verdicts"),
            unparsed=Count("verdicts", filter=is_unparsed("verdicts__rating__")),
            nonresponses=Count("verdicts", filter=~Q(verdicts__rating__nonresponse="")),
            is_tested=Exists(tests),
        )

    def listed(self, study: Study, **only: Any) -> list[Any]:
        judges = super().listed(study, **only)
        progress = progress_of(study, judges) if judges else {}
        tests = asked_again(study, judges) if judges else {}
        for judge in judges:
            judge.progress = progress[judge.pk]
            judge.asked_again = tests.get(judge.pk, [])
        return judges

    def check_new(self, judge: Judge, rows: Mapping[str, Any]) -> None:
        check_model(judge.server, judge.language_model, advice=NO_MODEL)
        if judge.comparisons == Judge.Schedule.ALL and judge.budget is not None:
            raise DomainError("budget_of_all", JUDGE_ASKS_ALL, status=400)
        if judge.comparisons == Judge.Schedule.SYMMETRIC and (judge.budget or 0) % 2:
            raise DomainError("odd_budget", JUDGE_ASKS_TWICE, status=400)
        check_settings(judge, [criterion.parsed_scale for criterion in rows["criteria"]])

    def add_rows(self, judge: Judge, rows: Mapping[str, Any]) -> None:
        for criterion in rows["criteria"]:
            judge.questions.create(criterion=criterion)
        for question in judge.questions.all():
            fix_examples(question)

    def check_start(self, judge: Judge) -> None:
        if judge.study.status == Study.Status.DRAFT:
            raise DomainError("study_is_draft", JUDGE_IN_DRAFT)
        for question in questions_of(judge):
            check_examples(question)
        check_items(judge)

    def answers(self, judge: Judge) -> int:
        return super().answers(judge) + judge.synthetic_verdicts.count()

    def facts(self, judge: Judge) -> dict[str, Any]:
        return {"model": judge.language_model, "server": judge.server}

    def row(self, judge: Any, shown: Shown) -> dict[str, Any]:
        asked = shown.items.passes(judge)
        can_start = judge.answers < asked and not why_not_yet(shown.study, shown.items)
        start = "Rate the remaining items" if judge.answers else "Rate all items"
        return {
            "asked": asked,
            "open": max(0, asked - judge.answers - judge.progress.failed),
            "are_pairs": shown.items.are_pairs,
            "preset": preset_named(judge.preset),
            "dry_run": shown.newest(JudgeDryRunJob, judge.public_id),
            "sent_again": SENT_AGAIN,
            "again": shown.newest(AskAgainJob, judge.public_id),
            "injections": shown.newest(JudgeInjectionJob, judge.public_id),
            "answers": judge.answers or judge.is_tested,
            "start": start if can_start else "",
        }


def why_not_yet(study: Study, items: Items) -> str:
    """Return why no judge of this study could rate now, or "" if it could."""
    if study.status == Study.Status.DRAFT:
        return JUDGE_IN_DRAFT
    return "" if items.number else NO_ITEMS


def check_items(judge: Judge) -> None:
    """Raise `DomainError` if there is nothing to rate. Items of a draft exist once it is planned."""
    if not judge.questions.exists():  # its criterion was deleted from the draft
        raise DomainError("judge_without_criterion", JUDGE_WITHOUT_CRITERION)
    ensure_plan(study=judge.study)
    if not items_of(judge.study).exists():
        raise DomainError("no_items", NO_ITEMS)
