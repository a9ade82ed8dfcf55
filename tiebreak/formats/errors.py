"""Errors in files, with the file, line, code and reason of every problem."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self

from tiebreak.errors import DomainError, InvalidInput

MAX_SHOWN = 50
MAX_REASON_LENGTH = 500


def shorten(reason: str) -> str:
    """Return a reason in printable characters and of limited length, since it may quote a file."""
    printable = reason.encode(errors="backslashreplace").decode()
    if len(printable) <= MAX_REASON_LENGTH:
        return printable
    return printable[:MAX_REASON_LENGTH] + "…"


@dataclass(frozen=True)
class Problem:
    """A problem in a file: where it is, and what is wrong.

    Examples
    --------
    >>> print(Problem("ratings.csv", 3, "empty", "rater is empty"))
    ratings.csv, line 3: rater is empty
    """

    file: str
    """Name of the file."""
    line: int | None
    """Line number, or None if the problem is about the whole file."""
    code: str
    """Code of the problem, for programs: ``empty``, ``unknown_system``, ``label_not_on_scale``, …"""
    reason: str
    """Description of the problem, to be read."""

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}, line {self.line}"
        return f"{where}: {self.reason}"


class FormatError(DomainError, ValueError):
    """A file was refused.

    Parameters
    ----------
    problems : list of Problem
        Problems of the file. The error keeps the first 50.
    total : int, optional
        Number of all problems, if the list does not have all of them.
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
        """Last line of the message, which says how many problems it leaves out, or ""."""
        more = self.total - len(self.problems)
        if not more:
            return ""
        return "… and 1 more problem." if more == 1 else f"… and {more} more problems."

    @classmethod
    def of(cls, file: str, line: int | None, code: str, reason: str) -> Self:
        """Create an error with a single problem.

        Parameters
        ----------
        file : str
            Name of the file.
        line : int or None
            Line number, or None if the problem is about the whole file.
        code : str
            Code of the problem, for programs.
        reason : str
            Description of the problem, to be read.

        Returns
        -------
        FormatError
            The error.
        """
        return cls([Problem(file, line, code, reason)])


@dataclass
class Problems:
    """A collection of problems, which keeps the first `MAX_SHOWN` and counts all of them."""

    items: list[Problem] = field(default_factory=list)
    total: int = 0

    def add(self, file: str, line: int | None, code: str, reason: str) -> None:
        self.total += 1
        if len(self.items) < MAX_SHOWN:
            self.items.append(Problem(file, line, code, shorten(reason)))

    @contextmanager
    def at(self, file: str, line: int | None) -> Iterator[None]:
        """Record an `InvalidInput` that is raised in the block as a problem on this line."""
        try:
            yield
        except InvalidInput as error:
            self.add(file, line, error.code, error.message)

    def extend(self, error: "FormatError") -> None:
        """Add the problems that another reader reported in its error."""
        self.total += error.total
        self.items += error.problems[: max(0, MAX_SHOWN - len(self.items))]

    def check(self) -> None:
        if self.items:
            raise FormatError(self.items, self.total)
