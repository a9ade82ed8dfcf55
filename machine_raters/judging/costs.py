"""What a judge costs: tokens of prompts and answers, and their price in the study's currency."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Q

from machine_raters.models import Judge
from studies.models import Study

MILLION = 1_000_000
NO_PRICES = "no prices were entered for this judge"
NO_JUDGE = "no judge of this study has prices for this model"
NO_TOKENS = "the server did not report the tokens of all requests"


@dataclass(frozen=True)
class Cost:
    """Tokens and their price. An amount that is not known is None, and `unknown_because` says why.

    `amount` is a decimal number as text, in the study's currency.
    """

    prompt_tokens: int | None
    tokens: int | None
    amount: str | None
    unknown_because: str = ""


def judge_with_prices(study: Study, server: str, language_model: str) -> Judge | None:
    """Return a judge of a study for which the prices of a model were entered."""
    same = Judge.objects.filter(study=study, server=server, language_model=language_model)
    return same.exclude(Q(prompt_price=None) | Q(answer_price=None)).first()


def cost_of(judge: Judge | None, prompt_tokens: int | None, tokens: int | None) -> Cost:
    """Return the cost of these tokens of prompts and answers, where None is not known."""
    if judge is None:
        return Cost(prompt_tokens, tokens, None, NO_JUDGE)
    if judge.prompt_price is None or judge.answer_price is None:
        return Cost(prompt_tokens, tokens, None, NO_PRICES)
    if prompt_tokens is None or tokens is None:
        return Cost(prompt_tokens, tokens, None, NO_TOKENS)
    amount = (judge.prompt_price * prompt_tokens + judge.answer_price * tokens) / MILLION
    return Cost(prompt_tokens, tokens, str(amount.quantize(Decimal("0.0001"))))


def forecast(
    judge: Judge | None,
    answers: Sequence[dict[str, Any]],
    *,
    seconds: float,
    total: int,
    each: int = 1,
) -> dict[str, Any]:
    """Return the time and cost of `total` answers, `each` so many to a prompt, based on those of a trial."""
    share = total / len(answers)
    prompt_tokens = _scaled(answers, "prompt_tokens", share / each)
    cost = cost_of(judge, prompt_tokens, _scaled(answers, "tokens", share))
    return {"minutes": seconds * share / 60, **asdict(cost)}


def _scaled(answers: Sequence[dict[str, Any]], name: str, share: float) -> int | None:
    numbers = [answer[name] for answer in answers]
    return None if None in numbers else round(sum(numbers) * share)
