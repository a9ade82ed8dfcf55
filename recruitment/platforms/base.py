"""The interface of a platform, used by pages, tasks and the ledger."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from django import forms
from django.http import HttpRequest

from annotation.models import Participation
from recruitment.messages import MESSAGE_LENGTH, PLATFORM_CANNOT, UNKNOWN_CATEGORY
from recruitment.models import Channel, Payment, Submission
from studies.design.opened_forms import OpenedForm
from studies.models.bounds import MAX_COUNT
from tiebreak.errors import DomainError

# The most characters of a message to a participant.
MAX_MESSAGE = 1000


class Ending(StrEnum):
    """How a participation ends, as far as it matters to a platform."""

    COMPLETED = "completed"
    SCREENED_OUT = "screened_out"
    FAILED_CHECK = "failed_check"
    NO_CONSENT = "no_consent"
    NO_WORK = "no_work"


class SubmissionStatus(StrEnum):
    """A submission's status, translated from the platform's term; UNKNOWN changes nothing."""

    EXPECTED = "expected"
    WORKING = "working"
    SUBMITTED = "submitted"
    APPROVED = "approved"
    REJECTED = "rejected"
    RETURNED = "returned"
    TIMED_OUT = "timed_out"
    SCREENED_OUT = "screened_out"
    UNKNOWN = "unknown"


class Reentry(StrEnum):
    """What happens when an ID is used in a different browser from the one that agreed."""

    # The platform's IDs cannot be guessed, or are signed for one person.
    FREE = "free"
    REFUSE = "refuse"
    ASK = "ask"
    FLAG = "flag"


@dataclass(frozen=True)
class PlatformEntry:
    """A person who enters, by the platform's IDs; confirmed if a signature proves the IDs."""

    external_id: str
    submission_id: str
    is_confirmed: bool = False
    # Parameters of the entry link that are needed again on leaving; stored in a signed token.
    extra: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ReturnInstructions:
    """How to return to the platform: a code to copy, a link, or a form that the browser posts."""

    code: str = ""
    # What to do with the code, if it is known.
    advice: str = ""
    url: str = ""
    link_text: str = "Return to the page that invited you"
    post_to: str = ""
    fields: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PlatformReport:
    """What a platform reports about one submission; `status` is the platform's own term."""

    submission_id: str
    external_id: str
    status: str
    submission_status: SubmissionStatus
    entered_code: str = ""
    started_at: datetime | None = None
    completed_at: datetime | None = None


@dataclass(frozen=True)
class OfferedFilter:
    """A filter that the platform offers: choices by key, or a range from `low` to `high`.

    The bounds are text, as they are typed: numbers, or ISO dates if `is_date`.
    """

    id: str
    title: str
    question: str = ""
    choices: dict[str, str] = field(default_factory=dict)
    low: str = ""
    high: str = ""
    is_date: bool = False
    is_whole: bool = False

    @property
    def is_range(self) -> bool:
        return not self.choices


@dataclass(frozen=True)
class Rehearsal:
    """A run of the platform's draft by a test participant, who is not paid."""

    participant: str = ""
    study: str = ""
    url: str = ""


@dataclass(frozen=True)
class PrivacyNotice:
    """What is stored about participants of a channel, shown to them before they agree.

    `identity` says what identifies them; the page itself lists what is stored about everyone.
    `in_any_case` says what is stored even without consent; it is empty if nothing is.
    """

    identity: str
    in_any_case: str = ""


# Sentences that several platforms share.
COOKIE = (
    "A cookie in this browser recognises you for 90 days so that you can continue where you left"
    " off."
)
COOKIES = f"{COOKIE} Another cookie stores the IDs from your link for one day."
KNOWN_AGAIN = (
    "If you use the same ID in another study on this server, we can tell that you are the same"
    " person."
)
ADDRESS = (
    "To limit how many people take part from one internet connection, we store a scrambled form of"
    " your internet address, from which the address cannot be read."
)


class ChannelSettings(OpenedForm, forms.Form):
    """What every channel lets a researcher set."""

    most_people = forms.IntegerField(
        label="Maximum number of people",
        required=False,
        min_value=1,
        max_value=MAX_COUNT,
        help_text="Nobody else can enter after this many people. Anyone who leaves without a completed task gives"
        " the place back. If you leave it empty, a study that pays admits as many as its design needs and a tenth more.",
    )


class Platform:
    """One source of annotators. Actions that a platform does not support raise `DomainError`."""

    name: ClassVar[str]
    title: ClassVar[str]
    # The settings that a researcher has to enter.
    settings_form: type[forms.Form] = ChannelSettings
    # Whether participants come from another site, so they must be able to reach this server.
    is_platform: ClassVar[bool] = False
    # Settings that identify an account or people, which a clone of the study does not inherit.
    settings_of_account: ClassVar[frozenset[str]] = frozenset()
    # Whether there is an access token, which is stored encrypted and never shown again.
    has_token: ClassVar[bool] = False
    credential: ClassVar[str] = "Access token"
    # Whether one request approves all submissions or none; otherwise each is approved separately.
    approves_together: ClassVar[bool] = False
    # What one payment covers.
    paid_per: ClassVar[Participation.PaidPer] = Participation.PaidPer.STUDY
    # Whether the platform or panel pays its participants; otherwise the researchers do.
    pays_participants: ClassVar[bool] = True
    # Whether annotators see the study inside the platform's own page.
    is_framed: ClassVar[bool] = False
    # Parameters of the entry link that the platform fills in.
    entry_parameters: ClassVar[str] = ""
    # Whether there is one link for everyone; otherwise each participant has their own.
    has_one_link: ClassVar[bool] = True
    # The categories of rejections with their names; empty if a message is all that is needed.
    rejection_categories: ClassVar[Mapping[str, str]] = {}
    # The fewest characters of the message that a rejected participant reads.
    rejection_length: ClassVar[int] = 1
    # The least number of eligible people that the platform tells; fewer are told as 0.
    fewest_told: ClassVar[int] = 1
    # Filters that most studies use, by ID, which the page offers first.
    usual_filters: ClassVar[tuple[str, ...]] = ()
    # Whether participants read what a bonus is for; otherwise only the researchers do.
    tells_bonus_reason: ClassVar[bool] = False

    @classmethod
    def supports(cls, action: str) -> bool:
        """Whether the platform carries out an action, such as `reject`, instead of refusing it."""
        return getattr(cls, action) is not getattr(Platform, action)

    def missing(self, channel: Channel) -> str:
        """Return what a researcher still has to do before anyone can enter; "" if nothing."""
        return ""

    def lacks(self, channel: Channel) -> Mapping[str, str]:
        """Return everything a researcher still has to do before anyone can enter, by code."""
        missing = self.missing(channel)
        return {"not_ready": missing} if missing else {}

    def why_not_sending(self, channel: Channel) -> str:
        """Return why the platform sends nobody although the channel is ready; "" if it does."""
        return ""

    def study_lacks(self, channel: Channel) -> Mapping[str, str]:
        """Return sentences, by code, about settings that the platform needs and the study lacks."""
        return {}

    def audience(self, channel: Channel) -> str:
        """Return a sentence that says who can enter once the channel is ready."""
        raise NotImplementedError

    def claim_at_the_start(self, channel: Channel) -> str:
        """Return what people read before they begin about claiming their pay; "" if nothing."""
        return ""

    def privacy_notice(self, channel: Channel) -> PrivacyNotice:
        """Return what is stored about participants. It must be true for each platform."""
        raise NotImplementedError

    def confirms(self, channel: Channel) -> bool:
        """Whether the platform confirms submissions. If so, nobody gets a place before that."""
        return False

    def read_entry(self, request: HttpRequest, channel: Channel) -> PlatformEntry | None:
        """Return who follows the entry link; None for a preview, which stores nothing."""
        raise NotImplementedError

    def reentry(self, channel: Channel) -> Reentry:
        """Return the rule for an ID that is used in a second browser."""
        return Reentry.FREE

    def forget(self, channel: Channel, external_id: str) -> None:
        """Take an erased person out of the channel's settings, if they name people."""
        return

    def panel_page(self, channel: Channel, external_id: str) -> str:
        """Return the page to which `Reentry.ASK` sends participants back; "" if there is none."""
        return ""

    def own_secret(self, channel: Channel) -> str:
        """Generate the secret that this channel needs; return "" if it needs none."""
        return ""

    def shown_secret(self, channel: Channel) -> str:
        """Return the secret to be shared with the panel; "" if it must not be shown."""
        return ""

    def frame_ancestors(self, channel: Channel) -> Sequence[str]:
        """Return the origins that may embed the annotators' pages in a frame."""
        return ()

    def is_submission_active(self, channel: Channel, participation: Participation) -> bool:
        """Ask the platform whether this submission is active. Slow, so only in tasks."""
        return True

    def renew_keys(self, channel: Channel) -> None:
        """Fetch the keys that verify signed links. Slow, so only in tasks."""
        return

    def return_instructions(
        self, channel: Channel, submission: Submission | None, ending: Ending
    ) -> ReturnInstructions:
        return ReturnInstructions()

    def submission_reports(self, channel: Channel) -> Iterable[PlatformReport]:
        """Return the platform's report on every submission. Slow, so only in tasks."""
        return ()

    def platform_status(self, channel: Channel) -> str:
        """Return the platform's status of the study; "" if it has none. Slow, so only in tasks."""
        return ""

    def try_token(self, token: str) -> None:
        """Raise `DomainError` unless the platform accepts this token. Makes one short request."""
        return

    def report_on(self, channel: Channel, submission_id: str) -> PlatformReport | None:
        """Return the report on a submission; None if there is none. Slow, so only in tasks."""
        reports = self.submission_reports(channel)
        return next((report for report in reports if report.submission_id == submission_id), None)

    def submission_in_event(
        self, channel: Channel, headers: dict[str, str], body: bytes, now: datetime
    ) -> tuple[str, str]:
        """Return a verified webhook's event ID and its submission ID, "" if it names none."""
        raise DomainError("no_webhooks", f"{self.title} does not send webhooks.", status=404)

    def approve(self, channel: Channel, participations: Sequence[Participation]) -> None:
        raise self._cannot()

    def reject(
        self, channel: Channel, participation: Participation, message: str, category: str
    ) -> None:
        raise self._cannot()

    def check_rejection(self, message: str, category: str) -> None:
        """Raise `DomainError` unless the platform accepts such a rejection."""
        if self.rejection_categories and category not in self.rejection_categories:
            known = ", ".join(self.rejection_categories)
            sentence = UNKNOWN_CATEGORY.format(category, self.title, known)
            raise DomainError("unknown_category", sentence, status=400)
        if not self.rejection_length <= len(message.strip()) <= MAX_MESSAGE:
            sentence = MESSAGE_LENGTH.format(self.rejection_length, MAX_MESSAGE)
            raise DomainError("message_length", sentence, status=400)

    def pay(self, channel: Channel, payment: Payment) -> str:
        """Pay a bonus or a screen-out reward, and return the platform's ID of the payment."""
        raise self._cannot()

    def publish(self, channel: Channel, participants: int, entry_url: str) -> str:
        """Create the study on the platform or increase its participants, and return its ID."""
        raise self._cannot()

    def transition_platform_study(self, channel: Channel, action: str) -> str:
        """Publish, start, pause or stop the study on the platform, and return its new status."""
        raise self._cannot()

    def ask_to_return(self, channel: Channel, participation: Participation, reason: str) -> None:
        raise self._cannot()

    def offered_filters(self, channel: Channel) -> list[OfferedFilter]:
        """Return the filters by which participants can be chosen. Slow, so only in tasks."""
        raise self._cannot()

    def count_eligible(self, channel: Channel) -> int:
        """Return how many people pass the channel's filters. Slow, so only in tasks."""
        raise self._cannot()

    def rehearse(self, channel: Channel, email: str) -> Rehearsal:
        """Run the draft for a test participant; ``email`` creates one if there is none yet."""
        raise self._cannot()

    def rehearsal(self, channel: Channel) -> Rehearsal:
        """Return the last rehearsal, without asking the platform."""
        return Rehearsal()

    def update_draft(self, channel: Channel) -> None:
        """Send the current settings to the platform's unpublished study."""
        raise self._cannot()

    def subscribe_webhook(self, channel: Channel, events_url: str) -> str:
        """Subscribe this address to events, and return the secret that signs them."""
        raise self._cannot()

    def _cannot(self) -> DomainError:
        return DomainError("platform_cannot", PLATFORM_CANNOT.format(self.title))
