"""The page of a study's log."""

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from studies.access import Right, researchers_only, study_for
from studies.log import EDITED, edits_of, log_lines, log_page
from studies.models import Study, StudyEvent


class LogFilter(forms.Form):
    """Which lines are shown. Values that the study's log does not have are refused."""

    who = forms.ModelChoiceField(User.objects.none(), required=False, empty_label="all members")
    what = forms.ChoiceField(
        required=False,
        choices=[("", "everything"), (EDITED, "edited the design"), *StudyEvent.Verb.choices],
    )
    since = forms.DateField(required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(required=False, widget=forms.DateInput(attrs={"type": "date"}))

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        events, edits = study.events.order_by().values("by"), edits_of(study).values("user")
        field = self.fields["who"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = User.objects.filter(Q(pk__in=events) | Q(pk__in=edits)).order_by(
            "username"
        )


@require_safe
@researchers_only
def log(request: HttpRequest, study_id: str) -> HttpResponse:
    study = study_for(request.user, study_id, Right.READ)
    form = LogFilter(study, request.GET or None)
    criteria = form.cleaned_data if form.is_valid() else {}
    page = log_page(study, criteria, request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    context = {
        "study": study,
        "here": "log",
        "form": form,
        "page": page,
        "lines": log_lines(page),
        "query": query.urlencode(),
    }
    return render(
        request,
        "studies/log.html",
        context,
        status=200 if form.is_valid() or not form.is_bound else 400,
    )
