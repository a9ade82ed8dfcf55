"""Batch results of Amazon Mechanical Turk: any batch, and pairs in the layout of the SEPARABILITY study.

In any batch an item is what the `Input.` columns have, and each `Answer.` column whose answers are
labels is a criterion, as are those with a column for each button; `Answer.taskAnswers` has all answers as JSON. Answers that are numbered as inputs are
have an item each: `Answer.score2` is of `Input.text2`.

In batches of pairs, columns are numbered by pair k. `Input.model1_summaryk` is the text shown on the left, and
`Input.idk` (1 or 2) says which system wrote it. `Answer.prefk` is −1 for left, 1 for right and 0
for no preference. An instance is identified by all of its texts, and pair k is sample k of both
systems. Worker ids are unique only within a file.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tiebreak.digits import counted
from tiebreak.formats import FormatError, GenerationRow, InstanceRow, StudySpec
from tiebreak.formats.bundle import CriterionSpec
from tiebreak.formats.cells import parse_json
from tiebreak.formats.rating_names import NUMBERED
from tiebreak.formats.readers.answers import Answers
from tiebreak.formats.readers.converted import Converted, files_of, text_cell
from tiebreak.formats.readers.pairs import table_rows, text_of as text_in
from tiebreak.formats.readers.recognition import Head, Reader
from tiebreak.formats.rows import Row
from tiebreak.formats.tables.names import says

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
    """Read batch files. Each file of pairs has one pair of systems: `systems`, or a guess from its name."""
    rows = list(table_rows(files_of(paths, "*.csv")))
    columns = {re.sub(r"\d+$", "", name) for _, _, row in rows for name in row}
    is_pairs = {"Answer.pref", "Input.model1_summary"} <= columns
    read = _read_pairs(rows, systems) if is_pairs else _read_answers(rows)
    rejected = sum(_is_rejected(row) for _, _, row in rows)
    about = f"This is a Mechanical Turk batch: {counted(len(rows), 'assignment')}"
    about += f", {rejected} of them rejected." if rejected else "."
    lost = {"rejected assignments, flagged excluded": rejected, **read.left_out}
    return replace(read, left_out=lost, about=f"{about} {read.about}".strip())


def _read_pairs(rows: list[tuple[Path, int, Row]], systems: tuple[str, str] | None) -> Converted:
    batches: dict[Path, _Batch] = {}
    for path, line, row in rows:
        batch = batches.setdefault(path, _Batch(path, systems or _guess_systems(path)))
        batch.add(line, row)
    done = batches.values()
    spec = StudySpec(
        title="Imported from Mechanical Turk",
        criteria=(PREFERENCE,),
        systems=tuple(dict.fromkeys(name for batch in done for name in batch.systems)),
        settings={
            "ratings_per_hit": max(batch.raters_per_hit() for batch in done),
            "comparisons_per_hit": max(batch.size for batch in done),
        },
    )
    return Converted(
        spec,
        [instance for batch in done for instance in batch.instances],
        [generation for batch in done for generation in batch.generations],
        [rating for batch in done for rating in batch.ratings],
        sum((batch.left_out for batch in done), Counter[str]()),
    )


def _read_answers(rows: list[tuple[Path, int, Row]]) -> Converted:
    """Read any batch. HITs with the same inputs are one item, or inputs with one number, if answers have such numbers."""
    answers = Answers("Imported from Mechanical Turk", rows[0][0].name if rows else "")
    names: dict[tuple[str, ...], str] = {}
    for path, line, row in rows:
        worker = text_cell(row, "WorkerId", path, line).strip()
        inputs = {n: text_in(row, n) for n in row if n.startswith("Input.") and row[n] is not None}
        hit = text_in(row, "HITId") or f"{path.stem}/{len(names) + 1:04d}"
        given = [*_answers(row)]
        things = _numbered_things(inputs, [question for question, _ in given])
        for question, answer in given:
            asked, end, shown = things.get(question, (question, "", inputs))
            unit = names.setdefault(tuple(shown.values()) or (hit,), f"{hit}{end}")
            source = "\n\n".join(text for text in shown.values() if " " in text)
            key = answers.item(unit, source, metadata=shown)
            facts = {"unit": key, "instance": key, "rater": worker, **_flags(row)}
            if text_in(row, "WorkTimeInSeconds").isdecimal():
                facts["duration_ms"] = 1000 * int(text_in(row, "WorkTimeInSeconds"))
            answers.add(asked, answer, **facts)
    return answers.converted("")


def _numbered_things(
    inputs: Mapping[str, str], questions: Iterable[str]
) -> dict[str, tuple[str, str, Mapping[str, str]]]:
    """Return what is asked, the end of the item's name and its inputs, if answers are numbered as inputs are.

    Where it is the question that has a number, it is about all inputs.
    """
    found = {name: m for name in questions if (m := NUMBERED.fullmatch(name))}
    shown: dict[str, dict[str, str]] = defaultdict(dict)
    for name, text in inputs.items():
        if match := NUMBERED.fullmatch(name):
            shown[match[2]][name] = text
    numbers = {match[2] for match in found.values()}
    if len(numbers) < 2 or numbers != shown.keys():
        return {}
    own = {n: m for n, m in found.items() if not says(m[1], "source")}
    return {n: (m[1], f"/{m[2]}", shown[m[2]]) for n, m in own.items()}


def _answers(row: Row) -> Iterator[tuple[str, Any]]:
    buttons = _buttons(row)
    for question, given in buttons.items():
        yield question, _chosen(given) or None
    for name, value in row.items():
        if name == "Answer.taskAnswers":
            forms = parse_json(str(value or "[]").encode())
            for number, form in enumerate(forms, start=1):
                prefix = f"{number}." if len(forms) > 1 else ""
                yield from ((prefix + question, _chosen(given)) for question, given in form.items())
        elif name.startswith("Answer.") and _parts(name)[0] not in buttons:
            yield name.removeprefix("Answer.").removesuffix(".label"), value


def _buttons(row: Row) -> dict[str, dict[str, bool]]:
    """Return the questions of which each button has a column with a truth value: `Answer.better.left`."""
    found: dict[str, dict[str, bool]] = defaultdict(dict)
    for name, value in row.items():
        question, option = _parts(name)
        if question and str(value).strip().casefold() in ("true", "false"):
            found[question][option] = str(value).strip().casefold() == "true"
    return {question: given for question, given in found.items() if len(given) > 1}


def _parts(name: str) -> tuple[str, str]:
    """Return the question and the button of a column of answers; "" for others."""
    question, dot, option = name.removeprefix("Answer.").rpartition(".")
    return (question, option) if dot and name.startswith("Answer.") else ("", "")


def _chosen(given: Any) -> Any:
    """Return an answer of a form: buttons have a truth value each, classifiers a label."""
    if not isinstance(given, dict):
        return given if isinstance(given, str | int | float) else None
    if isinstance(given.get("label"), str):
        return (given["label"],)
    chosen = tuple(name for name, is_on in given.items() if is_on is True)
    return chosen if all(isinstance(is_on, bool) for is_on in given.values()) else None


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
        self.left_out.update(_unused(row))
        flags = _flags(row)
        self._rater_counts[instance] += not flags
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


def _flags(row: Row) -> Row:
    return {"excluded": True, "excluded_reason": REJECTED} if _is_rejected(row) else {}


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


def _knows(head: Head) -> bool:
    has_ids = head.has("WorkerId", "HITId") or head.any_begins("Input.")
    return has_ids and head.any_begins("Answer.")


READER: Reader = Reader(read_mturk, _knows)
