"""Argilla's records: as `to_json` writes them, and flat as `to_datasets` and the Hub have them.

Responses are people's, suggestions are machines' and named after their agent. The users are ids
without names. A response with several labels becomes a yes or no for each label.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tiebreak.digits import counted
from tiebreak.formats.cells import parse_json
from tiebreak.formats.readers.answers import Answers
from tiebreak.formats.readers.converted import Converted
from tiebreak.formats.readers.pairs import table_rows
from tiebreak.formats.readers.recognition import Head, Reader
from tiebreak.formats.rows import Row
from tiebreak.formats.tables.nesting import text_of

COUNTED = ("submitted", "None", "")


def read_argilla(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read records with `id`, `fields`, `responses` and `suggestions`; `systems` is ignored."""
    answers = Answers("Imported from Argilla", ", ".join(path.name for path in paths))
    n = 0
    for path, line, row in table_rows(paths):
        n += 1
        name = row.get("id") or row.get("external_id") or f"{path.stem}-{line}"
        key = answers.item(str(name), _source(row))
        facts: Row = {"unit": key, "instance": key}
        for question, value, user, status in _responses(row):
            if status not in COUNTED:
                answers.left_out[f"responses with the status {status}"] += 1
                continue
            if _is_other(value):
                answers.left_out[f"answers of {question}, which are ranks or spans"] += 1
            else:
                answers.add(question, _answer(value), rater=answers.rater(user), **facts)
        for question, value, agent in _suggestions(row):
            if value is not None and not _is_other(value):
                facts["kind"] = "machine"
                answers.add(question, _answer(value), rater=answers.rater(agent), **facts)
    return answers.converted(f"This is an export of Argilla: {counted(n, 'record')}.")


def _source(row: Row) -> str:
    fields = {name: value for name, value in row.items() if name.startswith("fields.")}
    if not fields:  # in flat exports, nothing marks fields
        questions = {name.partition(".")[0] for name in row if ".responses" in name}
        fields = {
            name: value
            for name, value in row.items()
            if "." not in name and name not in {"id", "status", "_server_id", *questions}
        }
    return "\n\n".join(text_of(v) for v in fields.values() if isinstance(v, str) and " " in v)


def _responses(row: Row) -> Iterator[tuple[str, Any, str, str]]:
    """Yield question, value, user and status of each response."""
    for name, cell in row.items():
        if name.startswith("responses."):
            for response in _list(cell):
                status = str(response.get("status") or "")
                yield name.partition(".")[2], response.get("value"), response["user_id"], status
        elif name == "responses":  # as version 1 wrote them: all answers of a user together
            for response in _list(cell):
                status = str(response.get("status") or "")
                values = response.get("values") or {"": {}}
                for question, answer in values.items():
                    yield question, answer.get("value"), response["user_id"], status
        elif name.endswith(".responses"):
            values, users = _list(cell), _list(row.get(f"{name}.users"))
            statuses = _list(row.get(f"{name}.status")) or [""] * len(values)
            question = name.removesuffix(".responses")
            for value, user, status in zip(values, users, statuses, strict=True):
                yield question, value, str(user), str(status)


def _suggestions(row: Row) -> Iterator[tuple[str, Any, str]]:
    """Yield question, value and agent of each suggestion."""
    for name, cell in row.items():
        if name.startswith("suggestions.") and name.endswith(".value"):
            question = name.removeprefix("suggestions.").removesuffix(".value")
            agent = row.get(f"suggestions.{question}.agent")
        elif name.endswith(".suggestion"):
            question, agent = name.removesuffix(".suggestion"), row.get(f"{name}.agent")
        elif name == "suggestions":
            for one in _list(cell):
                agent = one.get("agent")
                yield one["question_name"], one.get("value"), str(agent or "suggestion")
            continue
        else:
            continue
        yield question, cell, str(agent or "suggestion")


def _list(cell: Any) -> list[Any]:
    if isinstance(cell, str) and cell.startswith("["):
        cell = parse_json(cell.encode())
    return list(cell) if isinstance(cell, list | tuple) else []


def _is_other(value: Any) -> bool:
    """Whether an answer is a list of objects: ranks with values, or spans."""
    return isinstance(value, list) and any(isinstance(one, dict) for one in value)


def _answer(value: Any) -> Any:
    return tuple(map(str, value)) if isinstance(value, list) else value


def _knows(head: Head) -> bool:
    is_nested = head.any_begins("fields.") and head.any_begins("responses", "suggestions")
    is_flat = any(name.endswith((".responses.users", ".suggestion.agent")) for name in head.columns)
    return is_nested or is_flat


READER: Reader = Reader(read_argilla, _knows)
