"""AlpacaEval's model outputs, and its annotations of pairs of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tiebreak.formats import FormatError, InstanceRow
from tiebreak.formats.bundle import CriterionSpec
from tiebreak.formats.rating_cells import written_probabilities
from tiebreak.formats.readers.converted import Converted
from tiebreak.formats.readers.pairs import (
    LEFT,
    RIGHT,
    TIE,
    Comparisons,
    Side,
    added_by_exports,
    required,
    table_rows,
    text_of,
)
from tiebreak.formats.readers.recognition import Head, Reader
from tiebreak.formats.rows import Row

PREFERENCE = CriterionSpec(
    "preference", "preference:tie", "Which output follows the instruction better?"
)
MAX_RAW = 1000
SIDES = ("output_1", "output_2")


def read_alpacaeval(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read files of outputs (`instruction`, `output`, `generator`) and of annotations.

    Annotations have `output_1`, `generator_1`, `output_2`, `generator_2`, `annotator` and
    `preference`: 1 for the first output, 2 for the second, numbers between them for a weighted
    preference, 1.5 (or 0 in older files) for a tie, and none where the annotator failed. A machine's
    weighted preference minus 1 is kept as its probability of the second output. Files of
    human annotators have `annotator_index` and no generators; ``systems`` names them then. Which
    output an annotator was shown first is not in these files.
    """
    study = _Reader(systems or SIDES)
    for path, line, row in table_rows(paths):
        study.add(path, line, row)
    return replace(study.comparisons.converted(), left_out=study.left_out)


class _Reader:
    """The comparisons so far, with instances identified by instruction and input."""

    def __init__(self, systems: tuple[str, str]) -> None:
        self.systems = systems
        self.comparisons = Comparisons("AlpacaEval", PREFERENCE)
        self.left_out: Counter[str] = Counter()
        self._keys: dict[str, str] = {}

    def add(self, path: Path, line: int, row: Row) -> None:
        instance = self._instance(path, line, row)
        if "output_1" not in row:
            side = Side(text_of(row, "generator") or path.stem, required(row, path, line, "output"))
            self.comparisons.text(instance, side)
            return
        left, right = (
            Side(text_of(row, f"generator_{n}") or name, required(row, path, line, f"output_{n}"))
            for n, name in zip((1, 2), self.systems, strict=True)
        )
        for side in (left, right):
            self.comparisons.text(instance, side)
        facts = _facts(row, path, line)
        if facts is not None:
            facts |= _weighted(row, left, right, facts["kind"]) | added_by_exports(row)
            first = text_of(row, "first_shown")
            self.comparisons.vote(instance, left, right, first=first, line=line, **facts)
        else:
            self.left_out["annotations of people without a preference"] += 1

    def _instance(self, path: Path, line: int, row: Row) -> str:
        parts = [required(row, path, line, "instruction"), text_of(row, "input")]
        source = "\n\n".join(filter(None, parts))
        key = self._keys.setdefault(source, str(len(self._keys) + 1))
        category = text_of(row, "dataset")
        self.comparisons.instances.setdefault(key, InstanceRow(key, source, category=category))
        return key


def _facts(row: Row, path: Path, line: int) -> Row | None:
    """Return the vote and its annotator, or None if a person did not vote."""
    is_human = "annotator_index" in row
    rater = text_of(row, "annotator") or f"annotator {text_of(row, 'annotator_index')}"
    facts: Row = {"rater": rater, "kind": "human" if is_human else "machine"}
    value = row.get("preference")
    if value is None:  # a machine's answer without a preference is kept as it is
        raw = text_of(row, "raw_completion")[:MAX_RAW] or "none"
        return None if is_human else {**facts, "vote": TIE, "label": None, "raw": raw}
    vote = _vote_of(value)
    if vote is None:
        reason = f"preference must be a number from 1 to 2, not {value!r}"[:200]
        raise FormatError.of(path.name, line, "unknown_value", reason)
    return {**facts, "vote": vote}


def _weighted(row: Row, left: Side, right: Side, kind: str) -> Row:
    """Return the probabilities that a weighted preference of a machine means."""
    value = row.get("preference")
    if kind != "machine" or value is None or float(str(value)) in (0, 1, 1.5, 2):
        return {}
    of_right = float(str(value)) - 1
    shares = (1 - of_right, of_right) if left.system <= right.system else (of_right, 1 - of_right)
    return {"probabilities": written_probabilities(dict(zip(("-1", "1"), shares, strict=True)))}


def _vote_of(value: object) -> int | None:
    try:
        number = float(str(value))
    except ValueError:
        return None
    if number in (0, 1.5):
        return TIE
    if not 1 <= number <= 2:
        return None
    return LEFT if number < 1.5 else RIGHT


def _knows(head: Head) -> bool:
    """Whether there are annotations; outputs alone have no ratings."""
    by_whom = head.has("annotator") or head.has("annotator_index")
    return by_whom and head.has("instruction", "output_1", "output_2", "preference")


READER: Reader = Reader(read_alpacaeval, _knows)
