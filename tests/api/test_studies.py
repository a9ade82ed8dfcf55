"""Studies: list, create, read, change of state, counts and report."""

import io
import json
import zipfile
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.imports.study_import import import_study
from jobs.clock import database_now
from metrics.models import ReportSnapshot
from metrics.results import services
from metrics.results.selectors import stored_report
from metrics.results.services import refresh_report
from recruitment.services.lifecycle import open_study
from studies.instance_selection.scoring import score_separability
from studies.models import Dataset, Instance, Membership, Study
from tests.annotation.annotators import annotator
from tests.annotation.pilots import draft_of, import_pilot
from tests.api.clients import at, problem_of, program
from tests.studies.factories import make_open_study, make_study
from tests.tiebreak.formats.bundles import make_bundle
from tests.tiebreak.formats.readers.files import FOLDERS
from tests.tiebreak.formats.tables.cases import CASES

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(ruth):
    return program(ruth)


@pytest.fixture
def rated(tmp_path, ruth) -> Study:
    study = import_study(path=make_bundle(tmp_path / "b", with_ratings=True)).study
    Membership.objects.create(study=study, user=ruth)
    return study


def zipped(folder) -> SimpleUploadedFile:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, path.name)
    return SimpleUploadedFile("bundle.zip", buffer.getvalue())


def test_pages_of_the_list_have_each_study_once(client, ruth):
    known = [make_study(instances=1, member=ruth).pk for _ in range(5)]
    for age, pk in enumerate(known[::-1], start=1):  # as if each had had a transaction of its own
        Study.objects.filter(pk=pk).update(created_at=database_now() - timedelta(minutes=age))
    seen, url = [], f"{at('study-list')}?limit=2"
    while url:
        page = client.get(url).json()
        seen += [study["id"] for study in page["results"]]
        make_study(instances=1, member=ruth)  # a newer one shifts no page
        url = page["next"]
    assert seen == known[::-1]


def test_a_study_is_created_from_a_bundle_and_read(client, tmp_path):
    answer = client.post(at("study-list"), {"bundle": zipped(make_bundle(tmp_path / "b"))})
    assert answer.status_code == 201, answer.content
    made = Study.objects.get()
    assert answer["Location"] == at("study-detail", made.pk)
    assert answer.json()["study"] == client.get(at("study-detail", made.pk)).json()
    design = answer.json()["study"]["design"]
    assert design["systems"] == [system.name for system in made.ordered_systems()]
    assert design["ratings_per_hit"] == made.ratings_per_hit
    assert answer.json()["study"]["status"] == "draft"


def test_a_study_is_created_from_evaluation_logs(client):
    answer = client.post(at("study-list"), {"bundle": zipped(FOLDERS["inspect"])})
    assert answer.status_code == 201, answer.content
    assert answer.json()["study"]["design"]["systems"] == ["mock/alpha", "mock/beta"]
    assert "2 samples are in both logs" in answer.json()["remarks"][0]


def test_a_bad_bundle_is_refused_with_its_lines_and_stores_nothing(client, tmp_path):
    folder = make_bundle(tmp_path / "b")
    with (folder / "generations.jsonl").open("a") as file:
        file.write('{"instance": "nobody"}\n')
    answer = client.post(at("study-list"), {"bundle": zipped(folder)})
    assert problem_of(answer) == (400, "bad_file")
    problem = answer.json()["problems"][0]
    assert problem["file"] == "generations.jsonl"
    assert problem["line"] > 1
    assert problem["code"]
    assert not Study.objects.exists()
    assert not Dataset.objects.exists()


def test_a_bundle_above_the_limit_is_refused(client, tmp_path, settings):
    settings.TIEBREAK_MAX_UPLOAD_BYTES = 100
    answer = client.post(at("study-list"), {"bundle": zipped(make_bundle(tmp_path / "b"))})
    assert problem_of(answer) == (400, "bad_file")
    assert answer.json()["problems"][0]["code"] == "upload_too_large"


@pytest.mark.parametrize("limit", ["TIEBREAK_MAX_UPLOAD_ROWS", "TIEBREAK_MAX_UNPACKED_BYTES"])
def test_a_bundle_has_the_limits_of_the_pages_inside(client, tmp_path, settings, limit):
    setattr(settings, limit, 1)
    answer = client.post(at("study-list"), {"bundle": zipped(make_bundle(tmp_path / "b"))})
    assert problem_of(answer) == (400, "bad_file")
    assert not Study.objects.exists()


def test_a_known_dataset_is_used_only_on_request(client, tmp_path):
    folder = make_bundle(tmp_path / "b")
    assert client.post(at("study-list"), {"bundle": zipped(folder)}).status_code == 201
    again = client.post(at("study-list"), {"bundle": zipped(folder)})
    assert problem_of(again) == (409, "known_dataset")
    used = client.post(at("study-list"), {"bundle": zipped(folder), "known_dataset": "use"})
    assert used.status_code == 201
    assert Dataset.objects.count() == 1


def test_a_token_for_chosen_studies_creates_none(ruth, tmp_path):
    client = program(ruth, studies=[make_study(instances=1, member=ruth)])
    answer = client.post(at("study-list"), {"bundle": zipped(make_bundle(tmp_path / "b"))})
    assert problem_of(answer) == (403, "needs_all_studies")


def test_a_bundle_is_needed(client):
    answer = client.post(at("study-list"), {"bundle": "no file"})
    assert problem_of(answer) == (400, "invalid")


def post(client, name: str, study: Study, **body):
    return client.post(
        at(f"study-{name}", study.pk), json.dumps(body), content_type="application/json"
    )


def test_a_study_is_opened_paused_closed_and_reopened(client, ruth):
    study = make_study(instances=1, member=ruth, guidelines="")
    refusal = post(client, "open", study)
    assert refusal.status_code == 409
    assert post(client, "plan", study).json()["places"] == study.places.count() > 0
    refusal = post(client, "open", study)
    assert problem_of(refusal) == (409, "unconfirmed_warnings")
    warnings = [problem["code"] for problem in refusal.json()["problems"]]
    opened = post(client, "open", study, confirmed_warnings=warnings)
    assert (opened.status_code, opened.json()["status"]) == (200, "open")
    states = [post(client, name, study).json()["status"] for name in ("pause", "close", "reopen")]
    assert states == ["paused", "closed", "open"]
    assert {event.by for event in study.events.all()} == {ruth}
    assert problem_of(post(client, "reopen", study)) == (409, "wrong_state")


def test_one_request_plans_and_opens_and_a_refused_one_plans_nothing(client, ruth):
    study = make_study(instances=1, member=ruth, guidelines="")
    assert problem_of(post(client, "open", study)) == (409, "not_planned")
    refusal = post(client, "open", study, plan_first=True)
    assert problem_of(refusal) == (409, "unconfirmed_warnings")
    assert not study.hits.exists()
    warnings = [problem["code"] for problem in refusal.json()["problems"]]
    opened = post(client, "open", study, plan_first=True, confirmed_warnings=warnings)
    assert (opened.status_code, opened.json()["status"]) == (200, "open")
    assert study.hits.exists()


@pytest.mark.parametrize("name", ["plan", "open", "pause", "close", "reopen"])
def test_the_state_of_another_researchers_study_stays(omar, ruth, name):
    study = make_open_study(instances=1, member=ruth)
    assert problem_of(post(program(omar), name, study)) == (404, "unknown_study")
    study.refresh_from_db()
    assert study.status == "open"


def test_progress_counts_what_the_dashboard_counts(client, ruth):
    study = make_open_study(instances=2, comparisons_per_hit=2, ratings_per_hit=1, member=ruth)
    before = client.get(at("study-progress", study.pk)).json()
    annotator(study).choose()
    after = client.get(at("study-progress", study.pk)).json()
    assert (before["places"], before["completed"], before["rows"]["counted"]) == (2, 0, 0)
    assert (after["live"], after["rows"]["counted"], after["remaining"]) == (1, 1, 2)
    assert before["share"] == 0.0


def test_the_report_is_the_stored_one(client, rated):
    answer = client.get(at("study-report", rated.pk))
    assert answer.status_code == 200
    assert answer["Tiebreak-Report"] == "current"
    report = stored_report(ReportSnapshot.objects.get())
    assert report is not None
    assert answer.json() == report.as_json()


def test_the_report_of_a_part_has_its_own_numbers(client, rated):
    Instance.objects.filter(dataset=rated.dataset, key="i0").update(category="letter")
    whole = client.get(at("study-report", rated.pk)).json()
    asked = {"category": "letter"}
    part = client.get(at("study-report", rated.pk), asked)
    assert (part.status_code, part["Tiebreak-Report"]) == (200, "current")
    assert part.json()["source"]["part"] == asked
    assert 0 < part.json()["source"]["n_used"] < whole["source"]["n_used"]
    assert client.get(at("study-report", rated.pk), {"stratum": ""}).json() == whole


def test_a_wrong_filter_is_refused_by_its_field(client, rated):
    client.get(at("study-report", rated.pk))
    refusal = client.get(at("study-report", rated.pk), {"pair": "a vs b", "since": "now"})
    assert problem_of(refusal) == (400, "invalid")
    assert {problem["field"] for problem in refusal.json()["problems"]} == {"pair", "since"}


def test_a_part_waits_for_the_first_report_of_the_study(client, rated, monkeypatch):
    monkeypatch.setattr(services, "enqueue", lambda *_: None)
    answer = client.get(at("study-report", rated.pk), {"stratum": "PA<0.6"})
    assert problem_of(answer) == (409, "report_pending")


def test_a_report_that_is_being_built_is_refused_until_it_is_there(client, rated, monkeypatch):
    sent = []
    monkeypatch.setattr(services, "enqueue", lambda *arguments: sent.append(arguments))
    answer = client.get(at("study-report", rated.pk))
    assert problem_of(answer) == (409, "report_pending")
    assert int(answer["Retry-After"]) > 0
    assert len(sent) == 1
    refresh_report(study=rated)
    assert client.get(at("study-report", rated.pk)).status_code == 200


def test_an_outdated_report_is_marked_or_refused(client, rated, monkeypatch):
    refresh_report(study=rated)
    monkeypatch.setattr(services, "enqueue", lambda *_: None)
    rated.criteria.update(scale="preference:5")
    old = client.get(at("study-report", rated.pk))
    assert (old.status_code, old["Tiebreak-Report"]) == (200, "outdated")
    refusal = client.get(at("study-report", rated.pk), {"current": "true"})
    assert problem_of(refusal) == (409, "report_pending")


def test_instances_are_drawn_and_planned_or_neither(client, ruth):
    study = make_study(instances=12, member=ruth)
    design = {"design": "uniform", "instances": 11, "control_share": 0}
    assert problem_of(send(client, "selection", study, design)) == (409, "not_scored")
    score_separability(study=study)
    answer = send(client, "selection", study, design).json()
    assert (
        (answer["drawn"], answer["plan"]["instances"]) == (11, study.selected.count()) == (11, 11)
    )
    refusal = send(client, "selection", study, design | {"instances": 0, "floor": 1000})
    assert problem_of(refusal) == (400, "invalid")
    assert {problem["field"] for problem in refusal.json()["problems"]} == {"instances", "floor"}
    open_study(study=study)
    assert problem_of(send(client, "selection", study, design)) == (409, "not_a_draft")


def test_instances_are_drawn_by_the_doubt_of_a_pilot_that_the_researcher_may_read(
    client, ruth, omar, tmp_path
):
    pilot = import_pilot(tmp_path)
    draft = draft_of(pilot)
    Membership.objects.create(study=draft, user=ruth)
    design = {"design": "doubt", "instances": 40, "control_share": 0.25}
    assert problem_of(send(client, "selection", draft, design)) == (409, "no_pilot")
    design["pilot"] = pilot.pk
    Membership.objects.create(study=pilot, user=omar)
    assert problem_of(send(client, "selection", draft, design)) == (404, "unknown_study")
    Membership.objects.create(study=pilot, user=ruth)
    assert send(client, "selection", draft, design).json()["drawn"] == 40


def test_a_pilot_without_machine_ratings_of_all_instances_is_refused(client, ruth, tmp_path):
    pilot = import_pilot(tmp_path, judged=100)
    Membership.objects.create(study=pilot, user=ruth)
    design = {"design": "doubt", "instances": 40, "pilot": pilot.pk}
    draft = draft_of(pilot)
    refusal = send(client, "selection", draft, design)
    assert problem_of(refusal) == (409, "machine_ratings_missing")


def test_nobody_draws_for_another_researcher(omar, ruth):
    study = make_study(instances=2, member=ruth)
    design = {"design": "uniform", "instances": 1}
    assert problem_of(send(program(omar), "selection", study, design)) == (
        404,
        "unknown_study",
    )


def send(client, name: str, study, values: dict[str, object]):
    return client.post(
        at(f"study-{name}", study.pk), json.dumps(values), content_type="application/json"
    )


def table(content: bytes = CASES["mockup.csv"].content) -> SimpleUploadedFile:
    return SimpleUploadedFile("table.csv", content)


def test_a_study_is_created_from_a_table(client, ruth):
    answer = client.post(at("study-from-table"), {"table": table(), "title": "Two summarisers"})
    assert answer.status_code == 201, answer.content
    study = Study.objects.get()
    assert answer["Location"] == at("study-detail", study.pk)
    body = answer.json()
    assert (body["study"], body["layout"], body["instances"]) == (study.pk, "wide", 12)
    assert study.memberships.get().user == ruth


@pytest.mark.parametrize(
    ("limit", "value"), [("IMPORT_AT_ONCE_BYTES", 100), ("READER_SECONDS_IN_WEB", 0)]
)
def test_a_large_or_slow_file_is_imported_by_a_job_that_names_the_study(
    limit, value, client, settings, tmp_path
):
    settings.TIEBREAK_UPLOAD_FOLDER = str(tmp_path / "uploads")
    setattr(settings, f"TIEBREAK_{limit}", value)
    answer = client.post(at("study-from-table"), {"table": table(), "title": "Large"})
    assert (answer.status_code, answer["Location"]) == (
        202,
        at("import-detail", answer.json()["job"]),
    )
    result = client.get(answer["Location"]).json()["result"]
    assert result["study"] == Study.objects.get().pk
    assert list((tmp_path / "uploads").iterdir()) == []


MATRIX = b"item,ann1,ann2\n" + b"".join(b"t%d,%d,%d\n" % (k, k, 5 - k) for k in range(1, 5))


def test_a_closed_study_is_created_from_ratings_with_what_was_chosen(client, ruth):
    values = {"ratings": table(MATRIX), "title": "Matrix", "scales": "preference=interval"}
    answer = client.post(at("study-from-ratings"), values)
    assert answer.status_code == 201, answer.content
    study = Study.objects.get()
    assert (answer["Location"], answer.json()["study"]["id"]) == (
        at("study-detail", study.pk),
        study.pk,
    )
    assert (study.status, study.title, study.criteria.get().scale) == (
        "closed",
        "Matrix",
        "interval",
    )
    assert study.memberships.get().user == ruth
    assert answer.json()["ratings"] == 8


@pytest.mark.parametrize(
    ("content", "values", "code"),
    [
        (b"item,fluency\na,1\na,2\n", {}, "no_rater"),
        (MATRIX, {"columns": "rater=who"}, "unknown_column"),
        (MATRIX, {"columns": "who=item"}, "unknown_role"),
        (MATRIX, {"scales": "interval"}, "bad_option"),
        (MATRIX, {"scales": "preference=ordinal:8..9"}, "label_not_on_scale"),
    ],
)
def test_ratings_that_cannot_be_read_are_refused_and_nothing_is_stored(
    content, values, code, client
):
    answer = client.post(
        at("study-from-ratings"), {"ratings": table(content), "title": "T"} | values
    )
    body = answer.json()
    assert answer.status_code == 400
    assert code in {body["code"], *(problem["code"] for problem in body.get("problems", ()))}
    assert not Study.objects.exists()


def test_a_dry_run_of_a_table_stores_nothing(client):
    values = {"table": table(), "title": "T", "dry_run": "true", "columns": "source=topic"}
    answer = client.post(at("study-from-table"), values)
    assert answer.status_code == 200
    assert (answer.json()["study"], answer.json()["columns"]["source"]) == (None, "topic")
    assert not Study.objects.exists()


@pytest.mark.parametrize("dry_run", ["true", "false"])
def test_a_bundle_is_no_table_whether_it_is_stored_or_not(client, tmp_path, dry_run):
    file = zipped(make_bundle(tmp_path / "b"))
    values = {"table": file, "title": "T", "dry_run": dry_run}
    body = client.post(at("study-from-table"), values).json()
    assert body["problems"][0]["code"] == "not_a_table"
    assert not Study.objects.exists()


def test_a_program_leaves_columns_out_and_reads_equal_problems_once(client):
    content = CASES["mockup.csv"].content + 2 * b"cnn-99,A source,,A text,news,3\r\n"
    values = {"table": table(content), "title": "T", "dry_run": "true"}
    body = client.post(at("study-from-table"), values).json()
    (kind,) = body["problem_kinds"]
    assert (kind["count"], kind["first_rows"], kind["code"]) == (2, [14, 15], "empty_text")
    values |= {"table": table(content), "leave_out": ["bart_summary", "topic"]}
    body = client.post(at("study-from-table"), values).json()
    assert (body["systems"], body["n_problems"]) == (
        ["vicuna_summary"],
        0,
    )  # a repeated row is left out
    values |= {"table": table(content), "sheet": "First"}
    body = client.post(at("study-from-table"), values).json()
    assert [p["code"] for p in body["problems"]] == ["no_sheets"]


def test_a_bad_table_is_refused_with_its_rows(client):
    content = CASES["mockup.csv"].content + b"cnn-99,A source,,A text,news,3\r\n"
    values = {"table": table(content), "title": "T"}
    answer = client.post(at("study-from-table"), values)
    assert problem_of(answer) == (400, "bad_table")
    assert [(p["row"], p["column"]) for p in answer.json()["problems"]] == [(14, "bart_summary")]
    again = client.post(
        at("study-from-table"), values | {"table": table(content), "leave_out_bad_rows": "1"}
    )
    assert again.status_code == 201


def test_a_token_for_some_studies_creates_none_from_a_table(ruth):
    study = make_study(instances=1, member=ruth)
    some = program(ruth, studies=[study])
    answer = some.post(at("study-from-table"), {"table": table(), "title": "T"})
    assert problem_of(answer) == (403, "needs_all_studies")
