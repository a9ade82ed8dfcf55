"""The files of an export, read when a check needs them, and the registry of checks."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tiebreak.errors import DomainError
from tiebreak.formats import Bundle, FormatError, RatingTable, read_bundle
from tiebreak.formats.evidence import LOG, MANIFEST, REPORT, SELECTION
from tiebreak.formats.rating_cells import parse_timestamp
from tiebreak.formats.rows import Row
from tiebreak.verification.results import Checked

NOT_OPENED = "the log does not say that the study was opened"


class NotChecked(Exception):
    """The evidence that a check needs is missing."""


def needed(evidence: Any, reason: str) -> Any:
    """Return the evidence, or raise `NotChecked` if there is none."""
    if not evidence:
        raise NotChecked(reason)
    return evidence


@dataclass(frozen=True)
class Event:
    """An entry of the log."""

    at: datetime
    verb: str
    details: dict[str, Any]


@dataclass
class Export:
    """An export's folder, and its files as they are needed."""

    folder: Path

    @cached_property
    def read(self) -> Bundle | FormatError:
        """The bundle, or what is wrong with it."""
        try:
            return read_bundle(self.folder)
        except FormatError as error:
            return error

    @property
    def bundle(self) -> Bundle:
        if isinstance(self.read, FormatError):
            raise NotChecked("files of the export cannot be read")
        return self.read

    @property
    def ratings(self) -> RatingTable:
        found: RatingTable = needed(self.bundle.ratings, "the export has no ratings")
        return found

    @property
    def all_ratings(self) -> RatingTable:
        """The ratings with the pilot's, as reports use them."""
        pilot = self.bundle.pilot_ratings
        return self.ratings if pilot is None else self.ratings.joined(pilot)

    @cached_property
    def served(self) -> dict[str, list[Any]]:
        """Columns of the ratings that people gave on the server, in the order of the file."""
        table = self.ratings
        has_part = ~table.coded("participation").equals("")
        rows = np.flatnonzero(has_part & table.coded("kind").equals("human"))
        columns = {name: table[name][rows].tolist() for name in table.columns}
        counted = {"line": table.lines[rows].tolist(), "counts": table.is_counted[rows].tolist()}
        at = [parse_timestamp(text) if text else None for text in columns["created_at"]]
        return {**columns, **counted, "at": at}

    def answers(self, *columns: str) -> Iterator[tuple[Any, ...]]:
        """Yield some columns of `served`. Raises `NotChecked` if the study had no people here."""
        reason = "no rating belongs to a participation, so they were collected elsewhere"
        needed(self.served["line"], reason)
        return zip(*(self.served[column] for column in columns), strict=True)

    @cached_property
    def design(self) -> dict[str, Row]:
        """The rows of the plan by unit, with their lines."""
        table = self.bundle.tables.design
        needed(table.is_present, "the export has no table “design”")
        lines = map(int, table.lines)
        return {row["unit"]: {**row, "line": n} for row, n in zip(table.rows, lines, strict=True)}

    @cached_property
    def manifest(self) -> dict[str, Any]:
        return dict(needed(self.rows(MANIFEST), f"the export has no {MANIFEST}")[0])

    @cached_property
    def report(self) -> dict[str, Any]:
        return dict(needed(self.rows(REPORT), f"the export has no {REPORT}")[0])

    @cached_property
    def events(self) -> list[Event]:
        rows = needed(self.rows(LOG), f"the export has no {LOG}")
        return [
            Event(datetime.fromisoformat(row["at"]), row["verb"], row["details"]) for row in rows
        ]

    def events_of(self, *verbs: str) -> list[Event]:
        return [event for event in self.events if event.verb in verbs]

    @cached_property
    def draw(self) -> Row | None:
        return next(iter(self.rows(SELECTION)), None)

    def rows(self, name: str) -> list[Row]:
        """Return the rows of a file of JSON lines, or the one object of a JSON file."""
        path = self.folder / name
        try:
            text = path.read_text(encoding="utf-8") if path.is_file() else ""
            lines = text.splitlines() if name.endswith("l") else [text] * bool(text)
            return [json.loads(line) for line in lines]
        except ValueError as error:
            raise NotChecked(f"{name} is not JSON") from error


Check = Callable[[Export, Checked], None]
_CHECKS: dict[str, tuple[str, Check]] = {}


def check(name: str, title: str) -> Callable[[Check], Check]:
    """Register a check; its title continues "Checked 3 things:"."""

    def register(function: Check) -> Check:
        _CHECKS[name] = title, function
        return function

    return register


def made(export: Export) -> Iterator[Checked]:
    """Make all registered checks. Missing evidence of one does not affect the others."""
    for name, (title, function) in _CHECKS.items():
        findings = Checked(name, title)
        try:
            function(export, findings)
        except NotChecked as error:
            findings.not_checked.append(str(error))
        except (DomainError, LookupError, TypeError, ValueError, AttributeError) as error:
            # Who writes such files by hand has changed them.
            what = f"the evidence for {title}"
            findings.compare("the export", None, what, repr(error), "complete", same=False)
        yield findings
