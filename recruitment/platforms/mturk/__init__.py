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
from recruitment.models import Payment, Recruitment, Submission, decrypted
from recruitment.platforms.mturk.client import MTurkAssignment, MTurkClient
from recruitment.platforms.mturk.protocol import read_entry
from recruitment.platforms.provider import (
    ADDRESS,
    KNOWN_AGAIN,
    Arrival,
    Departure,
    Ending,
    Kept,
    PlatformReport,
    Provider,
    Standing,
)
from tiebreak.errors import DomainError

STANDINGS = {
    "Submitted": Standing.SUBMITTED,
    "Approved": Standing.APPROVED,
    "Rejected": Standing.REJECTED,
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


class MTurk(Provider):
    name = "mturk"
    title = "Mechanical Turk"
    paid_per = Participation.PaidPer.VISIT
    settings_form = MTurkSettings
    is_platform = True
    settings_of_account = frozenset({"access_key"})
    has_token = True
    is_framed = True

    def study_lacks(self, recruitment: Recruitment) -> Mapping[str, str]:
        """Only of a HIT that is made from here: who makes it on the platform says it there."""
        if recruitment.study.reward is None and recruitment.secret:
            return {"no_reward": NO_REWARD}
        return {}

    def audience(self, recruitment: Recruitment) -> str:
        if recruitment.external_id:
            return "whom the platform sends: it has the link below already, nobody has to send it"
        return (
            "whom a HIT of yours sends: make it below, which takes the platform's access key and"
            " token, or make it yourself with the link below as its ExternalQuestion"
        )

    def keeps(self, recruitment: Recruitment) -> Kept:
        ids = (
            "Your worker id, the id of the assignment, and where the platform takes it back."
            f" {KNOWN_AGAIN} The address of these pages holds the ids, encrypted."
        )
        # Without the key nothing is asked there.
        return Kept(f"{ids} {ADDRESS}", in_any_case=SAYS_PLATFORM if recruitment.secret else "")

    def frame_ancestors(self, recruitment: Recruitment) -> Sequence[str]:
        return list(settings.TIEBREAK_MTURK_ORIGINS)

    def arrive(self, request: HttpRequest, recruitment: Recruitment) -> Arrival | None:
        origins = settings.TIEBREAK_MTURK_ORIGINS
        entry = read_entry(request.GET.dict(), allowed_origins=origins)
        if entry.is_preview:
            return None
        extra = {"target": entry.submit_target, "assignment": entry.assignment_id}
        return Arrival(entry.worker_id, entry.assignment_id, extra=extra)

    def depart(
        self, recruitment: Recruitment, submission: Submission | None, ending: Ending
    ) -> Departure:
        """Whatever the end was, the browser says so: the platform pays by what we answer then."""
        if submission is None or not submission.return_params.get("target"):
            return Departure()
        submission_id = submission.participation.submission_id
        fields = {"assignmentId": submission_id, "ending": ending.value}
        if ending == Ending.COMPLETED:
            fields["code"] = submission.completion_code
        return Departure(post_to=submission.return_params["target"], fields=fields)

    def reports(self, recruitment: Recruitment) -> Iterable[PlatformReport]:
        client = _client(recruitment)
        return [_report(each) for each in client.assignments(_published(recruitment))]

    def approve(self, recruitment: Recruitment, participations: Sequence[Participation]) -> None:
        client = _client(recruitment)
        for participation in participations:
            client.approve(participation.submission_id)

    def reject(
        self, recruitment: Recruitment, participation: Participation, message: str, category: str
    ) -> None:
        _client(recruitment).reject(participation.submission_id, message)

    def pay(self, recruitment: Recruitment, payment: Payment) -> str:
        participation = payment.participation
        token = f"tiebreak-{payment.pk}"
        _client(recruitment).bonus(
            participation.rater.external_id,
            participation.submission_id,
            payment.amount,
            payment.reason or "Thank you.",
            token,
        )
        return token

    def publish(self, recruitment: Recruitment, places: int, entry_url: str) -> str:
        if recruitment.external_id:
            raise DomainError("published", "This study is on the platform already.")
        return _make_hit(recruitment, places, entry_url)

    def steer(self, recruitment: Recruitment, verb: str) -> str:
        if verb != "stop":
            self._cannot(verb)
        _client(recruitment).expire(_published(recruitment))
        return "Expired"


NO_REWARD = "Say first what annotators are paid: the HIT shows it."


def _make_hit(recruitment: Recruitment, places: int, entry_url: str) -> str:
    study, stated = recruitment.study, recruitment.settings
    if study.reward is None:
        raise DomainError("no_reward", NO_REWARD)
    minutes = (study.minutes_per_hit or 30) * (study.hits_per_annotator or 1)
    return _client(recruitment).create_hit(
        title=study.title,
        description=stated["description"],
        keywords=stated.get("keywords", ""),
        reward=study.reward,
        max_assignments=places,
        lifetime=timedelta(hours=int(stated.get("hours_open", 72))),
        duration=timedelta(minutes=max(30, 3 * minutes)),
        auto_approval=timedelta(days=7),
        entry_url=entry_url,
        token=f"tiebreak-{recruitment.pk}",
    )


def _client(recruitment: Recruitment) -> MTurkClient:
    secret = decrypted(recruitment.secret)
    if not secret or not settings.TIEBREAK_MTURK_ENDPOINT:
        raise DomainError(
            "no_token",
            "The platform needs its access key, here, and its endpoint, in the server's settings"
            " (TIEBREAK_MTURK_ENDPOINT).",
        )
    return MTurkClient(
        endpoint_url=settings.TIEBREAK_MTURK_ENDPOINT,
        access_key=str(recruitment.settings.get("access_key", "")),
        secret_key=secret,
    )


def _published(recruitment: Recruitment) -> str:
    if not recruitment.external_id:
        raise DomainError("not_published", "This study is not on the platform yet.")
    return recruitment.external_id


def _report(found: MTurkAssignment) -> PlatformReport:
    return PlatformReport(
        submission_id=found.id,
        external_id=found.worker,
        status=found.status,
        standing=STANDINGS.get(found.status, Standing.UNKNOWN),
        completed_at=found.submitted_at,
    )


PROVIDER = MTurk()
