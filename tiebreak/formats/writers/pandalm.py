"""PandaLM's test set with three annotators, and a file for each pass of a machine."""

from tiebreak.formats.rows import Row
from tiebreak.formats.writers.files import ObjectFiles
from tiebreak.formats.writers.items import JudgedItem, Vote
from tiebreak.formats.writers.left_out import LeftOut, comparable
from tiebreak.formats.writers.writer import Writer

TEST_SET = "testset-v1.json"
RESULTS = {-1: 1, 0: 0, 1: 2}
ANNOTATORS = 3


class PandaLMWriter(Writer):
    """Writes the items that exactly three people rated, and what machines said about these."""

    def __init__(self, files: ObjectFiles, left_out: LeftOut) -> None:
        super().__init__(files, left_out)
        self._next = 0

    def add(self, item: JudgedItem) -> None:
        """Write an item with its votes, if the test set can have it."""
        votes = list(comparable(item, self.left_out, refused=["both_bad"]))
        people = sorted((v for v in votes if not v.is_machine), key=lambda vote: vote.rater)
        reason = _reason(item, people)
        if reason:
            self.left_out.add(reason, len(votes)) if votes else None
            return
        self.files.add(TEST_SET, _row(item, people, self._next))
        for vote in votes:
            if vote.is_machine:
                name = f"{self.files.name_for(vote.rater, vote.run, vote.order)}.json"
                verdict = vote.raw if vote.label is None else str(RESULTS[vote.label])  # type: ignore[index]
                facts = {
                    "rater": vote.rater,
                    "run": vote.run,
                    "order": vote.order,
                    "unit": item.unit,
                }
                row = {"idx": self._next, "machine_result": verdict}
                self.files.add(name, row | {key: fact for key, fact in facts.items() if fact})
        self._next += 1


def _reason(item: JudgedItem, people: list[Vote]) -> str:
    if len(people) != ANNOTATORS:
        return "not_three_annotators"
    return "underscore" if "_" in item.system_a + item.system_b else ""


def _row(item: JudgedItem, people: list[Vote], index: int) -> Row:
    return {
        "idx": index,
        "motivation_app": item.category,
        "cmp_key": f"{item.system_a}_{item.system_b}",
        "instruction": item.source,
        "input": "",
        "response1": item.text_a,
        "response2": item.text_b,
        **{f"annotator{n}": RESULTS[v.label] for n, v in enumerate(people, 1)},  # type: ignore[index]
        "unit": item.unit,
    }
