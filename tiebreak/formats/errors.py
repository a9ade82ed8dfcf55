"""Errors in files: each with its file, line, code and reason."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self

from tiebreak.errors import DomainError, InvalidInput

MAX_SHOWN = 50
MAX_REASON_LENGTH = 500


def shorten(reason: str) -> str:
    """A printable reason of bounded length; it may quote the file."""
    printable = reason.encode(errors="backslashreplace").decode()
    if len(printable) <= MAX_REASON_LENGTH:
        return printable
    return printable[:MAX_REASON_LENGTH] + "…"


@dataclass(frozen=True)
class Problem:
    """What is wrong in a file, and where.

    Attributes
    ----------
    file : str
        Name of the file.
    line : int or None
        Number of the line; None for the file as a whole.
    code : str
        What is wrong, for programs: ``empty``, ``unknown_system``, ``label_not_on_scale``, …
    reason : str
        What is wrong, for people.

    Examples
    --------
    >>> print(Problem("ratings.csv", 3, "empty", "rater is empty"))
    ratings.csv, line 3: rater is empty
    """

    file: str
    line: int | None
    code: str
    reason: str

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}, line {self.line}"
        return f"{where}: {self.reason}"


class FormatError(DomainError, ValueError):
    """A file was refused.

    Parameters
    ----------
    problems : list of Problem
        What is wrong. The error keeps the first 50.
    total : int, optional
        Number of problems, if there are more than in the list.
    """

    def __init__(self, problems: list[Problem], total: int | None = None) -> None:
        self.problems = problems[:MAX_SHOWN]
        self.total = total or len(problems)
        lines = [str(problem) for problem in self.problems]
        if self.rest:
            lines.append(self.rest)
        super().__init__("bad_file", "\n".join(lines), status=400)

    @property
    def rest(self) -> str:
        """The last line of the message: how many problems were left out; "" if none."""
        more = self.total - len(self.problems)
        return f"… and {more} more problems." if more else ""

    @classmethod
    def of(cls, file: str, line: int | None, code: str, reason: str) -> Self:
        """Return the error of a single problem.

        Parameters
        ----------
        file : str
            Name of the file.
        line : int or None
            Number of the line; None for the file as a whole.
        code : str
            What is wrong, for programs.
        reason : str
            What is wrong, for people.

        Returns
        -------
        FormatError
            The error.
        """
        return cls([Problem(file, line, code, reason)])


@dataclass
class Problems:
    """Collects problems: keeps the first `MAX_SHOWN` and counts all."""

    items: list[Problem] = field(default_factory=list)
    total: int = 0

    def add(self, file: str, line: int | None, code: str, reason: str) -> None:
        self.total += 1
        if len(self.items) < MAX_SHOWN:
            self.items.append(Problem(file, line, code, shorten(reason)))

    @contextmanager
    def at(self, file: str, line: int | None) -> Iterator[None]:
        """Context manager that turns `InvalidInput` into a problem of this line."""
        try:
            yield
        except InvalidInput as error:
            self.add(file, line, error.code, error.message)

    def extend(self, error: "FormatError") -> None:
        """Add the problems of another reader's error."""
        self.total += error.total
        self.items += error.problems[: max(0, MAX_SHOWN - len(self.items))]

    def check(self) -> None:
        if self.items:
            raise FormatError(self.items, self.total)
