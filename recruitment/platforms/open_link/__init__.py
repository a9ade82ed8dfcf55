"""An open link: each browser that follows it is a new person with a random pseudonym."""

import secrets

from django.core.signing import BadSignature, Signer
from django.http import HttpRequest

from recruitment.models import Channel
from recruitment.platforms.base import ADDRESS, COOKIE, PlatformEntry, PrivacyNotice
from recruitment.platforms.pay_claims import SelfPaying


class OpenLink(SelfPaying):
    name = "open-link"
    title = "Open link"

    def audience(self, channel: Channel) -> str:
        return "Open to anyone with the link below."

    def privacy_notice(self, channel: Channel) -> PrivacyNotice:
        return PrivacyNotice(f"We do not ask who you are. {COOKIE} {ADDRESS}")

    def read_entry(self, request: HttpRequest, channel: Channel) -> PlatformEntry:
        token = _entry_token(request) or secrets.token_urlsafe(16)
        return PlatformEntry(external_id=token, submission_id=token)


def new_entry_token() -> str:
    """Return a token for the consent form so that a double submit enters one person only."""
    return _signer().sign(secrets.token_urlsafe(16))


def _entry_token(request: HttpRequest) -> str:
    try:
        return _signer().unsign(request.POST.get("entry", ""))
    except BadSignature:
        return ""


def _signer() -> Signer:
    return Signer(salt="recruitment.open-link")


PLATFORM = OpenLink()
