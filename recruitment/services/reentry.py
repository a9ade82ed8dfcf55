"""Check that the person who uses an ID is its owner.

If anyone could write an ID into a link, the ID is bound to the browser that agreed with it first.
"""

import hashlib
from dataclasses import dataclass

from django.db.models import Q

from annotation.models import Participation
from recruitment.messages import OTHER_BROWSER, RETURN_TO_PANEL
from recruitment.models import Channel
from recruitment.platforms import PlatformEntry, Reentry, get_platform
from recruitment.services.channels import check_accepts_newcomers
from tiebreak.errors import DomainError


@dataclass(frozen=True)
class Browser:
    """What signed cookies prove about a browser: its own token, and its participation if any."""

    token: str = ""
    participation: str = ""

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.token.encode()).hexdigest()[:32] if self.token else ""


class ReturnToPanel(DomainError):
    """The person must return to the page that invited them; `url` is that page, or empty."""

    def __init__(self, url: str) -> None:
        super().__init__("return_to_panel", RETURN_TO_PANEL, status=403)
        self.url = url


def is_allowed_reentry(*, channel: Channel, entry: PlatformEntry, browser: Browser) -> bool:
    """Whether a known person uses another browser and the channel's rule allows that.

    Raises `DomainError` for new participants if the channel is closed, and for another browser
    if the rule refuses it. At a closed channel a browser without a matching cookie gets the same
    answer whether or not the ID is known.
    """
    platform = get_platform(channel.provider)
    rule = platform.reentry(channel)
    same_person = Participation.objects.filter(
        study=channel.study_id,
        provider=channel.provider,
        consented_at__isnull=False,
        rater__external_id=entry.external_id,
    )
    proof = Q(public_id=browser.participation)
    if browser.digest:
        proof |= Q(submission__browser=browser.digest)
    is_own = rule == Reentry.FREE or same_person.filter(proof).exists()
    if not (is_own and same_person.filter(submission_id=entry.submission_id).exists()):
        check_accepts_newcomers(channel)
    if is_own or not same_person.exists():
        return False
    if rule == Reentry.FLAG:
        return True
    if rule == Reentry.ASK:
        raise ReturnToPanel(platform.panel_page(channel, entry.external_id))
    raise DomainError("other_browser", OTHER_BROWSER, status=403)
