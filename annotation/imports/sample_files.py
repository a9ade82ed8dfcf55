"""Sample files of every kind that can be imported, made of some texts of the demo."""

import csv
import io
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from tiebreak import optional
from tiebreak.formats import read_bundle

DEMO_BUNDLE: Path = settings.BASE_DIR / "studies" / "demo"
INSTANCES, SYSTEMS, SAMPLES = 6, 2, 2
# What came after the design: ratings, comments, and the plan with its tasks.
COLLECTED = shutil.ignore_patterns("*.csv", "screening.toml")
Row = dict[str, Any]


@dataclass(frozen=True)
class SampleFile:
    """A sample file: its name, what it shows, and how it is written."""

    name: str
    shows: str
    write: Callable[[], bytes]


def _long_rows() -> list[Row]:
    bundle = read_bundle(DEMO_BUNDLE)
    systems = bundle.spec.systems[:SYSTEMS]
    every = len(bundle.instances) // INSTANCES
    chosen = {item.id: item for item in bundle.instances[::every][:INSTANCES]}
    return [
        {
            "item": text.instance,
            "kind": chosen[text.instance].category,
            "minutes": chosen[text.instance].source,
            "model": text.system,
            "sample": text.sample_index,
            "summary": text.text,
        }
        for text in bundle.generations
        if text.instance in chosen and text.system in systems and text.sample_index < SAMPLES
    ]


def _wide_rows() -> list[Row]:
    """Return one row for each item, with the first text of each system in its own column."""
    rows: dict[str, Row] = {}
    for row in _long_rows():
        item = {name: row[name] for name in ("item", "kind", "minutes")}
        rows.setdefault(row["item"], item).setdefault(f"{row['model']}_summary", row["summary"])
    return list(rows.values())


def _pair_rows() -> list[Row]:
    pairs = []
    for number, row in enumerate(_wide_rows(), start=1):
        (a, text_a), (b, text_b) = (item for item in row.items() if item[0].endswith("_summary"))
        pairs.append(
            {
                "question_id": number,
                "prompt": row["minutes"],
                "model_a": a.removesuffix("_summary"),
                "model_b": b.removesuffix("_summary"),
                "response_a": text_a,
                "response_b": text_b,
            }
        )
    return pairs


def _nested_rows() -> Iterator[Row]:
    items: dict[str, Row] = {}
    for row in _long_rows():
        new = {"id": row["item"], "prompt": row["minutes"], "outputs": {}}
        outputs = items.setdefault(row["item"], new)["outputs"]
        outputs.setdefault(row["model"], []).append(row["summary"])
    return iter(items.values())


def _delimited(rows: list[Row], delimiter: str = ",") -> bytes:
    file = io.StringIO()
    writer = csv.DictWriter(file, rows[0].keys(), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode()


def _json_lines() -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in _nested_rows()).encode()


def _workbook() -> bytes:
    book = optional.load("openpyxl").Workbook()
    rows = _wide_rows()
    book.active.append(list(rows[0]))
    for row in rows:
        book.active.append(list(row.values()))
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _parquet() -> bytes:
    pa, pq = optional.load("pyarrow"), optional.load("pyarrow.parquet")
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(_long_rows()), file)
    return file.getvalue()


def _bundle() -> bytes:
    with tempfile.TemporaryDirectory(prefix="tiebreak-") as folder:
        shutil.copytree(DEMO_BUNDLE, Path(folder) / "sample-bundle", ignore=COLLECTED)
        archive = shutil.make_archive(f"{folder}/bundle", "zip", folder, "sample-bundle")
        return Path(archive).read_bytes()


SAMPLE_FILES = (
    SampleFile(
        "wide.csv", "one row per instance, one column per system", lambda: _delimited(_wide_rows())
    ),
    SampleFile(
        "long.csv", "one row per text, with a column of systems", lambda: _delimited(_long_rows())
    ),
    SampleFile(
        "pairs.csv", "one row per pair, with both systems' names", lambda: _delimited(_pair_rows())
    ),
    SampleFile(
        "long.tsv",
        "one row per text, with tabs instead of commas",
        lambda: _delimited(_long_rows(), "\t"),
    ),
    SampleFile(
        "wide.json",
        "a list of objects",
        lambda: json.dumps(_wide_rows(), ensure_ascii=False, indent=1).encode(),
    ),
    SampleFile("nested.jsonl", "one object per line, several texts per system", _json_lines),
    SampleFile("wide.xlsx", "a spreadsheet", _workbook),
    SampleFile("long.parquet", "a table as data frames save it", _parquet),
    SampleFile("bundle.zip", "a study with its design", _bundle),
)


def sample_file(name: str) -> SampleFile | None:
    """Return the sample file of this name."""
    return next((file for file in SAMPLE_FILES if file.name == name), None)
