"""A model provider without a model, for tests and the demo."""

import re
from collections.abc import Iterable, Iterator, Mapping
from math import exp, log
from random import Random

from tiebreak.gateway.protocol import (
    AnswerLogprob,
    AnswerLogprobRequest,
    Failed,
    GatewayError,
    LabelLogprobs,
    LabelLogprobsRequest,
    Models,
    Prompt,
    Sample,
    Sampled,
    SampleRequest,
    ScoreRequest,
    TextScore,
)

OPENINGS = ("", "In short, ", "As I read it: ", "Briefly: ", "It says that ", "The gist: ")
OTHER_TOKENS_SCORE = 1.0  # logit of all other tokens together
UNKNOWN_WORD_COST = 3.0  # additional nats for a word that is not in the prompt


class FakeModels(Models):
    """Model provider without a model, for tests and the demo.

    Texts consist of sentences from the prompt. A text depends only on the model's name, the
    prompt, the decoding settings and its seed (or its index if it has no seed), so it is the same
    on every machine and in any order. A higher temperature makes the texts less alike. Tokens are
    words. Log-probabilities of labels are never NaN and leave mass to other tokens; in answers, words
    of the prompt are more probable. Scores depend on the model's name and the text alone.

    Parameters
    ----------
    model : str, default "fake"
        Name of the model. Models with different names generate different texts.
    fails : mapping of str to GatewayError, optional
        Errors by the id of the request that fails with them.

    Examples
    --------
    >>> request = SampleRequest("1", "Rain fell. Rivers rose. Roads closed.", n=2, seed=7)
    >>> [result] = FakeModels().sample([request])
    >>> [sample.seed for sample in result.samples]
    [7, 8]
    """

    def __init__(
        self, model: str = "fake", *, fails: Mapping[str, GatewayError] | None = None
    ) -> None:
        self.model = model
        self._fails = dict(fails or {})

    def sample(self, requests: Iterable[SampleRequest]) -> Iterator[Sampled | Failed]:
        for request in requests:
            yield self._failure(request.id) or self._sampled(request)

    def label_logprobs(
        self, requests: Iterable[LabelLogprobsRequest]
    ) -> Iterator[LabelLogprobs | Failed]:
        for request in requests:
            yield self._failure(request.id) or self._labels(request)

    def answer_logprobs(
        self, requests: Iterable[AnswerLogprobRequest]
    ) -> Iterator[AnswerLogprob | Failed]:
        for request in requests:
            yield self._failure(request.id) or self._answer(request)

    def scores(self, requests: Iterable[ScoreRequest]) -> Iterator[TextScore | Failed]:
        for request in requests:
            score = self._random("score", _text_of(request.prompt)).gauss(0, 1)
            yield self._failure(request.id) or TextScore(request.id, score, self.model)

    def model_names(self) -> list[str]:
        return [self.model]

    def close(self) -> None:
        """Do nothing, because there is nothing to close."""

    def _failure(self, request_id: str) -> Failed | None:
        error = self._fails.get(request_id)
        return None if error is None else Failed(request_id, error)

    def _sampled(self, request: SampleRequest) -> Sampled:
        seeds = [None if request.seed is None else request.seed + j for j in range(request.n)]
        text = self._choice if request.choices else self._text
        samples = [text(request, j, seed) for j, seed in enumerate(seeds)]
        return Sampled(
            request.id,
            tuple(samples),
            self.model,
            prompt_tokens=_words(request.prompt),
            is_constrained=bool(request.choices),
        )

    def _choice(self, request: SampleRequest, j: int, seed: int | None) -> Sample:
        draw = f"unseeded {j}" if seed is None else str(seed)
        text = self._random("choice", _text_of(request.prompt), draw).choice([*request.choices])
        return Sample(text, "stop", seed, len(text.split()))

    def _text(self, request: SampleRequest, j: int, seed: int | None) -> Sample:
        source = _text_of(request.prompt)
        model = self._random("taste", source)
        noise = self._random("draw", source, f"unseeded {j}" if seed is None else str(seed))
        scale = request.temperature * request.top_p
        words = _compose(source, model, noise, scale).split()
        text = " ".join(words[: request.max_tokens])
        ends = [text.find(stop) for stop in request.stop if stop in text]
        text = text[: min(ends, default=None)]
        is_too_long = len(words) > request.max_tokens and not ends
        return Sample(text, "length" if is_too_long else "stop", seed, len(text.split()))

    def _labels(self, request: LabelLogprobsRequest) -> LabelLogprobs:
        source = _text_of(request.prompt)
        scores = {
            label: self._random("label", source, label).gauss(0, 2) for label in request.labels
        }
        total = log(exp(OTHER_TOKENS_SCORE) + sum(exp(score) for score in scores.values()))
        logprobs = {label: score - total for label, score in scores.items()}
        return LabelLogprobs(
            request.id, logprobs, self.model, prompt_tokens=_words(request.prompt), tokens=1
        )

    def _answer(self, request: AnswerLogprobRequest) -> AnswerLogprob:
        source = _text_of(request.prompt)
        known = set(re.findall(r"\w+", source.casefold()))
        words = re.findall(r"\w+|[^\w\s]", request.answer) or [request.answer]
        costs = [
            self._random("word", source, word).uniform(0.2, 1.5)
            + (0 if word.casefold() in known else UNKNOWN_WORD_COST)
            for word in words
        ]
        return AnswerLogprob(request.id, -sum(costs), len(words), self.model)

    def _random(self, *parts: str) -> Random:
        """Return a generator seeded with a string, so its numbers are the same in all processes."""
        return Random("\x1f".join((self.model, *parts)))


def _text_of(prompt: Prompt) -> str:
    return prompt if isinstance(prompt, str) else "\n".join(message.content for message in prompt)


def _words(prompt: Prompt) -> int:
    return len(_text_of(prompt).split())


def _compose(source: str, model: Random, noise: Random, scale: float) -> str:
    """Return an opening and one to three sentences of the source.

    ``model`` gives the same preferences for every text, and ``noise`` perturbs them by ``scale``.
    """
    parts = re.split(r"(?<=[.!?])\s+|\n+", source)
    sentences = [stripped for part in parts if (stripped := part.strip())]
    scores = [model.random() + scale * noise.gauss(0, 1) for _ in sentences]
    opening = model.random() + scale * noise.gauss(0, 1)
    length = 1 + min(2, int(abs(3 * (model.random() + scale * noise.gauss(0, 0.5)))))
    best = sorted(range(len(sentences)), key=scores.__getitem__, reverse=True)[:length]
    body = " ".join(sentences[index] for index in sorted(best)) or "Nothing was said."
    return OPENINGS[int(opening * len(OPENINGS)) % len(OPENINGS)] + body
