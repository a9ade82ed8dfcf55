"""The round trip of synthetic questions: does a question bring back the passage it was made from?"""

from collections.abc import Sequence

import numpy as np

from machine_raters.models import SyntheticSet, SyntheticText
from machine_raters.synthetic.passages import Passage
from tiebreak.similarity import similarity


def ranks_of(
    questions: Sequence[str], made_from: Sequence[int], passages: Sequence[str], *, retriever: str
) -> list[int]:
    """Return the rank of each question's own passage, by its number; ties count against it."""
    measure = similarity(retriever)
    scores = measure.between(measure.prepare([*questions, *passages]))
    of_questions = scores[: len(questions), len(questions) :]
    of_own = of_questions[np.arange(len(questions)), list(made_from)]
    # The own passage is at least as similar as itself, so its rank is 1 or more.
    return [int(rank) for rank in (of_questions >= of_own[:, None]).sum(axis=1)]


def drop_not_retrieved(made: SyntheticSet, passages: Sequence[Passage]) -> None:
    """Rank the passages by each new question of a set, and drop those that bring back another."""
    new = made.texts.filter(kind=SyntheticText.Kind.QUESTION, dropped="", rank=None)
    questions, number = list(new), {p.instance: n for n, p in enumerate(passages)}
    if not questions:
        return
    made_from = [number[question.instance_id] for question in questions]
    texts, among = [q.text for q in questions], [p.text for p in passages]
    for question, rank in zip(
        questions, ranks_of(texts, made_from, among, retriever=made.retriever), strict=True
    ):
        question.rank = rank
        question.dropped = "" if rank == 1 else SyntheticText.Dropped.NOT_RETRIEVED
    SyntheticText.objects.bulk_update(questions, ["rank", "dropped"])
