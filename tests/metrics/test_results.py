"""The pages of results that look at single annotators and single units."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.imports.study_import import import_study
from annotation.models import Rating
from annotation.services.screening import CheckRecord
from metrics.results.contested_items import contested_units, search_contested
from metrics.results.rater_rows import rater_rows, rows_of
from metrics.results.selectors import stored_report, stored_rows
from metrics.results.services import refresh_report
from tests.metrics.studies import sections
from tests.tiebreak.formats.bundles import make_bundle, ratings, write_lines
from tiebreak.scales import Scale

pytestmark = pytest.mark.django_db

# On unit i0/0 annotators disagree, on the others they agree.
LABELS = {("i0/0", "r0"): -1, ("i0/0", "r1"): 1}


@pytest.fixture
def study(tmp_path):
    bundle = make_bundle(tmp_path / "b", with_ratings=True)
    rows = [
        row
        | {
            "label": LABELS.get((row["unit"], row["rater"]), 1),
            "side_a": "left",
            "duration_ms": 1000 if row["rater"] == "r0" else 4000,
        }
        for row in ratings()
    ]
    machine = [row | {"rater": "judge", "kind": "machine"} for row in rows if row["rater"] == "r0"]
    write_lines(bundle / "ratings.jsonl", rows + machine)
    return import_study(path=bundle).study


@pytest.fixture
def about(study):
    report = stored_report(refresh_report(study=study))
    (section,) = sections(report)
    return section.about


def stored(study):
    """Return the rows that are stored with a new report."""
    return rows_of(stored_rows(refresh_report(study=study)), "preference")


def test_annotators_are_listed_with_agreement_speed_and_side(study, about):
    rows = {row.facts.seconds: row for row in rater_rows(stored(study).raters, about)}
    assert sorted(rows) == pytest.approx([1, 4])
    fast = rows[min(rows)]
    assert fast.facts.ratings == 6
    assert fast.agreement.value == pytest.approx(5 / 6)
    assert fast.facts.first_preferred == pytest.approx(1 / 6)  # system A is on the left
    assert fast.cells[-2:] == (None, None)  # no gold check, which is not 0 of 0


def test_annotators_are_listed_with_their_gold_checks(study, monkeypatch):
    person = Rating.objects.filter(rater__pseudonym="r0").first().rater_id
    records = {person: CheckRecord(right=2, failed=1)}
    monkeypatch.setattr("metrics.results.services.check_records", lambda study: records)
    rows = {row.name: row for row in stored(study).raters}
    assert (rows["r0"].checks_right, rows["r0"].checks) == (2, 3)
    assert rows["r1"].checks == 0


def test_machines_are_not_among_the_annotators(study):
    assert len(stored(study).raters) == 2


def test_flagged_ratings_do_not_enter(study):
    rater = Rating.objects.filter(rater__kind="human").first().rater_id
    Rating.objects.filter(rater=rater).update(excluded=True)
    assert len(stored(study).raters) == 1
    assert stored(study).contested.units == ()  # no unit has two ratings left


def test_speed_by_task_needs_two_annotators(study):
    speeds = stored(study).speeds
    assert [speed.task for speed in speeds] == [1, 2, 3]
    assert speeds[0].seconds == pytest.approx(2)  # the geometric mean of 1 and 4
    assert {speed.annotators for speed in speeds} == {2}
    rater = Rating.objects.filter(rater__kind="human").first().rater_id
    Rating.objects.filter(rater=rater).update(excluded=True)
    assert stored(study).speeds == ()


def test_the_most_contested_unit_comes_first_with_all_answers(study):
    listed = stored(study).contested.units
    assert [unit.share for unit in listed] == [0.5, 1, 1, 1, 1, 1]
    scale, ratings = Scale.parse("preference:tie"), Rating.objects.filter(unit__study=study)
    first = contested_units(study, ratings, scale, listed[:1])[0]
    assert (first.unit.key, first.agreement.n, first.agreement.share) == ("i0/0", 2, 0.5)
    assert [system for system, _ in first.texts] == ["old", "new"]
    assert sorted((a.words, a.is_machine) for a in first.answers) == [
        ("new", False),
        ("old", False),
        ("old", True),
    ]


def test_units_are_found_by_their_instance_and_source(study):
    def keys(search: str) -> set[str]:
        ratings = Rating.objects.filter(unit__study=study)
        return {unit.unit for unit in search_contested(study, ratings, search).units}

    assert keys("i1") == {"i1/0", "i1/1"}
    assert keys("Source 2") == {"i2/0", "i2/1"}
    assert keys("nothing like it") == set()


def test_a_search_finds_the_same_agreement_as_the_stored_rows(study):
    ratings = Rating.objects.filter(unit__study=study)
    assert set(search_contested(study, ratings, "i").units) == set(stored(study).contested.units)


def test_the_page_says_that_it_lists_only_the_most_contested(client, study, monkeypatch):
    monkeypatch.setattr("metrics.results.contested_items.MAX_LISTED", 2)
    refresh_report(study=study)
    client.force_login(User.objects.create_superuser("ruth"))
    address = reverse("metrics:results-tab", args=[study.pk, "items"])
    assert b"search to find the others" in client.get(address).content
    assert len(client.get(address).context["units"]) == 2
    page = client.get(address, {"search": "i2"})
    assert [unit.unit.key for unit in page.context["units"]] == ["i2/0", "i2/1"]
    assert b"search to find the others" not in page.content
    assert b"search for something longer" in client.get(address, {"search": "i"}).content


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", ["0", "-3", "99", "x", ""])
def test_a_page_number_that_does_not_exist_shows_a_page_that_does(client, study, about, number):
    client.force_login(User.objects.create_superuser("ruth"))
    address = reverse("metrics:results-tab", args=[study.pk, "items"])
    assert client.get(address, {"page_number": number}).status_code == 200


def test_an_unknown_page_or_figure_or_format_is_not_there(client, study, about):
    client.force_login(User.objects.create_superuser("ruth"))
    assert client.get(f"/studies/{study.pk}/results/nothing/").status_code == 404
    for name in ("nothing.svg", "agreement.exe", "agreement.html"):
        assert client.get(f"/studies/{study.pk}/figures/preference/{name}").status_code == 404


def test_an_unknown_criterion_shows_the_first(client, study, about):
    client.force_login(User.objects.create_superuser("ruth"))
    page = client.get(f"/studies/{study.pk}/results/?criterion=nothing")
    assert page.context["criterion"] == "preference"
