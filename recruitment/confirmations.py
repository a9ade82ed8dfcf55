"""Confirmations before actions that cannot be undone, with the numbers that they affect."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal

from django.utils.text import Truncator

from annotation.counts import progress_of, study_counts
from annotation.models import Participation
from annotation.participant_evidence import worth_a_look
from annotation.services.late_answers import LateAnswers, late_answers
from recruitment.costs import channel_cost, forecast
from recruitment.early_stops import early_stop_rules, failing_rules
from recruitment.launch.check import LaunchCheck
from recruitment.ledger import fee_share
from recruitment.messages import (
    CLOSING_EARLY,
    NO_LATE_ANSWERS,
    NOBODY_AWAITS_PAYMENT,
    STILL_CHANGES,
    STILL_CLOSED,
)
from recruitment.models import Channel
from recruitment.platforms import get_platform
from recruitment.services.channels import channel_statuses
from recruitment.services.launch_checks import launch_checks
from recruitment.services.platform_actions import rows_awaiting_payment
from recruitment.terms import owed
from studies.confirming import Question
from studies.models import Study
from studies.models.settings import FrozenSettings, fields_of
from tiebreak.digits import counted, duration, money, percent
from tiebreak.reading.words import question_about, scale_in_words
from tiebreak.similarity import similarity_title


def opening(study: Study) -> Question:
    checks = launch_checks(study)
    now = study_counts(study)
    warnings = _by_code(check for check in checks if not check.is_error)
    is_first = study.opened_at is None
    sentences = (
        f"Planned: {counted(now.hits, 'task')} with {counted(now.units, 'item')} of"
        f" {counted(now.instances, 'instance')}. Different annotators for each task (R):"
        f" {study.planned_ratings}, so {counted(now.remaining, 'response')} are to be collected.",
        *_cost(study, now.hits),
        *early_stop_rules(study, now.hits),
        *failing_rules(study),
        who_can_enter(study),
    )
    return Question(
        title=question_about("Open", study.title),
        sentences=sentences,
        button=f"Open despite the warning{'s' * (len(warnings) > 1)}"
        if warnings
        else "Open the study",
        facts=(study.pk, study.status, now.places, warnings),
        problems=_by_code(check for check in checks if check.is_error),
        warnings=warnings,
        final=final_of(study) if is_first else (),
        settings=frozen_settings(study) if is_first else {},
        stays=STILL_CHANGES if is_first else "",
    )


def final_of(study: Study) -> tuple[str, ...]:
    """Return what can no longer change once the study is open, besides its `frozen_settings`."""
    criteria = [f"{one.name} ({scale_in_words(one.scale)})" for one in study.criteria.all()]
    return (
        f"The texts of “{study.dataset}”, and which of its instances are rated.",
        f"The systems: {', '.join(system.name for system in study.ordered_systems())}.",
        f"The criteria with their questions and scales: {', '.join(criteria)}.",
        "The expected answers of reference items.",
    )


def frozen_settings(study: Study) -> dict[str, str]:
    """Return the value in words of each setting that is frozen and has one, by its name."""
    fields = fields_of(FrozenSettings).values()
    values = {str(field.verbose_name): _value(study, field.name) for field in fields}
    return {name: value for name, value in values.items() if value}


def _value(study: Study, name: str) -> str:
    if name == "similarity":
        return similarity_title(study.similarity)
    value = getattr(study, f"get_{name}_display", lambda: getattr(study, name))()
    return "" if value is None else Truncator(value).chars(200)


def who_can_enter(study: Study) -> str:
    statuses = channel_statuses(study)
    titles = [status.platform.title for status in statuses if status.is_open]
    drafts = [status.platform.title for status in statuses if status.is_draft_there]
    if titles:
        return f"Annotators can enter through: {', '.join(titles)}."
    if drafts:
        return f"Nobody can enter before you publish the study on {' or '.join(drafts)}."
    return "Nobody can enter yet."


def _by_code(checks: Iterable[LaunchCheck]) -> dict[str, str]:
    return {check.code: check.sentence for check in checks}


def _cost(study: Study, hits: int) -> Iterator[str]:
    """Yield what the study is expected to cost, and what it can cost at most."""
    if study.reward is None:
        return
    cost = forecast(study, hits=hits)
    limits = []
    for one in cost.maximum.channels:
        if one.amount:
            people = counted(max(one.people, one.most_people or 0), "person", "people")
            limits.append(f"{one.title} admits {people}, each paid up to {one.pay.most}")
    fees = ", with the platforms' fees" if cost.fee_percent else ""
    if cost.total is not None:
        yield f"All responses will cost about {money(cost.total)} {study.currency}{fees}."
    yield (
        f"The study can cost {money(cost.maximum.total)} {study.currency} at most{fees}:"
        f" {'; '.join(limits)}."
    )


def closing(study: Study) -> Question:
    now = progress_of(study)
    sentences = [f"Completed so far: {now.completed:,} of {counted(now.places, 'response')}."]
    if now.remaining:
        remaining = counted(now.remaining, "remaining response")
        sentences.append(f"The {remaining} will no longer be offered to anyone.")
    if now.live:
        sentences.append(
            f"{counted(now.live, 'annotator is', 'annotators are')} working on a task. Answers that"
            " they send after closing will be stored and flagged late, and left out of the results."
        )
    early = [CLOSING_EARLY] if now.remaining else []
    sentences += [*early, *_still_on_platforms(study), "You can reopen a closed study."]
    return Question(
        title=question_about("Close", study.title),
        sentences=tuple(sentences),
        button="Close the study",
        facts=(study.pk, study.status, now.places, bool(now.remaining), bool(now.live)),
    )


def _still_on_platforms(study: Study) -> list[str]:
    channels = study.channels.exclude(external_id="").order_by("pk")
    return [
        f"This does not stop the study on {get_platform(channel.provider).title}. Stop it on the"
        " Recruit page as well; otherwise the platform keeps sending people, who are turned"
        " away."
        for channel in channels
    ]


def reopening(study: Study) -> Question:
    now, late = progress_of(study), late_answers(study)
    sentences = [f"{now.remaining:,} of {counted(now.places, 'response')} will be offered again."]
    if late is not None:
        sentences.append(
            f"{counted(late.answers, 'late answer')} by {counted(late.people, 'annotator')} will"
            " not count unless you accept them. You can only accept or decline all of them."
        )
    return Question(
        title=question_about("Reopen", study.title),
        sentences=tuple(sentences),
        button="Reopen the study",
        facts=(study.pk, study.status, now.places, now.remaining),
        problems=_by_code(check for check in launch_checks(study) if check.is_error),
    )


def accepting_late(study: Study) -> Question:
    return _deciding(
        study,
        "Accept",
        "The answers will count as if they had arrived in time. Answers for which no place is left"
        " will be kept as surplus. This cannot be undone.",
    )


def declining_late(study: Study) -> Question:
    return _deciding(
        study,
        "Decline",
        "The answers will stay in the database and the export, but will never count. This cannot be"
        " undone.",
    )


def _deciding(study: Study, decision: str, consequence: str) -> Question:
    late = late_answers(study)
    problems = {} if late is not None else {"nothing_late": NO_LATE_ANSWERS}
    if study.status == Study.Status.CLOSED:
        problems = {"still_closed": STILL_CLOSED}
    return Question(
        title=question_about(f"{decision} all late answers of", study.title),
        sentences=(*(quality(late) if late else ()), consequence),
        button=f"{decision} all",
        facts=(study.pk, study.status, late.answers if late else 0),
        problems=problems,
    )


def quality(late: LateAnswers) -> tuple[str, ...]:
    """Describe the number and quality of late answers; their labels could bias the decision."""
    sentences = [
        f"{counted(late.answers, 'late answer')} by {counted(late.people, 'annotator')} on"
        f" {counted(late.hits, 'task')}."
    ]
    if late.agreement is None:
        sentences.append(
            "Their agreement is unknown because nobody else has rated the same items yet."
        )
    else:
        usual = compared("answers in time", late.usual_agreement, percent)
        sentences.append(
            f"They agree with other annotators' answers in {percent(late.agreement)} of cases{usual}."
        )
    if late.checks:
        sentences.append(f"Gold checks answered correctly: {late.checks_right} of {late.checks}.")
    if late.seconds is not None:
        usual = compared("answers in time", late.usual_seconds, seconds)
        sentences.append(f"The typical time per answer was {seconds(late.seconds)}{usual}.")
    return tuple(sentences)


def compared(others: str, value: float | None, words: Callable[[float], str]) -> str:
    """Return in brackets the value of others that a value is compared with, if it is known."""
    return "" if value is None else f" ({others}: {words(value)})"


def seconds(value: float) -> str:
    return f"{duration(value)} seconds"


def paying_all(channel: Channel) -> Question:
    unpaid = [row.participation for row in rows_awaiting_payment(channel=channel)]
    study, title = channel.study, get_platform(channel.provider).title
    amounts = [owed(participation) or Decimal(0) for participation in unpaid]
    fees = sum((a * fee_share(p) for a, p in zip(amounts, unpaid, strict=True)), Decimal(0))
    sentences = (
        f"{title} will be asked to pay {counted(len(unpaid), 'participant')}:"
        f" {money(sum(amounts, Decimal(0)))} {study.currency} and {money(fees)} in fees.",
        "Payments cannot be undone.",
    )
    return Question(
        title=f"Pay all completed work on {title}?",
        listed=payees(dict(zip(unpaid, amounts, strict=True))),
        sentences=sentences,
        button=f"Pay via {title}",
        facts=(
            channel.pk,
            tuple(sorted(participation.public_id for participation in unpaid)),
            str(sum(amounts)),
        ),
        problems={} if unpaid else {"nobody_awaits_payment": NOBODY_AWAITS_PAYMENT},
    )


def payees(amounts: Mapping[Participation, Decimal]) -> tuple[str, ...]:
    """Return each person who is paid with their code, as the platform and they know it, and the sum.

    Who is worth a look in the table of participants is so here, too.
    """
    unusual = worth_a_look(amounts.keys())
    told = {pk: f"; worth a look: {', '.join(x.said for x in of)}" for pk, of in unusual.items()}
    return tuple(
        f"{one.rater.pseudonym}, completion code {one.submission.completion_code}:"
        f" {amount} {one.study.currency}{told.get(one.pk, '')}"
        for one, amount in amounts.items()
    )


def publishing(channel: Channel, participants: int) -> Question:
    study, platform = channel.study, get_platform(channel.provider)
    people = counted(participants, "participant")
    reward = study.reward or Decimal(0)
    cost, costs = channel_cost(channel, participants), []
    if cost is not None:
        costs = [
            f"The participants cost {participants} × {reward} = {money(cost.amount)}"
            f" {study.currency} and {money(cost.fees)} in fees, together {money(cost.total)}."
        ]
    return Question(
        title=f"Request {people} on {platform.title}?",
        sentences=(
            f"This adds places to the study on {platform.title}, for {people} in total."
            if channel.external_id
            else f"This creates a draft study on {platform.title} for {people}.",
            *costs,
            *_to_collect(study),
        ),
        button="Add participants" if channel.external_id else "Create draft",
        facts=(
            channel.pk,
            channel.external_id,
            participants,
            str(reward),
            study.hits_per_annotator,
        ),
        problems={} if channel.external_id else platform.study_lacks(channel),
    )


def _to_collect(study: Study) -> tuple[str, ...]:
    now, hits = progress_of(study), study.hits.main().count()
    if not hits:
        return ()
    return (
        f"Still to be collected: {now.remaining:,} of {counted(now.places, 'response')}. Each"
        f" annotator may do {study.hits_per_annotator or 'any number'} of"
        f" {counted(hits, 'task')}.",
    )


def starting(channel: Channel) -> Question:
    study, title = channel.study, get_platform(channel.provider).title
    sentences = [f"{title} will then show the study to its participants and send them here."]
    if study.status != Study.Status.OPEN:
        sentences.append(
            f"The study is {study.status} here, so all participants will be turned away. Open it"
            " first."
        )
    return Question(
        title=f"Publish the study on {title}?",
        sentences=tuple(sentences),
        button="Publish",
        facts=(channel.pk, channel.external_status, study.status),
    )


def stopping(channel: Channel) -> Question:
    title, now = get_platform(channel.provider).title, progress_of(channel.study)
    return Question(
        title=f"Stop the study on {title}?",
        sentences=(
            f"{title} will send nobody after this, and the study cannot be started there again."
            f" Completed so far: {now.completed:,} of {counted(now.places, 'response')}.",
        ),
        button="Stop the study",
        facts=(channel.pk, channel.external_status, channel.external_id),
    )


def replacing_plan(
    study: Study, *, title: str, button: str, consequence: str, facts: object
) -> Question:
    """Return the confirmation before a change of the selection discards instances and HITs."""
    selected, hits = study.selected.count(), study.hits.main().count()
    discarded = [counted(selected, "selected instance")] if selected else []
    discarded += [counted(hits, "planned task")] if hits else []
    replaced = (
        f"This discards {' and '.join(discarded)}." if discarded else "This discards nothing."
    )
    return Question(
        title=title,
        sentences=(consequence, replaced),
        button=button,
        facts=(study.pk, study.status, selected, hits, repr(facts)),
    )
