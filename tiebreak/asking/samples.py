"""The requests for texts of a system: their prompts and seeds, and what is stored of the answers."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Protocol

from tiebreak.errors import DomainError
from tiebreak.formats.shown_fields import metadata_text
from tiebreak.gateway import GatewayError, Message, Prompt, Sampled, SampleRequest

TEMPERATURE, SAMPLES, MAX_TOKENS = 0.5, 5, 512
DEFAULT_PROMPT = "{source}"
PLACEHOLDER = re.compile(r"\{(?:(source|reference|category)|field ([^{}]+))\}")


class Prompted(Protocol):
    """An instance for which texts are sampled."""

    @property
    def source(self) -> str: ...
    @property
    def reference(self) -> str: ...
    @property
    def category(self) -> str: ...
    @property
    def messages(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def metadata(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Wanted:
    """Samples of one system for one instance: what identifies them, and how they are drawn."""

    key: str
    """Name of the instance."""
    system: str
    indices: Sequence[int]
    """Numbers of the samples, without gaps."""
    template: str
    decoding: Mapping[str, Any]
    seed: int
    """Seed of the whole, from which that of each text follows."""

    def request(self, request_id: str, instance: Prompted) -> SampleRequest:
        """Build the request.

        Raises `DomainError` if the settings are invalid, and `GatewayError` if the text is.
        """
        where = f"{self.system} on {self.key} cannot be sampled"
        decoding = {"temperature": TEMPERATURE, "max_tokens": MAX_TOKENS} | dict(self.decoding)
        try:
            # The prompt is a valid placeholder at first so that an error here is due to the settings.
            plain = SampleRequest(
                id=request_id,
                prompt="?",
                n=len(self.indices),
                seed=seed_for(self.seed, self.key, self.system) + self.indices[0],
                temperature=float(decoding["temperature"]),
                top_p=float(decoding.get("top_p", 1.0)),
                max_tokens=int(decoding["max_tokens"]),
                stop=tuple(decoding.get("stop", ())),
            )
        except (GatewayError, ValueError, TypeError) as error:
            raise DomainError("bad_request", f"{where}: {error}") from error
        try:
            return replace(plain, prompt=prompt_for(instance, self.template))
        except GatewayError as error:
            raise GatewayError("bad_request", f"{where}: {error}") from error


def stored_samples(
    wanted: Wanted, request: SampleRequest, response: Sampled, server: str
) -> Iterator[dict[str, Any]]:
    """Yield each text with its index, its seed, and the settings that were used, defaults included."""
    params = {
        "model": response.model,
        "server": server,
        "prompt": wanted.template,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "max_tokens": request.max_tokens,
        "stop": list(request.stop),
    }
    for index, sample in zip(wanted.indices, response.samples, strict=False):
        yield {
            "sample_index": index,
            "text": sample.text.replace("\0", ""),  # PostgreSQL cannot store NUL
            "seed": sample.seed,
            "params": {**params, "finish_reason": sample.finish_reason},
        }


def runs(indices: Iterable[int]) -> Iterator[tuple[int, ...]]:
    """Split indices into runs without gaps, because sample i of a request has the seed s + i."""
    for _, run in groupby(enumerate(indices), key=lambda pair: pair[1] - pair[0]):
        yield tuple(index for _, index in run)


def seed_for(seed: int, *parts: str) -> int:
    """Return a seed that depends only on the seed of the whole and on the parts."""
    text = ":".join([str(seed), *parts])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def prompt_for(instance: Prompted, template: str) -> Prompt:
    """Return a prompt with the instance's source, reference and category filled in.

    `{field NAME}` is a further text of the instance, of its metadata.

    A conversation is sent as its turns. A template other than the default comes before them as a
    system message.
    """
    # All names are replaced in one pass so that braces in the inserted texts stay as they are.
    filled = PLACEHOLDER.sub(lambda match: _filled_in(instance, match), template)
    if not instance.messages:
        return filled
    turns = [_turn(message) for message in instance.messages]
    return turns if template == DEFAULT_PROMPT else [Message("system", filled), *turns]


def _filled_in(instance: Prompted, placeholder: re.Match[str]) -> str:
    known, field = placeholder.groups()
    if known is not None:
        return str(getattr(instance, known))
    return (
        metadata_text(instance.metadata.get(field))
        if field in instance.metadata
        else placeholder[0]
    )


def _turn(message: Mapping[str, Any]) -> Message:
    """Return a turn as a message. The message gets the role `user` if the turn's is unknown."""
    content = str(message.get("content") or "")
    role = message.get("role")
    if role == "system":
        return Message("system", content)
    return Message("assistant" if role == "assistant" else "user", content)
