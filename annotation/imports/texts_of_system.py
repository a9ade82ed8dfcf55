"""The texts of one further system of a dataset, from a file of JSON Lines."""

from dataclasses import fields
from pathlib import Path

from django.db import transaction

from annotation.imports.uploads import Upload, stored_upload, upload_limits
from studies.models import Dataset, Generation, System
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats.bundle import GenerationRow, generation_of
from tiebreak.formats.errors import Problems
from tiebreak.formats.rows import Row, read_jsonl

LINES = "lines"
COLUMNS = {one.name for one in fields(GenerationRow)} - {"is_dummy"}
NAME_TAKEN = "The data set has a system {name} already. Give the new one another name, or choose it without a file."


@transaction.atomic
def import_texts(*, dataset: Dataset, name: str, upload: Upload) -> System:
    """Add a system with the texts of a file, of which each row has an `instance` and a `text`.

    Rows are those of a bundle's generations.jsonl, where `system` may be missing. Raises `DomainError` if
    the dataset has a system of this name, and `FormatError` with all problems of the file.
    """
    dataset = Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)
    if System.objects.filter(dataset=dataset, name=name).exists():
        raise DomainError("name_taken", NAME_TAKEN.format(name=name))
    with stored_upload(upload, LINES) as path:
        rows = _rows(path, dataset, name)
    system = System(dataset=dataset, name=name)
    system.full_clean()
    system.save()
    Generation.objects.bulk_create(
        (
            Generation(
                instance_id=instance,
                system=system,
                sample_index=row.sample_index,
                text=row.text,
                seed=row.seed,
                params=row.params,
            )
            for instance, row in rows
        ),
        batch_size=1_000,
    )
    return system


def _rows(path: Path, dataset: Dataset, name: str) -> list[tuple[int, GenerationRow]]:
    instances = dict(dataset.instances.values_list("key", "pk"))
    problems, seen, rows = Problems(), set[tuple[str, int]](), []
    for line, row in read_jsonl(path, problems, upload_limits()):
        with problems.at(path.name, line):
            text = _checked(row, name)
            if text.instance not in instances:
                raise InvalidInput(
                    "unknown_instance", f"the data set has no instance {text.instance!r}"
                )
            if (text.instance, text.sample_index) in seen:
                raise InvalidInput("repeated", "has the text of an instance and sample again")
            seen.add((text.instance, text.sample_index))
            rows.append((instances[text.instance], text))
    problems.check()
    return rows


def _checked(row: Row, name: str) -> GenerationRow:
    if unknown := sorted(row.keys() - COLUMNS):
        raise InvalidInput("unknown_column", f"has {unknown[0]!r}, which texts of a system lack")
    text = generation_of({"system": name, **row})
    if text.system != name:
        raise InvalidInput("other_system", f"is a text of {text.system!r}, not of {name!r}")
    return text
