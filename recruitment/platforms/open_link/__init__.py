"""An open link: whoever has it is somebody new, known by a random pseudonym in their browser."""

import secrets

from django.core.signing import BadSignature, Signer
from django.http import HttpRequest

from annotation.models import Participation
from recruitment.models import Channel, Submission
from recruitment.platforms.platform import (
    ADDRESS,
    COOKIE,
    Ending,
    Platform,
    PlatformEntry,
    PrivacyNotice,
    ReturnInstructions,
)


class OpenLink(Platform):
    name = "open-link"
    title = "Open link"
    paid_per = Participation.PaidPer.HIT

    def audience(self, channel: Channel) -> str:
        return "whoever has the link below"

    def privacy_notice(self, channel: Channel) -> PrivacyNotice:
        return PrivacyNotice(
            f"You are not asked who you are: a random number stands for you. {COOKIE} {ADDRESS}"
        )

    def read_entry(self, request: HttpRequest, channel: Channel) -> PlatformEntry:
        token = _named(request) or secrets.token_urlsafe(16)
        return PlatformEntry(external_id=token, submission_id=token)

    def return_instructions(
        self, channel: Channel, submission: Submission | None, ending: Ending
    ) -> ReturnInstructions:
        if submission is None or ending != Ending.COMPLETED:
            return ReturnInstructions()
        return ReturnInstructions(code=submission.completion_code)


def entry_word() -> str:
    """For the form that asks for consent: pressed twice, it is still one person."""
    return _signer().sign(secrets.token_urlsafe(16))


def _named(request: HttpRequest) -> str:
    try:
        return _signer().unsign(request.POST.get("entry", ""))
    except BadSignature:
        return ""


def _signer() -> Signer:
    return Signer(salt="annotation.open-link")


PLATFORM = OpenLink()
