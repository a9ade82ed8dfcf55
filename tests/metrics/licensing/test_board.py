"""A system that only machine raters judged is on the board while one of them has a licence."""

import pytest
from django.urls import reverse

from metrics.licensing.services import revoke_licence
from metrics.models import Licence, SectionSnapshot
from metrics.results.sections import stored_section, with_opened_sections
from metrics.results.selectors import stored_report
from metrics.results.services import watermark
from tests.metrics.licensing.test_licences import grant, requests, stored, study
from tests.tiebreak.reading.figures.systems.test_leaderboard import with_unrated_system
from tests.tiebreak.report.test_sections import of
from tiebreak.reading.figures.systems.leaderboard import ALONE, leaderboard_figures
from tiebreak.report.serialization import to_json

__all__ = ["requests", "stored", "study"]
pytestmark = pytest.mark.django_db


def with_board(study):
    """Store a board with a system that only the judge rated, and return its snapshot."""
    board = of(with_unrated_system(), sections=["leaderboard"]).leaderboard
    report = study.report_snapshots.get()
    return SectionSnapshot.objects.create(
        report=report,
        name="leaderboard",
        content={study.criteria.get().name: {"part": to_json(board)}},
        watermark=watermark(study),
    )


def test_the_row_comes_and_goes_with_the_licence_for_all_items(study, admin_client):
    snapshot, criterion = with_board(study), study.criteria.get().name

    def licensed():
        part = stored_section(snapshot, criterion).part
        report = with_opened_sections(stored_report(snapshot.report), snapshot.report)
        assert report.criteria[criterion].leaderboard.licensed == part.licensed
        figure, *_ = leaderboard_figures(part)
        assert (ALONE in {row[1] for row in figure.rows}) == bool(part.licensed)
        return part.licensed

    assert licensed() == ()
    licence = grant(study)  # for one category
    assert licensed() == ()
    Licence.objects.filter(pk=licence.pk).update(category="")
    assert licensed() == ("judge",)
    address = reverse("metrics:section", args=[study.pk, criterion, "leaderboard"])
    assert f"d ({ALONE})" in admin_client.get(address).content.decode()
    revoke_licence(licence=licence, reason="x")
    assert licensed() == ()
    assert f"d ({ALONE})" not in admin_client.get(address).content.decode()
