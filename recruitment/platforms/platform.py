"""What a provider is: the one interface that pages, tasks and the ledger speak to."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from django import forms
from django.http import HttpRequest

from annotation.models import Participation
from recruitment.models import Channel, Payment, Submission
from tiebreak.errors import DomainError


class Ending(StrEnum):
    """How a participation ends, as far as a platform has to know."""

    COMPLETED = "completed"
    SCREENED_OUT = "screened_out"
    FAILED_CHECK = "failed_check"
    NO_CONSENT = "no_consent"
    NO_WORK = "no_work"


class SubmissionStatus(StrEnum):
    """A platform's word on a submission, in ours. What is not known changes nothing."""

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
    """What becomes of an id that comes again in another browser than the one that agreed."""

    # Nobody can guess the platform's ids, or they are signed for one person.
    FREE = "free"
    REFUSE = "refuse"
    ASK = "ask"
    FLAG = "flag"


@dataclass(frozen=True)
class PlatformEntry:
    """Who is at the door, by the platform's ids; confirmed where a signature proves it."""

    external_id: str
    submission_id: str
    is_confirmed: bool = False
    # What leaving needs and only arriving knows; it travels with the annotator, signed.
    extra: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ReturnInstructions:
    """The way back: a code to copy, a link, or a form that the browser posts."""

    code: str = ""
    url: str = ""
    post_to: str = ""
    fields: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PlatformReport:
    """What a platform says of one submission; `status` in its own words."""

    submission_id: str
    external_id: str
    status: str
    submission_status: SubmissionStatus
    entered_code: str = ""
    started_at: datetime | None = None
    completed_at: datetime | None = None


@dataclass(frozen=True)
class PrivacyNotice:
    """What is stored of somebody who came this way, said to them before they agree.

    `identity`: what tells them from others, beside what is kept of everybody. `in_any_case`: what
    is stored even of who does not agree, "" where that is nothing.
    """

    identity: str
    in_any_case: str = ""


# What several ways in keep, in the same words.
COOKIE = (
    "A cookie names your part in the study by a random number, for 90 days, so that you can go on"
    " where you left off in this browser."
)
COOKIES = f"{COOKIE} Another keeps the ids of your link for a day."
KNOWN_AGAIN = "The same id in another study on this server is known to be the same person."
ADDRESS = (
    "So that not too many take part from one place, a keyed fingerprint of your internet"
    " address is kept, and the address itself is not."
)


class Platform:
    """One source of annotators. What a provider can't do, it refuses with a sentence."""

    name: ClassVar[str]
    title: ClassVar[str]
    # What a researcher has to say; stored as the recruitment's settings.
    settings_form: type[forms.Form] = forms.Form
    # People are sent by another company's site, which has to reach this server's address.
    is_platform: ClassVar[bool] = False
    # Those of them that name an account or people: a clone of the study has to be given its own.
    settings_of_account: ClassVar[frozenset[str]] = frozenset()
    # Settings that are secret: stored encrypted, never shown again.
    has_token: ClassVar[bool] = False
    # One request approves many, all or none; else a refusal is of one submission.
    approves_together: ClassVar[bool] = False
    # What one payment covers: a code for one sum pays all of it.
    paid_per: ClassVar[Participation.PaidPer] = Participation.PaidPer.STUDY
    # Whether annotators see the study inside the platform's own page.
    is_framed: ClassVar[bool] = False
    # What the platform fills in to its entry link.
    entry_parameters: ClassVar[str] = ""
    # One link for everybody; else each has their own, and the bare one leads nobody in.
    has_one_link: ClassVar[bool] = True

    def missing(self, channel: Channel) -> str:
        """What a researcher still has to do before anybody can come this way; "" if nothing."""
        return ""

    def why_nobody_comes(self, channel: Channel) -> str:
        """Why the platform sends nobody though the way is ready, by its status there; else ""."""
        return ""

    def study_lacks(self, channel: Channel) -> Mapping[str, str]:
        """What the study has to say before this way can send people: sentences by code."""
        return {}

    def audience(self, channel: Channel) -> str:
        """Whom this way is open to once it is ready: the end of a sentence."""
        raise NotImplementedError

    def privacy_notice(self, channel: Channel) -> PrivacyNotice:
        """What is stored of who comes this way. It has to be true: say it for each provider."""
        raise NotImplementedError

    def confirms(self, channel: Channel) -> bool:
        """Whether the platform says who is there. Then nobody gets a place before it did."""
        return False

    def read_entry(self, request: HttpRequest, channel: Channel) -> PlatformEntry | None:
        """Who follows the entry link; None for a look before deciding, which writes nothing."""
        raise NotImplementedError

    def reentry(self, channel: Channel) -> Reentry:
        """What an id is worth in a second browser."""
        return Reentry.FREE

    def panel_page(self, channel: Channel, external_id: str) -> str:
        """Where `Reentry.ASK` sends somebody to ask; "" where no page was named."""
        return ""

    def own_secret(self, channel: Channel) -> str:
        """A new secret of our making that this way needs; "" where it needs none."""
        return ""

    def shown_secret(self, channel: Channel) -> str:
        """The secret that the researcher hands on; "" where it is only ever written."""
        return ""

    def frame_ancestors(self, channel: Channel) -> Sequence[str]:
        """Origins that may show the annotators' pages in a frame."""
        return ()

    def is_submission_active(self, channel: Channel, participation: Participation) -> bool:
        """Ask the platform whether this submission is active. Slow: never in a web request."""
        return True

    def renew_keys(self, channel: Channel) -> None:
        """Fetch what signed links are checked with. Slow: never in a web request."""
        return

    def return_instructions(
        self, channel: Channel, submission: Submission | None, ending: Ending
    ) -> ReturnInstructions:
        return ReturnInstructions()

    def submission_reports(self, channel: Channel) -> Iterable[PlatformReport]:
        """The platform's word on every submission. Slow."""
        return ()

    def platform_status(self, channel: Channel) -> str:
        """The platform's word on the study itself; "" where it has none. Slow."""
        return ""

    def try_token(self, token: str) -> None:
        """Raise `DomainError` unless the platform takes this token. One short request at most."""
        return

    def report_on(self, channel: Channel, submission_id: str) -> PlatformReport | None:
        return next(
            (
                each
                for each in self.submission_reports(channel)
                if each.submission_id == submission_id
            ),
            None,
        )

    def submission_in_event(
        self, channel: Channel, headers: dict[str, str], body: bytes, now: datetime
    ) -> tuple[str, str]:
        """(event id, submission id) of a genuine webhook; "" where it names no submission."""
        raise DomainError("no_webhooks", f"{self.title} sends no events.", status=404)

    def approve(self, channel: Channel, participations: Sequence[Participation]) -> None:
        self._cannot("approve")

    def reject(
        self, channel: Channel, participation: Participation, message: str, category: str
    ) -> None:
        self._cannot("reject")

    def pay(self, channel: Channel, payment: Payment) -> str:
        """Pay a bonus or a screen-out; returns the platform's id of it."""
        self._cannot("pay")
        return ""

    def publish(self, channel: Channel, places: int, entry_url: str) -> str:
        """Make the study on the platform, or more places in it; returns the platform's id."""
        self._cannot("publish")
        return ""

    def transition_platform_study(self, channel: Channel, verb: str) -> str:
        """Pause, start or stop the study there; returns its state."""
        self._cannot(verb)
        return ""

    def ask_to_return(self, channel: Channel, participation: Participation, reason: str) -> None:
        self._cannot("ask for a return")

    def subscribe_webhook(self, channel: Channel, events_url: str) -> str:
        """Have the platform tell of changes at this address; returns the secret it signs with."""
        self._cannot("listen")
        return ""

    def _cannot(self, verb: str) -> None:
        raise DomainError(
            "provider_cannot",
            f"{self.title} has no way to {verb} from here: do it where your annotators come from,"
            " and note it there.",
        )
