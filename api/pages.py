"""The page on which researchers create and revoke their tokens."""

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from api.forms import TokenForm
from api.messages import REVOKED
from api.models import ApiToken
from api.services.tokens import create_token, revoke_token
from studies.access import researchers_only
from studies.refusals import as_not_found, told_on


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@researchers_only
def tokens(request: HttpRequest) -> HttpResponse:
    """Show the tokens; a new one is shown in the response to its form, and never again."""
    user = cast(User, request.user)
    form, text = TokenForm(user, request.POST or None), ""
    if form.is_valid():
        with told_on(form):
            text = _create(user, form.cleaned_data)
    status = 400 if form.is_bound and not text else 200
    context = {
        "form": TokenForm(user) if text else form,
        "new_token": text,
        "tokens": ApiToken.objects.filter(user=user).prefetch_related("studies"),
    }
    return render(request, "api/tokens.html", context, status=status)


def _create(user: User, values: dict[str, Any]) -> str:
    _, text = create_token(
        user=user,
        name=values["name"],
        access=ApiToken.Access(values["access"]),
        studies=None if values["covers_all"] else values["studies"],
        expires_at=values["expires_on"],
    )
    return text


@require_POST
@researchers_only
def revoke(request: HttpRequest, token_id: str) -> HttpResponse:
    with as_not_found():
        revoke_token(user=cast(User, request.user), public_id=token_id)
    messages.success(request, REVOKED)
    return redirect("api:tokens")
