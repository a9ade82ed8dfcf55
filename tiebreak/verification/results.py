"""What a verification found: deviations, and what could not be checked."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from tiebreak.reading.words import counted

MAX_KEPT = 100


@dataclass(frozen=True)
class Deviation:
    """A place at which an export contradicts its own evidence."""

    file: str
    """File of the export."""
    line: int | None
    """Line of the file, or None if the deviation is about all of it."""
    what: str
    """What deviates: a column with its row's names, a path in the report, or a setting."""
    found: str
    """What the file says."""
    expected: str
    """What it should say, or what it contradicts."""

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}, line {self.line}"
        return f"{where}: {self.what} is {self.found}, but should be {self.expected}"


@dataclass(frozen=True)
class Checked:
    """One check: what it compared, and what deviated."""

    name: str
    """Name of the check, for programs."""
    title: str
    """What the check compares, in words."""
    n_compared: int = 0
    """Number of comparisons."""
    n_deviations: int = 0
    """Number of deviations."""
    deviations: tuple[Deviation, ...] = ()
    """The first 100 deviations."""
    not_checked: str = ""
    """Why nothing was compared, or not everything; "" if everything was."""

    @property
    def was_made(self) -> bool:
        """Whether anything was compared."""
        return self.n_compared > 0 or self.n_deviations > 0


@dataclass(frozen=True)
class Verification:
    """Everything that was checked in an export.

    See Also
    --------
    verify : Verify an export.
    """

    checks: tuple[Checked, ...]
    """All checks, in their order."""

    @property
    def n_deviations(self) -> int:
        """Number of deviations."""
        return sum(check.n_deviations for check in self.checks)

    @property
    def sentence(self) -> str:
        """What was checked and how many deviations there are, in one sentence."""
        made = [check for check in self.checks if check.was_made]
        titles = ", ".join(check.title for check in made) or "nothing could be compared"
        return f"Checked {counted(len(made), 'thing')}: {titles}; {counted(self.n_deviations, 'deviation')}."

    @property
    def lines(self) -> Iterator[str]:
        """A line for each deviation that was kept, and for each thing that was not checked."""
        for check in self.checks:
            yield from (f"{check.name}: {deviation}." for deviation in check.deviations)
            if rest := check.n_deviations - len(check.deviations):
                yield f"{check.name}: … and {counted(rest, 'more deviation')}."
            if check.not_checked:
                part = " in part" if check.was_made else ""
                yield f"{check.name}: not checked{part}, because {check.not_checked}."

    def as_json(self) -> dict[str, Any]:
        """Return the result ready for JSON."""
        return {"n_deviations": self.n_deviations, "checks": [asdict(one) for one in self.checks]}
