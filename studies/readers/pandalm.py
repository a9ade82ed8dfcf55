"""The PandaLM test set: three annotators a comparison, and machine raters in files beside it.

Labels: 0 tie, 1 the first response, 2 the second. What a machine said otherwise is kept raw.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from studies.formats import FormatError, GenerationRow, InstanceRow, Problem, StudySpec
from studies.formats.bundle import CriterionSpec
from studies.formats.rows import Row
from studies.readers.converted import Converted, cell, files_of, load_list

PREFERENCE = CriterionSpec("preference", "preference:tie", "Which response is better?")
LABELS = {"0": 0, "tie": 0, "1": -1, "2": 1}
ANNOTATORS = ("annotator1", "annotator2", "annotator3")


def read_pandalm(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """The test set and any files of machine results, told apart by their columns.

    `systems` is not needed: each row names its pair.
    """
    files = {path: load_list(path) for path in files_of(paths, "*.json")}
    humans = {path: rows for path, rows in files.items() if "annotator1" in rows[0]}
    if len(humans) != 1:
        names = ", ".join(path.name for path in files)
        reason = "exactly one file must hold the annotators (a column annotator1)"
        raise FormatError([Problem(names, None, reason)])
    path, rows = next(iter(humans.items()))
    units = {_index(row, path, line): row for line, row in enumerate(rows, start=1)}
    ratings = [rating for row in units.values() for rating in _of_annotators(row)]
    for machine_path, answers in files.items():
        if machine_path != path:
            ratings += _of_machine(machine_path, answers, units)
    spec = StudySpec(
        title="PandaLM test set",
        criteria=(PREFERENCE,),
        systems=tuple(sorted({name for row in units.values() for name in _systems(row)})),
        ratings_per_hit=len(ANNOTATORS),
        comparisons_per_hit=1,
    )
    return Converted(
        spec,
        [_instance(row) for row in units.values()],
        [generation for row in units.values() for generation in _generations(row)],
        ratings,
    )


def _index(row: Row, path: Path, line: int) -> int:
    for column in ("idx", "cmp_key", "response1", "response2", *ANNOTATORS):
        cell(row, column, path, line)
    return int(row["idx"])


def _systems(row: Row) -> tuple[str, str]:
    first, _, second = str(row["cmp_key"]).partition("_")
    return first, second


def _instance(row: Row) -> InstanceRow:
    parts = [str(row.get("instruction") or ""), str(row.get("input") or "")]
    return InstanceRow(
        str(row["idx"]),
        source="\n\n".join(part for part in parts if part),
        category=str(row.get("motivation_app") or ""),
    )


def _generations(row: Row) -> list[GenerationRow]:
    texts = (str(row["response1"]), str(row["response2"]))
    return [
        GenerationRow(str(row["idx"]), system, 0, text)
        for system, text in zip(_systems(row), texts, strict=True)
        if text.strip()
    ]


def _common(row: Row) -> Row:
    system_a, system_b = _systems(row)
    return {
        "unit": str(row["idx"]),
        "criterion": PREFERENCE.name,
        "instance": str(row["idx"]),
        "system_a": system_a,
        "system_b": system_b,
        "sample_a": 0,
        "sample_b": 0,
        "category": str(row.get("motivation_app") or ""),
    }


def _of_annotators(row: Row) -> list[Row]:
    return [
        {**_common(row), "rater": name, "kind": "human", **_label(row[name])} for name in ANNOTATORS
    ]


def _of_machine(path: Path, answers: list[Row], units: dict[int, Row]) -> list[Row]:
    name = path.stem.removesuffix("-testset-v1")
    found = []
    for line, answer in enumerate(answers, start=1):
        result = next((key for key in answer if key.endswith("_result")), None)
        unit = units.get(answer.get("idx", -1))
        if result is None or unit is None:
            reason = "has no result, or an idx that the test set does not have"
            raise FormatError([Problem(path.name, line, reason)])
        found.append({**_common(unit), "rater": name, "kind": "machine", **_label(answer[result])})
    return found


def _label(answer: Any) -> Row:
    label = LABELS.get(str(answer).strip().lower())
    return {"label": label} if label is not None else {"label": None, "raw": str(answer) or "?"}
