"""SummEval's expert ratings of single summaries on four criteria from 1 to 5, without texts."""

from collections.abc import Sequence
from pathlib import Path

from tiebreak.formats import FormatError, InstanceRow, StudySpec
from tiebreak.formats.bundle import CriterionSpec
from tiebreak.formats.errors import Problems
from tiebreak.formats.readers.converted import Converted, files_of, text_cell
from tiebreak.formats.readers.recognition import Head, Reader
from tiebreak.formats.rows import Row, read_rows

CRITERIA = ("coherence", "consistency", "fluency", "relevance")


def read_summeval(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read rows with `instance`, `system` and a list of expert labels per criterion.

    `systems` is ignored, because each row names its system.
    """
    rows: list[tuple[Path, int, Row]] = []
    for path in files_of(paths, "*.jsonl"):
        if not path.is_file():
            raise FormatError.of(path.name, None, "no_such_file", "does not exist")
        problems = Problems()
        rows += [(path, line, row) for line, row in read_rows(path, problems)]
        problems.check()
    ratings = [rating for path, line, row in rows for rating in _ratings(row, path, line)]
    names = [name for name in CRITERIA if any(name in row for _, _, row in rows)]
    spec = StudySpec(
        title="SummEval",
        criteria=tuple(CriterionSpec(n, "ordinal:1..5", f"How is the {n}?") for n in names),
        systems=tuple(sorted({str(row["system"]) for _, _, row in rows})),
        settings={"comparisons_per_hit": 1, "unit_kind": "generation"},
    )
    instances = dict.fromkeys(str(row["instance"]) for _, _, row in rows)
    return Converted(spec, [InstanceRow(name) for name in instances], [], ratings)


def _ratings(row: Row, path: Path, line: int) -> list[Row]:
    instance = text_cell(row, "instance", path, line)
    system = text_cell(row, "system", path, line)
    return [
        {
            "unit": f"{instance}/{system}",
            "rater": f"expert-{number}",
            "label": label,
            "criterion": criterion,
            "instance": instance,
            "system_a": system,
            "sample_a": 0,
        }
        for criterion in CRITERIA
        for number, label in enumerate(row.get(criterion, ()), start=1)
    ]


def _knows(head: Head) -> bool:
    lists = {name for row in head.rows for name, cell in row.items() if isinstance(cell, list)}
    return head.has("instance", "system") and len(lists & {*CRITERIA}) > 1


READER: Reader = Reader(read_summeval, _knows)
