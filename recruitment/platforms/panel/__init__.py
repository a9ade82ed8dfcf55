"""Any other panel or list, whose links contain IDs in parameters that the researcher names.

Anyone can write an ID into an unsigned link. An ID is therefore bound to the browser that agreed
with it first, and the researcher decides what happens in another browser. If the panel signs its
links, only the panel can introduce an ID. Nobody verifies unsigned IDs, so the limits per internet
address apply to them.
"""

import hashlib
import hmac
import secrets
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.http import HttpRequest

from annotation.models import Participation
from recruitment.identities import ANY_ID, id_in
from recruitment.models import Channel, Submission, decrypted
from recruitment.platforms.base import (
    ADDRESS,
    COOKIES,
    KNOWN_AGAIN,
    ChannelSettings,
    Ending,
    Platform,
    PlatformEntry,
    PrivacyNotice,
    Reentry,
    ReturnInstructions,
)
from tiebreak.errors import DomainError


def _plain_url(value: str) -> None:
    parts = urlsplit(value)
    if parts.scheme != "https" or not parts.hostname or parts.username:
        sentence = "Enter a complete https:// address without a user name."
        raise forms.ValidationError(sentence, code="bad_address")


class PanelSettings(ChannelSettings):
    person_parameter = forms.RegexField(
        r"^[A-Za-z_][A-Za-z0-9_.-]{0,49}\Z",
        initial="participantId",
        help_text="The parameter of the entry link that contains the participant's ID.",
    )
    submission_parameter = forms.RegexField(
        r"^[A-Za-z_][A-Za-z0-9_.-]{0,49}\Z",
        required=False,
        help_text="The parameter that contains the ID of the visit, if there is one.",
    )
    is_signed = forms.BooleanField(
        label="Signed links only",
        required=False,
        help_text="The panel signs each link with a key. The key appears here once the channel is set up.",
    )
    reentry = forms.ChoiceField(
        label="If an ID is used in a second browser",
        required=False,
        choices=[
            (Reentry.REFUSE, "refuse entry"),
            (Reentry.ASK, "send the participant back to the panel"),
            (Reentry.FLAG, "allow entry and mark it on Participants & payments"),
        ],
        help_text="If links are not signed, anyone who knows an ID can make up a link.",
    )
    panel_url = forms.CharField(
        label="Panel's page",
        required=False,
        validators=[_plain_url],
        help_text="The address to which participants are sent back. {person} stands for their ID.",
    )
    completed_url = forms.CharField(
        label="Completed URL",
        required=False,
        validators=[_plain_url],
        help_text="The address to which participants go after completing the study. {person},"
        " {submission} and {code} stand for their ID, the ID of the visit and the code.",
    )
    completed_code = forms.CharField(
        required=False, help_text="Leave empty to give each participant a different code."
    )
    screened_out_url = forms.CharField(
        label="Screened-out URL", required=False, validators=[_plain_url]
    )
    no_consent_url = forms.CharField(
        label="No-consent URL", required=False, validators=[_plain_url]
    )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if cleaned.get("reentry") == Reentry.ASK and not cleaned.get("panel_url"):
            sentence = "Enter the address of the panel's page to which participants are sent back."
            self.add_error("panel_url", forms.ValidationError(sentence, code="required"))
        return cleaned


class Panel(Platform):
    name = "panel"
    title = "Another panel or list"
    paid_per = Participation.PaidPer.VISIT
    settings_form = PanelSettings
    is_platform = True

    def audience(self, channel: Channel) -> str:
        names = channel.settings
        person, submission = names.get("person_parameter"), names.get("submission_parameter")
        added = f"?{person or 'participantId'}=ID" + (f"&{submission}=VISIT" if submission else "")
        if names.get("is_signed"):
            return (
                "Open to participants with a link that the panel signed. It consists of the link"
                f" below and {added}&{SIGNED}."
            )
        return f"Open to anyone who follows the link below with their ID added to it, as {added}."

    def privacy_notice(self, channel: Channel) -> PrivacyNotice:
        visit = " and the ID of this visit" if channel.settings.get("submission_parameter") else ""
        ids = f"We store your ID at the panel or list that sent you{visit}, as given in your link."
        address = "" if channel.settings.get("is_signed") else f" {ADDRESS}"
        return PrivacyNotice(f"{ids} {KNOWN_AGAIN} {COOKIES} {BOUND}{address}")

    def reentry(self, channel: Channel) -> Reentry:
        return Reentry(channel.settings.get("reentry") or Reentry.REFUSE)

    def panel_page(self, channel: Channel, external_id: str) -> str:
        return str(channel.settings.get("panel_url", "")).replace("{person}", external_id)

    def own_secret(self, channel: Channel) -> str:
        return secrets.token_urlsafe(32) if channel.settings.get("is_signed") else ""

    def shown_secret(self, channel: Channel) -> str:
        return decrypted(channel.secret) if channel.settings.get("is_signed") else ""

    def read_entry(self, request: HttpRequest, channel: Channel) -> PlatformEntry:
        names = channel.settings
        person = id_in(request.GET, names.get("person_parameter", "participantId"), ANY_ID)
        submission = names.get("submission_parameter")
        visit = id_in(request.GET, submission, ANY_ID) if submission else person
        is_signed = bool(names.get("is_signed"))
        if is_signed:
            key, sent = decrypted(channel.secret), request.GET.get("signature", "").lower()
            part = signed_part(channel, person, visit)
            if not key or not hmac.compare_digest(signature(key, part).encode(), sent.encode()):
                raise DomainError("unsigned_link", UNSIGNED, status=403)
        return PlatformEntry(external_id=person, submission_id=visit, is_confirmed=is_signed)

    def return_instructions(
        self, channel: Channel, submission: Submission | None, ending: Ending
    ) -> ReturnInstructions:
        settings = channel.settings
        kind = {Ending.FAILED_CHECK: Ending.SCREENED_OUT}.get(ending, ending)
        code = ""
        if ending == Ending.COMPLETED and submission is not None:
            code = settings.get("completed_code") or submission.completion_code
        return ReturnInstructions(
            code=code, url=_filled(settings.get(f"{kind}_url", ""), submission, code)
        )


SIGNED = "signature=SIGNATURE"
BOUND = (
    "We store a fingerprint of that cookie with your participation so that nobody else can"
    " continue it with your ID."
)
UNSIGNED = (
    "The signature of this link is missing or does not match your ID. Please open the study from"
    " the page that invited you, without changing its address."
)


def signed_part(channel: Channel, person: str, visit: str) -> str:
    """Return what the panel signs: the parameters of the link before the signature."""
    names = channel.settings
    part = f"{names.get('person_parameter', 'participantId')}={person}"
    submission = names.get("submission_parameter")
    return f"{part}&{submission}={visit}" if submission else part


def signature(key: str, part: str) -> str:
    """Return the HMAC-SHA256 under the channel's key, in hexadecimal digits."""
    return hmac.new(key.encode(), part.encode(), hashlib.sha256).hexdigest()


def _filled(template: str, submission: Submission | None, code: str) -> str:
    """Fill in the three placeholders, whose values cannot break a URL."""
    if not template:
        return ""
    participation = submission.participation if submission else None
    person = participation.rater.external_id if participation else ""
    visit = participation.submission_id if participation else ""
    for placeholder, value in (("person", person), ("submission", visit), ("code", code)):
        template = template.replace("{" + placeholder + "}", value)
    return template


PLATFORM = Panel()
