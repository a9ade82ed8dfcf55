"""A study from its texts to its analysis, by the interface alone."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from recruitment.simulation.raters import Bot, simulate_raters
from studies.models import Study
from tests.api.clients import at, problem_of, program, rows_of
from tests.tiebreak.gateway.stub_server import MODEL, StubServer
from tiebreak import optional
from tiebreak.similarity import ENCODED

pytestmark = pytest.mark.django_db
DESIGN = """
title = "Notes, shortened"
systems = ["first", "second"]
guidelines = "Read both texts."
consent = "Ruth asks you; write to ruth@example.org."
comparisons_per_hit = 2
ratings_per_hit = 3
similarity = "{similarity}"

[[criteria]]
name = "preference"
scale = "preference:tie"
question = "Which text is better?"
"""
INSTANCES = 14
# The bundled encoder needs torch, which only the environment of the encoder tests has.
NEEDS_TORCH = pytest.mark.skipif(
    not optional.is_installed("torch"), reason="Torch is not installed: make test-encoders has it."
)


@pytest.fixture(autouse=True)
def servers(settings, tmp_path):
    settings.TIEBREAK_EXPORT_FOLDER = str(tmp_path / "exports")
    with StubServer() as stub:
        settings.TIEBREAK_MODEL_SERVERS = {
            "stub": {
                "provider": "http",
                "base_url": stub.base_url,
                "allowed_hosts": [stub.host],
                "model": MODEL,
            }
        }
        yield


def bundle(folder: Path, similarity: str) -> Path:
    """A bundle with instances, and no text of a system yet."""
    rows = [
        {"id": f"note-{i}", "source": f"Note {i} says that {i} of {2 * i + 1} trees are old."}
        for i in range(INSTANCES)
    ]
    path = folder / "bundle.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("study.toml", DESIGN.format(similarity=similarity))
        archive.writestr("instances.jsonl", "\n".join(map(json.dumps, rows)))
        archive.writestr("generations.jsonl", "")
    return path


def ended(client: Client, study: str, started) -> dict[str, object]:
    """Return the job once it has ended."""
    assert started.status_code == 201, started.content
    job = client.get(at("job-detail", study, started.json()["id"])).json()
    assert (job["status"], job["problem"]) == ("done", "")
    return job


def post(client: Client, name: str, study: str, **values: object):
    return client.post(at(name, study), json.dumps(values), content_type="application/json")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "similarity", ["rouge1", pytest.param(sorted(ENCODED)[0], marks=NEEDS_TORCH)]
)
def test_a_study_is_run_by_the_interface_alone(similarity, tmp_path, settings):
    client = program(User.objects.create_user("ruth", is_staff=True))
    with bundle(tmp_path, similarity).open("rb") as file:
        created = client.post(at("study-list"), {"bundle": file})
    assert created.status_code == 201, created.content
    study = created.json()["study"]["id"]

    ended(client, study, post(client, "job-sampling", study, server="stub", samples=3, seed=1))
    ended(client, study, post(client, "job-scoring", study))
    assert len(rows_of(client.get(at("score-list", study)))) == INSTANCES

    drawn = post(
        client, "study-selection", study, design="uniform", instances=12, control_share=0, seed=4
    )
    assert drawn.json()["drawn"] == 12, drawn.content
    assert post(client, "study-open", study).json()["status"] == "open"

    bots = [Bot(f"bot-{number}", accuracy=0.7) for number in range(3)]
    simulate_raters(study=Study.objects.get(pk=study), bots=bots, seed=2)
    progress = client.get(at("study-progress", study)).json()
    assert progress["completed"] == progress["places"] == 36
    assert post(client, "study-close", study).json()["status"] == "closed"

    assert problem_of(post(client, "study-open", study)) == (409, "wrong_state")
    client.get(at("study-report", study))  # the first request has the report built
    report = client.get(at("study-report", study), {"current": "true"}).json()
    job = ended(client, study, post(client, "job-export", study, formats=["jsonl"]))
    archive = tmp_path / "export.zip"
    answer = client.get(at("job-download", study, job["id"]))
    archive.write_bytes(b"".join(answer.streaming_content))
    for section in report["criteria"].values():
        del section["stopping"]  # a file does not know how many responses were planned
    assert analysed(archive, tmp_path)["criteria"] == report["criteria"]


def analysed(archive: Path, folder: Path) -> dict[str, object]:
    """Return the report that the library's command computes from an export."""
    out = folder / "report.json"
    command = [sys.executable, "-m", "tiebreak", "analyze", str(archive), "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True)
    return json.loads(out.read_text(encoding="utf-8"))
