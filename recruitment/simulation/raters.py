"""Run bots through the annotators' pages over HTTP, with a header that says they are bots."""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

import httpx
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.core.signing import BadSignature, Signer
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
    """Let each bot work until no work is left for it, and return the number of answers.

    ``url`` is the origin of a running server; without it, this process serves the pages itself.
    The study must be open. Every rating is marked simulated: the bots say so in a header signed
    with this server's secret key.
    """
    if study.status != Study.Status.OPEN:
        raise DomainError("study_not_open", "Open the study first: bots enter through its link.")
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
    """Refuse bots in a study that people have rated, or that a platform may send people to."""
    people = study.participations.filter(simulated=False)
    if people.exists() or Rating.objects.filter(unit__study=study, simulated=False).exists():
        raise DomainError(
            "has_people",
            "People have already taken part in this study, so bots may not. Start a dry run instead:"
            " bots then rate a copy of the study.",
        )
    if study.channels.exclude(external_id="").exists():
        raise DomainError(
            "has_platform",
            "This study is connected to a crowd platform, so bots may not enter it. Start a dry"
            " run instead: bots then rate a copy of the study.",
        )


def known_labels(study: Study) -> dict[tuple[str, ...], str]:
    """Return the expected labels of the study's reference units, in both orders of presentation.

    Bots need them because closeness to the source does not notice words out of order.
    """
    criteria = {criterion.name: criterion for criterion in study.criteria.all()}
    units = study.units.exclude(role=Unit.Role.MAIN).with_texts()
    known: dict[tuple[str, ...], str] = {}
    for unit in units:
        for name, label in unit.known_labels.items():
            if name in criteria:
                known |= _in_both_orders(unit, criteria[name], str(label))
    return known


def _in_both_orders(unit: Unit, criterion: Criterion, label: str) -> dict[tuple[str, ...], str]:
    texts = [generation.text for generation in unit.generations]
    orders = {True: texts, False: texts[::-1]}
    return {
        known_by(criterion.question, shown): as_shown(label, criterion=criterion, a_first=a_first)
        for a_first, shown in orders.items()
    }


def known_choices(study: Study) -> dict[tuple[str, ...], str]:
    """Return the right choice of each question about the guidelines."""
    questions = study.comprehension.all()
    return {
        known_by(question.text): question.options[question.answer - 1] for question in questions
    }


def _answers(walk: Walk) -> int:
    """Finish the walk and return its number of answers; raise `DomainError` if the bot is stuck."""
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
    """Return a bot's walk that starts at the study's entry link.

    If this process serves the pages, walk within `one_connection`.
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
    """Keep pages that this process serves to itself on its connection and in its transaction."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    try:
        yield
    finally:
        for signal in (request_started, request_finished):
            signal.connect(close_old_connections)


def is_simulated(request: HttpRequest, study_id: str) -> bool:
    """Whether the request comes from a bot of this server, proved by its signed header."""
    value = request.headers.get(HEADER, "")
    try:
        return bool(value) and _signer().unsign(value) == study_id
    except BadSignature:
        return False


def _signer() -> Signer:
    return Signer(salt="recruitment.simulated")


def _client(study: Study, url: str | None, address: str) -> httpx.Client:
    headers = {HEADER: _signer().sign(study.pk)}
    if url is None:
        host = next((name for name in settings.ALLOWED_HOSTS if name[0] not in ".*"), "localhost")
        scheme = "https" if settings.SESSION_COOKIE_SECURE else "http"
        # get_wsgi_application() would configure logging again, which closes other handlers' streams.
        transport = httpx.WSGITransport(app=WSGIHandler(), remote_addr=address)
        url = f"{scheme}://{host}"
        return httpx.Client(transport=transport, base_url=url, headers={**headers, "Referer": url})
    return httpx.Client(base_url=url, headers={**headers, "Referer": url}, timeout=30)
