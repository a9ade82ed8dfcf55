"""Stores a judge's answers as ratings of its machine rater."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from django.db import transaction

from annotation.models import Rating
from jobs.clock import database_now
from machine_raters.judging.passes import Pass, answered
from machine_raters.models import Judge, JudgeCriterion, JudgeFailure, Verdict
from machine_raters.services.raters import lock_in_use, store_ratings
from studies.models import Criterion, Unit
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
def store_answers(answers: Mapping[JudgeCriterion, Sequence[Answered]]) -> int:
    """Store the answers to some passes by each criterion, and return how many passes were new.

    Of criteria that are asked about together, a pass has the answers to all or to none. The judge is
    locked so that two workers cannot store an answer to the same pass twice, and none stores for a
    judge that was excluded in the meantime.
    """
    first = next(iter(answers))
    judge, asked = first.judge, {one.asked for one in answers[first]}
    lock_in_use(judge)
    new = asked - answered(first, {one.unit for one in asked})
    kept = {q: [one for one in given if one.asked in new] for q, given in answers.items()}
    fields = {
        q.criterion: {one.asked: one.reply.as_rating() for one in given}
        for q, given in kept.items()
    }
    ratings = store_ratings(judge, fields)
    Verdict.objects.bulk_create(
        _verdict(judge, one, rating)
        for one, rating in zip(chain.from_iterable(kept.values()), ratings, strict=True)
    )
    _forget_failures(judge, list(fields), new)
    return len(new)


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


def _forget_failures(judge: Judge, criteria: Sequence[Criterion], asked: set[Pass]) -> None:
    units = {one.unit for one in asked}
    failures = judge.failures.filter(criterion__in=criteria, unit__in=units)
    rows = failures.values_list("pk", "unit", "order", "run")
    over = [pk for pk, unit, order, run in rows if Pass(unit, order, run) in asked]
    if over:
        failures.filter(pk__in=over).delete()


def _verdict(judge: Judge, answer: Answered, rating: Rating) -> Verdict:
    return Verdict(
        judge=judge,
        rating=rating,
        prompt_sha256=answer.prompt_sha256,
        seed=answer.seed,
        prompt_tokens=answer.reply.prompt_tokens,
        tokens=answer.reply.tokens,
        is_constrained=answer.reply.is_constrained,
        characters=len(answer.reply.text),
        **answer.source(),
    )
