"""Asking a model about many things, with every answer and failure kept, so that none is asked for twice."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiebreak.asking.tally import Tally, store_in_lots
from tiebreak.batch.unfinished import Unfinished
from tiebreak.errors import DomainError
from tiebreak.formats.errors import Problems
from tiebreak.formats.rows import Row
from tiebreak.formats.writing import write_rows
from tiebreak.gateway import Failed, GatewayError

TABLES = (
    "CREATE TABLE IF NOT EXISTS names (name TEXT PRIMARY KEY, line INTEGER) WITHOUT ROWID",
    *(
        f"CREATE TABLE IF NOT EXISTS {name} (item INTEGER, part INTEGER, number INTEGER, row TEXT,"
        " PRIMARY KEY (item, part, number)) WITHOUT ROWID"
        for name in ("done", "failed")
    ),
)
COUNTS = {
    "done": "SELECT COUNT(*) FROM done",
    "failed": "SELECT COUNT(*) FROM failed",
}
# Numbers of an item of the file, of what is asked about it (a system, a criterion), and of the answer.
Key = tuple[int, int, int]
Report = Callable[[int, int], None]


@dataclass(frozen=True)
class Question:
    """A request with its key, what names it in a row about a failure, and the rows that an answer gives."""

    key: Key
    about: Row
    request: Any
    rows: Callable[[Any], Iterable[tuple[Key, Row]]]


class Asking:
    """The answers to a file so far; ``of`` is the number of rows that all of them give."""

    def __init__(self, begun: Unfinished, of: int, report: Report) -> None:
        self.begun, self.of, self.report = begun, of, report
        self.tally = Tally(done=self._count("done"))
        begun.commit()
        report(self.tally.done, of)

    def _count(self, table: str) -> int:
        return int(self.begun.execute(COUNTS[table]).fetchone()[0])

    def answered(self, item: int, part: int) -> set[int]:
        """Return the numbers of the answers that are there already."""
        found = "SELECT number FROM done WHERE item = ? AND part = ?"
        return {number for (number,) in self.begun.execute(found, [item, part])}

    def ask(
        self, send: Callable[[Iterator[Any]], Iterable[Any]], questions: Iterator[Question]
    ) -> None:
        """Ask, and keep what is answered and what failed; stop where it is no use to go on."""
        pending: dict[str, Question] = {}

        def requests() -> Iterator[Any]:
            for question in questions:
                pending[question.request.id] = question
                yield question.request

        if self.tally.must_stop:
            return
        responses: Iterable[Failed | Any] = send(requests())
        for tally in store_in_lots(responses, pending, self._store, self.tally, self._note):
            self.report(tally.done, self.of)

    def refuse(self, key: Key, about: Row, error: GatewayError) -> None:
        """Keep that a question cannot be sent at all."""
        self.tally.note(error)
        self._note([(Question(key, about, None, lambda _: ()), error)])

    def _store(self, answers: list[tuple[Question, Any]]) -> int:
        stored = 0
        for question, response in answers:
            self.begun.execute(
                "DELETE FROM failed WHERE (item, part, number) = (?, ?, ?)", question.key
            )
            for key, row in question.rows(response):
                values = [*key, json.dumps(row, ensure_ascii=False)]
                insert = self.begun.execute(
                    "INSERT OR IGNORE INTO done VALUES (?, ?, ?, ?)", values
                )
                stored += insert.rowcount
        self.begun.commit()
        return stored

    def _note(self, failures: list[tuple[Question, GatewayError]]) -> None:
        for question, error in failures:
            row = {**question.about, "code": error.code, "message": error.message}
            values = [*question.key, json.dumps(row, ensure_ascii=False)]
            self.begun.execute("INSERT OR REPLACE INTO failed VALUES (?, ?, ?, ?)", values)
        self.begun.commit()

    def finish(self, out: Path, columns: Iterable[str]) -> "Answers":
        """Write the output, and beside it what failed, which the same command asks for again.

        Raises `DomainError` if the asking stopped, before anything is written.
        """
        if self.tally.must_stop:
            raise DomainError(
                "stopped",
                f"{self.tally.problem} {self.tally.done:,} of {self.of:,} answers are kept in"
                f" {self.begun.path}; repeat the command to go on.",
            )
        failed, path = self._count("failed"), out.with_name(f"{out.stem}.failed.jsonl")
        done = self.begun.rows("SELECT row FROM done ORDER BY item, part, number")
        rows = (_cells(json.loads(row), out) for (row,) in done)
        path.unlink(missing_ok=True)
        answers = Answers(self._count("done"), failed, path if failed else None)
        if not failed:
            self.begun.finish(out, rows, columns)
            return answers
        write_rows(out, rows, tuple(columns))
        lines = [json.loads(row) for (row,) in self.begun.rows("SELECT row FROM failed")]
        write_rows(path, lines, tuple(lines[0]))
        return answers


def count_checked(
    begun: Unfinished, named: Iterable[tuple[int, str, int]], problems: Problems, file: str
) -> int:
    """Return how much is asked about all items of a file, which are valid and have different names.

    Each item has its line, its name, and how much is asked about it. Raises `FormatError`.
    """
    known = begun.fact("number")
    if known is not None:
        return int(known)
    number = 0
    for line, name, asked in named:
        added = begun.execute("INSERT OR IGNORE INTO names VALUES (?, ?)", [name, line])
        if not added.rowcount:
            problems.add(file, line, "duplicate_id", f"{name!r} is there twice")
        number += asked
    problems.check()
    begun.note("number", number)
    return number


def _cells(row: Row, out: Path) -> Row:
    """Return a row as its file holds it: an object is text, but in JSON Lines."""
    if out.suffix == ".jsonl":
        return row
    return {name: json.dumps(v) if isinstance(v, dict) else v for name, v in row.items()}


@dataclass(frozen=True)
class Answers:
    """What came of asking: the rows that were written, the requests that failed, and where they are named."""

    rows: int
    failed: int
    failures: Path | None

    def problems(self) -> Iterator[str]:
        if self.failures is not None:
            yield (
                f"Requests without an answer: {self.failed:,}. {self.failures} names them with the"
                " reasons. Repeat the command to ask for them again."
            )
