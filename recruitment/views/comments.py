"""The researcher's page *Comments*: what annotators said about items and about the study."""

from typing import Any

from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from annotation.models import Comment
from annotation.participant_answers import shown_texts
from annotation.services.comments import mark_done
from annotation.views.unit_presentation import turns_of
from studies.access import changes_study, shows_study, user_of
from studies.models import Study, texts_of
from studies.refusals import told

PER_PAGE = 25
SHOWN = {"open": Q(done_at=None), "done": Q(done_at__isnull=False), "all": Q()}


@shows_study
def comments(request: HttpRequest, study: Study) -> HttpResponse:
    show = request.GET.get("show", "")
    show = show if show in SHOWN else "open"
    rows = Comment.objects.filter(SHOWN[show], participation__study=study)
    rows = rows.select_related("participation__rater", "unit__instance", "done_by")
    rows = rows.prefetch_related(texts_of("unit__texts"))
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": study,
        "show": show,
        "filters": list(SHOWN),
        "page": page,
        "comments": [(comment, *_screen(comment)) for comment in page],
    }
    return render(request, "recruitment/comments.html", context)


def _screen(comment: Comment) -> tuple[Any, Any]:
    """Return the texts and turns that were on the screen, as the annotator saw them."""
    unit = comment.unit
    if unit is None:
        return (), ()
    return shown_texts(unit, a_first=comment.side_a != "right"), turns_of(unit.instance)


@changes_study
def mark(request: HttpRequest, study: Study, comment_id: str) -> HttpResponse:
    """Mark a comment as dealt with or, with `undo`, as open again."""
    is_done, by = "undo" not in request.POST, user_of(request)
    with told(request):
        mark_done(study=study, public_id=comment_id, by=by, is_done=is_done)
    show = request.POST.get("show", "")
    show = show if show in SHOWN else "open"
    return redirect(f"{reverse('recruitment:comments', args=[study.pk])}?show={show}")
