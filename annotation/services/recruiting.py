"""What passes between a study and the platforms its annotators come from."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone
from kombu.exceptions import OperationalError

from annotation.crowd import Departure, Ending, PlatformReport, Standing, provider_named
from annotation.models import Participation, Payment, PlatformEvent, Recruitment
from annotation.models.crowd import decrypted, encrypted
from annotation.services.screening import clear_participation
from annotation.services.withdrawing import reinstate_work, withdraw_work
from studies.errors import DomainError
from studies.models import Study

# How often a platform is asked about one person who waits at the door.
ASK_AGAIN = timedelta(seconds=5)

# What a platform's word does to the work behind it.
OUT_BY = {
    Standing.RETURNED: Participation.Status.RETURNED,
    Standing.REJECTED: Participation.Status.REJECTED,
    Standing.TIMED_OUT: Participation.Status.TIMED_OUT,
}
BACK_BY = {Standing.WORKING, Standing.SUBMITTED, Standing.APPROVED}
BY_PLATFORM = set(OUT_BY.values())


def save_recruitment(
    *, recruitment: Recruitment, token: str = "", webhook_secret: str = ""
) -> Recruitment:
    """Keep a way in with its settings; an empty token leaves the stored one as it is."""
    if token:
        recruitment.secret = encrypted(token)
    if webhook_secret:
        recruitment.webhook_secret = encrypted(webhook_secret)
    recruitment.save()
    return recruitment


def token_of(recruitment: Recruitment) -> str:
    token = decrypted(recruitment.secret)
    if not token:
        raise DomainError(
            "no_token",
            f"{provider_named(recruitment.provider).title} needs its access token first: enter it"
            " on the study's recruitment page.",
        )
    return token


def recruitment_for(study: Study, provider: str) -> Recruitment:
    """A study's way in by this provider. Where none was set up, the open link is one."""
    found = Recruitment.objects.filter(study=study, provider=provider).first()
    if found is not None:
        return found
    if provider == "open-link" and not study.recruitments.exists():
        return Recruitment(study=study, provider=provider)
    raise DomainError("no_such_entry", WRONG_LINK, status=404)


WRONG_LINK = (
    "This study is not entered by this link. Please use the link of the page or the message that"
    " invited you."
)


def ask_platform(*, participation: Participation, now: datetime | None = None) -> None:
    """Have a worker ask whether somebody who waits is there; once in a while for each."""
    from annotation.tasks import confirm_participation_task  # noqa: PLC0415  tasks call this

    now = now or timezone.now()
    due = Q(asked_platform_at__isnull=True) | Q(asked_platform_at__lte=now - ASK_AGAIN)
    waiting = Participation.objects.filter(due, pk=participation.pk, confirmed_at__isnull=True)
    if waiting.update(asked_platform_at=now):
        try:
            confirm_participation_task.delay(participation.pk)
        except OperationalError:
            # They go on waiting, and the page asks again.
            Participation.objects.filter(pk=participation.pk).update(asked_platform_at=None)


def confirm_participation(*, participation: Participation, now: datetime | None = None) -> bool:
    """Ask the platform whether a submission is active, and let it on if so. Slow: for tasks."""
    now = now or timezone.now()
    recruitment = participation.recruitment
    if participation.confirmed_at is not None or recruitment is None:
        return True
    if not provider_named(recruitment.provider).is_there(recruitment, participation):
        return False
    mark_confirmed(participation=participation, now=now)
    return True


def mark_confirmed(*, participation: Participation, now: datetime) -> None:
    unconfirmed = Participation.objects.filter(pk=participation.pk, confirmed_at__isnull=True)
    unconfirmed.update(confirmed_at=now)
    participation.refresh_from_db()
    clear_participation(participation=participation, now=now)


def departure(participation: Participation, ending: Ending) -> Departure:
    """The way out of somebody who was in."""
    recruitment = participation.recruitment or Recruitment(
        study_id=participation.study_id, provider=participation.provider
    )
    try:
        provider = provider_named(recruitment.provider)
    except DomainError:  # an imported or a test's participation has no platform behind it
        return Departure(code=participation.completion_code if ending == "completed" else "")
    return provider.depart(recruitment, participation, ending)


def sync_recruitment(*, recruitment: Recruitment, now: datetime | None = None) -> int:
    """Bring every submission in line with the platform's word. Returns how many changed.

    What a platform can't tell now stays as it was, and the recruitment says why.
    """
    now = now or timezone.now()
    try:
        reports = list(provider_named(recruitment.provider).reports(recruitment))
    except DomainError as error:
        recruitment.problem = error.message
        recruitment.save(update_fields=["problem"])
        raise
    changed = apply_reports(recruitment=recruitment, reports=reports, now=now)
    recruitment.problem, recruitment.synced_at = "", now
    recruitment.save(update_fields=["problem", "synced_at"])
    return changed


def apply_reports(
    *, recruitment: Recruitment, reports: Iterable[PlatformReport], now: datetime
) -> int:
    return sum(_apply(recruitment, report, now) for report in reports)


def _apply(recruitment: Recruitment, report: PlatformReport, now: datetime) -> bool:
    """One submission. Who is unknown here came, or was paid, without ever entering the study.

    Such a one gets a participation without consent, so that the ledger shows it.
    """
    participation = _reported(recruitment, report, now)
    before = (participation.platform_status, participation.entered_code, participation.status)
    participation.platform_status = report.status
    participation.entered_code = report.entered_code
    participation.platform_seen_at = now
    participation.save(update_fields=["platform_status", "entered_code", "platform_seen_at"])
    if report.standing in OUT_BY and participation.status not in BY_PLATFORM:
        withdraw_work(participation=participation, status=OUT_BY[report.standing], now=now)
    elif report.standing in BACK_BY and participation.status in BY_PLATFORM:
        reinstate_work(participation=participation, now=now)
    if report.standing == Standing.APPROVED:
        _note_reward(participation, Payment.Kind.REWARD, now)
    elif report.standing == Standing.SCREENED_OUT:
        _note_reward(participation, Payment.Kind.SCREEN_OUT, now)
    participation.refresh_from_db()
    after = (participation.platform_status, participation.entered_code, participation.status)
    return before != after


def _reported(recruitment: Recruitment, report: PlatformReport, now: datetime) -> Participation:
    from annotation.services.participations import meet  # noqa: PLC0415

    return meet(
        study=recruitment.study,
        recruitment=recruitment,
        external_id=report.external_id,
        submission_id=report.submission_id,
        now=report.started_at or now,
    )


def note_payment(
    *, participation: Participation, amount: Decimal, now: datetime | None = None
) -> Payment:
    """Write down a reward that was paid outside of any platform known here, once."""
    try:
        with transaction.atomic():
            return Payment.objects.create(
                participation=participation,
                kind=Payment.Kind.REWARD,
                amount=amount,
                currency=participation.study.currency,
                status=Payment.Status.PAID,
                created_at=now or timezone.now(),
            )
    except IntegrityError as error:
        raise DomainError("paid_already", "This was paid already.") from error


def _note_reward(participation: Participation, kind: Payment.Kind, now: datetime) -> None:
    study = participation.study
    amount = study.reward if kind == Payment.Kind.REWARD else _screen_out_reward(participation)
    if amount is None:
        return
    noted = Payment.objects.filter(participation=participation, kind=kind)
    if noted.exclude(status=Payment.Status.REFUSED).exists():
        noted.filter(status=Payment.Status.ASKED).update(status=Payment.Status.PAID)
        return
    Payment.objects.create(
        participation=participation,
        kind=kind,
        amount=amount,
        currency=study.currency,
        status=Payment.Status.PAID,
        created_at=now,
    )


def _screen_out_reward(participation: Participation) -> Decimal | None:
    settings = participation.recruitment.settings if participation.recruitment else {}
    stated = settings.get("screen_out_reward")
    return Decimal(str(stated)) if stated else None


def receive_event(
    *, recruitment: Recruitment, headers: dict[str, str], body: bytes, now: datetime | None = None
) -> bool:
    """Let a genuine webhook in, once. It only says where to look: the platform is asked anew.

    So neither the order of events nor their age matters. Returns whether it was new. Raises
    `DomainError` for one that the platform did not sign, or signed too long ago.
    """
    from annotation.tasks import sync_submission_task  # noqa: PLC0415  tasks call this

    now = now or timezone.now()
    provider = provider_named(recruitment.provider)
    event, submission = provider.submission_in_event(recruitment, headers, body, now)
    try:
        with transaction.atomic():
            PlatformEvent.objects.create(recruitment=recruitment, event_id=event)
    except IntegrityError:
        return False
    if submission:
        transaction.on_commit(lambda: sync_submission_task.delay(recruitment.pk, submission))
    return True


def sync_submission(
    *, recruitment: Recruitment, submission_id: str, now: datetime | None = None
) -> bool:
    """The same as `sync_recruitment` for one submission."""
    now = now or timezone.now()
    report = provider_named(recruitment.provider).report_on(recruitment, submission_id)
    return report is not None and _apply(recruitment, report, now)


def approve(*, participations: Sequence[Participation], now: datetime | None = None) -> int:
    """Have the platform pay for these, and take its word that it did. Returns how many."""
    now = now or timezone.now()
    done = 0
    for recruitment, own in _by_recruitment(participations):
        provider_named(recruitment.provider).approve(recruitment, own)
        for participation in own:
            _note_reward(participation, Payment.Kind.REWARD, now)
        done += len(own)
    return done


def reject(
    *, participation: Participation, message: str, category: str, now: datetime | None = None
) -> None:
    """Have the platform refuse pay, and take the work out of the count.

    The platform is asked first: where it refuses, nothing changes here.
    """
    now = now or timezone.now()
    recruitment = _recruitment(participation)
    provider_named(recruitment.provider).reject(recruitment, participation, message, category)
    withdraw_work(participation=participation, status=Participation.Status.REJECTED, now=now)


def pay(
    *,
    participation: Participation,
    kind: Payment.Kind,
    amount: Decimal,
    reason: str = "",
    now: datetime | None = None,
) -> Payment:
    """Pay a bonus or for having been screened out, once: the row stands before the platform acts.

    Where the platform refuses, the row says so and another may be made. Where nobody knows
    whether it was paid, the row stays asked and must be looked up on the platform.
    """
    now = now or timezone.now()
    if amount <= 0:
        raise DomainError("no_amount", "Give an amount greater than zero.", status=400)
    recruitment = _recruitment(participation)
    try:
        with transaction.atomic():
            payment = Payment.objects.create(
                participation=participation,
                kind=kind,
                amount=amount,
                currency=participation.study.currency,
                reason=reason,
                created_at=now,
            )
    except IntegrityError as error:
        raise DomainError("paid_already", "This was paid already, or is being paid.") from error
    return _paid(payment, lambda: provider_named(recruitment.provider).pay(recruitment, payment))


def _paid(payment: Payment, ask: Callable[[], str]) -> Payment:
    try:
        payment.external_id = ask()
    except DomainError as error:
        if not getattr(error, "is_retryable", False):
            payment.status = Payment.Status.REFUSED
            payment.save(update_fields=["status"])
        raise
    payment.status = Payment.Status.PAID
    payment.save(update_fields=["status", "external_id"])
    return payment


def publish(*, recruitment: Recruitment, places: int, entry_url: str) -> str:
    """Make the study on the platform with so many places, or give it more."""
    provider = provider_named(recruitment.provider)
    recruitment.external_id = provider.publish(recruitment, places, entry_url)
    recruitment.save(update_fields=["external_id"])
    return recruitment.external_id


def listen(*, recruitment: Recruitment, events_url: str) -> None:
    """Have the platform tell of changes; what it signs with is kept encrypted."""
    secret = provider_named(recruitment.provider).listen(recruitment, events_url)
    recruitment.webhook_secret = encrypted(secret)
    recruitment.save(update_fields=["webhook_secret"])


def ask_to_return(*, participation: Participation, reason: str) -> None:
    """Ask somebody who submitted nothing to return the submission, which costs them nothing."""
    recruitment = _recruitment(participation)
    provider_named(recruitment.provider).ask_to_return(recruitment, participation, reason)


def steer(*, recruitment: Recruitment, verb: str) -> str:
    recruitment.external_status = provider_named(recruitment.provider).steer(recruitment, verb)
    recruitment.save(update_fields=["external_status"])
    return recruitment.external_status


def _recruitment(participation: Participation) -> Recruitment:
    if participation.recruitment is None:
        raise DomainError(
            "no_platform", "This annotator came by the open link: there is nobody to ask."
        )
    return participation.recruitment


def _by_recruitment(
    participations: Sequence[Participation],
) -> Iterable[tuple[Recruitment, list[Participation]]]:
    groups: dict[int, tuple[Recruitment, list[Participation]]] = {}
    for participation in participations:
        recruitment = _recruitment(participation)
        groups.setdefault(recruitment.pk, (recruitment, []))[1].append(participation)
    return groups.values()


def ask_for(*, recruitment: Recruitment, verb: str, **arguments: str) -> None:
    """Hand something that needs the platform to a worker; the recruitment says what it waits for.

    One thing at a time for each way in: a second press of the button is refused.
    """
    from annotation.tasks import platform_verb_task  # noqa: PLC0415  tasks call this

    if verb not in VERBS:
        raise DomainError("no_such_verb", f"A platform is never asked to {verb!r}.", status=404)
    free = Recruitment.objects.filter(pk=recruitment.pk, pending="")
    if not free.update(pending=verb, problem=""):
        raise DomainError(
            "platform_busy",
            "The platform is being asked something already: wait until that is answered.",
        )
    try:
        platform_verb_task.delay(recruitment.pk, verb, arguments)
    except OperationalError as error:
        Recruitment.objects.filter(pk=recruitment.pk).update(pending="")
        raise DomainError(
            "no_broker", "No job queue answers: start the worker and its broker.", status=503
        ) from error


def carry_out(*, recruitment: Recruitment, verb: str, arguments: dict[str, str]) -> None:
    """Do what `ask_for` was asked, and say on the recruitment how it went."""
    problem = ""
    try:
        VERBS[verb](recruitment, arguments)
    except DomainError as error:
        problem = error.message
    finally:
        Recruitment.objects.filter(pk=recruitment.pk).update(pending="", problem=problem)


def settle(*, participation: Participation, now: datetime | None = None) -> None:
    """Note that a researcher looked at what does not add up, and let it be."""
    participation.settled_at = now or timezone.now()
    participation.save(update_fields=["settled_at"])


def _own(recruitment: Recruitment, arguments: dict[str, str]) -> Participation:
    found = Participation.objects.filter(
        recruitment=recruitment, public_id=arguments.get("participation", "")
    ).select_related("study", "recruitment__study", "rater")
    participation = found.first()
    if participation is None:
        raise DomainError("no_such_participation", "Nobody of that id came this way.", status=404)
    return participation


def _approve_one(recruitment: Recruitment, arguments: dict[str, str]) -> None:
    approve(participations=[_own(recruitment, arguments)])


def _approve_all(recruitment: Recruitment, _arguments: dict[str, str]) -> None:
    """Everybody with complete work that counts, who is not paid yet."""
    from annotation.ledger import ledger  # noqa: PLC0415  the ledger reads what this writes

    waiting = [
        entry.participation
        for entry in ledger(recruitment.study).data_without_payment
        if entry.participation.recruitment_id == recruitment.pk and entry.counted
    ]
    approve(participations=waiting)


def _pay_one(recruitment: Recruitment, arguments: dict[str, str]) -> None:
    pay(
        participation=_own(recruitment, arguments),
        kind=Payment.Kind(arguments["kind"]),
        amount=Decimal(arguments["amount"]),
        reason=arguments.get("reason", ""),
    )


VERBS: dict[str, Callable[[Recruitment, dict[str, str]], object]] = {
    "publish": lambda r, a: publish(
        recruitment=r, places=int(a["places"]), entry_url=a["entry_url"]
    ),
    "start": lambda r, _: steer(
        recruitment=r, verb="publish" if not r.external_status else "start"
    ),
    "pause": lambda r, _: steer(recruitment=r, verb="pause"),
    "stop": lambda r, _: steer(recruitment=r, verb="stop"),
    "sync": lambda r, _: sync_recruitment(recruitment=r),
    "listen": lambda r, a: listen(recruitment=r, events_url=a["events_url"]),
    "approve": _approve_one,
    "approve-all": _approve_all,
    "reject": lambda r, a: reject(
        participation=_own(r, a), message=a["message"], category=a["category"]
    ),
    "ask-to-return": lambda r, a: ask_to_return(
        participation=_own(r, a), reason=a.get("reason") or NOTHING_CAME
    ),
    "pay": _pay_one,
}
NOTHING_CAME = "No completed work of yours arrived in the study."
