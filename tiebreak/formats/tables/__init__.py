"""Plain tables: reading them, and guessing which column holds what."""

from tiebreak.formats.tables.extraction import Extracted as Extracted
from tiebreak.formats.tables.plan import (
    FIELD_OF as FIELD_OF,
    LAYOUTS as LAYOUTS,
    LONG as LONG,
    PROMPTS as PROMPTS,
    ROLES as ROLES,
    TEXT_OF as TEXT_OF,
    WIDE as WIDE,
    Plan as Plan,
)
from tiebreak.formats.tables.problems import (
    TableProblem as TableProblem,
    TableProblems as TableProblems,
)
from tiebreak.formats.tables.profiles import (
    Column as Column,
    Profile as Profile,
)
from tiebreak.formats.tables.reading import (
    Table as Table,
    open_table as open_table,
)
from tiebreak.formats.tables.roles import plan_for as plan_for
from tiebreak.formats.tables.summary import (
    TableReading as TableReading,
    TableSummary as TableSummary,
    extracted_rows as extracted_rows,
)
