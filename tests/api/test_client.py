"""`tiebreak.client` against a running server, and the page of the documentation that uses it."""

import logging
import re
import shutil
from datetime import timedelta
from decimal import Decimal

import httpx
import pandas as pd
import pytest

import tiebreak
from annotation.services.participations import finish_participation
from api.models import ApiToken
from api.services.tokens import create_token
from jobs.models import Job as StoredJob
from jobs.services import create_job
from recruitment.models import Payment
from studies.models import Study as StoredStudy
from tests.paths import ROOT
from tests.recruitment.views.test_ledger import complete, paying_study
from tests.refusals import refused
from tests.studies.factories import make_participation, make_study
from tests.tiebreak.formats.bundles import make_bundle
from tests.tiebreak.gateway.stub_server import StubServer
from tiebreak.client import Client, Job, RequestRefused

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.enable_socket]
PAGE = ROOT / "docs" / "how-to" / "from-a-data-frame.md"
PAIRS = [
    {"id": f"n{n}", "source": f"Say {n}.", "a": f"No {n}.", "b": f"Yes {n}."} for n in range(3)
]


@pytest.fixture(autouse=True)
def _files(settings, tmp_path, monkeypatch) -> None:
    settings.TIEBREAK_EXPORT_FOLDER = str(tmp_path / "exports")
    monkeypatch.chdir(tmp_path)
    # The rows of a page are complete at once where nobody else writes.
    monkeypatch.setattr("annotation.exports.rating_pages.SETTLED_AFTER", timedelta(0))


@pytest.fixture
def token(ruth) -> str:
    return create_token(user=ruth, name="notebook", access=ApiToken.Access.WRITE)[1]


@pytest.fixture
def client(live_server, token) -> Client:
    return Client(live_server.url, token)


def test_the_page_goes_from_a_frame_to_a_report(live_server, token, monkeypatch, capsys):
    monkeypatch.setenv("SERVER", live_server.url)
    monkeypatch.setenv("TOKEN", token)
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S):
        exec(compile(block, PAGE.name, "exec"), names)
    assert "1.0" in capsys.readouterr().out.split()  # the share of responses
    assert len(names["ratings"]) == 24
    rates = [
        {name: rate.as_json() for name, rate in one.criteria["preference"].systems.win_rate.items()}
        for one in (names["report"], names["again"], names["archived"])
    ]
    assert rates[0] == rates[1] == rates[2]
    assert rates[0]["new"]["value"] > 0.5
    assert "<svg" in names["report"]._repr_html_()
    assert StoredStudy.objects.get(pk=names["study"].id).status == "closed"


def test_a_study_opens_for_the_sum_that_it_can_cost_and_no_other(client, ruth):
    stored = make_study(member=ruth, reward=Decimal("1.50"), promised_hourly_rate=Decimal("9.00"))
    study = client.studies[stored.pk]
    checks = study.launch_checks()
    assert {(one.code, one.severity) for one in checks} >= {("not_planned", "error")}
    study.plan()
    warnings, cost = [one.code for one in study.launch_checks()], study.maximum_cost()
    assert cost > 0
    with pytest.raises(TypeError):
        study.open()  # type: ignore[call-arg]
    if warnings:
        with refused("unconfirmed_warnings") as caught:
            study.open(confirm=cost)
        assert [one["code"] for one in caught.value.problems] == warnings
    with refused("cost_differs", RequestRefused, naming=str(cost)):
        study.open(confirm=cost - 1, accept=warnings)
    assert study.details()["status"] == "draft"
    study.open(confirm=str(cost), accept=warnings)
    assert study.details()["status"] == "open"
    with refused("wrong_state"):
        study.open(confirm=cost)


def test_people_are_paid_the_sum_that_they_are_owed_and_no_other(client, ruth):
    stored = paying_study(member=ruth)
    for name in ("ann", "bob"):
        person = make_participation(stored, name)
        complete(person)
        finish_participation(participation=person)
    study = client.studies[stored.pk]
    assert study.owed() == Decimal("4.00")
    with refused("total_differs", RequestRefused, naming="4.00"):
        study.pay(confirm=2)
    assert not Payment.objects.exists()
    assert study.pay(confirm=study.owed())["recorded"] == 2
    assert study.owed() == 0


def test_ratings_come_page_by_page_and_each_once(client, ruth):
    stored = paying_study(member=ruth)
    for name in ("ann", "bob", "cyd"):
        complete(make_participation(stored, name))
    study = client.studies[stored.pk]
    rows = list(study.ratings(page_rows=2))
    assert [row["label"] for row in rows] == [0, 0, 0]
    assert len({(row["unit"], row["rater"]) for row in rows}) == 3
    machine = [{"unit": row["unit"], "rater": "m", "kind": "machine", "label": 1} for row in rows]
    added = study.add_machine_ratings(pd.DataFrame(machine).drop_duplicates())
    assert added["added"] == len({row["unit"] for row in rows})


def test_a_bundle_with_ratings_is_a_closed_study(client, tmp_path):
    bundle = shutil.make_archive(
        str(tmp_path / "bundle"), "zip", make_bundle(tmp_path / "made", with_ratings=True)
    )
    study = client.studies.from_bundle(bundle)
    assert study.details()["status"] == "closed"
    assert len(list(study.ratings())) == 12
    report, local = study.report(), tiebreak.analyze(bundle)
    alpha = [one.criteria["preference"].all_units.human_human for one in (report, local)]
    assert alpha[0].krippendorff_alpha.as_json() == alpha[1].krippendorff_alpha.as_json()
    assert [one.id for one in client.studies] == [study.id]
    with refused("known_dataset", RequestRefused):
        client.studies.from_bundle(bundle)


def test_a_large_frame_is_imported_by_a_job(client, settings):
    settings.TIEBREAK_IMPORT_AT_ONCE_BYTES = 1
    columns = {"text:old": "a", "text:new": "b"}
    study = client.studies.from_pairs(PAIRS, title="Pairs", columns=columns)
    assert study.settings()["systems"] == ["old", "new"]
    assert study.settings(title="Others", ratings_per_hit=2)["ratings_per_hit"] == 2
    with refused("invalid", RequestRefused) as caught:
        study.settings(ratings_per_hits=2)
    assert [one["code"] for one in caught.value.problems] == ["unknown_field"]


def test_a_language_model_writes_a_reference_of_each_instance(client, ruth, settings):
    study = client.studies[make_study(instances=2, member=ruth).pk]
    with StubServer(owner="other") as stub:
        server = {"provider": "http", "base_url": stub.base_url, "allowed_hosts": [stub.host]}
        settings.TIEBREAK_MODEL_SERVERS = {"lab": server}
        asked = {"server": "lab", "language_model": "tiny", "temperature": 0, "seed": 5}
        job = study.write_field("by_model", **asked).wait()
        with refused("invalid"):
            study.write_field("by_model", server="elsewhere")
        with refused("written_otherwise"):
            study.write_field("by_model", **asked | {"temperature": 0.7})
    assert job.status == "done"
    assert {body["temperature"] for body in stub.generations} == {0}
    metadata = StoredStudy.objects.get(pk=study.id).dataset.instances.values_list("metadata")
    assert [one["by_model"]["written_by"]["model"] for (one,) in metadata] == ["tiny"] * 2


@pytest.mark.parametrize(
    ("status", "result", "code"),
    [
        ("failed", {"code": "bad_file", "problems": [{"code": "empty"}]}, "bad_file"),
        ("stopped", {}, "job_stopped"),
        ("queued", {}, "job_unfinished"),
    ],
)
def test_a_job_that_is_not_done_is_refused(client, ruth, status, result, code):
    study = client.studies[make_study(member=ruth).pk]
    made = create_job(kind="export", owner=study.id, options={}, by=ruth)
    StoredJob.objects.filter(pk=made.pk).update(status=status, result=result)
    path = f"studies/{study.id}/jobs/{made.public_id}/"
    job = Job(study._api.get(path).json(), study._api, path)
    with refused(code, RequestRefused) as caught:
        job.wait(timeout_s=0.01, poll_s=0.01)
    assert caught.value.problems == result.get("problems", [])


def test_refusals_keep_their_code_status_and_sentence(client, live_server, ruth):
    for name in ("8t9hg8cych4r", "../imports", ""):
        with refused("unknown_study", RequestRefused) as caught:
            client.studies[name]
        assert caught.value.status == 404
    with refused("bad_table", RequestRefused):
        client.studies.from_pairs([{"id": "1"}], title="No texts")
    with refused("wrong_token", RequestRefused):
        list(Client(live_server.url, "tb_wrong").studies)
    with refused("no_interface", RequestRefused):
        list(Client(f"{live_server.url}/elsewhere", "tb_wrong").studies)


def answering(client: Client, *answers: int | Exception) -> list[str]:
    """Let a client's requests get these answers first; return the methods of all requests."""
    asked, left = [], list(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.method)
        now = left.pop(0) if left else 200
        if isinstance(now, Exception):
            raise now
        return httpx.Response(now, json={"results": [], "next": None})

    client._api._http._transport = httpx.MockTransport(answer)
    client._api._http._mounts = {}
    return asked


@pytest.fixture
def offline(monkeypatch) -> Client:
    monkeypatch.setattr("tiebreak.client.time.sleep", lambda _: None)
    return Client("https://rate.example.org/", "tb_secret")


@pytest.mark.parametrize(
    "failure", [httpx.ConnectError("no"), httpx.ReadTimeout("no"), 429, 502, 503]
)
def test_only_requests_that_change_nothing_are_repeated(offline, failure):
    asked = answering(offline, failure, failure)
    assert list(offline.studies) == []
    assert asked == ["GET"] * 3
    asked = answering(offline, failure, failure)
    with pytest.raises(RequestRefused):
        offline.studies.from_pairs(PAIRS, title="Once")
    assert asked == ["POST"]


def test_a_server_that_stays_away_is_named_after_some_attempts(offline):
    asked = answering(offline, *[httpx.ConnectError("no")] * 10)
    with refused("unreachable", RequestRefused, naming="rate.example.org"):
        list(offline.studies)
    assert len(asked) == 4


def test_the_token_is_never_shown(offline, caplog):
    caplog.set_level(logging.DEBUG, logger="httpx")
    answering(offline, 500)
    with refused("no_interface", RequestRefused) as caught:
        list(offline.studies)
    shown = [
        repr(offline),
        repr(offline.studies),
        repr(vars(offline)),
        str(caught.value),
        caplog.text,
    ]
    assert not [text for text in shown if "tb_secret" in text]
    assert "rate.example.org" in caplog.text
    for bad in ("", "tb_secret\n", "tb_ö"):
        with refused("bad_token") as refusal:
            Client("https://rate.example.org", bad)
        assert "tb_" not in str(refusal.value).replace("tb_…", "")
    for url in ("rate.example.org", "ftp://rate.example.org", "https://ruth:pw@rate.example.org"):
        with refused("bad_address"):
            Client(url, "tb_secret")
