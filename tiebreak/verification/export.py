"""The files of an export, read when a check needs them, and checks as they are registered."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiebreak.formats import Bundle, FormatError, RatingTable, read_bundle, read_ratings
from tiebreak.formats.evidence import LOG, MANIFEST, SELECTION
from tiebreak.formats.rating_cells import parse_timestamp
from tiebreak.formats.ratings import SUFFIXES
from tiebreak.formats.rows import Row
from tiebreak.verification.results import MAX_KEPT, Checked, Deviation

UNREADABLE = "files of the export cannot be read"


class NotChecked(Exception):
    """The evidence that a check needs is missing; the message continues "because"."""


def needed(evidence: Any, reason: str) -> Any:
    """Return the evidence, or raise `NotChecked` if there is none."""
    if not evidence:
        raise NotChecked(reason)
    return evidence


@dataclass(frozen=True)
class Event:
    """An entry of the log."""

    line: int
    at: datetime
    verb: str
    details: dict[str, Any]


@dataclass
class Export:
    """An export's folder, and its files as they are needed."""

    folder: Path
    report_path: Path

    @cached_property
    def bundle(self) -> Bundle:
        try:
            return read_bundle(self.folder)
        except FormatError as error:
            raise NotChecked(UNREADABLE) from error

    @cached_property
    def ratings(self) -> RatingTable:
        found: RatingTable = needed(self.bundle.ratings, "the export has no ratings")
        return found

    @cached_property
    def all_ratings(self) -> RatingTable:
        """The ratings with the pilot's, as reports use them."""
        pilot = self.bundle.pilot_ratings
        return self.ratings if pilot is None else self.ratings.joined(pilot)

    @cached_property
    def other_ratings(self) -> dict[str, RatingTable]:
        """The same ratings in other formats, by file."""
        paths = (self.folder / f"ratings{suffix}" for suffix in SUFFIXES)
        others = (path for path in paths if path.is_file() and path.name != self.ratings.name)
        return {path.name: read_ratings(path) for path in others}

    @cached_property
    def served(self) -> NDArray[np.int64]:
        """Rows of people who took part on the server, in the order in which they were stored."""
        has_part = ~self.ratings.coded("participation").equals("")
        return np.flatnonzero(has_part & self.ratings.coded("kind").equals("human"))

    @cached_property
    def rows(self) -> dict[str, list[Any]]:
        """The columns about participations, for `served`."""
        names = ("unit", "rater", "criterion", "role", "repeat", "participation", "hit_position")
        more = ("position", "side_a", "created_at", "duration_ms", "excluded_reason")
        flags = ("excluded", "late", "superseded", "simulated")
        return {
            name: self.ratings[name][self.served].tolist() for name in (*names, *more, *flags)
        } | {"line": self.ratings.lines[self.served].tolist()}

    @cached_property
    def times(self) -> list[datetime | None]:
        return [parse_timestamp(text) if text else None for text in self.rows["created_at"]]

    @cached_property
    def design(self) -> dict[str, Row]:
        """The rows of the plan by unit."""
        table = self.bundle.tables.design
        needed(table.is_present, "the export has no table “design”")
        return {
            row["unit"]: {**row, "line": int(line)}
            for row, line in zip(table.rows, table.lines, strict=True)
        }

    @cached_property
    def manifest(self) -> dict[str, Any]:
        found = self.json(self.folder / MANIFEST)
        needed(found, f"the export has no {MANIFEST}")
        return dict(found)

    @cached_property
    def log_rows(self) -> list[Row]:
        return self.lines(LOG)

    @cached_property
    def events(self) -> list[Event]:
        rows = needed(self.log_rows, f"the export has no {LOG}")
        return [
            Event(n, datetime.fromisoformat(row["at"]), row["verb"], row["details"])
            for n, row in enumerate(rows, start=1)
        ]

    @cached_property
    def draw(self) -> Row | None:
        return next(iter(self.lines(SELECTION)), None)

    @cached_property
    def report(self) -> dict[str, Any]:
        name = self.report_path.name
        return dict(needed(self.json(self.report_path), f"there is no {name}"))

    def events_of(self, *verbs: str) -> list[Event]:
        return [event for event in self.events if event.verb in verbs]

    def json(self, path: Path) -> Any:
        try:
            return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
        except ValueError as error:
            raise NotChecked(f"{path.name} is no JSON") from error

    def lines(self, name: str) -> list[Row]:
        path = self.folder / name
        try:
            text = path.read_text(encoding="utf-8") if path.is_file() else ""
            return [json.loads(line) for line in text.splitlines()]
        except ValueError as error:
            raise NotChecked(f"{name} is no JSON") from error


@dataclass
class Findings:
    """What a check collects: how much it compared, and the deviations, of which the first are kept."""

    n_compared: int = 0
    n_deviations: int = 0
    kept: list[Deviation] = field(default_factory=list)
    not_checked: list[str] = field(default_factory=list)

    def compare(
        self, file: str, line: int | None, what: str, found: Any, expected: Any, *, same: bool
    ) -> None:
        """Count a comparison, and note it as a deviation unless both are the ``same``."""
        self.n_compared += 1
        if not same:
            self.n_deviations += 1
            if len(self.kept) < MAX_KEPT:
                self.kept.append(Deviation(file, line, what, _shown(found), _shown(expected)))

    def equal(self, file: str, line: int | None, what: str, found: Any, expected: Any) -> None:
        """Compare two values that must be equal."""
        self.compare(file, line, what, found, expected, same=found == expected)


def _shown(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 200 else f"{text[:200]}…"


Check = Callable[[Export, Findings], None]


@dataclass(frozen=True)
class _Registered:
    name: str
    title: str
    check: Check


_CHECKS: list[_Registered] = []


def check(name: str, title: str) -> Callable[[Check], Check]:
    """Register a check; its title continues "Checked 3 things:"."""

    def register(function: Check) -> Check:
        _CHECKS.append(_Registered(name, title, function))
        return function

    return register


def made(export: Export) -> Iterator[Checked]:
    """Make all registered checks. Missing evidence of one does not affect the others."""
    for one in _CHECKS:
        findings = Findings()
        try:
            one.check(export, findings)
        except NotChecked as error:
            findings.not_checked.append(str(error))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f"a file does not have the form of an export's ({error!r:.200})"
            findings.not_checked.append(reason)
        yield Checked(
            one.name,
            one.title,
            findings.n_compared,
            findings.n_deviations,
            tuple(findings.kept),
            "; ".join(findings.not_checked),
        )
