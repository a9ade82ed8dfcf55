"""Deleting a study in which only programs answered, such as a demo, and the page that asks for it."""

from django.contrib import messages
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotation.models import Rater, Rating
from jobs.models import UNFINISHED, Job
from machine_raters.models import Verdict
from recruitment.models import Payment
from recruitment.services.dry_runs import delete_with_answers
from studies.access import Right, of_study
from studies.confirming import Question, ask, is_confirmed
from studies.models import Study
from studies.refusals import told
from tiebreak.digits import counted
from tiebreak.errors import DomainError
from tiebreak.reading.words import question_about

NOT_SIMULATED = (
    "Only drafts, and studies in which nobody but programs answered, can be deleted: people's answers"
    " are kept. Close the study instead."
)
DRY_RUNS_LEFT = "The study has dry runs. Delete them first."
JOBS_RUNNING = "A job of this study is still running. Stop it first, or wait until it ends."


def check_only_programs(study: Study) -> None:
    """Raise `DomainError` if a person answered or entered, or if something still needs the study."""
    ratings = Rating.objects.filter(unit__study=study)
    by_people = ratings.filter(simulated=False, rater__kind=Rater.Kind.HUMAN)
    simulated = Rating.objects.filter(assignment__participation=OuterRef("pk"), simulated=True)
    entered = study.participations.filter(~Exists(simulated), simulated=False)
    if not ratings.filter(simulated=True).exists() or by_people.exists() or entered.exists():
        raise DomainError("not_simulated", NOT_SIMULATED)
    if study.dry_runs.exists():
        raise DomainError("has_dry_runs", DRY_RUNS_LEFT)
    if Job.objects.filter(owner=study.pk, status__in=UNFINISHED).exists():
        raise DomainError("job_unfinished", JOBS_RUNNING)


@transaction.atomic
def delete_simulated_study(*, study: Study) -> None:
    """Delete a study with all answers in it, its payments and jobs. Its texts stay as a dataset."""
    study = Study.objects.select_for_update().get(pk=study.pk)
    check_only_programs(study)
    Verdict.objects.filter(rating__unit__study=study).delete()
    Job.objects.filter(owner=study.pk).delete()
    delete_with_answers(study)


@require_http_methods(["GET", "HEAD", "POST"])
@of_study(Right.OWN)
def remove_study(request: HttpRequest, study: Study) -> HttpResponse:
    question, back = _removing(study), reverse("metrics:dashboard", args=[study.pk])
    if not is_confirmed(request, question):
        return ask(request, question, back=back)
    with told(request):
        delete_simulated_study(study=study)
        messages.success(request, f"“{study.title}” was deleted.")
        return redirect("admin:index")
    return redirect(back)


def _removing(study: Study) -> Question:
    problems = {}
    try:
        check_only_programs(study)
    except DomainError as refusal:
        problems = {refusal.code: refusal.message}
    n = Rating.objects.filter(unit__study=study).count()
    people = counted(study.participations.count(), "simulated participant")
    payments = Payment.objects.filter(participation__study=study).count()
    return Question(
        title=question_about("Delete", study.title),
        sentences=(
            f"This deletes {counted(n, 'rating')} by programs, {people},"
            f" {counted(payments, 'recorded payment')}, the machine raters with their licences, the"
            " design, the results and the log. This cannot be undone.",
            f"The texts stay as the dataset {study.dataset}, which can be deleted afterwards.",
        ),
        button="Delete the study",
        facts=(study.pk, n, study.status),
        problems=problems,
    )
