"""Personal invitations: one signed link per person, valid in any browser."""

from collections.abc import Iterable

from django import forms
from django.core.signing import BadSignature, Signer
from django.http import HttpRequest

from recruitment.identities import MAX_NAME, name_of
from recruitment.models import Channel
from recruitment.platforms.base import COOKIES, KNOWN_AGAIN, PlatformEntry, PrivacyNotice
from recruitment.platforms.pay_claims import PayClaimSettings, SelfPaying
from studies.models.lasting_key import lasting_signer
from tiebreak.errors import DomainError

SALT = "annotation.invitation"


class InvitationSettings(PayClaimSettings):
    knows = True
    field_order = ("people",)

    people = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 8}),
        error_messages={
            "required": "Enter at least one name or ID. To stop inviting people, stop new entries"
            " instead."
        },
        help_text="One name or ID per line; each person gets a personal link. Exports contain"
        " pseudonyms only.",
    )

    def clean_people(self) -> str:
        typed = [line for line in self.cleaned_data["people"].splitlines() if line.strip()]
        names = [name_of(line) for line in typed]
        if not all(names):
            raise forms.ValidationError(
                f"Line {names.index('') + 1} is not a name or ID: it has more than {MAX_NAME} characters,"
                " or characters that cannot be seen. Type it again.",
                code="unusable_name",
            )
        if len(set(names)) < len(names):
            duplicate = next(person for person in names if names.count(person) > 1)
            raise forms.ValidationError(
                f"{duplicate} is listed twice. Remove one of the two lines.", code="repeated_name"
            )
        return "\n".join(names)


class Invitation(SelfPaying):
    name = "invitation"
    title = "Personal invitations"
    settings_form = InvitationSettings
    settings_of_account = frozenset({"people"})
    has_one_link = False

    def missing(self, channel: Channel) -> str:
        if people(channel):
            return ""
        return "Nobody is invited yet. Enter the people below, one per line, and save."

    def audience(self, channel: Channel) -> str:
        n = len(people(channel))
        return (
            f"Open to the {n} people listed below."
            if n > 1
            else "Open to the one person listed below."
        )

    def privacy_notice(self, channel: Channel) -> PrivacyNotice:
        return PrivacyNotice(
            f"We store the name or ID with which you were invited. {KNOWN_AGAIN} {COOKIES}",
            in_any_case="Your name or ID is on the researchers' list of invited people.",
        )

    def forget(self, channel: Channel, external_id: str) -> None:
        others = [one for one in people(channel) if one != external_id]
        channel.settings["people"] = "\n".join(others)
        channel.save(update_fields=["settings"])

    def read_entry(self, request: HttpRequest, channel: Channel) -> PlatformEntry:
        person = invited(channel, request.GET.get("invitation", ""))
        if not {person, name_of(person)}.intersection(people(channel)):
            raise DomainError("uninvited", NOT_INVITED, status=403)
        return PlatformEntry(external_id=person, submission_id=person, is_confirmed=True)


NOT_INVITED = (
    "This link is not a valid invitation to this study, or the invitation was withdrawn. Please"
    " open the complete link that you were sent. If this does not help, ask the person who sent"
    " it."
)


def people(channel: Channel) -> list[str]:
    return str(channel.settings.get("people", "")).splitlines()


def invitations(channel: Channel) -> Iterable[tuple[str, str]]:
    """Return the invited people with their tokens."""
    signer = _signer(channel)
    return [(person, signer.sign(person)) for person in people(channel)]


def invited(channel: Channel, token: str) -> str:
    try:
        return _signer(channel).unsign(token)
    except BadSignature as error:
        raise DomainError("uninvited", NOT_INVITED, status=403) from error


def _signer(channel: Channel) -> Signer:
    return lasting_signer(f"{SALT}:{channel.study_id}")


PLATFORM = Invitation()
