"""The figure of success rates, the page that shows it, and the tables of the document."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from annotation.imports.study_import import import_study
from metrics.exports.document.build import build_document
from metrics.results.selectors import stored_report
from metrics.results.services import refresh_report
from studies.models import Membership, Study
from tests.tiebreak.formats.bundles import write_lines
from tests.tiebreak.report.mock_systems import BEST_FIRST, RATES, mock_ratings
from tests.tiebreak.report.sections.systems.test_success_rates import section_of
from tiebreak.reading.figures.systems.success_rates import (
    known_order_sentence,
    success_rates_figure,
)

STUDY = """\
title = "Answers"
guidelines = "guidelines.md"
systems = ["s70", "s75", "s80", "s85", "s90"]
unit_kind = "generation"
known_order = "s90; s85; s80; s75; s70"

[[criteria]]
name = "faithfulness"
scale = "nominal:yes,no"
question = "Is it faithful?"
"""


@pytest.fixture
def study(client, tmp_path, db) -> Study:
    path = tmp_path / "bundle"
    path.mkdir()
    (path / "study.toml").write_text(STUDY, encoding="utf-8")
    (path / "guidelines.md").write_text("Read the passage.", encoding="utf-8")
    rows = list(mock_ratings(1, instances=60, labelled=20))
    names = sorted({row["instance"] for row in rows})
    write_lines(path / "instances.jsonl", [{"id": name, "source": name} for name in names])
    texts = [
        {"instance": name, "system": system, "sample_index": 0, "text": f"{name} {system}"}
        for name in names
        for system in RATES
    ]
    write_lines(path / "generations.jsonl", texts)
    write_lines(path / "ratings.jsonl", rows)
    study = Study.objects.get(pk=import_study(path=path).study.pk)
    user = User.objects.create_user("ada", is_staff=True)
    Membership.objects.create(study=study, user=user)
    client.force_login(user)
    refresh_report(study=study)
    return study


def test_the_figure_has_every_kind_of_rate_and_no_finding():
    section = section_of(mock_ratings(2, instances=90, labelled=30), replicates=50)
    figure = success_rates_figure(section)
    assert figure.finding == "Success rates of the systems"
    assert [kind for kind, _ in figure.legend] == ["human", "machine-open", "machine"]
    series = {row[1] for row in figure.rows}
    assert series == {
        *("annotators", "judge alone", "annotators and judge", "annotators and judge, λ = 1")
    }
    assert len(figure.rows) == 4 * len(RATES)
    powered = {name: one.machines["judge"].powered.value for name, one in section.systems.items()}
    order = list(dict.fromkeys(row[0] for row in figure.rows))
    assert order == sorted(powered, key=lambda name: -powered[name])
    assert "“yes”" in figure.sentence
    assert "τ" not in figure.sentence


def test_the_sentence_on_a_known_order_names_every_kind_and_who_is_missing():
    rows = mock_ratings(2, instances=90, labelled=30)
    section = section_of(rows, known_order=(*BEST_FIRST, "other"))
    sentence = known_order_sentence(section.known_order)
    for part in ("annotators: ", "judge alone: ", "annotators and judge, λ = 1: "):
        assert part in sentence
    assert "s90, s85, s80, s75, s70, other" in sentence
    assert sentence.endswith("Without ratings: other.")


def test_the_page_of_systems_shows_it_for_the_studys_known_order(client, study):
    page = client.get(reverse("metrics:results-tab", args=[study.pk, "systems"]))
    (figure,) = page.context["figures"]
    assert (figure.name, bool(figure.chart)) == ("success-rates", True)
    assert "Kendall" in figure.sentence
    data = reverse("metrics:figure", args=[study.pk, "faithfulness", "success-rates", "csv"])
    assert "annotators and judge, λ = 1" in client.get(data).content.decode()


def test_the_document_has_tables_of_rates_and_of_agreement_with_the_order(study):
    report = stored_report(study.report_snapshots.get(digest=""))
    now = timezone.now()
    document = build_document(study=study, report=report, made_at=now, written_at=now)
    titles = [
        block.caption
        for part in document.sections
        for block in part.blocks
        if hasattr(block, "caption")
    ]
    assert "Success rates (“yes”)" in titles
    assert "Success rates (“yes”), prediction-powered by judge" in titles
    assert "Success rates (“yes”), prediction-powered by judge with λ = 1" in titles
    assert "Kendall's τ with the known order s90, s85, s80, s75, s70" in titles
    assert "s90; s85; s80; s75; s70" in str(document.sections)
