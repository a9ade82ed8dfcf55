"""Label Studio's JSON export of a project with its tag Pairwise."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tiebreak.formats import FormatError, InstanceRow
from tiebreak.formats.bundle import CriterionSpec
from tiebreak.formats.readers.converted import Converted, cell, files_of, load_list
from tiebreak.formats.readers.pairs import LEFT, RIGHT, TIE, Comparisons, Side, text_of
from tiebreak.formats.rows import Row
from tiebreak.formats.tables import Plan, plan_for
from tiebreak.formats.tables.nesting import flattened
from tiebreak.formats.tables.profiles import profile_of

PREFERENCE = CriterionSpec("preference", "preference:tie", "Which text is better?")
SELECTED = {"left": LEFT, "right": RIGHT}
TIES = {"tie", "equal", "same", "both", "neither", "no preference"}


def read_labelstudio(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read tasks with `data` and `annotations`; the first of two texts was shown on the left.

    Which fields of `data` hold the texts, the systems' names, the source and the category is
    guessed as for plain tables. ``systems`` names the systems where the data does not.
    """
    study = Comparisons("Label Studio comparisons", PREFERENCE)
    for path in files_of(paths, "*.json"):
        tasks = load_list(path)
        data = [_data(task, path, line) for line, task in enumerate(tasks, start=1)]
        plan = plan_for(profile_of(enumerate(data, start=1)))
        for line, (task, row) in enumerate(zip(tasks, data, strict=True), start=1):
            _add(study, task, row, _Task(plan, path, line, systems))
    return study.converted()


class _Task:
    """Where a task is, and what its fields mean."""

    def __init__(self, plan: Plan, path: Path, line: int, systems: tuple[str, str] | None) -> None:
        self.columns, self.path, self.line = plan.columns, path, line
        named = list(plan.systems.items())
        if "text_a" not in plan.columns and len(named) != 2:
            reason = f"needs two texts in data, but {len(named)} were recognised"
            raise FormatError.of(path.name, line, "not_a_pair", reason)
        self.texts = named
        self.systems = systems

    def sides(self, row: Row) -> tuple[Side, Side]:
        """Return the left and the right text of a task."""
        if "text_a" in self.columns:
            left, right = (
                Side(self._cell(row, f"system_{s}"), self._cell(row, f"text_{s}")) for s in "ab"
            )
            return left, right
        names = self.systems or tuple(name for name, _ in self.texts)
        left, right = (
            Side(name, str(cell(row, column, self.path, self.line)))
            for name, (_, column) in zip(names, self.texts, strict=True)
        )
        return left, right

    def _cell(self, row: Row, role: str) -> str:
        return str(cell(row, self.columns[role], self.path, self.line))


def _data(task: Row, path: Path, line: int) -> Row:
    data = cell(task, "data", path, line)
    if not isinstance(data, dict):
        raise FormatError.of(path.name, line, "not_an_object", "data is not an object")
    return flattened(data)


def _add(study: Comparisons, task: Row, row: Row, fields: _Task) -> None:
    columns = fields.columns
    instance = text_of(row, columns.get("instance", "")) or str(task.get("id", fields.line))
    source, category = (text_of(row, columns.get(role, "")) for role in ("source", "category"))
    study.instances.setdefault(instance, InstanceRow(instance, source, category=category))
    left, right = fields.sides(row)
    for side in (left, right):
        study.text(instance, side)
    for rater, vote, seconds in _votes(task):
        facts: Row = {} if seconds is None else {"duration_ms": round(seconds * 1000)}
        study.vote(instance, left, right, vote, rater=rater, kind="human", **facts)


def _votes(task: Row) -> Iterator[tuple[str, int, float | None]]:
    """Yield the annotator, the vote and the time of each annotation that was not cancelled."""
    for annotation in task.get("annotations") or ():
        if annotation.get("was_cancelled"):
            continue
        vote = next((v for v in map(_vote, annotation.get("result") or ()) if v is not None), None)
        if vote is not None:
            seconds = annotation.get("lead_time")
            is_time = isinstance(seconds, int | float) and 0 <= seconds < 10**6
            yield _annotator(annotation.get("completed_by")), vote, seconds if is_time else None


def _annotator(value: Any) -> str:
    """Return the id of who annotated; e-mail addresses are not taken over."""
    return f"annotator {value.get('id') if isinstance(value, dict) else value}"


def _vote(result: Row) -> int | None:
    value = result.get("value") or {}
    if result.get("type") == "pairwise":
        return SELECTED.get(str(value.get("selected")))
    choices = value.get("choices") or ()
    return TIE if {str(choice).lower() for choice in choices} & TIES else None
