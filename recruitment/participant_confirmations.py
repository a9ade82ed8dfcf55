"""Confirmations before a researcher pays, excludes, rejects or releases participants."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from annotation.models import HIT, Participation, Rating
from annotation.participant_evidence import Evidence, evidence_of
from recruitment.admission import PAID
from recruitment.confirmations import compared, payees
from recruitment.ledger import fee_share, pays_by_platform, platform_title
from recruitment.messages import NO_REWARD
from recruitment.models import Payment
from recruitment.platforms import get_platform
from recruitment.services.erasure import check_erasable
from recruitment.services.participants import amount_for, by_platform, check_bonus, check_rejection
from recruitment.services.personal_data import studies_of_person
from recruitment.terms import owed
from studies.confirming import Question
from studies.models import Study
from tiebreak.digits import counted, duration, money, percent
from tiebreak.errors import DomainError


def excluding(participation: Participation) -> Question:
    """Show counts and quality, but nothing about the outcome, which must not decide."""
    n, hits = _counted_work(participation)
    return Question(
        title=f"Exclude {participation.rater.pseudonym}?",
        sentences=(
            *_work_lost(participation),
            *quality_of(evidence_of(participation)),
            "The report lists the exclusion with its time as a deviation.",
            "This does not undo payments. You can reinstate the annotator later; work whose place"
            " has been taken by then becomes surplus.",
        ),
        button="Exclude and replace",
        facts=(participation.public_id, participation.status, n, hits, _is_over(participation)),
    )


def erasing(participation: Participation) -> Question:
    rater, problems = participation.rater, {}
    try:
        check_erasable(rater)
    except DomainError as refusal:
        problems = {refusal.code: refusal.message}
    studies = list(studies_of_person(rater))
    kept = [study.title for study in studies if study.erasure == Study.Erasure.KEEP]
    gone = [study.title for study in studies if study.erasure == Study.Erasure.DELETE]
    return Question(
        title=f"Erase {rater.pseudonym}?",
        sentences=(
            "This cannot be undone: the ids of the platform, comments, reasons, answers to questions and what"
            " researchers wrote about this person are deleted.",
            *(f"The ratings in “{title}” stay, and nothing says whose they are." for title in kept),
            *(
                f"The ratings in “{title}” are deleted, and the work is offered again."
                for title in gone
            ),
            "What was paid stays in the ledger without the identity, and the log says that somebody was"
            " erased, but not who it was.",
            "Exports of these studies that wait on the server are deleted, and so is what their members"
            " uploaded and have not imported. Delete the copies that you downloaded, and those of"
            " the platform.",
        ),
        button="Erase the person",
        facts=(participation.public_id, *(study.pk for study in studies)),
        problems=problems,
    )


def _counted_work(participation: Participation) -> tuple[int, int]:
    """Return the numbers of ratings that count and of completed tasks."""
    ratings = Rating.objects.counted().filter(assignment__participation=participation)
    n = ratings.filter(assignment__hit__kind=HIT.Kind.MAIN).count()
    done = participation.assignments.filter(hit__kind=HIT.Kind.MAIN, status="completed")
    return n, done.count()


def _is_over(participation: Participation) -> bool:
    return participation.study.status == Study.Status.CLOSED


def _work_lost(participation: Participation) -> tuple[str, str]:
    n, hits = _counted_work(participation)
    return (
        f"{counted(n, 'rating')} in {counted(hits, 'completed task')} will no longer count.",
        "The study is closed, so nobody will repeat this work."
        if _is_over(participation)
        else "The places will be offered to other annotators again.",
    )


def quality_of(evidence: Evidence) -> Iterator[str]:
    """Yield what is known about the quality of the answers, without their labels."""
    checks = evidence.checks
    if checks.of:
        yield f"Gold checks passed: {checks.right} of {checks.of}."
    agreement, time = evidence.sign("agreement"), evidence.sign("seconds")
    if agreement.value is None:
        yield "Their agreement is unknown, because nobody else has rated the same items yet."
    else:
        usual = compared("among the others", agreement.others, percent)
        yield f"They agree with others on the same items in {percent(agreement.value)} of cases{usual}."
    if time.value is not None:
        usual = compared("others on the same items", time.others, duration)
        yield f"Their typical time per answer is {duration(time.value)} seconds{usual}."


def releasing(participation: Participation) -> Question:
    work = participation.assignments.filter(status="active", hit__kind=HIT.Kind.MAIN)
    n = Rating.objects.filter(assignment__in=work, superseded=False).count()
    return Question(
        title=f"Free the place of {participation.rater.pseudonym}?",
        sentences=(
            f"Their participation will end. {counted(n, 'answer')} in their unfinished task will be"
            " kept as a partial set that does not count, and the place will be offered to"
            " others.",
        ),
        button="Free the place",
        facts=(participation.public_id, participation.status, n),
    )


def paying(participation: Participation, amount: Decimal | None) -> Question:
    is_platforms = pays_by_platform(participation.submission.channel)
    title = platform_title(participation)
    problems = {}
    if amount is not None or owed(participation) is not None:
        amount = amount_for(participation, amount)
    else:
        problems = {"no_reward": NO_REWARD}
    n = Rating.objects.in_statistics().filter(assignment__participation=participation).count()
    return Question(
        title=f"{'Pay' if is_platforms else 'Mark as paid:'} {participation.rater.pseudonym}?",
        listed=payees({participation: amount or Decimal(0)}),
        sentences=(
            _payment_by(title if is_platforms else "", amount, participation.study.currency),
            f"Ratings by this annotator in the statistics: {n}.",
        ),
        button=f"Pay via {title}" if is_platforms else "Mark as paid",
        facts=(participation.public_id, participation.status, str(amount), is_platforms),
        problems=problems,
    )


def _payment_by(title: str, amount: object, currency: str) -> str:
    if title:
        return f"{title} will be asked to pay {amount} {currency}. Payments cannot be undone."
    return f"This records that you have paid {amount} {currency}. It does not transfer any money."


def paying_awaiting(study: Study, awaiting: Sequence[Participation]) -> Question:
    """Return the confirmation of payments to several participants, with their sum."""
    amounts = {participation: amount_for(participation) for participation in awaiting}
    total = sum(amounts.values(), Decimal(0))
    people = counted(len(awaiting), "participant")
    # Where no platform pays, nothing is transferred.
    is_paid_here = any(pays_by_platform(one.submission.channel) for one in awaiting)
    verb = f"Pay {people}" if is_paid_here else f"Mark {people} as paid"
    return Question(
        title=f"{verb} {money(total)} {study.currency}?",
        listed=payees(amounts),
        sentences=(
            *_payments_by_platform(amounts, study.currency),
            f"Each payment is {'made' if is_paid_here else 'recorded'} once, even if you confirm twice.",
        ),
        button=verb,
        facts=tuple(sorted((one.public_id, str(amount)) for one, amount in amounts.items())),
    )


def _payments_by_platform(amounts: dict[Participation, Decimal], currency: str) -> Iterator[str]:
    for channel, group in by_platform(amounts):
        people, sum_ = counted(len(group), "participant"), sum(group.values(), Decimal(0))
        if channel is None:
            yield f"{people} without a paying platform: {_payment_by('', sum_, currency)}"
            continue
        title = get_platform(channel.provider).title
        fees = sum((amount * fee_share(one) for one, amount in group.items()), Decimal(0))
        yield (
            f"{title} will be asked to pay {people} {sum_} {currency}, to which it adds"
            f" {money(fees)} {currency} in fees. Payments cannot be undone."
        )


def giving_bonus(
    participation: Participation, amount: Decimal, reason: str, request_key: str
) -> Question:
    channel = check_bonus(participation, amount, reason, request_key)
    platform, currency = get_platform(channel.provider), participation.study.currency
    fee = amount * fee_share(participation)
    told = (
        f"The participant reads: “{reason.strip()}”"
        if platform.tells_bonus_reason
        else f"{platform.title} does not tell participants what a bonus is for. The reason is kept"
        f" in the study's log: “{reason.strip()}”"
    )
    return Question(
        title=f"Pay {participation.rater.pseudonym} a bonus of {amount} {currency}?",
        listed=payees({participation: amount}),
        sentences=(
            f"{platform.title} will be asked to pay {amount} {currency}, to which it may add"
            f" {money(fee)} {currency} in fees. Payments cannot be undone.",
            told,
            *_earlier_bonuses(participation),
        ),
        button=f"Pay the bonus via {platform.title}",
        facts=(participation.public_id, str(amount), reason.strip(), request_key),
    )


def _earlier_bonuses(participation: Participation) -> Iterator[str]:
    bonuses = participation.payments.filter(kind=Payment.Kind.BONUS, status__in=PAID)
    amounts = [payment.amount for payment in bonuses]
    if amounts:
        currency = participation.study.currency
        yield f"Bonuses paid to them before: {sum(amounts)} {currency} ({len(amounts)})."


def rejecting(participation: Participation, category: str, message: str) -> Question:
    channel = check_rejection(participation, category, message)
    platform, name = get_platform(channel.provider), participation.rater.pseudonym
    named = platform.rejection_categories.get(category, "")
    return Question(
        title=f"Reject the submission of {name}?",
        sentences=(
            f"{platform.title} will not pay it, and tells the participant"
            f"{f' “{named}” and' if named else ''} your message: “{message.strip()}”",
            "A rejection counts against the person on the platform, and cannot be undone here. If"
            " the person worked honestly, pay instead, and exclude the ratings.",
            *_work_lost(participation),
            *quality_of(evidence_of(participation)),
        ),
        button=f"Reject via {platform.title}",
        facts=(participation.public_id, category, message.strip()),
    )


def asking_to_return(participation: Participation) -> Question:
    title = platform_title(participation)
    return Question(
        title=f"Ask {participation.rater.pseudonym} to return their submission?",
        sentences=(
            f"Their participation will end, their place will be offered to other annotators, and"
            f" {title} will ask them to return the submission without payment.",
        ),
        button="Ask to return submission",
        facts=(participation.public_id, participation.status),
    )
