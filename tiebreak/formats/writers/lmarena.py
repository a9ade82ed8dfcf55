"""LMArena's battles."""

from tiebreak.formats.rows import Row
from tiebreak.formats.writers.items import JudgedItem, Vote
from tiebreak.formats.writers.left_out import comparable
from tiebreak.formats.writers.writer import Writer
from tiebreak.scales import BAD

WINNERS = {-1: "model_a", 0: "tie", 1: "model_b", BAD: "tie (bothbad)"}
SWAPPED = {"model_a": "model_b", "model_b": "model_a"}
PEOPLE, MACHINES = "battles.jsonl", "machine_battles.jsonl"


class LMArenaWriter(Writer):
    """Writes a battle for each vote; the text that was shown first is model A's."""

    def add(self, item: JudgedItem) -> None:
        """Write the votes about an item."""
        for vote in comparable(item, self.left_out, refused=["unreadable"]):
            self.files.add(MACHINES if vote.is_machine else PEOPLE, _battle(item, vote))


def _battle(item: JudgedItem, vote: Vote) -> Row:
    winner = WINNERS[vote.label]
    sides = [(item.system_a, item.text_a), (item.system_b, item.text_b)]
    if vote.shows_a_first is False:
        sides, winner = sides[::-1], SWAPPED.get(winner, winner)
    (model_a, text_a), (model_b, text_b) = sides
    return {
        "question_id": item.instance,
        "model_a": model_a,
        "model_b": model_b,
        "winner": winner,
        "judge": vote.rater,
        "conversation_a": _conversation(item.source, text_a),
        "conversation_b": _conversation(item.source, text_b),
        "turn": 1,
        "kind": "machine" if vote.is_machine else "human",
        "unit": item.unit,
        **({"run": vote.run} if vote.run else {}),
    }


def _conversation(source: str, text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": source}, {"role": "assistant", "content": text}]
