"""Import of tables: 100,000 rows × 10 columns of each format, and twice as many for the memory.

`make bench-import` reads each table as the page does, guesses its columns, checks every row, and
stores two of them in an SQLite database.
"""

import csv
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path

import django
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.harness import Measured, Row, measured, publish
from tiebreak.formats.limits import Limits
from tiebreak.formats.tables import TableReading, open_table

ROWS = 100_000
LIMITS = Limits(rows=10 * ROWS)
# Ids, hashes and counts are kept for each row; texts are not.
MAX_GROWTH_MB = 60
SECONDS = {"csv": 30, "jsonl": 30, "json": 30, "parquet": 40, "xlsx": 90, "long.csv": 30}
SENTENCE = "The council voted on Tuesday to close the ferry, because money was short. "


def rows(n: int) -> Iterator[dict[str, str]]:
    """Yield wide rows of 10 columns: an id, a category, a source, a reference and six systems."""
    for i in range(n):
        texts = {f"answer_{name}": f"Answer {i} of {name}. {SENTENCE}" for name in "abcdef"}
        yield {
            "id": f"item-{i}",
            "topic": f"topic {i % 7}",
            "article": f"Article {i}. {SENTENCE * 4}",
            "human_reference": f"Reference {i}. {SENTENCE}",
            **texts,
        }


def long_rows(n: int) -> Iterator[dict[str, str]]:
    """Yield long rows of 10 columns, of which four are left out."""
    for i in range(n):
        item, system = divmod(i, 4)
        yield {
            "id": f"item-{item}",
            "topic": f"topic {item % 7}",
            "article": f"Article {item}. {SENTENCE * 4}",
            "reference": f"Reference {item}. {SENTENCE}",
            "model": f"model-{system}",
            "output": f"Answer {i}. {SENTENCE}",
            **{f"tokens_{k}": str(i % 100) for k in range(4)},
        }


def write_csv(path: Path, n: int, make: Callable[[int], Iterator[dict[str, str]]] = rows) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, next(make(1)))
        writer.writeheader()
        writer.writerows(make(n))


def write_jsonl(path: Path, n: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows(n))


def write_json(path: Path, n: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        parts = (json.dumps(row) for row in rows(n))
        file.write("[" + next(parts))
        file.writelines(f",\n{part}" for part in parts)
        file.write("]")


def write_parquet(path: Path, n: int) -> None:
    # In groups of rows, because the readers' processes begin with the memory that this one has.
    schema = pa.schema([(name, pa.string()) for name in next(rows(1))])
    made = rows(n)
    with pq.ParquetWriter(path, schema) as writer:
        while group := list(islice(made, 10_000)):
            writer.write_table(pa.Table.from_pylist(group, schema))


def write_xlsx(path: Path, n: int) -> None:
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    sheet.append(list(next(rows(1))))
    for row in rows(n):
        sheet.append(list(row.values()))
    book.save(path)


WRITERS: dict[str, Callable[[Path, int], None]] = {
    "csv": write_csv,
    "jsonl": write_jsonl,
    "json": write_json,
    "parquet": write_parquet,
    "xlsx": write_xlsx,
    "long.csv": partial(write_csv, make=long_rows),
}


def prepare_reading(path: Path) -> Callable[[], object]:
    return partial(read, path)


def read(path: Path) -> None:
    with open_table(path, limits=LIMITS) as table:
        reading = TableReading(table)
        for _ in reading.rows():
            pass
        if reading.summary().problems:
            raise SystemExit(f"{path} has problems: {reading.summary().problems[:3]}")


def prepare_storing(path: Path) -> Callable[[], object]:
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    os.environ["TIEBREAK_VAR_DIR"] = tempfile.mkdtemp(dir=path.parent)
    django.setup()
    return partial(store, path)


def store(path: Path) -> None:
    # Django's models can only be imported after its set-up.
    from django.contrib.auth.models import User  # noqa: PLC0415
    from django.core.management import call_command  # noqa: PLC0415

    from studies.data.table_import import import_table  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    owner = User.objects.create_user("bench")
    import_table(path=path, owner=owner, title="Benchmark", limits=LIMITS)


def row_of(work: str, result: Measured, smaller: Measured, seconds: float) -> Row:
    growth = result.megabytes - smaller.megabytes
    must = f"{seconds:.0f} s, {MAX_GROWTH_MB} MB more than for half the rows ({growth:.0f})"
    is_reached = result.seconds <= seconds and growth <= MAX_GROWTH_MB
    return Row(work, result.seconds, result.megabytes, "", None, must, is_reached)


def reading_rows(folder: Path) -> Iterator[Row]:
    for ending, write in WRITERS.items():
        results = []
        for n in (ROWS // 2, ROWS):
            path = folder / f"{n}.{ending}"
            write(path, n)
            results.append(measured(partial(prepare_reading, path), runs=1))
        yield row_of(f"read and check {ending}", results[1], results[0], SECONDS[ending])


def storing_rows(folder: Path) -> Iterator[Row]:
    for ending in ("csv", "long.csv"):
        half, whole = (
            measured(partial(prepare_storing, folder / f"{n}.{ending}"), runs=1)
            for n in (ROWS // 2, ROWS)
        )
        yield row_of(f"import {ending} into SQLite", whole, half, 180)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="tiebreak-bench-") as name:
        folder = Path(name)
        return publish("import", [*reading_rows(folder), *storing_rows(folder)])


if __name__ == "__main__":
    sys.exit(main())
