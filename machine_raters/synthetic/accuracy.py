"""How often judges give synthetic items the label that follows from how these were made."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from machine_raters.models import Judge, SyntheticItem, SyntheticVerdict
from studies.models import Study
from tiebreak.asking.prompts import A_FIRST
from tiebreak.scales import BAD
from tiebreak.stats import Estimate, win_rate
from tiebreak.stats.core.independence import drop_unreliable_interval
from tiebreak.stats.core.proportions import wilson_interval

REPLICATES = 2_000
ABOUT = (
    "The share of synthetic items to which a judge gives the label that follows from how the item was"
    " made; of two answers, it should prefer the correct one, in both orders, and a tie is wrong. An"
    " answer that names no label counts as wrong. Intervals are for other questions made in"
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
    """A judge's accuracy by a criterion on a synthetic set: over all items and by how these were made."""

    judge: Judge
    criterion: str
    synthetic_set: int
    items: int
    unreadable: int
    overall: Estimate
    # How often the answer that was shown first is preferred; None for items with one answer.
    first_shown: Estimate | None
    by_kind: tuple[tuple[str, Estimate], ...]


@dataclass(frozen=True)
class _Answer:
    """A judge's answer about an item; ``order`` names the answer shown first, or is "" for one."""

    kind: str
    question: int
    expected: str | None
    label: str | None
    order: str

    @property
    def is_readable(self) -> bool:
        return self.label is not None

    @property
    def is_right(self) -> bool:
        return self.preference == -1 if self.order else self.label == self.expected

    @property
    def preference(self) -> float | None:
        """−1 for the correct answer, 1 for the other, 0 for a tie; None if neither is preferred."""
        if not self.order or self.label is None or self.label == BAD:
            return None
        return float(np.sign(float(self.label)))

    @property
    def of_first_shown(self) -> float | None:
        """1 if the answer that was shown first is preferred, 0 if the other is, and ½ for a tie."""
        if self.preference is None:
            return None
        return (1 + self.preference * (-1 if self.order == A_FIRST else 1)) / 2


def accuracies(study: Study) -> list[JudgeAccuracy]:
    """Return the accuracy of each judge on each synthetic set that it has answered items of.

    Excluded sets and judges are left out.
    """
    answers: dict[tuple[int, int, int, str], list[_Answer]] = defaultdict(list)
    rows = SyntheticVerdict.objects.filter(
        judge__study=study, judge__excluded=False, item__synthetic_set__excluded=False
    ).order_by("pk")
    for of_set, judge, criterion, name, kind, question, labels, label, order in rows.values_list(
        *("item__synthetic_set", "judge", "criterion", "criterion__name", "item__kind"),
        *("item__question", "item__labels", "label", "order"),
    ):
        answer = _Answer(kind, question, labels.get(name), label, order)
        answers[of_set, judge, criterion, name].append(answer)
    judges = Judge.objects.select_related("rater").in_bulk({judge for _, judge, *_ in answers})
    return [
        _accuracy(judges[judge], name, of_set, answered)
        for (of_set, judge, _, name), answered in sorted(answers.items())
    ]


def _accuracy(
    judge: Judge, criterion: str, of_set: int, answers: Sequence[_Answer]
) -> JudgeAccuracy:
    kinds = [kind for kind in SyntheticItem.Kind if any(a.kind == kind for a in answers)]
    return JudgeAccuracy(
        judge,
        criterion,
        of_set,
        len(answers),
        sum(not answer.is_readable for answer in answers),
        _overall(answers),
        _shown_first(answers),
        tuple((kind.label, _share([a for a in answers if a.kind == kind])) for kind in kinds),
    )


def _overall(answers: Sequence[_Answer]) -> Estimate:
    """Return the share of right answers over all items. Items of one question are dependent."""
    outcomes = [[answer.is_right, 0, not answer.is_right] for answer in answers]
    return _of_questions(outcomes, answers)


def _shown_first(answers: Sequence[_Answer]) -> Estimate | None:
    """Return how often the answer that was shown first is preferred, with ties as half."""
    pairs = [answer for answer in answers if answer.of_first_shown is not None]
    outcomes = [[int(answer.of_first_shown == share) for share in (1, 0.5, 0)] for answer in pairs]
    return _of_questions(outcomes, pairs) if pairs else None


def _of_questions(outcomes: Sequence[Sequence[int]], answers: Sequence[_Answer]) -> Estimate:
    questions = [answer.question for answer in answers]
    rng = np.random.default_rng(0)
    share = win_rate(outcomes, clusters=questions, rng=rng, replicates=REPLICATES)
    return drop_unreliable_interval(share, len(set(questions)), "question")


def _share(answers: Sequence[_Answer]) -> Estimate:
    """Return the share of right answers among items of one kind.

    A question has one such item, and of a comparison two answers, one in each order.
    """
    if len({answer.question for answer in answers}) < len(answers):
        return _overall(answers)
    right, n = sum(answer.is_right for answer in answers), len(answers)
    low, high = wilson_interval(right, n)
    share = Estimate(right / n, low, high, n=n, method="Wilson")
    return drop_unreliable_interval(share, n, "question")
