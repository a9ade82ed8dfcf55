"""Cloning a study: a new draft with the same design, without ratings or platform data."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db import transaction

from annotation.models import Rating
from annotation.services.reference_units import plan_reference_units
from recruitment.models import Channel, Payment
from recruitment.platforms import get_platform
from recruitment.platforms.invitation import people
from studies.data.dataset_jobs import jobs_of
from studies.models import Study, Unit, UnitText
from studies.services import copy_design, copy_rows
from tiebreak.digits import counted
from tiebreak.errors import DomainError


@dataclass(frozen=True)
class Clone:
    """The new draft, and the parts of the original that were not copied, with counts."""

    study: Study
    not_copied: tuple[str, ...]


@transaction.atomic
def clone_study(*, study: Study) -> Clone:
    """Create a new draft with the same design, which asks the same questions once it is planned.

    Copies the settings, criteria, systems, members, selected instances, screening, comprehension
    questions, reference units, and the channels without their connections to platforms. Seeds are
    new. The result lists what was not copied.
    """
    clone = copy_design(study=study)
    units = study.units.exclude(role=Unit.Role.MAIN).order_by("pk").prefetch_related("texts")
    copies = zip(units, copy_rows(units, study=clone), strict=True)
    UnitText.objects.bulk_create(
        UnitText(
            unit=copied,
            position=text.position,
            system_id=text.system_id,
            generation_id=text.generation_id,
            sample=text.sample,
        )
        for unit, copied in copies
        for text in unit.text_list
    )
    for role in (Unit.Role.TRAINING, Unit.Role.QUALIFICATION):
        if study.hits.filter(kind=role.value).exists():
            plan_reference_units(clone, role)
    Channel.objects.bulk_create(
        _unconnected(channel, clone) for channel in study.channels.order_by("pk")
    )
    return Clone(clone, tuple(_not_copied(study)))


def _unconnected(channel: Channel, study: Study) -> Channel:
    """Return a copy without the connection to a platform; a closed channel stays closed."""
    copied_settings = _copied_settings(channel.provider)
    settings = {name: value for name, value in channel.settings.items() if name in copied_settings}
    return Channel(
        study=study, provider=channel.provider, settings=settings, closed_at=channel.closed_at
    )


def _copied_settings(provider: str) -> set[str]:
    try:
        platform = get_platform(provider)
    except DomainError:  # the platform is not installed here
        return set()
    return set(platform.settings_form.base_fields) - platform.settings_of_account


def _not_copied(study: Study) -> Iterator[str]:
    counts: tuple[tuple[int, *tuple[str, ...]], ...] = (
        (study.hits.main().count(), "task"),
        (study.participations.count(), "annotator"),
        (Rating.objects.filter(unit__study=study).count(), "rating"),
        (Payment.objects.filter(participation__study=study).count(), "payment"),
        (study.machine_raters.exclude(rater=None).count(), "machine rater"),
        (study.machine_raters.filter(rater=None).count(), "synthetic set"),
        (study.versions.count(), "version of the texts", "versions of the texts"),
        (jobs_of(study).count(), "job"),
        (study.events.count(), "log entry", "log entries"),
    )
    yield from (counted(n, *nouns) for n, *nouns in counts if n)
    connections = map(_connection, study.channels.order_by("pk"))
    yield from filter(None, connections)


def _connection(channel: Channel) -> str:
    """Return the parts of a channel that have to be entered again for the clone."""
    if n := len(people(channel)):
        return f"{counted(n, 'person', 'people')} invited"
    missing = [
        name
        for name, is_set in (
            ("access token", channel.secret),
            ("webhooks", channel.webhook_secret),
            (f"study {channel.external_id}", channel.external_id),
        )
        if is_set
    ]
    return f"the connection to {_title(channel.provider)} ({', '.join(missing)})" if missing else ""


def _title(provider: str) -> str:
    try:
        return get_platform(provider).title
    except DomainError:
        return provider
