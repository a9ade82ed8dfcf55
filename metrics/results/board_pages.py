"""The page on which a board's hidden part is fixed and its public page opened, and the public page."""

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from metrics.licensing.services import in_force
from metrics.messages import (
    BOARD_PUBLISHED,
    BOARD_WITHDRAWN,
    MACHINES_JUDGE,
    NO_SYSTEM_NAMED,
    PART_HIDDEN,
    SYSTEM_JOINED,
)
from metrics.models import MAX_PERCENT, MAX_SEED, MIN_PERCENT
from metrics.results.board import (
    board_for,
    compares_systems,
    hide_part,
    publish_board,
    published_board,
    stored_board,
    withdraw_board,
)
from metrics.results.joining import join_or_go_on, systems_to_join
from metrics.results.sections import stored_section
from metrics.results.selectors import is_simulated, stored_report
from studies.access import (
    changes_study,
    shows_and_changes_study,
    user_of,
)
from studies.models import Study
from studies.public_address import public_url
from studies.refusals import told, told_on
from tiebreak.reading.figures.systems.leaderboard import board_figure
from tiebreak.reading.while_open import while_unreached


class HiddenPartForm(forms.Form):
    percent = forms.IntegerField(
        min_value=MIN_PERCENT,
        max_value=MAX_PERCENT,
        initial=50,
        label="Percent of the instances",
        help_text="All items of an instance are hidden together.",
    )
    seed = forms.IntegerField(
        min_value=0,
        max_value=MAX_SEED,
        required=False,
        label="Seed",
        help_text="Drawn at random if empty. It is kept, and stated with the board.",
    )


@shows_and_changes_study
def board_page(request: HttpRequest, study: Study) -> HttpResponse:
    """Show what is hidden and whether the board is public; the form fixes the hidden part."""
    form = HiddenPartForm(request.POST or None)
    if form.is_bound and form.is_valid():
        with told_on(form):
            hide_part(study=study, by=user_of(request), **form.cleaned_data)
            messages.success(request, PART_HIDDEN)
            return redirect("metrics:board", study.pk)
    board = board_for(study)
    context = {"here": "systems", "study": study, "form": form, "board": board}
    context["address"] = (
        public_url(request, reverse("metrics:public-board", args=[board.public_id]))
        if board.published_at
        else ""
    )
    context["can_publish"] = study.status == Study.Status.CLOSED and stored_board(study)
    context["can_hide"] = compares_systems(study)
    context["is_closed"] = study.status == Study.Status.CLOSED
    context["joined"] = study.joined_systems.select_related("study", "system")
    context["is_licensed"] = in_force(study).filter(category="").exists()
    context["to_join"] = [] if study.status == Study.Status.DRAFT else systems_to_join(study)
    status = 400 if form.is_bound else 200
    return render(request, "metrics/board.html", context, status=status)


@changes_study
def publish(request: HttpRequest, study: Study) -> HttpResponse:
    with told(request):
        publish_board(study=study, by=user_of(request))
        messages.success(request, BOARD_PUBLISHED)
    return redirect("metrics:board", study.pk)


@changes_study
def withdraw(request: HttpRequest, study: Study) -> HttpResponse:
    withdraw_board(study=study, by=user_of(request))
    messages.success(request, BOARD_WITHDRAWN)
    return redirect("metrics:board", study.pk)


@changes_study
def join(request: HttpRequest, study: Study) -> HttpResponse:
    """Let a system join, with the texts of a file if there is one, and machine raters judge it."""
    if not (request.POST.get("name") or request.POST.get("system")):
        messages.error(request, NO_SYSTEM_NAMED)
        return redirect("metrics:board", study.pk)
    with told(request):
        texts, by = request.FILES.get("texts"), user_of(request)
        name = request.POST.get("name" if texts else "system", "").strip()
        is_new, waiting = join_or_go_on(study=study, name=name, texts=texts, by=by)
        if is_new:
            messages.success(request, SYSTEM_JOINED.format(name=name))
        sentences = " ".join(f"{machine} waits: {why}" for machine, why in waiting.items())
        if waiting or not is_new:
            messages.info(request, MACHINES_JUDGE.format(name=name, waiting=sentences).strip())
    return redirect("metrics:board", study.pk)


@require_safe
@never_cache
def public_board(request: HttpRequest, board_id: str) -> HttpResponse:
    """Show the board to everybody: the table of systems by criterion, as it was computed last.

    It starts no computation, and has no text, no rating and nobody's name.
    """
    board = published_board(board_id)
    snapshot = stored_board(board.study) if board else None
    if board is None or snapshot is None:
        raise Http404("There is no such board.")
    about = stored_report(snapshot.report, with_raters=False)
    figures = []
    for name in snapshot.content or ():
        stored = stored_section(snapshot, name)
        if stored is not None and stored.part is not None:
            figure = board_figure(stored.part)
            criterion = about.criteria.get(name) if about else None
            figures.append((name, while_unreached(figure, criterion) if criterion else figure))
    context = {
        "title": board.study.title,
        "is_simulated": is_simulated(board.study),
        "figures": figures,
        "made_at": snapshot.made_at,
    }
    response = render(request, "metrics/public_board.html", context)
    response["X-Robots-Tag"] = "noindex"
    return response
