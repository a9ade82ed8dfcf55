"""The researcher's pages of machine raters: lists with forms, what is done with one, and examples."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import prefetch_related_objects
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from machine_raters.forms import ExampleSetForm
from machine_raters.judging.example_sets import (
    add_example_set,
    delete_example_set,
    example_set_named,
    example_sets_of,
)
from machine_raters.judging.kind import why_not_yet
from machine_raters.judging.passes import Items
from machine_raters.judging.services import ask_again, check_judge, try_injections, try_judge
from machine_raters.kind import Kind, Shown
from machine_raters.kinds import KINDS
from machine_raters.messages import (
    ASKED_AGAIN,
    BAD_RATING_COST,
    COST_REMOVED,
    COST_STATED,
    DELETE_MACHINE,
    DELETES_MACHINE,
    EXCLUSION,
    JUDGE_TESTED,
    JUDGE_TRIED,
    JURIES_STAY,
    MACHINE_CREATED,
    MACHINE_DELETED,
    MACHINE_IS_EXCLUDED,
    MACHINE_REINSTATED,
    MACHINE_STARTED,
    MACHINE_TO_TRY,
)
from machine_raters.models import Jury, MachineRater
from machine_raters.models.machine_rater import MAX_REASON
from machine_raters.models.stated_cost import MAX_RATING_COST
from machine_raters.services.machine_raters import (
    create_machine_rater,
    delete_machine_rater,
    exclude_machine_rater,
    machine_rater_named,
    reinstate_machine_rater,
    start_machine_rater,
)
from machine_raters.services.rating_costs import state_rating_cost, uploaded_raters
from machine_raters.uploads.ratings import AddedRatings
from machine_raters.uploads.uploading import RatingCostForm, VerdictsForm, upload_verdicts
from studies.access import (
    changes_study,
    researchers_only,
    shows_and_changes_study,
    shows_study,
    study_for,
    user_of,
)
from studies.confirming import Question, ask, is_confirmed
from studies.data.dataset_jobs import jobs_of
from studies.models import Study, Unit
from studies.refusals import told, told_on
from tiebreak.errors import DomainError
from tiebreak.reading.words import question_about

# What stands in the page's address for the form of verdicts.
VERDICTS = "verdicts"
QUEUED = "The file is large, so a worker adds its verdicts. Watch the job under Jobs."
Action = Callable[[HttpRequest, Any, User], str | HttpResponse]


class ExclusionForm(forms.Form):
    reason = forms.CharField(
        max_length=MAX_REASON,
        label="Reason, as the report should state it",
        help_text="The fault in how it was made, not in its results.",
    )


@shows_and_changes_study
def machine_raters(request: HttpRequest, study: Study, kind: str) -> HttpResponse:
    """Show the page of a kind and create one of it; a refused form is shown again with its values."""
    # The forms of a page choose from them.
    prefetch_related_objects([study], "criteria")
    of = KINDS[kind]
    form: Any = of.form(study, request.POST or None)
    if form.is_bound and form.is_valid():
        with told_on(form):
            sentence = _create(of, study, user_of(request), form.cleaned_data)
            messages.success(request, sentence)
            return redirect(_page_of(of, study))
    return machine_raters_page(request, study, of.page, refused=form if form.is_bound else None)


def _create(of: Kind, study: Study, by: User, values: dict[str, Any]) -> str:
    made = create_machine_rater(study=study, kind=of.name, by=by, **values)
    return (MACHINE_CREATED if of.starts_at_once else MACHINE_TO_TRY).format(name=made)


def machine_raters_page(
    request: HttpRequest,
    study: Study,
    page: str = "judges",
    *,
    refused: Any = None,
    verdicts_form: VerdictsForm | None = None,
) -> HttpResponse:
    """Return a page; a form that was sent was refused, and is shown with its problems."""
    kinds = [kind for kind in KINDS.values() if kind.page == page]
    shown, sections, add = _shown(study, kinds), [], request.GET.get("add", "")
    for kind in kinds:
        is_refused = isinstance(refused, kind.form)
        form = refused if is_refused else kind.form(study).fill(request.GET.dict())
        section = {"form": form, "why_not": kind.why_not(form), **_listed(kind, shown)}
        # One form at a time; a page of one kind has its form always.
        section["is_added"] = is_refused or len(kinds) == 1 or add == kind.name
        sections.append(section)
    context = {"here": "judges", "study": study, "sections": sections}
    context["is_adding"] = add or refused or verdicts_form
    if page == "judges":
        context["verdicts_form"] = verdicts_form or VerdictsForm(study)
        context["adds_verdicts"] = verdicts_form or add == VERDICTS
        context["from_elsewhere"] = uploaded_raters(study)
    status = 400 if refused or verdicts_form else 200
    return render(request, "machine_raters/machine_raters.html", context, status=status)


@shows_study
def part(request: HttpRequest, study: Study, kind: str) -> HttpResponse:
    """Show only a list so that it can refresh while a form is being filled in."""
    of = KINDS[kind]
    context = {"study": study, "section": _listed(of, _shown(study, [of]))}
    return render(request, "machine_raters/list.html", context)


def _shown(study: Study, kinds: list[Kind]) -> Shown:
    names = [job.name for kind in kinds for job in (kind.job, *kind.other_jobs)]
    jobs = jobs_of(study).filter(kind__in=names).order_by("pk")
    return Shown(study, Items.of(study), list(jobs))


def _listed(kind: Kind, shown: Shown) -> dict[str, Any]:
    rows = kind.rows_of(shown)
    names = {job.name for job in (kind.job, *kind.other_jobs)}
    is_judge = kind.name == MachineRater.Kind.JUDGE
    return {
        "kind": kind,
        "rows": rows,
        "not_yet": why_not_yet(shown.study, shown.items) if rows and is_judge else "",
        "is_moving": any(job.is_moving for job in shown.jobs if job.kind in names),
    }


def _page_of(kind: Kind, study: Study) -> str:
    return reverse(f"machine_raters:{kind.page}", args=[study.pk])


@shows_and_changes_study
def act(request: HttpRequest, study: Study, rater_id: str, action: str) -> HttpResponse:
    """Do something with a machine rater. An exclusion has a separate page that asks for the reason."""
    if action not in ACTIONS or (request.method != "POST" and action != "exclude"):
        raise Http404("A machine rater has no such action.")
    back = reverse("machine_raters:judges", args=[study.pk])
    try:
        machine = machine_rater_named(study, rater_id, *ONLY.get(action, ()))
        back = _page_of(KINDS[machine.kind], study)
        outcome = ACTIONS[action](request, machine, user_of(request))
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
        return redirect(back)
    if isinstance(outcome, HttpResponse):
        return outcome
    messages.success(request, outcome)
    return redirect(back)


def _delete(request: HttpRequest, machine: Any, by: User) -> str | HttpResponse:
    kind = KINDS[machine.kind]
    question = Question(
        title=question_about(DELETE_MACHINE.format(kind=kind.name.label), str(machine)),
        sentences=(DELETES_MACHINE,),
        button="Delete",
        facts=(machine.public_id,),
    )
    if not kind.answers(machine) and not is_confirmed(request, question):
        return ask(request, question, back=_page_of(kind, machine.study))
    delete_machine_rater(machine=machine, by=by)
    return MACHINE_DELETED.format(name=machine)


def _exclude(request: HttpRequest, machine: Any, by: User) -> str | HttpResponse:
    kind, form = KINDS[machine.kind], ExclusionForm(request.POST or None, auto_id="exclusion_%s")
    if form.is_bound and form.is_valid():
        with told_on(form):
            exclude_machine_rater(machine=machine, reason=form.cleaned_data["reason"], by=by)
            return MACHINE_IS_EXCLUDED.format(name=machine)
    context = {
        "here": "judges",
        "study": machine.study,
        "machine": machine,
        "sentences": _about_exclusion(kind, machine),
        "back": _page_of(kind, machine.study),
        "form": form,
    }
    status = 400 if form.is_bound else 200
    return render(request, "machine_raters/exclude.html", context, status=status)


def _about_exclusion(kind: Kind, machine: Any) -> list[str]:
    left_out, *others = EXCLUSION
    juries = ", ".join(map(str, Jury.objects.filter(members=machine.rater_id or 0)))
    return [
        left_out.format(answers=kind.answers(machine)),
        *([JURIES_STAY.format(juries=juries)] if juries else []),
        *others,
    ]


def _saying(sentence: str, verb: Callable[..., object], name: str = "machine") -> Action:
    """Return an action that calls a service, and what is said afterwards."""

    def act_and_say(_: HttpRequest, machine: Any, by: User) -> str:
        verb(**{name: machine}, by=by)
        return sentence.format(name=machine)

    return act_and_say


ACTIONS: dict[str, Action] = {
    "start": _saying(MACHINE_STARTED, start_machine_rater),
    "try": _saying(JUDGE_TRIED, try_judge, "judge"),
    "injections": _saying(JUDGE_TRIED, try_injections, "judge"),
    "ask-again": _saying(ASKED_AGAIN, ask_again, "judge"),
    "exclude": _exclude,
    "reinstate": _saying(MACHINE_REINSTATED, reinstate_machine_rater),
    "delete": _delete,
}
# The actions that only some kinds have.
ONLY = dict.fromkeys(("try", "injections", "ask-again"), (MachineRater.Kind.JUDGE,))


@changes_study
def check(request: HttpRequest, study: Study, set_id: str, judge_id: str) -> HttpResponse:
    """Test a judge on a synthetic set."""
    with told(request):
        made = machine_rater_named(study, set_id, MachineRater.Kind.SYNTHETIC_SET)
        judge = machine_rater_named(study, judge_id, MachineRater.Kind.JUDGE)
        check_judge(judge=judge, made=made, by=user_of(request))
        messages.success(request, JUDGE_TESTED.format(name=judge, set=made))
    return redirect("machine_raters:synthetic", study.pk)


@changes_study
def upload(request: HttpRequest, study: Study) -> HttpResponse:
    """Store an uploaded file; what is wrong with it is shown by line."""
    form = VerdictsForm(study, request.POST, request.FILES)
    if form.is_valid():
        values = form.cleaned_data
        with told_on(form):
            by = user_of(request)
            added = upload_verdicts(study=study, upload=values.pop("ratings"), by=by, **values)
            sentence = QUEUED
            if isinstance(added, AddedRatings):
                sentence = (
                    f"Verdicts that were stored: {added.added}. Stored before: {added.known}."
                )
            messages.success(request, sentence)
            return redirect("machine_raters:judges", study.pk)
    return machine_raters_page(request, study, verdicts_form=form)


@require_POST
@researchers_only
def rating_cost(request: HttpRequest, study_id: str) -> HttpResponse:
    """Store what a rating of a machine cost that rated elsewhere."""
    study, name = study_for(request.user, study_id), request.POST.get("rater", "")
    form = RatingCostForm(request.POST)
    if not form.is_valid():
        messages.error(request, BAD_RATING_COST.format(most=MAX_RATING_COST), extra_tags="bad_cost")
        return redirect(f"{reverse('machine_raters:judges', args=[study.pk])}#elsewhere")
    with told(request):
        by = user_of(request)
        cost = form.cleaned_data["cost"]
        state_rating_cost(study=study, rater=name, cost=cost, by=by)
        sentence = COST_REMOVED if cost is None else COST_STATED
        facts = {"name": name, "amount": cost, "currency": study.currency}
        messages.success(request, sentence.format(**facts))
    return redirect(f"{reverse('machine_raters:judges', args=[study.pk])}#elsewhere")


@shows_and_changes_study
def example_sets(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the page and add a set; a refused form is shown again with its values."""
    form = ExampleSetForm(request.POST or None)
    if form.is_bound and form.is_valid():
        with told_on(form):
            add_example_set(study=study, by=user_of(request), **form.cleaned_data)
            messages.success(request, "The set was added. Choose it for a new judge.")
            return redirect("machine_raters:example-sets", study.pk)
    training = study.units.filter(role=Unit.Role.TRAINING).order_by("pk")
    context = {"here": "judges", "study": study, "form": form, "training": training}
    context["sets"] = example_sets_of(study)
    status = 400 if form.is_bound else 200
    return render(request, "machine_raters/example_sets.html", context, status=status)


@changes_study
def delete_set(request: HttpRequest, study: Study, example_set_id: str) -> HttpResponse:
    with told(request):
        example_set = example_set_named(study, example_set_id)
        delete_example_set(example_set=example_set, by=user_of(request))
        messages.success(request, f"{example_set} was deleted.")
    return redirect("machine_raters:example-sets", study.pk)
