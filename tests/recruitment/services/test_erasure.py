"""Erasing a person: nothing of them is left anywhere, and the numbers of the study are the same."""

import json
import logging
from dataclasses import asdict
from decimal import Decimal
from functools import partial
from io import StringIO

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db.models import CharField, JSONField, TextField
from django.test import Client
from django.urls import reverse

from annotation.exports import export_jobs
from annotation.exports.export_jobs import export_file, start_export
from annotation.exports.study_export import FORMATS, export_study
from annotation.messages import ERASED_MEANWHILE
from annotation.models import (
    Assignment,
    Participation,
    Place,
    Rater,
    Rating,
    ScreeningAttempt,
    Tally,
)
from annotation.selectors import erased_people
from annotation.services.comments import save_comment
from annotation.services.participations import mark_guidelines_read
from annotation.services.ratings import Answer
from annotation.services.recount import recount
from api.models import Webhook, WebhookDelivery
from jobs.clock import database_now
from jobs.models import Job
from metrics.exports.document.study_facts import flow_table
from metrics.exports.report_files import start_report_files
from metrics.models import ReportSnapshot
from metrics.results.selectors import source_of
from metrics.results.services import refresh_report
from recruitment.models import Channel, Payment, PlatformEvent
from recruitment.platforms.base import PlatformReport, SubmissionStatus
from recruitment.services import erasure
from recruitment.services.entry import Entrant, give_consent
from recruitment.services.erasure import KEPT, RATED, RENAMED, erase_participant
from recruitment.services.participants import exclude_participant
from recruitment.services.payments import note_payment
from recruitment.services.personal_data import rows_about
from recruitment.services.platform_sync import apply_reports
from studies.models import Generation, Study, StudyEvent
from tests.annotation.answers import submit_rating
from tests.annotation.imports.test_study_import import content_of, files_in
from tests.annotation.places import take_place
from tests.confirming import post_confirmed
from tests.pages import codes_on
from tests.recruitment.views.test_ledger import complete
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_participation
from tiebreak.report import build_report
from tiebreak.verification import verify

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

PEOPLE = {"panel": ("WORKER-A1B2C3", "SUBMISSION-D4E5F6"), "invitation": ("Ada É. Lovelace",) * 2}
WORDS = {
    "reason": "Because my sister in Leeds said so.",
    "comment": "Call me at the lighthouse.",
    "answer": "I live at the harbour.",
    "message": "Dear Ada, we cannot pay you.",
    "address": "f00dfeedf00dfeedf00dfeedf00dfeed",
    "parameter": "ada@example.org",
}


def study_with(owner: User, **design) -> Study:
    size = {"instances": 4, "comparisons_per_hit": 1, "ratings_per_hit": 2}
    study = make_open_study(member=owner, **(size | design))
    study.criteria.update(reason="optional")
    return study


def entered(study: Study, provider: str) -> Participation:
    person, submission = PEOPLE[provider]
    channel, _ = Channel.objects.get_or_create(study=study, provider=provider)
    channel.settings["people"] = f"Somebody else\n{person}"
    channel.save()
    entrant = Entrant(
        provider=provider,
        external_id=person,
        submission_id=submission,
        channel=channel,
        address=WORDS["address"],
        return_params={"mail": WORDS["parameter"]},
    )
    participation = give_consent(study=study, entrant=entrant)
    mark_guidelines_read(participation=participation)
    participation.refresh_from_db()
    return participation


def with_everything(study: Study, provider: str = "panel") -> Participation:
    """Let a person do all that one can, next to others, and researchers write about them."""
    participation = entered(study, provider)
    person, submission = PEOPLE[provider]
    for _ in range(2):
        assignment = take_place(participation=participation)
        (hit_unit,) = assignment.hit.hit_units.select_related("unit")
        answer = Answer("1", client_key=f"k{hit_unit.pk}", reason=WORDS["reason"])
        rated = {"assignment": assignment, "hit_unit": hit_unit}
        submit_rating(**rated, criterion=study.criteria.get(), answer=answer)
    save_comment(participation=participation, text=WORDS["comment"])
    ScreeningAttempt.objects.create(
        participation=participation,
        rater=participation.rater,
        study=study,
        stage="comprehension",
        number=1,
        correct=1,
        of=1,
        is_passed=True,
        answers={"1": WORDS["answer"]},
        created_at=database_now(),
    )
    details = {"annotator": participation.rater.pseudonym, "message": WORDS["message"]}
    StudyEvent.objects.create(study=study, verb="reject", details=details, at=database_now())
    payment = {"amount": Decimal("2.00"), "reason": WORDS["message"], "external_id": submission}
    Payment.objects.create(
        participation=participation,
        kind="reward",
        status="paid",
        currency="GBP",
        created_at=database_now(),
        **payment,
    )
    channel = participation.submission.channel
    PlatformEvent.objects.create(channel=channel, event_id=f"event of {submission}")
    channel.problem = f"Submission {submission} was not found."
    channel.save()
    webhook = Webhook.objects.create(
        study=study, url="https://x", created_at=database_now(), looked_until=database_now()
    )
    now = {"time": database_now(), "due_at": database_now()}
    WebhookDelivery.objects.create(webhook=webhook, data={"who": [{person: 1}]}, **now)
    other = make_participation(study, "other")
    complete(other)
    Participation.objects.filter(pk=participation.pk).update(status="finished")
    participation.refresh_from_db()
    return participation


def dump() -> str:
    """Return all that the database stores, as one text."""
    rows = [row for model in apps.get_models() for row in model._base_manager.values()]
    return json.dumps(rows, default=str, ensure_ascii=False)


def secrets_of(participation: Participation) -> set[str]:
    names = {participation.rater.external_id, participation.submission_id}
    return {*names, participation.submission.completion_code, *WORDS.values()}


@pytest.fixture
def owner(settings, tmp_path) -> User:
    settings.TIEBREAK_UPLOAD_FOLDER = str(tmp_path / "uploads")
    settings.TIEBREAK_EXPORT_FOLDER = str(tmp_path / "exports")
    return User.objects.create_user("owner", is_staff=True)


@pytest.mark.parametrize("provider", PEOPLE)
@pytest.mark.parametrize("rule", Study.Erasure.values)
def test_nothing_of_the_person_is_left(
    owner, tmp_path, caplog, provider, rule, *, django_capture_on_commit_callbacks
):
    caplog.set_level(logging.DEBUG)
    study = study_with(owner, erasure=rule)
    participation = with_everything(study, provider)
    secrets = secrets_of(participation)
    start_export(study=study, formats=["jsonl"], with_comments=True, by=owner)
    refresh_report(study=study)
    upload = tmp_path / "uploads" / f"{owner.pk}-x" / "people.csv"
    upload.parent.mkdir(parents=True)
    upload.write_text(participation.submission_id)
    stored = dump()
    assert [
        one for one in secrets if one not in stored
    ] == []  # so the test looks for what was there
    caplog.clear()
    with django_capture_on_commit_callbacks(execute=True):
        erase_participant(rater=participation.rater, by=owner)
        upload.parent.mkdir(
            exist_ok=True
        )  # by somebody who does not see yet that the person is gone
        upload.write_text(participation.submission_id)
    kept = dump()
    assert [one for one in secrets if one in kept] == []
    out = tmp_path / "out"
    export_study(study=study, out=out, formats=FORMATS, with_texts=True, with_comments=True)
    assert [str(one) for check in verify(out).checks for one in check.deviations] == []
    refresh_report(study=study)
    files = [*files_in(out), *files_in(tmp_path / "uploads"), *files_in(tmp_path / "exports")]
    written = {str(path): content_of(path) for path in files}
    assert {name: s for name, text in written.items() for s in secrets if s in text} == {}
    assert [one for one in secrets if one in caplog.text + dump()] == []
    assert not any(export_file(job).exists() for job in Job.objects.all())
    assert not upload.exists()


@pytest.mark.parametrize("start", [start_report_files, partial(start_export, formats=["jsonl"])])
def test_a_file_that_was_begun_before_is_not_kept(owner, monkeypatch, start):
    study = study_with(owner)
    rater = with_everything(study).rater
    # It began after the person was looked for in jobs.
    monkeypatch.setattr(erasure, "check_not_needed", lambda rater: None)
    pack = export_jobs.pack
    monkeypatch.setattr(
        export_jobs, "pack", lambda *of: (erase_participant(rater=rater), pack(*of))
    )
    job = start(study=study, by=owner)
    job.refresh_from_db()
    assert (job.status, job.problem) == (Job.Status.FAILED, ERASED_MEANWHILE)
    assert not export_file(job).exists()


def test_nothing_is_left_in_any_text_of_any_model(owner):
    """Whatever model is added: a text about a person goes, and an identifier goes from all others."""
    participation = with_everything(study_with(owner))
    person = participation.rater.external_id
    refresh_report(study=participation.study)
    Job.objects.create(kind="export", owner=participation.study_id, status="done")
    planted, about = [], rows_about(participation.rater)
    for model in set(apps.get_models()) - RATED:
        row = model._base_manager.filter(pk__in=about.get(model, model._base_manager.values("pk")))
        row = row.first()
        for field in model._meta.concrete_fields if row else ():
            is_text = isinstance(field, CharField | TextField) and not field.choices
            is_key = field.primary_key or field.unique or (model, field.name) in RENAMED
            if is_key or not (is_text or isinstance(field, JSONField)):
                continue
            is_own = model in about and field.name not in KEPT
            text = f"{WORDS['reason']} of {person}" if is_own else f"a {person}, b"
            value = {"a": [{text: text}]} if isinstance(field, JSONField) else text
            is_short = (field.max_length or 1000) < len(text)
            if field.name != "pseudonym" and not is_short:
                model._base_manager.filter(pk=row.pk).update(**{field.name: value})
                planted.append(f"{model.__name__}.{field.name}")
    assert len(planted) > 60
    for model in (Participation, Channel):  # a platform has to be known
        model._base_manager.update(provider="panel")
    erase_participant(rater=participation.rater)
    kept = dump()
    assert person not in kept
    assert WORDS["reason"] not in kept
    assert '"a erased-' in kept  # around it, the text stays


def test_texts_that_people_rate_stay_as_they_are(owner):
    """A name on a lab's list may stand in a text, too."""
    participation = with_everything(study_with(owner), "invitation")
    text = f"{participation.rater.external_id} wrote the first program."
    Generation.objects.update(text=text)
    erase_participant(rater=participation.rater)
    assert set(Generation.objects.values_list("text", flat=True)) == {text}


def numbers(study: Study) -> dict:
    source = source_of(study)
    return asdict(build_report(source.table, scales=source.scales, replicates=20))


def test_ratings_stay_and_every_number_is_the_same(owner):
    study = study_with(owner)
    participation = with_everything(study)
    before, tallies = numbers(study), list(Tally.objects.order_by("pk").values())
    pseudonym, paid = participation.rater.pseudonym, Payment.objects.get().amount
    erase_participant(rater=participation.rater)
    assert repr(numbers(study)) == repr(before)
    assert list(Tally.objects.order_by("pk").values()) == tallies
    assert Rating.objects.filter(rater__pseudonym=pseudonym).count() == 2
    assert Payment.objects.get().amount == paid
    assert flow_table(study).rows[-1] == ("Erased at their request", "1")
    assert erased_people(study) == 1


def test_ratings_go_and_the_places_are_free(owner):
    study = study_with(owner, erasure="delete")
    participation = with_everything(study)
    assert Place.objects.filter(completed_at__isnull=False).count() == 3
    erase_participant(rater=participation.rater)
    assert Rating.objects.filter(rater=participation.rater).count() == 0
    assert Place.objects.filter(completed_at__isnull=False).count() == 1
    assert sum(Tally.objects.values_list("n", flat=True)) == Rating.objects.count() == 1
    participation.refresh_from_db()
    assert participation.status == "erased"
    assert erased_people(study) == 1


def test_the_log_says_that_somebody_was_erased_and_not_who(owner):
    study = study_with(owner)
    participation = with_everything(study)
    exclude_participant(participation=participation, reason="Told us the surname.")
    erase_participant(rater=participation.rater, by=owner)
    event = study.events.get(verb="erase")
    assert (event.by, event.details) == (owner, {"ratings": "keep"})
    assert "surname" not in dump()


def test_a_short_name_leaves_the_list_of_invited_people(owner, monkeypatch):
    monkeypatch.setitem(PEOPLE, "invitation", ("Bo", "Bo"))
    participation = entered(study_with(owner), "invitation")
    erase_participant(rater=participation.rater)
    assert Channel.objects.get().settings["people"] == "Somebody else"


def imported(study: Study, name: str) -> Rater:
    """Store ratings of somebody who never entered here and is called by the name in the file."""
    complete(make_participation(study, name))
    Assignment.objects.update(participation=None)
    Participation.objects.all().delete()
    Rater.objects.update(pseudonym=name)
    return Rater.objects.get()


@pytest.mark.parametrize("rule", Study.Erasure.values)
def test_an_imported_name_is_erased_although_it_is_short(owner, rule):
    study = study_with(owner, erasure=rule)
    rater = imported(study, "Bo")
    for verb, named in (("pay", ["Bo"]), ("exclude", "Bo")):
        details = {"annotator": named, "amount": "1"}
        StudyEvent.objects.create(study=study, verb=verb, details=details, at=database_now())
    refresh_report(study=study)
    assert '"Bo"' in json.dumps(ReportSnapshot.objects.get().per_rater)
    erase_participant(rater=rater)
    assert '"Bo"' not in dump()
    rater.refresh_from_db()
    named = [study.events.get(verb=verb).details["annotator"] for verb in ("pay", "exclude")]
    assert named == [[rater.pseudonym], rater.pseudonym]
    assert recount(study) == {}  # and no place is complete without answers
    left = int(rule == "keep")
    assert sum(Tally.objects.values_list("n", flat=True)) == Rating.objects.count() == left


@pytest.mark.parametrize("keys", [{}, {"SECRET_KEY": "n" * 60}])
def test_no_report_of_the_platform_brings_the_person_back(owner, settings, keys):
    """Nor does a link, also after the server's key has changed."""
    study = study_with(owner)
    participation = with_everything(study)
    person, submission = PEOPLE["panel"]
    channel = participation.submission.channel
    erase_participant(rater=participation.rater)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    for name, value in keys.items():
        setattr(settings, name, value)
    report = PlatformReport(submission, person, "AWAITING", SubmissionStatus.SUBMITTED)
    assert apply_reports(channel=channel, reports=[report], now=database_now()) == 0
    assert person not in dump()
    with refused("erased_here"):
        entered(study, "panel")
    other = study_with(owner)
    erase_participant(rater=entered(other, "panel").rater)
    assert person not in dump()


def test_whoever_is_owed_something_is_paid_first(owner):
    study = study_with(owner, reward=Decimal("2.00"))
    participation = make_participation(study, "ann")
    complete(participation)
    with refused("still_owed"):
        erase_participant(rater=participation.rater)
    note_payment(participation=participation, amount=Decimal("2.00"))
    erase_participant(rater=participation.rater)
    participation.rater.refresh_from_db()
    with refused("erased_already"):
        erase_participant(rater=participation.rater)


def test_no_job_may_write_what_is_erased(owner):
    study = study_with(owner)
    participation = make_participation(study, "ann")
    Job.objects.create(kind="export", owner=study.pk, status="running")
    with refused("job_unfinished"):
        erase_participant(rater=participation.rater)
    machine = Rater.objects.create(kind="machine", provider="x", external_id="m")
    with refused("not_a_person"):
        erase_participant(rater=machine)


def test_the_button_asks_first_and_the_old_address_is_gone(owner):
    study = study_with(owner)
    participation = with_everything(study)
    client = Client()
    client.force_login(owner)
    page = reverse("recruitment:participant", args=[study.pk, participation.public_id])
    assert client.get(page).status_code == 200
    act = reverse("recruitment:ledger-action", args=[study.pk, participation.public_id, "erase"])
    done = post_confirmed(client, act, {"page": "participant"})
    assert "data-erased" in done.content.decode()
    assert client.get(page).status_code == 404


def test_nobody_is_erased_from_studies_of_others(owner):
    participation = with_everything(study_with(owner))
    stranger = User.objects.create_user("stranger", is_staff=True)
    entered(study_with(stranger), "panel")
    client = Client()
    client.force_login(owner)
    args = [participation.study_id, participation.public_id]
    for name, more in (("recruitment:ledger-action", ["erase"]), ("recruitment:own-data", [])):
        send = client.post if more else client.get
        response = send(reverse(name, args=[*args, *more]), follow=True)
        assert "part_of_others" in codes_on(response)
    assert Rater.objects.filter(erased_at=None, external_id=PEOPLE["panel"][0]).exists()


def test_the_file_has_everything_about_the_person_and_nothing_about_others(owner):
    participation = with_everything(study_with(owner))
    other = Rater.objects.get(external_id="other")
    StudyEvent.objects.create(
        study=participation.study,
        verb="pay",
        details={"annotator": [participation.rater.pseudonym, other.pseudonym]},
        at=database_now(),
    )
    args = [participation.study_id, participation.public_id]
    client = Client()
    client.force_login(owner)
    response = client.get(reverse("recruitment:own-data", args=args))
    text = response.content.decode()
    assert [one for one in secrets_of(participation) if one not in text] == []
    assert other.pseudonym not in text
    tables = json.loads(text)
    assert len(tables["annotation.Rating"]) == 2
    assert {"annotation.Rater", "recruitment.Payment", "annotation.Comment"} <= tables.keys()
    out = StringIO()
    call_command("erase_participant", args[0], participation.rater.pseudonym, "--show", stdout=out)
    assert json.loads(out.getvalue()) == tables


def test_the_command_erases(owner):
    participation = with_everything(study_with(owner))
    call_command("erase_participant", participation.study_id, participation.rater.pseudonym)
    assert PEOPLE["panel"][0] not in dump()
    with pytest.raises(CommandError):
        call_command("erase_participant", participation.study_id, "nobody")


@pytest.mark.parametrize("rule", Study.Erasure.values)
def test_annotators_read_what_an_erasure_does(owner, rule):
    study = study_with(owner, erasure=rule)
    html = Client().get(f"/s/{study.pk}/").content.decode()
    assert f'data-erasure="{rule}"' in html
