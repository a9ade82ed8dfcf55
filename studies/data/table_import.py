"""Imports a plain table: its dataset, and a draft study on it."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, NotRequired, TypedDict, Unpack

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, transaction

from studies.data.bundle_import import (
    BATCH,
    ContentDigest,
    KnownDataset,
    generation_of,
    instance_of,
    known_dataset_of,
    store_study,
)
from studies.data.text_formats import recognised_formats
from studies.models import Dataset, Generation, Instance, Study, System
from studies.services import give_texts
from tiebreak.errors import DomainError
from tiebreak.formats import CriterionSpec, FormatError, StudySpec
from tiebreak.formats.limits import LIMITS, Limits
from tiebreak.formats.shown_fields import setting_of
from tiebreak.formats.tables import (
    FIELD_OF,
    ROLES,
    TEXT_OF,
    Extracted,
    Profile,
    Table,
    TableReading,
    TableSummary,
    extracted_rows,
    open_table,
)
from tiebreak.formats.tables.choosing import parse_columns as parse_chosen
from tiebreak.formats.tables.names import source_label

BadRows = Literal["refuse", "leave_out"]
MAX_TOLD = 20
MAX_COMPARISONS = 5
PREFERENCE = CriterionSpec("preference", "preference:tie", "Which text is better?")


@dataclass(frozen=True)
class Choice:
    """How a researcher wants a table to be read. Missing roles are guessed.

    `is_complete` says that `columns` has all roles, so nothing is guessed. No guess uses a column of
    `leave_out`. `sheet` is that of a workbook; "" is the first that has a table. Empty cells of the
    columns in `fill_down` repeat the value above. `leave_out_errors` leaves out texts that are errors
    of a program, as texts that are missing can be.
    """

    layout: str | None = None
    columns: Mapping[str, str] | None = None
    is_complete: bool = False
    leave_out: tuple[str, ...] = ()
    sheet: str = ""
    fill_down: tuple[str, ...] = ()
    leave_out_errors: bool = False


def parse_columns(text: str) -> dict[str, str]:
    """Return the columns by role that someone typed."""
    return parse_chosen(text, ROLES, (TEXT_OF, FIELD_OF))


@dataclass(frozen=True)
class ImportedTable:
    """A draft study on a table, and what the table contains."""

    study: Study
    summary: TableSummary
    dataset_was_known: bool


class ImportOptions(TypedDict):
    """What `import_table` needs to know.

    ``plain`` has the rows of an upload, which a confined process has read. ``then`` is called in the transaction in which the study is stored.
    ``study`` is the key of a draft without texts that gets them, instead of a new study.
    """

    path: Path
    plain: NotRequired[Table]
    owner: User
    title: str
    choice: NotRequired[Choice]
    limits: NotRequired[Limits]
    bad_rows: NotRequired[BadRows]
    known_dataset: NotRequired[KnownDataset]
    study: NotRequired[str]
    then: NotRequired[Callable[[Study], None]]


class BadTable(DomainError):
    """A table was refused; ``summary`` lists the problems."""

    def __init__(self, summary: TableSummary) -> None:
        told = summary.kinds[:MAX_TOLD]
        lines = [str(kind) for kind in told]
        more = summary.n_problems - sum(kind.count for kind in told)
        lines += [f"… and {more:,} more."] if more > 0 else []
        super().__init__("bad_table", "\n".join(lines), status=400)
        self.summary = summary


def inspect_table(
    *,
    path: Path,
    plain: Table | None = None,
    choice: Choice | None = None,
    limits: Limits = LIMITS,
    max_rows: int | None = None,
) -> tuple[Profile, TableSummary]:
    """Return what the columns look like and what the table contains, and store nothing."""
    try:
        with _opened(path, plain, limits, choice) as table:
            reading = _reading(table, choice, max_rows)
            for _ in reading.rows():
                pass
            return reading.profile, reading.summary()
    except FormatError as error:
        return Profile(), TableSummary.of_refusal(error)


def _opened(
    path: Path, plain: Table | None, limits: Limits, choice: Choice | None
) -> AbstractContextManager[Table]:
    if plain is not None:
        return nullcontext(plain)
    return open_table(path, limits=limits, sheet=choice.sheet if choice else "")


def import_table(**options: Unpack[ImportOptions]) -> ImportedTable:
    """Store all of a table and a draft study on it, or nothing; see `import_table_in_steps`."""
    steps = import_table_in_steps(**options)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            imported: ImportedTable = end.value
            return imported


def import_table_in_steps(
    **options: Unpack[ImportOptions],
) -> Generator[tuple[int, int], None, ImportedTable]:
    """Store all of a table and a draft study on it, or nothing.

    Yields the number of rows checked so far, and of all rows; then stores everything in one step.
    Raises `BadTable` if rows have problems, unless ``bad_rows`` is "leave_out" or they are the errors
    that the choice leaves out; or `DomainError` if
    the owner already has this dataset and ``known_dataset`` is "refuse".
    """
    check_title(options["title"])
    try:
        limits, choice = options.get("limits", LIMITS), options.get("choice")
        with _opened(options["path"], options.get("plain"), limits, choice) as table:
            reading = _reading(table, choice)
            digest = ContentDigest()
            yield from _checked(reading, digest)
            summary = reading.summary()
            del reading  # with the ids of all rows, which are gathered again
            refuses = options.get("bad_rows", "refuse") == "refuse"
            others = summary.n_problems - summary.left_out_errors
            if not summary.is_usable or (others and refuses):
                raise BadTable(summary)
            return _stored(table, summary, digest.hexdigest(summary.systems), options)
    except FormatError as error:
        raise BadTable(TableSummary.of_refusal(error)) from error
    except (DataError, IntegrityError) as error:
        reason = str(error).splitlines()[0]
        sentence = f"Nothing was imported, because the database refused the table: {reason}."
        raise DomainError("refused_by_database", sentence, status=400) from error


def _reading(table: Table, choice: Choice | None, max_rows: int | None = None) -> TableReading:
    choice = choice or Choice()
    return TableReading(
        table,
        layout=choice.layout,
        columns=choice.columns,
        is_complete=choice.is_complete,
        leave_out=choice.leave_out,
        fill_down=choice.fill_down,
        leave_out_errors=choice.leave_out_errors,
        max_rows=max_rows,
    )


def _checked(reading: TableReading, digest: ContentDigest) -> Iterator[tuple[int, int]]:
    """Add each row to the digest, and yield now and then how many there are."""
    total = reading.profile.rows
    for count, extracted in enumerate(reading.rows(), start=1):
        if extracted.instance is not None:
            digest.add(extracted.instance)
        for generation in extracted.generations:
            digest.add(generation)
        if count % BATCH == 0:
            yield count, total
    yield total, total


def check_title(title: str) -> None:
    """Raise `DomainError` if a study cannot have this title."""
    try:
        Study._meta.get_field("title").clean(title, None)
    except ValidationError as error:
        sentence = f"The title cannot be used: {' '.join(error.messages)}"
        raise DomainError("bad_title", sentence, status=400) from error


@transaction.atomic
def _stored(
    table: Table, summary: TableSummary, sha256: str, options: ImportOptions
) -> ImportedTable:
    title, owner = options["title"], options["owner"]
    known = known_dataset_of(sha256, owner, options.get("known_dataset", "use"))
    dataset = known or _store_dataset(table, summary, title, sha256, owner)
    # A HIT cannot have more comparisons than there are samples.
    places = summary.instances * len(summary.systems)
    samples = round(summary.generations / places) if places else 1
    assert summary.plan is not None
    study_settings = {
        "comparisons_per_hit": max(1, min(samples, MAX_COMPARISONS)),
        "fields": setting_of(summary.plan.fields),
        **recognised_formats(dataset),
        **_label(summary, dataset, options.get("study", "")),
    }
    if options.get("study"):
        study = give_texts(key=options["study"], dataset=dataset, settings=study_settings)
    else:
        spec = StudySpec(title, (PREFERENCE,), summary.systems, settings=study_settings)
        study = store_study(spec, dataset, owner)
    imported = ImportedTable(study, summary, known is not None)
    if "then" in options:
        options["then"](imported.study)
    return imported


def _label(summary: TableSummary, dataset: Dataset, draft: str) -> dict[str, str]:
    """Return the label of the source, where its column has a name that is one, and nobody chose another."""
    assert summary.plan is not None
    label = source_label(summary.plan.columns.get("source", ""))
    has_own = Study.objects.filter(pk=draft).exclude(source_label="").exists()
    is_chat = dataset.instances.exclude(messages=[]).exists()
    return {"source_label": label} if label and not has_own and not is_chat else {}


def _store_dataset(
    table: Table, summary: TableSummary, title: str, sha256: str, owner: User
) -> Dataset:
    dataset = Dataset.objects.create(name=title, sha256=sha256, created_by=owner)
    systems = System.objects.bulk_create(
        System(dataset=dataset, name=name) for name in summary.systems
    )
    by_name = {system.name: system for system in systems}
    by_key: dict[str, int] = {}
    assert summary.plan is not None
    rows = extracted_rows(table, summary.plan)
    while batch := list(islice(rows, BATCH)):
        _store_batch(batch, dataset, by_name, by_key)
    return dataset


def _store_batch(
    batch: Iterable[Extracted],
    dataset: Dataset,
    systems: Mapping[str, System],
    by_key: dict[str, int],
) -> None:
    """Store the new instances of some rows, and then their texts."""
    batch = list(batch)
    new = [instance_of(dataset, row.instance) for row in batch if row.instance is not None]
    by_key |= {instance.key: instance.pk for instance in Instance.objects.bulk_create(new)}
    Generation.objects.bulk_create(
        (generation_of(g, systems, by_key) for row in batch for g in row.generations),
        batch_size=BATCH,
    )
