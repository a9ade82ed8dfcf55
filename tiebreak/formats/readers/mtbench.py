"""MT-Bench's human judgments and GPT-4's pairwise verdicts, from CSV files of votes."""

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tiebreak.formats import FormatError, InstanceRow, StudySpec
from tiebreak.formats.bundle import CriterionSpec
from tiebreak.formats.readers.converted import Converted, cell, files_of
from tiebreak.formats.rows import Row

PREFERENCE = CriterionSpec("preference", "preference:tie", "Which answer is better?")
LABELS = {"model_a": -1, "model_b": 1, "tie": 0, "tie (inconsistent)": 0}


def read_mtbench(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read votes with the columns `question_id`, `model_a`, `model_b`, `turn` and `winner`.

    Human votes also have a column `judge`. Systems are ordered alphabetically, whatever their side
    in a vote. If a judge voted on the same unit again, the later votes are flagged as superseded.
    """
    ratings: list[Row] = []
    for path in files_of(paths, "*.csv"):
        if not path.is_file():
            raise FormatError.of(path.name, None, "no_such_file", "does not exist")
        with path.open(encoding="utf-8", newline="") as file:
            ratings += [_vote(row, path, line) for line, row in enumerate(csv.DictReader(file), 2)]
    votes: Counter[tuple[str, str]] = Counter()
    for row in ratings:
        votes[row["unit"], row["rater"]] += 1
        row["superseded"] = votes[row["unit"], row["rater"]] > 1
    names = {str(row[side]) for row in ratings for side in ("system_a", "system_b")}
    spec = StudySpec(
        title="MT-Bench human judgments",
        criteria=(PREFERENCE,),
        systems=tuple(sorted(names)),
        settings={"comparisons_per_hit": 1},
    )
    instances = [InstanceRow(name) for name in dict.fromkeys(row["instance"] for row in ratings)]
    return Converted(spec, instances, [], ratings)


def _vote(row: Row, path: Path, line: int) -> Row:
    first, second = (str(cell(row, name, path, line)) for name in ("model_a", "model_b"))
    winner = str(cell(row, "winner", path, line))
    label = LABELS.get(winner)
    in_order = first < second
    a, b = (first, second) if in_order else (second, first)
    instance = f"{cell(row, 'question_id', path, line)}/{cell(row, 'turn', path, line)}"
    is_human = "judge" in row
    if is_human and label is None:
        reason = f"winner must be one of {', '.join(LABELS)}, not {winner!r}"
        raise FormatError.of(path.name, line, "unknown_value", reason)
    answer: Row = {"label": None, "raw": winner}
    if label is not None:
        answer = {"label": label if in_order else -label}
    return {
        "unit": f"{instance}/{a}/{b}",
        "rater": str(row["judge"]) if is_human else "gpt-4",
        "kind": "human" if is_human else "machine",
        "criterion": PREFERENCE.name,
        "instance": instance,
        "system_a": a,
        "system_b": b,
        "side_a": "left" if in_order else "right",
        **answer,
    }
