"""The steps before the first HIT, and the gold checks that are mixed into HITs."""

import json
from collections import Counter
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from annotation.models import Assignment, Participation, Place, Rating, ScreeningAttempt
from annotation.selectors import worksheet
from annotation.services.exclusion import exclude_work, reinstate_work
from annotation.services.places import NotCleared
from annotation.services.planning import plan_hits
from annotation.services.ratings import Answer
from annotation.services.reference_units import degrade_copies, import_reference_units
from annotation.services.screening import (
    Step,
    begin_stage,
    check_record,
    clear_participation,
    next_step,
)
from recruitment.messages import SCREENED_OUT_BY
from studies.models import ComprehensionQuestion, Generation, Screening, Study, Unit
from tests.annotation.annotators import annotator, form_of, task_of
from tests.annotation.answers import submit_rating
from tests.annotation.places import take_place
from tests.annotation.tallies import recount, stored_tallies
from tests.pages import codes_on, page_of
from tests.refusals import refused, refused_file
from tests.studies.factories import make_participation, make_study, open_knowingly
from tiebreak.errors import DomainError
from tiebreak.perturbations import perturbed
from tiebreak.scales import Scale

pytestmark = pytest.mark.django_db

PROSE = "The committee met on Tuesday to discuss the budget. It agreed to spend more on roads."


def study_with(
    *, instances: int = 12, gold: int = 0, test: int = 0, training: int = 0, **screening
):
    """Return an open study with these numbers of reference units and one comparison per HIT."""
    study = make_study(instances=instances, comparisons_per_hit=1)
    Generation.objects.update(text=PROSE)
    for role, n in (("gold", gold), ("training", training), ("qualification", test)):
        if n:
            degrade_copies(study=study, role=Unit.Role(role), n=n)
    plan_hits(study=study)
    Screening.objects.create(
        study=study, training_units=training, qualification_units=test, **screening
    )
    return open_knowingly(study)


def label_for(assignment: Assignment, hit_unit, *, right: bool) -> str:
    """Return the known label or its opposite, as shown. For main units, return either label."""
    known = Unit.objects.get(pk=hit_unit.unit_id).known_labels.get("preference", "-1")
    a_first = int(hit_unit.side_bit) ^ assignment.parity == 0
    shown = int(known) if a_first else -int(known)
    return str(shown if right else -shown)


def answer_all(
    assignment: Assignment, *, right: bool | list[bool] = True, nonresponse="", now=None
) -> None:
    sheet = worksheet(assignment)
    verdicts = right if isinstance(right, list) else [right] * len(sheet.hit_units)
    criterion = sheet.criteria[0]
    for verdict, hit_unit in zip(verdicts, sheet.hit_units.values(), strict=True):
        submit_rating(
            assignment=assignment,
            hit_unit=hit_unit,
            criterion=criterion,
            answer=Answer(
                label_for(assignment, hit_unit, right=verdict),
                client_key=f"k{hit_unit.pk}",
                nonresponse=nonresponse,
            ),
            now=now,
        )


def fresh(participation: Participation) -> Participation:
    return Participation.objects.select_related("study").get(pk=participation.pk)


def test_it_works():
    study = study_with(test=10, pass_mark=9)
    ann = make_participation(study)
    assert next_step(fresh(ann)) == Step.QUALIFICATION
    with pytest.raises(NotCleared):
        take_place(participation=ann)
    test = begin_stage(participation=fresh(ann))
    answer_all(test, right=[True] * 9 + [False])
    assert ScreeningAttempt.objects.get().is_passed
    assert clear_participation(participation=fresh(ann)) == Step.NONE
    assert take_place(participation=ann).hit.kind == "main"


def test_below_the_pass_mark_there_is_no_work_and_no_place_was_held():
    study = study_with(test=10, pass_mark=9)
    ann = make_participation(study)
    answer_all(begin_stage(participation=fresh(ann)), right=[True] * 8 + [False] * 2)
    assert fresh(ann).status == "screened_out"
    assert not Place.objects.exclude(assignment=None).exists()
    with pytest.raises(DomainError):
        take_place(participation=ann)


def test_who_fails_the_test_is_told_of_the_test_alone():
    page = annotator(study_with(test=4, pass_mark=4))
    answer_all(begin_stage(participation=page.participation), right=False)
    told = page.client.get(page.at("end")).context["refusal"].message
    assert SCREENED_OUT_BY["qualification"] in told
    assert SCREENED_OUT_BY["comprehension"] not in told


def test_a_second_try_has_to_be_asked_for_and_draws_other_units():
    study = study_with(instances=14, test=10, pass_mark=3, qualification_tries=2)
    Screening.objects.update(qualification_units=4)
    page = annotator(study)
    ann = page.participation
    first = begin_stage(participation=ann)
    answer_all(first, right=False)
    shown = page.here()
    assert (page_of(shown), shown.context["needed"], shown.context["left"]) == ("test_failed", 3, 1)
    page.client.post(page.at("try-again"))
    second = begin_stage(participation=fresh(ann))
    asked = [
        {hit_unit.unit_id for hit_unit in worksheet(assignment).hit_units.values()}
        for assignment in (first, second)
    ]
    assert not asked[0] & asked[1]
    answer_all(second)
    assert form_of(page.here()).choices  # the first HIT
    assert fresh(ann).cleared_at is not None


def test_a_passed_test_stays_valid_for_its_days_and_where_it_is_accepted():
    first = study_with(test=3, pass_mark=3, valid_days=30)
    ann = make_participation(first)
    answer_all(begin_stage(participation=fresh(ann)))
    second = study_with(test=3, pass_mark=3, accepts_from=first)
    again = make_participation(second)
    assert next_step(fresh(again)) == Step.NONE
    later = timezone.now() + timedelta(days=31)
    assert next_step(fresh(again), later) == Step.QUALIFICATION
    stranger = make_participation(second, "bob")
    assert next_step(fresh(stranger)) == Step.QUALIFICATION


def test_training_shows_the_expected_answers_and_passes_everybody():
    study = study_with(training=2)
    page = annotator(study)
    form = form_of(page.here())
    assert "was changed on purpose" in page.send(form.filled(0), hx_request="true").content.decode()
    form = form_of(page.here())
    page.send(form.filled(0))
    assert task_of(page.here())[0] == 1
    assert page.here().context["progress"].stage == ""


def test_comprehension_gives_two_tries_and_then_no_work():
    study = study_with()
    question = ComprehensionQuestion.objects.create(
        study=study, text="Which is kept?", choices="the first\nthe second", answer=2
    )
    page = annotator(study)
    assert "Which is kept?" in page.here().content.decode()
    field = f"question-{question.pk}"
    unanswered = page.client.post(page.at("questions"), {})
    assert (unanswered.status_code, codes_on(unanswered)) == (400, {"unanswered"})
    again = page.client.post(page.at("questions"), {field: "1"})
    assert (again.context["wrong"], again.context["left"]) == ([question], 1)
    over = page.client.post(page.at("questions"), {field: "1"}, follow=True)
    assert codes_on(over) == {"screened_out"}
    assert SCREENED_OUT_BY["comprehension"] in over.content.decode()
    assert fresh(page.participation).status == "screened_out"


def test_comprehension_answered_right_leads_to_the_first_hit():
    study = study_with()
    question = ComprehensionQuestion.objects.create(
        study=study, text="Which is kept?", choices="the first\nthe second", answer=2
    )
    page = annotator(study)
    page.client.post(page.at("questions"), {f"question-{question.pk}": "2"})
    assert task_of(page.here())[0] == 1
    assert page.here().context["progress"].stage == ""


def work(ann: Participation, hits: int, *, right: bool) -> list[Assignment]:
    done = []
    for _ in range(hits):
        assignment = take_place(participation=ann)
        done.append(assignment)
        answer_all(assignment, right=right)
        if fresh(ann).status != "active":
            break
    return done


@pytest.mark.slow
def test_gold_checks_come_at_their_rate_and_never_twice():
    # With so many HITs, the share is out of bounds by chance once in a hundred thousand runs, and those
    # that are no gold check, which come first, suffice for all people.
    study = study_with(instances=80, gold=20, check_rate=0.3)
    people = [make_participation(study, name) for name in "abcde"]
    met = [assignment.check_unit_id for ann in people for assignment in work(ann, 30, right=True)]
    for ann in people:
        with_check = Assignment.objects.filter(participation=ann, check_unit__isnull=False)
        assert with_check.count() == with_check.values("check_unit").distinct().count()
        assert check_record(ann).failed == 0
    share = sum(unit is not None for unit in met) / len(met)
    assert 0.15 < share < 0.45


def test_checks_enter_no_count_and_complete_no_place_by_themselves():
    study = study_with(instances=12, gold=6, check_rate=1)
    ann = make_participation(study)
    assignment = take_place(participation=ann)
    assert len(worksheet(assignment).hit_units) == 2
    answer_all(assignment)
    place = Place.objects.get(assignment=assignment)
    assert place.completed_at is not None
    assert Rating.objects.counted().filter(unit__role="main").count() == 1
    assert stored_tallies(study=study) == +recount(study=study)


@pytest.mark.parametrize(
    ("action", "status", "counted"),
    [
        ("record", "active", 4),
        ("warn", "active", 4),
        ("stop", "stopped", 2),
        ("exclude", "excluded", 0),
    ],
)
def test_failing_checks_does_what_the_study_says(action, status, counted):
    study = study_with(instances=16, gold=8, check_rate=1, check_action=action, checks_failed=2)
    ann = make_participation(study)
    hits = []
    for _ in range(4):
        try:
            hits.append(take_place(participation=ann))
        except DomainError:
            break
        # Answer the check last, so that the HIT's other unit is answered when the check is graded.
        sheet = worksheet(hits[-1])
        for hit_unit in sorted(
            sheet.hit_units.values(), key=lambda s: s.unit_id == hits[-1].check_unit_id
        ):
            label = label_for(hits[-1], hit_unit, right=False)
            answer = Answer(label, client_key=f"k{hit_unit.unit_id}")
            submit_rating(
                assignment=hits[-1], hit_unit=hit_unit, criterion=sheet.criteria[0], answer=answer
            )
    assert fresh(ann).status == status
    assert (fresh(ann).warned_at is not None) == (action == "warn")
    main = Rating.objects.counted().filter(unit__role="main")
    assert main.count() == counted
    assert Place.objects.filter(completed_at__isnull=False).count() == counted
    live = Place.objects.filter(lease_until__isnull=False, completed_at__isnull=True)
    assert not live.exists()
    assert stored_tallies(study=study) == +recount(study=study)


def test_a_check_is_judged_when_its_hit_is_done_and_a_slip_can_be_put_right():
    study = study_with(instances=8, gold=4, check_rate=1, check_action="stop", checks_failed=1)
    ann = make_participation(study)
    assignment = take_place(participation=ann)
    sheet = worksheet(assignment)
    check = next(s for s in sheet.hit_units.values() if s.unit_id == assignment.check_unit_id)
    for right in (False, True):
        answer = Answer(label_for(assignment, check, right=right), client_key=f"once-{right}")
        submit_rating(
            assignment=assignment, hit_unit=check, criterion=sheet.criteria[0], answer=answer
        )
        assert fresh(ann).status == "active"
    answer_all(assignment, right=True)
    assert fresh(ann).status == "active"
    answer_all(take_place(participation=ann), right=False)
    assert fresh(ann).status == "stopped"
    assert Place.objects.filter(completed_at__isnull=False).count() == 2


def test_a_degraded_copy_has_the_same_words_in_disorder_with_some_missing():
    copy = perturbed(PROSE, "words/disorder/major", seed=1).text
    assert not Counter(copy.split()) - Counter(PROSE.split())
    assert 0.6 < len(copy.split()) / len(PROSE.split()) < 0.8
    assert copy not in PROSE


def test_only_comparisons_can_be_degraded():
    study = make_study(scale="ordinal:1..5", instances=4)
    with refused("nothing_known"):
        degrade_copies(study=study, role=Unit.Role.GOLD, n=1)
    short = make_study(instances=4)
    with refused("too_few_texts"):
        degrade_copies(study=short, role=Unit.Role.GOLD, n=1)


def test_a_stage_that_somebody_began_stands():
    study = study_with(test=3, pass_mark=3)
    begin_stage(participation=fresh(make_participation(study)))
    with refused("stage_begun"):
        degrade_copies(study=study, role=Unit.Role.QUALIFICATION, n=1)
    assert degrade_copies(study=study, role=Unit.Role.GOLD, n=1) == 1


def test_of_a_strong_preference_the_side_counts():
    assert Scale.parse("preference:7").order_labels
    study = make_study(instances=6, comparisons_per_hit=1, scale="preference:7")
    Generation.objects.update(text=PROSE)
    plan_hits(study=study)
    degrade_copies(study=study, role=Unit.Role.QUALIFICATION, n=2)
    Screening.objects.create(study=study, qualification_units=2, pass_mark=2)
    study = open_knowingly(study)
    ann = make_participation(study)
    test = begin_stage(participation=fresh(ann))
    for hit_unit in worksheet(test).hit_units.values():
        shown = "-1" if int(hit_unit.side_bit) ^ test.parity == 0 else "1"
        submit_rating(
            assignment=test,
            hit_unit=hit_unit,
            criterion=Study.objects.get().criteria.get(),
            answer=Answer(shown, client_key=f"k{hit_unit.pk}"),
        )
    assert ScreeningAttempt.objects.get().is_passed


def test_an_export_with_tests_and_checks_is_read_back_and_analysed(tmp_path):
    study = study_with(instances=12, gold=4, test=3, pass_mark=1, check_rate=1)
    for name in "ab":
        ann = make_participation(study, name)
        answer_all(begin_stage(participation=fresh(ann)))
        work(ann, 4, right=True)
    export_study(study=study, out=tmp_path / "out", formats=["jsonl"])
    call_command("analyze", tmp_path / "out", "--out", tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["criteria"]["preference"]["n_ratings"] == 8
    imported = import_study(path=tmp_path / "out", owner=None).study
    roles = Counter(imported.units.values_list("role", flat=True))
    assert (roles["gold"], roles["qualification"]) == (4, 3)
    assert Rating.objects.filter(unit__study=imported).count() == 8 + 8 + 6


def write_rows(path, rows) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


KNOWN = {
    "instance": "note-0",
    "system_a": "system-0",
    "sample_a": 1,
    "system_b": "system-1",
    "sample_b": 2,
    "labels": {"preference": -1},
    "explanation": "The second leaves out who was there.",
}


def test_units_with_the_researchers_own_answers_come_from_a_file(tmp_path):
    study = make_study(instances=3)
    plan_hits(study=study)
    write_rows(tmp_path / "known.jsonl", [KNOWN, KNOWN | {"instance": "note-1"}])
    path = tmp_path / "known.jsonl"
    assert import_reference_units(study=study, role=Unit.Role.TRAINING, path=path) == 2
    unit = study.units.filter(role="training").first()
    assert unit.known_labels == {"preference": "-1"}
    assert (unit.text_a.sample, unit.text_b.sample) == (1, 2)
    assert study.hits.get(kind="training").units.count() == 2
    assert study.hits.main().count() == 3


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"sample_a": 9}, "unknown_generation"),
        ({"system_b": "system-7"}, "unknown_generation"),
        ({"labels": {"preference": 5}}, "label_not_on_scale"),
        ({"labels": {"fluency": 1}}, "unknown_criterion"),
        ({"labels": {}}, "labels_missing"),
        ({"system_a": "system-1", "system_b": "system-0"}, "systems_out_of_order"),
    ],
)
def test_a_bad_row_of_reference_units_is_named_and_nothing_is_added(tmp_path, change, code):
    study = make_study(instances=3)
    write_rows(tmp_path / "known.jsonl", [KNOWN, KNOWN | change])
    with refused_file(("known.jsonl", 2, code)):
        import_reference_units(study=study, role=Unit.Role.GOLD, path=tmp_path / "known.jsonl")
    assert not study.units.exists()


def test_a_return_on_the_platform_leaves_the_test_as_it_was():
    study = study_with(test=3, pass_mark=1)
    ann = make_participation(study)
    answer_all(begin_stage(participation=fresh(ann)))
    work(ann, 2, right=True)
    exclude_work(participation=fresh(ann), status="returned")
    reinstate_work(participation=fresh(ann))
    test = Rating.objects.filter(unit__role="qualification")
    assert test.count() == 3
    assert not test.filter(surplus=True).exists()
    assert not test.filter(excluded=True).exists()
    assert Rating.objects.counted().filter(unit__role="main").count() == 2


def test_the_last_item_of_a_test_says_that_it_ends_it_and_the_first_task_that_it_was_passed():
    ann = annotator(study_with(test=2, pass_mark=1))
    labels = []
    for _ in range(2):
        page = ann.here()
        labels.append(page.context["progress"].next_label)
        assert f">{labels[-1]}</button>" in page.content.decode()
        assert codes_on(page) == set()
        sheet = worksheet(ann.participation.assignments.get(run__gt=""))
        answer = label_for(sheet.assignment, sheet.hit_units[sheet.first_open], right=True)
        ann.send(form_of(page).hidden | {"criterion-preference": answer})
    assert labels[0] != labels[1]
    assert codes_on(ann.here()) == {"test_passed"}
    assert codes_on(ann.here()) == set()


@pytest.mark.parametrize("action", Screening.CheckAction.values)
def test_the_welcome_page_says_whether_failed_checks_end_the_work(client, action):
    study = study_with(gold=2, check_rate=0.5, check_action=action, checks_failed=2)
    page = client.get(reverse("recruitment:welcome", args=[study.pk]))
    assert ("data-checks" in page.content.decode()) == (action in {"stop", "exclude"})
