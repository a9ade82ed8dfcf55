"""A study's log: its lines, and the page that shows them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.core.paginator import Page, Paginator
from django.db.models import CharField, F, Q, QuerySet, Value
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from studies.access import shows_study
from studies.models import Study, StudyEvent

EDITED = "edited"
PER_PAGE = 50


@dataclass(frozen=True)
class LogLine:
    """One line of the log; `by` is empty if a rule of the study acted."""

    at: datetime
    by: str
    what: str
    details: str


def edits_of(study: Study) -> QuerySet[LogEntry]:
    """Return the admin's history of a study."""
    content_type = ContentType.objects.get_for_model(Study)
    return LogEntry.objects.filter(content_type=content_type, object_id=study.pk).order_by()


def _keys(study: Study, criteria: Mapping[str, Any]) -> Any:
    """Return time, kind and key of all matching lines, newest first, as one statement."""
    events = _between(study.events.order_by(), "at", "by", criteria)
    edits = _between(edits_of(study), "action_time", "user", criteria)
    what = criteria.get("what")
    if what == EDITED:
        events = events.none()
    elif what:
        events, edits = events.filter(verb=what), edits.none()
    rows = _tagged(events, "at", "event").union(_tagged(edits, "action_time", EDITED), all=True)
    return rows.order_by("-time", "-key")


def _between(
    rows: QuerySet[Any], time: str, person: str, criteria: Mapping[str, Any]
) -> QuerySet[Any]:
    if who := criteria.get("who"):
        rows = rows.filter(**{person: who})
    if since := criteria.get("since"):
        rows = rows.filter(**{f"{time}__date__gte": since})
    if until := criteria.get("until"):
        rows = rows.filter(**{f"{time}__date__lte": until})
    return rows


def _tagged(rows: QuerySet[Any], time: str, kind: str) -> QuerySet[Any, Any]:
    tag = Value(kind, output_field=CharField())
    tagged: QuerySet[Any, Any] = rows.annotate(time=F(time), kind=tag, key=F("pk"))
    return tagged.values_list("time", "kind", "key")


def log_lines(page: Page[Any]) -> list[LogLine]:
    """Return the lines of a page, in two more statements."""
    keys = list(page)
    events = StudyEvent.objects.select_related("by").in_bulk(_of("event", keys))
    edits = LogEntry.objects.select_related("user").in_bulk(_of(EDITED, keys))
    return [
        _of_event(events[key]) if kind == "event" else _of_edit(edits[key]) for _, kind, key in keys
    ]


def _of(kind: str, keys: Iterable[tuple[datetime, str, int]]) -> list[int]:
    return [key for _, its_kind, key in keys if its_kind == kind]


def _of_event(event: StudyEvent) -> LogLine:
    by = event.by.get_username() if event.by else event.by_name
    return LogLine(event.at, by, event.get_verb_display(), event.details_in_words)


def _of_edit(entry: LogEntry) -> LogLine:
    verb = {1: "created the study", 3: "deleted the study"}.get(
        entry.action_flag, "edited the design"
    )
    return LogLine(entry.action_time, entry.user.get_username(), verb, entry.get_change_message())


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


@shows_study
def log(request: HttpRequest, study: Study) -> HttpResponse:
    form = LogFilter(study, request.GET or None)
    criteria = form.cleaned_data if form.is_valid() else {}
    page = Paginator(_keys(study, criteria), PER_PAGE).get_page(request.GET.get("page"))
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
