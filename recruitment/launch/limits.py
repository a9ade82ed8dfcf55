"""Whether R, repeats and limits can be met, and do not contradict each other."""

from collections.abc import Iterator
from math import ceil

from django.db.models import Count, Q

from recruitment.launch.check import RECRUITMENT, LaunchCheck, counted, error, warning
from recruitment.platforms.invitation import people
from studies.models import Study


def enough_answers(study: Study) -> Iterator[LaunchCheck]:
    wanted = study.hits.main().count() * study.ratings_per_hit
    if study.most_answers is not None and study.most_answers < wanted:
        yield warning(
            "budget_too_small",
            f"At most {counted(study.most_answers, 'complete answer')} are taken, and"
            f" {wanted} are planned: {wanted - study.most_answers} places stay empty. Raise the"
            " limit, or lower R.",
        )


def enough_people(study: Study) -> Iterator[LaunchCheck]:
    """Each annotator does a HIT once, so R takes R people, whatever else they may do."""
    hits = study.hits.main().count()
    invited = _invited(study)
    if invited is None or not hits:
        return
    each = min(study.hits_per_annotator or hits, hits)
    needed = max(study.ratings_per_hit, ceil(hits * study.ratings_per_hit / each))
    if invited < needed:
        yield warning(
            "too_few_people",
            f"{counted(invited, 'person is', 'people are')} invited, and {counted(hits, 'HIT')}"
            f" with R = {study.ratings_per_hit}, of which one person may do {each}, take {needed}"
            " people at least. Invite more, or lower R.",
            RECRUITMENT,
        )


def _invited(study: Study) -> int | None:
    """How many people can come at most; None where that is not known."""
    channels = list(study.channels.filter(closed_at__isnull=True))
    counts = [len(people(channel)) for channel in channels]
    return sum(counts) if counts and all(counts) else None


def limits_agree(study: Study) -> Iterator[LaunchCheck]:
    for less, more, sentence in _PAIRS:
        of, most = getattr(study, less), getattr(study, more)
        if of is not None and most is not None and of > most:
            yield warning("limits_contradict", sentence.format(of, most))


_PAIRS = (
    (
        "hits_per_day",
        "hits_per_annotator",
        "One annotator may do {} HITs a day, and only {} in all: the limit per day says nothing."
        " Lower it, or raise the other.",
    ),
    (
        "most_answers_per_day",
        "most_answers",
        "{} complete answers are taken a day, and only {} in all: the limit per day says nothing."
        " Lower it, or raise the other.",
    ),
    (
        "entries_per_address_per_hour",
        "annotators_per_address",
        "From one internet address {} new annotators may come per hour, and only {} in all: the"
        " limit per hour says nothing. Lower it, or raise the other.",
    ),
)


def time_to_answer(study: Study) -> Iterator[LaunchCheck]:
    """A place is lost between two answers, to whoever reads for longer than it is held."""
    if study.minutes_per_hit is None:
        return
    each = study.minutes_per_hit / study.comparisons_per_hit
    if each > study.lease_minutes:
        yield error(
            "lease_too_short",
            f"One unit takes about {each:.3g} minutes, and a place is held for"
            f" {study.lease_minutes:g} from one answer to the next: annotators would lose it while"
            " they read. Hold places for longer.",
        )


def repeats_fit(study: Study) -> Iterator[LaunchCheck]:
    if not study.repeats_per_hit:
        return
    sizes = study.hits.main().annotate(n=Count("hit_units", filter=Q(hit_units__repeat=0)))
    least = max(study.repeats_per_hit, study.repeat_distance)
    if n := sizes.filter(n__lt=least).count():
        yield warning(
            "repeats_do_not_fit",
            f"{counted(n, 'HIT')} of {sizes.count()} have too few units for"
            f" {counted(study.repeats_per_hit, 'repeat')}, each at least"
            f" {study.repeat_distance} units later: they get fewer, or sooner. Lower the repeats"
            " or their distance.",
        )
