"""Counts as people read them."""

from recruitment.launch.check import counted
from tiebreak.report.model import CriterionSection, PairCounts


def counts_of(section: CriterionSection) -> tuple[PairCounts, ...]:
    """Return how often each system of each pair was preferred."""
    systems = section.systems
    return tuple((systems.counts or {}).values()) if systems else ()


def counts_lines(section: CriterionSection) -> tuple[str, ...]:
    """Return a line per pair, such as `a preferred 12, tied 2, b preferred 2 (of 16 ratings …)`."""
    has_ties = 0 in section.labels
    return tuple(_line(pair, has_ties=has_ties) for pair in counts_of(section))


def _line(pair: PairCounts, *, has_ties: bool) -> str:
    first, second = pair.systems
    parts = [f"{first} preferred {pair.first:,}", f"{second} preferred {pair.second:,}"]
    if has_ties:
        parts.insert(1, f"tied {pair.ties:,}")
    if pair.bad:
        parts.append(f"both bad {pair.bad:,}")
    return f"{', '.join(parts)} (of {_basis(pair)})"


def counts_sentence(pair: PairCounts, *, has_ties: bool) -> str:
    """Return the counts of a pair as a sentence of a text."""
    first, second = pair.systems
    parts = [f"{first} was preferred in {pair.first:,}", f"{second} in {pair.second:,}"]
    if has_ties:
        parts.append(f"neither in {pair.ties:,} (ties)")
    if pair.bad:
        parts.append(f"both were called bad in {pair.bad:,}")
    return (
        f"{counted(pair.raters, 'annotator')} gave {counted(pair.ratings, 'rating')} of"
        f" {counted(pair.units, 'comparison')}: {', '.join(parts[:-1])}, and {parts[-1]}."
    )


def _basis(pair: PairCounts) -> str:
    people, items = counted(pair.raters, "annotator"), counted(pair.units, "item")
    return f"{counted(pair.ratings, 'rating')} by {people} on {items}"
