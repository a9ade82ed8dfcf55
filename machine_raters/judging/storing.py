"""Stores a judge's answers as ratings of its machine rater."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from annotation.models import Rating
from jobs.clock import database_now
from machine_raters.judging.passes import Pass, answered
from machine_raters.models import JudgeCriterion, JudgeFailure, Verdict
from machine_raters.services.raters import lock_in_use, store_ratings
from studies.models import Unit
from tiebreak.asking.replies import Reply
from tiebreak.gateway import GatewayError, ServedBy

UNKNOWN = ServedBy()


@dataclass(frozen=True)
class Answered:
    """An answer to one pass, with how it was made."""

    unit: Unit
    asked: Pass
    prompt_sha256: str
    seed: int | None
    reply: Reply
    language_model: str
    revision: str = ""
    served_by: ServedBy = UNKNOWN

    def source(self) -> dict[str, Any]:
        """Return the fields of a `ServedAnswer`."""
        return {
            "language_model": self.language_model[:200],
            "revision": self.revision[:200],
            "server_version": self.served_by.version[:100],
            "device": self.served_by.device[:200],
            "is_batch_invariant": self.served_by.is_batch_invariant,
            "finish_reason": self.reply.finish_reason[:50],
        }


@transaction.atomic
def store_answers(question: JudgeCriterion, answers: Sequence[Answered]) -> int:
    """Store answers as ratings, and return how many were not stored before.

    The judge is locked so that two workers cannot store an answer to the same pass twice, and none
    stores for a judge that was excluded in the meantime.
    """
    judge = question.judge
    lock_in_use(judge)
    known = answered(question, [answer.asked.unit for answer in answers])
    answers = [answer for answer in answers if answer.asked not in known]
    ratings = store_ratings(
        judge, question.criterion, {one.asked: one.reply.as_rating() for one in answers}
    )
    Verdict.objects.bulk_create(map(_verdict, [question] * len(answers), answers, ratings))
    _forget_failures(question, {answer.asked for answer in answers})
    return len(answers)


def note_failures(question: JudgeCriterion, failures: Sequence[tuple[Pass, GatewayError]]) -> None:
    """Keep why questions were not answered; of a question that fails again, only the last reason."""
    now = database_now()
    last = dict(failures)
    JudgeFailure.objects.bulk_create(
        [
            JudgeFailure(
                judge=question.judge,
                criterion=question.criterion,
                unit_id=asked.unit,
                order=asked.order,
                run=asked.run,
                code=error.code,
                message=error.message,
                failed_at=now,
            )
            for asked, error in last.items()
        ],
        update_conflicts=True,
        unique_fields=["judge", "criterion", "unit", "order", "run"],
        update_fields=["code", "message", "failed_at"],
    )


def _forget_failures(question: JudgeCriterion, asked: set[Pass]) -> None:
    units = {one.unit for one in asked}
    failures = question.judge.failures.filter(criterion=question.criterion, unit__in=units)
    rows = failures.values_list("pk", "unit", "order", "run")
    over = [pk for pk, unit, order, run in rows if Pass(unit, order, run) in asked]
    if over:
        failures.filter(pk__in=over).delete()


def _verdict(question: JudgeCriterion, answer: Answered, rating: Rating) -> Verdict:
    return Verdict(
        judge=question.judge,
        rating=rating,
        prompt_sha256=answer.prompt_sha256,
        seed=answer.seed,
        prompt_tokens=answer.reply.prompt_tokens,
        tokens=answer.reply.tokens,
        is_constrained=answer.reply.is_constrained,
        characters=len(answer.reply.text),
        **answer.source(),
    )
