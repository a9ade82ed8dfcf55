"""Imports a plain table: its dataset, and a draft study on it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, transaction

from studies.importing import (
    BATCH,
    ContentDigest,
    KnownDataset,
    generation_of,
    instance_of,
    known_dataset_of,
    store_study,
)
from studies.models import Dataset, Generation, Instance, Study, System
from tiebreak.errors import DomainError
from tiebreak.formats import CriterionSpec, FormatError, StudySpec
from tiebreak.formats.limits import LIMITS, Limits
from tiebreak.formats.tables import (
    Extracted,
    Profile,
    Table,
    TableSummary,
    extracted_rows,
    open_table,
    summarize_table,
)

BadRows = Literal["refuse", "leave_out"]
OnRow = Callable[[int], None]
MAX_TOLD = 20
MAX_COMPARISONS = 5
PREFERENCE = CriterionSpec("preference", "preference:tie", "Which text is better?")


@dataclass(frozen=True)
class Choice:
    """How a researcher wants a table to be read. What is missing is guessed.

    `is_complete` says that `columns` has all roles, so that nothing is guessed.
    """

    layout: str | None = None
    columns: Mapping[str, str] | None = None
    is_complete: bool = False


@dataclass(frozen=True)
class ImportedTable:
    """A draft study on a table, and what the table contains."""

    study: Study
    summary: TableSummary
    dataset_was_known: bool


class BadTable(DomainError):
    """A table was refused; ``summary`` lists the problems."""

    def __init__(self, summary: TableSummary) -> None:
        lines = [str(problem) for problem in summary.problems[:MAX_TOLD]]
        more = summary.n_problems - len(lines)
        lines += [f"… and {more:,} more."] if more > 0 else []
        super().__init__("bad_table", "\n".join(lines), status=400)
        self.summary = summary


def inspect_table(
    *,
    path: Path,
    choice: Choice | None = None,
    limits: Limits = LIMITS,
    max_rows: int | None = None,
) -> tuple[Profile, TableSummary]:
    """Return what the columns look like and what the table contains, and store nothing."""
    try:
        with open_table(path, limits=limits) as table:
            return _summarized(table, choice or Choice(), max_rows=max_rows)
    except FormatError as error:
        return Profile(), TableSummary.of_refusal(error)


def import_table(
    *,
    path: Path,
    owner: User,
    title: str,
    choice: Choice | None = None,
    limits: Limits = LIMITS,
    bad_rows: BadRows = "refuse",
    known_dataset: KnownDataset = "use",
    on_row: OnRow | None = None,
    then: Callable[[ImportedTable], None] | None = None,
) -> ImportedTable:
    """Store all of a table and a draft study on it, or nothing.

    Raises `BadTable` if rows have problems, unless ``bad_rows`` is "leave_out"; or `DomainError` if
    the owner already has this dataset and ``known_dataset`` is "refuse". ``on_row`` is called with
    the number of rows checked so far, and ``then`` in the transaction in which the study is stored.
    """
    _check_title(title)
    with open_table(path, limits=limits) as table:
        digest = ContentDigest()
        _, summary = _summarized(table, choice or Choice(), visit=_Visitor(digest, on_row))
        if not summary.is_usable or (summary.problems and bad_rows == "refuse"):
            raise BadTable(summary)
        try:
            return _stored(
                table,
                summary,
                title=title,
                owner=owner,
                sha256=digest.hexdigest(summary.systems),
                known_dataset=known_dataset,
                then=then,
            )
        except (DataError, IntegrityError) as error:
            reason = str(error).splitlines()[0]
            sentence = f"Nothing was imported, because the database refused the table: {reason}."
            raise DomainError("refused_by_database", sentence, status=400) from error


def _check_title(title: str) -> None:
    try:
        Study._meta.get_field("title").clean(title, None)
    except ValidationError as error:
        sentence = f"The title cannot be used: {' '.join(error.messages)}"
        raise DomainError("bad_title", sentence, status=400) from error


def _summarized(
    table: Table,
    choice: Choice,
    *,
    max_rows: int | None = None,
    visit: Callable[[Extracted], None] | None = None,
) -> tuple[Profile, TableSummary]:
    return summarize_table(
        table,
        layout=choice.layout,
        columns=choice.columns,
        is_complete=choice.is_complete,
        max_rows=max_rows,
        visit=visit,
    )


class _Visitor:
    """Adds what each row contributes to the digest, and tells how many rows were checked."""

    def __init__(self, digest: ContentDigest, on_row: OnRow | None) -> None:
        self.digest, self.on_row, self.rows = digest, on_row, 0

    def __call__(self, extracted: Extracted) -> None:
        self.rows += 1
        if extracted.instance is not None:
            self.digest.add(extracted.instance)
        for generation in extracted.generations:
            self.digest.add(generation)
        if self.on_row is not None and self.rows % BATCH == 0:
            self.on_row(self.rows)


@transaction.atomic
def _stored(
    table: Table,
    summary: TableSummary,
    *,
    title: str,
    owner: User,
    sha256: str,
    known_dataset: KnownDataset,
    then: Callable[[ImportedTable], None] | None,
) -> ImportedTable:
    known = known_dataset_of(sha256, owner, known_dataset)
    dataset = known or _store_dataset(table, summary, title, sha256, owner)
    spec = StudySpec(title, (PREFERENCE,), summary.systems, settings=_settings(summary))
    imported = ImportedTable(store_study(spec, dataset, owner), summary, known is not None)
    if then is not None:
        then(imported)
    return imported


def _settings(summary: TableSummary) -> dict[str, int]:
    """Return the settings that depend on the data: a HIT cannot compare more than the samples."""
    samples = round(summary.generations / (summary.instances * len(summary.systems)))
    return {"comparisons_per_hit": max(1, min(samples, MAX_COMPARISONS))}


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
