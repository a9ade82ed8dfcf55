"""How many annotators may join from one internet address if no platform confirms them."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from annotation.models import Assignment, Participation, Place, Rating
from annotation.services.addresses import has_room
from annotation.services.places import NoWorkLeft
from annotation.services.screening import begin_stage
from recruitment.models import Channel
from recruitment.services.entry import Entrant, give_consent
from recruitment.simulation.raters import HEADER, _signer
from studies.models import Study
from tests.annotation.annotators import Annotator, annotator
from tests.annotation.places import take_place
from tests.studies.factories import make_open_study, make_participation
from tiebreak.errors import DomainError

pytestmark = pytest.mark.django_db

AGREE = {"choice": "agree", "version": "1"}


def open_study_with(**limits) -> Study:
    return make_open_study(instances=3, comparisons_per_hit=1, **limits)


def come(study: Study, address: str = "192.0.2.7") -> Annotator:
    """Enter the study with a new browser at this address, as far as possible."""
    return Annotator(study, client=Client(REMOTE_ADDR=address)).enter()


def got_in(browser: Annotator) -> bool:
    return f"part-{browser.study.pk}" in browser.client.cookies


def finish(browser: Annotator) -> None:
    while b'name="assignment"' in browser.here().content:
        browser.choose()


def test_new_pseudonyms_of_one_address_stop_at_its_limit():
    """The limit also holds if annotators come one after another and finish before the next."""
    study = open_study_with(annotators_per_address=2)
    for _ in range(2):
        finish(come(study))
    third = come(study)
    assert not got_in(third)
    answer = third.client.post(f"/s/{study.pk}/", AGREE)
    assert answer.status_code == 409
    assert Participation.objects.count() == 2
    assert Rating.objects.count() == 6
    assert got_in(come(study, "198.51.100.4"))


def test_who_entered_before_others_worked_gets_no_place_beyond_the_limit():
    study = open_study_with(annotators_per_address=2)
    early, ann, bob = (come(study) for _ in range(3))
    ann.choose()
    bob.choose()
    page = early.here()
    assert b'name="assignment"' not in page.content
    assert not early.participation.assignments.exists()
    ann.choose()  # this annotator has worked, so they are one of the two


def test_who_comes_back_counts_and_is_counted_once():
    study = open_study_with(annotators_per_address=2)
    people = [_unconfirmed(study, name) for name in "abc"]
    for ann in people[:2]:
        take_place(participation=ann)
    Place.objects.update(assignment=None, lease_until=None)
    Assignment.objects.update(status="abandoned")  # they stopped, and their places are free again
    for ann in people[:2]:
        assert take_place(participation=ann)
    with pytest.raises(NoWorkLeft) as refused:
        take_place(participation=people[2])
    assert refused.value.code == "too_many_from_address"


def test_lowering_a_limit_stops_newcomers_but_not_current_annotators():
    study = open_study_with(annotators_per_address=3)
    people = [_unconfirmed(study, name) for name in "abcd"]
    for ann in people[:3]:
        take_place(participation=ann)
    Study.objects.update(annotators_per_address=2)
    study.refresh_from_db()
    rooms = [has_room(study, address="here", rater_id=ann.rater_id) for ann in people]
    assert rooms == [True, True, True, False]
    Place.objects.update(assignment=None, lease_until=None)
    Assignment.objects.update(status="abandoned")
    assert take_place(participation=people[2])


@pytest.mark.thorough
def test_without_a_limit_a_classroom_works_from_one_address():
    study = open_study_with(
        annotators_per_address=None, entries_per_address_per_hour=None, ratings_per_hit=30
    )
    for _ in range(25):
        come(study).choose()
    assert Participation.objects.filter(assignments__isnull=False).distinct().count() == 25


def test_new_entries_of_one_address_are_limited_by_the_hour():
    study = open_study_with(entries_per_address_per_hour=3)
    assert [got_in(come(study)) for _ in range(5)] == [True, True, True, False, False]
    refused = Client(REMOTE_ADDR="192.0.2.7").post(f"/s/{study.pk}/", AGREE)
    assert refused.status_code == 429
    assert got_in(come(study, "198.51.100.4"))
    Participation.objects.update(created_at=timezone.now() - timedelta(minutes=61))
    assert got_in(come(study))


def test_who_is_in_is_not_stopped_by_the_hourly_limit():
    study = open_study_with(entries_per_address_per_hour=1)
    ann = come(study)
    assert ann.client.get(f"/s/{study.pk}/").status_code == 302
    ann.choose()


def test_one_worker_with_many_visits_counts_once():
    study = open_study_with(annotators_per_address=1, entries_per_address_per_hour=1)
    Channel.objects.create(study=study, provider="mturk", external_id="H")
    for visit in ("v1", "v2"):
        give_consent(
            study=study,
            entrant=Entrant(provider="mturk", external_id="w", submission_id=visit, address="here"),
        )
    with pytest.raises(DomainError) as refused:
        give_consent(
            study=study,
            entrant=Entrant(provider="mturk", external_id="x", submission_id="v3", address="here"),
        )
    assert refused.value.code == "too_many_entries"


def test_a_test_is_not_tried_under_new_names_without_end(monkeypatch):
    study = open_study_with(annotators_per_address=1)
    ann, eve = _unconfirmed(study, "a"), _unconfirmed(study, "b")
    take_place(participation=ann)
    monkeypatch.setattr("annotation.services.screening.next_step", lambda *_: "qualification")
    with pytest.raises(DomainError) as refused:
        begin_stage(participation=eve)
    assert refused.value.code == "too_many_from_address"


def test_whom_a_platform_confirms_is_not_counted_by_address():
    study = open_study_with(annotators_per_address=1, entries_per_address_per_hour=1)
    for name in "abc":
        take_place(participation=make_participation(study, name))
    assert Place.objects.filter(assignment__isnull=False).count() == 3


def test_the_servers_own_bots_are_not_counted_by_address():
    study = open_study_with(annotators_per_address=1, entries_per_address_per_hour=1)
    for _ in range(3):
        headers = {HEADER: _signer().sign(study.pk)}
        browser = Annotator(study, client=Client(headers=headers)).enter()
        assert got_in(browser)
    assert set(Participation.objects.values_list("simulated", "address")) == {(True, "")}


def test_a_forwarded_address_counts_only_behind_a_proxy(settings):
    study = open_study_with(entries_per_address_per_hour=1)

    def enter(forwarded: str) -> bool:
        headers = {"x-forwarded-for": forwarded}
        return got_in(Annotator(study, client=Client(headers=headers)).enter())

    assert [enter(address) for address in ("192.0.2.1", "192.0.2.2")] == [True, False]
    settings.TIEBREAK_BEHIND_PROXY = True
    assert [enter(address) for address in ("192.0.2.1", "9.9.9.9, 192.0.2.1", "192.0.2.2")] == [
        *(True, False, True)
    ]


def test_an_ipv6_household_is_one_address():
    study = open_study_with(entries_per_address_per_hour=1)
    tried = ("2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:1::1")
    assert [got_in(come(study, address)) for address in tried] == [True, False, True]


def test_annotators_without_a_known_address_are_not_counted():
    study = open_study_with(entries_per_address_per_hour=1)
    assert [got_in(come(study, address="")) for _ in range(3)] == [True] * 3


def test_the_defaults_limit_an_open_link():
    study = Study()
    assert study.annotators_per_address == study.entries_per_address_per_hour == 20
    assert annotator(open_study_with()).participation.address


def _unconfirmed(study: Study, name: str) -> Participation:
    ann = make_participation(study, name)
    Participation.objects.filter(pk=ann.pk).update(address="here")
    ann.refresh_from_db()
    return ann
