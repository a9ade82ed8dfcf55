"""A layout of ratings: which columns of a table describe a rating, and which have labels."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tiebreak.formats.rows import Row

DEFAULT = "preference"
RATER_OF, LABEL_OF = "rater:", "label:"


@dataclass(frozen=True)
class Cell:
    """A column of labels: whose, for which criterion and item; "" where another column says so.

    ``item`` names the item within the row, such as one of several texts. The rater "[worker_2]" is
    the one whom the column worker_2 names, in each row another.
    """

    column: str
    rater: str = ""
    criterion: str = ""
    item: str = ""

    @property
    def rater_column(self) -> str:
        """The column that names the rater of these labels only, or ""."""
        return self.rater[1:-1] if self.rater[:1] + self.rater[-1:] == "[]" else ""

    def named_in(self, row: Row) -> "Cell":
        """Return the cell with the rater whom the row names for it, if it does."""
        name = row.get(self.rater_column)
        return replace(self, rater=str(name).strip()) if name is not None else self


@dataclass(frozen=True)
class Layout:
    """Which columns describe a rating, and which have labels.

    ``facts`` are columns by role; the roles are columns of the ratings format. ``keys`` are the
    columns that name the item together; without any, each row is an item. ``computed`` are columns
    that follow from those of the raters, such as their mean. ``has_winners`` says that labels name the
    better side.
    """

    facts: Mapping[str, str]
    cells: tuple[Cell, ...]
    keys: tuple[str, ...] = ()
    computed: tuple[str, ...] = ()
    has_winners: bool = False

    @property
    def columns(self) -> dict[str, str]:
        """The column of each role, as `layout_of` takes them."""
        roles = dict(self.facts)
        for cell in self.cells:
            # A column that has an item's labels is chosen by its own name, which says which it is.
            name = (
                cell.column.strip() if cell.item and cell.criterion else cell.criterion or cell.item
            )
            grid = f"{RATER_OF}{cell.rater}:{name}"
            # Without the colon at the end, the rater "coder: 2" would be a coder of the criterion 2.
            rater = grid if ":" in cell.rater else f"{RATER_OF}{cell.rater}"
            only = rater if cell.rater else f"{LABEL_OF}{name}"
            role = grid if cell.rater and cell.criterion else only
            roles["label" if role == LABEL_OF else role] = cell.column
        return roles | ({"unit": self.keys[0]} if len(self.keys) == 1 else {})


def rater_and_criterion(role: str) -> tuple[str, str]:
    """Return whose labels a column has, and for which criterion: "" where another column says so."""
    if role.startswith(LABEL_OF):
        return "", role.removeprefix(LABEL_OF)
    name = role.removeprefix(RATER_OF)
    rater, colon, criterion = name.rpartition(":")
    return (rater, criterion) if colon else (name, "")
