"""Prolific: participants arrive with three ids, and a signed token where the study asks for it."""

import hashlib
import json
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import ceil

import jwt
from django import forms
from django.conf import settings
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils import timezone

from annotation.models import Participation
from recruitment.models import Channel, Payment, PlatformEvent, Submission, decrypted
from recruitment.platforms.errors import NotConfirmedYet, PlatformError
from recruitment.platforms.platform import (
    ADDRESS,
    COOKIES,
    KNOWN_AGAIN,
    Ending,
    Platform,
    PlatformEntry,
    PlatformReport,
    PrivacyNotice,
    ReturnInstructions,
    SubmissionStatus,
)
from recruitment.platforms.prolific.client import ProlificClient
from recruitment.platforms.prolific.payloads import (
    CompletionCode,
    StudyDraft,
    maximum_allowed_minutes,
)
from recruitment.platforms.prolific.responses import ProlificSubmission
from recruitment.platforms.prolific.signatures import (
    EntryRefused,
    check_claimed_age,
    fetch_keys,
    verify_entry_token,
    verify_webhook,
)
from studies.models.bounds import MAX_REWARD
from tiebreak.errors import DomainError

COMPLETE = "https://app.prolific.com/submissions/complete?cc="
PARAMETERS = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
KEYS_AGE = timedelta(hours=12)
# A key that is unknown to keys as fresh as that is nobody's.
KEYS_FRESH = timedelta(minutes=1)

ID = re.compile(r"[A-Za-z0-9]{1,64}")

STATUSES = {
    "RESERVED": SubmissionStatus.EXPECTED,
    "ACTIVE": SubmissionStatus.WORKING,
    "AWAITING REVIEW": SubmissionStatus.SUBMITTED,
    "APPROVED": SubmissionStatus.APPROVED,
    "PARTIALLY APPROVED": SubmissionStatus.APPROVED,
    "REJECTED": SubmissionStatus.REJECTED,
    "RETURNED": SubmissionStatus.RETURNED,
    "TIMED-OUT": SubmissionStatus.TIMED_OUT,
    "SCREENED OUT": SubmissionStatus.SCREENED_OUT,
}
# Whoever finished here is not lost if they come back to look.
PRESENT = {SubmissionStatus.WORKING, SubmissionStatus.SUBMITTED, SubmissionStatus.APPROVED}
# Our endings in Prolific's words, and what each sets off there. All are looked at by somebody:
# a code can be passed on, so none of them pays by itself.
CODES = {
    Ending.COMPLETED: "COMPLETED",
    Ending.FAILED_CHECK: "FAILED_ATTENTION_CHECK",
    Ending.NO_CONSENT: "NO_CONSENT",
    Ending.SCREENED_OUT: "SCREENED_OUT",
    Ending.NO_WORK: "OTHER",
}
# A sixth code, which nobody but the researcher enters: it pays who was screened out.
SCREEN_OUT_PAYMENT = "screen_out_payment"


UNPUBLISHED = "Its study on Prolific is a draft that nobody sees there: press “Publish” below."
# What Prolific calls a study that it sends nobody to, and what a researcher can do.
NOBODY_SENT = {
    "SCHEDULED": "Prolific publishes its study at the time that was set there.",
    "PUBLISHING": "Prolific is publishing its study just now.",
    "PAUSED": "Its study is paused on Prolific: press “Start” below to go on.",
    "AWAITING REVIEW": "Every place of its study on Prolific is taken. Raise the number below if"
    " more people are wanted.",
    "COMPLETED": "Its study on Prolific is completed.",
}


class ProlificSettings(forms.Form):
    is_secure = forms.BooleanField(
        label="Signed links only",
        required=False,
        initial=True,
        help_text="Prolific signs who comes. Then nobody waits for its answer at the door.",
    )
    description = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="What participants read on Prolific before they begin.",
    )
    workspace = forms.RegexField(
        r"^[A-Za-z0-9]{0,64}\Z",
        required=False,
        help_text="The workspace's id. With it Prolific tells of changes at once, by webhook.",
    )
    fee_percent = forms.DecimalField(initial="33.3", min_value=0, max_value=100, required=False)
    screen_out_reward = forms.DecimalField(
        label="Screen-out reward",
        required=False,
        min_value=0,
        max_value=MAX_REWARD,
        max_digits=10,
        decimal_places=2,
        help_text="Paid to who does not pass the test.",
    )


SAYS_PROLIFIC = (
    "Prolific tells the researchers of every submission: both ids, its state there and the code"
    " that was entered for it are kept."
)
FINGERPRINT = "So is a fingerprint of your link, so that it lets in once."


class Prolific(Platform):
    name = "prolific"
    title = "Prolific"
    paid_per = Participation.PaidPer.STUDY
    settings_form = ProlificSettings
    is_platform = True
    settings_of_account = frozenset({"workspace"})
    has_token = True
    approves_together = True
    entry_parameters = PARAMETERS

    def missing(self, channel: Channel) -> str:
        if channel.external_id:
            return ""
        if not channel.secret:
            return "Enter Prolific's access token below, and save."
        return "The study is not on Prolific. Say how many people are wanted, and make it there."

    def why_nobody_comes(self, channel: Channel) -> str:
        if channel.is_unpublished:
            return UNPUBLISHED
        return NOBODY_SENT.get(channel.external_status, "")

    def study_lacks(self, channel: Channel) -> Mapping[str, str]:
        study = channel.study
        stated = {
            "no_reward": study.reward,
            "no_minutes": study.minutes_per_hit,
            "no_limit": study.hits_per_annotator,
        }
        return {code: NEEDS_OF_STUDY[code] for code, value in stated.items() if value is None}

    def audience(self, channel: Channel) -> str:
        return "whom Prolific sends: it has the link below already, and nobody has to send it"

    def privacy_notice(self, channel: Channel) -> PrivacyNotice:
        ids = f"Your Prolific id and the id of your submission. {KNOWN_AGAIN}"
        address = "" if self.confirms(channel) else f" {ADDRESS}"
        is_secure = channel.settings.get("is_secure")
        once = f" {FINGERPRINT}" if is_secure else ""
        return PrivacyNotice(f"{ids} {COOKIES}{address}", in_any_case=SAYS_PROLIFIC + once)

    def confirms(self, channel: Channel) -> bool:
        """By its signature or by its answer; with neither, anybody could write the ids."""
        return bool(channel.secret or channel.settings.get("is_secure"))

    def read_entry(self, request: HttpRequest, channel: Channel) -> PlatformEntry:
        names = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
        person, study, submission = (_id(request, name) for name in names)
        if channel.external_id and study != channel.external_id:
            raise DomainError("other_study", OTHER_STUDY, status=403)
        is_confirmed = _is_signed(request, channel, person, submission)
        return PlatformEntry(person, submission, is_confirmed=is_confirmed)

    def is_submission_active(self, channel: Channel, participation: Participation) -> bool:
        if channel.settings.get("is_secure"):
            return False  # ids that nobody signed are not even looked up
        with _client(channel) as client:
            found = client.submission(participation.submission_id)
        person = participation.rater.external_id
        is_theirs = (found.participant, found.study) == (person, channel.external_id)
        return is_theirs and STATUSES.get(found.status) in PRESENT

    def return_instructions(
        self, channel: Channel, submission: Submission | None, ending: Ending
    ) -> ReturnInstructions:
        code = _codes(channel).get(ending, "")
        return ReturnInstructions(code=code, url=COMPLETE + code if code else "")

    def submission_reports(self, channel: Channel) -> Iterable[PlatformReport]:
        with suppress(PlatformError):  # the next entry that needs the keys has them fetched again
            self._renew_old_keys(channel)
        with _client(channel) as client:
            return [_report(each) for each in client.submissions(_published(channel))]

    def platform_status(self, channel: Channel) -> str:
        with _client(channel) as client:
            return client.study(_published(channel)).status

    def try_token(self, token: str) -> None:
        base_url = settings.TIEBREAK_PROLIFIC_URL
        with ProlificClient(token, base_url=base_url, attempts=1, timeout_s=3.0) as client:
            client.check_token()

    def report_on(self, channel: Channel, submission_id: str) -> PlatformReport | None:
        with _client(channel) as client:
            found = client.submission(submission_id)
        return _report(found) if found.study == channel.external_id else None

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
        # Known again by what is signed: the id in the header could be anything.
        timestamp = headers["x-prolific-request-timestamp"]
        digest = hashlib.sha256(timestamp.encode() + b":" + body).hexdigest()
        return f"event:{digest}", _submission_in(body)

    def approve(self, channel: Channel, participations: Sequence[Participation]) -> None:
        with _client(channel) as client:
            client.approve([each.submission_id for each in participations])

    def reject(
        self, channel: Channel, participation: Participation, message: str, category: str
    ) -> None:
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
            bulk = _set_up(client, _published(channel), payment)
            # Kept before it is paid: asked a second time, Prolific pays a second time.
            payment.external_id = bulk
            payment.save(update_fields=["external_id"])
            client.pay_bonuses(bulk)
        return bulk

    def publish(self, channel: Channel, places: int, entry_url: str) -> str:
        with _client(channel) as client:
            if channel.external_id:
                return client.increase_places(channel.external_id, places).id
            names = [*(ending.value for ending in CODES), SCREEN_OUT_PAYMENT]
            codes = {name: secrets.token_hex(4).upper() for name in names}
            _keep_settings(channel, codes=channel.settings.get("codes") or codes)
            self._renew_old_keys(channel)
            return client.create_study(_draft(channel, places, entry_url)).id

    def transition_platform_study(self, channel: Channel, verb: str) -> str:
        with _client(channel) as client:
            return client.transition_study(_published(channel), verb.upper()).status

    def subscribe_webhook(self, channel: Channel, events_url: str) -> str:
        workspace = channel.settings.get("workspace", "")
        if not workspace:
            raise DomainError("no_workspace", "Enter the workspace's id first.", status=400)
        with _client(channel) as client:
            secret = client.create_secret(workspace)
            hook = client.subscribe(workspace, "submission.status.change", events_url)
            client.confirm_subscription(hook.id, hook.hook_secret)
        return secret

    def _renew_old_keys(self, channel: Channel) -> None:
        """Keep the keys of signed links at hand: no page waits for them."""
        if channel.settings.get("is_secure") and not _has_keys_since(channel, KEYS_AGE):
            self.renew_keys(channel)

    def renew_keys(self, channel: Channel) -> None:
        keys = [_as_dict(key) for key in fetch_keys(settings.TIEBREAK_PROLIFIC_KEYS_URL).keys]
        _keep_settings(channel, keys=keys, keys_at=timezone.now().isoformat())


def _submission_in(body: bytes) -> str:
    """The submission that an event is of; "" where it is of something else."""
    try:
        event = json.loads(body)
    except (ValueError, RecursionError):
        raise DomainError("odd_event", ODD_EVENT, status=400) from None
    kind = event.get("event_type") if isinstance(event, dict) else None
    if not isinstance(kind, str):
        raise DomainError("odd_event", ODD_EVENT, status=400)
    if kind != "submission.status.change":
        return ""
    submission = event.get("resource_id")
    if not isinstance(submission, str) or not ID.fullmatch(submission):
        raise DomainError("odd_event", ODD_EVENT, status=400)
    return submission


ODD_EVENT = "This event is signed, but it is not one that Prolific documents: nothing was done."
OTHER_STUDY = (
    "This link belongs to another study on Prolific. Please open the study from its own page there."
)
UNSIGNED = (
    "This link lacks Prolific's signature. Please open the study from Prolific itself, not from a"
    " copied address."
)


def _is_signed(request: HttpRequest, channel: Channel, person: str, submission: str) -> bool:
    """Whether the token proves who comes; used up by it, so that a copied link is worth nothing.

    With signed links only, nothing else lets anybody in.
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
    """What Prolific signed. Raises `NotConfirmedYet` where it may have keys that are not here."""
    now = timezone.now()
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
    return bool(at) and datetime.fromisoformat(at) > timezone.now() - age


def _use_up(channel: Channel, token: str) -> None:
    digest = hashlib.sha256(token.encode()).hexdigest()
    try:
        with transaction.atomic():
            PlatformEvent.objects.create(channel=channel, event_id=f"entry:{digest}")
    except IntegrityError as error:
        raise EntryRefused(
            "entry_replayed",
            "This link was used already. Please open the study from Prolific once more.",
            status=403,
        ) from error


def _as_dict(key: jwt.PyJWK) -> dict[str, object]:
    numbers: dict[str, object] = dict(key.Algorithm.to_jwk(key.key, as_dict=True))
    return numbers | {"kid": key.key_id, "alg": "RS256", "use": "sig"}


def _id(request: HttpRequest, name: str) -> str:
    value = request.GET.get(name, "")
    if not ID.fullmatch(value):
        raise DomainError(
            "incomplete_link",
            f"This link lacks your {name}. Please open the study from Prolific itself.",
            status=400,
        )
    return value


def _client(channel: Channel) -> ProlificClient:
    token = decrypted(channel.secret)
    if not token:
        raise DomainError(
            "no_token",
            "Prolific needs its access token first: enter it on the study's recruitment page.",
        )
    return ProlificClient(token, base_url=settings.TIEBREAK_PROLIFIC_URL)


def _published(channel: Channel) -> str:
    if not channel.external_id:
        raise DomainError(
            "not_published", "This study is not on Prolific yet: make it there first."
        )
    return channel.external_id


def _set_up(client: ProlificClient, study: str, payment: Payment) -> str:
    """What fails here has paid nobody: only the next request pays."""
    try:
        return client.create_bonuses(study, {payment.participation.submission_id: payment.amount})
    except PlatformError as error:
        error.may_be_done = False
        raise


def _keep_settings(channel: Channel, **changes: object) -> None:
    """Beside what a researcher may have saved since this one was read."""
    with transaction.atomic():
        now = Channel.objects.select_for_update().get(pk=channel.pk)
        now.settings |= changes
        now.save(update_fields=["settings"])
    channel.settings = now.settings


def _screen_out_code(channel: Channel) -> str:
    code = _codes(channel).get(SCREEN_OUT_PAYMENT, "")
    if not code or not channel.settings.get("screen_out_reward"):
        raise DomainError(
            "no_screen_out_pay",
            "This study was made on Prolific without pay for who is screened out."
            " Pay them a bonus there.",
        )
    return code


def _codes(channel: Channel) -> dict[str, str]:
    codes: dict[str, str] = channel.settings.get("codes", {})
    return codes


def _report(found: ProlificSubmission) -> PlatformReport:
    return PlatformReport(
        submission_id=found.id,
        external_id=found.participant,
        status=found.status,
        submission_status=STATUSES.get(found.status, SubmissionStatus.UNKNOWN),
        entered_code=found.entered_code or "",
        started_at=found.started_at.astimezone(UTC) if found.started_at else None,
        completed_at=found.completed_at,
    )


NEEDS_OF_STUDY = {
    "no_reward": "Say first what annotators are paid: Prolific shows it.",
    "no_minutes": "Say first how many minutes a HIT takes: Prolific shows how long it all takes.",
    "no_limit": (
        "Say first how many HITs one annotator does: Prolific shows one reward and one time for"
        " all of them."
    ),
}


def _draft(channel: Channel, places: int, entry_url: str) -> StudyDraft:
    study = channel.study
    for code, sentence in PLATFORM.study_lacks(channel).items():
        raise DomainError(code, sentence)
    assert study.reward is not None
    assert study.minutes_per_hit is not None
    assert study.hits_per_annotator is not None
    minutes = ceil(study.minutes_per_hit * study.hits_per_annotator)
    _keep_settings(channel, entry_url=entry_url)
    return StudyDraft(
        name=study.title,
        internal_name=f"{study.title} ({study.pk})",
        description=channel.settings["description"],
        external_study_url=entry_url,
        is_external_study_url_secure=bool(channel.settings.get("is_secure")),
        completion_codes=_completion_codes(channel, places),
        estimated_completion_time=minutes,
        maximum_allowed_time=maximum_allowed_minutes(minutes),
        reward=int(study.reward * 100),
        total_available_places=places,
    )


def _completion_codes(channel: Channel, places: int) -> list[CompletionCode]:
    codes = _codes(channel)
    known = [CompletionCode(codes[ending], word) for ending, word in CODES.items()]
    if reward := channel.settings.get("screen_out_reward"):
        options = {"fixed_screen_out_reward": int(Decimal(str(reward)) * 100), "slots": places}
        paying = CompletionCode(
            codes[SCREEN_OUT_PAYMENT],
            "FIXED_SCREENOUT",
            action="FIXED_SCREEN_OUT_PAYMENT",
            actor="researcher",
            options=options,
        )
        known.append(paying)
    return known


PLATFORM = Prolific()
