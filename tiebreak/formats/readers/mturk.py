"""Batch results of Amazon Mechanical Turk in the layout of the SEPARABILITY study.

Columns are numbered by pair k. `Input.model1_summaryk` is the text shown on the left, and
`Input.idk` (1 or 2) says which system wrote it. `Answer.prefk` is −1 for left, 1 for right and 0
for no preference. An instance is identified by all of its texts, and pair k is sample k of both
systems. Worker ids are unique only within a file.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tiebreak.formats import FormatError, GenerationRow, InstanceRow, StudySpec
from tiebreak.formats.bundle import CriterionSpec
from tiebreak.formats.readers.converted import Converted, files_of, rows_of, text_cell
from tiebreak.formats.rows import Row

REJECTED = "The assignment was rejected on Mechanical Turk."
# What the reader takes; what else a row has in these columns is named as left out.
_USED = re.compile(r"Input\.(model[12]_summary|id)\d+|Answer\.pref\d+")
PREFERENCE = CriterionSpec("preference", "preference:tie", "Which text do you prefer?")


@dataclass(frozen=True)
class _Pair:
    """One comparison of a row: the texts in system order, the label, and the side of system A."""

    text_a: str
    text_b: str
    label: int
    side_a: str


def read_mturk(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read batch files with one pair of systems each: `systems`, or a guess from the file name."""
    instances: list[InstanceRow] = []
    generations: list[GenerationRow] = []
    ratings: list[Row] = []
    names: list[str] = []
    lost: Counter[str] = Counter()
    comparisons = workers = 1
    for path in files_of(paths, "*.csv"):
        pair = systems or _guess_systems(path)
        names += [name for name in pair if name not in names]
        batch = _Batch(path, pair)
        for line, row in rows_of(path):
            batch.add(line, row)
        instances += batch.instances
        generations += batch.generations
        ratings += batch.ratings
        lost += batch.left_out
        comparisons, workers = max(comparisons, batch.size), max(workers, batch.raters_per_hit())
    spec = StudySpec(
        title="Imported from Mechanical Turk",
        criteria=(PREFERENCE,),
        systems=tuple(names),
        settings={"ratings_per_hit": workers, "comparisons_per_hit": comparisons},
    )
    return Converted(spec, instances, generations, ratings, lost)


class _Batch:
    """The rows of one file, with instances identified by their texts."""

    def __init__(self, path: Path, systems: tuple[str, str]) -> None:
        self.path, self.systems = path, systems
        self.name = path.stem.removesuffix("_pref_data")
        self.instances: list[InstanceRow] = []
        self.generations: list[GenerationRow] = []
        self.ratings: list[Row] = []
        self.size = 0
        self._names: dict[tuple[tuple[str, str], ...], str] = {}
        self._rater_counts: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()

    def add(self, line: int, row: Row) -> None:
        pairs = _pairs(row, self.path, line)
        self.size = max(self.size, len(pairs))
        instance = self._instance(tuple((pair.text_a, pair.text_b) for pair in pairs))
        is_rejected = _is_rejected(row)
        self.left_out["rejected assignments, flagged excluded"] += is_rejected
        self.left_out.update(_unused(row))
        flags = {"excluded": True, "excluded_reason": REJECTED} if is_rejected else {}
        self._rater_counts[instance] += not is_rejected
        worker = text_cell(row, "WorkerId", self.path, line).strip()
        for k, pair in enumerate(pairs):
            self.ratings.append(
                {
                    "unit": f"{instance}/{k}",
                    "rater": f"{self.name}/{worker}",
                    "label": pair.label,
                    "criterion": PREFERENCE.name,
                    "instance": instance,
                    "category": self.name,
                    "system_a": self.systems[0],
                    "system_b": self.systems[1],
                    "sample_a": k,
                    "sample_b": k,
                    "side_a": pair.side_a,
                    "position": k + 1,
                    **flags,
                }
            )

    def raters_per_hit(self) -> int:
        return max(self._rater_counts.values(), default=1)

    def _instance(self, texts: tuple[tuple[str, str], ...]) -> str:
        if texts not in self._names:
            name = f"{self.name}/{len(self._names) + 1:04d}"
            self._names[texts] = name
            self.instances.append(InstanceRow(name, category=self.name))
            for k, pair in enumerate(texts):
                for system, text in zip(self.systems, pair, strict=True):
                    self.generations.append(GenerationRow(name, system, k, text))
        return self._names[texts]


def _pairs(row: Row, path: Path, line: int) -> list[_Pair]:
    columns = [re.fullmatch(r"Answer\.pref(\d+)", name) for name in row]
    numbers = sorted(int(match[1]) for match in columns if match)
    if not numbers:
        reason = "has no column Answer.pref1, so this is not a batch of pairwise preferences"
        raise FormatError.of(path.name, line, "column_missing", reason)
    return [_pair(row, number, path, line) for number in numbers]


def _pair(row: Row, k: int, path: Path, line: int) -> _Pair:
    left = text_cell(row, f"Input.model1_summary{k}", path, line)
    right = text_cell(row, f"Input.model2_summary{k}", path, line)
    left_system = _choice(row, f"Input.id{k}", ("1", "2"), path, line)
    answer = int(_choice(row, f"Answer.pref{k}", ("-1", "0", "1"), path, line))
    if left_system == "1":
        return _Pair(left, right, answer, "left")
    return _Pair(right, left, -answer, "right")


def _is_rejected(row: Row) -> bool:
    """Whether the assignment was rejected, or the requester has written a reason to reject it."""
    return str(row.get("AssignmentStatus")).strip().lower() == "rejected" or bool(row.get("Reject"))


def _unused(row: Row) -> list[str]:
    names = [name for name, value in row.items() if value and not _USED.fullmatch(name)]
    return [f"column {name}" for name in names if name.startswith(("Input.", "Answer."))]


def _choice(row: Row, name: str, allowed: tuple[str, ...], path: Path, line: int) -> str:
    value = text_cell(row, name, path, line).strip().removesuffix(".0")
    if value not in allowed:
        reason = f"{name} must be one of {', '.join(allowed)}, not {value!r}"
        raise FormatError.of(path.name, line, "unknown_value", reason)
    return value


def _guess_systems(path: Path) -> tuple[str, str]:
    """Return the first two parts of the file name if it has more than two, otherwise A and B."""
    parts = [part for part in path.stem.split("_") if part]
    return (parts[0], parts[1]) if len(parts) > 2 and parts[0] != parts[1] else ("A", "B")
