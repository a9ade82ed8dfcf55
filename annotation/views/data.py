"""The page of a study's data: its items, which can be searched and, in a draft, removed."""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse

from annotation.models import Rating
from annotation.services.items import (
    LISTS,
    STATES,
    items_of,
    least_agreement,
    listed_items,
    reasons_for,
    removal_problem,
    remove_item,
    set_item_aside,
    with_answers,
)
from annotation.services.systems import remove_system, system_removal_problem
from studies.access import (
    Right,
    changes_study,
    held_right,
    shows_and_changes_study,
    shows_study,
    user_of,
)
from studies.confirming import Question, ask, is_confirmed
from studies.models import Generation, Instance, Study, System, Unit
from studies.refusals import told
from studies.services import systems_named
from tiebreak.digits import counted
from tiebreak.nonresponse import NONRESPONSES
from tiebreak.reading.words import question_about

ITEMS_PER_PAGE = 20


@shows_study
def data(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the items of a study with their texts."""
    query = request.GET.get("q", "").strip()[:200]
    only = LISTS.get(request.GET.get("only", ""))
    texts = Generation.objects.filter(system__in=System.objects.for_studies())
    items = (only.find if only else items_of)(study, query).prefetch_related(
        Prefetch("generations", texts.select_related("system"))
    )
    page = Paginator(items, ITEMS_PER_PAGE).get_page(request.GET.get("page"))
    reasons = reasons_for(study, page)
    context = {
        "study": study,
        "here": "data",
        "query": query,
        "only": only,
        "page": page,
        "rows": [(item, map(_in_words, reasons[item.pk])) for item in page],
        "total": items_of(study).count(),
        "texts": texts.filter(instance__dataset=study.dataset_id).count(),
        "systems": study.ordered_systems(),
        "problem": removal_problem(study),
        "can_save": study.dataset_id is None,  # so that texts are uploaded before going on
        **_items(study, request),
        "may_change": held_right(request.user, study) >= Right.CHANGE,
    }
    return render(request, "imports/data.html", context)


class ItemsForm(forms.Form):
    """Which items of a study are listed."""

    text = forms.CharField(label="Words in texts or ids", required=False, max_length=200)
    system = forms.ChoiceField(required=False)
    instance = forms.CharField(required=False, max_length=200)
    role = forms.ChoiceField(choices=[("", "any"), *Unit.Role.choices], required=False)
    state = forms.ChoiceField(
        choices=[("", "any"), *((name, words) for name, (words, _) in STATES.items())],
        required=False,
    )

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = [system.name for system in study.ordered_systems()]
        self.fields["system"].choices = [("", "any"), *zip(names, names, strict=True)]  # type: ignore[attr-defined]


def _items(study: Study, request: HttpRequest) -> dict[str, Any]:
    """Return one page of the items that the address names, with how they were answered."""
    form = ItemsForm(study, request.GET, auto_id="item_%s")
    wanted = form.cleaned_data if form.is_valid() else {}
    page = Paginator(listed_items(study, **wanted), ITEMS_PER_PAGE).get_page(
        request.GET.get("items")
    )
    shown = with_answers(study.units.filter(pk__in=[unit.pk for unit in page])).with_texts()
    units, agreement = {unit.pk: unit for unit in shown}, least_agreement(units=page.object_list)
    return {
        "filter": form,
        "chosen": urlencode({name: value for name, value in wanted.items() if value}),
        "items": page,
        "item_rows": [(units[unit.pk], agreement.get(unit.pk)) for unit in page],
    }


@changes_study
def set_aside(request: HttpRequest, study: Study) -> HttpResponse:
    """Take an item out of the results for all, or put it back."""
    aside = request.POST.get("aside") == "1"
    chosen = QueryDict(request.POST.get("chosen", "")).urlencode()
    shown = f"{reverse('annotation:data', args=[study.pk])}?{chosen}"
    with told(request):
        by = user_of(request)
        set_item_aside(study=study, key=request.POST.get("item", ""), aside=aside, by=by)
        shown += "#units-heading"  # what is refused is told at the page's top
    return redirect(shown)


@shows_and_changes_study
def remove(request: HttpRequest, study: Study) -> HttpResponse:
    """Remove an item, after a confirmation."""
    key = request.POST.get("item") or request.GET.get("item", "")
    back = reverse("annotation:data", args=[study.pk])
    question = _question(study, key)
    if not is_confirmed(request, question):
        return ask(request, question, back=back, carry=[("item", key)])
    with told(request):
        remove_item(study=study, key=key)
        messages.success(request, f"The instance “{key}” was removed.")
    return redirect(back)


@shows_and_changes_study
def remove_a_system(request: HttpRequest, study: Study) -> HttpResponse:
    """Remove a system, after a confirmation."""
    name = request.POST.get("system") or request.GET.get("system", "")
    back = reverse("studies:data", args=[study.pk])
    with told(request):
        question = _question_of_system(study, *systems_named(study, [name]))
        if not is_confirmed(request, question):
            return ask(request, question, back=back, carry=[("system", name)])
        remove_system(study=study, name=name)
        messages.success(request, f"The system “{name}” was removed.")
    return redirect(back)


def _question_of_system(study: Study, system: System) -> Question:
    problem = system_removal_problem(study, system)
    problems = {problem.code: problem.message} if problem else {}
    return _removing(study, "system", system.name, system.generations.count(), problems)


def _removing(study: Study, what: str, name: str, texts: int, problems: dict[str, str]) -> Question:
    """Return the question before a system or an instance is deleted with its texts."""
    sentences = [f"The {what} and its {counted(texts, 'text')} are deleted. This cannot be undone."]
    if study.units.exists():
        sentences.append("The tasks that are planned are removed. Plan them again afterwards.")
    return Question(
        title=question_about(f"Remove the {what}", name),
        sentences=tuple(sentences),
        button=f"Remove the {what}",
        facts=(study.pk, name, texts, study.units.exists()),
        problems=problems,
    )


def _in_words(rating: Rating) -> tuple[str, str]:
    """Return an answer in words, and its reason."""
    scale = rating.criterion.parsed_scale
    if rating.label is None:
        return NONRESPONSES.get(rating.nonresponse, "not parsed"), rating.reason
    return scale.short_name(scale.parse_label(rating.label)), rating.reason


def _texts_of(item: Instance) -> int:
    return item.generations.filter(system__in=System.objects.for_studies()).count()


def _question(study: Study, key: str) -> Question:
    item = items_of(study).filter(key=key).first()
    problem = removal_problem(study)
    problems = {} if problem is None else {problem.code: problem.message}
    if item is None:
        problems = {"unknown_item": f"There is no instance “{key}” in this study."}
    texts = 0 if item is None else _texts_of(item)
    return _removing(study, "instance", key, texts, problems)
