"""Licences for the same that are granted at the same time."""

import pytest

from metrics.licensing.services import in_force
from tests.annotation.services.test_races import race
from tests.conftest import is_postgresql
from tests.metrics.licensing.studies import compute_evidence, judged_study
from tests.metrics.licensing.test_licences import grant, without_workers


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(not is_postgresql(), reason="SQLite writes one at a time: there is no race.")
def test_of_licences_granted_at_once_for_the_same_one_is_stored(tmp_path, monkeypatch):
    without_workers(monkeypatch)
    study = compute_evidence(judged_study(tmp_path))
    granted = race(lambda _: grant(study), threads=6)
    assert sorted(getattr(one, "code", "granted") for one in granted) == (
        ["granted"] + ["licence_exists"] * 5
    )
    assert in_force(study).count() == 1
