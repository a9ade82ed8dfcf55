"""AlpacaEval's annotations of pairs of outputs."""

from typing import Any

from tiebreak.formats.rows import Row
from tiebreak.formats.writers.files import ObjectFiles
from tiebreak.formats.writers.items import JudgedItem, Vote
from tiebreak.formats.writers.left_out import LeftOut, comparable
from tiebreak.formats.writers.writer import Writer

PREFERENCES = {-1: 1.0, 0: 1.5, 1: 2.0, None: None}
MACHINES, PEOPLE = "annotations.json", "human_annotations.json"


class AlpacaEvalWriter(Writer):
    """Writes a row for each vote; a machine's probability becomes a weighted preference."""

    def __init__(self, files: ObjectFiles, left_out: LeftOut) -> None:
        super().__init__(files, left_out)
        self._people: dict[str, int] = {}

    def add(self, item: JudgedItem) -> None:
        """Write the votes about an item."""
        for vote in comparable(item, self.left_out, refused=["both_bad"]):
            self.files.add(MACHINES if vote.is_machine else PEOPLE, self._row(item, vote))

    def _row(self, item: JudgedItem, vote: Vote) -> Row:
        if vote.is_machine:
            rater: Row = {"raw_completion": vote.raw or None}
        else:
            rater = {"annotator_index": self._people.setdefault(vote.rater, len(self._people))}
        return {
            "instruction": item.source,
            "output_1": item.text_a,
            "generator_1": item.system_a,
            "output_2": item.text_b,
            "generator_2": item.system_b,
            "dataset": item.category,
            "annotator": vote.rater,
            "preference": _preference(vote),
            **rater,
            **added(item, vote),
        }


def added(item: JudgedItem, vote: Vote) -> Row:
    """Return what the format has no field for; programs that do not know it pass over it."""
    first = vote.shows_a_first
    shown = "" if first is None else (item.system_a if first else item.system_b)
    facts = {"unit": item.unit, "run": vote.run, "first_shown": shown}
    return {name: value for name, value in facts.items() if value}


def _preference(vote: Vote) -> Any:
    share = vote.probability_b
    fits = share is not None and vote.label is not None and share != 0.5
    return 1 + share if fits and share is not None else PREFERENCES[vote.label]  # type: ignore[index]
