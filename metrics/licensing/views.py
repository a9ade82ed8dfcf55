"""The page of licences: where a machine rater may replace an annotator, and who decided so."""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from annotation.filters import EVERYTHING
from machine_raters.models import Judge
from metrics.licensing.evidence import EPSILON, StoredEvidence, for_which_kinds, stored_evidence
from metrics.licensing.follow_ups import make_follow_up
from metrics.licensing.messages import FOLLOW_UP_MADE, NO_NUMBER, UNREACHED
from metrics.licensing.services import (
    grant_licence,
    licence_named,
    licences_of,
    revoke_licence,
)
from metrics.models import Licence
from metrics.results.filters import links_to_parts
from studies.access import Right, changes_study, held_right, shows_and_changes_study, user_of
from studies.models import Criterion, Study
from studies.models.bounds import MAX_COUNT
from studies.refusals import told, told_on
from tiebreak.errors import DomainError
from tiebreak.reading.annotator_tests import ASKS
from tiebreak.reading.messages import DESCRIBED_ONLY


class WhoRatesForm(forms.Form):
    """Which criterion the page shows, and which kind of annotators rated it."""

    criterion = forms.ModelChoiceField(
        Criterion.objects.none(), to_field_name="name", empty_label=None
    )
    annotators = forms.ChoiceField(
        label="Your annotators are",
        choices=Licence.Annotators.choices,
        help_text="The allowance is 0.2 for experts, 0.15 for trained annotators, 0.1 for crowd workers.",
    )

    def __init__(self, study: Study, data: Any) -> None:
        super().__init__(data, auto_id=f"{type(self).__name__}_%s")
        criteria = self.fields["criterion"]
        assert isinstance(criteria, forms.ModelChoiceField)
        criteria.queryset = study.criteria.all()


class LicenceForm(WhoRatesForm):
    """What a licence is for: a machine rater, all items or one category, and until when."""

    machine = forms.CharField(label="Machine rater", max_length=200)
    category = forms.CharField(label="Items", max_length=200, required=False)
    valid_until = forms.DateField(
        label="Valid until", widget=forms.DateInput(attrs={"type": "date"})
    )


class RevocationForm(forms.Form):
    reason = forms.CharField(label="Reason", max_length=500, required=False)


class FollowUpForm(forms.Form):
    instances = forms.IntegerField(label="Number of instances", min_value=1, max_value=MAX_COUNT)


@shows_and_changes_study
def licences(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the evidence and the licences, and grant one; a refused form is shown again."""
    form = LicenceForm(study, request.POST or None)
    if form.is_bound and form.is_valid():
        with told_on(form):
            licence = grant_licence(study=study, by=user_of(request), **form.cleaned_data)
            messages.success(request, f"It may stand in: {licence}.")
            # The page with what it showed when the licence was granted.
            shown = {"criterion": licence.criterion.name, "annotators": licence.annotators}
            return redirect(f"{reverse('metrics:licences', args=[study.pk])}?{urlencode(shown)}")
    context = _context(request, study, form)
    status = 400 if form.is_bound else 200
    return render(request, "metrics/licences.html", context, status=status)


@changes_study
def revoke(request: HttpRequest, study: Study, licence_id: str) -> HttpResponse:
    form = RevocationForm(request.POST)
    reason = form.cleaned_data["reason"] if form.is_valid() else ""
    with told(request):
        licence = licence_named(study, licence_id)
        revoke_licence(licence=licence, reason=reason, by=user_of(request))
        messages.success(request, f"Withdrawn: {licence}.")
    return redirect("metrics:licences", study.pk)


@changes_study
def follow_up(request: HttpRequest, study: Study, licence_id: str) -> HttpResponse:
    """Make a draft that goes on comparing the licensed machine rater with annotators."""
    form = FollowUpForm(request.POST)
    try:
        licence = licence_named(study, licence_id)
        if not form.is_valid():
            raise DomainError("no_number", NO_NUMBER, status=400)
        made = make_follow_up(licence=licence, by=user_of(request), **form.cleaned_data).study
        messages.success(request, FOLLOW_UP_MADE.format(made.title))
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
        return redirect("metrics:licences", study.pk)
    return redirect("recruitment:launch", made.pk)


def _context(request: HttpRequest, study: Study, form: LicenceForm) -> dict[str, Any]:
    asked = request.POST if form.is_bound else request.GET
    who = _who_rates(study, asked)
    chosen = who.cleaned_data if who.is_valid() else {}
    evidence, problem = None, None
    if chosen:
        try:
            evidence = stored_evidence(study, chosen["criterion"].name)
        except DomainError as refusal:
            problem = refusal
    epsilon = EPSILON[chosen["annotators"]] if chosen else None
    machines, links = [], {}
    if evidence is not None and epsilon is not None:
        page = reverse("metrics:results-tab", args=[study.pk, "machines"])
        choices = study.report_snapshots.get(digest="").choices
        links = links_to_parts(choices, EVERYTHING, evidence.criterion, evidence.about, page)
        _offer(form, evidence, chosen)
        machines = [evidence.of(machine, epsilon) for machine in evidence.machines]
    return {
        "asks": ASKS,
        "described_only": DESCRIBED_ONLY,
        "unreached": UNREACHED,
        "study": study,
        "here": "machines",
        "who": who,
        "chosen": chosen,
        "form": form,
        "judges": set(Judge.objects.filter(study=study).values_list("rater", flat=True)),
        "problem": problem,
        "evidence": evidence,
        "epsilon": epsilon,
        "machines": machines,
        "answer": for_which_kinds(machines, is_reached=evidence.is_reached)
        if evidence and machines
        else "",
        "items_links": links,
        "may_be_licensed": any(machine.may_be_licensed for machine in machines),
        "licences": licences_of(study),
        "may_change": held_right(request.user, study) >= Right.CHANGE,
    }


def _who_rates(study: Study, asked: Any) -> WhoRatesForm:
    """Return the form of what the page shows: at first the first criterion, and the smallest ε."""
    first = study.criteria.first()
    values = {
        "criterion": asked.get("criterion") or (first.name if first else ""),
        "annotators": asked.get("annotators") or Licence.Annotators.CROWD,
    }
    return WhoRatesForm(study, values)


def _offer(form: LicenceForm, evidence: StoredEvidence, chosen: dict[str, Any]) -> None:
    """Let the form offer the machine raters and categories that there are."""
    machines = [(name, name) for name in evidence.machines]
    categories = [("", "all items"), *((name, name) for name in evidence.categories)]
    form.fields["machine"].widget = forms.Select(choices=machines)
    form.fields["category"].widget = forms.Select(choices=categories)
    for name in ("criterion", "annotators"):
        form.fields[name].widget = forms.HiddenInput()
    form.initial = {"criterion": chosen["criterion"].name, "annotators": chosen["annotators"]}
