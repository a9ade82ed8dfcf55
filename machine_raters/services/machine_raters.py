"""The verbs of all machine raters: create, start, exclude, reinstate and delete.

What differs between judges, juries, baselines and synthetic sets is in their `kind.Kind`. An
exclusion deletes nothing: it is a flag with a reason, of the machine rater and of its ratings. A
machine rater that works is stopped by stopping its job.
"""

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from annotation.models import Rater, Rating
from annotation.models.rating import RatingQuerySet
from annotation.services.rating_writer import create_raters
from annotation.services.tallies import set_flags
from jobs.models import UNFINISHED, Job
from jobs.services import start_job
from machine_raters.kind import MachineJob
from machine_raters.kinds import KINDS
from machine_raters.messages import (
    EXCLUSION_NO_REASON,
    MACHINE_AT_WORK,
    MACHINE_HAS_RATINGS,
    NO_SUCH_MACHINE,
    REASON_TOO_LONG,
)
from machine_raters.models import MachineRater
from machine_raters.models.machine_rater import MAX_REASON
from machine_raters.services.raters import (
    check_in_use,
    check_name,
    note_joined,
    unused_raters,
)
from studies.freshness import changes_noted
from studies.models import Study, StudyEvent
from studies.services import record_event
from tiebreak.errors import DomainError

# PostgreSQL allows 65,535 parameters per statement.
LOT = 5_000
Verb = StudyEvent.Verb


def machine_rater_named(study: Study, public_id: str, *kinds: str) -> Any:
    """Return a machine rater of the study, as its kind's model has it, with the kind's counts.

    Raises `DomainError` if there is none with this id, or with ``kinds`` none of these.
    """
    kind = study.machine_raters.filter(public_id=public_id).values_list("kind", flat=True).first()
    if kind is None or (kinds and kind not in kinds):
        raise DomainError("no_such_machine_rater", NO_SUCH_MACHINE, status=404)
    return KINDS[kind].of(study).get(public_id=public_id)


def create_machine_rater(
    *, study: Study, kind: str, by: User | None = None, **settings: Any
) -> Any:
    """Create a machine rater, which begins to work unless its kind is tried first.

    Raises `DomainError` if its name is taken, or if there is nothing that it could do.
    """
    of = KINDS[kind]
    rows = {name: settings.pop(name) for name in of.rows}
    machine = of.model(study=study, kind=of.name, **settings)
    of.check_new(machine, rows)
    with transaction.atomic():
        machine.full_clean(exclude=["rater"], validate_constraints=False)
        unused_raters(study, machine.name).delete()
        check_name(study, machine.name)
        if of.has_rater:
            machine.rater = create_raters(study, {machine.name: Rater.Kind.MACHINE})[machine.name]
        machine.save()
        of.add_rows(machine, rows)
        _record(machine, Verb.ADD_MACHINE, by, **of.facts(machine))
    if of.starts_at_once:
        start_machine_rater(machine=machine, by=by)
    return machine


def start_machine_rater(*, machine: MachineRater, by: User | None = None) -> Job:
    """Queue a job in which a machine rater does what is not stored yet."""
    kind = KINDS[machine.kind]
    kind.check_start(machine)
    return start_job_of(machine, kind.job, by=by, **kind.job_options(machine))


def start_job_of(
    machine: MachineRater, kind: type[MachineJob], *, by: User | None, **options: str
) -> Job:
    """Queue a job of a machine rater, of which only one of the kind may be unfinished."""
    check_in_use(machine)
    about = ":".join([machine.public_id, *(options.get(name, "") for name in kind.also_about)])
    return start_job(
        kind=kind.name,
        owner=machine.study_id,
        exclusive_key=f"{kind.name}:{about}",
        options={"rater": machine.public_id, "name": machine.name, **options},
        by=by,
    )


@changes_noted()
def exclude_machine_rater(*, machine: MachineRater, reason: str, by: User | None = None) -> bool:
    """Leave a machine rater and its ratings out of the results, and let it do nothing more.

    Returns False if it is excluded already; nothing changes then, not even the reason.
    """
    reason, machine = _checked_reason(reason), _locked(machine)
    _check_idle(machine)
    if machine.excluded:
        return False
    _mark(machine, excluded=True, reason=reason)
    counts = _flag(_ratings(machine, excluded=False), excluded=True, excluded_reason=reason)
    note_joined(machine)
    _record(machine, Verb.EXCLUDE_MACHINE, by, **counts, reason=reason)
    return True


@changes_noted()
def reinstate_machine_rater(*, machine: MachineRater, by: User | None = None) -> bool:
    """Undo `exclude_machine_rater`. Returns False if it is not excluded."""
    machine = _locked(machine)
    if not machine.excluded:
        return False
    flagged = _ratings(machine, excluded=True, excluded_reason=machine.excluded_reason)
    counts = _flag(flagged, excluded=False, excluded_reason="")
    _mark(machine, excluded=False)
    note_joined(machine)
    _record(machine, Verb.REINSTATE_MACHINE, by, **counts)
    return True


@transaction.atomic
def delete_machine_rater(*, machine: MachineRater, by: User | None = None) -> None:
    """Delete a machine rater without answers, with its rater. Answers are never deleted."""
    kind = KINDS[machine.kind]
    _check_idle(_locked(machine))
    if kind.answers(machine):
        raise DomainError("has_ratings", MACHINE_HAS_RATINGS)
    _record(machine, Verb.DELETE_MACHINE, by)
    machine.delete()
    unused_raters(machine.study, machine.name).delete()


def _locked(machine: MachineRater) -> MachineRater:
    return MachineRater.objects.select_for_update().get(pk=machine.pk)


def _check_idle(machine: MachineRater) -> None:
    """Raise `DomainError` if a job of it, or one in which it takes part, is unfinished."""
    about = f":{machine.public_id}"
    if Job.objects.filter(exclusive_key__contains=about, status__in=UNFINISHED).exists():
        raise DomainError("job_unfinished", MACHINE_AT_WORK)


def _checked_reason(reason: str) -> str:
    reason = reason.strip()
    if not reason:
        raise DomainError("no_reason", EXCLUSION_NO_REASON, status=400)
    if len(reason) > MAX_REASON:
        raise DomainError("reason_too_long", REASON_TOO_LONG.format(most=MAX_REASON), status=400)
    return reason


def _mark(machine: MachineRater, *, excluded: bool, reason: str = "") -> None:
    machine.excluded, machine.excluded_reason = excluded, reason
    machine.save(update_fields=["excluded", "excluded_reason"])


def _ratings(machine: MachineRater, **flags: Any) -> RatingQuerySet:
    return Rating.objects.filter(rater=machine.rater_id or 0, superseded=False, **flags)


def _flag(ratings: RatingQuerySet, **flags: bool | str) -> dict[str, int]:
    """Set flags of ratings, and return their number, or nothing without any."""
    keys = list(ratings.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(keys), LOT):
        lot = Rating.objects.filter(pk__in=keys[start : start + LOT])
        set_flags(ratings=lot, **flags)
    return {"ratings": len(keys)} if keys else {}


def _record(machine: MachineRater, verb: StudyEvent.Verb, by: User | None, **details: Any) -> None:
    named = {KINDS[machine.kind].name.label: machine.name}
    record_event(study=machine.study, verb=verb, by=by, details=named | details)
