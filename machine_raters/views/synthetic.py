"""The researcher's page of synthetic items, on which judges are tested."""

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from machine_raters.judging.services import judge_named
from machine_raters.models import SyntheticSet
from machine_raters.synthetic.accuracy import ABOUT, CAUTION
from machine_raters.synthetic.checking_job import SyntheticCheckJob
from machine_raters.synthetic.forms import SyntheticSetForm
from machine_raters.synthetic.making_job import SyntheticJob
from machine_raters.synthetic.services import (
    add_synthetic_set,
    answers_about,
    check_judge,
    continue_synthetic_set,
    delete_synthetic_set,
    exclude_synthetic_set,
    reinstate_synthetic_set,
    synthetic_set_named,
)
from machine_raters.synthetic.summaries import shown_items, summaries
from machine_raters.views.exclusion import Exclusion, exclusion_page
from studies.access import Right, researchers_only, right_for, study_for
from studies.confirming import Question, ask, is_confirmed
from studies.data.dataset_jobs import jobs_of
from studies.models import Study
from studies.refusals import form_errors
from tiebreak.errors import DomainError


@require_http_methods(["GET", "HEAD", "POST"])
@researchers_only
def synthetic(request: HttpRequest, study_id: str) -> HttpResponse:
    """Show the page and add a set; a refused form is shown again with its values."""
    study = study_for(request.user, study_id, right_for(request))
    form = SyntheticSetForm(request.POST or None)
    if form.is_bound and form.is_valid():
        try:
            made = add_synthetic_set(study=study, by=_researcher(request), **form.cleaned_data)
        except DomainError as refusal:
            form.add_error(None, form_errors(refusal))
        else:
            messages.success(request, f"{made} is being made.")
            return redirect("machine_raters:synthetic", study.pk)
    context = {"form": form, **_listed(study)}
    status = 400 if form.is_bound else 200
    return render(request, "machine_raters/synthetic.html", context, status=status)


@require_safe
@researchers_only
def part(request: HttpRequest, study_id: str) -> HttpResponse:
    """Show only the list, so that it can refresh while a form is being filled in."""
    study = study_for(request.user, study_id, Right.READ)
    return render(request, "machine_raters/synthetic_list.html", _listed(study))


@require_POST
@researchers_only
def start(request: HttpRequest, study_id: str, set_id: str) -> HttpResponse:
    """Ask for the texts of a set that are missing."""
    study = study_for(request.user, study_id)
    try:
        made = synthetic_set_named(study, set_id)
        continue_synthetic_set(made=made, by=_researcher(request))
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
    else:
        messages.success(request, f"The missing texts of {made} are being made.")
    return redirect("machine_raters:synthetic", study.pk)


@require_POST
@researchers_only
def check(request: HttpRequest, study_id: str, set_id: str, judge_id: str) -> HttpResponse:
    """Test a judge on a set."""
    study = study_for(request.user, study_id)
    try:
        made, judge = synthetic_set_named(study, set_id), judge_named(study, judge_id)
        check_judge(judge=judge, made=made, by=_researcher(request))
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
    else:
        messages.success(request, f"{judge} is being tested on {made}.")
    return redirect("machine_raters:synthetic", study.pk)


@require_POST
@researchers_only
def delete(request: HttpRequest, study_id: str, set_id: str) -> HttpResponse:
    """Delete a set on which no judge was tested, after a confirmation."""
    study = study_for(request.user, study_id)
    back = reverse("machine_raters:synthetic", args=[study.pk])
    try:
        made = synthetic_set_named(study, set_id)
        question = _deletion(made)
        if not is_confirmed(request, [question]):
            return ask(request, [question], back=back)
        delete_synthetic_set(made=made, by=_researcher(request))
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
    else:
        messages.success(request, f"{made} was deleted.")
    return redirect(back)


def _deletion(made: SyntheticSet) -> Question:
    texts = made.texts.count()
    return Question(
        title=f"Delete the synthetic set “{made}”?",
        sentences=(
            f"The set is deleted with everything that the model wrote for it (texts: {texts}). This"
            " cannot be undone. No judge was tested on it, so no answer is lost.",
        ),
        button="Delete the set",
        facts=(made.public_id, texts),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@researchers_only
def exclude(request: HttpRequest, study_id: str, set_id: str) -> HttpResponse:
    """Ask why a set is to be left out of tests and results, and leave it out."""
    study = study_for(request.user, study_id, right_for(request))
    try:
        made = synthetic_set_named(study, set_id)
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
        return redirect("machine_raters:synthetic", study.pk)
    by = _researcher(request)
    return exclusion_page(
        request,
        _exclusion(made),
        lambda reason: exclude_synthetic_set(made=made, reason=reason, by=by),
    )


def _exclusion(made: SyntheticSet) -> Exclusion:
    return Exclusion(
        study=made.study,
        name=made.name,
        sentences=(
            "No judge is tested on its items any more, and how judges did on them"
            f" (answers: {answers_about(made).count()}) is left out of pages and reports. The set and"
            " the answers stay in exports, flagged as excluded, with your reason.",
            "The report lists the exclusion with its time as a deviation.",
            "You can reinstate the set later.",
            "Exclude it for how it was made, such as a wrong model or texts of poor quality. To leave"
            " out a set on which a judge does badly would make the judge look better than it is.",
        ),
        done=f"{made} was excluded. Judges are no longer tested on it.",
        back=reverse("machine_raters:synthetic", args=[made.study_id]),
    )


@require_POST
@researchers_only
def reinstate(request: HttpRequest, study_id: str, set_id: str) -> HttpResponse:
    study = study_for(request.user, study_id)
    try:
        made = synthetic_set_named(study, set_id)
        reinstate_synthetic_set(made=made, by=_researcher(request))
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
    else:
        messages.success(request, f"{made} was reinstated. Judges can be tested on it again.")
    return redirect("machine_raters:synthetic", study.pk)


def _researcher(request: HttpRequest) -> User:
    return cast(User, request.user)


def _listed(study: Study) -> dict[str, Any]:
    kinds = (SyntheticJob.name, SyntheticCheckJob.name)
    jobs = list(jobs_of(study).filter(kind__in=kinds).order_by("pk"))
    makers = {job.options["synthetic_set"]: job for job in jobs if job.kind == SyntheticJob.name}
    tests = {
        (job.options["synthetic_set"], job.options["judge"]): job
        for job in jobs
        if job.kind == SyntheticCheckJob.name
    }
    judges, examples = list(study.judges.select_related("criterion")), shown_items(study)
    rows = [
        {
            "set": one.made,
            "summary": one,
            "job": makers.get(one.made.public_id),
            "judges": [
                (judge, tests.get((one.made.public_id, judge.public_id))) for judge in judges
            ],
            "examples": examples.get(one.made.pk, []),
        }
        for one in summaries(study)
    ]
    return {
        "study": study,
        "rows": rows,
        "about": ABOUT,
        "caution": CAUTION,
        "is_moving": any(job.is_moving for job in (*makers.values(), *tests.values())),
    }
