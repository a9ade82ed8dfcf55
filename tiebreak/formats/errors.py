"""What is wrong with a file: every bad row by name, line, code and reason."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self

from tiebreak.errors import DomainError, InvalidInput

SHOWN = 50
LONGEST_REASON = 500


def shorten(reason: str) -> str:
    """A reason that can be shown: what a file holds is quoted in it."""
    shown = reason.encode(errors="backslashreplace").decode()
    return shown if len(shown) <= LONGEST_REASON else shown[:LONGEST_REASON] + "…"


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
        Names the case for programs.
    reason : str
        What is wrong.

    Examples
    --------
    >>> print(Problem("ratings.csv", 3, "empty_id", "rater is empty"))
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
        What is wrong. The message has the first 50.
    total : int, optional
        Number of problems, if there are more than in the list.
    """

    def __init__(self, problems: list[Problem], total: int | None = None) -> None:
        self.problems = problems[:SHOWN]
        self.total = total or len(problems)
        lines = [str(problem) for problem in self.problems]
        if self.rest:
            lines.append(self.rest)
        super().__init__("bad_file", "\n".join(lines), status=400)

    @property
    def rest(self) -> str:
        """The line that says how many problems are not shown; "" where all are."""
        more = self.total - len(self.problems)
        return f"… and {more} more problems." if more else ""

    @classmethod
    def of(cls, file: str, line: int | None, code: str, reason: str) -> Self:
        """A file that is refused for one thing."""
        return cls([Problem(file, line, code, reason)])


@dataclass
class Problems:
    """Collects problems, keeping the first ones and counting the rest."""

    found: list[Problem] = field(default_factory=list)
    total: int = 0

    def add(self, file: str, line: int | None, code: str, reason: str) -> None:
        self.total += 1
        if len(self.found) < SHOWN:
            self.found.append(Problem(file, line, code, shorten(reason)))

    @contextmanager
    def at(self, file: str, line: int | None) -> Iterator[None]:
        """Turn a row's `InvalidInput` into a problem of its line."""
        try:
            yield
        except InvalidInput as error:
            self.add(file, line, error.code, error.message)

    def extend(self, error: "FormatError") -> None:
        """Take over what another reader refused."""
        self.total += error.total
        self.found += error.problems[: max(0, SHOWN - len(self.found))]

    def check(self) -> None:
        if self.found:
            raise FormatError(self.found, self.total)
