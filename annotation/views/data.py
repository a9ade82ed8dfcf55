"""The page of a study's data: its items, which can be searched and, in a draft, removed."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.models import Rating
from annotation.services.items import (
    items_of,
    reasons_for,
    removal_problem,
    remove_item,
    set_item_aside,
    unlabelled_items,
)
from studies.access import Right, held_right, researchers_only, right_for, study_for
from studies.confirming import Question, ask, is_confirmed
from studies.models import Generation, Study
from studies.refusals import told
from tiebreak.nonresponse import NONRESPONSES

ITEMS_PER_PAGE = 20


@require_safe
@researchers_only
def data(request: HttpRequest, study_id: str) -> HttpResponse:
    """Show the items of a study with their texts."""
    study = study_for(request.user, study_id, Right.READ)
    query = request.GET.get("q", "").strip()[:200]
    items = items_of(study, query).prefetch_related("generations__system")
    page = Paginator(items, ITEMS_PER_PAGE).get_page(request.GET.get("page"))
    reasons = reasons_for(study, page)
    context = {
        "study": study,
        "here": "data",
        "query": query,
        "page": page,
        "rows": [(item, map(_in_words, reasons[item.pk])) for item in page],
        "total": items_of(study).count(),
        "texts": Generation.objects.filter(instance__dataset=study.dataset_id).count(),
        "systems": study.ordered_systems(),
        "problem": removal_problem(study),
        "unlabelled": Paginator(unlabelled_items(study), ITEMS_PER_PAGE).get_page(
            request.GET.get("unlabelled")
        ),
        "may_change": held_right(request.user, study) >= Right.CHANGE,
    }
    return render(request, "imports/data.html", context)


@require_POST
@researchers_only
def set_aside(request: HttpRequest, study_id: str) -> HttpResponse:
    """Take an item out of the results for all, or put it back."""
    study = study_for(request.user, study_id, Right.CHANGE)
    aside = request.POST.get("aside") == "1"
    with told(request):
        by = cast(User, request.user)
        set_item_aside(study=study, key=request.POST.get("item", ""), aside=aside, by=by)
    return redirect(f"{reverse('annotation:data', args=[study.pk])}#unlabelled-heading")


@require_http_methods(["GET", "HEAD", "POST"])
@researchers_only
def remove(request: HttpRequest, study_id: str) -> HttpResponse:
    """Remove an item, after a confirmation."""
    study = study_for(request.user, study_id, right_for(request))
    key = request.POST.get("item") or request.GET.get("item", "")
    back = reverse("annotation:data", args=[study.pk])
    question = _question(study, key)
    if not is_confirmed(request, [question]):
        return ask(request, [question], back=back, carry=[("item", key)])
    with told(request):
        remove_item(study=study, key=key)
        messages.success(request, f"The instance “{key}” was removed.")
    return redirect(back)


def _in_words(rating: Rating) -> tuple[str, str]:
    """Return an answer in words, and its reason."""
    scale = rating.criterion.parsed_scale
    if rating.label is None:
        return NONRESPONSES.get(rating.nonresponse, "not parsed"), rating.reason
    return scale.short_name(scale.parse_label(rating.label)), rating.reason


def _question(study: Study, key: str) -> Question:
    item = items_of(study).filter(key=key).first()
    problem = removal_problem(study)
    problems = {} if problem is None else {problem.code: problem.message}
    if item is None:
        problems = {"unknown_item": f"There is no instance “{key}” in this study."}
    texts = 0 if item is None else item.generations.count()
    sentences = [f"The instance and its {texts} texts are deleted. This cannot be undone."]
    if study.units.exists():
        sentences.append("The tasks that are planned are removed. Plan them again afterwards.")
    return Question(
        title=f"Remove the instance “{key}”?",
        sentences=tuple(sentences),
        button="Remove the instance",
        facts=(study.pk, key, texts, study.units.exists()),
        problems=problems,
    )
