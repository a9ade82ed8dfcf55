"""A study that moves is the same on the other server, comes whole or not at all, and is over here."""

import ast
import json
import re
import zipfile
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from annotation import selectors
from annotation.exports.export_jobs import export_file
from annotation.models import Place, Rater, Rating
from api.models import ApiToken
from jobs.clock import database_now
from jobs.models import Job
from metrics.models import FollowUp, Licence
from metrics.moving.belonging import MATCHED, belongings, label, relations
from metrics.moving.receiving import receive_study
from metrics.moving.sending import move_study
from metrics.moving.stored_keys import IN_PAYLOADS, STORED
from recruitment.identities import check_not_erased
from recruitment.models import Channel, encrypted
from recruitment.platforms.invitation import invitations, invited
from recruitment.services.erasure import erase_participant
from recruitment.services.lifecycle import pause_study
from studies.data.bundle_import import content_digest_now
from studies.models import (
    Criterion,
    Dataset,
    Generation,
    Instance,
    Membership,
    Screening,
    Study,
    StudyEvent,
    System,
)
from studies.models.lasting_key import LastingKey, lasting_keys
from tests.annotation.annotators import annotator
from tests.architecture.test_codes import trees
from tests.architecture.test_imports import PACKAGES
from tests.jobs.factories import make_job
from tests.metrics.moving.whole_study import (
    facts,
    fill_tables,
    rows_of_file,
    start_keys_at,
    whole_study,
)
from tests.refusals import refused, refused_file
from tests.studies.factories import make_open_study, open_knowingly
from tiebreak.formats.limits import Limits

pytestmark = pytest.mark.django_db
FIRST_KEY = 7_000_000
SEALED = re.compile(rb"gAAAA[\w=-]+")
DATASET = "rows/studies.Dataset.jsonl"
# They list what happened at the move, and the pilots of this server.
OTHERWISE = {"studies:log", "metrics:planner"}


def forget_everything() -> None:
    """Empty all tables but those of accounts, as on another server; new rows get other keys."""
    for model in belongings().in_order():
        if model not in MATCHED:
            rows = model._base_manager.all()
            rows._raw_delete(rows.db)
    selectors._frozen_criteria.cache_clear()  # which another server has in other processes


def let_leases_end_in(span: timedelta) -> None:
    held = Place.objects.filter(assignment__isnull=False, completed_at=None)
    assert held.update(lease_until=database_now() + span)


def sizes() -> dict[str, int]:
    return {label(model): model._base_manager.count() for model in belongings().in_order()}


@pytest.fixture(scope="module")
def whole(module_db: None, tmp_path_factory: Any) -> dict[str, Any]:
    """What a study shows on its server, and the file with which it leaves."""
    start_keys_at(FIRST_KEY)
    file = tmp_path_factory.mktemp("there") / "study.zip"
    owner = User.objects.create_superuser("ruth", "ruth@example.org")
    study = whole_study(owner)
    shown = facts(study, owner)
    move_study(study=study, path=file)
    forget_everything()
    return {"shown": shown, "file": file, "owner": owner.pk}


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada", "ada@example.org", is_staff=True)


@pytest.fixture
def paused(ada: User) -> Study:
    """A study of two people in which nobody is at work."""
    study = make_open_study(instances=2, member=ada)
    for person in (annotator(study), annotator(study)):
        person.choose()
    let_leases_end_in(timedelta())
    return pause_study(study=study, by=ada)


@pytest.fixture
def file(paused: Study, tmp_path: Path) -> Path:
    move_study(study=paused, path=tmp_path / "study.zip")
    return tmp_path / "study.zip"


def test_all_that_is_shown_is_the_same_on_the_other_server(whole):
    received = receive_study(path=whole["file"])
    assert (received.left, received.emptied) == ({}, {})
    before, now = whole["shown"], facts(received.study, User.objects.get(pk=whole["owner"]))
    pages = {name for name, page in before["pages"].items() if page != now["pages"][name]}
    assert pages == OTHERWISE
    assert {name for name in before if before[name] != now[name]} == {"pages"}
    assert before["is_current"]  # nothing has to be computed again


def test_the_rows_of_every_table_move(whole, tmp_path):
    study = receive_study(path=whole["file"]).study
    fill_tables(study)
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"
    sent, _ = move_study(study=study, path=first)
    assert {name for name, n in sent.rows.items() if not n} == set()
    forget_everything()
    move_study(study=receive_study(path=first).study, path=second)
    before, after = rows_of_file(first), rows_of_file(second)
    after["studies.StudyEvent"].pop()  # received
    assert {name for name in before if before[name] != after[name]} == set()


def test_no_key_stands_where_neither_a_relation_nor_a_rule_says_so(whole):
    """Keys are numbers from 7,000,000 on, and what is no key is not."""
    found = set()
    with zipfile.ZipFile(whole["file"]) as archive:
        for model in belongings().in_order():
            keys = {one.attname for one in relations(model)} | {model._meta.pk.attname}
            for line in archive.read(f"rows/{label(model)}.jsonl").splitlines():
                for name, value in json.loads(line).items():
                    if name not in keys and re.search(r"(?<![\w.])700\d{4}(?![\w.])", repr(value)):
                        found.add((label(model), name))
    assert found
    assert found <= STORED.keys()


def test_the_keys_in_every_kind_of_chunk_are_known():
    names = set()
    for _, tree in trees(*PACKAGES):
        for node in ast.walk(tree):
            is_chunk = isinstance(node, ast.Call) and ast.unparse(node.func) == "ChunkPlan"
            is_named = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "payload"
            if is_chunk or is_named:
                dicts = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.Dict)]
                names |= {ast.literal_eval(key) for one in dicts for key in one.keys if key}
    assert names - {"name"} == IN_PAYLOADS.keys()


def test_every_model_belongs_to_a_study_or_to_accounts():
    """A model with relations to a study moves, unless it cannot be without an account."""
    here = belongings()
    moved = {*here.in_order()}
    leading: set[Any] = {Study, Job}
    while True:
        more = {
            model
            for model in apps.get_models(include_auto_created=True)
            if any(one.related_model in leading for one in relations(model))
        }
        if more <= leading:
            break
        leading |= more
    needed = {model: {o.related_model for o in relations(model) if not o.null} for model in leading}
    assert {model for model in leading - moved if not needed[model] & {User, ApiToken}} == set()
    assert len(moved) > 50


def test_shared_rows_can_be_found_again():
    shared = (*belongings().shared, *belongings().of_dataset)
    once = {label(model): len(model._meta.total_unique_constraints) for model in shared}
    assert once == dict.fromkeys(once, 1) | {"studies.Dataset": 0}  # which its id finds


def test_the_study_is_over_where_it_was(file, paused, ada):
    paused.refresh_from_db()
    moved, closed = paused.events.all()[:2]
    assert (paused.status, moved.verb, closed.verb) == ("closed", "move", "close")
    assert file.stat().st_mode & 0o777 == 0o600
    forget_everything()
    study = receive_study(path=file).study
    assert (study.pk, study.status) == (paused.pk, "paused")
    received = study.events.first()
    assert received
    assert (received.verb, received.details["sha256"]) == ("receive", moved.details["sha256"])


def test_people_go_on_where_the_study_is(ada, tmp_path):
    """With the former secret key, as in this test, in the task that they had begun."""
    study = make_open_study(instances=2, member=ada)
    person = annotator(study)
    person.choose()
    let_leases_end_in(timedelta())
    move_study(study=pause_study(study=study), path=tmp_path / "study.zip")
    forget_everything()
    open_knowingly(receive_study(path=tmp_path / "study.zip").study)
    person.choose()
    assert Rating.objects.filter(assignment__participation=person.participation).count() == 2
    assert Rater.objects.count() == 1


@pytest.mark.parametrize("status", ["draft", "closed"])
def test_a_study_that_collects_nothing_moves_as_it_is(paused, tmp_path, status):
    Study.objects.update(status=status)
    move_study(study=paused, path=tmp_path / "study.zip")
    assert Study.objects.get().status == status
    forget_everything()
    assert receive_study(path=tmp_path / "study.zip").study.status == status


def test_what_may_still_change_does_not_move(paused, tmp_path):
    job = make_job(paused)
    with refused("job_unfinished"):
        move_study(study=paused, path=tmp_path / "study.zip")
    Job.objects.filter(pk=job.pk).update(status="done")
    let_leases_end_in(timedelta(minutes=5))
    with refused("people_at_work"):
        move_study(study=paused, path=tmp_path / "study.zip")
    let_leases_end_in(timedelta())
    Study.objects.update(status="open")
    with refused("study_open"):
        move_study(study=paused, path=tmp_path / "study.zip")
    copy = Study.objects.create(title="copy", dry_run_of=paused)
    with refused("is_dry_run", naming=paused.pk):
        move_study(study=copy, path=tmp_path / "study.zip")
    assert not (tmp_path / "study.zip").exists()
    assert not StudyEvent.objects.filter(verb="move").exists()


def changed(file: Path, name: str, content: Any) -> Path:
    """A copy of a file, with another content of a table, or another value in its manifest."""
    other = file.with_name(f"other-{file.name}")
    with zipfile.ZipFile(file) as archive, zipfile.ZipFile(other, "w") as written:
        for one in archive.namelist():
            stored = content if one == name else archive.read(one)
            if one == "manifest.json" and not name.endswith(".jsonl"):
                manifest = json.loads(stored)
                value = manifest[name] | content if isinstance(content, dict) else content
                stored = json.dumps(manifest | {name: value})
            written.writestr(one, stored)
    return other


@pytest.mark.parametrize(
    ("code", "name", "content"),
    [
        ("other_version", "migrations", ["studies.9999_later"]),
        ("not_a_moved_study", "unknown", 1),
        ("damaged", "rows/annotation.Rating.jsonl", b""),
        ("damaged", "files", {"rows/studies.Unit.jsonl": "0"}),
        ("damaged", "files", {"exports/absent.zip": "0"}),
        ("not_a_moved_study", "files", []),
        ("not_a_moved_study", "rows", {"annotation.Rating": "2"}),
        ("counts_differ", "rows", {"annotation.Rating": 1}),
    ],
)
def test_another_file_is_refused_and_nothing_is_stored(file, code, name, content):
    forget_everything()
    before = sizes()
    with refused(code):
        receive_study(path=changed(file, name, content))
    assert sizes() == before


@pytest.mark.parametrize("line", [{}, []])
def test_rows_that_no_server_has_written_are_refused_and_nothing_is_stored(file, line):
    forget_everything()
    before, name = sizes(), "rows/annotation.HIT.jsonl"
    rows = json.dumps(line).encode()
    digest = {name: sha256(rows).hexdigest()}
    with refused("not_a_moved_study"):
        receive_study(path=changed(changed(file, name, rows), "files", digest))
    assert sizes() == before


def test_a_file_is_unpacked_within_limits(file):
    with refused_file((file.name, None, "unpacks_too_large")):
        receive_study(path=file, limits=Limits(unpacked=1000))


def test_what_is_here_already_is_refused_and_nothing_is_stored(file):
    before = sizes()
    with refused("study_known"):
        receive_study(path=file)
    forget_everything()
    Study.objects.create(title="other")
    person = Rater.objects.create(provider="open-link", external_id="x", pseudonym="somebody else")
    rater = next(row for row in rows_of_file(file)["annotation.Rater"] if row["kind"] == "human")
    Rater.objects.filter(pk=person.pk).update(
        provider=rater["provider"], external_id=rater["external_id"]
    )
    with refused("differs"):
        receive_study(path=file)
    Rater.objects.all().delete()
    participation = rows_of_file(file)["annotation.Participation"][0]
    other = annotator(make_open_study(instances=1)).participation
    type(other).objects.filter(pk=other.pk).update(public_id=participation["public_id"])
    before = sizes()
    with refused("collision"):
        receive_study(path=file)
    assert sizes() == before


def test_accounts_are_matched_by_name_and_email(file, ada):
    forget_everything()
    User.objects.filter(pk=ada.pk).update(email="another@example.org")
    with refused("no_owner"):
        receive_study(path=file)
    boss = User.objects.create_user("boss", "boss@example.org", is_staff=True)
    received = receive_study(path=file, owner=boss)
    assert list(Membership.objects.values_list("user", "role")) == [(boss.pk, "owner")]
    assert received.left == {"studies.Membership": 1}
    paused = received.study.events.get(verb="pause")
    assert (paused.by, paused.by_name) == (None, "ada")
    assert not User.objects.filter(email=ada.email).exists()


def test_a_second_study_finds_its_dataset_and_its_people(paused, ada, tmp_path):
    """Two studies of one dataset arrive one after the other, and share it and their people again."""
    second = Study.objects.get(pk=paused.pk)
    second.pk, second.status = None, "draft"
    second.public_id = "second"
    second.save(force_insert=True)
    Membership.objects.create(study=second, user=ada)
    person = paused.participations.first()
    assert person
    person.pk, person.public_id, person.study = None, "again", second
    person.save(force_insert=True)
    files = [tmp_path / "first.zip", tmp_path / "second.zip"]
    for study, path in zip((paused, second), files, strict=True):
        move_study(study=study, path=path)
    forget_everything()
    receive_study(path=files[0])
    before = sizes()
    receive_study(path=files[1])
    shared = ("studies.Dataset", "studies.Generation", "studies.System", "annotation.Rater")
    assert {name: sizes()[name] for name in shared} == {name: before[name] for name in shared}
    assert Study.objects.filter(participations__rater__isnull=False).distinct().count() == 2


def test_other_studies_are_named_if_they_are_there(paused, tmp_path):
    other = Study.objects.create(title="experts")
    Study.objects.filter(pk=paused.pk).update(weights_from=other, survey_for=other)
    Screening.objects.create(study=paused, accepts_from=other)
    FollowUp.objects.create(study=paused, licence=licence_in(other))
    move_study(study=paused, path=tmp_path / "study.zip")
    forget_everything()
    received = receive_study(path=tmp_path / "study.zip")
    emptied = ("Study.weights_from", "Study.survey_for", "Screening.accepts_from")
    assert received.emptied == {f"studies.{name}": 1 for name in emptied}
    assert received.left == {"metrics.FollowUp": 1}
    forget_everything()
    other.save(force_insert=True)
    received = receive_study(path=tmp_path / "study.zip")
    assert (received.study.weights_from, received.emptied) == (other, {})


def licence_in(study: Study) -> Licence:
    criterion = Criterion.objects.create(study=study, name="c", question="?", scale="binary")
    return Licence.objects.create(
        study=study,
        criterion=criterion,
        rater=Rater.objects.create(kind="machine", provider="x", external_id="y"),
        annotators="crowd",
        valid_until="2027-01-01",
        evidence={},
        granted_at=database_now(),
    )


@pytest.fixture
def known(paused: Study, ada: User, tmp_path: Path) -> Dataset:
    """The dataset of a study that has left, under another id."""
    dataset = paused.dataset
    assert dataset
    Dataset.objects.update(created_by=ada)
    move_study(study=paused, path=tmp_path / "study.zip")
    for model in belongings().of_study:
        rows = model._base_manager.all()
        rows._raw_delete(rows.db)
    dataset.pk, dataset.created_by, dataset.sha256 = "other", ada, content_digest_now(dataset)
    dataset.save(force_insert=True)
    for model in (System, Instance):
        model.objects.update(dataset=dataset)
    Dataset.objects.exclude(pk="other").delete()
    return dataset


def test_a_dataset_of_the_owner_with_the_same_content_is_used(known, tmp_path):
    before = Generation.objects.count()
    assert receive_study(path=tmp_path / "study.zip").study.dataset == known
    assert (Dataset.objects.count(), Generation.objects.count()) == (1, before)


def test_a_dataset_that_differs_elsewhere_is_another(known, tmp_path):
    System.objects.update(language_model="another")
    assert receive_study(path=tmp_path / "study.zip").study.dataset != known
    assert set(System.objects.values_list("language_model", flat=True)) == {"another", ""}


def test_the_same_dataset_with_other_texts_is_refused(known, tmp_path):
    old = json.loads((zipfile.Path(tmp_path / "study.zip") / DATASET).read_text())["public_id"]
    Dataset.objects.create(public_id=old, name="changed")
    for model in (System, Instance):
        model.objects.update(dataset=old)
    Generation.objects.filter(sample_index=0).update(text="changed")
    before = sizes()
    with refused("differs"):
        receive_study(path=tmp_path / "study.zip")
    assert sizes() == before


def test_the_secrets_of_platforms_stay(paused, tmp_path):
    Channel.objects.create(
        study=paused, provider="prolific", secret=encrypted("a token of Prolific")
    )
    move_study(study=paused, path=tmp_path / "study.zip")
    with zipfile.ZipFile(tmp_path / "study.zip") as archive:
        keys = json.loads(archive.read("manifest.json"))["lasting_keys"]
        sealed = [one for name in archive.namelist() for one in SEALED.findall(archive.read(name))]
    assert [one.decode() for one in sealed] == keys
    forget_everything()
    receive_study(path=tmp_path / "study.zip")
    assert set(Channel.objects.values_list("provider", "secret")) >= {("prolific", "")}


def test_exports_move_with_their_jobs(paused, tmp_path, settings):
    settings.TIEBREAK_EXPORT_FOLDER = str(tmp_path / "exports")
    job = make_job(paused, kind="export", status="done")
    export_file(job).parent.mkdir()
    export_file(job).write_text("what was exported")
    move_study(study=paused, path=tmp_path / "study.zip")
    forget_everything()
    settings.TIEBREAK_EXPORT_FOLDER = str(tmp_path / "others")
    receive_study(path=tmp_path / "study.zip")
    assert export_file(Job.objects.get()).read_text() == "what was exported"


def test_the_commands_tell_what_moved_and_what_did_not(paused, ada, tmp_path, capsys):
    path = str(tmp_path / "study.zip")
    call_command("move_study", paused.pk, path)
    assert paused.events.filter(verb="move").get().details["sha256"] in capsys.readouterr().out
    forget_everything()
    with pytest.raises(CommandError):
        call_command("receive_study", path, "--owner", "nobody")
    User.objects.filter(pk=ada.pk).update(username="another")
    with refused("no_owner", CommandError):
        call_command("receive_study", path)
    call_command("receive_study", path, "--owner", "another")
    said = capsys.readouterr().out
    assert "studies.Membership (1)" in said
    assert Rating.objects.count() == 2


def test_personal_links_stay_valid_and_the_erased_stay_known_on_a_server_with_its_own_key(
    paused, ada, tmp_path
):
    """Two studies come from there; only the former secret key opens the keys that made both."""
    channel = Channel.objects.create(
        study=paused, provider="invitation", settings={"people": "mia\nnoah"}
    )
    links = invitations(channel)
    person = paused.participations.select_related("rater").first()
    assert person
    name = person.rater.external_id
    erase_participant(rater=person.rater)
    move_study(study=paused, path=tmp_path / "study.zip")
    forget_everything()
    LastingKey.objects.all().delete()
    (own,) = lasting_keys()
    channel = receive_study(path=tmp_path / "study.zip").study.channels.get(provider="invitation")
    assert [invited(channel, token) for _, token in links] == ["mia", "noah"]
    with refused("erased_here"):
        check_not_erased(paused.pk, person.provider, name)
    assert lasting_keys()[0] == own
    assert len(lasting_keys()) == 2
    forget_everything()
    receive_study(path=tmp_path / "study.zip")
    assert len(lasting_keys()) == 2
