"""Creates and deletes webhooks, and checks where they may send."""

import re
import secrets
from urllib.parse import urlsplit

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from api.messages import (
    NO_SUCH_DELIVERY,
    NO_SUCH_WEBHOOK,
    TOO_MANY_WEBHOOKS,
    URL_NOT_ALLOWED,
    WEBHOOK_KNOWN,
)
from api.models import PURPOSE, Webhook, WebhookDelivery
from jobs.clock import database_now
from studies.ciphers import seal, unseal
from studies.models import Study
from tiebreak.errors import DomainError

MAX_WEBHOOKS = 10
# Visible ASCII without the backslash, which some parsers read as a slash.
_URL = re.compile(r"[!-\[\]-~]{1,500}")


@transaction.atomic
def create_webhook(*, study: Study, url: str) -> tuple[Webhook, str]:
    """Store a webhook and return it with its secret, which cannot be shown again.

    It is told of what happens from now on. Raises `DomainError` if its address is not allowed.
    """
    # The whole authority is compared so that no user name, port or other spelling of a host passes.
    if not is_allowed(url):
        hosts = ", ".join(settings.TIEBREAK_WEBHOOK_HOSTS) or "none"
        raise DomainError("url_not_allowed", URL_NOT_ALLOWED.format(hosts), status=400)
    if study.webhooks.count() >= MAX_WEBHOOKS:
        raise DomainError("too_many_webhooks", TOO_MANY_WEBHOOKS)
    secret, now = secrets.token_urlsafe(32), database_now()
    try:
        with transaction.atomic():
            webhook = Webhook.objects.create(
                study=study,
                url=url,
                secret=seal(PURPOSE, secret),
                created_at=now,
                after_event=study.events.values_list("pk", flat=True).first() or 0,
                looked_until=now,
            )
    except IntegrityError:
        raise DomainError("webhook_known", WEBHOOK_KNOWN) from None
    return webhook, secret


def secret_of(webhook: Webhook) -> bytes:
    return unseal(PURPOSE, webhook.secret).encode()


def is_allowed(url: str) -> bool:
    if not _URL.fullmatch(url):
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    is_plain = url.lower().startswith("https://") and not parts.fragment
    return is_plain and parts.netloc.lower() in settings.TIEBREAK_WEBHOOK_HOSTS


def delete_webhook(*, study: Study, public_id: str) -> None:
    """Delete a webhook with its log."""
    webhook = study.webhooks.filter(public_id=public_id).first()
    if webhook is None:
        raise DomainError("no_such_webhook", NO_SUCH_WEBHOOK, status=404)
    webhook.delete()


def deliveries_of(study: Study) -> QuerySet[WebhookDelivery]:
    """Return the study's deliveries, newest first."""
    return WebhookDelivery.objects.filter(webhook__study=study).select_related("webhook")


def send_again(*, study: Study, public_id: str) -> None:
    """Send a delivery in the next round, whatever became of it, with the same event id."""
    again = deliveries_of(study).filter(public_id=public_id)
    changed = WebhookDelivery.objects.filter(pk__in=again.values("pk")).update(
        status=WebhookDelivery.Status.WAITING, attempts=0, due_at=database_now()
    )
    if not changed:
        raise DomainError("no_such_delivery", NO_SUCH_DELIVERY, status=404)
