"""The page Data & report: its formats, its exports, and the progress of one that is written."""

import csv
import html
import io
import re
from collections import Counter

import pytest
from django.urls import reverse
from lxml.html import fromstring

from annotation.exports import export_jobs
from annotation.exports.study_export import FORMATS
from annotation.models import Rating
from jobs.kinds import Progress
from jobs.models import Job
from metrics.exports.views import KINDS
from metrics.models import ReportSnapshot
from metrics.results.questions import QUESTIONS
from studies.models import Membership
from tests.annotation.exports.test_study_export import rated
from tests.jobs.factories import make_job
from tests.pages import codes_on, numbers_in
from tests.studies.factories import make_open_study
from tiebreak.errors import DomainError

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("export_folder")]


@pytest.fixture
def study(ruth, tmp_path):
    study = rated(tmp_path / "b")
    Membership.objects.create(study=study, user=ruth)
    return study


def at(name: str, *arguments: str) -> str:
    return reverse(f"metrics:{name}", args=arguments)


def test_every_format_of_the_service_is_on_the_page(client, study):
    assert tuple(kind.name for kind in KINDS) == FORMATS
    page = client.get(at("data-and-report", study.pk)).content.decode()
    assert re.findall(r'name="formats" value="(\w+)"', page) == list(FORMATS)
    assert re.findall(r'value="(\w+)"[^>]*checked', page) == ["jsonl"]


@pytest.mark.parametrize("simulated", [True, False])
def test_ratings_of_bots_are_marked_where_they_are_downloaded_and_tabs_have_short_names(
    client, study, simulated
):
    report = {"report": {"simulated": simulated}}
    ReportSnapshot.objects.update_or_create(study=study, digest="", defaults=report)
    page = client.get(at("data-and-report", study.pk)).content.decode()
    # All pages of a study have the same states beside its title.
    launch = client.get(reverse("recruitment:launch", args=[study.pk])).content.decode()
    for one in (page, launch):
        assert ('class="state-chip simulated"' in one) == simulated
    names = re.findall(r'class="short"[^>]*>([^<]+)<', page)
    assert len(set(names)) == len(QUESTIONS) + 1
    questions = [question.short for question in QUESTIONS]  # the other stands at a phone's foot
    assert set(questions) < set(names)
    assert sum(map(len, questions)) < 32  # letters, which fit into a line of a phone


def test_a_finished_export_shows_its_size_and_ratings(client, study):
    body = {"formats": ["preference", "hf"], "ties": "both"}
    client.post(at("export", study.pk), body)
    job = Job.objects.get()
    assert job.options == body | {"with_texts": False, "with_comments": False}
    page = client.get(at("exports-part", study.pk)).content.decode()
    assert at("download-export", study.pk, job.public_id) in page
    assert f">21, {job.result['in_statistics']} of them in the results</td>" in page
    form = client.get(at("data-and-report", study.pk)).content.decode()
    assert re.findall(r'value="(\w+)"[^>]*(?:checked|selected)', form) == [*body["formats"], "both"]
    assert job.result["bytes"] == export_jobs.export_file(job).stat().st_size > 0
    export_jobs.export_file(job).unlink()
    page = client.get(at("exports-part", study.pk)).content.decode()
    assert at("download-export", study.pk, job.public_id) not in page


def test_the_progress_counts_rows_of_ratings(study, monkeypatch):
    monkeypatch.setattr("annotation.exports.ratings.BATCH", 8)
    seen = []
    run = export_jobs.ExportJob.run

    def watched(self, job, payload):
        for progress in run(self, job, payload):
            seen.append(progress)
            yield progress

    monkeypatch.setattr(export_jobs.ExportJob, "run", watched)
    export_jobs.start_export(study=study, formats=["jsonl", "csv", "preference"])
    job = Job.objects.get()
    # 21 ratings in two files, and the archive.
    assert [progress.done for progress in seen] == [8, 16, 21, 29, 37, 42, 43]
    assert all(isinstance(progress, Progress) for progress in seen)
    assert (job.done, job.total, job.status) == (43, 43, "done")


def test_an_unfinished_export_is_polled_and_a_finished_one_is_not(client, ruth):
    study = make_open_study(instances=1, member=ruth)
    job = make_job(study, kind="export", status="running", done=3, total=12)
    page = client.get(at("exports-part", study.pk)).content.decode()
    assert "every 2s" in page
    assert 'max="12" value="3"' in page
    Job.objects.filter(pk=job.pk).update(status="failed")
    assert "every 2s" not in client.get(at("exports-part", study.pk)).content.decode()


def test_refusals_are_shown_on_the_page(client, ruth):
    study = make_open_study(instances=1, member=ruth)
    answer = client.post(at("export", study.pk), {"formats": ["preference"]}, follow=True)
    assert "no_preferences" in codes_on(answer)
    assert client.post(at("export", study.pk), {"formats": [], "ties": "drop"}).status_code == 400
    refused = client.post(at("export", study.pk), {"formats": ["csv"], "ties": "split"})
    assert refused.status_code == 400
    assert not Job.objects.exists()


def test_members_of_other_studies_see_nothing(client, ruth):
    study = make_open_study(instances=1)
    for name in ("data-and-report", "exports-part"):
        assert client.get(at(name, study.pk)).status_code == 404
    assert client.post(at("export", study.pk), {"formats": ["csv"]}).status_code == 404


def test_the_file_of_another_study_is_not_sent(client, study):
    """Not even under the address of a study that one may see."""
    theirs = make_open_study(instances=1)
    job = export_jobs.start_export(study=theirs, formats=["csv"])
    assert export_jobs.export_file(job).is_file()
    for owner in (study, theirs):
        assert client.get(at("download-export", owner.pk, job.public_id)).status_code == 404


# Direct downloads.


def csv_of(answer) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(b"".join(answer).decode("utf-8-sig"))))


def test_the_page_of_files_leads_to_them(client, study):
    shown = client.get(at("data-and-report", study.pk)).content.decode()
    assert at("ratings-csv", study.pk) in shown
    assert at("report-files", study.pk) in shown


def test_a_viewer_is_offered_no_files_with_raters(client, ruth, study):
    Membership.objects.update(role="viewer")
    assert at("ratings-csv", study.pk) not in client.get(at("results", study.pk)).content.decode()
    assert client.get(at("ratings-csv", study.pk)).status_code == 403


def test_the_ratings_come_at_once_with_their_texts(client, study):
    answer = client.get(at("ratings-csv", study.pk))
    assert answer["Content-Type"].startswith("text/csv")
    rows = csv_of(answer)
    assert len(rows) == 20
    assert {row["winner"] for row in rows} == {"old", "new", "tie", "bad"}
    assert rows[0]["text_a"] == f"old on {rows[0]['unit']}"


def test_the_page_says_how_many_ratings_of_the_file_are_of_people_and_of_machines(client, study):
    for machines in (True, False):
        Rating.objects.filter(rater__kind="machine").update(excluded=not machines)
        rows = csv_of(client.get(at("ratings-csv", study.pk)))
        kinds = Counter(row["kind"] for row in rows)
        page = fromstring(client.get(at("data-and-report", study.pk)).text)
        (said,) = page.xpath("//*[@data-by-kind]")
        assert numbers_in(said.text_content()) == {str(n) for n in kinds.values()}
        assert ("machine" in kinds) == machines == bool(said.xpath("code[text()='kind']"))
        (direct,) = page.xpath(f"//a[@href='{at('ratings-csv', study.pk)}']")
        assert "button" not in direct.get("class", "")
        formats = {label.text_content().strip() for label in page.xpath("//fieldset//label")}
        assert direct.text_content() not in formats
        assert len(page.xpath("//main//*[contains(@class, 'primary')]")) == 1


def test_of_a_whole_study_the_numbers_are_those_that_were_counted_with_the_report(client, study):
    by_kind = {"rows": {"people": 321, "machines": 77}, "annotators": 3}
    ReportSnapshot.objects.update_or_create(study=study, digest="", defaults={"counted": by_kind})
    page = fromstring(client.get(at("data-and-report", study.pk)).text)
    (said,) = page.xpath("//*[@data-by-kind]")
    assert numbers_in(said.text_content()) == {"321", "77"}


def test_the_ratings_that_do_not_count_come_only_if_asked(client, study):
    first = Rating.objects.filter(unit__study=study).in_statistics().first()
    Rating.objects.filter(pk=first.pk).update(excluded=True)
    asked = {n: csv_of(client.get(at("ratings-csv", study.pk) + n)) for n in ("", "?all=1")}
    counted = Rating.objects.filter(unit__study=study).in_statistics().count()
    assert (len(asked[""]), len(asked["?all=1"])) == (counted, 21)
    columns = dict(client.get(at("data-and-report", study.pk)).context["csv_columns"])
    assert asked[""][0].keys() <= columns.keys()


def test_the_ratings_of_a_large_study_are_left_to_a_worker(client, study, monkeypatch):
    monkeypatch.setattr("metrics.exports.views.MAX_DIRECT", 5)
    page = client.get(at("ratings-csv", study.pk), follow=True)
    assert page.redirect_chain[-1][0] == at("data-and-report", study.pk)
    assert "too_many" in codes_on(page)


def test_the_pdf_of_a_written_report_comes_by_itself(client, study):
    client.post(at("report-files", study.pk))
    client.post(at("export", study.pk), {"formats": ["csv"]})
    export, report = (Job.objects.get(kind=kind) for kind in ("export", "report-files"))
    listed = client.get(at("exports-part", study.pk)).content.decode()
    assert at("report-pdf", study.pk, report.public_id) in listed
    assert at("report-pdf", study.pk, export.public_id) not in listed
    answer = client.get(at("report-pdf", study.pk, report.public_id))
    assert answer.content.startswith(b"%PDF")
    assert client.get(at("report-pdf", study.pk, export.public_id)).status_code == 404


def test_the_pdf_of_another_study_is_not_sent(client, ruth, study):
    client.post(at("report-files", study.pk))
    other = make_open_study(instances=1, member=ruth)
    job = Job.objects.get()
    assert client.get(at("report-pdf", other.pk, job.public_id)).status_code == 404


# The report, from one press to its file.

PART = {"HX-Request": "true"}


def reports(study) -> Job:
    key = f"report-files:{study.pk}"
    return make_job(study, kind="report-files", status="running", exclusive_key=key)


def test_a_press_gives_the_file_that_it_asked_for(client, study):
    for wanted, name in (("pdf", "report-pdf"), ("zip", "download-export")):
        answer = client.post(at("report-files", study.pk), {"wanted": wanted}, headers=PART)
        job = Job.objects.latest("pk")
        (link,) = re.findall(r'<a href="([^"]*)" download data-download>', answer.content.decode())
        assert link == at(name, study.pk, job.public_id)
        assert "exports-changed" in answer["HX-Trigger"]


def test_the_progress_is_told_once_where_the_button_is(client, study):
    job = reports(study)
    answer = client.post(at("report-files", study.pk), {"wanted": "pdf"}, headers=PART)
    assert Job.objects.get() == job  # the one that is being written is followed
    (address,) = re.findall(r'hx-get="([^"]*)"', answer.content.decode())
    address = html.unescape(address)
    assert client.get(address).status_code == 204
    Job.objects.update(status="failed", problem="The disk is full.")
    failed = client.get(address).content.decode()
    assert "The disk is full." in failed
    assert "hx-get" not in failed


def test_a_report_that_nobody_waits_for_does_not_download_itself(client, study):
    client.post(at("report-files", study.pk), {"wanted": "pdf"}, headers=PART)
    job = Job.objects.get()
    page = client.get(at("data-and-report", study.pk)).content.decode()
    assert at("report-pdf", study.pk, job.public_id) in page
    assert "data-download" not in page


def test_without_a_script_the_link_is_beside_the_button(client, study):
    answer = client.post(at("report-files", study.pk), {"wanted": "pdf"}, follow=True)
    assert answer.redirect_chain[-1][0].endswith("#report-heading")
    (state,) = re.findall(r'<p id="report-state" role="status">(.*?)</p>', answer.text, re.S)
    assert at("report-pdf", study.pk, Job.objects.get().public_id) in state


def test_a_refusal_stands_beside_the_button(client, study, monkeypatch):
    def refuse(**_: object) -> None:
        raise DomainError("unreachable", "The queue <cannot> be reached.")

    monkeypatch.setattr("metrics.exports.views.start_report_files", refuse)
    answer = client.post(at("report-files", study.pk), {"wanted": "pdf"}, headers=PART)
    assert answer.content.decode() == "The queue &lt;cannot&gt; be reached."
    assert "unreachable" in codes_on(client.post(at("report-files", study.pk), follow=True))


def test_the_state_of_another_studys_report_is_not_told(client, ruth, study):
    other = make_open_study(instances=1, member=ruth)
    job = reports(study)
    assert client.get(at("report-state", other.pk, job.public_id)).status_code == 404
    assert client.get(at("report-state", study.pk, job.public_id)).status_code == 200
