"""Which of two texts a reward model gives the higher score."""

from collections.abc import Iterable, Iterator, Sequence

from machine_raters.baselines.perplexity import check_failures
from machine_raters.baselines.scored import Scored
from machine_raters.messages import NO_MODEL
from machine_raters.models import Baseline
from studies.model_servers import open_server
from studies.models import Generation, Unit
from tiebreak.gateway import Failed, GatewayError, Message, Prompt, ScoreRequest


def scored_by_reward(baseline: Baseline, units: Sequence[Unit]) -> Iterator[Scored]:
    """Yield the scores of each unit's texts, as answers to its source.

    A unit with a failed request is left out so that it can be tried again. Raises `DomainError` if
    the server answers none of the requests.
    """
    generations = {one.pk: one for unit in units for one in unit.generations}
    scores = _scores(baseline, generations.values())
    for unit in units:
        a, b = (scores.get(generation.pk) for generation in unit.generations)
        if a is not None and b is not None:
            yield Scored(unit, "", (a, b))


def _scores(baseline: Baseline, generations: Iterable[Generation]) -> dict[int, float]:
    requests: list[ScoreRequest] = []
    failures: list[GatewayError] = []
    scores: dict[int, float] = {}
    for generation in generations:
        try:
            requests.append(ScoreRequest(str(generation.pk), conversation(generation)))
        except GatewayError as error:
            failures.append(error)
    with open_server(baseline.server, baseline.language_model, advice=NO_MODEL) as models:
        for answer in models.scores(requests):
            if isinstance(answer, Failed):
                failures.append(answer.error)
            else:
                scores[int(answer.id)] = answer.score
    check_failures(failures, is_any_known=bool(scores))
    return scores


def conversation(generation: Generation) -> Prompt:
    """Return the turns before the text, or its source, and the text as the assistant's answer."""
    instance, answer = generation.instance, Message("assistant", generation.text)
    turns = [Message(turn["role"], str(turn["content"])) for turn in instance.messages]
    if instance.source:
        turns = [Message("user", instance.source)]
    return (*turns, answer) if turns else generation.text
