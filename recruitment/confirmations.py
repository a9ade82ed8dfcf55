"""What follows from what cannot be undone: the questions that are asked before it, with numbers."""

from collections.abc import Iterable
from decimal import Decimal

from annotation.counts import study_counts
from annotation.models import HIT, Participation, Rating
from annotation.services.late_answers import LateAnswers, late_answers
from recruitment.launch.check import LaunchCheck, counted
from recruitment.ledger import fee_share, owed, platform_title
from recruitment.models import Channel
from recruitment.platforms import get_platform
from recruitment.services.channels import channel_statuses
from recruitment.services.launch_checks import launch_checks
from recruitment.services.payments import check_amount
from recruitment.services.platform_actions import rows_awaiting_payment
from studies.confirming import Question
from studies.models import Study


def opening(study: Study) -> Question:
    checks = launch_checks(study)
    now = study_counts(study)
    channels = [channel.provider.title for channel in channel_statuses(study) if channel.is_open]
    warnings = [check for check in checks if not check.is_error]
    said = (
        f"{counted(now.hits, 'HIT')} with R = {study.ratings_per_hit} are offered:"
        f" {counted(now.remaining, 'place')} in all.",
        *_cost(study, now.remaining),
        f"Annotators can enter by: {', '.join(channels)}." if channels else "Nobody can enter yet.",
        "From then on the design stands: texts and limits may change, and R may grow.",
        *(f"Warning: {check.sentence}" for check in warnings),
    )
    return Question(
        title=f"Open “{study.title}”?",
        sentences=said,
        button="Open it in spite of the warnings" if warnings else "Open the study",
        facts=(study.pk, study.status, now.places, tuple(check.sentence for check in warnings)),
        problems=_by_code(check for check in checks if check.is_error),
        warnings=tuple(check.code for check in warnings),
    )


def _by_code(checks: Iterable[LaunchCheck]) -> dict[str, str]:
    return {check.code: check.sentence for check in checks}


def _cost(study: Study, places: int) -> tuple[str, ...]:
    if study.reward is None or not study.hits_per_annotator:
        return ()
    sum_ = study.reward * places / study.hits_per_annotator
    return (f"All of them cost about {sum_:.2f} {study.currency}, without a platform's fee.",)


def closing(study: Study) -> Question:
    now = study_counts(study)
    said = [f"{now.completed} of {counted(now.places, 'response')} are completed."]
    if now.remaining:
        said.append(f"{now.remaining} stay missing, and nobody is offered them any more.")
    if now.live:
        said.append(
            f"{counted(now.live, 'person is', 'people are')} in the middle of a task: what they"
            " send from now on is kept, flagged late, and enters no result."
        )
    said += [*_still_sent(study), "A closed study can be reopened."]
    return Question(
        title=f"Close “{study.title}”?",
        sentences=tuple(said),
        button="Close the study",
        facts=(study.pk, study.status, now.places, bool(now.remaining), bool(now.live)),
    )


def _still_sent(study: Study) -> list[str]:
    there = study.channels.exclude(external_id="").order_by("pk")
    return [
        f"Its study on {get_platform(channel.provider).title} is not stopped by this: stop it under"
        " Recruitment, or people are still sent and turned away."
        for channel in there
    ]


def reopening(study: Study) -> Question:
    now, late = study_counts(study), late_answers(study)
    said = [f"{now.remaining} of {counted(now.places, 'place')} are offered again."]
    if late is not None:
        said.append(
            f"{counted(late.answers, 'late answer')} by {counted(late.people, 'person', 'people')}"
            " stay out until you accept all of them or none."
        )
    return Question(
        title=f"Reopen “{study.title}”?",
        sentences=tuple(said),
        button="Reopen the study",
        facts=(study.pk, study.status, now.places, now.remaining),
        problems=_by_code(check for check in launch_checks(study) if check.is_error),
    )


def accepting_late(study: Study) -> Question:
    return _deciding(
        study,
        "Accept",
        "They count as if they had come in time. What finds no place"
        " left is kept as surplus. This cannot be undone.",
    )


def declining_late(study: Study) -> Question:
    return _deciding(
        study,
        "Decline",
        "They stay in the record and the export, and never enter a result. This cannot be undone.",
    )


def _deciding(study: Study, verb: str, follows: str) -> Question:
    late = late_answers(study)
    problems = {} if late is not None else {"nothing_late": NOTHING_LATE}
    if study.status == Study.Status.CLOSED:
        problems = {"still_closed": STILL_CLOSED}
    return Question(
        title=f"{verb} all late answers of “{study.title}”?",
        sentences=(*(quality(late) if late else ()), follows),
        button=f"{verb} all of them",
        facts=(study.pk, study.status, late.answers if late else 0),
        problems=problems,
    )


NOTHING_LATE = "No late answers wait for a decision."
STILL_CLOSED = "Reopen the study before you decide: more late answers may come."


def quality(late: LateAnswers) -> tuple[str, ...]:
    """How many and how good they are; not what they say, so that nobody picks a result."""
    people = counted(late.people, "person", "people")
    said = [f"{counted(late.answers, 'late answer')} by {people} on {counted(late.hits, 'HIT')}."]
    if late.agreement is not None:
        usual = "" if late.usual_agreement is None else f" (in time: {late.usual_agreement:.0%})"
        said.append(f"They agree with other people's answers in {late.agreement:.0%}{usual}.")
    else:
        said.append("Nobody else has answered the same yet, so agreement is not known.")
    if late.checks:
        said.append(f"{late.checks_right} of {counted(late.checks, 'check')} were answered right.")
    if late.seconds is not None:
        usual = "" if late.usual_seconds is None else f" (in time: {late.usual_seconds:.0f})"
        said.append(f"An answer took {late.seconds:.0f} seconds, in the median{usual}.")
    return tuple(said)


def excluding(participation: Participation) -> Question:
    study = participation.study
    own = Rating.objects.counted().filter(assignment__participation=participation)
    n = own.filter(assignment__hit__kind=HIT.Kind.MAIN).count()
    hits = participation.assignments.filter(hit__kind=HIT.Kind.MAIN, status="completed").count()
    is_over = study.status == Study.Status.CLOSED
    follows = (
        "The study is closed, so nobody replaces them."
        if is_over
        else "Their places are offered to others again."
    )
    return Question(
        title=f"Exclude {participation.rater.pseudonym}?",
        sentences=(
            f"{counted(n, 'rating')} in {counted(hits, 'completed HIT')} leave the results.",
            follows,
            "What was paid stays paid. They can be taken back; what finds its place taken by then"
            " is surplus.",
        ),
        button="Exclude and replace",
        facts=(participation.public_id, participation.status, n, hits, is_over),
    )


def releasing(participation: Participation) -> Question:
    work = participation.assignments.filter(status="active", hit__kind=HIT.Kind.MAIN)
    n = Rating.objects.filter(assignment__in=work, superseded=False).count()
    return Question(
        title=f"Free the place of {participation.rater.pseudonym}?",
        sentences=(
            f"Their part in the study ends. {counted(n, 'answer')} of the HIT in work are kept as a"
            " fragment, which enters no result, and the place is offered to others.",
        ),
        button="Free the place",
        facts=(participation.public_id, participation.status, n),
    )


def paying(participation: Participation, amount: Decimal | None) -> Question:
    channel = participation.submission.channel
    by_platform = channel is not None and channel.secret
    amount = owed(participation) if amount is None else amount
    if amount is not None:
        check_amount(amount)
    currency = participation.study.currency
    n = Rating.objects.counted().filter(assignment__participation=participation).count()
    sentence = (
        f"{platform_title(participation)} is asked to pay {amount} {currency}. Money that is paid"
        " stays paid."
        if by_platform
        else f"{amount} {currency} is noted as paid by you. Nothing is sent to anybody."
    )
    return Question(
        title=f"Pay {participation.rater.pseudonym}?",
        sentences=(sentence, f"{counted(n, 'rating')} of theirs count."),
        button="Pay" if by_platform else "Note as paid",
        facts=(participation.public_id, participation.status, str(amount), bool(by_platform)),
        problems={} if amount is not None else {"no_reward": NO_REWARD},
    )


NO_REWARD = "Say in the study what annotators are paid."


def paying_all(channel: Channel) -> Question:
    waiting = rows_awaiting_payment(channel=channel)
    study, title = channel.study, get_platform(channel.provider).title
    sums = [owed(entry.participation) or Decimal(0) for entry in waiting]
    fees = sum(
        (s * fee_share(e.participation) for s, e in zip(sums, waiting, strict=True)), Decimal(0)
    )
    said = (
        f"{title} is asked to pay {counted(len(waiting), 'person', 'people')}:"
        f" {sum(sums, Decimal(0)):.2f} {study.currency}, and {fees:.2f} in fees.",
        "Money that is paid stays paid.",
    )
    return Question(
        title=f"Pay all complete work on {title}?",
        sentences=said,
        button="Pay them",
        facts=(
            channel.pk,
            tuple(sorted(e.participation.public_id for e in waiting)),
            str(sum(sums)),
        ),
        problems={} if waiting else {"nobody_waits": NOBODY_WAITS},
    )


NOBODY_WAITS = "Nobody with complete work that counts waits for pay."


def publishing(channel: Channel, places: int) -> Question:
    study, provider = channel.study, get_platform(channel.provider)
    made = "More places are added to its study" if channel.external_id else "A study is made"
    reward = study.reward or Decimal(0)
    fee = Decimal(str(channel.settings.get("fee_percent") or 0)) / 100
    wanted = study_counts(study)

    return Question(
        title=f"Ask {provider.title} for {counted(places, 'person', 'people')}?",
        sentences=(
            f"{made} on {provider.title}, for {counted(places, 'person', 'people')}.",
            f"They cost {places} × {reward} = {places * reward:.2f} {study.currency}, and"
            f" {places * reward * fee:.2f} in fees.",
            f"{wanted.remaining} of {counted(wanted.places, 'place')} are still to be filled, and"
            f" one person may do {study.hits_per_annotator or 'any number'} of"
            f" {counted(wanted.hits, 'HIT')}.",
        ),
        button="Ask for them",
        facts=(channel.pk, channel.external_id, places, str(reward), study.hits_per_annotator),
        problems={} if channel.external_id else provider.study_lacks(channel),
    )


def starting(channel: Channel) -> Question:
    study, title = channel.study, get_platform(channel.provider).title
    said = [f"{title} shows the study to people from now on, and sends them here."]
    if study.status != Study.Status.OPEN:
        said.append(f"The study is {study.status} here, so everybody who comes is turned away.")
    return Question(
        title=f"Publish the study on {title}?",
        sentences=tuple(said),
        button="Publish it",
        facts=(channel.pk, channel.external_status, study.status),
    )


def stopping(channel: Channel) -> Question:
    title, now = get_platform(channel.provider).title, study_counts(channel.study)
    return Question(
        title=f"Stop the study on {title}?",
        sentences=(
            f"{title} sends nobody any more, and cannot be asked to send people for this study"
            f" again. {now.completed} of {counted(now.places, 'response')} are completed.",
        ),
        button="Stop it there",
        facts=(channel.pk, channel.external_status, channel.external_id),
    )


def asking_to_return(participation: Participation) -> Question:
    title = platform_title(participation)
    return Question(
        title=f"Ask {participation.rater.pseudonym} to return their submission?",
        sentences=(
            f"Their part in the study ends, their place is offered to others, and {title} asks"
            " them to return the submission unpaid.",
        ),
        button="Ask to return it",
        facts=(participation.public_id, participation.status),
    )


def replacing_plan(study: Study, *, title: str, button: str, said: str, facts: object) -> Question:
    """Before a draw, or its being forgotten: what of the study goes with it."""
    drawn, hits = study.selected.count(), study.hits.main().count()
    gone = [counted(drawn, "drawn instance")] if drawn else []
    gone += [f"{counted(hits, 'planned HIT')}"] if hits else []
    replaced = f"This replaces {' and '.join(gone)}." if gone else "Nothing is replaced by it."
    return Question(
        title=title,
        sentences=(said, replaced),
        button=button,
        facts=(study.pk, study.status, drawn, hits, repr(facts)),
    )
