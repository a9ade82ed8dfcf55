"""The report as HTML, PDF and LaTeX: one content, whose numbers are those of the stored report."""

import json
import re
import zipfile
from datetime import UTC, datetime
from html import unescape
from itertools import chain
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db.models import Value
from django.db.models.functions import Concat
from django.urls import reverse
from lxml import html

from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from annotation.models import Participation
from jobs.models import Job
from metrics.exports.document.build import build_document
from metrics.exports.document.study_facts import deviation_table, exclusion_table, flow_table
from metrics.exports.report_files import write_report_files
from metrics.models import SectionSnapshot
from metrics.results.sections import refresh_section
from metrics.results.selectors import stored_report
from metrics.results.services import refresh_report
from recruitment.services.lifecycle import close_study, reopen_study
from recruitment.services.participants import exclude_participant
from studies.models import Study
from tests.annotation.exports.test_study_export import rated
from tests.annotation.places import take_place
from tests.metrics.studies import preferences, report_of as report_of_rows
from tests.pages import numbers_in
from tests.recruitment.views.test_ledger import complete
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_participation
from tests.tiebreak.formats.bundles import make_bundle
from tiebreak.reading.document import references
from tiebreak.reading.document.content import (
    Citation,
    DataTable,
    DocumentSection,
    Figure,
    Paragraph,
    ReferenceList,
    ReportDocument,
)
from tiebreak.reading.document.estimates import estimate_table
from tiebreak.reading.document.html import STYLE, as_html
from tiebreak.reading.document.latex import as_latex
from tiebreak.reading.document.of_report import document_of as document_of_file
from tiebreak.reading.document.pdf import _source, as_pdf, typst_string
from tiebreak.reading.document.results import result_sections
from tiebreak.reading.messages import OTHERS_OPEN
from tiebreak.report import Report, build_report, read_source
from tiebreak.report.registry import SECTIONS
from tiebreak.stats import Estimate, undefined

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(tmp_path) -> Study:
    return rated(tmp_path / "b")


MADE, WRITTEN = datetime(2026, 3, 1, 9, 5, tzinfo=UTC), datetime(2026, 3, 2, 14, 30, tzinfo=UTC)


def report_of(study: Study) -> Report:
    return stored_report(refresh_report(study=study))


def document_of(study: Study, report: Report | None = None) -> ReportDocument:
    return build_document(
        study=study, report=report or report_of(study), made_at=MADE, written_at=WRITTEN
    )


def section(document: ReportDocument, title: str) -> DocumentSection:
    (part,) = (part for part in document.sections if part.title == title)
    return part


def cells_of(document: ReportDocument) -> set[str]:
    return {cell for table in document.tables for row in table.rows for cell in row}


def test_every_renderer_has_every_cell(study):
    document = document_of(study)
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
    document = document_of(study, report)
    rows = [row for table in document.tables for row in table.rows if row[0] == "old"]
    assert (rows[0][1], rows[0][2]) == (f"{rate.value:.2f}", str(rate.n))
    facts = section(document, "Reproduction").blocks[0].text
    assert report.source.rows_sha256 in facts
    assert f"seed {report.seed}" in facts


def test_the_numbers_can_be_computed_again_from_the_export(study, tmp_path):
    export_study(study=study, out=tmp_path / "out")
    source = read_source(tmp_path / "out")
    options = {"scales": source.scales, "order": source.order, "sections": ["set_aside"]}
    again = build_report(source.table, source=source.origin, **options)
    assert result_sections(again) == result_sections(report_of(study))


def test_sections_that_somebody_opened_are_written_but_those_of_single_annotators(study, tmp_path):
    refresh_report(study=study)
    for name in ("robustness", "drop_one_influence"):
        refresh_section(study=study, name=name)
    write_report_files(study=study, out=tmp_path / "out")
    written = (tmp_path / "out" / "report.html").read_text()
    assert f"<caption>{SECTIONS['robustness'].title}" in written
    assert f"<caption>{SECTIONS['drop_one_influence'].title}" not in written
    assert (
        "robustness"
        in json.loads((tmp_path / "out" / "report.json").read_text())["criteria"]["preference"]
    )


def test_sections_of_earlier_ratings_are_not_written(study, tmp_path):
    refresh_report(study=study)
    refresh_section(study=study, name="robustness")
    SectionSnapshot.objects.update(watermark=Concat("watermark", Value("0")))
    write_report_files(study=study, out=tmp_path / "out")
    written = (tmp_path / "out" / "report.html").read_text()
    assert f"<caption>{SECTIONS['robustness'].title}" not in written


def test_the_html_loads_nothing_and_escapes_everything(study):
    study.title = 'A <script>alert("1")</script> & b'
    text = as_html(document_of(study))
    page = html.fromstring(text)
    assert not page.xpath("//script | //link | //img | //iframe | //*[@src] | //*[@style]")
    assert not re.search(r"url\(|@import", text)
    assert page.findtext(".//h1") == study.title
    assert unescape(page.findtext(".//title")).startswith(study.title)


def test_hostile_texts_are_plain_text_in_latex_and_pdf():
    hostile = '\\input{x} $ % & _ # ^ ~ {} "quoted" #panic("typst") *bold* @ref \\u{41} δ − é\u0000'
    table = DataTable(hostile, (hostile, "b"), ((hostile, hostile),), hostile)
    listed = ReferenceList((Citation("key", hostile, hostile, "https://example.org"),))
    blocks = (Paragraph(hostile), table, listed)
    document = ReportDocument(
        hostile, hostile, hostile, WRITTEN, (DocumentSection(hostile, blocks),), ""
    )
    latex = as_latex(document)
    assert "\\input" not in latex
    assert re.sub(r"\\textbackslash\{\}", "", latex).count("\\&") == 9
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


def test_whoever_is_excluded_after_a_task_has_completed_it_and_the_typed_reason_is_stated():
    study = make_open_study(instances=1, comparisons_per_hit=1)
    ann = make_participation(study, "ann")
    complete(ann)
    exclude_participant(participation=ann, reason="Failed the checks.")
    flow = dict(flow_table(study).rows)
    assert flow["Completed at least one task"] == flow["Excluded"] == "1"
    ((why, raters, ratings),) = exclusion_table(study).rows
    assert why.endswith(": Failed the checks.")
    assert (raters, ratings) == ("1", "1")


def test_the_title_counts_annotators_and_machines_ratings_apart():
    people = preferences([[1, 0], [1, 1]])
    machine = [{**row, "rater": "m", "kind": "machine"} for row in people[::2]]
    for rows, counts in ((people, {"4"}), ([*people, *machine], {"4", "2"})):
        document = document_of_file(report_of_rows(rows), title="T", made_at=MADE)
        assert numbers_in(document.subtitle) == counts


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
    style = STYLE.read_text()
    assert "@media print" in style
    assert "</" not in style


def test_figures_are_named_after_what_they_show(study):
    figures = document_of(study).figures
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


# What a newcomer reads first.


def texts(document: ReportDocument) -> list[str]:
    """Return everything that a reader sees of a document but its charts and BibTeX."""
    shown = [document.title, document.subtitle, document.dates]
    for block in document.blocks:
        if isinstance(block, Paragraph):
            shown.append(block.text)
        elif isinstance(block, DataTable):
            shown += [block.caption, block.note, *block.columns, *chain(*block.rows)]
        elif isinstance(block, ReferenceList):
            shown += [entry.text for entry in block.entries]
    return shown


def of_votes(labels: list[list[object]]) -> Report:
    return report_of_rows(preferences(labels, side_a=("left", "right")))


def first_lines(study: Study, report: Report) -> str:
    return document_of(study, report).sections[0].blocks[0].text


def test_the_summary_says_first_what_was_found_and_of_how_many_ratings(study):
    text = first_lines(study, of_votes([[-1, -1, 0]] * 11 + [[-1, 1, 1]]))
    assert text.startswith("With these annotators, a wins more often than it loses: win rate 0.79 ")
    assert (
        "3 annotators gave 36 ratings of 12 comparisons: a was preferred in 23, b in 2, and neither"
        " in 11 (ties)."
    ) in text
    assert text.endswith(OTHERS_OPEN)


def test_a_report_of_few_items_speaks_of_no_intervals(study):
    document = document_of(study, of_votes([[-1, -1], [-1, 0]]))
    assert document.sections[0].blocks[0].text.startswith("2 items are too few")
    assert not any("interval" in block.text for block in document.sections[0].blocks)
    assert "95% interval" not in {column for table in document.tables for column in table.columns}
    assert "bootstrap" not in " ".join(texts(document)).lower()


def test_internal_names_are_on_no_page_of_a_report(study):
    Study.objects.update(similarity="rouge1")
    study.refresh_from_db()
    shown = " ".join(texts(document_of(study)))
    for name in ("preference:", "nominal:", "rouge1", "role ", "flagged", "inclusion_probability"):
        assert name not in shown, name
    assert "which is better, with ties, or both are bad" in shown


def test_a_reason_stands_once_below_its_table():
    few, other = Estimate(0.5, n=3, reason="Too few."), undefined("Nobody rated it.")
    same = estimate_table("Rates", {"a": few, "b": few})
    assert same.columns == ("Statistic", "Estimate", "n")
    assert same.note == "Too few."
    differing = estimate_table("Rates", {"a": few, "b": other, "c": few})
    assert [row[-1] for row in differing.rows] == ["a", "b", "a"]
    assert differing.note == "a: Too few. b: Nobody rated it."


def test_a_negative_number_has_a_minus_sign(study):
    report = of_votes([[-1, -1, 1]] * 12)
    document = document_of(study, report)
    assert not [text for text in texts(document) if re.search(r"(?<![\w/])-\d", text)]
    assert "−" in "".join(cells_of(document))
    latex = as_latex(document)
    assert "$-$" in latex
    assert "−" not in latex


def test_dates_are_in_every_format(study):
    document = document_of(study)
    dates = "Ratings as of 1 March 2026, 09:05 UTC. Written 2 March 2026, 14:30 UTC with Tiebreak"
    assert document.dates.startswith(dates)
    assert dates in as_html(document)
    assert dates in as_latex(document)
    assert dates in "\n".join(_source(document))


def test_references_are_set_as_text_and_bibtex_is_at_the_end(study):
    document = document_of(study)
    (entry,) = (e for e in document.citations if e.key == "ghosh2024")
    assert entry.text == (
        "Ghosh, S., Srinivasan, T. and Swayamdipta, S. (2024). Compare without Despair: Reliable"
        " Preference Evaluation with Generation Separability. In: Findings of the Association for"
        " Computational Linguistics: EMNLP 2024, 12787–12805."
    )
    assert entry.url == "https://doi.org/10.18653/v1/2024.findings-emnlp.747"
    page = html.fromstring(as_html(document))
    listed = [item.text_content() for item in page.findall(".//ul[@class='references']/li")]
    assert f"{entry.text} {entry.url}" in listed
    assert listed == sorted(listed)
    assert document.sections[-1].title == "References as BibTeX"
    assert r"\cite{ghosh2024}" in as_latex(document)
    keys = re.findall(r"@\w+\{(\w+),", document.bibtex)
    assert sorted(keys) == sorted(e.key for e in document.citations)


def test_every_reference_can_be_read():
    for reference in vars(references).values():
        if isinstance(reference, references.Reference):
            assert not set("{}\\$") & set(reference.text + reference.url), reference.key
            assert reference.text.endswith(".")


def keys_of(report: Report) -> set[str]:
    return {reference.key for reference in references.references_of(report)}


def test_only_methods_of_numbers_in_the_report_are_cited():
    few = of_votes([[-1, 1], [-1, 0]])
    enough, of_two = (
        of_votes(votes * 6) for votes in ([[-1, 1, 0], [-1, -1, 0]], [[-1, 1], [-1, 0]])
    )
    intervals = {"korn1998", "efron1993", "cameron2011"}
    assert not {*intervals, "cohen1960", "sarndal1992"} & keys_of(few)
    assert "cameron2011" in keys_of(enough)
    assert "efron1993" in keys_of(of_two)
    assert "angelopoulos2023b" not in keys_of(enough)  # nothing is tuned without a machine
    assert "korn1998" in keys_of(of_two)
    assert "efron1993" not in keys_of(of_votes([[-1]] * 24))  # shares of items that all agree
    one_rating = of_votes([[-1]])
    assert not {"krippendorff2011", "fleiss1971"} & keys_of(one_rating)
