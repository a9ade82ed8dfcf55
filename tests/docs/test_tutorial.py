"""The tutorial's study can be taken from files to report, step by step as in the tutorial."""

import io
import json

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from annotation.imports.sample_files import sample_file
from annotation.services.planning import plan_hits
from recruitment.services.launch_checks import launch_checks
from recruitment.services.lifecycle import open_study
from studies.data.table_import import import_table
from studies.design.protocols import fill_in, protocol_named
from studies.models import Study
from tests.paths import ROOT
from tiebreak.cli import main

EXAMPLE = ROOT / "docs" / "example"


@pytest.fixture
def study(db) -> Study:
    User.objects.create_superuser("researcher")
    call_command("import_study", str(EXAMPLE), owner="researcher")
    return Study.objects.get()


def test_the_sample_and_the_template_give_what_the_tutorial_says(db, tmp_path):
    ruth = User.objects.create_superuser("ruth")
    sample = sample_file("wide.csv")
    assert sample is not None
    path = tmp_path / sample.name
    path.write_bytes(sample.write())
    study = import_table(path=path, owner=ruth, title="Which summary is better?").study
    study = fill_in(study=study, protocol=protocol_named("mt-bench"))
    study.ratings_per_hit = 2
    study.save()
    plan_hits(study=study)
    assert (study.hits.count(), study.places.count()) == (2, 4)
    assert launch_checks(study) == []


def test_only_the_plan_is_missing(study):
    assert [check.code for check in launch_checks(study) if check.is_error] == ["not_planned"]
    plan_hits(study=study)
    assert study.hits.count() == 6
    assert study.places.count() == 12
    assert launch_checks(study) == []


def test_bots_take_a_copy(study):
    call_command("simulate_raters", study.pk, dry_run=True, json=True, stdout=io.StringIO())
    assert study.dry_runs.count() == 1


def test_the_exported_ratings_give_a_report_without_intervals(study, tmp_path):
    plan_hits(study=study)
    open_study(study=study)
    call_command("simulate_raters", study.pk, raters=2)
    call_command("export_study", study.pk, out=tmp_path / "first-study", format="jsonl,csv")
    report = tmp_path / "report.json"
    assert main(["analyze", str(tmp_path / "first-study"), "--out", str(report)]) == 0
    votes = json.loads(report.read_text())["criteria"]["preference"]
    assert sum(votes["votes"].values()) == 12
    alpha = votes["strata"][0]["human_human"]["krippendorff_alpha"]
    assert alpha["low"] is None
    assert alpha["reason"]
