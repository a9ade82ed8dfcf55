"""Requests to the stub server, and their results."""

from collections import Counter
from typing import Any

from tests.tiebreak.gateway.stub_server import MODEL, StubServer
from tiebreak.gateway import (
    Failed,
    GatewayError,
    Message,
    OpenAIServer,
    Sampled,
    SampleRequest,
)

CHAT = (Message("system", "Be brief."), Message("user", "Is it raining?"))
HALF_ANSWERS = ["truncated", "hung_up", "unfinished"]
NONSENSE = ["html", "half_json", "list", "shape", "types", "deep", "empty", "twice_the_first"]


def connect(stub: StubServer, **options: Any) -> OpenAIServer:
    defaults: dict[str, Any] = {
        "allowed_hosts": [stub.host],
        "max_attempts": 2,
        "initial_backoff_s": 0.01,
        "timeout_s": 5.0,
    }
    return OpenAIServer(options.pop("base_url", stub.base_url), MODEL, **defaults | options)


def request(name: object = "1", n: int = 1, seed: int | None = 7, **changes: Any) -> SampleRequest:
    return SampleRequest(str(name), changes.pop("prompt", f"Text {name}."), n, seed, **changes)


def sampled(stub: StubServer, *requests: SampleRequest, **options: Any) -> list[Sampled | Failed]:
    return list(connect(stub, **options).sample(requests or [request()]))


def failure(stub: StubServer, **options: Any) -> GatewayError:
    [result] = sampled(stub, **options)
    assert isinstance(result, Failed)
    return result.error


def codes(results: list[Any]) -> Counter[str]:
    return Counter(one.error.code if isinstance(one, Failed) else "done" for one in results)
