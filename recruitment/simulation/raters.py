"""Programs that take a study through the annotators' own pages over HTTP, and say what they are."""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

import httpx
from django.conf import settings
from django.core.signals import request_finished, request_started
from django.core.signing import BadSignature, Signer
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.http import HttpRequest
from django.urls import reverse

from annotation.models import Rating
from annotation.selectors import as_shown
from recruitment.simulation.bots import Bot, Known, Walk, known_by
from studies.models import Criterion, Study, Unit
from tiebreak.errors import DomainError

__all__ = ["HEADER", "Bot", "is_simulated", "one_connection", "simulate_raters", "walk_study"]

HEADER = "X-Tiebreak-Simulated"


def simulate_raters(
    *,
    study: Study,
    bots: Sequence[Bot],
    seed: int = 0,
    url: str | None = None,
    in_real_time: bool = False,
) -> int:
    """Let each bot work until there is nothing left for it. Returns how many answers were given.

    Without ``url``, the origin of a running server, the pages are served by this process itself.
    The study must be open. Every rating is marked simulated: the bots say so under a signature
    that only who has this server's secret key can write.
    """
    if study.status != Study.Status.OPEN:
        raise DomainError("study_not_open", "Open the study first: bots come in by its link.")
    _check_has_no_people(study)
    known = known_labels(study)
    with nullcontext() if url else one_connection():
        return sum(
            _answers(
                walk_study(
                    study=study,
                    bot=bot,
                    rng=random.Random(f"{seed}:{bot.name}"),
                    url=url,
                    in_real_time=in_real_time,
                    known=known,
                )
            )
            for bot in bots
        )


def _check_has_no_people(study: Study) -> None:
    """Simulated ratings never stand beside those of people, nor where people are on their way."""
    people = study.participations.filter(simulated=False)
    if people.exists() or Rating.objects.filter(unit__study=study, simulated=False).exists():
        raise DomainError(
            "has_people",
            "People took part in this study, so no bot enters it. Start a dry run instead: bots"
            " then rate a copy of the study.",
        )
    if study.channels.exclude(external_id="").exists():
        raise DomainError(
            "has_platform",
            "This study is connected with a crowd platform, so no bot enters it. Start a dry run"
            " instead: bots then rate a copy of the study.",
        )


def known_labels(study: Study) -> dict[tuple[str, ...], str]:
    """What is held right of the study's reference units, as a bot looks it up: either way round.

    Without it the closeness to the source decides, which a text with its words out of order keeps.
    """
    criteria = {criterion.name: criterion for criterion in study.criteria.all()}
    units = study.units.exclude(role=Unit.Role.MAIN).select_related("generation_a", "generation_b")
    known: dict[tuple[str, ...], str] = {}
    for unit in units:
        for name, label in unit.known_labels.items():
            if name in criteria:
                known |= _either_way(unit, criteria[name], str(label))
    return known


def _either_way(unit: Unit, criterion: Criterion, label: str) -> dict[tuple[str, ...], str]:
    texts = [each.text for each in (unit.generation_a, unit.generation_b) if each is not None]
    channels = {True: texts, False: texts[::-1]}
    return {
        known_by(criterion.question, shown): as_shown(label, criterion=criterion, a_first=a_first)
        for a_first, shown in channels.items()
    }


def known_choices(study: Study) -> dict[tuple[str, ...], str]:
    """The right choice of each question about the guidelines, as a bot looks it up."""
    return {
        known_by(each.text): each.options[each.answer - 1] for each in study.comprehension.all()
    }


def _answers(walk: Walk) -> int:
    """How many answers a whole visit gave. Raises where a page refused it or led nowhere."""
    visit = walk.finish()
    if visit.problem:
        raise DomainError("bot_stuck", visit.problem)
    return visit.answers


def walk_study(
    *,
    study: Study,
    bot: Bot,
    rng: random.Random,
    url: str | None = None,
    in_real_time: bool = False,
    known: Known | None = None,
    address: str = "127.0.0.1",
) -> Walk:
    """A bot before the study's entry link, which is all that it is told of the study's pages.

    Its pages are to be asked for within `one_connection` where this process serves them.
    """
    return Walk(
        bot=bot,
        entry=reverse("recruitment:welcome", args=[study.pk]),
        browser=_client(study, url, address),
        rng=rng,
        in_real_time=in_real_time,
        known=known,
    )


@contextmanager
def one_connection() -> Iterator[None]:
    """Pages that this process serves to itself stay on its connection and in its transaction."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    try:
        yield
    finally:
        for signal in (request_started, request_finished):
            signal.connect(close_old_connections)


def is_simulated(request: HttpRequest, study_id: str) -> bool:
    """Whether who asks says that it is a program, and proves that it comes from here."""
    word = request.headers.get(HEADER, "")
    try:
        return bool(word) and _signer().unsign(word) == study_id
    except BadSignature:
        return False


def _signer() -> Signer:
    return Signer(salt="annotation.simulated")


def _client(study: Study, url: str | None, address: str) -> httpx.Client:
    headers = {HEADER: _signer().sign(study.pk)}
    if url is None:
        host = next((name for name in settings.ALLOWED_HOSTS if name[0] not in ".*"), "localhost")
        scheme = "https" if settings.SESSION_COOKIE_SECURE else "http"
        transport = httpx.WSGITransport(app=get_wsgi_application(), remote_addr=address)
        url = f"{scheme}://{host}"
        return httpx.Client(transport=transport, base_url=url, headers={**headers, "Referer": url})
    return httpx.Client(base_url=url, headers={**headers, "Referer": url}, timeout=30)
