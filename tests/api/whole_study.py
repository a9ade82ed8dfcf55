"""A whole study: real workers, a model behind vLLM where it is installed, people's pages, a judge.

`make test-vllm` runs it with the encoders' packages. Without vLLM a server of the tests stands for it,
and without torch ROUGE-1 for the encoder.
"""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation.models import Rating
from machine_raters.models import Verdict
from recruitment.simulation.raters import Bot, simulate_raters
from studies.models import Generation, Study
from tests.api.clients import at, program, rows_of
from tests.api.test_end_to_end import INSTANCES, analysed, bundle, post
from tests.conftest import is_postgresql
from tests.jobs.real_workers import client, wait_until, worker
from tests.tiebreak.gateway.stub_server import StubServer
from tests.tiebreak.gateway.vllm_server import MODEL, PYTHON, build_model, vllm_server
from tiebreak import optional
from tiebreak.similarity import ENCODED

pytestmark = pytest.mark.django_db(transaction=True)
SIMILARITY = sorted(ENCODED)[0] if optional.is_installed("torch") else "rouge1"
SAMPLES, RATERS = 3, 3


@pytest.fixture(scope="module")
def model_server(tmp_path_factory) -> Iterator[str]:
    """Yield the host and port of vLLM, or of the server that stands for it."""
    if not PYTHON:
        with StubServer() as stub:
            yield stub.host
        return
    folder = tmp_path_factory.mktemp("llama")
    build_model(folder)
    with vllm_server(folder, max_tokens=4_096) as host:
        yield host


@pytest.fixture
def workers(model_server, tmp_path, settings, monkeypatch) -> Iterator[None]:
    """One worker for the gpu queue and one for the others, over a broker of files."""
    if is_postgresql():
        pytest.skip("The workers share the SQLite file of the test.")
    server = f"lab=http://{model_server}/v1"
    broker = tmp_path / "broker"
    broker.mkdir()
    folders = {"data_folder_in": str(broker), "data_folder_out": str(broker)}
    environment = {
        "TIEBREAK_BROKER_URL": "filesystem://",
        "TIEBREAK_VAR_DIR": str(tmp_path),
        "TIEBREAK_EXPORT_FOLDER": str(tmp_path / "exports"),
        "TIEBREAK_MODEL_SERVERS": server,
    }
    settings.TIEBREAK_EXPORT_FOLDER = environment["TIEBREAK_EXPORT_FOLDER"]
    settings.TIEBREAK_MODEL_SERVERS = {
        "lab": {"provider": "http", "base_url": f"http://{model_server}/v1"}
    }
    control = str(tmp_path / "broker-control")
    with ExitStack() as stack:
        stack.enter_context(client("filesystem://", monkeypatch, control_folder=control, **folders))
        for name, queues in (("a", "gpu"), ("b", "interactive,default")):
            stack.enter_context(worker(name, queues=queues, **environment))
        yield


def done(researcher: Client, study: str, started) -> dict[str, object]:
    """Return the job once a worker has done it."""
    assert started.status_code == 201, started.content
    address = at("job-detail", study, started.json()["id"])
    wait_until(lambda: researcher.get(address).json()["status"] not in {"queued", "running"})
    job: dict[str, object] = researcher.get(address).json()
    assert (job["status"], job["failed"]) == ("done", 0), job["problem"]
    return job


def judge(researcher: Client, study: str, **values: object) -> str:
    settings = {
        "kind": "judge",
        "criterion": "preference",
        "server": "lab",
        "language_model": MODEL,
    } | values
    created = researcher.post(
        at("machine-rater-list", study), json.dumps(settings), "application/json"
    )
    assert created.status_code == 201, created.content
    return str(created.json()["id"])


def test_a_whole_study(workers, tmp_path):
    researcher = program(User.objects.create_user("ruth", is_staff=True))
    with bundle(tmp_path, SIMILARITY).open("rb") as file:
        study = researcher.post(at("study-list"), {"bundle": file}).json()["study"]["id"]
    finished = partial(done, researcher, study)

    how = {"language_model": MODEL, "prompt_template": "{source}", "decoding": {"max_tokens": 16}}
    rows = [{"name": name, **how} for name in ("first", "second")]
    described = researcher.patch(at("study-systems", study), json.dumps(rows), "application/json")
    assert described.status_code == 200, described.content
    finished(post(researcher, "job-sampling", study, server="lab", samples=SAMPLES, seed=1))
    assert Generation.objects.count() == INSTANCES * 2 * SAMPLES
    finished(post(researcher, "job-scoring", study))
    assert len(rows_of(researcher.get(at("score-list", study)))) == INSTANCES

    chosen = {"design": "uniform", "instances": 12, "control_share": 0, "seed": 4}
    assert post(researcher, "study-selection", study, **chosen).json()["drawn"] == 12
    assert post(researcher, "study-open", study).json()["status"] == "open"
    bots = [Bot(f"bot-{number}", accuracy=0.7) for number in range(RATERS)]
    simulate_raters(study=Study.objects.get(pk=study), bots=bots, seed=2)

    units = Study.objects.get(pk=study).units.filter(role="main").count()
    judges = {
        "probable": judge(researcher, study, name="probable", answered_by="probability"),
        "written": judge(researcher, study, name="written", max_tokens=16),
    }
    for public_id in judges.values():
        finished(researcher.post(at("machine-rater-start", study, public_id)))
    assert Counter(Verdict.objects.values_list("judge__name", flat=True)) == dict.fromkeys(
        judges, 2 * units
    )
    # A model of random weights has a probability for each label, but writes none.
    labels = Rating.objects.filter(rater__machine_rater__name="probable").values_list(
        "label", flat=True
    )
    assert None not in labels
    assert not Rating.objects.filter(
        rater__machine_rater__name="written", label__isnull=False
    ).exists()
    asked = Verdict.objects.count()
    for public_id in judges.values():
        finished(researcher.post(at("machine-rater-start", study, public_id)))
    assert Verdict.objects.count() == asked

    assert post(researcher, "study-close", study).json()["status"] == "closed"
    current = {"current": "true"}
    wait_until(lambda: researcher.get(at("study-report", study), current).status_code == 200)
    report = researcher.get(at("study-report", study), current).json()
    machines = report["criteria"]["preference"]["rating_sets"]["machines"]
    assert set(machines) == set(judges)
    job = finished(post(researcher, "job-export", study, formats=["jsonl"]))
    archive = tmp_path / "export.zip"
    answer = researcher.get(at("job-download", study, job["id"]))
    archive.write_bytes(b"".join(answer.streaming_content))
    del report["criteria"]["preference"]["stopping"]  # a file does not know what was planned
    assert analysed(archive, tmp_path)["criteria"] == report["criteria"]
