"""A study's design once more, as a draft of its own; nobody's answers and no platform's word."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db import transaction

from annotation.models import Rating
from annotation.services.reference_units import plan_reference_units
from recruitment.models import Channel, Payment
from recruitment.platforms import get_platform
from recruitment.platforms.invitation import people
from studies.models import Study, Unit
from studies.services import copy_design, copy_rows
from tiebreak.errors import DomainError

# Every model that belongs to a study is in one of these. Of units and HITs those are copied whose
# answer is known; of a way in what describes it, and not its connection.
COPIED = frozenset(
    {
        "studies.Criterion",
        "studies.StudySystem",
        "studies.Membership",
        "studies.InstanceSelection",
        "studies.SelectedInstance",
        "studies.Unit",
        "annotation.HIT",
        "studies.Screening",
        "studies.ComprehensionQuestion",
        "recruitment.Channel",
    }
)
NOT_COPIED = frozenset(
    {
        "studies.Study",  # its dry runs
        "studies.StudyVersion",
        "studies.StudyEvent",
        "studies.ReportChanges",
        "studies.Job",
        "annotation.Place",
        "annotation.Participation",
        "annotation.ScreeningAttempt",
        "metrics.ReportSnapshot",
    }
)


@dataclass(frozen=True)
class Clone:
    """The new draft, and what of the original it does not have, in words with counts."""

    study: Study
    not_copied: tuple[str, ...]


@transaction.atomic
def clone_study(*, study: Study) -> Clone:
    """A new draft with the same design: plan it, and it asks the same questions.

    Copied besides the settings are criteria, systems, members, drawn instances, screening,
    comprehension questions, units whose answer is known, and the ways in without their connection
    to a platform. Seeds are new. What was left behind is listed.
    """
    clone = copy_design(study=study)
    copy_rows(study.units.exclude(role=Unit.Role.MAIN).order_by("pk"), study=clone)
    for role in (Unit.Role.TRAINING, Unit.Role.QUALIFICATION):
        if study.hits.filter(kind=role.value).exists():
            plan_reference_units(clone, role)
    Channel.objects.bulk_create(
        _unconnected(channel, clone) for channel in study.channels.order_by("pk")
    )
    return Clone(clone, tuple(_left_behind(study)))


def _unconnected(channel: Channel, study: Study) -> Channel:
    """The same way in as its researcher described it. One that was closed opens no door."""
    described = _described(channel.provider)
    settings = {name: value for name, value in channel.settings.items() if name in described}
    return Channel(
        study=study, provider=channel.provider, settings=settings, closed_at=channel.closed_at
    )


def _described(provider: str) -> set[str]:
    try:
        found = get_platform(provider)
    except DomainError:  # of an installation that had another platform
        return set()
    return set(found.settings_form.base_fields) - found.settings_of_account


def _left_behind(study: Study) -> Iterator[str]:
    counts = (
        (study.hits.main().count(), "HIT", "HITs"),
        (study.participations.count(), "annotator", "annotators"),
        (Rating.objects.filter(unit__study=study).count(), "rating", "ratings"),
        (Payment.objects.filter(participation__study=study).count(), "payment", "payments"),
        (study.versions.count(), "version of the texts", "versions of the texts"),
        (study.jobs.count(), "job", "jobs"),
        (study.events.count(), "entry of the log", "entries of the log"),
    )
    yield from (f"{n} {one if n == 1 else many}" for n, one, many in counts if n)
    yield from (said for channel in study.channels.order_by("pk") if (said := _connection(channel)))


def _connection(channel: Channel) -> str:
    """What of a way in the clone has to be given anew."""
    if n := len(people(channel)):
        return f"{n} {'person' if n == 1 else 'people'} invited"
    lost = [
        name
        for name, is_there in (
            ("access token", channel.secret),
            ("webhooks", channel.webhook_secret),
            (f"study {channel.external_id} there", channel.external_id),
        )
        if is_there
    ]
    return f"the connection to {_title(channel.provider)} ({', '.join(lost)})" if lost else ""


def _title(provider: str) -> str:
    try:
        return get_platform(provider).title
    except DomainError:
        return provider
