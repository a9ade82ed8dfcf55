"""Published comparisons of pairs: texts on two sides, and votes for one of them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tiebreak.formats import FormatError, GenerationRow, InstanceRow, StudySpec
from tiebreak.formats.bundle import CriterionSpec
from tiebreak.formats.errors import Problem
from tiebreak.formats.readers.converted import Converted, text_cell
from tiebreak.formats.rows import Row
from tiebreak.formats.tables import TableProblems, open_table
from tiebreak.formats.tables.nesting import text_of as as_text

LEFT, TIE, RIGHT = -1, 0, 1


@dataclass(frozen=True)
class Side:
    """A system and its text, on the left or on the right."""

    system: str
    text: str


@dataclass
class Comparisons:
    """Collects comparisons. Systems are ordered by name, whatever their side in a vote."""

    title: str
    criterion: CriterionSpec
    instances: dict[str, InstanceRow] = field(default_factory=dict)
    ratings: list[Row] = field(default_factory=list)
    _texts: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def text(self, instance: str, side: Side) -> int:
        """Return the sample of a text, which is new or was there before."""
        texts = self._texts.setdefault((instance, side.system), [])
        if side.text not in texts:
            texts.append(side.text)
        return texts.index(side.text)

    def vote(
        self,
        instance: str,
        left: Side,
        right: Side,
        vote: int | str,
        *,
        first: str | None = None,
        **facts: Any,
    ) -> None:
        """Add a vote: -1 for the left text, 1 for the right one, 0 for a tie, or another label.

        The left text was shown first, unless ``first`` names the other system, or is "" because
        the file does not tell what was shown first.
        """
        is_in_order = left.system <= right.system
        a, b = (left, right) if is_in_order else (right, left)
        samples = {
            f"sample_{name}": self.text(instance, side)
            for name, side in (("a", a), ("b", b))
            if side.text
        }
        unit = "/".join([instance, a.system, b.system, *map(str, samples.values())])
        label = vote if is_in_order or isinstance(vote, str) else -vote
        self.ratings.append(
            {
                "unit": unit,
                "label": label,
                "criterion": self.criterion.name,
                "instance": instance,
                "system_a": a.system,
                "system_b": b.system,
                **_shown(a, left.system if first is None else first, facts),
                **samples,
                **facts,
            }
        )

    def converted(self) -> Converted:
        """Return everything; if a rater voted on a unit again, later votes are superseded."""
        flag_later_votes(self.ratings)
        generations = [
            GenerationRow(instance, system, sample, text)
            for (instance, system), texts in self._texts.items()
            for sample, text in enumerate(texts)
        ]
        systems = {system for _, system in self._texts}
        systems |= {str(row[side]) for row in self.ratings for side in ("system_a", "system_b")}
        spec = StudySpec(
            title=self.title,
            criteria=(self.criterion,),
            systems=tuple(sorted(systems)),
            settings={"comparisons_per_hit": 1},
        )
        return Converted(spec, list(self.instances.values()), generations, self.ratings)


def _shown(a: Side, first: str, facts: Row) -> Row:
    """Return how a pair was shown, as far as it is known; passes of machines are told apart by it."""
    if not first:
        return {}
    is_first = a.system == first
    order = {"order": "ab" if is_first else "ba"} if facts.get("kind") == "machine" else {}
    return {"side_a": "left" if is_first else "right", **order}


def flag_later_votes(ratings: Sequence[Row]) -> None:
    """Flag votes as superseded if their rater has voted on the same unit, in the same pass, before."""
    votes: Counter[tuple[str, ...]] = Counter()
    for row in ratings:
        key = tuple(row.get(name, "") for name in ("unit", "criterion", "rater", "run", "order"))
        votes[key] += 1
        row["superseded"] = votes[key] > 1


def added_by_exports(row: Row) -> Row:
    """Return what this platform's exports add to a format's own fields, if the row has it."""
    return {name: str(row[name]) for name in ("unit", "run", "rater") if row.get(name)}


def table_rows(paths: Sequence[Path]) -> Iterator[tuple[Path, int, Row]]:
    """Yield the rows of files of any format of tables; raise `FormatError` for bad ones."""
    for path in paths:
        if not path.exists():
            raise FormatError.of(path.name, None, "no_such_file", "does not exist")
        problems = TableProblems()
        with open_table(path) as table:
            for number, row in table.rows(problems):
                yield path, number, row
        if problems.items:
            raise problems.as_error(path.name)


def text_of(row: Row, *names: str) -> str:
    """Return the first of several columns that has a value, as text, or ""."""
    return next((as_text(row[name]) for name in names if row.get(name) not in (None, "")), "")


def required(row: Row, path: Path, line: int, *names: str) -> str:
    """Return the first of several columns that has a value; one of them must have one."""
    name = next((name for name in names if row.get(name) not in (None, "")), None)
    if name is None:
        reason = f"the column {' or '.join(names)} is missing or empty"
        raise FormatError.of(path.name, line, "column_missing", reason)
    return text_cell(row, name, path, line)
