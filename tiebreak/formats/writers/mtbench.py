"""MT-Bench's votes of people, judgments of pairs in two games, and scores of single answers."""

import re
from collections.abc import Iterable

from tiebreak.formats.rows import Row
from tiebreak.formats.writers.items import JudgedItem, Vote
from tiebreak.formats.writers.left_out import comparable
from tiebreak.formats.writers.writer import Writer, by_pass

PEOPLE = "human_judgments.jsonl"
WINNERS = {-1: "model_a", 0: "tie", 1: "model_b"}
SWAPPED = {"model_a": "model_b", "model_b": "model_a"}
OF_GAME = {-1: "model_1", 0: "tie", 1: "model_2", None: "error"}
# In the second game, the second model's text comes first.
GAMES = {"g1": "ab", "g2": "ba"}
NO_SCORE = -1
_TURN = re.compile(r"(.+)/(\d+)", re.DOTALL)


class MTBenchWriter(Writer):
    """Writes votes of people, and for each machine its judgments of pairs or its scores."""

    def add(self, item: JudgedItem) -> None:
        """Write the votes about an item."""
        if not item.system_b:
            self._scores(item)
            return
        votes = list(comparable(item, self.left_out, refused=["both_bad"]))
        for vote in votes:
            if not vote.is_machine:
                self.files.add(PEOPLE, _vote(item, vote))
        self._games(item, [vote for vote in votes if vote.is_machine])

    def _games(self, item: JudgedItem, votes: Iterable[Vote]) -> None:
        for (rater, _), by_order in by_pass(votes).items():
            if set(by_order) == set(GAMES.values()):
                file = f"{self.files.name_for(rater)}_pair.jsonl"
                self.files.add(file, _judgment(item, by_order))
            else:
                self.left_out.add("one_order", len(by_order))

    def _scores(self, item: JudgedItem) -> None:
        for vote in item.votes:
            if not vote.is_machine:
                self.left_out.add("person_on_one_text")
            elif isinstance(vote.label, str) or item.scale.level == "nominal":
                self.left_out.add("not_a_score")
            else:
                self.files.add(
                    f"{self.files.name_for(vote.rater)}_single.jsonl", _score(item, vote)
                )


def _vote(item: JudgedItem, vote: Vote) -> Row:
    models, winner = (item.system_a, item.system_b), WINNERS[vote.label]  # type: ignore[index]
    if vote.shows_a_first is False:
        models, winner = (item.system_b, item.system_a), SWAPPED.get(winner, winner)
    question, turn = _question(item)
    return {
        "question_id": question,
        "model_a": models[0],
        "model_b": models[1],
        "winner": winner,
        "judge": vote.rater,
        "turn": turn,
        "unit": item.unit,
    }


def _judgment(item: JudgedItem, by_order: dict[str, Vote]) -> Row:
    question, turn = _question(item)
    votes = {game: by_order[order] for game, order in GAMES.items()}
    run = votes["g1"].run
    return {
        "question_id": question,
        "model_1": item.system_a,
        "model_2": item.system_b,
        **{f"{g}_winner": OF_GAME[vote.label] for g, vote in votes.items()},  # type: ignore[index]
        "judge": [votes["g1"].rater, item.criterion],
        **{f"{g}_judgment": vote.raw for g, vote in votes.items() if vote.raw},
        "turn": turn,
        "unit": item.unit,
        **({"run": run} if run else {}),
    }


def _score(item: JudgedItem, vote: Vote) -> Row:
    question, turn = _question(item)
    return {
        "question_id": question,
        "model": item.system_a,
        "judge": [vote.rater, item.criterion],
        "score": NO_SCORE if vote.label is None else vote.label,
        **({"judgment": vote.raw} if vote.raw else {}),
        "turn": turn,
        "unit": item.unit,
        **({"run": vote.run} if vote.run else {}),
    }


def _question(item: JudgedItem) -> tuple[str | int, int]:
    """Return the question and the turn, by an item such as 81/2/alder or an instance such as 81/2."""
    match = _TURN.fullmatch(item.instance)
    question, turn = (match[1], int(match[2])) if match else (item.instance, 1)
    if of_unit := re.match(rf"{re.escape(item.instance)}/(\d+)/", item.unit):
        turn = int(of_unit[1])
    is_number = question.isascii() and question.isdigit() and str(int(question)) == question
    return int(question) if is_number else question, turn
