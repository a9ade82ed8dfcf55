"""Whether an id at the door is its owner's: bound to the browser that agreed, where anybody can
write the id into a link."""

import hashlib
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from annotation.models import Participation
from recruitment.models import Channel
from recruitment.platforms import Reentry, get_platform
from recruitment.services.channels import check_accepts_newcomers
from tiebreak.errors import DomainError


@dataclass(frozen=True)
class Browser:
    """What a browser proves by its signed cookies: a word of its own, and a part it has already."""

    word: str = ""
    participation: str = ""

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.word.encode()).hexdigest()[:32] if self.word else ""


class AskPanel(DomainError):
    """Somebody has to go back to where they came from; `url` is the page, where there is one."""

    def __init__(self, url: str) -> None:
        super().__init__("ask_panel", ASK_PANEL, status=403)
        self.url = url


def check_reentry(
    *, channel: Channel, external_id: str, submission_id: str, browser: Browser
) -> bool:
    """Whether this is another browser of somebody known, which the researcher allows.

    Raises `DomainError` for newcomers where the way takes nobody in, and as the researcher's rule
    has it for another browser. Whom no cookie proves gets the same answer at a closed way whether
    anybody of this id exists or not.
    """
    provider = get_platform(channel.provider)
    rule = provider.reentry(channel)
    theirs = _agreed(channel).filter(rater__external_id=external_id)
    is_own = rule == Reentry.FREE or _is_among(theirs, browser)
    if not (is_own and _agreed(channel).filter(submission_id=submission_id).exists()):
        check_accepts_newcomers(channel)
    if is_own or not theirs.exists():
        return False
    if rule == Reentry.FLAG:
        return True
    if rule == Reentry.ASK:
        raise AskPanel(provider.panel_page(channel, external_id))
    raise DomainError("other_browser", OTHER_BROWSER, status=403)


OTHER_BROWSER = (
    "Somebody began this study with your id in another browser. If that was you, please go on"
    " there: everything you answered is saved. If not, please tell whoever invited you."
)
ASK_PANEL = (
    "Somebody began this study with your id in another browser. If that was you, please go on"
    " there: everything you answered is saved. If you cannot, please go back to the page that"
    " invited you and ask there."
)


def _agreed(channel: Channel) -> QuerySet[Participation]:
    return Participation.objects.filter(
        study=channel.study_id, provider=channel.provider, consented_at__isnull=False
    )


def _is_among(theirs: QuerySet[Participation], browser: Browser) -> bool:
    own = Q(public_id=browser.participation)
    if browser.digest:
        own |= Q(submission__browser=browser.digest)
    return theirs.filter(own).exists()
