"""Systems that join a study after it was opened: only machine raters judge them, in a study of its own."""

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from annotation.imports.texts_of_system import import_texts
from annotation.imports.uploads import Upload
from annotation.models import Place, Rater
from annotation.services.planning import plan_hits
from annotation.services.rating_writer import provider_of
from jobs.clock import database_now
from machine_raters.judging.passes import items_of
from machine_raters.judging.services import copy_judge
from machine_raters.models import MachineRater
from machine_raters.services.machine_raters import (
    create_machine_rater,
    machine_rater_named,
    start_machine_rater,
)
from machine_raters.services.rating_costs import uploaded_raters
from metrics.licensing.follow_ups import select_instances
from metrics.messages import (
    JOIN_NEEDS_PAIRS,
    JOIN_OF_DRAFT,
    JOINED_ALREADY,
    NO_MEMBER_THERE,
    RATED_ELSEWHERE,
    TEXTS_MISSING,
)
from metrics.results.selectors import rating_table
from recruitment.services.cloning import clone_study
from studies.models import JoinedSystem, Study, StudyEvent, StudySystem, System
from studies.services import LONGEST_TITLE, record_event, systems_named
from tiebreak.errors import DomainError
from tiebreak.formats import RatingTable

Kind = MachineRater.Kind


def systems_to_join(study: Study) -> QuerySet[System]:
    """Return the systems of the study's dataset that neither compete in it nor joined it."""
    there = StudySystem.objects.filter(study=study).values("system")
    joined = study.joined_systems.values("system")
    others = System.objects.competing().filter(dataset=study.dataset_id)
    return others.exclude(pk__in=there).exclude(pk__in=joined).order_by("name")


@transaction.atomic
def join_system(
    *, study: Study, name: str, texts: Upload | None = None, by: User | None = None
) -> JoinedSystem:
    """Let a system join an opened study, to be judged by machine raters alone.

    The dataset has it already, or gets it with the texts of a file (`import_texts`). Its pairs with the study's systems, on the study's instances, are in a closed study without places.
    Raises `DomainError` if the study is a draft or has no pairs, if the system competes or joined already,
    or if texts of it are missing. Locks the study.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.status == Study.Status.DRAFT:
        raise DomainError("study_is_draft", JOIN_OF_DRAFT)
    if study.unit_kind != Study.UnitKind.COMPARISON:
        raise DomainError("no_pairs", JOIN_NEEDS_PAIRS)
    if texts is not None and study.dataset is not None:
        import_texts(dataset=study.dataset, name=name, upload=texts)
    [system] = systems_named(study, [name])
    if not systems_to_join(study).filter(pk=system.pk).exists():
        raise DomainError("joined_already", JOINED_ALREADY.format(name=name))
    instances = _instances_for(study, system)
    made = _companion(study, system, instances)
    plan_hits(study=made)
    # All of the study's instances are there, so none stands for others.
    made.units.update(inclusion_probability=None, phase="")
    Place.objects.filter(study=made).delete()
    made.status, made.closed_at = Study.Status.CLOSED, database_now()
    made.save(update_fields=["status", "closed_at"])
    details = {"system": name, "study": made.title}
    record_event(study=study, verb=StudyEvent.Verb.JOIN_SYSTEM, by=by, details=details)
    return JoinedSystem.objects.create(study=made, joined=study, system=system)


def _instances_for(study: Study, system: System) -> list[int]:
    """Return the study's instances, of which each must have a text of the system."""
    planned = items_of(study).filter(set_aside=False).exclude(instance=None).order_by("instance")
    instances = list(planned.distinct().values_list("instance", flat=True))
    there = system.generations.filter(instance__in=instances, is_dummy=False)
    lacking = len(instances) - there.values("instance").distinct().count()
    if lacking:
        sentence = TEXTS_MISSING.format(name=system, lacking=lacking, instances=len(instances))
        raise DomainError("texts_missing", sentence)
    return instances


def _companion(study: Study, system: System, instances: list[int]) -> Study:
    """Return a draft that compares a system with each of the study's, on the study's instances."""
    made = clone_study(study=study).study
    made.channels.all().delete()
    end = f" ({system}, machines only)"
    made.title = f"{study.title[: LONGEST_TITLE - len(end)].rstrip()}{end}"
    made.seed, made.pairing, made.baseline_system = study.seed, Study.Pairing.BASELINE, system.name
    made.ratings_per_hit, made.further_share, made.pairs_per_instance = 1, 0.0, None
    made.save()
    StudySystem.objects.create(study=made, system=system, position=made.study_systems.count())
    select_instances(made, instances, of=len(instances))
    return made


def join_or_go_on(
    *, study: Study, name: str, texts: Upload | None = None, by: User | None = None
) -> tuple[bool, dict[str, str]]:
    """Let a system join unless it did already, and machine raters judge it as far as each can now.

    Returns whether it joined now, and why some machine raters wait, by name. Texts are never left unread:
    with them, a system that joined already is refused.
    """
    joined = study.joined_systems.filter(system__name=name).first()
    is_new = joined is None or texts is not None
    if is_new:
        joined = join_system(study=study, name=name, texts=texts, by=by)
    assert joined is not None
    return is_new, let_machines_judge(joined=joined, by=by)


def let_machines_judge(*, joined: JoinedSystem, by: User | None = None) -> dict[str, str]:
    """Let the study's machine raters judge a system that joined, as far as each can now.

    They are copied with their settings and under their names. Returns why some wait, by name: a jury until
    its members have answered, and a machine that rates elsewhere until its ratings are uploaded.
    """
    waiting = {}
    machines = joined.joined.machine_raters.filter(excluded=False).exclude(kind=Kind.SYNTHETIC_SET)
    # Juries come last, because they need the others' answers.
    ordered = sorted(machines, key=lambda one: (one.kind == Kind.JURY, one.pk))
    for machine in ordered:
        try:
            _let_judge(machine_rater_named(joined.joined, machine.public_id), joined.study, by)
        except DomainError as refusal:
            waiting[machine.name] = refusal.message
    there = {one.name for one in uploaded_raters(joined.study)}
    uploaded = [one.name for one in uploaded_raters(joined.joined) if one.name not in there]
    return waiting | dict.fromkeys(uploaded, RATED_ELSEWHERE)


def _let_judge(machine: Any, study: Study, by: User | None) -> None:
    copy = study.machine_raters.filter(name=machine.name).first()
    if copy is None and machine.kind != Kind.JUDGE:
        _copy(machine, study, by)  # which starts at once
        return
    if copy is None:
        copy = copy_judge(judge=machine, study=study, by=by)
    start_machine_rater(machine=machine_rater_named(study, copy.public_id), by=by)


def _copy(machine: Any, study: Study, by: User | None) -> None:
    settings = {"name": machine.name, "criterion": study.criteria.get(name=machine.criterion.name)}
    if machine.kind == Kind.JURY:
        names = set(machine.members.values_list("pseudonym", flat=True))
        there = Rater.objects.filter(provider=provider_of(study), pseudonym__in=names)
        if lacking := names - set(there.values_list("pseudonym", flat=True)):
            sentence = NO_MEMBER_THERE.format(members=", ".join(sorted(lacking)))
            raise DomainError("no_such_member", sentence)
        settings |= {"rule": machine.rule, "members": list(there)}
    else:
        own = ("method", "server", "language_model", "seed")
        settings |= {name: getattr(machine, name) for name in own}
    create_machine_rater(study=study, kind=machine.kind, by=by, **settings)


def joined_tables(study: Study) -> list[tuple[str, RatingTable]]:
    """Return the ratings of each system that joined the study, by the system's name."""
    joined = study.joined_systems.select_related("study", "system")
    tables = ((one.system.name, rating_table(one.study)) for one in joined)
    return [(name, table) for name, table in tables if len(table)]
