"""The study whose scores of single texts are shown with pairwise comparisons: a study of scores."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from annotation.models import Rater, Rating
from metrics.results.selectors import source_of
from studies.access import Right, researchers_only, right_for, studies_of, study_for, user_of
from studies.design.opened_forms import OpenedForm, take_turn
from studies.freshness import note_change
from studies.models import Study, StudyEvent
from studies.refusals import told_on
from studies.services import record_event
from tiebreak.errors import DomainError
from tiebreak.report.source import Source


def scores_of(study: Study) -> Source | None:
    """Return the ratings of the study of scores, or None if none was chosen."""
    return None if study.scores_from is None else source_of(study.scores_from)


def scored_by(study: Study) -> list[str]:
    """Return the machine raters of a study that have rated something, in alphabetical order."""
    ratings = Rating.objects.filter(unit__study=study, rater__kind=Rater.Kind.MACHINE)
    return sorted(ratings.order_by().values_list("rater__pseudonym", flat=True).distinct())


def scoring_studies_for(user: User, study: Study) -> QuerySet[Study]:
    """Return the studies of single texts of the same data set whose ratings the user may read."""
    studies = studies_of(user, Right.READ).filter(
        unit_kind=Study.UnitKind.GENERATION, dry_run_of=None
    )
    return studies.filter(dataset=study.dataset_id).exclude(pk=study.pk).distinct()


@transaction.atomic
def use_scores(*, study: Study, scores: Study | None, by: User | None = None) -> list[str]:
    """Compare a study's pairwise comparisons with another study's scores, or with its own again.

    The scores are read whenever the section is computed; doing this again makes it be computed anew.
    Returns the machine raters that scored. Raises `DomainError` if the other study is not one of
    single texts of the same data set, or has no scores of machine raters. Locks the study.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    if scores is not None and (
        scores.unit_kind != Study.UnitKind.GENERATION or scores.dataset_id != study.dataset_id
    ):
        raise DomainError(
            "other_texts",
            f"“{scores}” does not rate single texts of this study's data set. Choose a study that does.",
        )
    raters = scored_by(scores) if scores else []
    if scores and not raters:
        raise DomainError(
            "no_scores",
            f"No machine rater has rated anything in “{scores}”. Let a judge rate there first.",
        )
    study.scores_from = scores
    study.save(update_fields=["scores_from"])
    note_change(study.pk)
    details = {"scores": str(scores or ""), "machine_raters": len(raters)}
    record_event(study=study, verb=StudyEvent.Verb.USE_SCORES, by=by, details=details)
    return raters


class ScoresForm(OpenedForm, forms.Form):
    scores = forms.ModelChoiceField(
        Study.objects.none(),
        required=False,
        label="Study of scores",
        empty_label="none: scores of this study, if it has any",
    )

    def __init__(self, studies: QuerySet[Study], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["scores"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = studies


@require_http_methods(["GET", "HEAD", "POST"])
@researchers_only
@transaction.atomic
def scores_page(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show whose scores are used, and choose another study of scores."""
    take_turn(request, public_id)
    study = study_for(request.user, public_id, right_for(request))
    user = user_of(request)
    initial = {"scores": study.scores_from_id}
    form = ScoresForm(scoring_studies_for(user, study), request.POST or None, initial=initial)
    if form.is_bound and form.is_valid():
        with told_on(form):
            use_scores(study=study, scores=form.cleaned_data["scores"], by=user)
            messages.success(request, "Comparisons are now shown with these scores.")
            return redirect("metrics:scores", study.pk)
    raters = scored_by(study.scores_from) if study.scores_from else []
    has_choices = scoring_studies_for(user, study).exists()
    context = {"here": "machines", "study": study, "form": form}
    context |= {"raters": raters, "has_choices": has_choices}
    return render(request, "metrics/scores.html", context)
