"""How often judges give synthetic items the label that follows from how these were made."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from annotation.models import Judge, SyntheticItem, SyntheticVerdict
from studies.models import Study
from tiebreak.stats import Estimate, win_rate
from tiebreak.stats.bias import wilson_interval
from tiebreak.stats.independence import drop_unreliable_interval

REPLICATES = 2_000
ABOUT = (
    "The share of synthetic items to which a judge gives the label that follows from how the item was"
    " made. An answer that names no label counts as wrong. Intervals are for other questions made in"
    " the same way, and resample questions."
)
CAUTION = (
    "These are synthetic items, not the study's. A judge that does well here may still disagree with"
    " people on real answers, whose faults are less plain; and some of the labels are wrong, because a"
    " model did not write what it was asked for. Look at some items, and compare the judge with"
    " annotators."
)


@dataclass(frozen=True)
class JudgeAccuracy:
    """A judge's accuracy on a synthetic set: over all items and by how these were made."""

    judge: Judge
    synthetic_set: int
    items: int
    unreadable: int
    overall: Estimate
    by_kind: tuple[tuple[str, Estimate], ...]


@dataclass(frozen=True)
class _Answer:
    kind: str
    question: int
    is_right: bool
    is_readable: bool


def accuracies(study: Study) -> list[JudgeAccuracy]:
    """Return the accuracy of each judge on each synthetic set that it has answered items of."""
    answers: dict[tuple[int, int], list[_Answer]] = defaultdict(list)
    judges = {judge.pk: judge for judge in study.judges.select_related("criterion", "rater")}
    rows = SyntheticVerdict.objects.filter(judge__study=study).order_by("pk")
    for of_set, judge, label, kind, labels, question in rows.values_list(
        *("item__synthetic_set", "judge", "label", "item__kind", "item__labels", "item__question")
    ):
        expected = labels.get(judges[judge].criterion.name)
        answers[of_set, judge].append(_Answer(kind, question, label == expected, label is not None))
    return [
        _accuracy(judges[judge], of_set, of_judge)
        for (of_set, judge), of_judge in sorted(answers.items())
    ]


def _accuracy(judge: Judge, of_set: int, answers: Sequence[_Answer]) -> JudgeAccuracy:
    kinds = [kind for kind in SyntheticItem.Kind if any(a.kind == kind for a in answers)]
    return JudgeAccuracy(
        judge,
        of_set,
        len(answers),
        sum(not answer.is_readable for answer in answers),
        _overall(answers),
        tuple((kind.label, _share([a for a in answers if a.kind == kind])) for kind in kinds),
    )


def _overall(answers: Sequence[_Answer]) -> Estimate:
    """Return the share of right answers over all items. Items of one question are dependent."""
    questions = [answer.question for answer in answers]
    share = win_rate(
        [[answer.is_right, 0, not answer.is_right] for answer in answers],
        clusters=questions,
        rng=np.random.default_rng(0),
        replicates=REPLICATES,
    )
    return drop_unreliable_interval(share, len(set(questions)), "question")


def _share(answers: Sequence[_Answer]) -> Estimate:
    """Return the share of right answers among items of one kind, of which a question has one."""
    right, n = sum(answer.is_right for answer in answers), len(answers)
    low, high = wilson_interval(right, n)
    share = Estimate(right / n, low, high, n=n, method="Wilson")
    return drop_unreliable_interval(share, n, "question")
