"""Evaluation steps that a judge's model writes itself before it rates (Auto-CoT)."""

from machine_raters.messages import JUDGE_WITHOUT_STEPS
from machine_raters.models import Judge, JudgeCriterion
from tiebreak.errors import DomainError
from tiebreak.gateway import Failed, Message, Models, SampleRequest

ASKED = """\
You will rate many texts for a study. These are the guidelines, which people read as well:

{guidelines}

The question about each text is: {question}

Write the evaluation steps that you will follow for each text, as a short numbered list. Write nothing \
else, and rate nothing yet."""


def ensure_steps(question: JudgeCriterion, models: Models) -> None:
    """Let a judge that writes steps do so once, before its first question by a criterion.

    The steps are stored with what was asked, and are in every prompt from then on. Of two workers
    that ask at the same time, both use the steps that were stored first. Raises `DomainError` if the
    model writes none.
    """
    judge = question.judge
    if not judge.writes_steps or question.steps:
        return
    prompt = ASKED.replace("{question}", question.criterion.question).replace(
        "{guidelines}", judge.study.guidelines
    )
    steps = _written(judge, models, prompt)
    unwritten = JudgeCriterion.objects.filter(pk=question.pk, steps="")
    unwritten.update(steps=steps, steps_prompt=prompt)
    question.refresh_from_db(fields=["steps", "steps_prompt"])


def _written(judge: Judge, models: Models, prompt: str) -> str:
    request = SampleRequest(
        id="steps",
        prompt=(Message("user", prompt),),
        n=1,
        seed=judge.seed,
        temperature=judge.temperature,
        max_tokens=judge.max_tokens,
    )
    response = next(iter(models.sample([request])))
    if isinstance(response, Failed):
        raise DomainError("no_steps", JUDGE_WITHOUT_STEPS.format(response.error.message))
    steps = (
        response.samples[0].text.replace("\0", "").strip()
    )  # PostgreSQL stores no such character
    if not steps:
        raise DomainError("no_steps", JUDGE_WITHOUT_STEPS.format("Its answer was empty."))
    return steps
