"""Every change that affects a report makes it stale, at a cost that does not grow."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.models import Rating
from annotation.services.exclusion import exclude_work, reinstate_work, stop_work
from annotation.services.places import find_work
from annotation.services.planning import grow_ratings_per_hit
from annotation.services.ratings import Answer
from annotation.services.tallies import set_flags
from metrics.models import ReportSnapshot
from metrics.results import services
from metrics.results.services import ensure_fresh, refresh_report, watermark
from studies.freshness import changes_noted, note_change
from studies.instance_selection.scoring import freeze_separability, score_separability
from studies.models import Criterion, ReportChanges, Study, System
from tests.annotation.answers import submit_unit
from tests.annotation.places import hit_units_of, take_place
from tests.studies.factories import make_open_study, make_participation

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def rated(study: Study, name: str = "ann", *, units: int | None = None, now=None) -> None:
    """Let an annotator complete a HIT, or rate its first units."""
    assignment = take_place(participation=make_participation(study, name), now=now)
    for number, hit_unit in enumerate(hit_units_of(assignment)[:units]):
        answers = {c: Answer("-1", f"{name}-{number}") for c in study.criteria.all()}
        submit_unit(assignment=assignment, hit_unit=hit_unit, answers=answers, now=now)


@pytest.fixture
def study() -> Study:
    study = make_open_study(instances=6, ratings_per_hit=2)
    for name in ("ann", "bob", "cid", "dot"):
        rated(study, name)
    return study


def test_swapping_exclusions_changes_the_state(study):
    def exclude(*keys: int) -> None:
        ratings = Rating.objects.filter(unit__study=study)
        set_flags(ratings=ratings, excluded=False)
        set_flags(ratings=ratings.filter(pk__in=keys), excluded=True)

    first = Rating.objects.order_by("pk").first().pk
    exclude(first, first + 3)
    before = watermark(study)
    exclude(first + 1, first + 2)
    assert watermark(study) != before


def test_a_rating_with_a_lower_key_that_is_committed_later_changes_the_state(study):
    refresh_report(study=study)
    state = watermark(study)
    late = Rating.objects.order_by("pk").first()
    # As if its transaction began before the transactions of newer keys, and ended after them.
    key, late.pk = late.pk, None
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM annotation_rating WHERE id = %s", [key])
    before = watermark(study)
    late.pk, late._state.adding = key, True
    late.save(force_insert=True)
    assert watermark(study) == state != before


def test_every_service_that_changes_flags_changes_the_state(study):
    now = timezone.now()
    states = [watermark(study)]

    def changed() -> bool:
        states.append(watermark(study))
        return states[-1] != states[-2]

    ann = study.participations.get(rater__external_id="ann")
    exclude_work(participation=ann, status="excluded")
    assert changed()
    reinstate_work(participation=ann)
    assert changed()
    rated(study, "eve", units=2)
    assert changed()
    stop_work(participation=study.participations.get(rater__external_id="eve"), status="released")
    assert changed()  # their ratings are partial now
    rated(study, "fay", units=2, now=now)
    assert changed()
    lapsed = now + timedelta(hours=2)
    for name in ("gus", "hal", "ida", "jan", "kim", "lea", "mia", "ned"):
        find_work(participation=make_participation(study, name), now=lapsed)
    assert changed()  # another annotator took over the place
    freeze_separability(study=study)
    assert not changed()
    score_separability(study=study)
    assert changed()


def test_changes_that_affect_no_report_keep_the_state(study):
    before = watermark(study)
    set_flags(ratings=Rating.objects.filter(unit__study=study), excluded=False)
    find_work(participation=make_participation(study, "eve"))
    Study.objects.update(status="paused", title="Another")
    rated(make_open_study(instances=1), "zoe")
    assert watermark(study) == before


@pytest.mark.parametrize("change", ["scale", "name", "position", "system"])
def test_an_edited_design_changes_the_state(study, change):
    before = watermark(study)
    if change == "system":
        System.objects.filter(name="system-0").update(name="renamed")
    else:
        values = {"scale": "preference", "name": "better", "position": 7}
        Criterion.objects.update(**{change: values[change]})
    assert watermark(study) != before


def test_the_counter_is_bumped_last_and_once(study):
    ann = study.participations.get(rater__external_id="ann")
    with CaptureQueriesContext(connection) as queries:
        exclude_work(participation=ann, status="excluded")
    writes = [q["sql"] for q in queries if q["sql"].lstrip().startswith(("UPDATE", "INSERT"))]
    bumps = [sql for sql in writes if "reportchanges" in sql]
    assert len(bumps) == 1
    assert writes[-1] == bumps[0]


def test_a_change_that_is_rolled_back_is_not_noted(study):
    @changes_noted()
    def fails() -> None:
        note_change(study.pk)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert not ReportChanges.objects.exists()
    note_change(study.pk)
    assert ReportChanges.objects.get().n == 1


def test_an_ordinary_answer_bumps_nothing(study):
    with CaptureQueriesContext(connection) as queries:
        rated(study, "eve")
    assert not any("reportchanges" in q["sql"] for q in queries)


def test_settled_rows_are_not_counted_again(study, monkeypatch):
    ReportSnapshot.objects.create(study=study)
    before = watermark(study)
    monkeypatch.setattr(services, "UNSETTLED", 5)
    monkeypatch.setattr(services, "STRIDE", 8)
    assert watermark(study) == before
    snapshot = ReportSnapshot.objects.get()
    newest = Rating.objects.latest("pk").pk
    assert snapshot.settled_key == newest - 5
    assert snapshot.settled_rows == Rating.objects.filter(pk__lte=newest - 5).count()
    rated(study, "eve")
    after = watermark(study)
    ReportSnapshot.objects.update(settled_key=0, settled_rows=0)
    assert watermark(study) == after != before


def test_one_report_is_requested_at_a_time(study, monkeypatch):
    requests = []
    monkeypatch.setattr(
        "metrics.tasks.refresh_report_task.apply_async", lambda args, queue: requests.append(*args)
    )
    ensure_fresh(study=study)
    rated(study, "eve")
    ensure_fresh(study=study)
    assert requests == [study.pk]
    refresh_report(study=study)
    rated(study, "fay")
    ensure_fresh(study=study)
    assert requests == [study.pk] * 2


def test_a_report_overwritten_by_an_older_one_is_requested_again(study, monkeypatch):
    requests = []
    monkeypatch.setattr(
        "metrics.tasks.refresh_report_task.apply_async", lambda args, queue: requests.append(*args)
    )
    old = watermark(study)
    rated(study, "eve")
    refresh_report(study=study)
    ReportSnapshot.objects.update(watermark=old)  # as if written by a worker that started earlier
    ensure_fresh(study=study)
    assert requests == [study.pk]


def test_stale_statistics_show_when_they_were_computed(client, django_user_model, monkeypatch):
    study = make_open_study(instances=6, ratings_per_hit=2)
    ruth = django_user_model.objects.create_superuser("ruth")
    client.force_login(ruth)
    rated(study, "ann")
    page = reverse("metrics:dashboard", args=[study.pk])
    assert "data-stale" not in client.get(page).content.decode()
    monkeypatch.setattr("metrics.tasks.refresh_report_task.apply_async", lambda args, queue: None)
    made = datetime(2026, 3, 4, 12, 3, 5, tzinfo=UTC)
    ReportSnapshot.objects.update(made_at=made)
    rated(study, "bob")
    Study.objects.update(status="paused")
    collecting = (page, reverse("metrics:collecting-numbers", args=[study.pk]))
    results = (reverse(f"metrics:{name}", args=[study.pk]) for name in ("results", "numbers"))
    for address in (*collecting, *results):
        shown = client.get(address)
        html = shown.content.decode()
        assert "data-stale" in html
        assert "4 Mar 2026, 12:03" in html
        assert shown.context["snapshot"].report["source"]["n_used"] == 5
        if address in collecting:
            assert shown.context["progress"].ratings == 10
    refresh_report(study=study)
    assert "data-stale" not in client.get(page).content.decode()


def test_a_poll_without_news_counts_no_ratings(client, django_user_model, study):
    client.force_login(django_user_model.objects.create_superuser("ruth"))
    refresh_report(study=study)
    html = client.get(reverse("metrics:dashboard", args=[study.pk])).content.decode()
    shown = {"shown": html.split('name="shown" value="')[1].split('"')[0]}
    shown["statistics"] = ReportSnapshot.objects.get().watermark
    address = reverse("metrics:collecting-numbers", args=[study.pk])
    with CaptureQueriesContext(connection) as queries:
        assert client.get(address, shown).status_code == 204
    assert len(queries) <= 10
    assert not any("annotation_place" in q["sql"] for q in queries)
    rated(study, "eve")
    answer = client.get(address, shown)
    assert answer.context["progress"].ratings == 25


def test_only_newer_statistics_are_sent(client, django_user_model, study, monkeypatch):
    client.force_login(django_user_model.objects.create_superuser("ruth"))
    refresh_report(study=study)
    monkeypatch.setattr("metrics.tasks.refresh_report_task.apply_async", lambda args, queue: None)
    shown = {"shown": "older", "statistics": ReportSnapshot.objects.get().watermark}
    address = reverse("metrics:collecting-numbers", args=[study.pk])
    rated(study, "eve")
    answer = client.get(address, shown)
    assert answer.context["progress"].ratings
    assert 'id="picture"' not in answer.content.decode()
    refresh_report(study=study)
    assert 'id="picture"' in client.get(address, shown).content.decode()


def test_a_page_asks_more_often_while_a_report_that_was_just_asked_for_is_made(
    client, django_user_model, study, monkeypatch
):
    client.force_login(django_user_model.objects.create_superuser("ruth"))
    refresh_report(study=study)
    monkeypatch.setattr("metrics.tasks.refresh_report_task.apply_async", lambda args, queue: None)

    def polled(shown: str = "") -> list[str]:
        asked = {"shown": shown, "statistics": ReportSnapshot.objects.get().watermark}
        pages = (
            reverse(f"metrics:{n}", args=[study.pk]) for n in ("numbers", "collecting-numbers")
        )
        return [client.get(page, asked).content.decode() for page in pages]

    def pauses(answers: list[str]) -> list[int]:
        """Return after how many milliseconds each page asks again."""
        return [int(one.split('hx-trigger="every ')[1].split("ms")[0]) for one in answers]

    at_rest = pauses(polled())
    rated(study, "eve")
    soon = polled()
    assert max(pauses(soon)) < min(at_rest)
    shown = soon[0].split('name="shown" value="')[1].split('"')[0]
    assert polled(shown) == ["", ""]
    ReportSnapshot.objects.update(requested_at=timezone.now() - timedelta(minutes=1))
    assert pauses(polled(shown)) == at_rest  # as when no worker is there
    refresh_report(study=study)
    assert pauses(polled()) == at_rest


def test_a_report_counts_a_plan_again_only_once_it_has_changed(study, monkeypatch):
    plan = refresh_report(study=study).plan
    rated(study, "eve")
    with CaptureQueriesContext(connection) as queries:
        again = refresh_report(study=study)
    assert again.counted["rows"]["rows"] == 25
    assert again.plan == plan
    assert not any("n_answers" in q["sql"] for q in queries)
    grow_ratings_per_hit(study=study, ratings_per_hit=3)
    changed = refresh_report(study=study)
    assert changed.plan["places"] == study.places.count() > plan["places"]
