"""Criteria keep the order of the study, the bundle or the file, on every page and in every file."""

import json
import re

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.urls import reverse

from annotation.exports.codebook import codebook
from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from metrics.models import ReportSnapshot
from metrics.results.services import refresh_report
from studies.models import Membership
from tests.metrics.studies import sections
from tests.tiebreak.formats.bundles import make_bundle
from tiebreak.formats import RatingTable
from tiebreak.report import build_report

ORDER = ["zest", "preference", "accuracy"]


def rated(names: list[str]) -> list[dict]:
    return [
        {"unit": f"u{u}", "rater": "r", "label": 1 + u % 2, "criterion": name}
        for name in names
        for u in range(3)
    ]


def test_criteria_of_a_file_are_in_the_order_of_their_first_rows():
    report = build_report(RatingTable.from_rows(rated(ORDER)), replicates=0)
    assert list(report.criteria_order) == list(report.criteria) == ORDER
    assert [section.name for section in sections(report)] == ORDER


def test_a_declared_order_comes_before_that_of_the_rows():
    report = build_report(
        RatingTable.from_rows(rated(ORDER)), replicates=0, order=["preference", "none", "zest"]
    )
    assert report.criteria_order == ("preference", "zest", "accuracy")


@pytest.fixture
def bundle(tmp_path):
    """Return a bundle with three criteria, whose ratings have them in alphabetical order."""
    path = make_bundle(tmp_path / "bundle", with_ratings=True)
    design = path / "study.toml"
    more = [
        f'[[criteria]]\nname = "{name}"\nscale = "ordinal:1..5"\nquestion = "How much?"\n'
        for name in ("zest", "accuracy")
    ]
    head, preference = design.read_text().split("[[criteria]]")
    design.write_text(f"{head}{more[0]}[[criteria]]{preference}\n{more[1]}")
    rows = [json.loads(line) for line in (path / "ratings.jsonl").read_text().splitlines()]
    rows += [
        {**row, "criterion": name, "label": 3}
        for row in rows
        for name in ("zest", "accuracy")
        if row.get("kind", "human") == "human"
    ]
    rows.sort(key=lambda row: row.get("criterion", "preference"))
    (path / "ratings.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@pytest.mark.django_db
def test_page_report_codebook_and_export_keep_the_studys_order(bundle, client, tmp_path):
    study = import_study(path=bundle).study
    user = User.objects.create_user("member", is_staff=True)
    Membership.objects.create(study=study, user=user)
    client.force_login(user)
    snapshot = refresh_report(study=study)
    # PostgreSQL does not keep the order of an object's keys.
    by_name = dict(sorted(snapshot.report["criteria"].items()))
    ReportSnapshot.objects.update(report=snapshot.report | {"criteria": by_name})
    page = client.get(reverse("metrics:results", args=[study.pk]))
    (choice,) = re.findall(r'aria-label="Criterion">(.*?)</nav>', page.content.decode(), re.S)
    assert re.findall(r'criterion=(\w+)"', choice) == ORDER
    shown = json.loads(client.get(reverse("metrics:report", args=[study.pk])).content)
    assert list(shown["criteria"]) == shown["criteria_order"] == ORDER
    text = codebook(study)
    assert [name for name in text.split("| ") if name.strip() in ORDER][:3] == [
        f"{name} " for name in ORDER
    ]
    export_study(study=study, out=tmp_path / "export")
    design = (tmp_path / "export" / "study.toml").read_text()
    assert sorted(ORDER, key=lambda name: design.index(f'name = "{name}"')) == ORDER


def test_analyze_keeps_the_order_of_the_bundle(bundle, tmp_path):
    out = tmp_path / "report.json"
    call_command("analyze", str(bundle), "--out", str(out), "--replicates", "0", verbosity=0)
    assert list(json.loads(out.read_text())["criteria"]) == ORDER
