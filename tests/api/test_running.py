"""Items, reference units, members, the log, webhooks, channels, checks, figures and their files."""

import io
import json
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command

from api.models import ApiToken
from metrics.results.services import refresh_report
from recruitment.models import Channel
from recruitment.platforms.prolific import PLATFORM
from studies.models import Membership, Study, Unit
from tests.annotation.annotators import annotator
from tests.api.clients import at, problem_of, program, with_token
from tests.studies.factories import make_open_study, make_study
from tiebreak.errors import DomainError

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _settings(settings, tmp_path) -> None:
    settings.TIEBREAK_EXPORT_FOLDER = str(tmp_path / "exports")
    settings.TIEBREAK_WEBHOOK_HOSTS = ["hooks.example.org"]


@pytest.fixture
def client(ruth):
    return program(ruth)


@pytest.fixture
def draft(ruth) -> Study:
    return make_study(instances=3, member=ruth)


def send(client, method: str, url: str, body: object = None):
    return client.generic(method, url, json.dumps(body), content_type="application/json")


# Data.


def test_items_are_searched_and_removed(client, draft):
    url = at("item-list", draft.pk)
    assert client.get(url).json()["total"] == 3
    hits = client.get(url, {"q": "note-1"}).json()
    assert [item["id"] for item in hits["items"]] == ["note-1"]
    assert client.delete(f"{url}?item=note-1").status_code == 204
    assert problem_of(client.delete(f"{url}?item=note-1")) == (404, "unknown_item")
    assert client.get(url).json()["total"] == 2


def test_items_of_an_opened_study_stay(client, ruth):
    study = make_open_study(instances=1, member=ruth)
    refusal = client.delete(f"{at('item-list', study.pk)}?item=note-0")
    assert problem_of(refusal) == (409, "not_a_draft")


def test_reference_units_come_from_a_file_or_not_at_all(client, draft):
    def upload(*rows: dict):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        file = SimpleUploadedFile("rows.jsonl", text.encode())
        url = at("reference-unit-file", draft.pk)
        return client.post(url, {"role": "training", "rows": file})

    row = {
        "instance": "note-0",
        "system_a": "system-0",
        "sample_a": 0,
        "system_b": "system-1",
        "sample_b": 1,
        "labels": {"preference": 1},
    }
    refusal = upload(row, {**row, "instance": "nobody"})
    assert problem_of(refusal) == (400, "bad_file")
    assert [problem["line"] for problem in refusal.json()["problems"]] == [2]
    assert not draft.units.exists()
    assert upload(row).json() == {"created": 1}
    assert draft.units.get().role == Unit.Role.TRAINING


# Webhooks.


def test_a_webhook_is_created_listed_and_deleted(client, draft):
    url = at("webhook-list", draft.pk)
    made = send(client, "POST", url, {"url": "https://hooks.example.org/x"})
    assert made.status_code == 201
    assert len(made.json()["secret"]) > 20
    listed = client.get(url).json()
    assert [set(row) for row in listed] == [{"id", "url", "created_at"}]
    elsewhere = send(client, "POST", url, {"url": "https://evil.example.org/x"})
    assert problem_of(elsewhere) == (400, "url_not_allowed")
    webhook = at("webhook-detail", draft.pk, listed[0]["id"])
    assert client.delete(webhook).status_code == 204
    assert problem_of(client.delete(webhook)) == (404, "no_such_webhook")


# Recruiting.


def test_launch_checks_are_those_of_the_page(client, draft):
    checks = client.get(at("study-launch-checks", draft.pk)).json()
    assert ("not_planned", "error") in {(check["code"], check["severity"]) for check in checks}


def test_a_channel_is_set_up_closed_reopened_and_removed_without_telling_secrets(client, draft):
    url = at("channel-detail", draft.pk, "panel")
    settings = {
        "person_parameter": "PID",
        "submission_parameter": "SID",
        "is_signed": True,
        "reentry": "refuse",
        "completed_code": "DONE",
    }
    answer = send(client, "PUT", url, {"settings": settings})
    assert answer.status_code == 200, answer.content
    channel = Channel.objects.get()
    assert channel.settings["is_signed"] is True
    assert answer.json()["channel"]["has_token"]
    assert channel.secret not in answer.content.decode()
    assert client.post(at("channel-close", draft.pk, "panel")).json()["state"] == "Closed"
    assert client.post(at("channel-reopen", draft.pk, "panel")).json()["state"] != "Closed"
    assert client.delete(url).status_code == 204
    assert problem_of(client.delete(url)) == (404, "no_such_channel")
    listed = {row["provider"] for row in client.get(at("channel-list", draft.pk)).json()}
    assert {"open-link", "panel", "prolific"} <= listed


def test_a_refused_token_and_a_wrong_setting_store_nothing(client, draft, monkeypatch):

    def refuse(self, token):
        raise DomainError("platform_token_refused", "No.", status=400)

    monkeypatch.setattr(type(PLATFORM), "try_token", refuse)
    url = at("channel-detail", draft.pk, "prolific")
    body = {"token": "x", "settings": {"description": "Notes.", "fee_percent": "33"}}
    assert problem_of(send(client, "PUT", url, body)) == (400, "platform_token_refused")
    unset = send(client, "PUT", url, {"token": "x"})
    assert problem_of(unset) == (400, "invalid")
    wrong = send(client, "PUT", at("channel-detail", draft.pk, "magic"), {})
    assert problem_of(wrong) == (404, "no_such_platform")
    assert not Channel.objects.exists()


def test_an_action_on_a_platform_needs_a_channel_and_a_number(client, draft):
    url = at("channel-actions", draft.pk, "prolific")
    assert problem_of(send(client, "POST", url, {"action": "sync"})) == (404, "no_such_channel")
    Channel.objects.create(study=draft, provider="prolific")
    assert problem_of(send(client, "POST", url, {"action": "publish"})) == (400, "no_participants")
    assert problem_of(send(client, "POST", url, {"action": "pay"})) == (400, "invalid")
    assert send(client, "POST", url, {"action": "sync"}).status_code == 200


def test_only_owners_pay_everybody(client, draft):
    Channel.objects.create(study=draft, provider="prolific")
    Membership.objects.update(role="editor")
    url = at("channel-actions", draft.pk, "prolific")
    refusal = send(client, "POST", url, {"action": "approve-all"})
    assert problem_of(refusal) == (403, "role_forbids")
    assert send(client, "POST", url, {"action": "sync"}).status_code == 200


# Drawing, results.


def test_a_draw_is_undone(client, draft):
    send(client, "POST", at("job-scoring", draft.pk), {})
    design = {"design": "top", "instances": 1, "control_share": 0}
    send(client, "POST", at("study-selection", draft.pk), design)
    assert draft.selected.count() == 1
    assert client.delete(at("study-selection", draft.pk)).json()["instances"] == 3
    assert not draft.selected.exists()


def test_the_files_of_the_report_are_written_by_a_job(client, ruth):
    study = make_open_study(instances=2, ratings_per_hit=1, member=ruth)
    person = annotator(study)
    for _ in range(10):
        person.choose()
    refresh_report(study=study)
    job = send(client, "POST", at("job-report-files", study.pk)).json()
    file = client.get(at("job-download", study.pk, job["id"]))
    names = zipfile.ZipFile(io.BytesIO(b"".join(file.streaming_content))).namelist()
    assert {"report.html", "report.pdf"} <= {name.rpartition("/")[2] for name in names}


def test_a_dry_run_is_deleted_and_another_job_is_not(client, ruth):
    study = make_open_study(instances=1, ratings_per_hit=1, comparisons_per_hit=1, member=ruth)
    run = send(client, "POST", at("job-dry-run", study.pk), {"raters": 1}).json()
    other = send(client, "POST", at("job-scoring", study.pk), {}).json()
    assert client.delete(at("job-detail", study.pk, run["id"])).status_code == 204
    assert not study.dry_runs.exists()
    assert problem_of(client.delete(at("job-detail", study.pk, other["id"]))) == (
        409,
        "not_a_dry_run",
    )


# Commands.


def test_a_token_is_made_and_revoked_by_commands(ruth, draft, capsys):
    call_command("create_token", "ruth", "backup", "--write", "--study", draft.pk)
    text = capsys.readouterr().out.strip()
    assert with_token(text).get(at("study-detail", draft.pk)).status_code == 200
    assert not ApiToken.objects.get().covers_all
    call_command("revoke_token", text)
    assert problem_of(with_token(text).get(at("study-detail", draft.pk))) == (401, "wrong_token")


@pytest.mark.parametrize(
    "arguments",
    [
        ("create_token", "nobody", "x"),
        ("create_token", "ruth", "x", "--study", "aaaaaaaaaaaa"),
        ("revoke_token", "tb_"),
    ],
)
def test_commands_name_what_is_wrong(ruth, arguments):
    with pytest.raises(CommandError):
        call_command(*arguments)
    assert not ApiToken.objects.exists()
