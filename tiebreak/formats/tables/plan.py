"""How a table is read: its layout, and the column of each role."""

from collections.abc import Mapping
from dataclasses import dataclass, field

TEXT_OF, FIELD_OF = "text:", "field:"
WIDE, LONG, PROMPTS = "wide", "long", "prompts"
LAYOUTS = (WIDE, LONG, PROMPTS)
PAIR_ROLES = ("system_a", "text_a", "system_b", "text_b")
ROLES = ("instance", "source", "reference", "category", "system", "text", "sample", *PAIR_ROLES)


@dataclass(frozen=True)
class Plan:
    """How a table is read: its layout, and the column of each role."""

    layout: str
    """"wide" if a row has the texts of several systems, "long" if it has one text, and "prompts" if it
    has a source alone."""
    columns: Mapping[str, str]
    """Column by role: `instance`, `source`, `reference`, `category`, `system`, `text`, `sample`,
    `text:SYSTEM` for a column with the texts of one system, and `field:NAME` for any further text
    of the instances, such as a passage. Rows with a pair of systems have
    `system_a`, `text_a`, `system_b` and `text_b`."""
    repeats: bool = False
    """Whether several rows of the same instance and system are samples, not mistakes."""
    repeats_rows: bool = False
    """Whether rows repeat the texts of earlier rows, as if there were a row for each rating."""
    encoded: frozenset[str] = field(default=frozenset())
    """Columns whose cells are texts that hold JSON lists."""
    prose: frozenset[str] = field(default=frozenset())
    """Columns of several words, in which "None" is no answer but a missing one."""
    doubtful: tuple[str, ...] = ()
    """Columns that would have been guessed, but hardly have texts to read."""
    unclear: tuple[str, ...] = ()
    """Columns of texts of which neither names nor cells say which are sources and which of systems."""

    fill_down: tuple[str, ...] = ()
    """Columns whose empty cells repeat the value above."""
    without_errors: frozenset[str] = field(default=frozenset())
    """Systems whose texts are left out where they are what a program writes that got no answer."""

    @property
    def systems(self) -> dict[str, str]:
        """Column of each system's texts in a wide layout."""
        return {
            role.removeprefix(TEXT_OF): column
            for role, column in self.columns.items()
            if role.startswith(TEXT_OF)
        }

    @property
    def fields(self) -> dict[str, str]:
        """Column of each further text of the instances, by its name, in their order."""
        return {
            role.removeprefix(FIELD_OF): column
            for role, column in self.columns.items()
            if role.startswith(FIELD_OF)
        }
