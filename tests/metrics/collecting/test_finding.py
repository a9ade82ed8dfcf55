"""What Collect says first, in every state of a study and to everyone who may see it."""

import re
from dataclasses import replace
from datetime import timedelta

import lxml.html
import numpy as np
import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.counts import study_counts
from annotation.imports.study_import import import_study
from metrics.collecting.facts import finding
from metrics.results.collection_figure import completed_over_time, progress_figure
from studies.design.steps import study_frame
from studies.models import Membership, Study
from tests.annotation.annotators import annotator
from tests.architecture.test_states import STATES
from tests.studies.factories import make_open_study
from tests.tiebreak.formats.bundles import make_bundle

pytestmark = pytest.mark.django_db

MOST_WORDS = 15

# What a sentence may only say of a study in these states.
ONLY_IN = {
    r"hour|forecast|rest takes": {"open"},
    r"next comes": {"unfinished draft", "ready draft"},
    r"close the study|nobody can enter": {"open, and nobody can work"},
    r"bots": {"dry run"},
    r"came from a file": {"imported"},
}


def made(name: str, folder) -> tuple[str, Study]:
    state, make = STATES[name]
    if name == "imported":
        return state, import_study(path=make_bundle(folder / "b", with_ratings=True)).study
    return state, make()


def page_of(study: Study, role: str):
    user, _ = User.objects.get_or_create(username=role, is_staff=True)
    Membership.objects.create(study=study, user=user, role=role)
    client = Client()
    client.force_login(user)
    answer = client.get(reverse("metrics:dashboard", args=[study.pk]))
    return lxml.html.fromstring(answer.content.decode())


def test_the_page_says_where_collecting_stands_in_every_state(tmp_path):
    said: dict[str, str] = {}
    for name in STATES:
        state, study = made(name, tmp_path)
        page = page_of(study, "owner")
        sentence = page.xpath("string(//*[@id='finding'])")
        said[name] = sentence
        assert 0 < len(sentence.split()) <= MOST_WORDS
        for words, states in ONLY_IN.items():
            assert not re.search(words, sentence, re.I) or state in states, (name, sentence)
        assert len(page.xpath("//main//*[contains(@class, 'primary')]")) <= 1
        assert bool(page.xpath("//dl[@class='facts']")) == ("draft" not in state)
        assert bool(page.xpath("//table[contains(@class, 'links')]")) == state.startswith("open")
        assert not page.xpath("//main//code")
    assert (
        len({said[name] for name in ("open", "full", "paused", "closed", "dry run", "imported")})
        == 6
    )
    for words in ("next comes", "close the study", "bots", "came from a file"):
        assert any(words in sentence for sentence in said.values()), words


@pytest.mark.parametrize(
    ("opened", "first", "last_hour", "says"),
    [
        (3, 2, 4, "takes about 30 minutes"),  # four an hour, and two are missing
        (3, 2, 0, "none came in the last hour"),
        (1, 0.1, 1, "too early for a forecast"),
        (1, 2, 4, "completed"),  # they were imported before it opened
    ],
)
def test_an_open_study_says_its_pace_if_it_has_one(opened, first, last_hour, says):
    study, now = make_open_study(instances=2), timezone.now()
    Study.objects.update(opened_at=now - timedelta(hours=opened))
    frame = study_frame(Study.objects.get(), User.objects.create_superuser("ada"))
    counts = replace(
        study_counts(study),
        completed=4,
        completed_last_hour=last_hour,
        first_completed_at=now - timedelta(hours=first),
    )
    sentence = finding(frame, counts, now)
    assert sentence.startswith("67%")
    assert sentence.endswith(says)
    assert len(sentence.split()) <= MOST_WORDS


def test_a_study_that_cannot_be_completed_has_no_forecast():
    study, now = make_open_study(instances=2), timezone.now()
    Study.objects.update(opened_at=now - timedelta(hours=3))
    frame = study_frame(Study.objects.get(), User.objects.create_superuser("ada"))
    first = now - timedelta(hours=2)
    counts = replace(
        study_counts(study),
        completed=4,
        completed_last_hour=4,
        first_completed_at=first,
        last_completed_at=now,
    )
    moments = [(first, 0), (now, 4)]
    for possible, is_forecast in ((2, True), (1, False), (None, True)):
        sentence = finding(frame, counts, now, possible)
        assert sentence.endswith("about 30 minutes") == is_forecast
        assert ("at most 1 of the 2 missing" in sentence) != is_forecast
        assert len(sentence.split()) <= MOST_WORDS
        figure = progress_figure(frame.study, counts, moments, now, possible)
        assert ("at about " in figure.chart.page()) == is_forecast


def test_the_five_numbers_say_why_there_is_none(tmp_path):
    undefined = {
        "closed": {"working", "money", "hourly"},
        "entered": {"money", "hourly"},
        "dry run": {"money", "hourly"},
        "imported": {"working", "money", "hourly"},
    }
    for name, expected in undefined.items():
        page = page_of(made(name, tmp_path)[1], "owner")
        facts = page.xpath("//dl[@class='facts']/div")
        assert [fact.get("id") for fact in facts] == [
            f"fact-{slug}" for slug in ("done", "people", "working", "money", "hourly")
        ]
        without = {
            one.get("id").removeprefix("fact-") for one in facts if one.xpath("dd[@data-undefined]")
        }
        assert without == expected, name
        assert all(fact.xpath("string(dd/span[@class='n'])") for fact in facts)


def test_work_has_one_unit_and_what_is_counted_is_told_who_asks():
    study = make_open_study(instances=1, comparisons_per_hit=1)
    annotator(study).choose()
    page = page_of(study, "owner")
    unit = page.xpath("string(//*[@id='fact-done']//*[@class='n'])").split()[-1]
    assert unit in [head.text_content().lower() for head in page.xpath("//table//th")]
    assert page.xpath("//*[@class='counted']") == page.xpath("//details//*[@class='counted']") != []


@pytest.mark.parametrize("name", STATES)
def test_viewers_see_how_far_it_is_and_neither_people_nor_money(tmp_path, name):
    state, study = made(name, tmp_path)
    page = page_of(study, "viewer")
    assert not page.xpath("//*[@id='attention']")
    assert not page.xpath("//table[contains(@class, 'stack')] | //*[@id='fact-money']")
    sentence = page.xpath("string(//*[@id='finding'])")
    assert 0 < len(sentence.split()) <= MOST_WORDS
    pseudonyms = study.participations.values_list("rater__pseudonym", flat=True)
    assert not any(name in lxml.html.tostring(page).decode() for name in pseudonyms)
    shown = [one.get("id") for one in page.xpath("//dl[@class='facts']/div")]
    imported = ["fact-done", "fact-people", "fact-working"]
    seen = {"unfinished draft": [], "ready draft": [], "imported": imported}
    assert shown == seen.get(state, ["fact-done", "fact-working"])


def test_the_line_is_level_while_nobody_completes_a_response():
    """Between two responses, and from the last one until now, their number is what it was."""
    study = make_open_study(instances=3, comparisons_per_hit=1, ratings_per_hit=1, guidelines="")
    person, now = annotator(study), timezone.now()
    study.opened_at = now - timedelta(hours=10)
    for hours in (9, 8.95, 3):
        person.choose()
        done = study.places.filter(completed_at__gt=now - timedelta(minutes=9))
        done.update(completed_at=now - timedelta(hours=hours))
    counts = replace(study_counts(study), places=4)
    moments = completed_over_time(study, counts)
    at = [(when - now).total_seconds() for when, _ in moments]
    level = [np.interp(-3600 * hours, at, [n for _, n in moments]) for hours in (7, 5, 4)]
    assert level == [2, 2, 2]
    figure = progress_figure(study, counts, moments, now)
    assert figure.rows[-1] == (now.isoformat(), 3)
    assert figure.rows[-2][1] == 3
    # That none came since then is told at the end of the line, also where no forecast can be made.
    cannot_end = progress_figure(study, counts, moments, now, possible=0)
    assert cannot_end.rows == figure.rows
    for shown in (figure, cannot_end):
        assert re.search(rf">3, [^<]*{counts.last_completed_at:%H:%M}<", shown.chart.page())
    busy = replace(counts, completed_last_hour=2)
    assert ">3<" in progress_figure(study, busy, moments, now).chart.page()
