"""How probable the systems that are compared find the reference of an item."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from machine_raters.baselines.scored import Scored, reference_of
from machine_raters.messages import PERPLEXITY_NO_MODEL, PERPLEXITY_OF_PROMPT
from studies.model_servers import open_server
from studies.models import Generation, Unit
from studies.systems.prompts import template_of
from tiebreak.asking.samples import prompt_for
from tiebreak.errors import DomainError
from tiebreak.gateway import AnswerLogprob, AnswerLogprobRequest, Failed, GatewayError

# The ids of a system and an instance.
Key = tuple[int, int]


@dataclass(frozen=True)
class _System:
    """Where a system's model runs, and what it is called there."""

    name: str
    server: str
    model: str

    @classmethod
    def of(cls, generation: Generation) -> "_System":
        system, made_with = generation.system, generation.params
        return cls(
            system.name,
            system.server or str(made_with.get("server", "")),
            system.language_model or str(made_with.get("model", "")),
        )


def scored_by_perplexity(units: Sequence[Unit], *, is_per_token: bool) -> Iterator[Scored]:
    """Yield the log-probability of each unit's reference under its two systems.

    It covers the whole reference so that systems which divide texts into other tokens compare;
    or, per token, the negative logarithm of what papers call perplexity.
    A unit with a failed request is left out so that it can be tried again. Raises `DomainError` if
    a system's server answers none of the requests, or if a prompt contains the reference.
    """
    logprobs = _logprobs(
        [unit for unit in units if reference_of(unit).strip()], is_per_token=is_per_token
    )
    for unit in units:
        if not reference_of(unit).strip():
            yield Scored(unit, "", None)
            continue
        a, b = (logprobs.get(_key(generation)) for generation in unit.generations)
        if a is not None and b is not None:
            yield Scored(unit, "", (a, b))


def _logprobs(units: Sequence[Unit], *, is_per_token: bool) -> dict[Key, float]:
    by_system: dict[_System, dict[Key, Generation]] = defaultdict(dict)
    for unit in units:
        for generation in unit.generations:
            by_system[_System.of(generation)].setdefault(_key(generation), generation)
    known: dict[Key, float] = {}
    for system, generations in by_system.items():
        for key, answer in _ask(system, generations.values()).items():
            known[key] = answer.logprob / (answer.tokens if is_per_token else 1)
    return known


def _ask(system: _System, generations: Iterable[Generation]) -> dict[Key, AnswerLogprob]:
    asked: dict[str, tuple[AnswerLogprobRequest, Key]] = {}
    failures: list[GatewayError] = []
    for generation in generations:
        try:
            request = _request(generation)
        except GatewayError as error:
            failures.append(error)
        else:
            asked[request.id] = request, _key(generation)
    advice = PERPLEXITY_NO_MODEL.format(system=system.name)
    known: dict[Key, AnswerLogprob] = {}
    with open_server(system.server, system.model, advice=advice, dummy=system.name) as models:
        for answer in models.answer_logprobs([request for request, _ in asked.values()]):
            if isinstance(answer, Failed):
                failures.append(answer.error)
            else:
                known[asked[answer.id][1]] = answer
    check_failures(failures, is_any_known=bool(known))
    return known


def check_failures(failures: list[GatewayError], *, is_any_known: bool) -> None:
    """Raise `DomainError` if a model answered nothing, unless the requests were at fault."""
    problem = next((error.message for error in failures if not error.is_request_fault), None)
    if problem is not None and not is_any_known:
        raise DomainError("model_server", problem)


def _request(generation: Generation) -> AnswerLogprobRequest:
    """Return a request with the prompt of the text. Raises `GatewayError` if it cannot be sent."""
    system, instance = generation.system, generation.instance
    template = str(generation.params.get("prompt", ""))
    if "{reference}" in (system.prompt_template or template):
        raise DomainError("reference_in_prompt", PERPLEXITY_OF_PROMPT.format(system=system.name))
    return AnswerLogprobRequest(
        id=f"{system.pk}:{instance.pk}",
        prompt=prompt_for(instance, template_of(system, template)),
        answer=instance.reference,
    )


def _key(generation: Generation) -> Key:
    return generation.system_id, generation.instance_id
