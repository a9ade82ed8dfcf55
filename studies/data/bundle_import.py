"""Imports the dataset and the design of a bundle."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from decimal import Decimal
from itertools import chain, islice
from typing import Any, Literal, TypeVar

from django.contrib.auth.models import User
from django.db import models, transaction

from studies.data.field_checks import check_column, check_fields, complaint
from studies.models import Criterion, Dataset, Generation, Instance, Membership, Study, System
from studies.models.settings import SETTINGS
from studies.models.study import StudySystem
from studies.services import usual_currency
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats import Bundle, GenerationRow, InstanceRow, StudySpec
from tiebreak.formats.bundle import GENERATIONS, INSTANCES
from tiebreak.formats.errors import Problems
from tiebreak.formats.spec import STUDY_FILE

BATCH = 1000
# TOML has no null. A setting that is left out gets its default, so having none is written out.
NO_LIMIT = "none"
KnownDataset = Literal["use", "refuse"]


@dataclass(frozen=True)
class ImportedDesign:
    """A draft study, and whether it uses a dataset that was imported before."""

    study: Study
    dataset_was_known: bool


def design_problems(bundle: Bundle, problems: Problems) -> None:
    """Add a problem for each setting, instance and generation that the models refuse."""
    spec, lines = bundle.spec, bundle.lines
    where = lines.spec.settings.get
    values = _texts(spec)
    for name, value in spec.settings.items():
        with problems.at(STUDY_FILE, where(name)):
            values[name] = setting_value(name, value)
    check_fields(Study, values, lines=lines.spec.settings, problems=problems)
    for name, systems in (("systems", spec.systems), ("controls", spec.controls)):
        for system in systems:
            values = {"name": system}
            lines_of = dict.fromkeys(values, where(name))
            check_fields(System, values, lines=lines_of, problems=problems)
    for position, criterion in enumerate(spec.criteria):
        values = asdict(criterion)
        lines_of = dict.fromkeys(values, lines.spec.of_criterion(position))
        check_fields(Criterion, values, lines=lines_of, problems=problems)
    _check_rows(Instance, bundle.instances, lines.instances, INSTANCES, problems)
    _check_rows(Generation, bundle.generations, lines.generations, GENERATIONS, problems)


def _texts(spec: StudySpec) -> dict[str, Any]:
    # A missing title has already been reported.
    title = {"title": spec.title} if spec.title else {}
    return title | {"guidelines": spec.guidelines, "consent": spec.consent}


def setting_value(name: str, value: object) -> object:
    """Return a value of study.toml as the setting's field has it. Raises `InvalidInput`."""
    field = SETTINGS.get(name)
    if field is None:
        raise InvalidInput(
            "unknown_setting",
            f"{name[:100]} is not a setting of a study; the settings are"
            f" {', '.join(sorted(SETTINGS))}",
        )
    if field.null and value == NO_LIMIT:
        return None
    if isinstance(field, models.BooleanField):
        return _of_type(name, value, bool, "not_true_or_false", "true or false")
    if isinstance(field, models.IntegerField):
        return _of_type(name, value, int, "not_a_whole_number", "a whole number")
    if isinstance(field, models.FloatField):
        return _of_type(name, value, (int, float), "not_a_number", "a number")
    if isinstance(field, models.DecimalField):
        return Decimal(str(_of_type(name, value, (int, float), "not_a_number", "a number")))
    return _of_type(name, value, str, "not_a_text", "text")


def _of_type(
    name: str, value: object, kinds: type | tuple[type, ...], code: str, words: str
) -> object:
    if isinstance(value, bool) != (kinds is bool) or not isinstance(value, kinds):
        raise InvalidInput(code, f"{name} must be {words}, not {value!r}"[:200])
    return value


# Fields of bundle rows whose model field has another name.
_FIELDS = {"id": "key"}
_RELATIONS = {"instance", "system"}


def _check_rows(
    model: type[models.Model],
    rows: Sequence[InstanceRow] | Sequence[GenerationRow],
    lines: Sequence[int],
    file: str,
    problems: Problems,
) -> None:
    for name in _names(rows[0]) - _RELATIONS if rows else ():
        check_column(
            complaint(model, _FIELDS.get(name, name)),
            (getattr(row, name) for row in rows),
            lines,
            file=file,
            column=name,
            problems=problems,
        )


def _names(row: InstanceRow | GenerationRow) -> set[str]:
    return {field.name for field in fields(row)}


@transaction.atomic
def import_design(
    *, bundle: Bundle, owner: User | None, known_dataset: KnownDataset = "use"
) -> ImportedDesign:
    """Create a draft study and its dataset from a validated bundle.

    If this owner has already imported a dataset with the same content, and that dataset has not
    changed since, the study uses it or, if ``known_dataset`` is "refuse", `DomainError` is raised.
    """
    digest = content_digest(
        bundle.spec.systems, bundle.spec.controls, bundle.instances, bundle.generations
    )
    known = known_dataset_of(digest, owner, known_dataset)
    dataset = known or _store_dataset(bundle, digest, owner)
    return ImportedDesign(store_study(bundle.spec, dataset, owner), known is not None)


def store_study(spec: StudySpec, dataset: Dataset, owner: User | None) -> Study:
    """Create a draft with this design, whose first member is the owner."""
    settings = {name: setting_value(name, value) for name, value in spec.settings.items()}
    preset = {"currency": usual_currency(owner)} if owner is not None else {}
    study = Study.objects.create(dataset=dataset, **_texts(spec), **preset | settings)
    systems = {system.name: system for system in dataset.systems.all()}
    StudySystem.objects.bulk_create(
        StudySystem(study=study, system=systems[name], position=position)
        for position, name in enumerate(spec.systems)
    )
    Criterion.objects.bulk_create(
        Criterion(study=study, position=position, **asdict(spec))
        for position, spec in enumerate(spec.criteria)
    )
    if owner is not None:
        Membership.objects.create(study=study, user=owner)
    return study


class ContentDigest:
    """A hash of instances and generations that ignores their order, in constant memory."""

    def __init__(self) -> None:
        self._sum = 0

    def add(self, row: InstanceRow | GenerationRow) -> None:
        digest = hashlib.sha256(json.dumps(vars(row), sort_keys=True).encode()).digest()
        self._sum = (self._sum + int.from_bytes(digest)) % 2**256

    def hexdigest(self, systems: Iterable[str], controls: Iterable[str] = ()) -> str:
        about = json.dumps([sorted(systems), sorted(controls)])
        return hashlib.sha256(about.encode() + self._sum.to_bytes(32)).hexdigest()


def content_digest(
    systems: Iterable[str],
    controls: Iterable[str],
    instances: Iterable[InstanceRow],
    generations: Iterable[GenerationRow],
) -> str:
    """Return a hash of the instances, systems and generations that ignores their order."""
    content = ContentDigest()
    rows: chain[InstanceRow | GenerationRow] = chain(instances, generations)
    for row in rows:
        content.add(row)
    return content.hexdigest(systems, controls)


def known_dataset_of(
    digest: str, owner: User | None, known_dataset: KnownDataset
) -> Dataset | None:
    """Return the owner's dataset with this content, or refuse it if ``known_dataset`` says so.

    Datasets of other owners are never shared.
    """
    datasets = Dataset.objects.filter(sha256=digest, created_by=owner)
    known = next((d for d in datasets if content_digest_now(d) == digest), None)
    if known is not None and known_dataset == "refuse":
        raise DomainError(
            "known_dataset",
            f"You already imported this dataset as “{known.name}” on"
            f" {known.created_at:%Y-%m-%d at %H:%M} UTC. Use it for a new study, or cancel the"
            " import.",
        )
    return known


def content_digest_now(dataset: Dataset) -> str:
    """Return the hash of the current content, because texts or systems may have changed."""
    systems = list(dataset.systems.values_list("name", "is_control"))
    return content_digest(
        [name for name, is_control in systems if not is_control],
        [name for name, is_control in systems if is_control],
        instance_rows(Instance.objects.filter(dataset=dataset)),
        generation_rows(Generation.objects.filter(instance__dataset=dataset)),
    )


def instance_rows(instances: "models.QuerySet[Instance]") -> Iterator[InstanceRow]:
    """Yield stored instances as rows of a bundle."""
    for row in instances.order_by("pk").iterator(chunk_size=2 * BATCH):
        yield InstanceRow(
            row.key, row.source, row.messages, row.category, row.reference, row.metadata
        )


def generation_rows(generations: "models.QuerySet[Generation]") -> Iterator[GenerationRow]:
    """Yield stored generations as rows of a bundle."""
    in_order = generations.order_by("instance", "system", "sample_index")
    for row in in_order.select_related("instance", "system").iterator(chunk_size=2 * BATCH):
        yield GenerationRow(
            row.instance.key,
            row.system.name,
            row.sample_index,
            row.text,
            row.seed,
            row.params,
            row.is_dummy,
        )


def _store_dataset(bundle: Bundle, digest: str, owner: User | None) -> Dataset:
    dataset = Dataset.objects.create(name=bundle.spec.title, sha256=digest, created_by=owner)
    systems = System.objects.bulk_create(
        System(dataset=dataset, name=name, is_control=name in bundle.spec.controls)
        for name in (*bundle.spec.systems, *bundle.spec.controls)
    )
    by_name = {system.name: system for system in systems}
    stored = store(Instance, (instance_of(dataset, row) for row in bundle.instances))
    by_key = {instance.key: instance.pk for instance in stored}
    rows = (generation_of(row, by_name, by_key) for row in bundle.generations)
    for _ in store(Generation, rows):
        pass
    _mark_copies(by_name)
    return dataset


def _mark_copies(systems: Mapping[str, System]) -> None:
    """Mark the systems whose texts say that they are perturbed copies of another system's."""
    for system in systems.values():
        first = system.generations.order_by("pk").values_list("params", flat=True).first()
        about = (first or {}).get("perturbation")
        if not isinstance(about, dict) or system.is_control:
            continue
        original = systems.get(str(about.get("system")))
        if original is None:
            continue
        system.perturbed_from, system.perturbation = original, str(about.get("name"))[:60]
        system.save(update_fields=["perturbed_from", "perturbation"])


Stored = TypeVar("Stored", bound=models.Model)


def store(model: type[Stored], rows: Iterable[Stored]) -> Iterator[Stored]:
    """Insert rows batch by batch, keeping one in memory, and yield them with their primary keys."""
    remaining = iter(rows)
    while batch := list(islice(remaining, BATCH)):
        yield from model._default_manager.bulk_create(batch)


def instance_of(dataset: Dataset, row: InstanceRow) -> Instance:
    values = {_FIELDS.get(name, name): getattr(row, name) for name in _names(row)}
    return Instance(dataset=dataset, **values)


def generation_of(
    row: GenerationRow, systems: Mapping[str, System], instances: Mapping[str, int]
) -> Generation:
    return Generation(
        instance_id=instances[row.instance],
        system=systems[row.system],
        sample_index=row.sample_index,
        text=row.text,
        seed=row.seed,
        params=row.params,
        is_dummy=row.is_dummy,
    )
