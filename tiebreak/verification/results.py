"""What a verification found: deviations, and what could not be checked."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from tiebreak.digits import counted

MAX_KEPT, MAX_SHOWN = 100, 200


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


@dataclass
class Checked:
    """One check: how much it compared, and what deviated. It is filled while the check runs."""

    name: str
    """Name of the check, for programs."""
    title: str
    """What the check compares, in words."""
    n_compared: int = 0
    """Number of comparisons."""
    n_deviations: int = 0
    """Number of deviations."""
    deviations: list[Deviation] = field(default_factory=list)
    """The first 100 deviations."""
    not_checked: list[str] = field(default_factory=list)
    """Why nothing was compared, or not everything."""

    def equal(self, file: str, line: int | None, what: str, found: Any, expected: Any) -> None:
        """Compare two values that must be equal."""
        self.compare(file, line, what, found, expected, same=found == expected)

    def compare(
        self, file: str, line: int | None, what: str, found: Any, expected: Any, *, same: bool
    ) -> None:
        """Count a comparison, and note it as a deviation unless both are the ``same``."""
        self.n_compared += 1
        if not same:
            self.n_deviations += 1
            if len(self.deviations) < MAX_KEPT:
                one = Deviation(file, line, what, _shown(found), _shown(expected))
                self.deviations.append(one)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


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
    def lines(self) -> Iterator[str]:
        """What was checked in one sentence, each deviation that was kept, and what was not checked."""
        made = [check.title for check in self.checks if check.n_compared]
        checked = f"{counted(len(made), 'thing')}: {', '.join(made) or 'nothing to compare'}"
        yield f"Checked {checked}; {counted(self.n_deviations, 'deviation')}."
        for check in self.checks:
            yield from (f"{check.name}: {deviation}." for deviation in check.deviations)
            if rest := check.n_deviations - len(check.deviations):
                yield f"{check.name}: … and {counted(rest, 'more deviation')}."
            part = " in part" if check.n_compared else ""
            yield from (f"{check.name}: not checked{part}: {why}." for why in check.not_checked)

    def as_json(self) -> dict[str, Any]:
        """Return the result ready for JSON."""
        return {"n_deviations": self.n_deviations, "checks": [asdict(one) for one in self.checks]}
