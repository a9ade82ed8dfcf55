"""The page of a study's data: its items, which can be searched and, in a draft, removed."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from annotation.services.items import items_of, removal_problem, remove_item
from studies.access import Right, researchers_only, right_for, study_for
from studies.confirming import Question, ask, is_confirmed
from studies.models import Generation, Study
from studies.refusals import told

ITEMS_PER_PAGE = 20


@require_safe
@researchers_only
def data(request: HttpRequest, study_id: str) -> HttpResponse:
    """Show the items of a study with their texts."""
    study = study_for(request.user, study_id, Right.READ)
    query = request.GET.get("q", "").strip()[:200]
    items = items_of(study, query).prefetch_related("generations__system")
    context = {
        "study": study,
        "here": "data",
        "query": query,
        "page": Paginator(items, ITEMS_PER_PAGE).get_page(request.GET.get("page")),
        "total": items_of(study).count(),
        "texts": Generation.objects.filter(instance__dataset=study.dataset_id).count(),
        "systems": study.ordered_systems(),
        "problem": removal_problem(study),
    }
    return render(request, "imports/data.html", context)


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
