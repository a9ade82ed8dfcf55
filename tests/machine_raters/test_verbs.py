"""The verbs of machine raters: each does the same with a machine rater of any kind."""

import json

import pytest
from django.contrib.auth.models import User

from annotation.exports.ratings import rating_rows
from annotation.exports.study_export import export_study
from annotation.models import Rater, Rating
from jobs.kinds import kind_of
from jobs.models import Job
from machine_raters.juries.verdicts import possible_members
from machine_raters.kinds import KINDS
from machine_raters.models import MachineRater
from machine_raters.models.machine_rater import MAX_REASON
from machine_raters.services.machine_raters import (
    delete_machine_rater,
    exclude_machine_rater,
    machine_rater_named,
    reinstate_machine_rater,
    start_machine_rater,
)
from machine_raters.services.raters import lock_in_use
from machine_raters.synthetic.accuracy import accuracies
from metrics.exports.document.study_facts import deviation_table
from metrics.results.selectors import source_of
from metrics.results.services import watermark
from tests.annotation.tallies import recount, stored_tallies
from tests.machine_raters.judging.scripted import model
from tests.machine_raters.machines import again, answered, create, idle, settings_of
from tests.machine_raters.synthetic.rag import make_rag_study
from tests.refusals import refused
from tiebreak.report import build_report

pytestmark = pytest.mark.django_db
__all__ = ["model"]
REASON = "the wrong settings"
each_kind = pytest.mark.parametrize("kind", KINDS)
RATING_KINDS = [name for name, kind in KINDS.items() if kind.has_rater]


@pytest.fixture
def study():
    return make_rag_study(protocol="rag-pairs")


def results(study) -> object:
    """What results say of machines: their agreement with annotators, and synthetic items."""
    scales = {one.name: one.scale for one in study.criteria.all()}
    criteria = build_report(source_of(study).table, scales=scales).criteria
    machines = {name: [*one.all_units.machines] for name, one in criteria.items()}
    return machines, [(one.judge.name, one.overall) for one in accuracies(study)]


def test_the_kinds_of_the_table_are_those_of_the_registry():
    assert [*KINDS] == [*MachineRater.Kind.values]
    assert {type(kind.model()) for kind in KINDS.values()} == {*MachineRater.__subclasses__()}


@each_kind
def test_a_name_is_taken_once_for_all_kinds(study, model, monkeypatch, kind):
    idle(kind, study, model, monkeypatch)
    for other in ("judge", "synthetic-set"):
        with refused("name_taken"):
            create(study, other, settings_of(other))


@each_kind
def test_one_without_answers_is_deleted_with_its_rater(study, model, monkeypatch, kind):
    made, ada = idle(kind, study, model, monkeypatch), User.objects.create_user("ada")
    delete_machine_rater(machine=made, by=ada)
    assert not MachineRater.objects.filter(name="machine").exists()
    assert not Rater.objects.filter(pseudonym="machine").exists()
    event = study.events.get(verb="delete-machine-rater")
    assert (event.by, event.details) == (ada, {KINDS[kind].name.label: "machine"})
    assert create(study, kind, settings_of(kind)).name == "machine"


@each_kind
def test_one_with_answers_is_not_deleted(study, model, kind):
    made = answered(kind, study, model)
    with refused("has_ratings"):
        delete_machine_rater(machine=made)
    assert again(made) == made
    assert not study.events.filter(verb="delete-machine-rater").exists()


def test_a_judge_with_answers_about_synthetic_items_only_is_not_deleted(study, model):
    answered("synthetic-set", study, model)
    judge = KINDS["judge"].of(study).get()
    assert not judge.rater.ratings.exists()
    with refused("has_ratings"):
        delete_machine_rater(machine=judge)
    before = accuracies(study)
    exclude_machine_rater(machine=judge, reason=REASON)
    assert accuracies(study) == []
    reinstate_machine_rater(machine=judge)
    assert accuracies(study) == before != []


@pytest.mark.sampled(4)
@pytest.mark.parametrize("status", ["queued", "running", "paused"])
@each_kind
def test_one_at_work_is_neither_deleted_nor_excluded(study, model, monkeypatch, kind, status):
    made = idle(kind, study, model, monkeypatch)
    job = start_machine_rater(machine=made)
    Job.objects.filter(pk=job.pk).update(status=status)
    with refused("job_unfinished"):
        delete_machine_rater(machine=made)
    with refused("job_unfinished"):
        exclude_machine_rater(machine=made, reason=REASON)
    Job.objects.update(status="stopped")
    assert exclude_machine_rater(machine=made, reason=REASON)


@each_kind
def test_an_excluded_one_leaves_the_results_and_comes_back(study, model, kind):
    made = answered(kind, study, model)
    before, marks = results(study), [watermark(study)]
    assert exclude_machine_rater(machine=made, reason=f"  {REASON} ")
    assert results(study) != before
    assert "machine" not in str(results(study))
    assert not Rating.objects.counted().filter(rater__pseudonym="machine").exists()
    assert stored_tallies(study=study) == recount(study=study)
    marks.append(watermark(study))
    assert again(made).excluded_reason == REASON
    assert reinstate_machine_rater(machine=made)
    marks.append(watermark(study))
    assert len({*marks}) == (3 if KINDS[kind].has_rater else 1)
    assert results(study) == before
    assert stored_tallies(study=study) == recount(study=study)
    assert (again(made).excluded, again(made).excluded_reason) == (False, "")


def test_many_ratings_are_flagged_in_several_statements(study, model, monkeypatch):
    monkeypatch.setattr("machine_raters.services.machine_raters.LOT", 2)
    made = answered("judge", study, model)
    exclude_machine_rater(machine=made, reason=REASON)
    assert not Rating.objects.counted().exists()
    reinstate_machine_rater(machine=made)
    assert Rating.objects.counted().count() == made.rater.ratings.count() == 8


@each_kind
def test_what_is_excluded_or_reinstated_twice_changes_once(study, model, kind):
    made = answered(kind, study, model)
    assert not reinstate_machine_rater(machine=made)
    assert exclude_machine_rater(machine=made, reason=REASON)
    assert not exclude_machine_rater(machine=made, reason="another reason")
    assert again(made).excluded_reason == REASON
    assert reinstate_machine_rater(machine=made)
    assert not reinstate_machine_rater(machine=made)
    named = {KINDS[kind].name.label: "machine"}
    if KINDS[kind].has_rater:
        named["ratings"] = made.rater.ratings.count()
    logged = study.events.filter(verb__endswith="e-machine-rater").order_by("pk")
    assert [(event.verb, event.details) for event in logged] == [
        ("exclude-machine-rater", named | {"reason": REASON}),
        ("reinstate-machine-rater", named),
    ]
    rows = [row[1] for row in deviation_table(study).rows]
    assert rows == ["excluded a machine rater", "reinstated a machine rater"]


@each_kind
def test_a_reason_is_needed_and_fits(study, model, monkeypatch, kind):
    made = idle(kind, study, model, monkeypatch)
    with refused("no_reason"):
        exclude_machine_rater(machine=made, reason=" ")
    with refused("reason_too_long"):
        exclude_machine_rater(machine=made, reason="x" * (MAX_REASON + 1))
    assert not again(made).excluded
    assert exclude_machine_rater(machine=made, reason="x" * MAX_REASON)


@each_kind
def test_an_excluded_one_does_nothing_more(study, model, kind):
    """Not even a worker that had begun before the exclusion, whose job was stopped meanwhile."""
    made = answered(kind, study, model)
    exclude_machine_rater(machine=made, reason=REASON)
    models = model(lambda request: "A is better")
    with refused("machine_rater_excluded"):
        start_machine_rater(machine=again(made))
    jobs = Job.objects.filter(exclusive_key__contains=made.public_id)
    for job in jobs:
        with refused("machine_rater_excluded"):
            list(kind_of(job).plan(job))
        with refused("machine_rater_excluded"):
            list(kind_of(job).run(job, job.chunks.first().payload))
    with refused("machine_rater_excluded"):
        lock_in_use(made)
    assert (models.asked, jobs.count() > 0) == ([], True)


@pytest.mark.parametrize("kind", [kind for kind in RATING_KINDS if kind != "jury"])
def test_a_jury_neither_chooses_an_excluded_member_nor_goes_on_with_it(study, model, kind):
    made = answered(kind, study, model)
    create(study, "baseline", settings_of("baseline", "other"))
    values = settings_of("jury", "jury") | {"members": ["machine", "other"]}
    jury = create(study, "jury", values)
    decided = jury.rater.ratings.count()
    exclude_machine_rater(machine=made, reason=REASON)
    assert [rater.pseudonym for rater in possible_members(study)] == ["other"]
    with refused("member_excluded", naming="machine"):
        start_machine_rater(machine=jury)
    assert Rating.objects.counted().filter(rater=jury.rater).count() == decided > 0


@each_kind
def test_exports_have_the_flag_and_the_reason(study, model, tmp_path, kind):
    made = answered(kind, study, model)
    exclude_machine_rater(machine=made, reason=REASON)
    export_study(study=study, out=tmp_path / "export")
    name = "machine_raters.jsonl" if KINDS[kind].has_rater else "synthetic_items.jsonl"
    lines = (tmp_path / "export" / name).read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    own = [row for row in rows if row.get("rater", row.get("set")) == "machine"]
    assert {(row["excluded"], row["excluded_reason"]) for row in own} == {(True, REASON)}
    flagged = {row["rater"] for row in rating_rows(study) if row["excluded_reason"] == REASON}
    assert flagged == ({"machine"} if KINDS[kind].has_rater else set())


@each_kind
def test_one_of_another_study_or_kind_is_not_found(study, model, monkeypatch, kind):
    made = idle(kind, study, model, monkeypatch)
    assert machine_rater_named(study, made.public_id) == made
    with refused("no_such_machine_rater"):
        machine_rater_named(study, made.public_id, *({*KINDS} - {kind}))
    with refused("no_such_machine_rater"):
        machine_rater_named(make_rag_study(owner=User.objects.create_user("eve")), made.public_id)
