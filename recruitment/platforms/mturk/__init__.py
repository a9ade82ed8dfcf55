"""Amazon Mechanical Turk's protocol, for private installations that speak it; see its guide.

The public service ended on 2026-09-30. A HIT on the platform is one visit to the study; the page
lives in the platform's frame, and the browser itself posts the end of the work.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from django import forms
from django.conf import settings
from django.http import HttpRequest

from annotation.models import Participation
from recruitment.models import Channel, Payment, Submission, decrypted
from recruitment.platforms.mturk.client import MTurkAssignment, MTurkClient
from recruitment.platforms.mturk.protocol import read_entry
from recruitment.platforms.platform import (
    ADDRESS,
    KNOWN_AGAIN,
    Ending,
    Platform,
    PlatformEntry,
    PlatformReport,
    PrivacyNotice,
    ReturnInstructions,
    SubmissionStatus,
)
from tiebreak.errors import DomainError

STATUSES = {
    "Submitted": SubmissionStatus.SUBMITTED,
    "Approved": SubmissionStatus.APPROVED,
    "Rejected": SubmissionStatus.REJECTED,
}


class MTurkSettings(forms.Form):
    access_key = forms.CharField(required=False, help_text="The id of the access key.")
    description = forms.CharField(widget=forms.Textarea(attrs={"rows": 3}))
    keywords = forms.CharField(required=False)
    hours_open = forms.IntegerField(initial=72, min_value=1, max_value=8760)
    fee_percent = forms.DecimalField(initial="20", min_value=0, max_value=100, required=False)


SAYS_PLATFORM = (
    "The platform tells the researchers of every assignment that is submitted: both ids and its"
    " state there are kept."
)


class MTurk(Platform):
    name = "mturk"
    title = "Mechanical Turk"
    paid_per = Participation.PaidPer.VISIT
    settings_form = MTurkSettings
    is_platform = True
    settings_of_account = frozenset({"access_key"})
    has_token = True
    is_framed = True

    def study_lacks(self, channel: Channel) -> Mapping[str, str]:
        """Only of a HIT that is made from here: who makes it on the platform says it there."""
        if channel.study.reward is None and channel.secret:
            return {"no_reward": NO_REWARD}
        return {}

    def audience(self, channel: Channel) -> str:
        if channel.external_id:
            return "whom the platform sends: it has the link below already, nobody has to send it"
        return (
            "whom a HIT of yours sends: make it below, which takes the platform's access key and"
            " token, or make it yourself with the link below as its ExternalQuestion"
        )

    def privacy_notice(self, channel: Channel) -> PrivacyNotice:
        ids = (
            "Your worker id, the id of the assignment, and where the platform takes it back."
            f" {KNOWN_AGAIN} The address of these pages holds the ids, encrypted."
        )
        # Without the key nothing is asked there.
        return PrivacyNotice(
            f"{ids} {ADDRESS}", in_any_case=SAYS_PLATFORM if channel.secret else ""
        )

    def frame_ancestors(self, channel: Channel) -> Sequence[str]:
        return list(settings.TIEBREAK_MTURK_ORIGINS)

    def read_entry(self, request: HttpRequest, channel: Channel) -> PlatformEntry | None:
        origins = settings.TIEBREAK_MTURK_ORIGINS
        entry = read_entry(request.GET.dict(), allowed_origins=origins)
        if entry.is_preview:
            return None
        extra = {"target": entry.submit_target, "assignment": entry.assignment_id}
        return PlatformEntry(entry.worker_id, entry.assignment_id, extra=extra)

    def return_instructions(
        self, channel: Channel, submission: Submission | None, ending: Ending
    ) -> ReturnInstructions:
        """Whatever the end was, the browser says so: the platform pays by what we answer then."""
        if submission is None or not submission.return_params.get("target"):
            return ReturnInstructions()
        submission_id = submission.participation.submission_id
        fields = {"assignmentId": submission_id, "ending": ending.value}
        if ending == Ending.COMPLETED:
            fields["code"] = submission.completion_code
        return ReturnInstructions(post_to=submission.return_params["target"], fields=fields)

    def submission_reports(self, channel: Channel) -> Iterable[PlatformReport]:
        client = _client(channel)
        return [_report(each) for each in client.assignments(_published(channel))]

    def approve(self, channel: Channel, participations: Sequence[Participation]) -> None:
        client = _client(channel)
        for participation in participations:
            client.approve(participation.submission_id)

    def reject(
        self, channel: Channel, participation: Participation, message: str, category: str
    ) -> None:
        _client(channel).reject(participation.submission_id, message)

    def pay(self, channel: Channel, payment: Payment) -> str:
        participation = payment.participation
        token = f"tiebreak-{payment.pk}"
        _client(channel).bonus(
            participation.rater.external_id,
            participation.submission_id,
            payment.amount,
            payment.reason or "Thank you.",
            token,
        )
        return token

    def publish(self, channel: Channel, places: int, entry_url: str) -> str:
        if channel.external_id:
            raise DomainError("published", "This study is on the platform already.")
        return _make_hit(channel, places, entry_url)

    def transition_platform_study(self, channel: Channel, verb: str) -> str:
        if verb != "stop":
            self._cannot(verb)
        _client(channel).expire(_published(channel))
        return "Expired"


NO_REWARD = "Say first what annotators are paid: the HIT shows it."


def _make_hit(channel: Channel, places: int, entry_url: str) -> str:
    study, stated = channel.study, channel.settings
    if study.reward is None:
        raise DomainError("no_reward", NO_REWARD)
    minutes = (study.minutes_per_hit or 30) * (study.hits_per_annotator or 1)
    return _client(channel).create_hit(
        title=study.title,
        description=stated["description"],
        keywords=stated.get("keywords", ""),
        reward=study.reward,
        max_assignments=places,
        lifetime=timedelta(hours=int(stated.get("hours_open", 72))),
        duration=timedelta(minutes=max(30, 3 * minutes)),
        auto_approval=timedelta(days=7),
        entry_url=entry_url,
        token=f"tiebreak-{channel.pk}",
    )


def _client(channel: Channel) -> MTurkClient:
    secret = decrypted(channel.secret)
    if not secret or not settings.TIEBREAK_MTURK_ENDPOINT:
        raise DomainError(
            "no_token",
            "The platform needs its access key, here, and its endpoint, in the server's settings"
            " (TIEBREAK_MTURK_ENDPOINT).",
        )
    return MTurkClient(
        endpoint_url=settings.TIEBREAK_MTURK_ENDPOINT,
        access_key=str(channel.settings.get("access_key", "")),
        secret_key=secret,
    )


def _published(channel: Channel) -> str:
    if not channel.external_id:
        raise DomainError("not_published", "This study is not on the platform yet.")
    return channel.external_id


def _report(found: MTurkAssignment) -> PlatformReport:
    return PlatformReport(
        submission_id=found.id,
        external_id=found.worker,
        status=found.status,
        submission_status=STATUSES.get(found.status, SubmissionStatus.UNKNOWN),
        completed_at=found.submitted_at,
    )


PLATFORM = MTurk()
