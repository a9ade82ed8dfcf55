"""How participants get their pay where no platform pays them: with their completion code."""

from enum import StrEnum
from typing import Any

from django import forms

from annotation.models import Participation
from recruitment.models import Channel, Submission
from recruitment.platforms.base import ChannelSettings, Ending, Platform, ReturnInstructions
from recruitment.terms import owed

HELP = (
    "No platform pays people who come through this channel, so you do. Each of them gets a code at the"
    " end. Find the code on the Participants & payments page, pay the person, and mark them as paid."
)


class PayClaim(StrEnum):
    """How a participant claims the pay; the empty choice is stored as an empty text."""

    SEND = "send"
    SHOW = "show"
    UNASKED = "unasked"
    OWN = "own"


CHOICES = {
    PayClaim.SEND: "They send their code to an address that you enter",
    PayClaim.SHOW: "They show their code to the person who invited them",
    PayClaim.UNASKED: "You pay all invited people; nobody has to ask",
    PayClaim.OWN: "In another way, which you describe",
}
AT_THE_END = {
    PayClaim.SEND: "To be paid {amount}, send this code to {contact}.",
    PayClaim.SHOW: "To be paid {amount}, show this code to the person who invited you.",
    PayClaim.UNASKED: "The person who invited you pays you {amount}. You do not have to ask.",
    PayClaim.OWN: "You are paid {amount}. {instruction}",
}
AT_THE_START = {
    PayClaim.SEND: "At the end you get a code. You send it to {contact} to be paid.",
    PayClaim.SHOW: "At the end you get a code. You show it to the person who invited you to be paid.",
    PayClaim.UNASKED: "The person who invited you pays you. You do not have to ask.",
    PayClaim.OWN: "At the end you get a code. {instruction}",
}
# What the researcher does, on the page that has the codes.
BY_HAND = {
    PayClaim.SEND: "People send their code to {contact}. Find it below, pay the person, then mark them as paid.",
    PayClaim.SHOW: "People show their code to whoever invited them. Find it below, pay the person, then mark them"
    " as paid.",
    PayClaim.UNASKED: "Nobody has to ask: pay the people whom you invited, then mark them as paid.",
    PayClaim.OWN: "People were told: “{instruction}” Find their code below, pay the person, then mark them as paid.",
}
UNDECIDED = (
    "Nothing says how people get their pay: choose it on Recruit. Until you do, they are asked to show"
    " their code to whoever invited them."
)
MAX_INSTRUCTION = 600


# The field that a choice needs, and what to say if it is empty.
NEEDS = {
    PayClaim.SEND: ("pay_contact", "Enter the address to which participants send their code."),
    PayClaim.OWN: ("pay_instruction", "Write what participants do to be paid, and by when."),
}


class PayClaimSettings(ChannelSettings):
    """The choice for channels whose participants have no name; see `knows` for the others."""

    knows = False

    pay_claim = forms.ChoiceField(
        label="How participants get their pay", required=False, help_text=HELP
    )
    pay_contact = forms.CharField(
        label="Address for codes",
        required=False,
        max_length=200,
        help_text="An email address, or another address at which you read messages. The first and the"
        " last page show it.",
    )
    pay_instruction = forms.CharField(
        label="What participants do to be paid",
        required=False,
        max_length=MAX_INSTRUCTION,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="For payment in another way, such as a bank transfer or vouchers: what they do with"
        " their code, and by when. They read it before they begin and next to their code at the end.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offered = [claim for claim in PayClaim if self.knows or claim != PayClaim.UNASKED]
        undecided = ("", "Nothing is said about it")
        field = self.fields["pay_claim"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [undecided, *((claim.value, CHOICES[claim]) for claim in offered)]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        name, sentence = NEEDS.get(cleaned.get("pay_claim", ""), ("", ""))
        if name in cleaned and not cleaned[name]:
            self.add_error(name, forms.ValidationError(sentence, code="required"))
        return cleaned


def pay_claim(channel: Channel) -> PayClaim | None:
    """Return how participants of this channel claim their pay; None if that is not decided."""
    stored = channel.settings.get("pay_claim")
    return PayClaim(stored) if stored else None


def is_paid_by_code(channel: Channel | None) -> bool:
    """Whether somebody gets what the study pays only by the completion code."""
    return channel is not None and pay_claim(channel) not in {None, PayClaim.UNASKED}


def contact_of(channel: Channel) -> str:
    """Return the address to which people of a channel can write; "" if they have none."""
    return _stated(channel)["contact"] if pay_claim(channel) == PayClaim.SEND else ""


def pay_by_hand(channel: Channel) -> str:
    """Return what the researcher does to pay the people of a channel that no platform pays."""
    claim = pay_claim(channel)
    return BY_HAND[claim].format(**_stated(channel)) if claim else UNDECIDED


class SelfPaying(Platform):
    """A source of annotators whom the researchers themselves pay."""

    paid_per = Participation.PaidPer.HIT
    pays_participants = False
    settings_form = PayClaimSettings

    def claim_at_the_start(self, channel: Channel) -> str:
        claim = pay_claim(channel)
        if claim is None or not channel.study.reward:
            return ""
        return AT_THE_START[claim].format(**_stated(channel))

    def return_instructions(
        self, channel: Channel, submission: Submission | None, ending: Ending
    ) -> ReturnInstructions:
        """Return, after a completed study, the code with what to do with it if the study pays."""
        if submission is None or ending != Ending.COMPLETED:
            return ReturnInstructions()
        return ReturnInstructions(
            code=submission.completion_code, advice=_at_the_end(channel, submission)
        )


def _at_the_end(channel: Channel, submission: Submission) -> str:
    study, amount = channel.study, owed(submission.participation)
    if not amount:
        return ""
    # Someone who does not know better asks the person who sent the link.
    claim = pay_claim(channel) or PayClaim.SHOW
    return AT_THE_END[claim].format(amount=f"{amount} {study.currency}", **_stated(channel))


def _stated(channel: Channel) -> dict[str, str]:
    return {
        "contact": channel.settings.get("pay_contact", ""),
        "instruction": channel.settings.get("pay_instruction", ""),
    }
