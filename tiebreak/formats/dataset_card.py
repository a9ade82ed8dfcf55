"""A Hugging Face dataset: its card with YAML metadata, and its Croissant description.

Croissant 1.0 (https://docs.mlcommons.org/croissant/docs/croissant-spec.html) and its responsible-AI
vocabulary 1.0 (https://docs.mlcommons.org/croissant/docs/croissant-rai-spec.html).
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tiebreak.formats.evidence import digest_of_file
from tiebreak.formats.export_columns import ARROW_TYPES, MESSAGES, Columns

CARD, CROISSANT = "README.md", "croissant.json"
# Croissant's data type of each of Arrow's types.
_DATA_TYPES = {"int64": "cr:Int64", "float64": "cr:Float64", "bool_": "sc:Boolean"}
_SIZES = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M"}
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


@dataclass(frozen=True)
class DataTable:
    """A Parquet file of the dataset."""

    name: str
    """Name of the table, which is also the name of its configuration."""
    about: str
    """One sentence about its rows."""
    columns: Columns
    """What each column means."""
    rows: int
    """Number of rows."""
    types: Mapping[str, str] = field(default_factory=lambda: ARROW_TYPES)
    """Arrow types of the columns that do not hold text."""

    @property
    def path(self) -> str:
        """The file's path in the folder of the dataset."""
        return f"data/{self.name}.parquet"


@dataclass(frozen=True)
class DatasetDescription:
    """What the card and the Croissant file say about a dataset."""

    title: str
    about: str
    """Title, and what the dataset is, in one paragraph."""
    tables: Sequence[DataTable]
    """Files; the first file is the default."""
    responsible: Mapping[str, str | Sequence[str]]
    """Properties of Croissant's responsible-AI vocabulary, without the prefix ``rai:``."""
    sections: Mapping[str, str]
    """Headings of the card with their Markdown text."""


def write_card(folder: Path, description: DatasetDescription) -> None:
    """Write README.md and croissant.json next to the tables of a dataset, which must exist already.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     write_card(Path(name), DatasetDescription("Notes", "Two notes.", (), {}, {}))
    ...     (Path(name) / "README.md").read_text().splitlines()[1]
    'pretty_name: "Notes"'
    """
    (folder / CARD).write_text(_card(description), encoding="utf-8")
    croissant = json.dumps(_croissant(folder, description), ensure_ascii=False, indent=2)
    (folder / CROISSANT).write_text(croissant + "\n", encoding="utf-8")


def _card(description: DatasetDescription) -> str:
    lines = ["---", *_front_matter(description), "---", "", f"# {cleaned(description.title)}", ""]
    lines += [description.about, "", "## Tables", "", "| configuration | rows | contents |"]
    lines += ["| --- | --- | --- |"]
    lines += [f"| `{table.name}` | {table.rows} | {table.about} |" for table in description.tables]
    for heading, text in description.sections.items():
        lines += ["", f"## {heading}", "", text]
    for table in description.tables:
        lines += ["", f"## Columns of `{table.name}`", "", "| column | meaning |", "| --- | --- |"]
        lines += [f"| `{name}` | {meaning} |" for name, meaning in table.columns.items()]
    return "\n".join(lines) + "\n"


def _front_matter(description: DatasetDescription) -> Iterator[str]:
    # Texts in double quotes are the same in YAML as in JSON.
    yield f"pretty_name: {json.dumps(description.title, ensure_ascii=False)}"
    yield "license: unknown"
    yield "tags:\n- preference\n- human-feedback\n- croissant"
    if not description.tables:
        return
    most = max(table.rows for table in description.tables)
    size = next((name for limit, name in _SIZES.items() if most < limit), "n>1M")
    yield f"size_categories:\n- {size}"
    yield "configs:"
    for index, table in enumerate(description.tables):
        yield f"- config_name: {table.name}"
        yield f"  data_files: {table.path}"
        if index == 0:
            yield "  default: true"


def _croissant(folder: Path, description: DatasetDescription) -> dict[str, Any]:
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": [
            "http://mlcommons.org/croissant/1.0",
            "http://mlcommons.org/croissant/RAI/1.0",
        ],
        "name": re.sub(r"\W+", "-", description.title).strip("-_").lower() or "study",
        "alternateName": description.title,
        "description": description.about,
        **{f"rai:{name}": value for name, value in description.responsible.items()},
        "distribution": [_file(folder, table) for table in description.tables],
        "recordSet": [_record_set(table) for table in description.tables],
    }


def _file(folder: Path, table: DataTable) -> dict[str, str]:
    return {
        "@type": "cr:FileObject",
        "@id": f"{table.name}.parquet",
        "name": f"{table.name}.parquet",
        "contentUrl": table.path,
        "encodingFormat": "application/x-parquet",
        "sha256": digest_of_file(folder / table.path),
    }


def _record_set(table: DataTable) -> dict[str, Any]:
    fields = [name for name in table.columns if table.types.get(name) != MESSAGES]
    return {
        "@type": "cr:RecordSet",
        "@id": table.name,
        "name": table.name,
        "description": table.about,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{table.name}/{name}",
                "name": name,
                "description": table.columns[name],
                "dataType": _DATA_TYPES.get(table.types.get(name, ""), "sc:Text"),
                "source": {
                    "fileObject": {"@id": f"{table.name}.parquet"},
                    "extract": {"column": name},
                },
            }
            for name in fields
        ],
    }


def cleaned(text: str) -> str:
    """Escape text for Markdown, on one line, so that a name cannot become a link, an image or HTML."""
    return re.sub(r"([\\`*_\[\]<>#!&~|])", r"\\\1", " ".join(text.split()))
