"""An open link: whoever has it is somebody new, known by a random pseudonym in their browser."""

import secrets

from django.core.signing import BadSignature, Signer
from django.http import HttpRequest

from annotation.models import Participation
from recruitment.models import Recruitment, Submission
from recruitment.platforms.provider import (
    ADDRESS,
    COOKIE,
    Arrival,
    Departure,
    Ending,
    Kept,
    Provider,
)


class OpenLink(Provider):
    name = "open-link"
    title = "Open link"
    paid_per = Participation.PaidPer.HIT

    def audience(self, recruitment: Recruitment) -> str:
        return "whoever has the link below"

    def keeps(self, recruitment: Recruitment) -> Kept:
        return Kept(
            f"You are not asked who you are: a random number stands for you. {COOKIE} {ADDRESS}"
        )

    def arrive(self, request: HttpRequest, recruitment: Recruitment) -> Arrival:
        token = _named(request) or secrets.token_urlsafe(16)
        return Arrival(external_id=token, submission_id=token)

    def depart(
        self, recruitment: Recruitment, submission: Submission | None, ending: Ending
    ) -> Departure:
        if submission is None or ending != Ending.COMPLETED:
            return Departure()
        return Departure(code=submission.completion_code)


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


PROVIDER = OpenLink()
