"""Plain tables: reading them, and guessing which column holds what."""

from tiebreak.formats.tables.extraction import Extracted
from tiebreak.formats.tables.plan import (
    FIELD_OF,
    LAYOUTS,
    LONG,
    PROMPTS,
    ROLES,
    TEXT_OF,
    WIDE,
    Plan,
)
from tiebreak.formats.tables.problems import TableProblem, TableProblems
from tiebreak.formats.tables.profiles import Column, Profile
from tiebreak.formats.tables.reading import Table, open_table
from tiebreak.formats.tables.roles import plan_for
from tiebreak.formats.tables.summary import TableReading, TableSummary, extracted_rows

__all__ = [
    "FIELD_OF",
    "LAYOUTS",
    "LONG",
    "PROMPTS",
    "ROLES",
    "TEXT_OF",
    "WIDE",
    "Column",
    "Extracted",
    "Plan",
    "Profile",
    "Table",
    "TableProblem",
    "TableProblems",
    "TableReading",
    "TableSummary",
    "extracted_rows",
    "open_table",
    "plan_for",
]
