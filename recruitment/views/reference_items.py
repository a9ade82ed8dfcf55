"""The page on which a reference item is written by hand: choose texts, click the right answer."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from annotation.services.reference_units import ROLES, add_chosen_unit, open_roles
from annotation.services.screening import role_counts
from recruitment.launch.questions import nobody_rates_what_the_test_told
from recruitment.reference_unit_forms import (
    PER_PAGE,
    ChosenUnitForm,
    candidate,
    candidates,
    role_to_make,
)
from studies.access import shows_and_changes_study
from studies.models import Study, Unit
from studies.refusals import told_on

TAKEN = (
    "This instance is not there, it has a reference item already, or annotators rate its texts."
    " Choose another one."
)


@shows_and_changes_study
def by_hand(request: HttpRequest, study: Study) -> HttpResponse:
    """List instances, and show one's texts with the answers to click; the saved one is a new item."""
    search = request.GET.get("q", "").strip()[:200]
    listed = candidates(study, search)
    page = Paginator(listed, PER_PAGE).get_page(request.GET.get("page"))
    key = request.GET.get("instance")
    asked = candidates(study, "").filter(key=key).first() if key else None
    if key and asked is None:
        if request.method != "POST":
            raise Http404(TAKEN)
        messages.error(request, TAKEN, extra_tags="instance_taken")  # since the page was opened
        return redirect("recruitment:reference-by-hand", study.pk)
    chosen = asked or next(iter(page), None)
    unit = candidate(study, chosen) if chosen else None
    counts, roles = role_counts(study), open_roles(study)
    role = role_to_make(roles, counts, request.GET.get("role"))
    criteria = list(study.criteria.all())
    data = request.POST or None
    form = ChosenUnitForm(unit, criteria, data, role=role, roles=roles) if unit else None
    if form is not None and request.method == "POST" and form.is_valid():
        made = Unit.Role(form.cleaned_data["role"])
        with told_on(form):
            key = add_chosen_unit(study=study, role=made, row=form.row())
            messages.success(request, f"{key} was added to {ROLES[made]}.")
            for check in nobody_rates_what_the_test_told(study):
                messages.warning(request, check.sentence, extra_tags=check.code)
            same = urlencode({"q": search, "role": made.value})
            here = reverse("recruitment:reference-by-hand", args=[study.pk])
            return redirect(f"{here}?{same}")
    context = {
        "study": study,
        "here": "quality",
        "search": search,
        "role": role,
        "query": urlencode({"q": search, "role": role}),
        "page": page,
        "unit": unit,
        "form": form,
        "role_counts": counts,
        "can_save": True,  # the page's own button is the one that is meant
    }
    status = 400 if form is not None and form.is_bound else 200
    return render(request, "recruitment/reference_by_hand.html", context, status=status)
