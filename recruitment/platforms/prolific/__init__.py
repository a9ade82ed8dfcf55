"""Prolific: participants arrive with three IDs, and a signed token if the study requires it."""

import hashlib
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime, timedelta
from decimal import Decimal

import jwt
from django import forms
from django.conf import settings
from django.db import IntegrityError, transaction
from django.http import HttpRequest

from annotation.models import Participation
from jobs.clock import database_now
from recruitment.identities import LETTERS_AND_DIGITS, id_in, is_usable
from recruitment.models import Channel, Payment, PlatformEvent, Submission, decrypted
from recruitment.platforms.base import (
    ADDRESS,
    COOKIES,
    KNOWN_AGAIN,
    ChannelSettings,
    Ending,
    OfferedFilter,
    Platform,
    PlatformEntry,
    PlatformReport,
    PrivacyNotice,
    Rehearsal,
    ReturnInstructions,
    SubmissionStatus,
)
from recruitment.platforms.errors import NotConfirmedYet, PlatformError
from recruitment.platforms.prolific.client import ProlificClient
from recruitment.platforms.prolific.payloads import (
    CODES,
    SCREEN_OUT_PAYMENT,
    codes_of,
    study_body,
)
from recruitment.platforms.prolific.responses import Data
from recruitment.platforms.prolific.signatures import (
    EntryRefused,
    check_claimed_age,
    fetch_keys,
    verify_entry_token,
    verify_webhook,
)
from studies.models.bounds import MAX_REWARD
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats.cells import bounded_json

COMPLETE = "https://app.prolific.com/submissions/complete?cc="
PARAMETERS = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
KEYS_AGE = timedelta(hours=12)
# If keys that were fetched within this time do not contain a key, the key is not Prolific's.
KEYS_FRESH = timedelta(minutes=1)

# A participant who has already submitted may come back.
ACTIVE_STATUSES = {SubmissionStatus.WORKING, SubmissionStatus.SUBMITTED, SubmissionStatus.APPROVED}
# Prolific's categories of rejections.
REJECTION_CATEGORIES = {
    "TOO_QUICKLY": "Exceptionally fast",
    "TOO_SLOWLY": "Exceptionally slow",
    "FAILED_INSTRUCTIONS": "Did not follow the instructions",
    "INCOMP_LONGITUDINAL": "Incomplete part of a longitudinal study",
    "FAILED_CHECK": "Failed fair attention checks",
    "LOW_EFFORT": "Low effort",
    "MALINGERING": "Malingering",
    "NO_CODE": "No completion code",
    "BAD_CODE": "Wrong completion code",
    "NO_DATA": "No data",
    "UNSUPP_DEVICE": "Unsupported device",
    "OTHER": "Another reason",
}

UNPUBLISHED = "The study on Prolific is a draft that no participant can see. Press “Publish” below."
# Statuses in which Prolific sends nobody, and what the researcher can do.
NOT_SENDING = {
    "SCHEDULED": "Prolific will publish the study at the scheduled time.",
    "PUBLISHING": "Prolific is publishing the study now.",
    "PAUSED": "The study is paused on Prolific. Press “Start” below to resume it.",
    "AWAITING REVIEW": "All places of the study on Prolific are taken. Add participants below if"
    " you need more.",
    "COMPLETED": "The study on Prolific is completed.",
}


DEVICES = (
    ("", "All devices"),
    ("desktop", "Computers only"),
    ("desktop,tablet", "Computers and tablets"),
    ("tablet,mobile", "Tablets and phones"),
    ("mobile", "Phones only"),
)
CONTENT_WARNINGS = (
    ("", "None"),
    ("sensitive", "Sensitive content"),
    ("explicit", "Explicit content"),
)


class ProlificSettings(ChannelSettings):
    is_secure = forms.BooleanField(
        label="Signed links only",
        required=False,
        initial=True,
        help_text="Prolific signs each entry link, so participants do not have to wait for"
        " confirmation.",
    )
    description = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="What participants read on Prolific before they begin.",
    )
    workspace = forms.RegexField(
        r"^[A-Za-z0-9]{0,64}\Z",
        required=False,
        help_text="The ID of the Prolific workspace. It is needed for webhooks, which let Prolific"
        " notify this server immediately.",
    )
    devices = forms.ChoiceField(
        choices=DEVICES,
        required=False,
        help_text="Long texts and comparisons are hard to read on a phone.",
    )
    content_warning = forms.ChoiceField(
        choices=CONTENT_WARNINGS,
        required=False,
        help_text="Shown on Prolific before people begin so that they can decide.",
    )
    content_warning_details = forms.CharField(
        required=False, max_length=500, help_text="What people may read."
    )
    fee_percent = forms.DecimalField(
        label="Platform fee (%)", initial="33.3", min_value=0, max_value=100, required=False
    )
    screen_out_reward = forms.DecimalField(
        label="Screen-out reward",
        required=False,
        min_value=0,
        max_value=MAX_REWARD,
        max_digits=10,
        decimal_places=2,
        help_text="Paid to participants who fail the test.",
    )

    def clean_screen_out_reward(self) -> Decimal | None:
        """A reward of zero promises nothing, as an empty one does."""
        return self.cleaned_data["screen_out_reward"] or None


PROLIFIC_REPORTS = (
    "Prolific reports every submission to the researchers, who store both IDs, its status and the"
    " code that was entered for it."
)
FINGERPRINT = "They also store a fingerprint of your link so that it can be used only once."


class Prolific(Platform):
    name = "prolific"
    title = "Prolific"
    paid_per = Participation.PaidPer.STUDY
    settings_form = ProlificSettings
    is_platform = True
    settings_of_account = frozenset({"workspace", "rehearsal"})
    has_token = True
    approves_together = True
    entry_parameters = PARAMETERS
    rejection_categories = REJECTION_CATEGORIES
    rejection_length = 100
    fewest_told = 25
    usual_filters = (
        "fluent-languages",
        "first-language",
        "current-country-of-residence",
        "approval_rate",
        "approval_numbers",
        "age",
    )

    def missing(self, channel: Channel) -> str:
        return next(iter(self.lacks(channel).values()), "")

    def lacks(self, channel: Channel) -> Mapping[str, str]:
        if channel.external_id:
            return {}
        present = {
            "no_token": channel.secret,
            "no_description": channel.settings.get("description"),
        }
        lacking = {code: NEEDS_OF_CHANNEL[code] for code, value in present.items() if not value}
        return lacking | {"no_draft": NEEDS_OF_CHANNEL["no_draft"]}

    def why_not_sending(self, channel: Channel) -> str:
        if channel.is_unpublished:
            return UNPUBLISHED
        return NOT_SENDING.get(channel.external_status, "")

    def study_lacks(self, channel: Channel) -> Mapping[str, str]:
        study = channel.study
        required = {
            "no_reward": study.reward,
            "no_minutes": study.minutes_per_hit,
            "no_limit": study.hits_per_annotator,
        }
        return {code: NEEDS_OF_STUDY[code] for code, value in required.items() if value is None}

    def audience(self, channel: Channel) -> str:
        return "Open to participants sent by Prolific, which already has the link below."

    def privacy_notice(self, channel: Channel) -> PrivacyNotice:
        ids = f"We store your Prolific ID and the ID of your submission. {KNOWN_AGAIN}"
        address = "" if self.confirms(channel) else f" {ADDRESS}"
        is_secure = channel.settings.get("is_secure")
        fingerprint = f" {FINGERPRINT}" if is_secure else ""
        return PrivacyNotice(
            f"{ids} {COOKIES}{address}", in_any_case=PROLIFIC_REPORTS + fingerprint
        )

    def confirms(self, channel: Channel) -> bool:
        """Whether a signature or the API confirms the IDs; otherwise anyone could make them up."""
        return bool(channel.secret or channel.settings.get("is_secure"))

    def read_entry(self, request: HttpRequest, channel: Channel) -> PlatformEntry:
        names = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
        person, study, submission = (id_in(request.GET, name, LETTERS_AND_DIGITS) for name in names)
        if channel.external_id and study not in self._studies(channel):
            raise DomainError("other_study", OTHER_STUDY, status=403)
        is_confirmed = _is_signed(request, channel, person, submission)
        return PlatformEntry(person, submission, is_confirmed=is_confirmed)

    def is_submission_active(self, channel: Channel, participation: Participation) -> bool:
        if channel.settings.get("is_secure"):
            return False  # unsigned IDs are not even looked up
        with _client(channel) as client:
            submission = client.submission(participation.submission_id)
        person = participation.rater.external_id
        is_own = submission.external_id == person and submission.study in self._studies(channel)
        return is_own and submission.submission_status in ACTIVE_STATUSES

    def _studies(self, channel: Channel) -> set[str]:
        """Return the IDs of the study on Prolific and of its rehearsal."""
        return {channel.external_id, self.rehearsal(channel).study} - {""}

    def return_instructions(
        self, channel: Channel, submission: Submission | None, ending: Ending
    ) -> ReturnInstructions:
        code = codes_of(channel).get(ending, "")
        return ReturnInstructions(
            code=code, url=COMPLETE + code if code else "", link_text="Return to Prolific"
        )

    def submission_reports(self, channel: Channel) -> Iterable[PlatformReport]:
        with suppress(PlatformError):  # an entry that needs the keys fetches them again
            self._renew_old_keys(channel)
        with _client(channel) as client:
            return list(client.submissions(_published(channel)))

    def platform_status(self, channel: Channel) -> str:
        with _client(channel) as client:
            return client.study(_published(channel)).status

    def try_token(self, token: str) -> None:
        base_url = settings.TIEBREAK_PROLIFIC_URL
        with ProlificClient(token, base_url=base_url, attempts=1, timeout_s=3.0) as client:
            client.check_token()

    def report_on(self, channel: Channel, submission_id: str) -> PlatformReport | None:
        with _client(channel) as client:
            submission = client.submission(submission_id)
        return submission if submission.study == channel.external_id else None

    def submission_in_event(
        self, channel: Channel, headers: dict[str, str], body: bytes, now: datetime
    ) -> tuple[str, str]:
        verify_webhook(
            secret=decrypted(channel.webhook_secret),
            timestamp=headers.get("x-prolific-request-timestamp", ""),
            body=body,
            signature=headers.get("x-prolific-request-signature", ""),
            now=now,
        )
        # Identified by the signed content, because the ID in the header is not signed.
        timestamp = headers["x-prolific-request-timestamp"]
        digest = hashlib.sha256(timestamp.encode() + b":" + body).hexdigest()
        return f"event:{digest}", _submission_in(body)

    def approve(self, channel: Channel, participations: Sequence[Participation]) -> None:
        with _client(channel) as client:
            client.approve([participation.submission_id for participation in participations])

    def reject(
        self, channel: Channel, participation: Participation, message: str, category: str
    ) -> None:
        self.check_rejection(message, category)
        with _client(channel) as client:
            client.reject(participation.submission_id, message, category)

    def ask_to_return(self, channel: Channel, participation: Participation, reason: str) -> None:
        with _client(channel) as client:
            client.request_return(participation.submission_id, [reason])

    def pay(self, channel: Channel, payment: Payment) -> str:
        submission = payment.participation.submission_id
        with _client(channel) as client:
            if payment.kind == Payment.Kind.SCREEN_OUT:
                client.screen_out(submission, _screen_out_code(channel))
                return submission
            bulk_id = _create_bonus(client, _published(channel), payment)
            # Stored before it is paid, because a repeated request would pay a second time.
            payment.external_id = bulk_id
            payment.save(update_fields=["external_id"])
            client.pay_bonuses(bulk_id)
        return bulk_id

    def publish(self, channel: Channel, participants: int, entry_url: str) -> str:
        with _client(channel) as client:
            if channel.external_id:
                return client.increase_places(channel.external_id, participants).id
            names = [*(ending.value for ending in CODES), SCREEN_OUT_PAYMENT]
            codes = {name: secrets.token_hex(4).upper() for name in names}
            _keep_settings(channel, codes=channel.settings.get("codes") or codes)
            self._renew_old_keys(channel)
            return client.create_study(_draft(channel, participants, entry_url)).id

    def offered_filters(self, channel: Channel) -> list[OfferedFilter]:
        with _client(channel) as client:
            return client.filters(channel.settings.get("workspace", ""))

    def count_eligible(self, channel: Channel) -> int:
        stored = channel.settings
        with _client(channel) as client:
            return client.count_eligible(stored.get("filters", []), stored.get("workspace", ""))

    def rehearse(self, channel: Channel, email: str) -> Rehearsal:
        """Rehearse with a test participant, whose ID is kept for the next time."""
        study, person = _published(channel), self.rehearsal(channel).participant
        if not person and not email:
            raise DomainError("no_test_email", NO_TEST_EMAIL, status=400)
        try:
            with _client(channel) as client:
                if not person:
                    person = client.create_test_participant(email)
                    _keep_settings(channel, rehearsal={"participant": person})
                test_study, url = client.test_study(study)
        except PlatformError as error:
            if error.platform_status in NOT_ENABLED:
                raise DomainError("no_rehearsals", NO_REHEARSALS) from error
            raise
        rehearsal = Rehearsal(person, test_study, url)
        _keep_settings(channel, rehearsal=asdict(rehearsal))
        return rehearsal

    def rehearsal(self, channel: Channel) -> Rehearsal:
        return Rehearsal(**channel.settings.get("rehearsal", {}))

    def update_draft(self, channel: Channel) -> None:
        entry_url = channel.settings.get("entry_url", "")
        with _client(channel) as client:
            client.update_draft(_published(channel), _draft(channel, 0, entry_url))

    def transition_platform_study(self, channel: Channel, action: str) -> str:
        with _client(channel) as client:
            return client.transition_study(_published(channel), action.upper()).status

    def subscribe_webhook(self, channel: Channel, events_url: str) -> str:
        workspace = channel.settings.get("workspace", "")
        if not workspace:
            raise DomainError(
                "no_workspace", "Enter the ID of the workspace first, and save.", status=400
            )
        with _client(channel) as client:
            secret = client.create_secret(workspace)
            client.subscribe(workspace, "submission.status.change", events_url)
        return secret

    def _renew_old_keys(self, channel: Channel) -> None:
        """Renew the keys of signed links in advance so that no participant waits for them."""
        if channel.settings.get("is_secure") and not _has_keys_since(channel, KEYS_AGE):
            self.renew_keys(channel)

    def renew_keys(self, channel: Channel) -> None:
        keys: list[dict[str, object]] = [
            key.Algorithm.to_jwk(key.key, as_dict=True)
            | {"kid": key.key_id, "alg": "RS256", "use": "sig"}
            for key in fetch_keys(settings.TIEBREAK_PROLIFIC_KEYS_URL).keys
        ]
        _keep_settings(channel, keys=keys, keys_at=database_now().isoformat())


def _submission_in(body: bytes) -> str:
    """Return the submission that an event names; "" for events of other kinds."""
    try:
        event = bounded_json(body)
    except InvalidInput:
        raise DomainError("unknown_event", UNKNOWN_EVENT, status=400) from None
    kind = event.get("event_type") if isinstance(event, dict) else None
    if not isinstance(kind, str):
        raise DomainError("unknown_event", UNKNOWN_EVENT, status=400)
    if kind != "submission.status.change":
        return ""
    submission = event.get("resource_id")
    if not isinstance(submission, str) or not is_usable(submission):
        raise DomainError("unknown_event", UNKNOWN_EVENT, status=400)
    return submission


UNKNOWN_EVENT = "This event is signed, but Prolific does not document it, so it was ignored."
OTHER_STUDY = (
    "This link belongs to another study on Prolific. Please open this study from its page on"
    " Prolific."
)
UNSIGNED = (
    "This link is not signed by Prolific. Please open the study from its page on Prolific, not"
    " from a copied address."
)


def _is_signed(request: HttpRequest, channel: Channel, person: str, submission: str) -> bool:
    """Whether a token proves the IDs. A token is valid once, so a copied link does not work.

    If the study requires signed links, all other links are refused.
    """
    token = request.GET.get("prolific_token", "")
    if not channel.settings.get("is_secure"):
        return False
    if not token:
        raise EntryRefused("entry_unsigned", UNSIGNED, status=403)
    signed = _signed_parameters(channel, token, submission)
    if signed.get("PROLIFIC_PID", person) != person:
        raise EntryRefused("entry_forged", UNSIGNED, status=403)
    _use_up(channel, token)
    return True


def _signed_parameters(channel: Channel, token: str, submission: str) -> dict[str, str]:
    """Return what Prolific signed; raise `NotConfirmedYet` if its keys must be fetched first."""
    now = database_now()
    try:
        return verify_entry_token(
            token,
            keys=jwt.PyJWKSet(channel.settings.get("keys") or []),
            audience=str(channel.settings.get("entry_url", "")),
            submission_id=submission,
            now=now,
        )
    except EntryRefused as refusal:
        if refusal.code != "entry_key_unknown" or _has_keys_since(channel, KEYS_FRESH):
            raise
    check_claimed_age(token, now)
    raise NotConfirmedYet


def _has_keys_since(channel: Channel, age: timedelta) -> bool:
    at = channel.settings.get("keys_at", "")
    return bool(at) and datetime.fromisoformat(at) > database_now() - age


def _use_up(channel: Channel, token: str) -> None:
    digest = hashlib.sha256(token.encode()).hexdigest()
    try:
        with transaction.atomic():
            PlatformEvent.objects.create(channel=channel, event_id=f"entry:{digest}")
    except IntegrityError as error:
        raise EntryRefused(
            "entry_replayed",
            "This link has already been used. Please open the study from Prolific again.",
            status=403,
        ) from error


def _client(channel: Channel) -> ProlificClient:
    token = decrypted(channel.secret)
    if not token:
        raise DomainError(
            "no_token",
            "Enter your Prolific access token on the study's recruitment page first.",
        )
    return ProlificClient(token, base_url=settings.TIEBREAK_PROLIFIC_URL)


def _published(channel: Channel) -> str:
    if not channel.external_id:
        raise DomainError(
            "not_published", "This study is not on Prolific yet. Create the draft first."
        )
    return channel.external_id


def _create_bonus(client: ProlificClient, study: str, payment: Payment) -> str:
    """Set up a bonus. A failure here has paid nobody, because only the next request pays."""
    try:
        return client.create_bonuses(study, {payment.participation.submission_id: payment.amount})
    except PlatformError as error:
        error.may_be_done = False
        raise


def _keep_settings(channel: Channel, **changes: object) -> None:
    """Change these settings only, keeping what a researcher may have saved in the meantime."""
    with transaction.atomic():
        stored = Channel.objects.select_for_update().get(pk=channel.pk)
        stored.settings |= changes
        stored.save(update_fields=["settings"])
    channel.settings = stored.settings


def _screen_out_code(channel: Channel) -> str:
    code = codes_of(channel).get(SCREEN_OUT_PAYMENT, "")
    if not code or not channel.settings.get("screen_out_reward"):
        raise DomainError(
            "no_screen_out_pay",
            "This study was created on Prolific without payment for participants who are screened"
            " out. Pay them a bonus on Prolific.",
        )
    return code


# How Prolific answers where a workspace may not rehearse.
NOT_ENABLED = {403, 404}
NO_REHEARSALS = (
    "Prolific has not enabled rehearsals for this workspace. Ask Prolific's support to enable test"
    " studies, or use the Preview and Dry run pages instead."
)
NO_TEST_EMAIL = (
    "Enter an email address for the test participant, one that nobody has used on Prolific."
)
NEEDS_OF_CHANNEL = {
    "no_token": "Enter your Prolific access token below and save.",
    "no_description": "Write the description that participants read on Prolific, and save.",
    "no_draft": "Enter the number of participants below and create the draft on Prolific.",
}
NEEDS_OF_STUDY = {
    "no_reward": "Enter the reward per annotator in the design, because Prolific shows it.",
    "no_minutes": (
        "Enter the estimated minutes per task in the design, because Prolific shows the total time."
    ),
    "no_limit": (
        "Enter the maximum number of tasks per annotator in the design, because Prolific shows one"
        " reward and one time for all of them."
    ),
}


def _draft(channel: Channel, participants: int, entry_url: str) -> Data:
    for code, sentence in PLATFORM.study_lacks(channel).items():
        raise DomainError(code, sentence)
    _keep_settings(channel, entry_url=entry_url)
    return study_body(channel, participants, entry_url)


PLATFORM = Prolific()
