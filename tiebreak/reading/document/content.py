"""The content of a report document, which all renderers share."""

from dataclasses import dataclass
from datetime import datetime

from tiebreak.reading.charts.svg import Svg


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class DataTable:
    """A table of texts. The first column names the row; the note below it applies to the rows."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    @property
    def cells(self) -> list[list[tuple[str, str]]]:
        """The rows, with the name of its column before each cell."""
        return [list(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class Figure:
    """A chart as SVG, whose caption states what it shows."""

    name: str
    caption: str
    svg: Svg


@dataclass(frozen=True)
class Citation:
    """A publication as a reader sees it. `key` is the key of its BibTeX entry."""

    key: str
    used_for: str
    text: str
    url: str = ""


@dataclass(frozen=True)
class ReferenceList:
    entries: tuple[Citation, ...]


@dataclass(frozen=True)
class Verbatim:
    """Text that is copied as it stands, such as BibTeX. The title says what it is."""

    text: str
    title: str = ""


Block = Paragraph | DataTable | Figure | ReferenceList | Verbatim


@dataclass(frozen=True)
class DocumentSection:
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class ReportDocument:
    """A report to read, print and cite. The first section is its summary.

    `dates` says which ratings it covers and when it was written. `bibtex` has the references of the
    methods used. `notice` comes before all sections: it says which ratings are not by people.
    """

    title: str
    subtitle: str
    dates: str
    written_at: datetime
    sections: tuple[DocumentSection, ...]
    bibtex: str
    notice: str = ""

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(block for section in self.sections for block in section.blocks)

    @property
    def tables(self) -> tuple[DataTable, ...]:
        return tuple(block for block in self.blocks if isinstance(block, DataTable))

    @property
    def figures(self) -> tuple[Figure, ...]:
        return tuple(block for block in self.blocks if isinstance(block, Figure))

    @property
    def citations(self) -> tuple[Citation, ...]:
        lists = (block for block in self.blocks if isinstance(block, ReferenceList))
        return tuple(entry for listed in lists for entry in listed.entries)
