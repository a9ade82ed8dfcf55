"""The frame of a study's pages: steps with what is missing, the next one, and pages by role."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from recruitment.launch.check import DATA, RECRUITMENT, warning
from recruitment.models import Channel
from recruitment.views.launch import review
from studies.design.steps import (
    StudyFrame,
    StudyState,
    frame_of,
    place_of,
    steps,
    study_frame,
    with_facts,
)
from studies.models import ComprehensionQuestion, Membership, Screening, Study, Unit
from tests.studies.factories import make_open_study, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def ruth() -> User:
    return User.objects.create_superuser("ruth")


def states(study: Study, user: User) -> dict[str, str]:
    return {s.step.slug: s.status.state.value for s in study_frame(study, user).steps}


def test_the_steps_are_in_the_order_of_the_path():
    assert [step.slug for step in steps()] == [
        "data",
        "task",
        "generate-select",
        "quality",
        "size",
        "analysis-plan",
        "recruit",
        "launch",
    ]


def test_an_empty_study_begins_with_its_data(ruth):
    study = Study.objects.create(title="New")
    frame = study_frame(study, ruth)
    assert frame.next_step is not None
    assert frame.next_step.step.slug == "data"
    assert states(study, ruth) == {
        "data": "open",
        "task": "open",
        "generate-select": "not needed",
        "quality": "not needed",
        "size": "open",
        "analysis-plan": "not needed",
        "recruit": "not needed",
        "launch": "open",
    }


def test_each_step_is_done_by_what_it_asks_for(ruth):
    study = make_study(instances=2)
    assert states(study, ruth)["data"] == states(study, ruth)["task"] == "done"
    Study.objects.update(minutes_per_hit=4, reward="1.00")
    assert states(study, ruth)["size"] == "open"  # nobody knows for how many tasks the reward is
    Study.objects.update(hits_per_annotator=2)
    assert states(study, ruth)["size"] == "done"
    Study.objects.update(estimands="The win rate of system A.")
    assert states(study, ruth)["analysis-plan"] == "done"
    # The open link is used by default, but nothing tells its people how they are paid.
    assert states(study, ruth)["recruit"] == "open"
    Study.objects.update(reward=None)
    assert states(study, ruth)["recruit"] == "not needed"
    Study.objects.update(reward="1.00")
    channel = Channel.objects.create(study=study, provider="panel")
    assert states(study, ruth)["recruit"] == "done"
    Channel.objects.filter(pk=channel.pk).update(closed_at="2026-01-01T00:00Z")
    assert states(study, ruth)["recruit"] == "open"
    study.systems.first().generations.all().delete()
    study.systems.last().generations.all().delete()
    assert states(study, ruth)["generate-select"] == "open"
    study.study_systems.first().delete()
    assert states(study, ruth)["data"] == "open"
    study.criteria.all().delete()
    assert states(study, ruth)["task"] == "open"


def test_quality_counts_the_reference_units_that_screening_needs(ruth):
    study = make_study(instances=2)
    ComprehensionQuestion.objects.create(study=study, text="Which?", choices="a\nb")
    assert states(study, ruth)["quality"] == "done"
    Screening.objects.create(study=study, training_units=2)
    assert states(study, ruth)["quality"] == "open"
    for n in range(2):
        Unit.objects.create(study=study, key=f"training-{n}", role=Unit.Role.TRAINING)
    assert states(study, ruth)["quality"] == "done"


@pytest.mark.parametrize(
    ("here", "following"),
    [
        ("data", "quality"),
        ("task", "quality"),
        ("generate-select", "quality"),
        ("quality", "size"),
        ("size", "analysis-plan"),
        ("analysis-plan", "recruit"),
        ("", "size"),
        ("overview", "size"),
        ("recruit", "launch"),
        ("launch", "size"),
    ],
)
def test_next_is_the_next_step_of_the_list_that_is_not_done_and_later_the_first_that_lacks_something(
    ruth, here, following
):
    next_step = study_frame(make_study(instances=2), ruth, place_of(here)).next_step
    assert next_step is not None
    assert next_step.step.slug == following


def test_what_is_skipped_is_optional_until_the_study_opens(ruth):
    study = make_study(instances=2)
    optional = {"quality", "analysis-plan", "recruit"}
    assert {
        slug for slug, state in states(study, ruth).items() if state == "not needed"
    } == optional
    marked = {
        shown.step.slug
        for shown in study_frame(study, ruth).steps
        if shown.status.sentence.startswith("Optional")
    }
    assert marked == optional
    Study.objects.update(opened_at="2026-01-01T00:00Z", status="open")
    shown = study_frame(study, ruth).steps
    assert not any(one.status.sentence.startswith("Optional") for one in shown)


@pytest.mark.parametrize("opened", [None, "2026-01-01T00:00Z"])
@pytest.mark.parametrize("screens", [True, False])
def test_what_the_list_says_of_a_step_that_lacks_nothing_takes_one_line(ruth, opened, screens):
    study = make_study(instances=2, reward="1.00", minutes_per_hit=2, hits_per_annotator=2)
    if screens:
        Screening.objects.create(study=study, check_action="record")
    Study.objects.update(opened_at=opened)
    shown = frame_of(with_facts(Study.objects.all(), ruth).get(), ruth).steps
    notes = [
        s.status.note or s.status.sentence for s in shown if s.status.note or not s.status.is_open
    ]
    assert len(notes) >= 6
    assert all(len(note) <= 24 for note in notes), notes


def test_a_step_of_which_the_launch_warns_is_not_done_in_the_room_of_the_steps(ruth):
    study = make_study(instances=2)
    Study.objects.update(
        minutes_per_hit=6, hits_per_annotator=2, reward="1.00", promised_hourly_rate="4.9"
    )
    frame = study_frame(study, ruth, place_of("task"))
    assert {one.step.slug for one in frame.steps if one.checks} == set()
    Screening.objects.create(study=study, training_units=2)
    for n in range(2):
        Unit.objects.create(study=study, key=f"training-{n}", role=Unit.Role.TRAINING)
    frame = study_frame(study, ruth, place_of("size"))
    size = next(one for one in frame.steps if one.step.slug == "size")
    assert size.status.state == "warned"
    assert [check.code for check in frame.checks] == ["under_promise"]
    quality = study_frame(study, ruth, place_of("quality"))
    assert quality.next_step is not None
    assert quality.next_step.step.slug == "size"
    Study.objects.update(minutes_per_hit=4, budget="1", ratings_per_hit=3)
    over = study_frame(study, ruth, place_of("size"))
    assert [check.code for check in over.checks] == ["over_budget"]


def test_an_opened_study_has_no_next_step(ruth):
    study = make_open_study(instances=1)
    assert study_frame(study, ruth).next_step is None
    assert states(study, ruth)["launch"] == "done"


@pytest.mark.parametrize("status", ["open", "paused", "closed"])
@pytest.mark.parametrize("stalled_by", ["", "places", "channels"])
def test_other_pages_of_an_opened_study_ask_of_its_steps_only_whether_anybody_can_work(
    ruth, status, stalled_by
):
    study = make_open_study(instances=1)
    closed_at = timezone.now() if stalled_by == "channels" else None
    Channel.objects.create(study=study, provider="open-link", closed_at=closed_at)
    if stalled_by == "places":
        study.places.all().delete()
    Study.objects.update(status=status)
    with CaptureQueriesContext(connection) as captured:
        frame = study_frame(study, ruth, place_of("ledger"))
    (asked,) = (query["sql"] for query in captured)
    assert "studies_instance" not in asked
    whole = study_frame(study, ruth)
    assert (frame.state, frame.url) == (whole.state, whole.url)
    assert [room.url for room in frame.rooms] == [room.url for room in whole.rooms]
    assert (frame.state == StudyState.STALLED) == (status == "open" and bool(stalled_by))
    assert len(study_frame(study, ruth, place_of("size")).steps) == len(steps())


def test_other_pages_of_a_draft_know_the_next_step(ruth):
    frame = study_frame(make_study(instances=2), ruth, place_of("overview"))
    assert frame.next_step is not None
    assert len(frame.steps) == len(steps())


def slugs(frame: StudyFrame) -> set[str]:
    return {page.slug for page in frame.pages}


def test_each_role_is_shown_the_pages_that_it_may_see():
    study = make_study(instances=1)
    frames = {}
    for role in Membership.Role.values:
        user = User.objects.create_user(role, is_staff=True)
        Membership.objects.create(study=study, user=user, role=role)
        frames[role] = study_frame(study, user)
    assert slugs(frames["viewer"]) == {"overview", "systems", "raters", "machines", "planning"}
    assert not frames["viewer"].steps
    assert "ledger" in slugs(frames["analyst"])
    assert "webhooks" not in slugs(frames["analyst"])
    assert [frames[role].can_change for role in ("analyst", "editor", "owner")] == [
        False,
        True,
        True,
    ]


def test_the_frames_of_many_studies_take_one_statement(ruth, django_assert_num_queries):
    for _ in range(3):
        make_study(instances=1)
    with django_assert_num_queries(1):
        frames = [frame_of(study, ruth) for study in with_facts(Study.objects.all(), ruth)]
    assert [len(frame.steps) for frame in frames] == [8] * 3


def test_the_task_is_not_done_without_a_consent_text(ruth):
    study = make_study(instances=2, consent="")
    frame = study_frame(study, ruth, place_of("task"))
    task = next(one for one in frame.steps if one.step.slug == "task")
    assert "no_consent" in {check.code for check in frame.checks}
    assert task.status.state != "done"
    Study.objects.update(guidelines="")  # nobody has begun to write
    assert not study_frame(study, ruth, place_of("task")).checks


def test_launch_sends_nobody_to_a_step_that_is_final(ruth):
    study = make_study(instances=2)
    checks = [warning("long", "Texts differ.", DATA), warning("few", "People lack.", RECRUITMENT)]

    def links() -> dict[str, bool]:
        rows = review(study_frame(study, ruth, place_of("launch")), checks)
        return {row.code: bool(row.url) for row in rows if row.code in {"long", "few"}}

    assert links() == {"long": True, "few": True}
    Study.objects.update(opened_at="2026-01-01T00:00Z", status="open")
    study.refresh_from_db()
    assert links() == {"long": False, "few": True}
