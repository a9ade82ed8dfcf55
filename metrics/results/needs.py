"""What of a study needs a person, with the page where it is done, and the money so far."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count
from django.urls import reverse

from annotation.counts import progress_of
from annotation.services.late_answers import pending
from jobs.models import Job
from recruitment.costs import Accounts, StudyCosts, accounts
from recruitment.launch.channels import somebody_can_enter
from recruitment.ledger import Money
from studies.design.steps import missing_steps
from studies.models import Study
from tiebreak.reading.words import counted

SENTENCES = {
    "awaiting_payment": "{} finished work and {waits} to be paid.",
    "stuck": "{} stopped in the middle of a task, which others cannot take.",
    "paid_without_data": "{} {was} paid and {has} no completed task.",
    "screened_out": "{} did not pass the test and {is} owed for it.",
    "surplus": "{} gave ratings that no task needed.",
}


# The verbs of these sentences for one participant and for several.
VERB_FORMS = (
    {"waits": "waits", "was": "was", "has": "has", "is": "is"},
    {"waits": "wait", "was": "were", "has": "have", "is": "are"},
)


@dataclass(frozen=True)
class Need:
    """A sentence, and the page where something can be done about it."""

    code: str
    sentence: str
    url: str


@dataclass(frozen=True)
class Attention:
    needs: list[Need]
    costs: StudyCosts | None
    money: Money | None


def attention_of(study: Study) -> Attention:
    """Return what needs a person now. It reads every submission, so pages ask for it by itself."""
    accounting = accounts(study)
    needs = [
        *_of_draft(study),
        *_of_collecting(study, accounting.ledger.now),
        *_of_people(study, accounting),
        *_of_answers(study),
        *_of_jobs(study),
    ]
    return Attention(needs, accounting.costs, accounting.ledger.money if accounting.costs else None)


def _of_draft(study: Study) -> Iterator[Need]:
    """Yield the steps that a draft lacks. Programs launch a dry run."""
    if study.status == Study.Status.DRAFT and study.dry_run_of_id is None:
        for shown in missing_steps(study):
            yield Need(shown.step.slug, f"{shown.step.title}: {shown.status.sentence}", shown.url)


def _of_collecting(study: Study, moment: datetime) -> Iterator[Need]:
    """Yield why an open study collects nothing: nobody can enter, or nothing is left to do."""
    if study.status != Study.Status.OPEN:
        return
    now = progress_of(study, moment)
    if now.places and now.completed == now.places:
        sentence = "All responses are completed. Close the study, or raise R to collect more."
        yield Need("all_completed", sentence, reverse("recruitment:launch", args=[study.pk]))
        return
    for channel in study.channels.exclude(link_problem=""):
        url = reverse("recruitment:channels", args=[study.pk])
        yield Need("link_refused", channel.link_problem, url)
    for check in somebody_can_enter(study):
        yield Need(check.code, check.sentence, reverse(check.where, args=[study.pk]))


def _of_people(study: Study, accounting: Accounts) -> Iterator[Need]:
    url = reverse("recruitment:ledger", args=[study.pk])
    if accounting.beyond_budget:
        yield Need("beyond_budget", accounting.beyond_budget, url)
    for name, sentence in SENTENCES.items():
        if people := accounting.ledger.totals.listed[name]:
            text = sentence.format(counted(people, "participant"), **VERB_FORMS[people > 1])
            yield Need(name, text, url)


def _of_answers(study: Study) -> Iterator[Need]:
    people = pending(study).order_by().aggregate(n=Count("rater", distinct=True))["n"]
    if people:
        sentence = f"{counted(people, 'annotator')} answered after the study closed. Accept the answers or decline them."
        yield Need("late", sentence, reverse("recruitment:launch", args=[study.pk]))


def _of_jobs(study: Study) -> Iterator[Need]:
    """Yield the kinds of work whose newest job failed."""
    newest = {job.kind: job for job in Job.objects.filter(owner=study.pk).order_by("pk")}
    for job in newest.values():
        if job.status == Job.Status.FAILED:
            url = reverse("metrics:jobs", args=[study.pk])
            yield Need("failed_job", f"The last job “{job.kind}” failed.", url)
