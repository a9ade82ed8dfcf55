"""What a server keeps for a time only goes when it is over, and no number of a study changes."""

from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from django.apps import apps
from django.conf import settings as configured
from django.contrib.auth.models import User
from django.db.models import CharField, JSONField, TextField
from django.test import Client
from django.urls import reverse

from annotation.exports.export_jobs import export_file, start_export
from annotation.exports.study_export import FORMATS, export_study
from annotation.models import Participation, Rater
from annotation.selectors import erased_people
from jobs.clock import database_now
from jobs.models import Job
from metrics.results.services import refresh_report
from recruitment.identities import check_not_erased
from recruitment.models import Channel, Payment
from recruitment.platforms.base import PlatformReport, SubmissionStatus
from recruitment.services import erasure
from recruitment.services.erasure import (
    KEPT,
    RENAMED,
    erase_participant,
    kind_of,
)
from recruitment.services.payments import note_payment
from recruitment.services.personal_data import rows_about
from recruitment.services.platform_sync import apply_reports
from recruitment.services.retention import REMOVALS, WHAT, remove_what_is_due
from studies.models import Study, StudyEvent
from tests.recruitment.services import test_erasure
from tests.recruitment.services.test_erasure import (
    PEOPLE,
    WORDS,
    dump,
    entered,
    numbers,
    study_with,
    with_everything,
)
from tests.recruitment.views.test_ledger import complete
from tests.refusals import refused
from tests.studies.factories import make_participation
from tiebreak.verification import verify

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

owner = test_erasure.owner
PERSON, SUBMISSION = PEOPLE["panel"]
# What goes with each kind, of all that `with_everything` stores about somebody.
GOES = {
    "ids": {PERSON, SUBMISSION, WORDS["parameter"], WORDS["address"]},  # at the latest
    "addresses": {WORDS["address"]},
    "comments": {WORDS["reason"], WORDS["comment"], WORDS["answer"]},
    "log": set(),
}
ALL = dict.fromkeys(GOES, 30)


def close(study: Study) -> datetime:
    """Close a study, and return the night after 30 days."""
    at = database_now()
    Study.objects.filter(pk=study.pk).update(status="closed", closed_at=at)
    return at + timedelta(days=30)


def removals(study: Study) -> dict[str, int]:
    entries = study.events.filter(verb="forget")
    found = {one.details["what"]: one.details["removed"] for one in entries}
    assert len(found) == len(entries)
    return found


@pytest.mark.parametrize("kind", GOES)
def test_each_kind_goes_alone_when_it_is_due_and_not_before(owner, settings, kind):
    study = study_with(owner)
    with_everything(study)
    settings.TIEBREAK_KEEP = {kind: 30}
    everything = set().union(*GOES.values())
    remove_what_is_due(database_now() + timedelta(days=900))  # the study is open
    due = close(study)
    remove_what_is_due(due - timedelta(minutes=1))
    assert removals(study) == {}
    assert [one for one in everything if one not in dump()] == []
    remove_what_is_due(due)
    left = dump()
    assert {one for one in everything if one not in left} == GOES[kind]
    assert removals(study) == {kind: {"ids": 2, "addresses": 1, "comments": 4, "log": 1}[kind]}
    settled = dump()
    remove_what_is_due(due + timedelta(days=1))
    assert dump() == settled  # once


def test_the_log_keeps_what_was_done_and_loses_what_was_written(owner, settings):
    study = study_with(owner)
    with_everything(study)
    settings.TIEBREAK_KEEP = {"log": 30}
    pseudonym = Rater.objects.get(external_id=PERSON).pseudonym
    remove_what_is_due(close(study))
    details = study.events.get(verb="reject").details
    assert details["annotator"] == pseudonym
    assert "30 days" in details["message"]
    assert WORDS["message"] not in str(details)


def test_every_text_about_a_person_is_governed_by_a_kind(owner, settings):
    """Whatever model is added: what erasing takes, some kind of the setting takes, too."""
    participation = with_everything(study_with(owner))
    refresh_report(study=participation.study)
    planted: dict[str, str] = {}
    for model, keys in rows_about(participation.rater).items():
        for field in model._meta.concrete_fields:
            if not isinstance(field, CharField | TextField | JSONField) or field.primary_key:
                continue
            if field.name in KEPT or field.choices or (model, field.name) in RENAMED:
                assert kind_of(model, field) in {None, "ids", "comments"}
                continue
            text = f"x{len(planted)}y"
            value = {"a": text} if isinstance(field, JSONField) else text
            model._base_manager.filter(pk=max(keys)).update(**{field.name: value})
            planted[text] = str(kind_of(model, field))
    assert {*planted.values()} == erasure.KINDS
    assert erasure.KINDS | {"log"} == WHAT.keys() == GOES.keys()
    assert REMOVALS.keys() | {"ids"} == WHAT.keys()
    due = close(participation.study)
    for kind in sorted(erasure.KINDS):  # the ids last, which take the addresses with them
        settings.TIEBREAK_KEEP = {kind: 30}
        remove_what_is_due(due)
        gone = {text for text, its in planted.items() if its == kind}
        stored = dump()
        assert [text for text in gone if f'{text}"' in stored] == []
        planted = {text: its for text, its in planted.items() if its != kind}
        assert [text for text in planted if f'{text}"' not in stored] == []


def test_no_number_changes_and_exports_still_verify(owner, settings, tmp_path):
    study = study_with(owner)
    with_everything(study)
    due = close(study)
    before = numbers(study)
    settings.TIEBREAK_KEEP = ALL
    remove_what_is_due(due)
    assert repr(numbers(study)) == repr(before)
    export_study(study=study, out=tmp_path / "out", formats=FORMATS, with_comments=True)
    assert [str(one) for check in verify(tmp_path / "out").checks for one in check.deviations] == []
    assert erased_people(study) == 0


def test_waiting_exports_go_with_the_comments_that_they_have(owner, settings):
    study = study_with(owner)
    with_everything(study)
    start_export(study=study, formats=["jsonl"], with_comments=True, by=owner)
    job = Job.objects.get(kind="export")
    assert export_file(job).exists()
    settings.TIEBREAK_KEEP = {"comments": 30}
    remove_what_is_due(close(study))
    assert not export_file(job).exists()


def test_who_is_not_paid_keeps_the_id_until_then(owner, settings):
    study = study_with(owner, reward=Decimal("2.00"))
    participation = make_participation(study, "ann-of-the-lab")
    complete(participation)
    settings.TIEBREAK_KEEP = {"ids": 30}
    due = close(study)
    remove_what_is_due(due)
    assert Rater.objects.get().external_id == "ann-of-the-lab"
    note_payment(participation=participation, amount=Decimal("2.00"))
    remove_what_is_due(due + timedelta(days=1))
    assert "ann-of-the-lab" not in dump()
    assert Payment.objects.get().amount == Decimal("2.00")
    assert removals(study) == {"ids": 1}


def test_a_running_job_and_another_study_keep_the_ids(owner, settings):
    first, second = study_with(owner), study_with(owner)
    entered(first, "panel")
    entered(second, "panel")
    settings.TIEBREAK_KEEP = {"ids": 30}
    due = close(first)
    remove_what_is_due(due)
    assert Rater.objects.get().erased_at is None
    Study.objects.filter(pk=second.pk).update(status="closed", closed_at=due)
    due += timedelta(days=30)
    job = Job.objects.create(kind="export", owner=first.pk, status="running")
    remove_what_is_due(due)
    assert Rater.objects.get().erased_at is None
    Job.objects.filter(pk=job.pk).update(status="done")
    remove_what_is_due(due)
    assert Rater.objects.get().erased_at == due
    assert removals(first) == removals(second) == {"ids": 1}


def test_a_study_that_is_opened_again_begins_anew(owner, settings):
    study = study_with(owner)
    settings.TIEBREAK_KEEP = {"addresses": 30}
    with_everything(study)
    remove_what_is_due(close(study))
    Participation.objects.update(address="later")
    due = close(study)
    StudyEvent.objects.filter(verb="forget").update(at=due - timedelta(days=31))
    remove_what_is_due(due)
    assert '"later"' not in dump()


@pytest.mark.parametrize("kind", GOES)
def test_a_night_that_is_cut_off_is_made_up_for(owner, settings, monkeypatch, kind):
    study = study_with(owner)
    with_everything(study)
    due, before = close(study), dump()
    settings.TIEBREAK_KEEP = {kind: 30}

    def cut(**_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as night:
        night.setattr("recruitment.services.retention.record_event", cut)
        with pytest.raises(KeyboardInterrupt):
            remove_what_is_due(due)
    assert [one for one in GOES[kind] if one not in dump()] == []
    assert len(dump()) == len(before)
    remove_what_is_due(due)
    assert removals(study).keys() == {kind}


def test_no_report_of_the_platform_brings_the_id_back(owner, settings):
    study = study_with(owner)
    participation = with_everything(study)
    channel = participation.submission.channel
    settings.TIEBREAK_KEEP = {"ids": 30}
    remove_what_is_due(close(study))
    report = PlatformReport(SUBMISSION, PERSON, "AWAITING", SubmissionStatus.SUBMITTED)
    assert apply_reports(channel=channel, reports=[report], now=database_now()) == 0
    assert PERSON not in dump()
    with refused("erased_here"):
        check_not_erased(study.pk, "panel", PERSON)


def test_who_lost_the_id_can_still_be_erased(owner, settings):
    study = study_with(owner)
    participation = with_everything(study)
    settings.TIEBREAK_KEEP = {"ids": 30}
    remove_what_is_due(close(study))
    rater = Rater.objects.get(pk=participation.rater_id)
    assert rater.kept_days == 30
    erase_participant(rater=rater, by=owner)
    assert erased_people(study) == 1
    assert [one for one in WORDS.values() if one in dump()] == []
    with refused("erased_already"):
        erase_participant(rater=rater)
    with refused("erased_here"):
        check_not_erased(study.pk, "panel", PERSON)


def test_pages_say_when_the_id_was_removed_and_why(owner, settings):
    study = study_with(owner)
    participation = with_everything(study)
    client = Client()
    client.force_login(owner)
    settings.TIEBREAK_KEEP = {"ids": 30}
    due = close(study)
    remove_what_is_due(due)
    nothing = {"what": "ids", "removed": 0, "after_days": 30}
    StudyEvent.objects.create(study=study, verb="forget", details=nothing, at=due)
    participation.refresh_from_db()
    said = f"removed on {due:%-d %b %Y}, as this server keeps it for 30 days"
    for name, more in (("participant", [participation.public_id]), ("ledger", [])):
        page = client.get(reverse(f"recruitment:{name}", args=[study.pk, *more])).content.decode()
        assert said in page
        assert "erased-" not in page
        assert "data-erased" not in page
    User.objects.filter(pk=owner.pk).update(is_superuser=True)
    page = client.get(reverse("metrics:server-jobs"))
    [ids, *others] = page.context["retention"]
    assert (ids.kind, ids.days, ids.last.details["removed"]) == ("ids", 30, 2)
    assert {(one.days, one.last) for one in others} == {(None, None)}
    assert study.title in page.content.decode()


def test_annotators_read_how_long_ids_are_kept(owner, settings):
    study = study_with(owner)
    address = f"/s/{study.pk}/"
    assert "data-ids-kept" not in Client().get(address).content.decode()
    settings.TIEBREAK_KEEP = {"addresses": 30}
    assert "data-ids-kept" not in Client().get(address).content.decode()
    settings.TIEBREAK_KEEP = {"ids": 365}
    assert 'data-ids-kept="365"' in Client().get(address).content.decode()


def test_by_default_all_is_kept(owner):
    assert configured.TIEBREAK_KEEP == {}
    study = study_with(owner)
    with_everything(study)
    due, before = close(study), dump()
    remove_what_is_due(due + timedelta(days=9_999))
    assert len(dump()) == len(before)


def test_more_people_than_a_statement_takes_are_looked_for(owner):
    participation = with_everything(study_with(owner))
    names = {f"WORKER-{n:05}" for n in range(1_500)} | {SUBMISSION}
    erasure._erase_elsewhere(names)
    assert Channel.objects.get(pk=participation.submission.channel_id).problem.count("erased-") == 1
    assert len(apps.get_models()) > 30
