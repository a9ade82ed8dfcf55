"""Licences on a scale with many values, where exact agreement says nothing and there is no test."""

import random
from functools import partial

import pytest
from django.urls import reverse

from annotation.imports.study_import import import_study
from metrics.licensing.evidence import EPSILON, current_evidence
from metrics.results import services
from tests.metrics.licensing.studies import compute_evidence
from tests.tiebreak.formats.bundles import make_bundle, write_lines
from tiebreak.report.build import report_from
from tiebreak.report.sections.raters.strata import NO_EXACT_AGREEMENT

pytestmark = pytest.mark.django_db
INSTANCES = 40


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.setattr(services, "report_from", partial(report_from, replicates=0))
    bundle = make_bundle(tmp_path / "b")
    settings = bundle / "study.toml"
    settings.write_text(settings.read_text().replace('"preference:tie"', '"interval"'))
    write_lines(bundle / "instances.jsonl", [{"id": f"i{i}"} for i in range(INSTANCES)])
    rng = random.Random(0)
    rows = [
        {"unit": f"i{i}/0", "instance": f"i{i}", "rater": rater, "kind": kind}
        | {"label": rng.gauss(0, 1), "system_a": "old", "system_b": "new", "sample_index": 0}
        for i in range(INSTANCES)
        for rater, kind in (("r", "human"), ("s", "human"), ("t", "human"), ("judge", "machine"))
    ]
    write_lines(bundle / "ratings.jsonl", rows)
    return compute_evidence(import_study(path=bundle).study)


def rows_of(study):
    stored = current_evidence(study, study.criteria.get())
    return [row for name in stored.machines for row in stored.of(name, EPSILON["crowd"]).rows]


def test_the_page_has_no_agreement_and_says_that_there_is_no_test(study, client, admin_user):
    rows = rows_of(study)
    assert {(row.numbers[0], row.passes) for row in rows} == {("", None)}
    assert {row.replacement.reason for row in rows} == {NO_EXACT_AGREEMENT}
    assert rows[0].replacement.labels == 3 * INSTANCES
    client.force_login(admin_user)
    assert client.get(reverse("metrics:licences", args=[study.pk])).status_code == 200


def test_without_agreement_nothing_is_licensed(study):
    (row, *_) = rows_of(study)
    assert (row.refusal, row.passes) == ("not_testable", None)
