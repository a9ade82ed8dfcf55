"""The content of a report document, which all renderers share."""

from dataclasses import dataclass

from django.utils.safestring import SafeString


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class DataTable:
    """A table of texts. The first column names the row."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Figure:
    """A chart as SVG, whose caption states what it shows."""

    name: str
    caption: str
    svg: SafeString


@dataclass(frozen=True)
class Verbatim:
    """Text that is copied as it stands, such as BibTeX."""

    text: str


Block = Paragraph | DataTable | Figure | Verbatim


@dataclass(frozen=True)
class DocumentSection:
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class ReportDocument:
    """A report to read, print and cite. `bibtex` has the references of the methods used."""

    title: str
    subtitle: str
    sections: tuple[DocumentSection, ...]
    bibtex: str

    @property
    def tables(self) -> tuple[DataTable, ...]:
        return tuple(b for s in self.sections for b in s.blocks if isinstance(b, DataTable))

    @property
    def figures(self) -> tuple[Figure, ...]:
        return tuple(b for s in self.sections for b in s.blocks if isinstance(b, Figure))
