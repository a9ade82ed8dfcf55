"""An export and a document have the licences of a study, also those that have ended."""

import json

import pytest

from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from metrics.exports.document.build import licence_sections
from metrics.licensing.services import check_licences, revoke_licence
from tests.metrics.licensing.studies import rate_later
from tests.metrics.licensing.test_licences import grant, page_of, requests, stored, study
from tiebreak.reading.document.content import DataTable

pytestmark = pytest.mark.django_db
__all__ = ["requests", "stored", "study"]


def test_an_export_has_each_licence_with_its_evidence_and_how_it_ended(study, tmp_path):
    revoked = revoke_licence(licence=grant(study), reason="a newer model")
    grant(study)
    rate_later(study, "1")
    check_licences(study=study)
    export_study(study=study, out=tmp_path / "export")
    lines = (tmp_path / "export" / "licences.jsonl").read_text().splitlines()
    first, second = map(json.loads, lines)
    assert (first["state"], first["reason"]) == ("revoked", "a newer model")
    assert first["ended_at"] == revoked.ended_at.isoformat()
    assert "drift" not in first
    assert (second["rater"], second["criterion"], second["category"]) == (
        "judge",
        "preference",
        "easy",
    )
    assert second["state"] == "in force"
    assert "ended_at" not in second
    assert (second["evidence"]["winning_rate"], second["evidence"]["labels"]) == (1, 120)
    assert second["evidence"]["simulated"] == 0
    assert second["drift"]["labels"] == 40
    assert set(second["drift"]) == {"labels", "agreement", "at"}
    imported = import_study(path=tmp_path / "export")
    assert "licences.jsonl" in str(imported.not_stored)
    assert not imported.study.licences.exists()


def test_without_licences_there_is_no_such_file_and_no_section(study, tmp_path):
    export_study(study=study, out=tmp_path / "export")
    assert not (tmp_path / "export" / "licences.jsonl").exists()
    assert licence_sections(study) == []


def test_the_document_says_on_what_each_licence_rests(study):
    revoke_licence(licence=grant(study))
    (section,) = licence_sections(study)
    (table,) = [block for block in section.blocks if isinstance(block, DataTable)]
    (row,) = table.rows
    assert dict(zip(table.columns, row, strict=True))["state"].startswith("revoked on ")
    assert row[:2] == ("judge", "preference, category easy")
    assert row[5:] == ("1.00", "0.00", "0.10", "3", "120", "0")


def test_the_document_counts_labels_by_bots_where_that_was_recorded(study):
    licence = grant(study)
    licence.evidence["simulated"] = 40
    licence.save()
    assert of_document(study)["labels by bots"] == "40"


def test_a_licence_of_an_earlier_release_is_shown_with_what_it_has(study, client, admin_user):
    licence = grant(study)
    for name in ("simulated", "coin_winning_rate", "coins_passing", "agreement_low", "guessing"):
        del licence.evidence[name]
    licence.save()
    shown = of_document(study)
    assert {shown["labels by bots"], shown["a coin's ω"]} == {"not recorded"}
    client.force_login(admin_user)
    assert client.get(page_of(study)).status_code == 200
    assert check_licences(study=study) == []


def of_document(study) -> dict[str, str]:
    (section,) = licence_sections(study)
    (table,) = [block for block in section.blocks if isinstance(block, DataTable)]
    return dict(zip(table.columns, table.rows[0], strict=True))
