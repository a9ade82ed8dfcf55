"""Amazon Mechanical Turk's protocol, for other installations that implement it.

The public service ended on 2026-09-30. A HIT on the platform is one visit to the study. The pages
are shown in the platform's frame, and the browser itself posts the submission to the platform.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from django import forms
from django.conf import settings
from django.http import HttpRequest

from annotation.models import Participation
from recruitment.identities import LETTERS_AND_DIGITS, id_in
from recruitment.models import Channel, Payment, Submission, decrypted
from recruitment.platforms.base import (
    ADDRESS,
    KNOWN_AGAIN,
    ChannelSettings,
    Ending,
    Platform,
    PlatformEntry,
    PlatformReport,
    PrivacyNotice,
    ReturnInstructions,
)
from recruitment.platforms.mturk.client import MTurkClient
from tiebreak.errors import DomainError

PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
SUBMIT_PATH = "/mturk/externalSubmit"

_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?")


def read_frame_entry(
    parameters: Mapping[str, str], *, allowed_origins: Sequence[str]
) -> PlatformEntry | None:
    """Read the parameters that the platform adds to the address of its frame.

    In a preview, which has no worker, the HIT has not been accepted yet: returns None. The submit
    target is built from an allowed origin, never from what was sent. Raises `DomainError` if an ID
    is missing or malformed, or the origin is not allowed.
    """
    is_preview = parameters.get("assignmentId") == PREVIEW
    assignment = PREVIEW if is_preview else _id(parameters, "assignmentId")
    _id(parameters, "hitId")
    worker = _id(parameters, "workerId", optional=is_preview)
    target = _submit_target(parameters, allowed_origins, optional=is_preview)
    if is_preview:
        return None
    return PlatformEntry(worker, assignment, extra={"target": target, "assignment": assignment})


def _id(parameters: Mapping[str, str], name: str, *, optional: bool = False) -> str:
    if optional and not parameters.get(name):
        return ""
    return id_in(parameters, name, LETTERS_AND_DIGITS)


def _submit_target(
    parameters: Mapping[str, str], allowed_origins: Sequence[str], *, optional: bool
) -> str:
    sent = parameters.get("turkSubmitTo", "")
    if optional and not sent:
        return ""
    # Compare whole strings, because two parsers could read the same address differently.
    for origin in filter(_ORIGIN.fullmatch, allowed_origins):
        if sent in {origin, f"{origin}/"}:
            return origin + SUBMIT_PATH
    raise DomainError(
        "mturk_origin",
        "This HIT was opened from a site that is not allowed for this study. Please open it from"
        " Mechanical Turk again.",
        status=400,
    )


class MTurkSettings(ChannelSettings):
    access_key = forms.CharField(
        label="Access key ID",
        required=False,
        help_text="The access key ID of your AWS account. Enter its secret access key below.",
    )
    description = forms.CharField(widget=forms.Textarea(attrs={"rows": 3}))
    keywords = forms.CharField(required=False)
    hours_open = forms.IntegerField(
        label="Hours that the HIT stays available", initial=72, min_value=1, max_value=8760
    )
    fee_percent = forms.DecimalField(
        label="Platform fee (%)", initial="20", min_value=0, max_value=100, required=False
    )


PLATFORM_REPORTS = (
    "The platform reports every submitted assignment to the researchers, who store both IDs and"
    " its status."
)


class MTurk(Platform):
    name = "mturk"
    title = "Mechanical Turk"
    paid_per = Participation.PaidPer.VISIT
    settings_form = MTurkSettings
    is_platform = True
    settings_of_account = frozenset({"access_key"})
    has_token = True
    credential = "Secret access key"
    is_framed = True
    tells_bonus_reason = True

    def study_lacks(self, channel: Channel) -> Mapping[str, str]:
        """Require the reward only if the HIT is created from here, not on the platform itself."""
        if channel.study.reward is None and channel.secret:
            return {"no_reward": NO_REWARD}
        return {}

    def audience(self, channel: Channel) -> str:
        if channel.external_id:
            return "Open to workers sent by the platform, which already has the link below."
        return (
            "Open to workers who come from your HIT. Create the HIT below with the platform's"
            " access key and token, or on the platform with the link below as its"
            " ExternalQuestion."
        )

    def privacy_notice(self, channel: Channel) -> PrivacyNotice:
        ids = (
            "We store your worker ID, the ID of the assignment, and the platform's address for"
            f" submitting it. {KNOWN_AGAIN} The address of these pages contains the encrypted IDs."
        )
        # Without the secret key the platform cannot be asked for its assignments.
        return PrivacyNotice(
            f"{ids} {ADDRESS}", in_any_case=PLATFORM_REPORTS if channel.secret else ""
        )

    def frame_ancestors(self, channel: Channel) -> Sequence[str]:
        return list(settings.TIEBREAK_MTURK_ORIGINS)

    def read_entry(self, request: HttpRequest, channel: Channel) -> PlatformEntry | None:
        origins = settings.TIEBREAK_MTURK_ORIGINS
        return read_frame_entry(request.GET.dict(), allowed_origins=origins)

    def return_instructions(
        self, channel: Channel, submission: Submission | None, ending: Ending
    ) -> ReturnInstructions:
        """Return the form with which the browser submits the assignment, for every ending."""
        if submission is None or not submission.return_params.get("target"):
            return ReturnInstructions()
        submission_id = submission.participation.submission_id
        fields = {"assignmentId": submission_id, "ending": ending.value}
        if ending == Ending.COMPLETED:
            fields["code"] = submission.completion_code
        return ReturnInstructions(post_to=submission.return_params["target"], fields=fields)

    def submission_reports(self, channel: Channel) -> Iterable[PlatformReport]:
        return list(_client(channel).assignments(_published(channel)))

    def approve(self, channel: Channel, participations: Sequence[Participation]) -> None:
        client = _client(channel)
        for participation in participations:
            client.approve(participation.submission_id)

    def reject(
        self, channel: Channel, participation: Participation, message: str, category: str
    ) -> None:
        self.check_rejection(message, category)
        _client(channel).reject(participation.submission_id, message)

    def pay(self, channel: Channel, payment: Payment) -> str:
        participation = payment.participation
        token = f"tiebreak-{payment.public_id}"  # which no other server's payment has
        _client(channel).bonus(
            participation.rater.external_id,
            participation.submission_id,
            payment.amount,
            payment.reason or "Thank you.",
            token,
        )
        return token

    def publish(self, channel: Channel, participants: int, entry_url: str) -> str:
        if channel.external_id:
            raise DomainError("published", "This study already has a HIT on the platform.")
        return _create_hit(channel, participants, entry_url)

    def transition_platform_study(self, channel: Channel, action: str) -> str:
        if action != "stop":
            raise self._cannot()
        _client(channel).expire(_published(channel))
        return "Expired"


NO_REWARD = "Enter the reward in the study's design first, because the HIT shows it."


def _create_hit(channel: Channel, participants: int, entry_url: str) -> str:
    study, options = channel.study, channel.settings
    if study.reward is None:
        raise DomainError("no_reward", NO_REWARD)
    minutes = (study.minutes_per_hit or 30) * (study.hits_per_annotator or 1)
    return _client(channel).create_hit(
        title=study.title,
        description=options["description"],
        keywords=options.get("keywords", ""),
        reward=study.reward,
        max_assignments=participants,
        lifetime=timedelta(hours=int(options.get("hours_open", 72))),
        duration=timedelta(minutes=max(30, 3 * minutes)),
        entry_url=entry_url,
        token=f"tiebreak-{study.pk}-{channel.pk}",
    )


def _client(channel: Channel) -> MTurkClient:
    secret = decrypted(channel.secret)
    if not secret or not settings.TIEBREAK_MTURK_ENDPOINT:
        raise DomainError(
            "no_token",
            "Enter the platform's access key and token here, and ask the server's administrator to"
            " set its endpoint (TIEBREAK_MTURK_ENDPOINT).",
        )
    return MTurkClient(
        endpoint_url=settings.TIEBREAK_MTURK_ENDPOINT,
        access_key=str(channel.settings.get("access_key", "")),
        secret_key=secret,
    )


def _published(channel: Channel) -> str:
    if not channel.external_id:
        raise DomainError(
            "not_published", "This study is not on the platform yet. Create the HIT first."
        )
    return channel.external_id


PLATFORM = MTurk()
