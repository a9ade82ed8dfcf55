"""Label Studio's exports JSON, JSON-MIN, CSV and TSV: comparisons of two texts, or labels of one."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from tiebreak.digits import counted
from tiebreak.formats import FormatError, InstanceRow
from tiebreak.formats.bundle import CriterionSpec
from tiebreak.formats.cells import parse_json
from tiebreak.formats.readers.answers import Answers
from tiebreak.formats.readers.converted import (
    Converted,
    cell,
    files_of,
    labels_of,
    load_list,
    text_cell,
)
from tiebreak.formats.readers.pairs import (
    LEFT,
    RIGHT,
    TIE,
    Comparisons,
    Side,
    required,
    table_rows,
    text_of,
)
from tiebreak.formats.readers.recognition import Head, Reader
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
NEGATIVE = {"worse", "worst", "bad", "not", "less", "agree", "disagree"}
AFTER = {"is", "was", "much", "slightly", "better", "wins", "won"}
# Where the value of each kind of control is.
KEYS = {
    "choices": "choices",
    "pairwise": "selected",
    "rating": "rating",
    "number": "number",
    "textarea": "text",
    "taxonomy": "taxonomy",
}
LABELS = ("choices", "rating", "number")
# Columns of JSON-MIN and CSV beside the data and the answers.
ABOUT = (
    *("id", "annotator", "annotation_id", "created_at", "updated_at"),
    *("lead_time", "agreement", "history"),
)


@dataclass
class _Annotation:
    """What one annotator answered in each control: its kind and its value."""

    rater: str
    seconds: Any
    answers: dict[str, tuple[str, Any]] = field(default_factory=dict)

    @property
    def facts(self) -> Row:
        texts = [
            text for kind, value in self.answers.values() if kind == "textarea" for text in value
        ]
        facts: Row = {"rater": self.rater, **({"reason": " ".join(texts)} if texts else {})}
        try:
            seconds = float(self.seconds)
        except (TypeError, ValueError):
            return facts
        return facts | ({"duration_ms": round(seconds * 1000)} if 0 <= seconds < 10**6 else {})

    @property
    def words(self) -> dict[str, str]:
        """What was chosen in each control Pairwise or Choices, or the kind of another control."""
        return {
            name: " + ".join(value) if kind in ("choices", "pairwise") else f"({kind})"
            for name, (kind, value) in self.answers.items()
            if kind != "textarea"
        }


@dataclass
class _Task:
    path: Path
    line: int
    id: str
    data: Row
    annotations: list[_Annotation]


def read_labelstudio(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read tasks with `data` and `annotations`, or rows with an annotation each.

    Tasks with two texts are comparisons. In the tag Pairwise the first of two texts was shown on the
    left; with Choices nobody knows. Each control whose answers are all votes becomes a criterion.
    Which fields of `data` hold the texts, the systems' names, the source and the category is guessed
    as for plain tables. ``systems`` names the systems where the data does not. In other tasks each
    control Choices, Rating or Number is a criterion. A TextArea is the reason of an annotation.
    """
    lost = Counter[str]()
    tasks = [task for path in files_of(paths, "*.json") for task in _tasks(path, lost)]
    given = [annotation for task in tasks for annotation in task.annotations]
    plan = plan_for(profile_of(enumerate((task.data for task in tasks), start=1)))
    is_pair = "text_a" in plan.columns or len(plan.systems) == 2
    has_labels = any(kind in LABELS for one in given for kind, _ in one.answers.values())
    votes = any(_vote(words) is not None for one in given for words in one.words.values())
    # Two fields of text may also be a question and an answer.
    is_labels = has_labels and not (is_pair and votes)
    read = _labels(tasks) if is_labels else _comparisons(tasks, plan, systems)
    about = f"This is an export of Label Studio: {counted(len(tasks), 'task')}"
    about = f"{about}, {counted(len(given), 'annotation')}. {read.about}".strip()
    return replace(read, left_out=Counter(read.left_out) + lost, about=about)


def _tasks(path: Path, lost: Counter[str]) -> list[_Task]:
    is_json = path.suffix == ".json"
    rows = load_list(path) if is_json else [row for _, _, row in table_rows([path])]
    if any("annotation_id" in row for row in rows):
        rows = _of_annotations(rows, path)
    tasks = []
    for line, row in enumerate(rows, start=1):
        data = cell(row, "data", path, line)
        if not isinstance(data, dict):
            raise FormatError.of(path.name, line, "not_an_object", "data is not an object")
        annotations = row.get("annotations") or ()
        used = [_annotation(one) for one in annotations if not one.get("was_cancelled")]
        lost["cancelled annotations"] += len(annotations) - len(used)
        lost["predictions of machines"] += len(row.get("predictions") or ())
        tasks.append(_Task(path, line, str(row.get("id", line)), flattened(data), used))
    return tasks


def _annotation(row: Row) -> _Annotation:
    person = row.get("completed_by")
    # The id only: an object also has the e-mail address.
    name = person.get("id") if isinstance(person, dict) else person
    annotation = _Annotation(f"annotator {name}", row.get("lead_time"))
    for result in row.get("result") or ():
        kind = str(result.get("type"))
        name = str(result.get("from_name") or kind)
        value = (result.get("value") or {}).get(KEYS.get(kind, ""))
        if kind in ("choices", "pairwise", "textarea"):  # of which a control may have several
            before = annotation.answers.get(name, (kind, ()))[1]
            value = (*before, *map(str, value if isinstance(value, list) else [value or ""]))
        annotation.answers[name] = (kind, value)
    return annotation


def _of_annotations(rows: Sequence[Row], path: Path) -> list[Row]:
    """Return the tasks of JSON-MIN and CSV, which have a row for each annotation."""
    controls = _control_columns(rows, path)
    people: dict[str, str] = {}
    tasks: dict[str, Row] = {}
    for line, row in enumerate(rows, start=1):
        person = required(row, path, line, "annotator")
        if "@" in person:  # an address names nobody here
            person = people.setdefault(person, f"e{len(people) + 1}")
        data = {name: cell for name, cell in row.items() if name not in {*controls, *ABOUT}}
        task = {"id": row.get("id", line), "data": data, "annotations": []}
        results = [
            r for name, kind in controls.items() for r in _results(name, kind, row.get(name))
        ]
        tasks.setdefault(str(row.get("id", line)), task)["annotations"].append(
            {"completed_by": person, "lead_time": row.get("lead_time"), "result": results}
        )
    return list(tasks.values())


def _results(name: str, kind: str, value: Any) -> Iterator[Row]:
    """Yield the results in a cell: objects with their kind's key, or a bare text."""
    for item in _items(value):
        known = [k for k, key in KEYS.items() if isinstance(item, dict) and key in item]
        own = known[0] if known else kind
        yield {"from_name": name, "type": own, "value": item if known else {KEYS[own]: item}}


def _items(value: Any) -> list[Any]:
    if isinstance(value, str) and value.startswith(("[{", "{")):
        value = parse_json(value.encode())
    return value if isinstance(value, list) else [] if value is None else [value]


def _control_columns(rows: Sequence[Row], path: Path) -> dict[str, str]:
    """Return the columns that hold answers, with the kind of what is a bare text in them.

    JSON-MIN has them between the id and the annotator. In CSV the columns are sorted, so a bare text
    is an answer only if it differs within a task.
    """
    if path.suffix == ".json" and all("id" in row for row in rows):
        names = (list(row) for row in rows)
        between = (row[row.index("id") + 1 : row.index("annotator")] for row in names)
        found = dict.fromkeys(chain(*between))
    else:
        found = dict.fromkeys(
            n for row in rows for n in row if n not in ABOUT and _is_control(rows, n)
        )
    if not found:
        reason = (
            "does not tell its answers from its data, because no answer differs between the"
            " annotators of a task. Export the project as JSON"
        )
        raise FormatError.of(path.name, None, "answers_unknown", reason)
    texts = {name: [row[name] for row in rows if isinstance(row.get(name), str)] for name in found}
    notes = {name: labels_of(values, name).note for name, values in texts.items()}
    free = {name: {*texts[name]} for name, note in notes.items() if "free" in note}
    offered = [{*values} for name, values in texts.items() if name not in free]
    # What another control offers is no free text, even if it was chosen once.
    free = {n: v for n, v in free.items() if not v or not any(v <= known for known in offered)}
    return {name: "textarea" if name in free else "choices" for name in texts}


def _is_control(rows: Sequence[Row], name: str) -> bool:
    items = (item for row in rows for item in _items(row.get(name)))
    if any(isinstance(item, dict) and {*item} & {*KEYS.values()} for item in items):
        return True
    given = {(str(row["id"]), str(row.get(name))) for row in rows if "id" in row}
    return len(given) > len({task for task, _ in given})


def _labels(tasks: Sequence[_Task]) -> Converted:
    """Return the labels of tasks with one text, or none."""
    answers = Answers("Imported from Label Studio", tasks[0].path.name)
    for task in tasks:
        texts = [v for v in task.data.values() if isinstance(v, str) and " " in v]
        unit = answers.item(task.id, "\n\n".join(texts))
        for annotation in task.annotations:
            facts = {"unit": unit, "instance": unit, **annotation.facts}
            for name, (kind, value) in annotation.answers.items():
                if kind in LABELS:
                    answers.add(name, value, **facts)
                elif kind == "taxonomy":
                    what = f"answers of {name}, a taxonomy, whose branches are no scale"
                    answers.left_out[what] += 1
                elif kind != "textarea":
                    answers.left_out[f"answers of {name} ({kind})"] += 1
    return answers.converted("")


def _comparisons(tasks: Sequence[_Task], plan: Plan, systems: tuple[str, str] | None) -> Converted:
    """Return the votes on tasks with two texts."""
    study = Comparisons("Label Studio comparisons", PREFERENCE)
    given = [annotation.words for task in tasks for annotation in task.annotations]
    controls = _controls(given, tasks[0].path)
    for task in tasks:
        columns = plan.columns
        instance = text_of(task.data, columns.get("instance", "")) or task.id
        source, category = (text_of(task.data, columns.get(r, "")) for r in ("source", "category"))
        study.instances.setdefault(instance, InstanceRow(instance, source, category=category))
        left, right = _sides(task, plan, systems)
        for side in (left, right):
            study.text(instance, side)
        for one in task.annotations:
            is_pairwise = any(kind == "pairwise" for kind, _ in one.answers.values())
            facts = {"kind": "human", **one.facts}
            first = left.system if is_pairwise else ""
            for name, words in one.words.items():
                vote = _vote(words)
                if name in controls and vote is not None:
                    facts["criterion"] = controls[name]
                    study.vote(instance, left, right, vote, first=first, **facts)
    criteria = tuple(replace(PREFERENCE, name=name) for name in dict.fromkeys(controls.values()))
    converted = study.converted()
    spec = replace(converted.spec, criteria=criteria or (PREFERENCE,))
    return replace(converted, spec=spec, left_out=_unused(given, controls))


def _sides(task: _Task, plan: Plan, systems: tuple[str, str] | None) -> tuple[Side, Side]:
    """Return the left and the right text of a task."""
    columns, named = plan.columns, list(plan.systems.items())
    if "text_a" not in columns and len(named) != 2:
        reason = f"needs two texts in data, but {len(named)} were recognised"
        raise FormatError.of(task.path.name, task.line, "not_a_pair", reason)
    if "text_a" in columns:
        pairs = [(_cell(task, columns[f"system_{s}"]), columns[f"text_{s}"]) for s in "ab"]
    else:
        names = systems or tuple(name for name, _ in named)
        pairs = [(name, column) for name, (_, column) in zip(names, named, strict=True)]
    left, right = (Side(name, _cell(task, column)) for name, column in pairs)
    return left, right


def _cell(task: _Task, column: str) -> str:
    return text_cell(task.data, column, task.path, task.line)


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


def _unused(given: list[dict[str, str]], controls: Mapping[str, str]) -> Counter[str]:
    """Count what is not a vote, by its kind."""
    lost = Counter(f"answers of {name}" for one in given for name in one if name not in controls)
    lost["annotations without a vote"] = sum(not one.keys() & controls.keys() for one in given)
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


def _knows(head: Head) -> bool:
    is_tasks = head.has("annotations") and head.any_begins("data.")
    return is_tasks or head.has("annotator", "annotation_id", "lead_time")


READER: Reader = Reader(read_labelstudio, _knows)
