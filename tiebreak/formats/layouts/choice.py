"""How someone wants a table of ratings to be read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from tiebreak.errors import DomainError
from tiebreak.formats.layouts.known import UnclearLayoutError
from tiebreak.formats.layouts.layout import LABEL_OF, RATER_OF
from tiebreak.formats.rating_cells import COLUMNS
from tiebreak.formats.tables.choosing import parse_columns
from tiebreak.formats.tables.filling import EMPTY_BELOW


@dataclass(frozen=True)
class Choice:
    """How someone wants a table of ratings to be read; what is not chosen is guessed.

    ``columns`` are columns by role: those of the ratings format, ``rater:NAME`` for a column with
    the labels of one rater, and ``label:CRITERION`` for one with the labels of a criterion.
    ``left_out`` are columns that no guess may use. ``reader`` names the platform or dataset.
    ``scales`` has scales by criterion; others are those of the file, or inferred. ``sheet`` is that
    of a workbook. Empty cells of the columns in ``fill_down`` repeat the value above.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    reader: str = ""
    scales: Mapping[str, str] = field(default_factory=dict)
    sheet: str = ""
    fill_down: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, chosen: Mapping[str, Any]) -> Self:
        """Return a choice that was stored as JSON, which has no tuples."""
        lists = {n: tuple(chosen.get(n, ())) for n in ("left_out", "fill_down")}
        return cls(**{**chosen, **lists})

    @classmethod
    def parse(
        cls,
        columns: str = "",
        left_out: Iterable[str] = (),
        scales: Iterable[str] = (),
        *,
        reader: str = "",
        sheet: str = "",
        fill_down: Iterable[str] = (),
    ) -> Self:
        """Return what someone typed: `ROLE=COLUMN,…`, and `CRITERION=SCALE` for each scale."""
        roles = parse_columns(columns, COLUMNS, (RATER_OF, LABEL_OF))
        chosen = parse_scales(scales)
        return cls(roles, tuple(left_out), reader, chosen, sheet, tuple(fill_down))


class EmptyBelowError(UnclearLayoutError):
    """It is not clear whether the empty cells of ``columns`` repeat the value above."""

    def __init__(self, columns: Sequence[str]) -> None:
        super().__init__("empty_below", EMPTY_BELOW.format(", ".join(columns)))
        self.columns = tuple(columns)


def parse_scales(declared: Iterable[str]) -> dict[str, str]:
    """Return the scales by criterion that someone typed as `CRITERION=SCALE`."""
    scales = {}
    for text in declared:
        criterion, equals, spec = text.partition("=")
        if not equals:
            sentence = f"A scale must have the form CRITERION=SCALE, not {text[:100]!r}."
            raise DomainError("bad_option", sentence, status=400)
        scales[criterion] = spec
    return scales
