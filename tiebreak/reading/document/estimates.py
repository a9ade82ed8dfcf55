"""Estimates as tables of a report document, with notes that say who they apply to."""

from collections.abc import Mapping

from tiebreak.digits import in_digits
from tiebreak.reading.document.content import DataTable
from tiebreak.stats import Estimate

INSTANCES = {
    "new": "similar instances",
    "dataset": "the whole dataset",
    "selected": "the selected instances",
    "these": "these instances",
}
RATERS = {"new": "similar annotators", "these": "these annotators"}


def estimate_table(caption: str, estimates: Mapping[str, Estimate]) -> DataTable:
    """Return estimates as a table.

    What the estimates apply to, or why they are undefined or have no interval, is said once: in the
    table's note, to which a column refers if rows differ.
    """
    notes = list(dict.fromkeys(note_of(estimate) for estimate in estimates.values()))
    with_intervals = any(estimate.has_interval for estimate in estimates.values())
    columns = ["Statistic", "Estimate", "95% interval", "n", "Note"]
    rows = [
        [name, *_cells(estimate), mark_of(notes.index(note_of(estimate)))]
        for name, estimate in estimates.items()
    ]
    left_out = [] if with_intervals else [2]
    left_out += [] if len(notes) > 1 else [4]
    kept = [number for number in range(len(columns)) if number not in left_out]
    return DataTable(
        caption,
        tuple(columns[number] for number in kept),
        tuple(tuple(row[number] for number in kept) for row in rows),
        " ".join(f"{mark_of(n)}: {note}" for n, note in enumerate(notes))
        if len(notes) > 1
        else "".join(notes),
    )


def mark_of(number: int) -> str:
    """Return the letter by which a table names a note."""
    return chr(ord("a") + number) if number < 26 else str(number)


def note_of(estimate: Estimate) -> str:
    """Return why an estimate is undefined or has no interval, or else who it applies to."""
    if estimate.reason and not (estimate.is_defined and estimate.has_interval):
        return estimate.reason
    scope = estimate.scope
    return f"Applies to {INSTANCES[scope.instances]} and {RATERS[scope.raters]}."


def _cells(estimate: Estimate) -> tuple[str, str, str]:
    if not estimate.is_defined:
        return "undefined", "", str(estimate.n)
    interval = f"{in_digits(estimate.low)} to {in_digits(estimate.high)}"
    return (
        in_digits(estimate.value),
        interval if estimate.has_interval else "none",
        str(estimate.n),
    )


def estimate_in_words(estimate: Estimate) -> str:
    """Return an estimate with its interval, if it has one, in one cell."""
    value, interval, _ = _cells(estimate)
    return f"{value} ({interval})" if estimate.has_interval else value
