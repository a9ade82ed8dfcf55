"""A baseline that prefers the system to which the reference is more probable."""

import pytest

from annotation.models import Rating
from jobs.models import Job
from machine_raters.models import Baseline
from machine_raters.services.machine_raters import create_machine_rater, start_machine_rater
from studies import model_servers
from studies.models import Generation, Instance, Study, System
from tests.machine_raters.baselines.test_baselines import counts, labels, open_study
from tests.refusals import refused
from tiebreak.gateway import AnswerLogprob, Failed, GatewayError

pytestmark = pytest.mark.django_db
SERVERS = {"here": {"provider": "http", "base_url": "http://model:8000/v1"}}


class Models:
    """Models whose log-probability of an answer is a function of the model and the request."""

    def __init__(self, logprob, name):
        self.logprob, self.name = logprob, name

    def answer_logprobs(self, requests):
        for request in requests:
            value = self.logprob(self.name, request)
            if isinstance(value, GatewayError):
                yield Failed(request.id, value)
            else:
                yield AnswerLogprob(request.id, value, 3, self.name)

    def close(self):
        pass


@pytest.fixture
def models(monkeypatch, settings):
    """Let a function be the models behind the server `here`, and keep what it was asked."""
    settings.TIEBREAK_MODEL_SERVERS = SERVERS
    asked = []

    def scripted(logprob):
        def logged(name, request):
            asked.append((name, request))
            return logprob(name, request)

        monkeypatch.setattr(model_servers, "open_models", lambda spec: Models(logged, spec.model))
        return asked

    return scripted


def served_study(scale="preference:tie", **options) -> Study:
    study = open_study(("x", "y"), ("y", "x"), reference="the answer", scale=scale, **options)
    for system in System.objects.filter(dataset=study.dataset):
        System.objects.filter(pk=system.pk).update(
            server="here", language_model=system.name, prompt_template="Say it: {source}"
        )
    return study


def add(study: Study) -> Baseline:
    return create_machine_rater(
        kind="baseline",
        study=study,
        name="perplexity",
        criterion=study.criteria.get(),
        method="perplexity",
    )


def test_per_token_the_number_of_tokens_decides_as_well(monkeypatch, models):
    asked = models(lambda name, request: -6.0 if name == "system-0" else -7.0)
    lengths = {"system-0": 2, "system-1": 7}

    def answers(self, requests):
        for request in requests:
            value = self.logprob(self.name, request)
            yield AnswerLogprob(request.id, value, lengths[self.name], self.name)

    monkeypatch.setattr(Models, "answer_logprobs", answers)
    study = served_study()
    assert labels(add(study)) == ["-1", "-1"]
    per_token = create_machine_rater(
        kind="baseline",
        study=study,
        name="per token",
        criterion=study.criteria.get(),
        method="perplexity_per_token",
    )
    # −6 / 2 = −3 against −7 / 7 = −1.
    assert labels(per_token) == ["1", "1"]
    assert len(asked) == 8


def test_the_system_to_which_the_reference_is_more_probable_is_preferred(models):
    def logprob(name, request):
        better = {"Say it: Source text 0.": "system-0", "Say it: Source text 1.": "system-1"}
        return -5.0 if better[request.prompt] == name else -7.0

    asked = models(logprob)
    baseline = add(served_study())
    assert labels(baseline) == ["-1", "1"]
    assert {request.answer for _, request in asked} == {"the answer"}
    assert len(asked) == 4
    assert set(Rating.objects.values_list("raw", flat=True)) == {"A -5, B -7", "A -7, B -5"}
    assert Job.objects.get().queue == "gpu"


def test_the_server_and_prompt_with_which_a_text_was_made_are_used(models):
    asked = models(lambda name, request: -1.0)
    study = open_study(("x", "y"), reference="the answer")
    made_with = {"server": "here", "model": "tiny", "prompt": "Made with {source}"}
    Generation.objects.update(params=made_with)
    assert labels(add(study)) == ["0"]
    assert {(name, request.prompt) for name, request in asked} == {
        ("tiny", "Made with Source text 0.")
    }


def test_an_item_with_a_failed_request_is_tried_again_and_never_a_tie(models):
    error = GatewayError("too_slow", "The server was too slow.")
    models(lambda name, request: error if "text 1" in request.prompt else -1.0)
    baseline = add(served_study())
    assert (counts(baseline), labels(baseline)) == ((1, 0, 0), ["0"])
    job = Job.objects.get()
    assert (job.done, job.failed) == (1, 1)
    models(lambda name, request: -1.0 if name == "system-0" else -2.0)
    start_machine_rater(machine=baseline)
    assert labels(baseline) == ["0", "-1"]


def test_if_a_system_answers_nothing_the_job_fails_with_the_reason(models):
    error = GatewayError("unsupported", "No log-probabilities here.")
    models(lambda name, request: error if name == "system-1" else -1.0)
    baseline = add(served_study())
    job = Job.objects.get()
    assert (job.status, job.problem) == ("failed", error.message)
    assert counts(baseline) == (0, 0, 0)


def test_an_item_without_a_reference_is_counted_and_not_asked_about(models):
    asked = models(lambda name, request: -1.0)
    study = served_study()
    Instance.objects.filter(key="note-1").update(reference=" ")
    assert counts(add(study)) == (1, 1, 0)
    assert len(asked) == 2


def test_a_prompt_with_the_reference_is_refused(models):
    models(lambda name, request: -1.0)
    study = served_study()
    System.objects.filter(name="system-1").update(prompt_template="{source} {reference}")
    baseline = add(study)
    assert Job.objects.get().status == "failed"
    assert counts(baseline) == (0, 0, 0)


def test_a_system_without_a_server_is_refused(models):
    study = served_study()
    System.objects.filter(name="system-1").update(server="")
    with refused("no_server", naming="system-1"):
        add(study)
    assert not Baseline.objects.exists()
