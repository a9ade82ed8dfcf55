"""Whatever is undone leaves everything as it was: each pair of services is done and undone."""

import ast

import pytest

from annotation.models import Participation
from annotation.services.exclusion import exclude_work, reinstate_work
from jobs.models import Job
from jobs.services import pause_job, resume_job
from machine_raters.services.machine_raters import (
    exclude_machine_rater,
    reinstate_machine_rater,
)
from recruitment.models import Channel
from recruitment.services.channels import close_channel, reopen_channel
from recruitment.services.lifecycle import close_study, open_study, pause_study, reopen_study
from recruitment.services.participants import exclude_participant, reinstate_participant
from tests.annotation.places import hit_units_of, take_place
from tests.annotation.services.test_ratings import answer
from tests.jobs.factories import make_job
from tests.machine_raters.baselines.test_baselines import add, open_study as rated_study
from tests.paths import ROOT
from tests.stored import differences, stored_rows
from tests.studies.factories import make_open_study, make_participation

pytestmark = pytest.mark.django_db
UNDOING = ("reinstate_", "reopen_", "resume_")
# Clocks, and counters of changes, which only go up.
RENEWED = ("lease_until", "queued_at", "sent_at", "opened_at", "changes")
Status = Participation.Status


def work(status, answers, *, abandoned="whole_hit"):
    """A participation with this status that has answered so many of its two units."""
    study = make_open_study(
        instances=2, ratings_per_hit=1, comparisons_per_hit=2, abandoned=abandoned
    )
    ann = make_participation(study, "ann")
    assignment = take_place(participation=ann)
    for hit_unit in hit_units_of(assignment)[:answers]:
        answer(assignment, hit_unit)
    ended = None if status == Status.ACTIVE else ann.created_at
    left = ended if status == Status.LEFT else None
    Participation.objects.update(status=status, finished_at=ended, left_at=left)
    return {"participation": Participation.objects.get()}


def baseline():
    made = add(rated_study(("abc", "ab"), ("a", "a b")), "longer")
    Job.objects.all().delete()
    return {"machine": made}


def channel():
    return {"channel": Channel.objects.create(study=make_open_study(), provider="panel")}


PAIRS = [
    *(
        pytest.param(
            lambda status=status, n=n, how=how: work(status, n, abandoned=how),
            lambda participation, out=out: out(participation=participation),
            undo,
            id=f"{undo.__name__} {status} {n} {how}",
        )
        for out, undo in (
            (exclude_participant, reinstate_participant),
            (
                lambda participation: exclude_work(participation=participation, status="returned"),
                reinstate_work,
            ),
        )
        for how in ("whole_hit", "units")
        for status, n in (
            *((Status.ACTIVE, n) for n in (0, 1, 2)),
            *(
                (other, 2)
                for other in (Status.FINISHED, Status.STOPPED, Status.SCREENED_OUT, Status.LEFT)
            ),
        )
    ),
    pytest.param(
        baseline,
        lambda machine: exclude_machine_rater(machine=machine, reason="wrong"),
        reinstate_machine_rater,
        id="reinstate_machine_rater",
    ),
    pytest.param(channel, close_channel, reopen_channel, id="reopen_channel"),
    pytest.param(
        lambda: {"study": make_open_study()}, close_study, reopen_study, id="reopen_study"
    ),
    pytest.param(lambda: {"study": make_open_study()}, pause_study, open_study, id="open_study"),
    pytest.param(
        lambda: {"job": make_job(make_open_study())}, pause_job, resume_job, id="resume_job"
    ),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("prepare", "do", "undo"), PAIRS)
def test_what_is_undone_is_as_it_was(monkeypatch, prepare, do, undo):
    monkeypatch.setattr("jobs.services.enqueue", lambda *_, **__: None)
    things = prepare()
    before = stored_rows(without=RENEWED)
    do(**things)
    assert stored_rows(without=RENEWED) != before
    undo(**things)
    assert differences(before, stored_rows(without=RENEWED)) == {}


def test_every_service_that_undoes_is_tried():
    services = {
        node.name
        for path in ROOT.glob("[a-z]*/**/services*/**/*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith(UNDOING)
    }
    tried = {parameter.values[2].__name__ for parameter in PAIRS}
    # No undo but another try after the end.
    assert services - tried == {"resume_participation"}
