"""The pages on which researchers create and revoke their tokens, and a study's webhooks."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from api.forms import TokenForm, WebhookForm
from api.messages import REVOKED, SENDING_AGAIN, WEBHOOK_DELETED
from api.models import ApiToken
from api.services.tokens import create_token, revoke_token
from api.services.webhooks import create_webhook, delete_webhook, deliveries_of, send_again
from studies.access import Right, changes_study, of_study, researchers_only, user_of
from studies.models import Study
from studies.refusals import as_not_found, form_errors, told_on
from tiebreak.errors import DomainError

MAX_SHOWN = 100


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@of_study(Right.CHANGE)
def webhooks(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the page; a new secret is shown in the response to its form, and never again."""
    form, secret = WebhookForm(request.POST or None), ""
    if form.is_valid():
        try:
            _, secret = create_webhook(study=study, url=form.cleaned_data["url"])
        except DomainError as refusal:
            form.add_error("url", form_errors(refusal))
    context = {
        "study": study,
        "form": WebhookForm() if secret else form,
        "new_secret": secret,
        "webhooks": study.webhooks.all(),
        "deliveries": deliveries_of(study)[:MAX_SHOWN],
        "hosts": settings.TIEBREAK_WEBHOOK_HOSTS,
    }
    status = 400 if form.is_bound and not secret else 200
    return render(request, "api/webhooks.html", context, status=status)


@changes_study
def delete(request: HttpRequest, study: Study, webhook_id: str) -> HttpResponse:
    with as_not_found():
        delete_webhook(study=study, public_id=webhook_id)
    messages.success(request, WEBHOOK_DELETED)
    return redirect("api:webhooks", study.pk)


@changes_study
def resend(request: HttpRequest, study: Study, delivery_id: str) -> HttpResponse:
    with as_not_found():
        send_again(study=study, public_id=delivery_id)
    messages.success(request, SENDING_AGAIN)
    return redirect("api:webhooks", study.pk)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@researchers_only
def tokens(request: HttpRequest) -> HttpResponse:
    """Show the tokens; a new one is shown in the response to its form, and never again."""
    user = user_of(request)
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
        revoke_token(user=user_of(request), public_id=token_id)
    messages.success(request, REVOKED)
    return redirect("api:tokens")
