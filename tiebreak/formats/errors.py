"""Errors in files, with the file, line, code and reason of every problem."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, Self, TypeVar

from tiebreak.errors import DomainError, InvalidInput

MAX_SHOWN = 50
MAX_REASON_LENGTH = 500
# Lines that are named of problems which are equal.
FIRST_LINES = 5
# What differs between the reasons of equal problems: the values that they quote.
_QUOTED = re.compile(r"“[^”]*”|'[^']*'|\"[^\"]*\"|\d[\d.,]*")


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

    @property
    def place(self) -> tuple[str | None, int | None]:
        """The file, and the line in it."""
        return self.file, self.line


class Located(Protocol):
    """A problem of a file or of a table."""

    @property
    def code(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def place(self) -> tuple[str | None, int | None]: ...


P = TypeVar("P", bound=Located)


@dataclass
class ProblemKind(Generic[P]):
    """Problems that are equal, but for their lines and the values that they quote."""

    first: P
    """The first of them."""
    count: int = 0
    """Number of these problems."""
    lines: list[int] = field(default_factory=list)
    """The first lines or rows that have the problem."""

    def __str__(self) -> str:
        return str(self.first) + (f" ({self.where})" if self.count > 1 else "")

    @property
    def where(self) -> str:
        """How many there are, and their first lines, such as "12 like this: 2, 3, 4, 5, 6, …"."""
        more = ", …" if self.count > len(self.lines) else ""
        first = f": {', '.join(map(str, self.lines))}{more}" if self.lines else ""
        return f"{self.count:,} like this{first}"

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "first": vars(self.first)}


class ProblemKinds(Generic[P]):
    """Problems counted by their kind, of which the first `MAX_SHOWN` are kept.

    Examples
    --------
    >>> missing = [Problem("r.csv", n, "column_missing", "the column unit is missing") for n in (2, 3)]
    >>> print(*ProblemKinds(missing))
    r.csv, line 2: the column unit is missing (2 like this: 2, 3)
    """

    def __init__(self, problems: Iterable[P] = ()) -> None:
        self._kinds: dict[tuple[str, str | None, str], ProblemKind[P]] = {}
        for problem in problems:
            self.add(problem)

    def __iter__(self) -> Iterator[ProblemKind[P]]:
        return iter(self._kinds.values())

    def add(self, problem: P, *, is_kept: bool = False) -> None:
        line = problem.place[1]
        kind = ProblemKind(problem, 1, [] if line is None else [line])
        self.merge(kind, is_kept=is_kept)

    def merge(self, other: ProblemKind[P], *, is_kept: bool = False) -> None:
        """Add the problems of a kind that may be there already."""
        first = other.first
        key = (first.code, first.place[0], _QUOTED.sub("…", first.reason))
        if key not in self._kinds and len(self._kinds) >= MAX_SHOWN and not is_kept:
            return
        kind = self._kinds.setdefault(key, ProblemKind(first))
        kind.count += other.count
        kind.lines += other.lines[: max(0, FIRST_LINES - len(kind.lines))]


class FormatError(DomainError, ValueError):
    """A file was refused.

    Parameters
    ----------
    problems : list of Problem
        Problems of the file. The error keeps the first 50.
    total : int, optional
        Number of all problems, if the list does not have all of them.
    kinds : iterable of ProblemKind, optional
        All problems by their kind, if the list does not have all of them.
    """

    def __init__(
        self,
        problems: list[Problem],
        total: int | None = None,
        kinds: Iterable[ProblemKind[Problem]] = (),
    ) -> None:
        self.problems = problems[:MAX_SHOWN]
        self.total = total or len(problems)
        self.kinds = list(kinds) or list(ProblemKinds(problems))
        lines = [str(kind) for kind in self.kinds]
        if self.rest:
            lines.append(self.rest)
        super().__init__("bad_file", "\n".join(lines), status=400)

    @property
    def rest(self) -> str:
        """Last line of the message, which says how many problems it leaves out, or ""."""
        more = self.total - sum(kind.count for kind in self.kinds)
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

    def as_json(self) -> dict[str, Any]:
        """Return the error as another process sends it.

        Returns
        -------
        dict
            Problems, their number and their kinds, for `from_json`.
        """
        return {
            "problems": [vars(problem) for problem in self.problems],
            "total": self.total,
            "kinds": [kind.as_json() for kind in self.kinds],
        }

    @classmethod
    def from_json(cls, error: dict[str, Any]) -> Self:
        """Return the error that another process has sent.

        Parameters
        ----------
        error : dict
            What `as_json` returned.

        Returns
        -------
        FormatError
            The error.
        """
        kinds = [ProblemKind(**{**k, "first": Problem(**k["first"])}) for k in error["kinds"]]
        return cls([Problem(**problem) for problem in error["problems"]], error["total"], kinds)


@dataclass
class Problems:
    """A collection of problems, which keeps the first `MAX_SHOWN` and counts all of them."""

    items: list[Problem] = field(default_factory=list)
    total: int = 0
    kinds: ProblemKinds[Problem] = field(default_factory=ProblemKinds)

    def add(self, file: str, line: int | None, code: str, reason: str) -> None:
        self.total += 1
        problem = Problem(file, line, code, shorten(reason))
        self.kinds.add(problem)
        if len(self.items) < MAX_SHOWN:
            self.items.append(problem)

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
        for kind in error.kinds:
            self.kinds.merge(kind)

    def check(self) -> None:
        if self.items:
            raise FormatError(self.items, self.total, self.kinds)
