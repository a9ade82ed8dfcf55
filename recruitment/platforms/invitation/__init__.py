"""Personal invitations: one signed link a person, whatever browser they come back with."""

from collections.abc import Iterable

from django import forms
from django.core.signing import BadSignature, Signer
from django.http import HttpRequest

from annotation.models import Participation
from recruitment.models import Channel, Submission
from recruitment.platforms.platform import (
    COOKIES,
    KNOWN_AGAIN,
    Ending,
    Platform,
    PlatformEntry,
    PrivacyNotice,
    ReturnInstructions,
)
from tiebreak.errors import DomainError

SALT = "annotation.invitation"


class InvitationSettings(forms.Form):
    people = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 8}),
        error_messages={
            "required": "Enter one name or id at least: each gets a link of their own. To invite"
            " nobody any more, close this way in."
        },
        help_text="One name or id a line: each gets a link of their own. Exports show pseudonyms.",
    )

    def clean_people(self) -> str:
        people = [line.strip() for line in self.cleaned_data["people"].splitlines()]
        named = [person for person in people if person]
        if len(set(named)) < len(named):
            twice = next(person for person in named if named.count(person) > 1)
            raise forms.ValidationError(f"{twice} is there twice.", code="repeated_name")
        if any(len(person) > 150 for person in named):
            raise forms.ValidationError("A name has 150 characters at most.", code="name_too_long")
        return "\n".join(named)


class Invitation(Platform):
    name = "invitation"
    title = "Personal invitations"
    paid_per = Participation.PaidPer.HIT
    settings_form = InvitationSettings
    settings_of_account = frozenset({"people"})
    has_one_link = False

    def missing(self, channel: Channel) -> str:
        if people(channel):
            return ""
        return "Nobody is invited. Enter the people below, one a line, and save."

    def audience(self, channel: Channel) -> str:
        n = len(people(channel))
        return f"the {n} people named below" if n > 1 else "the one person named below"

    def privacy_notice(self, channel: Channel) -> PrivacyNotice:
        return PrivacyNotice(
            f"The name or id under which you were invited. {KNOWN_AGAIN} {COOKIES}",
            in_any_case="Your name or id stands on the researchers' list of whom they invited.",
        )

    def read_entry(self, request: HttpRequest, channel: Channel) -> PlatformEntry:
        person = invited(channel, request.GET.get("invitation", ""))
        if person not in people(channel):
            raise DomainError("uninvited", WRONG, status=403)
        return PlatformEntry(external_id=person, submission_id=person, is_confirmed=True)

    def return_instructions(
        self, channel: Channel, submission: Submission | None, ending: Ending
    ) -> ReturnInstructions:
        if submission is None or ending != Ending.COMPLETED:
            return ReturnInstructions()
        return ReturnInstructions(code=submission.completion_code)


WRONG = (
    "This link is not an invitation to this study, or it was withdrawn. Please open the link you"
    " were sent once more, whole; if it fails again, ask who sent it."
)


def people(channel: Channel) -> list[str]:
    return str(channel.settings.get("people", "")).splitlines()


def invitations(channel: Channel) -> Iterable[tuple[str, str]]:
    """Each person with their token."""
    return [(person, _signer(channel).sign(person)) for person in people(channel)]


def invited(channel: Channel, token: str) -> str:
    try:
        return _signer(channel).unsign(token)
    except BadSignature as error:
        raise DomainError("uninvited", WRONG, status=403) from error


def _signer(channel: Channel) -> Signer:
    return Signer(salt=f"{SALT}:{channel.study_id}")


PLATFORM = Invitation()
