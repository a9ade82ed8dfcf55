"""A model whose answers a test defines, behind a server of this installation."""

from collections.abc import Callable

import pytest

from studies import model_servers
from studies.models import Study, Unit, UnitText
from tiebreak.gateway import (
    Failed,
    LabelLogprobs,
    LabelLogprobsRequest,
    Sample,
    Sampled,
    SampleRequest,
    ServedBy,
)

Request = SampleRequest | LabelLogprobsRequest
Reply = Callable[[Request], str | dict[str, float] | Failed | Sampled]
SERVERS = {"here": {"provider": "http", "base_url": "http://model:8000/v1"}}


class ScriptedModels:
    """Answers each request with the reply of a function, and keeps the requests."""

    def __init__(self, reply: Reply) -> None:
        self.reply, self.asked = reply, []
        self.server = ServedBy()

    def sample(self, requests):
        for request in requests:
            self.asked.append(request)
            reply = self.reply(request)
            if isinstance(reply, str):
                reply = Sampled(request.id, (Sample(reply, "stop", request.seed, 3),), "tiny-1")
            yield reply

    def label_logprobs(self, requests):
        for request in requests:
            self.asked.append(request)
            reply = self.reply(request)
            if isinstance(reply, dict):
                reply = LabelLogprobs(request.id, reply, "tiny-1")
            yield reply

    def served_by(self):
        return self.server

    def close(self) -> None:
        pass


@pytest.fixture
def model(monkeypatch, settings):
    """Let a function be the model behind the server `here`."""
    settings.TIEBREAK_MODEL_SERVERS = SERVERS

    def scripted(reply: Reply) -> ScriptedModels:
        models = ScriptedModels(reply)
        monkeypatch.setattr(model_servers, "open_models", lambda spec: models)
        return models

    return scripted


def add_training_item(study: Study, label: str) -> None:
    """Add a training item with this label, of the texts of the study's first item."""
    unit = study.units.first()
    training = Unit.of(
        map(UnitText.showing, unit.generations),
        study=study,
        key="training-1",
        role="training",
        instance=unit.instance,
        known_labels={"preference": label},
        explanation="It leaves nothing out.",
    )
    Unit.objects.bulk_create([training])


def material(request: Request) -> str:
    """Return the turn with the texts to judge."""
    return request.prompt[-1].content
