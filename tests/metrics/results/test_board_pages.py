"""What a researcher decides about the board: a hidden part, fixed once, and a page for everybody."""

import pytest
from django.db.models import QuerySet
from django.urls import reverse

from annotation.models import Rating
from metrics.models import Board, SectionSnapshot
from metrics.results.board import hidden_draw, hide_part, publish_board, withdraw_board
from metrics.results.sections import refresh_section
from metrics.results.services import refresh_report, watermark
from studies.models import Generation, Study
from tests.api.clients import at, problem_of, program
from tests.metrics.licensing.test_licences import requests, stored, study
from tests.refusals import refused

__all__ = ["requests", "stored", "study"]
pytestmark = pytest.mark.django_db


def computed(study):
    refresh_report(study=study)
    return refresh_section(study=study, name="leaderboard")


def close(study) -> Study:
    Study.objects.filter(pk=study.pk).update(status=Study.Status.CLOSED)
    return Study.objects.get(pk=study.pk)


def address(study) -> str:
    return reverse("metrics:public-board", args=[Board.objects.get(study=study).public_id])


def part_of(snapshot, study):
    return snapshot.content[study.criteria.get().name]["part"]


def test_a_part_is_hidden_by_a_form_and_the_board_is_computed_without_it(study, admin_client):
    before, whole = watermark(study), part_of(computed(study), study)
    assert "hidden" not in whole
    page = reverse("metrics:board", args=[study.pk])
    assert admin_client.post(page, {"percent": 50, "seed": 3}).status_code == 302
    assert watermark(study) != before
    assert hidden_draw(study).seed == 3
    part = part_of(computed(study), study)
    assert (part["hidden"]["seed"], part["hidden"]["share"]) == (3, 0.5)
    assert part["win_rate"] != whole["win_rate"]
    assert "seed 3" in admin_client.get(page).content.decode()
    assert study.events.filter(verb="hide-part").count() == 1


def test_the_hidden_part_is_fixed_once(study):
    hide_part(study=study, percent=30, seed=1)
    with refused("hidden_part_fixed"):
        hide_part(study=study, percent=30, seed=2)
    assert Board.objects.get(study=study).hidden_seed == 1


def test_a_share_that_leaves_nothing_is_refused(study):
    with refused("no_such_share"):
        hide_part(study=study, percent=100)


def test_the_report_of_people_is_the_same_with_a_hidden_part(study):
    def numbers():
        return refresh_report(study=study).report["criteria"]

    before = numbers()
    hide_part(study=study, percent=50, seed=3)
    assert numbers() == before


def test_a_board_is_not_public_unless_somebody_chose_it(study, client):
    computed(study)
    hide_part(study=study, percent=50, seed=3)
    close(study)
    assert client.get(address(study)).status_code == 404


def test_everybody_reads_a_published_board_until_it_is_withdrawn(study, client):
    computed(study)
    closed = close(study)
    publish_board(study=closed)
    where = address(study)
    shown = client.get(where)
    assert shown.status_code == 200
    assert (shown["X-Robots-Tag"], "no-store" in shown["Cache-Control"]) == ("noindex", True)
    withdraw_board(study=closed)
    assert client.get(where).status_code == 404
    publish_board(study=closed)
    assert address(study) == where
    verbs = study.events.filter(verb__endswith="board").values_list("verb", flat=True)
    assert sorted(verbs) == ["publish-board", "publish-board", "withdraw-board"]


def test_the_public_page_has_systems_and_nothing_of_texts_people_or_the_study(study, client):
    computed(study)
    publish_board(study=close(study))
    page = client.get(address(study)).content.decode()
    for system in {name for unit in study.units.all() for name in unit.system_names}:
        assert system in page
    people = Rating.objects.filter(unit__study=study, rater__kind="human").select_related("rater")
    forbidden = {study.pk, study.public_id, *(one.rater.pseudonym for one in people)}
    forbidden |= {*Generation.objects.values_list("text", flat=True)}
    assert [word for word in forbidden if f" {word} " in page or f'"{word}"' in page] == []
    assert "/studies/" not in page


@pytest.mark.parametrize("is_simulated", [True, False])
def test_a_public_board_of_programs_ratings_says_so(study, client, is_simulated):
    QuerySet.update(Rating.objects.filter(rater__kind="human"), simulated=is_simulated)
    computed(study)
    publish_board(study=close(study))
    assert ('class="simulated"' in client.get(address(study)).text) == is_simulated


def test_a_board_of_an_open_study_is_not_published_and_not_shown(study, client):
    computed(study)
    Study.objects.filter(pk=study.pk).update(status=Study.Status.OPEN)
    with refused("study_not_closed"):
        publish_board(study=study)
    publish_board(study=close(study))
    Study.objects.filter(pk=study.pk).update(status=Study.Status.OPEN)
    assert client.get(address(study)).status_code == 404


def test_a_board_that_was_never_computed_is_not_published(study):
    SectionSnapshot.objects.all().delete()
    with refused("board_not_computed"):
        publish_board(study=close(study))


def test_a_visitor_starts_no_computation(study, client, requests):
    computed(study)
    publish_board(study=close(study))
    SectionSnapshot.objects.update(watermark=f"{watermark(study)}-older")
    requests.clear()
    client.get(address(study))
    assert requests == []


def test_only_who_may_change_the_study_publishes(study, client):
    computed(close(study))
    assert client.post(reverse("metrics:publish-board", args=[study.pk])).status_code == 302
    assert not Board.objects.filter(published_at__isnull=False).exists()


def test_a_program_hides_publishes_and_withdraws_as_the_pages_do(study, admin_user, client):
    one = program(admin_user)
    shown = one.get(at("board-list", study.pk)).json()
    assert (shown["hidden_percent"], shown["hidden_seed"], shown["address"]) == (None,) * 3
    hide = {"percent": 50, "seed": 3}
    hidden = one.post(at("board-hide", study.pk), hide, content_type="application/json").json()
    assert (hidden["hidden_percent"], hidden["hidden_seed"]) == (50, 3)
    assert problem_of(one.post(at("board-publish", study.pk))) == (409, "board_not_computed")
    computed(close(study))
    where = one.post(at("board-publish", study.pk)).json()["address"]
    assert client.get(where).status_code == 200
    assert one.post(at("board-withdraw", study.pk)).json()["address"] is None
    assert client.get(where).status_code == 404
    assert {one.by for one in study.events.filter(verb__endswith="board")} == {admin_user}
