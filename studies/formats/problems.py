"""What is wrong with a file: every problem named with its file, line and reason."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from studies.errors import DomainError


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. `line` counts from 1; None where it concerns the whole file."""

    file: str
    line: int | None
    reason: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}, line {self.line}"
        return f"{place}: {self.reason}"


class FormatError(DomainError):
    """A file that was refused. `problems` are the first ones, `total` counts all that were found."""

    def __init__(self, problems: Sequence[Problem], total: int | None = None) -> None:
        self.problems = tuple(problems)
        self.total = len(self.problems) if total is None else total
        super().__init__("bad_input", self._sentences(), status=400)

    def _sentences(self) -> str:
        lines = [str(problem) for problem in self.problems]
        if self.total > len(lines):
            lines.append(f"… and {self.total - len(lines)} more.")
        if self.total > 1:
            lines.insert(0, f"{self.total} problems; nothing was taken over.")
        return "\n".join(lines)


def refusal(file: str, reason: str, line: int | None = None) -> FormatError:
    """The error for one problem that leaves nothing more to read."""
    return FormatError([Problem(file, line, reason)])


@dataclass(slots=True)
class Problems:
    """Collects problems of one or several files: keeps the first `shown`, counts all."""

    shown: int
    kept: list[Problem] = field(default_factory=list)
    total: int = 0

    def add(self, file: str, line: int | None, reason: str) -> None:
        self.total += 1
        if len(self.kept) < self.shown:
            self.kept.append(Problem(file, line, reason))

    def add_all(self, file: str, lines: Sequence[int], reason: Callable[[int], str]) -> None:
        """A problem for each line; `reason` of a position is asked for only where it is shown."""
        room = max(self.shown - len(self.kept), 0)
        for position, line in enumerate(lines[:room]):
            self.kept.append(Problem(file, int(line), reason(position)))
        self.total += len(lines)

    def extend(self, error: FormatError) -> None:
        """The problems of another file's error."""
        self.kept += error.problems[: max(self.shown - len(self.kept), 0)]
        self.total += error.total

    def raise_if_any(self) -> None:
        if self.total:
            raise FormatError(self.kept, self.total)
