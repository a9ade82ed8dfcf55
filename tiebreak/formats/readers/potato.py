"""Annotations of Potato: a file for each user in a folder, or a table of all users.

A choice is stored as the name of the choice with "true", a scale as its point, a text box with what
was written. Pages around the items, such as consent, end in .html.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tiebreak.digits import counted
from tiebreak.formats.readers.answers import Answers
from tiebreak.formats.readers.converted import Converted, cell, files_of, rows_of
from tiebreak.formats.readers.pairs import table_rows
from tiebreak.formats.readers.recognition import Head, Reader
from tiebreak.formats.rows import Row

YES = ("true", "1", "True", True)
SEPARATOR = ":::"


def read_potato(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read `annotated_instances.jsonl`, .csv or .tsv, alone or in the folders of the users.

    A user is the folder's name where the file has none. `systems` is ignored.
    """
    answers = Answers("Imported from Potato", ", ".join(path.name for path in paths))
    n = 0
    for user, key, text, labels in _annotations(paths):
        if key.endswith(".html"):
            answers.left_out["answers on pages that are no items"] += 1
            continue
        n += 1
        unit = answers.item(key, text)
        for schema, chosen in labels.items():
            answer = _answer(chosen)
            answers.add(schema, answer, unit=unit, instance=unit, rater=answers.rater(user))
    return answers.converted(f"This is an output of Potato: {counted(n, 'annotated item')}.")


def _annotations(paths: Sequence[Path]) -> Iterator[tuple[str, str, str, dict[str, Row]]]:
    """Yield user, item, displayed text and what was chosen in each schema."""
    for path in files_of(paths, "**/annotated_instances.*"):
        if path.suffix == ".jsonl":
            for line, row in rows_of(path):
                labels = cell(row, "label_annotations", path, line)
                key = str(row.get("id") or cell(row, "instance_id", path, line))
                user = str(row.get("user_id") or path.parent.name or path.stem)
                yield user, key, str(row.get("displayed_text") or ""), labels
            continue
        for _, line, row in table_rows([path]):
            labels = {}
            for name, value in row.items():
                schema, separator, label = name.partition(SEPARATOR)
                if separator and value is not None:
                    labels.setdefault(schema, {})[label] = value
            user, key = (str(cell(row, name, path, line)) for name in ("user", "instance_id"))
            yield user, key, str(row.get("displayed_text") or ""), labels


def _answer(chosen: dict[str, Any]) -> Any:
    """Return the choices, the point of a scale, or a text, which has a name of its own."""
    for label, value in chosen.items():
        if str(value).isdigit() and label in (str(value), f"scale_{value}"):
            return str(value)
    choices = tuple(str(label) for label, value in chosen.items() if value in YES)
    texts = [str(v) for v in chosen.values() if str(v).lower() not in ("false", "0", "")]
    return choices or " ".join(texts)


def _knows(head: Head) -> bool:
    is_table = head.has("user", "instance_id") and any(SEPARATOR in name for name in head.columns)
    return is_table or (head.has("displayed_text") and head.any_begins("label_annotations"))


READER: Reader = Reader(read_potato, _knows)
