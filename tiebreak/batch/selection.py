"""Draws of instances from a file of scores: the server's draw, for the same scores and seed."""

import math
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tiebreak.batch.texts import LIMITS
from tiebreak.digits import in_digits
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats.design_tables import ALIGNMENTS, PARSERS, SCORE_KEY
from tiebreak.formats.errors import Problems
from tiebreak.formats.export_columns import SELECTED
from tiebreak.formats.rows import Row, read_rows
from tiebreak.formats.writing import write_rows
from tiebreak.reading.terminal import as_table
from tiebreak.similarity.scores import normalised_by_pair
from tiebreak.stats.core.results import none_if_nan
from tiebreak.stats.design.drawing import Draw, SamplingFrame, draw_from
from tiebreak.stats.design.selection import CONTROL, Selection

Names = tuple[str, str]
NUMBERS = ("separability_raw", *ALIGNMENTS)
COLUMNS = (*SCORE_KEY, *NUMBERS)


@dataclass(frozen=True)
class Drawn:
    """The draw of each pair of systems."""

    similarity: str
    frames: Mapping[Names, SamplingFrame]
    selections: Mapping[Names, Selection]

    def rows(self) -> Iterator[Row]:
        """Yield the drawn instances with their probabilities, pair by pair, in the order of the scores."""
        for pair, frame in self.frames.items():
            drawn, (a, b) = self.selections[pair], pair
            for i in np.flatnonzero(drawn.selected):
                yield {
                    "instance": str(frame.instances[i]),
                    "system_a": a,
                    "system_b": b,
                    "phase": str(drawn.phase[i]),
                    "inclusion_probability": float(drawn.inclusion[i]),
                    "conditional_inclusion_probability": none_if_nan(drawn.conditional[i]),
                    "separability_raw": float(frame.raw[i]),
                    "separability": none_if_nan(frame.delta[i]),
                    "similarity": self.similarity,
                }

    def lines(self) -> Iterator[str]:
        """Yield how many instances were drawn, and how separable they are, as a table."""
        rows = []
        for pair, frame in self.frames.items():
            drawn = self.selections[pair]
            number, control = int(drawn.selected.sum()), int((drawn.phase == CONTROL).sum())
            means = (frame.raw[drawn.selected].mean(), frame.raw.mean())
            numbers = (f"{number:,} of {len(frame.raw):,}", f"{control:,}")
            rows.append([" – ".join(pair), *numbers, *(in_digits(float(mean)) for mean in means)])
        yield from as_table(("", "drawn", "control", "mean δ", "of all"), rows)

    def problems(self) -> Iterator[str]:
        for pair, selection in self.selections.items():
            if selection.warning:
                yield f"{' – '.join(pair)}: {selection.warning}"

    def as_json(self) -> dict[str, Any]:
        pairs = {" – ".join(pair): int(one.selected.sum()) for pair, one in self.selections.items()}
        return {"similarity": self.similarity, "drawn": pairs}


def draw_file(path: Path, out: Path, draw: Draw, *, similarity: str = "") -> Drawn:
    """Draw instances of each pair of systems of a file of scores, and write them to ``out``.

    ``similarity`` chooses among several. Raises `DomainError`, or `FormatError` for a file that
    holds no valid scores.
    """
    scores = _scores(path)
    known = list(scores)
    if similarity not in known and (similarity or len(known) != 1):
        names = ", ".join(known) or "none"
        sentence = f"Choose one of the similarities of {path.name} with --similarity: {names}."
        raise DomainError("which_similarity", sentence, status=400)
    [similarity] = [similarity] if similarity else known
    frames = {pair: of_pair.frame(pair) for pair, of_pair in scores[similarity].items()}
    selections = {pair: draw_from(frame, draw) for pair, frame in frames.items()}
    drawn = Drawn(similarity, frames, selections)
    write_rows(out, drawn.rows(), tuple(SELECTED))
    return drawn


@dataclass(frozen=True)
class _PairScores:
    """The scores of a pair, of which the numbers of an instance stand in a row."""

    instances: dict[str, None] = field(default_factory=dict)
    numbers: "array[float]" = field(default_factory=lambda: array("d"))

    def frame(self, pair: Names) -> SamplingFrame:
        numbers = np.array(self.numbers).reshape(-1, len(NUMBERS))
        raw, *alignments = numbers.T
        delta = normalised_by_pair(*alignments).delta
        return SamplingFrame.of_scores(pair, np.array([*self.instances]), raw, delta)


def _scores(path: Path) -> dict[str, dict[Names, _PairScores]]:
    """Return the scores by similarity and pair."""
    problems = Problems()
    scores: dict[str, dict[Names, _PairScores]] = {}
    for line, row in read_rows(path, problems, LIMITS):
        with problems.at(path.name, line):
            cells = {name: PARSERS["separability"][name](name, row.get(name)) for name in COLUMNS}
            pairs = scores.setdefault(cells["similarity"], {})
            pair = pairs.setdefault((cells["system_a"], cells["system_b"]), _PairScores())
            if cells["instance"] in pair.instances:
                reason = f"instance {cells['instance']!r} has another score of this pair"
                raise InvalidInput("duplicate_row", reason)
            pair.instances[cells["instance"]] = None
            pair.numbers.extend(math.nan if cells[n] is None else cells[n] for n in NUMBERS)
    problems.check()
    return scores
