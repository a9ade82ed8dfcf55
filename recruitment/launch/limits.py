"""Check that R, the repeats and the limits can be met and do not contradict each other."""

from collections.abc import Iterator
from math import ceil

from django.db.models import Count, Q

from annotation.models import Assignment, Participation
from recruitment.admission import Maximum, maximum
from recruitment.launch.check import RECRUITMENT, SIZE, LaunchCheck, error, warning
from recruitment.platforms.invitation import people
from studies.models import Study
from tiebreak.digits import counted, duration


def enough_answers(study: Study) -> Iterator[LaunchCheck]:
    if study.most_answers is None:
        return
    wanted = study.places_of(study.hits.main().count())
    if study.most_answers < wanted:
        yield warning(
            "budget_too_small",
            f"The study stops at {counted(study.most_answers, 'complete response')}, but"
            f" {wanted} are planned: {wanted - study.most_answers} would never be collected. Raise"
            " the limit, or lower R.",
            SIZE,
        )


def enough_people(study: Study) -> Iterator[LaunchCheck]:
    """Nobody does the same HIT twice, so R ratings need at least R people."""
    hits = study.hits.main().count()
    if not hits:
        return
    counts = [len(people(channel)) for channel in study.channels.filter(closed_at__isnull=True)]
    # Where a channel has no list, others can enter as well.
    invited = sum(counts) if counts and all(counts) else None
    hits_each = study.hits_each(hits)
    needed = max(study.most_ratings, ceil(study.places_of(hits) / hits_each))
    need = (
        f"but {counted(hits, 'task')} with R = {study.planned_ratings} need at least {needed},"
        f" because one annotator may do {hits_each}"
    )
    if invited is not None and invited < needed:
        invitations = counted(invited, "annotator is", "annotators are")
        sentence = f"{invitations} invited, {need}. Invite more, or lower R."
        yield warning("too_few_people", sentence, RECRUITMENT)
    admitted = maximum(study, hits).most_people
    if admitted and admitted < needed:
        people_admitted = counted(admitted, "person is", "people are")
        sentence = (
            f"At most {people_admitted} admitted, {need}. The rest would never be collected. Raise the"
            " maximum of people on Recruit or the tasks per annotator, or lower R."
        )
        yield warning("too_few_admitted", sentence, RECRUITMENT)


def enough_people_left(
    study: Study, most: Maximum, *, hits: int, missing: int
) -> Iterator[LaunchCheck]:
    """Say if those who work and may still enter cannot give the missing responses; some left early."""
    # That nobody can enter is another check.
    if most.most_people is None or _newcomers(most) <= 0:
        return
    possible = responses_possible(study, most, hits=hits, missing=missing)
    if possible < missing:
        more = ceil((missing - possible) / study.hits_each(hits))
        yield warning(
            "too_few_admitted",
            f"{counted(missing, 'response is', 'responses are')} missing, and the people who work or may"
            f" still enter can give at most {possible}, because others left early. Raise the maximum of"
            f" people on Recruit from {most.most_people} to at least {most.most_people + more}.",
            RECRUITMENT,
        )


def responses_possible(study: Study, most: Maximum, *, hits: int, missing: int) -> int:
    """Return how many of the missing responses those who work and may still enter can give."""
    each, newcomers = study.hits_each(hits), max(0, _newcomers(most))
    if most.most_people is None or each * newcomers >= missing:
        return missing
    active = study.participations.filter(
        status=Participation.Status.ACTIVE, consented_at__isnull=False, simulated=False
    )
    done = Assignment.objects.filter(
        participation__in=active.values("pk"), completed_at__isnull=False
    )
    return min(missing, each * (newcomers + active.count()) - done.count())


def _newcomers(most: Maximum) -> int:
    return (most.most_people or 0) - sum(one.people for one in most.channels)


def limits_agree(study: Study) -> Iterator[LaunchCheck]:
    for less, more, sentence in _PAIRS:
        part, whole = getattr(study, less), getattr(study, more)
        if part is not None and whole is not None and part > whole:
            yield warning("limits_contradict", sentence.format(part, whole), SIZE)


_PAIRS = (
    (
        "hits_per_day",
        "hits_per_annotator",
        "One annotator may do {} tasks a day but only {} in total, so the daily limit has no"
        " effect. Lower it, or raise the total.",
    ),
    (
        "most_answers_per_day",
        "most_answers",
        "The study accepts {} complete responses a day but only {} in total, so the daily limit has"
        " no effect. Lower it, or raise the total.",
    ),
    (
        "entries_per_address_per_hour",
        "annotators_per_address",
        "{} new annotators per hour may enter from one internet address but only {} in total, so"
        " the hourly limit has no effect. Lower it, or raise the total.",
    ),
)


def time_to_answer(study: Study) -> Iterator[LaunchCheck]:
    """Annotators lose their place if reading one unit takes longer than the lease."""
    if study.minutes_per_hit is None:
        return
    minutes = study.minutes_per_hit / study.comparisons_per_hit
    if minutes > study.lease_minutes:
        yield error(
            "lease_too_short",
            f"One item takes about {duration(minutes)} minutes, but a task is reserved for only"
            f" {study.lease_minutes:g} minutes after each answer: annotators would lose it while"
            " they read. Reserve tasks for longer.",
            SIZE,
        )


def repeats_fit(study: Study) -> Iterator[LaunchCheck]:
    if not study.repeats_per_hit:
        return
    sizes = study.hits.main().annotate(n=Count("hit_units", filter=Q(hit_units__repeat=0)))
    least = max(study.repeats_per_hit, study.repeat_distance)
    if n := sizes.filter(n__lt=least).count():
        yield warning(
            "repeats_do_not_fit",
            f"In {n} of {counted(sizes.count(), 'task')}, there are too few items for"
            f" {counted(study.repeats_per_hit, 'repeat')} at a distance of at least"
            f" {counted(study.repeat_distance, 'item')}. Such tasks will have fewer repeats, or"
            " repeats closer together. Lower the number of repeats or their distance.",
            SIZE,
        )
