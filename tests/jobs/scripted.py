"""Sampling jobs, and models whose answers a test defines."""

from jobs.models import Job
from jobs.services import (
    create_job,
)
from studies import model_servers
from studies.model_servers import FAKE
from studies.models import Generation, Study
from tests.studies.factories import make_study
from tiebreak.gateway import Sample, Sampled


def bare_study(instances: int = 12, **design) -> Study:
    """Create a study with two systems and no generations."""
    study = make_study(instances=instances, **design)
    Generation.objects.all().delete()
    return study


def queued(study: Study, kind="sampling", **options) -> Job:
    if kind == "sampling":
        options = {"server": FAKE} | options
    key = f"{kind}:dataset:{study.dataset_id}"
    return create_job(kind=kind, owner=study.pk, exclusive_key=key, options=options)


class Scripted:
    """Models whose answers a test defines, and which count the requests."""

    def __init__(self, answer):
        self.answer, self.asked, self.closed = answer, 0, 0

    def sample(self, requests):
        for request in requests:
            self.asked += 1
            yield self.answer(self.asked, request)

    def close(self):
        self.closed += 1


def texts(request) -> Sampled:
    samples = tuple(Sample(f"text {j}", "stop", request.seed + j) for j in range(request.n))
    return Sampled(request.id, samples, "scripted")


def scripted(monkeypatch, answer) -> Scripted:
    models = Scripted(answer)
    monkeypatch.setattr(model_servers, "open_models", lambda spec: models)
    return models
