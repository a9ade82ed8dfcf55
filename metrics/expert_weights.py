"""Whose votes weigh the criteria of discernment scores: a study's survey of experts."""

from collections.abc import Mapping
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from metrics.selectors import rating_table
from studies.access import Right, researchers_only, right_for, studies_of, study_for
from studies.freshness import note_change
from studies.models import Study, StudyEvent
from studies.refusals import form_errors
from studies.services import record_event
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.report.expert_weights import expert_weights

Weights = Mapping[str, Mapping[str, float]]


def weights_of(study: Study) -> Weights:
    """Return experts' weights by perturbation and criterion; empty without a survey or its votes."""
    if study.weights_from is None:
        return {}
    try:
        return expert_weights(rating_table(study.weights_from))
    except InvalidInput:  # all votes were excluded since; the page of the weights says so
        return {}


def _votes(survey: Study) -> Weights:
    try:
        return expert_weights(rating_table(survey))
    except InvalidInput as error:
        raise DomainError(error.code, error.message) from error


def surveys_for(user: User, study: Study) -> QuerySet[Study]:
    """Return the studies whose votes the user may read, and that ask for one of several names."""
    surveys = studies_of(user, Right.READ).filter(criteria__scale__startswith="nominal")
    return surveys.exclude(pk=study.pk).distinct()


@transaction.atomic
def use_expert_weights(*, study: Study, survey: Study | None, by: User | None = None) -> Weights:
    """Weigh the criteria of a study's discernment scores by a survey's votes, or equally again.

    The votes are read whenever discernment is computed; doing this again makes it be computed anew.
    Returns the weights. Raises `DomainError` if the survey has no votes about a perturbation of the
    study. Locks the study.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    weights = _votes(survey) if survey else {}
    copied = set(study.systems.exclude(perturbation="").values_list("perturbation", flat=True))
    if survey and not copied & weights.keys():
        raise DomainError(
            "other_perturbations",
            f"The survey “{survey}” has votes about {', '.join(list(weights)[:5])}, and none of these"
            " is a perturbation of this study. Name the survey's systems like the perturbations.",
        )
    study.weights_from = survey
    study.save(update_fields=["weights_from"])
    note_change(study.pk)
    details = {"survey": str(survey or ""), "perturbations": len(copied & weights.keys())}
    record_event(study=study, verb=StudyEvent.Verb.EXPERT_WEIGHTS, by=by, details=details)
    return weights


class SurveyForm(forms.Form):
    survey = forms.ModelChoiceField(
        Study.objects.none(), required=False, empty_label="none: equal weights"
    )

    def __init__(self, surveys: QuerySet[Study], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["survey"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = surveys


@require_http_methods(["GET", "HEAD", "POST"])
@researchers_only
def expert_weights_page(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show the weights, and choose the survey whose votes they are."""
    study = study_for(request.user, public_id, right_for(request))
    user = cast(User, request.user)
    initial = {"survey": study.weights_from_id}
    form = SurveyForm(surveys_for(user, study), request.POST or None, initial=initial)
    if form.is_bound and form.is_valid():
        try:
            use_expert_weights(study=study, survey=form.cleaned_data["survey"], by=user)
        except DomainError as refusal:
            form.add_error(None, form_errors(refusal))
        else:
            messages.success(request, "Discernment is computed with these weights from now on.")
            return redirect("metrics:expert-weights", study.pk)
    context = {"study": study, "form": form, **_shown(study)}
    return render(request, "metrics/expert_weights.html", context)


def _shown(study: Study) -> dict[str, Any]:
    """Return the weights as a table; what the study has no criterion for stands in the last column."""
    criteria = list(study.criteria.values_list("name", flat=True))
    rows = [
        (
            name,
            [shares.get(c, 0.0) for c in criteria],
            1 - sum(shares.get(c, 0.0) for c in criteria),
        )
        for name, shares in weights_of(study).items()
    ]
    return {"criteria": criteria, "rows": rows}
