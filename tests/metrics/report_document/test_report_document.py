"""The report as HTML, PDF and LaTeX: one content, whose numbers are those of the stored report."""

import json
import re
import zipfile
from html import unescape
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.urls import reverse
from lxml import html

from annotation.exporting import export_study
from annotation.importing import import_study
from annotation.models import Participation
from annotation.services.places import take_place
from jobs.models import Job
from metrics.report_document.build import build_document
from metrics.report_document.content import (
    DataTable,
    DocumentSection,
    Figure,
    Paragraph,
    ReportDocument,
)
from metrics.report_document.html import as_html
from metrics.report_document.latex import as_latex
from metrics.report_document.pdf import as_pdf, typst_string
from metrics.report_document.results import result_sections
from metrics.report_document.study_facts import deviation_table, exclusion_table, flow_table
from metrics.report_files import write_report_files
from metrics.selectors import stored_report
from metrics.services import refresh_report
from recruitment.services.lifecycle import close_study, reopen_study
from studies.models import Study
from tests.annotation.test_exporting import rated
from tests.paths import ROOT
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_participation
from tests.tiebreak.formats.bundles import make_bundle
from tiebreak.report import Report, build_report, read_source

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(tmp_path) -> Study:
    return rated(tmp_path / "b")


def report_of(study: Study) -> Report:
    return stored_report(refresh_report(study=study))


def cells_of(document: ReportDocument) -> set[str]:
    return {cell for table in document.tables for row in table.rows for cell in row}


def test_every_renderer_has_every_cell(study):
    document = build_document(study=study, report=report_of(study))
    page = html.fromstring(as_html(document))
    shown = {element.text_content() for element in page.iter("td", "th")}
    assert cells_of(document) - {""} <= shown
    assert len(page.findall(".//figure")) == len(document.figures) > 0
    latex = as_latex(document)
    assert latex.count(r"\begin{tabular}") == len(document.tables) > 5
    assert as_pdf(document).startswith(b"%PDF-")


def test_the_numbers_are_those_of_the_stored_report(study):
    report = report_of(study)
    rate = report.criteria["preference"].systems.win_rate["old"]
    document = build_document(study=study, report=report)
    rows = [row for table in document.tables for row in table.rows if row[0] == "old"]
    assert (rows[0][1], rows[0][3]) == (f"{rate.value:.3f}", str(rate.n))
    # Few units: there is no interval, and the reason stands where the scope would.
    assert (rows[0][2], rows[0][4]) == ("none", rate.reason)
    facts = document.sections[-1].blocks[0].text
    assert report.source.rows_sha256 in facts
    assert f"seed {report.seed}" in facts


def test_the_numbers_can_be_computed_again_from_the_export(study, tmp_path):
    export_study(study=study, out=tmp_path / "out")
    source = read_source(tmp_path / "out")
    again = build_report(
        source.table, scales=source.scales, source=source.origin, order=source.order
    )
    assert result_sections(again) == result_sections(report_of(study))


def test_the_html_loads_nothing_and_escapes_everything(study):
    study.title = 'A <script>alert("1")</script> & b'
    text = as_html(build_document(study=study, report=report_of(study)))
    page = html.fromstring(text)
    assert not page.xpath("//script | //link | //img | //iframe | //*[@src] | //*[@style]")
    assert not re.search(r"url\(|@import", text)
    assert page.findtext(".//h1") == study.title
    assert unescape(page.findtext(".//title")).startswith(study.title)


def test_hostile_texts_are_plain_text_in_latex_and_pdf():
    hostile = '\\input{x} $ % & _ # ^ ~ {} "quoted" #panic("typst") *bold* @ref \\u{41} δ − é\u0000'
    table = DataTable(hostile, (hostile, "b"), ((hostile, hostile),))
    blocks = (Paragraph(hostile), table)
    document = ReportDocument(hostile, hostile, (DocumentSection(hostile, blocks),), "")
    latex = as_latex(document)
    assert "\\input" not in latex
    assert re.sub(r"\\textbackslash\{\}", "", latex).count("\\&") == 5
    assert as_pdf(document).startswith(b"%PDF-")
    assert typst_string('a\\u{41}"\x00\n') == '"a\\\\u{41}\\"\n"'


def test_the_flow_of_participants_is_counted():
    study = make_open_study(instances=2, comparisons_per_hit=1)
    assert flow_table(study) is None
    ann, bob = make_participation(study, "ann"), make_participation(study, "bob")
    take_place(participation=ann)
    Participation.objects.filter(pk=bob.pk).update(status="screened_out", cleared_at=None)
    rows = dict(flow_table(study).rows)
    assert rows["Entered"] == rows["Consented"] == "2"
    assert rows["Screened out"] == rows["Were given a task"] == "1"
    assert rows["Completed at least one task"] == "0"


def test_exclusions_and_the_log_are_reported():
    study = make_open_study(instances=1)
    assert exclusion_table(study) is None
    assert deviation_table(study) is None
    close_study(study=study)
    reopen_study(study=study)
    assert [row[1] for row in deviation_table(study).rows] == ["closed", "reopened"]


def test_exclusions_are_counted_by_reason(tmp_path):
    folder = make_bundle(tmp_path / "b", with_ratings=True)
    lines = [json.loads(line) for line in (folder / "ratings.jsonl").read_text().splitlines()]
    for line in lines[:2]:
        line |= {"excluded": True, "excluded_reason": "too fast"}
    (folder / "ratings.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    study = import_study(path=folder).study
    raters = len({line["rater"] for line in lines[:2]})
    assert exclusion_table(study).rows == (("too fast", str(raters), "2"),)


FILES = {"report.html", "report.pdf", "tables.tex", "references.bib", "report.json"}


def test_the_command_writes_all_files_and_overwrites_nothing(study, tmp_path):
    out = tmp_path / "report"
    call_command("write_report", study.pk, "--out", str(out))
    assert {path.name for path in out.iterdir()} >= FILES
    entries = (out / "references.bib").read_text()
    assert entries.count("@") == len(re.findall(r"^@\w+\{\w+,$", entries, re.M)) >= 4
    assert json.loads((out / "report.json").read_text()) == report_of(study).as_json()
    with refused("out_exists"):
        write_report_files(study=study, out=out)


def test_one_click_writes_the_report_as_a_job(client, study, settings, tmp_path):
    settings.TIEBREAK_EXPORT_FOLDER = str(tmp_path / "exports")
    ruth = User.objects.create_user("ruth", is_staff=True)
    client.force_login(ruth)
    url = reverse("metrics:report-files", args=[study.pk])
    assert client.post(url).status_code == 404
    study.memberships.create(user=ruth)
    client.post(url)
    job = Job.objects.get(kind="report-files")
    assert (job.status, job.created_by) == ("done", ruth)
    link = reverse("metrics:download-export", args=[study.pk, job.public_id])
    page = client.get(reverse("metrics:data-and-report", args=[study.pk])).content.decode()
    assert link in page
    answer = client.get(link)
    assert f"report-{study.pk}.zip" in answer["Content-Disposition"]
    (tmp_path / "r.zip").write_bytes(b"".join(answer.streaming_content))
    names = {Path(name).name for name in zipfile.ZipFile(tmp_path / "r.zip").namelist()}
    assert names >= FILES


def test_the_style_of_the_report_is_ours():
    style = (ROOT / "static" / "css" / "report.css").read_text()
    assert "@media print" in style
    assert "</" not in style


def test_figures_are_named_after_what_they_show(study):
    figures = build_document(study=study, report=report_of(study)).figures
    assert {figure.name for figure in figures} >= {"win-rates", "agreement", "perception"}
    assert all(isinstance(figure, Figure) and figure.svg.startswith("<svg") for figure in figures)


def test_a_report_is_of_the_ratings_of_now(study, tmp_path):
    stored = refresh_report(study=study)
    older = stored.report | {"source": stored.report["source"] | {"n_rows": 5}}
    for number, state in enumerate((stored.watermark, "an earlier one")):
        type(stored).objects.update(watermark=state, report=older)
        write_report_files(study=study, out=tmp_path / str(number))
    rows = [
        json.loads((tmp_path / name / "report.json").read_text())["source"]["n_rows"]
        for name in ("0", "1")
    ]
    assert rows == [5, 21]
