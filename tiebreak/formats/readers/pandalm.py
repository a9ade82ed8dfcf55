"""The PandaLM test set, with three annotators per comparison and one file per machine rater.

The labels are 0 for a tie, 1 for the first response and 2 for the second. Other machine answers
are unparsed.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiebreak.formats import FormatError, GenerationRow, InstanceRow, StudySpec
from tiebreak.formats.bundle import CriterionSpec
from tiebreak.formats.readers.converted import Converted, cell, files_of, load_list
from tiebreak.formats.readers.recognition import Reader
from tiebreak.formats.rows import Row
from tiebreak.formats.tables.nesting import text_of

PREFERENCE = CriterionSpec("preference", "preference:tie", "Which response is better?")
LABELS = {"0": 0, "tie": 0, "1": -1, "2": 1}
ANNOTATORS = ("annotator1", "annotator2", "annotator3")


def read_pandalm(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read the test set and the machines' files, which are told apart by their columns.

    `systems` is ignored, because each row names its systems.
    """
    files = {path: load_list(path) for path in files_of(paths, "*.json")}
    humans = {path: rows for path, rows in files.items() if "annotator1" in rows[0]}
    if len(humans) != 1:
        names = ", ".join(path.name for path in files)
        reason = "exactly one file must have annotators' labels (a column annotator1)"
        raise FormatError.of(names, None, "not_one_human_file", reason)
    path, rows = next(iter(humans.items()))
    units = {_index(row, path, line): row for line, row in enumerate(rows, start=1)}
    _name_instances(list(units.values()))
    ratings = [rating for row in units.values() for rating in _of_annotators(row)]
    for machine_path, answers in files.items():
        if machine_path != path:
            ratings += _of_machine(machine_path, answers, units)
    spec = StudySpec(
        title="PandaLM test set",
        criteria=(PREFERENCE,),
        systems=tuple(sorted({name for row in units.values() for name in _systems(row)})),
        settings={"ratings_per_hit": len(ANNOTATORS), "comparisons_per_hit": 1},
    )
    return Converted(
        spec,
        list({instance.id: instance for instance in map(_instance, units.values())}.values()),
        [
            GenerationRow(row["instance"], system, row["samples"][system], text)
            for row in units.values()
            for system, text in _texts(row).items()
            if text.strip() and row["is_first"][system]
        ],
        ratings,
    )


def _index(row: Row, path: Path, line: int) -> int:
    for column in ("idx", "cmp_key", "response1", "response2", *ANNOTATORS):
        cell(row, column, path, line)
    return int(row["idx"])


def _systems(row: Row) -> tuple[str, str]:
    first, _, second = str(row["cmp_key"]).partition("_")
    return first, second


def _texts(row: Row) -> dict[str, str]:
    """Return each system's response; in the file, some are JSON literals such as ``true``."""
    responses = (row["response1"], row["response2"])
    texts = (str(text).lower() if isinstance(text, bool) else text_of(text) for text in responses)
    return dict(zip(_systems(row), texts, strict=True))


def _source(row: Row) -> str:
    parts = (text_of(row.get("instruction")), text_of(row.get("input")))
    return "\n\n".join(part for part in parts if part)


def _name_instances(rows: list[Row]) -> None:
    """Number the instances, and the samples of each system, by their texts.

    Several pairs of systems are compared on the same input. These comparisons must share an
    instance, because intervals resample instances.
    """
    instances: dict[str, str] = {}
    samples: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows:
        row["instance"] = instances.setdefault(_source(row), f"input-{len(instances) + 1:04d}")
        row["samples"], row["is_first"] = {}, {}
        for system, text in _texts(row).items():
            index_of = samples.setdefault((row["instance"], system), {})
            row["is_first"][system] = text not in index_of
            row["samples"][system] = index_of.setdefault(text, len(index_of))


def _instance(row: Row) -> InstanceRow:
    category = str(row.get("motivation_app") or "")
    return InstanceRow(row["instance"], source=_source(row), category=category)


def _common(row: Row) -> Row:
    system_a, system_b = _systems(row)
    sides = zip(("sample_a", "sample_b"), _texts(row).items(), strict=True)
    # An empty response has no sample.
    samples = {side: row["samples"][system] for side, (system, text) in sides if text.strip()}
    return {
        "unit": str(row["idx"]),
        "criterion": PREFERENCE.name,
        "instance": row["instance"],
        "system_a": system_a,
        "system_b": system_b,
        **samples,
        "category": str(row.get("motivation_app") or ""),
    }


def _of_annotators(row: Row) -> list[Row]:
    unit = {"unit": str(row["unit"])} if row.get("unit") else {}
    return [
        {**_common(row), "rater": name, "kind": "human", **_label(row[name])} | unit
        for name in ANNOTATORS
    ]


def read_pandalm_verdicts(path: Path) -> list[Row]:
    """Return the verdicts of a machine's file alone; their unit is the comparison's `idx`."""
    return [
        {"unit": str(cell(answer, "idx", path, line)), **_verdict(answer, path, line)}
        for line, answer in enumerate(load_list(path), start=1)
    ]


def _of_machine(path: Path, answers: list[Row], units: dict[int, Row]) -> list[Row]:
    ratings = []
    for line, answer in enumerate(answers, start=1):
        unit = units.get(answer.get("idx", -1))
        if unit is None:
            raise FormatError.of(path.name, line, "no_result", "its idx is not in the test set")
        ratings.append(_common(unit) | _verdict(answer, path, line))
    return ratings


def _verdict(answer: Row, path: Path, line: int) -> Row:
    """Return a machine's verdict, which is about the responses as the test set numbers them."""
    result = next((key for key in answer if key.endswith("_result")), None)
    if result is None:
        reason = "has no column that ends in _result"
        raise FormatError.of(path.name, line, "no_result", reason)
    facts = {name: answer[name] for name in ("order", "run", "rater", "unit") if answer.get(name)}
    name = path.stem.removesuffix("-testset-v1")
    return {"rater": name, "kind": "machine", **_label(answer[result]), "line": line} | facts


def _label(answer: Any) -> Row:
    label = LABELS.get(str(answer).strip().lower())
    return {"label": label} if label is not None else {"label": None, "raw": str(answer) or "?"}


READER: Reader = Reader(read_pandalm, lambda head: head.has("idx", "cmp_key", "annotator1"))
