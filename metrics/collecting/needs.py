"""What of a study needs a person, with the button to where it is done."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Count, OuterRef, Q, Subquery
from django.urls import reverse
from django.utils.text import Truncator

from annotation.models import Comment
from annotation.services.late_answers import pending
from jobs.models import Job
from metrics.results.collection_figure import in_words
from recruitment.costs import Accounts, accounts
from recruitment.launch.channels import somebody_can_enter
from recruitment.launch.limits import enough_people_left
from recruitment.ledger import Ledger, pays_by_platform
from recruitment.models import Payment
from recruitment.people_table import WAITING
from studies.design.steps import count_of, missing_steps
from studies.models import Study
from tiebreak.digits import counted, money

# What a list of participants needs, and the button that leads there.
SENTENCES = {
    "awaiting_payment": ("{} {waits} to be paid.", "Look"),
    "screened_out": ("{} did not pass the test and {is} owed for it.", "Look"),
    "stuck": ("{} stopped in the middle of a task, which others cannot take.", "Free the places"),
    "paid_without_data": ("{} {was} paid and {has} no completed task.", "Look"),
    "surplus": ("{} gave ratings that no task needed.", "Look"),
}
# What can be wrong with a channel, from its columns.
CHANNEL_PROBLEMS = {
    "link_refused": "link_problem",
    "channel_problem": "problem",
    "sync_problem": "sync_problem",
}
MOST_OF_COMMENT = 60  # characters
# The verbs of these sentences for one participant and for several.
VERB_FORMS = (
    {"waits": "waits", "was": "was", "has": "has", "is": "is"},
    {"waits": "wait", "was": "were", "has": "have", "is": "are"},
)


@dataclass(frozen=True)
class Need:
    """A sentence, and the button to the page where something can be done about it.

    `pays` is the list of people whom an owner's button pays. `detail` is said besides, where the need
    stands alone.
    """

    code: str
    sentence: str
    url: str
    button: str = "Look"
    pays: str = ""
    detail: str = ""

    @property
    def parts(self) -> tuple[str, str]:
        """What is the matter, which is the first sentence, and what is said besides."""
        fact, end, rest = self.sentence.partition(". ")
        return f"{fact}{end.strip()}", f"{rest} {self.detail}".strip()


def needs_of(study: Study, accounting: Accounts | None = None) -> list[Need]:
    """Return what needs a person now. It reads every submission."""
    accounting, waiting = accounting or accounts(study), _waiting(study)
    return [
        *_of_draft(study),
        *_of_collecting(study, accounting),
        *_of_people(study, accounting, waiting["unconfirmed"]),
        *_of_answers(study, waiting),
        *_of_jobs(study),
        *_of_pause(study),
    ]


def _of_draft(study: Study) -> Iterator[Need]:
    """Yield the steps that a draft lacks. Programs launch a dry run."""
    if study.status == Study.Status.DRAFT and study.dry_run_of_id is None:
        for shown in missing_steps(study):
            sentence = f"{shown.step.title}: {shown.status.sentence}"
            yield Need(shown.step.slug, sentence, shown.url, f"Go to {shown.step.title}")


def _of_collecting(study: Study, accounting: Accounts) -> Iterator[Need]:
    """Yield why an open study collects nothing: nobody can enter, or nothing is left to do."""
    if study.status != Study.Status.OPEN:
        return
    if accounting.all_completed:
        sentence = "All responses are completed. Close the study, or raise R to collect more."
        url = reverse("recruitment:launch", args=[study.pk])
        yield Need("all_completed", sentence, url, "Close the study")
        return
    yield from of_channels(study)
    plan, most = accounting.plan, accounting.maximum
    left = enough_people_left(study, most, hits=plan.hits_total, missing=accounting.responses_left)
    for check in (*somebody_can_enter(study, most), *left):
        yield Need(
            check.code, check.sentence, reverse(check.where, args=[study.pk]), "Open Recruit"
        )


def _of_pause(study: Study) -> Iterator[Need]:
    if study.status == Study.Status.PAUSED:
        sentence = "The study waits for you. Open it again, or close it."
        url = reverse("recruitment:launch", args=[study.pk])
        yield Need("paused", sentence, url, "Open it again")


def of_channels(study: Study) -> Iterator[Need]:
    url = reverse("recruitment:channels", args=[study.pk])
    for channel in study.channels.all():
        for code, column in CHANNEL_PROBLEMS.items():
            if sentence := getattr(channel, column):
                yield Need(code, sentence, url, "Open the channel")


def _waiting(study: Study) -> Mapping[str, Any]:
    """Return how many payments, comments and people with late answers wait, and the newest comment, in one statement."""
    asked = Payment.objects.filter(_OF_STUDY, status=Payment.Status.ASKED)
    comments = Comment.objects.filter(_OF_STUDY, done_at=None)
    return (
        Study.objects.filter(pk=study.pk)
        .values(
            unconfirmed=count_of(asked),
            open_comments=count_of(comments),
            comment=Subquery(comments.values("text")[:1]),
            comment_by=Subquery(comments.values("participation__rater__pseudonym")[:1]),
            late=count_of(pending(study), Count("rater", distinct=True)),
        )
        .get()
    )


_OF_STUDY = Q(participation__study=OuterRef("pk"))


def of_lists(study: Study, listed: Mapping[str, int], owed: Mapping[int, str]) -> Iterator[Need]:
    """Yield what the lists of participants need; ``owed`` has the sum for a number of people, if it is known."""
    url = reverse("recruitment:ledger", args=[study.pk])
    by_platform = any(map(pays_by_platform, study.channels.all()))
    for name, (sentence, button) in SENTENCES.items():
        if people := listed.get(name, 0):
            named = counted(people, "person", "people")
            text = sentence.format(named, **VERB_FORMS[people > 1])
            is_paid = WAITING[name].is_paid
            # Where no platform pays, the researcher pays first; the list says how, and has the codes.
            pays = name if is_paid and by_platform else ""
            amount = owed.get(people, "")
            paying = f"Pay {named}{amount}…" if pays else f"See who to pay{amount}"
            label = paying if is_paid else button
            yield Need(name, text, f"{url}?list={name}", label, pays)


def of_comments(study: Study, n: int) -> Iterator[Need]:
    if n:
        sentence = f"{counted(n, 'comment')} of annotators {'is' if n == 1 else 'are'} open."
        yield Need("comments", sentence, reverse("recruitment:comments", args=[study.pk]), "Read")


def _of_people(study: Study, accounting: Accounts, unconfirmed: int) -> Iterator[Need]:
    url, entries = reverse("recruitment:ledger", args=[study.pk]), accounting.ledger
    # The sum that is owed is known for all lists together.
    unpaid = entries.unpaid
    owed = {unpaid: f", {money(entries.owed.amount)} {study.currency}"} if unpaid else {}
    for need in of_lists(accounting.plan, entries.totals.listed, owed):
        yield replace(need, detail=_how_long(need.code, entries))
    if accounting.beyond_budget:
        yield Need("beyond_budget", accounting.beyond_budget, url)
    if accounting.under_promise:
        yield Need("under_promise", accounting.under_promise, url)
    if unconfirmed:
        sentence = f"{counted(unconfirmed, 'payment')} not confirmed by the platform."
        yield Need("unconfirmed", sentence, f"{url}#unknown-heading")


def _how_long(name: str, entries: Ledger) -> str:
    """Return how long the people on a list have waited for their pay; "" for other lists."""
    since = entries.waiting_since(name) if WAITING[name].is_paid else None
    if since is None:
        return ""
    begin = "The longest for" if entries.totals.listed[name] > 1 else "For"
    return f"{begin} {in_words(entries.now - since)}."


def _of_answers(study: Study, waiting: Mapping[str, Any]) -> Iterator[Need]:
    if waiting["late"]:
        sentence = f"{counted(waiting['late'], 'annotator')} answered after the study closed. Accept the answers or decline them."
        yield Need("late", sentence, reverse("recruitment:launch", args=[study.pk]), "Decide")
    for need in of_comments(study, waiting["open_comments"]):
        begins = Truncator(" ".join(waiting["comment"].split())).chars(MOST_OF_COMMENT)
        yield replace(need, detail=f"{waiting['comment_by']}: “{begins}”")


def _of_jobs(study: Study) -> Iterator[Need]:
    """Yield the kinds of work whose newest job failed."""
    newest = {job.kind: job for job in Job.objects.filter(owner=study.pk).order_by("pk")}
    for job in newest.values():
        if job.status == Job.Status.FAILED:
            url = reverse("metrics:jobs", args=[study.pk])
            yield Need("failed_job", f"The last job “{job.kind}” failed.", url, "Open Jobs")
