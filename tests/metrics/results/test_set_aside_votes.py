"""Votes that were set aside are shown once a study is closed, and through no door before."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation.exports.study_export import export_study
from annotation.models import Participation
from annotation.services.exclusion import exclude_work
from annotation.services.late_answers import decline_late_answers
from metrics.exports.report_files import write_report_files
from metrics.results.question_pages import PAGES
from metrics.results.selectors import stored_report
from metrics.results.services import refresh_report
from recruitment.services.lifecycle import close_study, pause_study, reopen_study
from studies.models import Study
from tests.annotation.services.test_late_answers import closed_midway
from tests.architecture.test_roles import addresses, member
from tests.refusals import refused
from tests.tiebreak.reading.test_while_open import A_WINS, B_WINS, answer, small_study
from tiebreak.cli import main
from tiebreak.reading.document.set_aside import UNDECIDED, set_aside_table
from tiebreak.reading.messages import ABOUT_SET_ASIDE
from tiebreak.report.registry import on_request
from tiebreak.report.serialization import to_json

SET_ASIDE = "set_aside"

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    """Return an open study of which one annotator was excluded."""
    study = small_study(instances=8, ratings_per_hit=2)
    answer(study, "ann", A_WINS, hits=4)
    answer(study, "bob", B_WINS, hits=3)
    bob = study.participations.get(rater__external_id="bob")
    exclude_work(participation=bob, status=Participation.Status.EXCLUDED)
    return study


def section(study: Study):
    return stored_report(refresh_report(study=study)).criteria["preference"]


def doors(study: Study, client: Client, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield what every address answers to an owner, and what commands and jobs write."""
    cache.clear()  # which has how many requests there were
    paths = dict(addresses(study))
    for tab in PAGES:
        paths[tab.slug] = reverse("metrics:results-tab", args=[study.pk, tab.slug])
        paths[f"{tab.slug}, anew"] = f"/studies/{study.pk}/numbers/?results_page={tab.slug}"
    for name in on_request():
        paths[name] = reverse("metrics:section", args=[study.pk, "preference", name])
    for name, path in paths.items():
        response = client.get(path)
        if response.status_code == 200 and not response.streaming:
            yield name, response.content.decode(errors="ignore")
    write_report_files(study=study, out=folder / "report")
    call_command("analyze", study.pk, out=folder / "analyze", section=["all"], replicates=0)
    for path in (*(folder / "report").iterdir(), folder / "analyze"):
        yield path.name, path.read_text(errors="ignore")


@pytest.mark.thorough
def test_every_door_shows_them_after_closing_and_none_before(study, tmp_path, monkeypatch):
    monkeypatch.setattr("metrics.results.services.enqueue", lambda *_: None)
    owner, marks = member(study, "owner"), (SET_ASIDE, ABOUT_SET_ASIDE[:40])

    def showing(folder: str) -> set[str]:
        (tmp_path / folder).mkdir()
        answers = doors(study, owner, tmp_path / folder)
        return {name for name, text in answers if any(mark in text for mark in marks)}

    refresh_report(study=study)
    assert showing("open") == set()
    pause_study(study=study)
    assert showing("paused") == set()
    close_study(study=study)
    refresh_report(study=study)
    assert showing("closed") == {
        *("by-rater", "by-rater, anew", "metrics:report", "api:study-report"),
        *("report.html", "tables.tex", "report.json", "analyze"),
    }
    reopen_study(study=study)  # and the stored report is still that of the closed study
    assert showing("again") == set()
    with refused("not_closed", CommandError):
        call_command("analyze", study.pk, out=tmp_path / "r.json", section=[SET_ASIDE])


def test_the_export_gives_the_numbers_of_the_page(study, tmp_path):
    close_study(study=study)
    about = section(study)
    assert [row[1:] for row in set_aside_table(about).rows] == [
        ("4", "4 (100%)", "0 (0%)", "0 (0%)", "1.00"),
        ("3", "0 (0%)", "3 (100%)", "0 (0%)", "0.57"),
    ]
    export_study(study=study, out=tmp_path / "export")
    out = tmp_path / "report.json"
    assert not main(["analyze", f"{tmp_path}/export", f"--out={out}", "--section", SET_ASIDE])
    again = json.loads(out.read_text())["criteria"]["preference"][SET_ASIDE]
    assert again == to_json(about.set_aside)


def test_what_late_answers_say_is_not_known_before_they_are_decided_on():
    study, _ = closed_midway("1")
    about = section(study)
    assert (about.set_aside.reasons, about.set_aside.undecided) == ({}, 4)
    assert set_aside_table(about).rows[-1] == (UNDECIDED, "4", "", "", "", "")
    decline_late_answers(study=reopen_study(study=study))
    close_study(study=study)
    aside = section(study).set_aside
    assert (aside.reasons["late"].ratings, aside.undecided) == (4, 0)
