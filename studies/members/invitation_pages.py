"""The pages on which people are invited, and the page that the link of an invitation opens."""

from functools import partial
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from studies.access import Right, of_study, researchers_only, user_of
from studies.members import invitations
from studies.members.entering import enter
from studies.models import Invitation, Membership, Study
from studies.public_address import public_url
from studies.refusals import as_not_found, told, told_on
from tiebreak.errors import DomainError

PAGE = "registration/invitation.html"
SENT = "The invitation to {} is on its way. It works for {} days."
NOT_SENT = "Pass the link below on to {}. It works once, for {} days."
WITHDRAWN = "The invitation is withdrawn."
JOINED = "You are now a member of “{}”."


class InvitationForm(forms.Form):
    email = forms.EmailField(label="E-mail address", max_length=254)
    role = forms.ChoiceField(choices=Membership.Role.choices, initial=Membership.Role.VIEWER)

    def __init__(self, *args: Any, study: Study | None, **options: Any) -> None:
        super().__init__(*args, **options)
        if study is None:
            del self.fields["role"]


def _page(request: HttpRequest, study: Study | None) -> HttpResponse:
    form = InvitationForm(request.POST or None, study=study)
    if form.is_valid():
        with told_on(form):
            made = invitations.invite(
                **form.cleaned_data,
                by=user_of(request),
                study=study,
                address=partial(public_url, request),
            )
            said = SENT if made.is_sent else NOT_SENT
            messages.success(request, said.format(made.email, invitations.OPEN_FOR.days))
            return redirect(request.path)
    found = list(invitations.invitations_to(study))
    for one in found:
        link = "" if one.is_sent else public_url(request, invitations.link_of(one))
        one.link = link  # type: ignore[attr-defined]
    template = "studies/invitations.html" if study else "registration/invitations.html"
    context = {
        "study": study,
        "form": form,
        "invitations": found,
        "has_email": settings.TIEBREAK_HAS_EMAIL,
    }
    return render(request, template, context, status=400 if form.is_bound else 200)


def _withdraw(request: HttpRequest, study: Study | None, public_id: str, to: str) -> HttpResponse:
    with as_not_found():
        invitations.withdraw(study=study, public_id=public_id, by=user_of(request))
    messages.success(request, WITHDRAWN)
    return redirect(to)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@of_study(Right.OWN)
def to_study(request: HttpRequest, study: Study) -> HttpResponse:
    return _page(request, study)


@require_POST
@of_study(Right.OWN)
def withdraw_from_study(request: HttpRequest, study: Study, invitation_id: str) -> HttpResponse:
    return _withdraw(request, study, invitation_id, reverse("studies:invitations", args=[study.pk]))


def _check_administrator(request: HttpRequest) -> None:
    if not invitations.may_invite(user_of(request), None):
        raise Http404("Only administrators invite to the server.")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@researchers_only
def to_server(request: HttpRequest) -> HttpResponse:
    _check_administrator(request)
    return _page(request, None)


@require_POST
@researchers_only
def withdraw_from_server(request: HttpRequest, invitation_id: str) -> HttpResponse:
    _check_administrator(request)
    return _withdraw(request, None, invitation_id, reverse("studies:server-invitations"))


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Let a researcher accept, or somebody without an account choose a name and a password."""
    try:
        found = invitations.open_invitation(token)
    except DomainError as refusal:
        return render(request, PAGE, {"refusal": refusal}, status=refusal.status)
    user = request.user
    if isinstance(user, User) and user.is_active and user.is_staff:
        return _accept(request, found, token, user)
    return _open_account(request, found, token)


def _accept(request: HttpRequest, found: Invitation, token: str, user: User) -> HttpResponse:
    if request.method != "POST":
        return render(request, PAGE, {"invitation": found})
    with told(request):
        invitations.accept(token=token, user=user)
        _welcome(request, found)
    return redirect("admin:index")


def _open_account(request: HttpRequest, found: Invitation, token: str) -> HttpResponse:
    form: Any = UserCreationForm(request.POST or None)
    if form.is_valid():
        values = form.cleaned_data
        with told_on(form):
            user, _ = invitations.open_account(
                token=token, username=values["username"], password=values["password1"]
            )
            _welcome(request, found)
            return enter(request, user, reverse("admin:index"))
    context = {"invitation": found, "form": form, "next": request.path}
    status = 400 if form.is_bound else 200
    return render(request, PAGE, context, status=status)


def _welcome(request: HttpRequest, found: Invitation) -> None:
    if found.study is not None:
        messages.success(request, JOINED.format(found.study.title))
