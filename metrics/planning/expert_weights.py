"""Whose votes weigh the criteria of discernment scores: a study's survey of experts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from metrics.results.selectors import rating_table
from studies.access import (
    Right,
    changes_study,
    held_right,
    researchers_only,
    right_for,
    studies_of,
    study_for,
    user_of,
)
from studies.design.expert_surveys import make_expert_survey, survey_of
from studies.design.opened_forms import OpenedForm, take_turn
from studies.freshness import note_change
from studies.models import Criterion, Study, StudyEvent
from studies.refusals import told_on
from studies.services import record_event
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.report.sections.machines.expert_weights import expert_weights, votes_of

Weights = Mapping[str, Mapping[str, float]]


def weights_of(study: Study) -> Weights:
    """Return experts' weights by perturbation and criterion; empty without a survey or its votes."""
    # Without votes, all were excluded since; the page of the weights says so.
    return votes_in(study.weights_from).weights if study.weights_from else {}


@dataclass(frozen=True)
class Votes:
    """How many experts voted in a survey, how often, and the weights by perturbation."""

    experts: int
    votes: int
    weights: Weights


def votes_in(survey: Study) -> Votes:
    """Return the votes that a survey has now; no weights if it has none."""
    table = rating_table(survey)
    try:
        weights = expert_weights(table)
    except InvalidInput:
        return Votes(0, 0, {})
    votes = votes_of(table)
    return Votes(len(set(votes["rater"].tolist())), len(votes), weights)


def _votes(survey: Study) -> Weights:
    try:
        return expert_weights(rating_table(survey))
    except InvalidInput as error:
        raise DomainError(error.code, error.message) from error


def surveys_for(user: User, study: Study) -> QuerySet[Study]:
    """Return the studies whose votes the user may read, and that can weigh the study's criteria.

    They ask for one of several names, of which some are the study's criteria, or have systems that are
    named after its perturbations. The survey in use is among them.
    """
    nominal = Criterion.objects.filter(scale__startswith="nominal").exclude(study=study)
    nominal = nominal.filter(study__in=studies_of(user, Right.READ).values("pk"))
    criteria = set(study.criteria.values_list("name", flat=True))
    naming = {c.study_id for c in nominal if criteria & set(map(str, c.parsed_scale.labels or ()))}
    copies = study.systems.exclude(perturbation="").values("perturbation")
    about_copies = nominal.filter(study__systems__name__in=copies).values("study")
    can_weigh = Q(pk__in=naming) | Q(pk__in=about_copies) | Q(pk=study.weights_from_id)
    return studies_of(user, Right.READ).filter(can_weigh).exclude(pk=study.pk).distinct()


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
            " is a perturbation of this study. Name the survey's systems after the perturbations.",
        )
    study.weights_from = survey
    study.save(update_fields=["weights_from"])
    note_change(study.pk)
    details = {"survey": str(survey or ""), "perturbations": len(copied & weights.keys())}
    record_event(study=study, verb=StudyEvent.Verb.EXPERT_WEIGHTS, by=by, details=details)
    return weights


class SurveyForm(OpenedForm, forms.Form):
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
@transaction.atomic
def expert_weights_page(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show the weights, and choose the survey whose votes they are."""
    take_turn(request, public_id)
    study = study_for(request.user, public_id, right_for(request))
    user = user_of(request)
    initial = {"survey": study.weights_from_id}
    form = SurveyForm(surveys_for(user, study), request.POST or None, initial=initial)
    if form.is_bound and form.is_valid():
        with told_on(form):
            use_expert_weights(study=study, survey=form.cleaned_data["survey"], by=user)
            messages.success(request, "Discernment is computed with these weights from now on.")
            return redirect("metrics:expert-weights", study.pk)
    context = {
        "here": "machines",
        "study": study,
        "form": form,
        "may_change": held_right(user, study) >= Right.CHANGE,
    }
    return render(request, "metrics/expert_weights.html", context | _shown(study, user))


@changes_study
def expert_survey_page(request: HttpRequest, study: Study) -> HttpResponse:
    """Make the survey of experts of a scoring study, and lead to it, or to the one that it has."""
    try:
        made = make_expert_survey(study=study, owner=user_of(request))
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
        return redirect("metrics:expert-weights", study.pk)
    if made.is_new:
        messages.success(request, MADE)
    else:
        messages.info(request, EXISTS)
    return redirect("studies:data", made.survey.pk)


MADE = (
    "This draft asks experts which quality each perturbation damages most. Read its task and its size,"
    " then launch it and invite people who know the task well."
)
EXISTS = "A survey has already been made from the scoring study: this one."


@dataclass(frozen=True)
class WeightsTable:
    """Weights as rows; the last column has votes without a criterion of the study."""

    criteria: Sequence[str]
    rows: Sequence[tuple[str, list[float], float]]

    @classmethod
    def of(cls, weights: Weights, criteria: Sequence[str]) -> "WeightsTable":
        rows = []
        for name, shares in weights.items():
            of_criteria = [shares.get(criterion, 0.0) for criterion in criteria]
            rows.append((name, of_criteria, 1 - sum(of_criteria)))
        return cls(criteria, rows)


def _shown(study: Study, user: User) -> dict[str, Any]:
    """Return the weights in use, and the survey that was made from the study with its votes."""
    criteria = list(study.criteria.values_list("name", flat=True))
    survey = studies_of(user, Right.READ).filter(survey_for=study).first()
    votes = votes_in(survey) if survey else None
    is_used = survey is not None and study.weights_from_id == survey.pk
    used = votes.weights if votes and is_used else weights_of(study)
    return {
        "used": WeightsTable.of(used, criteria),
        "chosen": survey if is_used else study.weights_from,
        "survey": survey,
        "has_hidden_survey": survey is None and survey_of(study) is not None,
        "votes": votes,
        "survey_table": WeightsTable.of(votes.weights, criteria) if votes else None,
        "is_used": is_used,
        "changed": _changed_since(study, survey, criteria) if survey else [],
    }


def _changed_since(study: Study, survey: Study, criteria: Sequence[str]) -> list[str]:
    """Return the criteria and perturbations that the survey, as it is now, does not ask about."""
    choices = {
        label
        for criterion in survey.criteria.all()
        for label in criterion.parsed_scale.labels or ()
    }
    copied = study.systems.exclude(perturbation="").values_list("perturbation", flat=True)
    asked = set(survey.systems.values_list("name", flat=True))
    return [*(c for c in criteria if c not in choices), *sorted(set(copied) - asked)]
