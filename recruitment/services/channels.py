"""A study's ways in: set up, closed to newcomers, opened again, removed; and which lead in."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.models import Participation
from recruitment.models import Recruitment, encrypted
from recruitment.platforms import Provider, provider_named, providers
from studies.models import Study
from tiebreak.errors import DomainError

# The way in of a study for which nobody set up any.
OPEN_LINK = "open-link"


@dataclass(frozen=True)
class WayIn:
    """One way as it stands, in words for the researcher; no recruitment where none was set up."""

    provider: Provider
    recruitment: Recruitment | None
    state: "State"
    sentence: str
    # Why it can only be closed, and not removed.
    why_kept: DomainError | None = None

    @property
    def is_open(self) -> bool:
        return self.state == State.OPEN


class State(StrEnum):
    """Whether a way lets newcomers in, as the page says it before its sentence."""

    OPEN = "Open"
    CLOSED = "Closed"
    NOBODY_SENT = "Nobody is sent"
    NOT_READY = "Not ready"
    NOT_SET_UP = "Not set up"


def ways_in(study: Study) -> list[WayIn]:
    """Every way there is: those that lead in first, then those that were set up."""
    existing = {way.provider: way for way in study.recruitments.all()}
    found = [_way_in(study, name, existing.get(name)) for name in providers()]
    return sorted(
        found, key=lambda way: (not way.is_open, way.recruitment is None, way.provider.title)
    )


def recruitment_for(study: Study, provider: str) -> Recruitment:
    """A study's way in by this provider; that of the open link may not be stored yet."""
    found = Recruitment.objects.filter(study=study, provider=provider).first()
    if found is not None:
        return found
    if provider == OPEN_LINK and is_open_to_all(study):
        return Recruitment(study=study, provider=provider)
    raise DomainError("no_such_entry", WRONG_LINK, status=404)


def is_open_to_all(study: Study) -> bool:
    """Whether the open link leads in though nobody set it up: until another way can.

    What is still being prepared leaves it open, or nobody could enter. A way that was ready does
    not, also when it was closed: closing a door opens no other.
    """
    return all(_missing(way) for way in study.recruitments.all())


def has_open_link(study: Study) -> bool:
    """Whether whoever has the study's own address may come in."""
    own = study.recruitments.filter(provider=OPEN_LINK)
    return own.filter(closed_at__isnull=True).exists() or is_open_to_all(study)


def check_lets_in(recruitment: Recruitment) -> None:
    """Of newcomers only: who agreed before goes on, whatever became of their way in."""
    if recruitment.closed_at is not None:
        raise DomainError("way_closed", CLOSED, status=409)
    if _missing(recruitment):
        raise DomainError("way_not_ready", NOT_READY, status=409)


WRONG_LINK = (
    "This study is not entered by this link. Please use the link of the page or the message that"
    " invited you."
)
CLOSED = (
    "Nobody new is let into this study by this link any more. If a platform sent you, please"
    " return your submission there: that costs you nothing."
)
NOT_READY = (
    "This study cannot be entered by this link yet. Please come back when you are invited, and"
    " tell who sent you."
)


def save_recruitment(*, recruitment: Recruitment, token: str = "") -> Recruitment:
    """Keep a way in with its settings; an empty token leaves the stored one as it is."""
    if token:
        recruitment.secret = encrypted(token)
    # What a worker writes meanwhile, such as the study's id on the platform, stays.
    recruitment.save(update_fields=["settings", "secret"] if recruitment.pk else None)
    return recruitment


def renew_signing_key(*, recruitment: Recruitment) -> None:
    """Make another key: what was signed with the former is worth nothing from now on."""
    key = provider_named(recruitment.provider).own_secret(recruitment)
    if not key:
        raise DomainError("no_signed_links", NO_SIGNED_LINKS, status=400)
    save_recruitment(recruitment=recruitment, token=key)


NO_SIGNED_LINKS = (
    "This way in has no signed links of its own, so it needs no key: choose signed links first."
)


def close_way_in(*, recruitment: Recruitment, now: datetime | None = None) -> None:
    """Let nobody new in. Who agreed before goes on, is compared with the platform and paid."""
    own: dict[str, Any] = {"study": recruitment.study, "provider": recruitment.provider}
    Recruitment.objects.get_or_create(**own)  # the open link may not be stored yet
    recruitment.closed_at = recruitment.closed_at or now or timezone.now()
    Recruitment.objects.filter(**own, closed_at=None).update(closed_at=recruitment.closed_at)


def reopen_way_in(*, recruitment: Recruitment) -> None:
    recruitment.closed_at = None
    Recruitment.objects.filter(pk=recruitment.pk).update(closed_at=None)


@transaction.atomic
def remove_way_in(*, recruitment: Recruitment, now: datetime | None = None) -> None:
    """Forget a way by which nobody ever came. It opens no other: the open link stays closed.

    Raises `DomainError` where somebody came, or the platform knows of it.
    """
    stored = Recruitment.objects.select_for_update().filter(pk=recruitment.pk).first()
    if stored is None:  # somebody was quicker
        return
    recruitment = stored
    if (why := _why_kept(recruitment)) is not None:
        raise why
    study = recruitment.study
    was_open = is_open_to_all(study)
    recruitment.delete()
    if is_open_to_all(study) and not was_open:
        close_way_in(recruitment=Recruitment(study=study, provider=OPEN_LINK), now=now)


def _way_in(study: Study, name: str, way: Recruitment | None) -> WayIn:
    provider = provider_named(name)
    if way is not None:
        return WayIn(provider, way, *_state(way, provider), _why_kept(way))
    if name != OPEN_LINK:
        return WayIn(provider, None, State.NOT_SET_UP, "Nobody can enter by it.")
    if not is_open_to_all(study):
        return WayIn(provider, None, State.CLOSED, AWAY)
    audience = provider.audience(Recruitment(study=study, provider=name))
    return WayIn(provider, None, State.OPEN, f"To {audience}. {BY_ITSELF}")


BY_ITSELF = (
    "That is because no other way in is ready: as soon as one is, this one closes. Set it up, and"
    " it stays open beside them."
)
AWAY = "Another way was set up. Set this one up too if whoever has the link may come as well."


def _state(way: Recruitment, provider: Provider) -> tuple[State, str]:
    """Whether it lets somebody new in, and whom or why not."""
    if way.closed_at is not None:
        there = STILL_THERE.format(provider.title) if way.external_id else ""
        return State.CLOSED, f"Nobody new enters by it. {GOING_ON}{there}"
    if missing := _missing(way):
        return State.NOT_READY, f"Nobody can enter by it yet. {missing}"
    if why := provider.why_nobody_comes(way):
        return State.NOBODY_SENT, why
    return State.OPEN, f"To {provider.audience(way)}."


GOING_ON = "Who entered before goes on, and is paid as before."
STILL_THERE = (
    " Its study on {} was not stopped by this: press “Stop” below, or people are still sent and"
    " turned away here. Until everybody is paid, “Compare now” and “Pay all complete work” go on"
    " working."
)


def _missing(way: Recruitment) -> str:
    return provider_named(way.provider).missing(way)


def _why_kept(way: Recruitment) -> DomainError | None:
    if way.provider == OPEN_LINK:
        return DomainError("is_open_link", "The open link cannot be removed: close it.")
    if Participation.objects.filter(study=way.study_id, provider=way.provider).exists():
        return DomainError(
            "somebody_came",
            "Somebody came by it, and their work and pay belong to it: close it instead.",
        )
    if way.external_id:
        title = provider_named(way.provider).title
        return DomainError(
            "is_on_platform",
            f"Its study is on {title}: stop it there, and close this way in instead.",
        )
    if way.pending:
        return DomainError(
            "already_asking", "The platform is being asked something: wait until that is answered."
        )
    return None
