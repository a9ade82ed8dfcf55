"""Label Studio's JSON export of a project with its tags Pairwise or Choices."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from tiebreak.formats import FormatError, InstanceRow
from tiebreak.formats.bundle import CriterionSpec
from tiebreak.formats.readers.converted import Converted, cell, files_of, load_list, text_cell
from tiebreak.formats.readers.pairs import LEFT, RIGHT, TIE, Comparisons, Side, text_of
from tiebreak.formats.rows import Row
from tiebreak.formats.tables import Plan, plan_for
from tiebreak.formats.tables.nesting import flattened
from tiebreak.formats.tables.profiles import profile_of

PREFERENCE = CriterionSpec("preference", "preference:tie", "Which text is better?")
SIDES = dict.fromkeys(("left", "a", "1", "first"), LEFT) | dict.fromkeys(
    ("right", "b", "2", "second"), RIGHT
)
TIES = {"tie", "tied", "draw", "equal", "equally", "same", "both", "neither"}
# Words that turn what is said around, and those that may follow the side that is better.
NEGATIVE = {"worse", "worst", "bad", "not", "less"}
AFTER = {"is", "was", "much", "slightly", "better", "wins", "won"}


def read_labelstudio(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read tasks with `data` and `annotations`.

    In the tag Pairwise the first of two texts was shown on the left; with Choices nobody knows. Each
    control whose answers are all votes becomes a criterion. Which fields of `data` hold the texts, the systems' names, the source and the category is
    guessed as for plain tables. ``systems`` names the systems where the data does not.
    """
    study = Comparisons("Label Studio comparisons", PREFERENCE)
    lost, criteria = Counter[str](), dict[str, CriterionSpec]()
    for path in files_of(paths, "*.json"):
        tasks = load_list(path)
        data = [_data(task, path, line) for line, task in enumerate(tasks, start=1)]
        given = [_answers(annotation) for annotation in _annotations(tasks)]
        controls = _controls(given, path)
        criteria |= {name: replace(PREFERENCE, name=name) for name in controls.values()}
        lost += _unused(tasks, given, controls)
        plan = plan_for(profile_of(enumerate(data, start=1)))
        for line, (task, row) in enumerate(zip(tasks, data, strict=True), start=1):
            _add(study, task, row, _Task(plan, path, line, systems), controls)
    converted = study.converted()
    spec = replace(converted.spec, criteria=tuple(criteria.values()) or (PREFERENCE,))
    return replace(converted, spec=spec, left_out=lost)


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
            Side(name, text_cell(row, column, self.path, self.line))
            for name, (_, column) in zip(names, self.texts, strict=True)
        )
        return left, right

    def _cell(self, row: Row, role: str) -> str:
        return text_cell(row, self.columns[role], self.path, self.line)


def _data(task: Row, path: Path, line: int) -> Row:
    data = cell(task, "data", path, line)
    if not isinstance(data, dict):
        raise FormatError.of(path.name, line, "not_an_object", "data is not an object")
    return flattened(data)


def _add(
    study: Comparisons, task: Row, row: Row, fields: _Task, controls: Mapping[str, str]
) -> None:
    columns = fields.columns
    instance = text_of(row, columns.get("instance", "")) or str(task.get("id", fields.line))
    source, category = (text_of(row, columns.get(role, "")) for role in ("source", "category"))
    study.instances.setdefault(instance, InstanceRow(instance, source, category=category))
    left, right = fields.sides(row)
    for side in (left, right):
        study.text(instance, side)
    for annotation in _annotations([task]):
        seconds = annotation.get("lead_time")
        person = annotation.get("completed_by")
        # The id only: an object also has the e-mail address.
        name = person.get("id") if isinstance(person, dict) else person
        facts: Row = {"rater": f"annotator {name}", "kind": "human"}
        if isinstance(seconds, int | float) and 0 <= seconds < 10**6:
            facts["duration_ms"] = round(seconds * 1000)
        is_pairwise = any(
            result.get("type") == "pairwise" for result in annotation.get("result") or ()
        )
        first = left.system if is_pairwise else ""
        for name, words in _answers(annotation).items():
            vote = _vote(words)
            if name in controls and vote is not None:
                facts["criterion"] = controls[name]
                study.vote(instance, left, right, vote, first=first, **facts)


def _annotations(tasks: Sequence[Row]) -> list[Row]:
    """Return the annotations that were not cancelled."""
    annotations = (one for task in tasks for one in task.get("annotations") or ())
    return [one for one in annotations if not one.get("was_cancelled")]


def _answers(annotation: Row) -> dict[str, str]:
    """Return what was chosen in each control Pairwise or Choices, or the type of another control."""
    answers: dict[str, str] = {}
    for result in annotation.get("result") or ():
        value = result.get("value") or {}
        chosen = value.get("choices") or [value.get("selected") or f"({result.get('type')})"]
        name = str(result.get("from_name") or result.get("type"))
        answers[name] = " + ".join(filter(None, [answers.get(name), *map(str, chosen)]))
    return answers


def _controls(given: list[dict[str, str]], path: Path) -> dict[str, str]:
    """Return the criterion of each control whose answers are all votes; refuse a file without one."""
    words = {name: {one[name] for one in given if name in one} for name in sorted({*chain(*given)})}
    names = [n for n, answers in words.items() if None not in map(_vote, answers)]
    if given and not names:
        seen = "; ".join(f"{name}: {', '.join(sorted(answers))}" for name, answers in words.items())
        reason = (
            "has annotations, but none that says which text is better. A choice must name A or B,"
            f" left or right, 1 or 2, or a tie. Answers found: {seen or 'none'}"
        )
        raise FormatError.of(path.name, None, "no_votes", reason)
    # A tie may be a separate control.
    is_one = all(len(one.keys() & {*names}) < 2 for one in given)
    return {name: PREFERENCE.name if is_one else name for name in names}


def _unused(
    tasks: Sequence[Row], given: list[dict[str, str]], controls: Mapping[str, str]
) -> Counter[str]:
    """Count what is not a vote, by its kind."""
    lost = Counter(f"answers of {name}" for one in given for name in one if name not in controls)
    annotations = sum(len(task.get("annotations") or ()) for task in tasks)
    lost["cancelled annotations"] = annotations - len(given)
    lost["annotations without a vote"] = sum(not one.keys() & controls.keys() for one in given)
    lost["predictions of machines"] = sum(len(task.get("predictions") or ()) for task in tasks)
    return lost


def _vote(words: str) -> int | None:
    """Return the vote that some words are, or None if they may be something else."""
    tokens = re.findall(r"[a-z]+|[0-9]+", words.lower())
    if "+" in words or NEGATIVE & {*tokens}:
        return None
    if TIES & {*tokens} or words.lower() == "no preference":
        return TIE
    pairs = zip(tokens, [*tokens[1:], "better"], strict=True)
    token, after = next((pair for pair in pairs if pair[0] in SIDES), ("", ""))
    return SIDES[token] if after in AFTER else None
