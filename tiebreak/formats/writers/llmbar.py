"""LLMBar's comparisons with one correct verdict, and evaluators' verdicts in both orders."""

from tiebreak.formats.rows import Row
from tiebreak.formats.writers.files import ObjectFiles
from tiebreak.formats.writers.items import JudgedItem, Vote
from tiebreak.formats.writers.left_out import LeftOut, comparable
from tiebreak.formats.writers.writer import Writer, by_pass

DATASET = "dataset.json"
SWAPS = {"swap = False": "ab", "swap = True": "ba"}


class LLMBarWriter(Writer):
    """Writes the items of the first pair of systems on which all people agree."""

    def __init__(self, files: ObjectFiles, left_out: LeftOut) -> None:
        super().__init__(files, left_out)
        self._systems: tuple[str, str] | None = None

    def add(self, item: JudgedItem) -> None:
        """Write an item and the evaluators' verdicts on it, if the format can have them."""
        votes = list(comparable(item, self.left_out, refused=["both_bad", "tie"]))
        if not votes:
            return
        systems = (item.system_a, item.system_b)
        labels = {vote.label for vote in votes if not vote.is_machine}
        if self._systems not in (None, systems):
            self.left_out.add("other_systems", len(votes))
        elif len(labels) != 1 or any(
            # A person preferred neither text, which the format cannot say.
            vote.label not in (-1, 1)
            for vote in item.votes
            if not vote.is_machine
        ):
            self.left_out.add("annotators_disagree", len(votes))
        else:
            self._systems = systems
            self._write(item, 1 if labels == {-1} else 2, [v for v in votes if v.is_machine])

    def _write(self, item: JudgedItem, label: int, votes: list[Vote]) -> None:
        texts = {"input": item.source, "output_1": item.text_a, "output_2": item.text_b}
        row = texts | {"label": label, "unit": item.unit}
        self.files.add(DATASET, row)
        for (rater, run), by_order in by_pass(votes).items():
            if set(by_order) != set(SWAPS.values()):
                self.left_out.add("one_order", len(by_order))
                continue
            folder = self.files.name_for(rater, run)
            facts = {"rater": rater} | ({"run": run} if run else {})
            results = {swap: _verdict(by_order[order]) for swap, order in SWAPS.items()}
            self.files.add(f"evaluators/{folder}/result.json", row | {"results": [results]} | facts)


def _verdict(vote: Vote) -> Row:
    winner = {-1: "1", 1: "2"}.get(vote.label) if isinstance(vote.label, int) else None
    return {"completion": [vote.raw, ""], "winner": winner}
