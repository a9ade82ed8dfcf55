"""The analysis plan is fixed at opening, carried by the export, followed and compared with the log."""

import json

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from annotation.services.planning import grow_ratings_per_hit
from metrics.exports.document.build import build_document
from metrics.results.selectors import stored_report
from metrics.results.services import refresh_report
from recruitment.services.launch_checks import launch_checks
from recruitment.services.lifecycle import close_study
from recruitment.services.participants import exclude_participant
from studies.models import Criterion, Study, StudyEvent
from studies.services import save_design
from tests.refusals import refused
from tests.studies.factories import make_study
from tests.tiebreak.reading.test_while_open import A_WINS, answer, section, small_study
from tests.tiebreak.test_cli import run
from tiebreak.formats.evidence import design_digest
from tiebreak.reading.while_open import unreached

pytestmark = pytest.mark.django_db

PLAN = {
    "main_criteria": "preference",
    "estimands": "The win rate of system-0.",
    "planned_exclusions": "Two failed checks.",
}


def report_of(study: Study):
    return stored_report(refresh_report(study=study))


def texts(study: Study) -> str:
    now = timezone.now()
    document = build_document(study=study, report=report_of(study), made_at=now, written_at=now)
    parts = {part.title: part for part in document.sections}
    return str([parts[title].blocks for title in ("Analysis plan", "Deviations")])


def test_the_log_records_the_digest_of_the_plan_at_opening():
    first, second = small_study(**PLAN), small_study(**PLAN)
    digests = [s.events.get(verb="open").details["design_sha256"] for s in (first, second)]
    other = small_study(**PLAN | {"planned_exclusions": "Nobody."})
    assert digests[0] == digests[1]
    assert other.events.get(verb="open").details["design_sha256"] not in digests


def test_a_setting_that_a_later_version_adds_leaves_the_digest_as_it_was():
    now = design_digest({"margin": 2}, {"margin": 0}, systems=["a"])
    assert now == design_digest({"margin": 2, "new": ""}, {"margin": 0, "new": ""}, systems=["a"])
    assert now != design_digest({"margin": 2, "new": 1}, {"margin": 0, "new": ""}, systems=["a"])


def test_the_plan_is_frozen_when_the_study_opens():
    study = small_study(**PLAN)
    study.planned_exclusions = "Those whom I do not like."
    with refused("frozen_design"):
        save_design(study=study)


@pytest.mark.parametrize(
    ("design", "code"),
    [
        ({"main_criteria": "preference; style"}, "unknown_main_criterion"),
        ({"stopping_rule": "width"}, "no_target_width"),
        ({"known_order": "system-1; system-7"}, "unknown_system_in_order"),
    ],
)
def test_a_plan_that_cannot_be_followed_keeps_the_study_from_opening(design, code):
    assert code in {check.code for check in launch_checks(make_study(**design)) if check.is_error}
    fine = make_study(
        stopping_rule="width",
        target_width=0.1,
        main_criteria="preference",
        known_order="system-1; system-0",
    )
    refusals = {"unknown_main_criterion", "no_target_width", "unknown_system_in_order"}
    assert not refusals & {check.code for check in launch_checks(fine)}


def test_the_plan_is_a_step(client):
    study = make_study(member=User.objects.create_user("ada", is_staff=True))
    client.force_login(study.members.get())
    address = reverse("recruitment:analysis-plan", args=[study.pk])
    form = client.get(address).context["adminform"].form
    values = {name: form[name].value() for name in form.fields}
    values = {name: "" if value is None else value for name, value in values.items()}
    client.post(address, {**values, **PLAN, "target_width": "0.1", "_continue": "1"})
    study.refresh_from_db()
    assert (study.estimands, study.target_width) == (PLAN["estimands"], 0.1)


def test_the_level_is_split_over_the_main_criteria():
    study = small_study()
    style = {"name": "style", "question": "?", "scale": "preference:tie", "position": 1}
    Criterion.objects.create(study=study, **style)
    answer(study, "ann", A_WINS, hits=2)
    assert section(study).stopping.statements == 2
    Study.objects.filter(pk=study.pk).update(main_criteria="style")
    about = section(Study.objects.get(pk=study.pk)).stopping
    assert about.statements == 1
    assert about.pairs == {}  # the first criterion is not a main one
    assert about.reason


def test_a_study_that_may_end_by_its_sequence_keeps_it():
    study = small_study(stopping_rule="excludes-half")
    answer(study, "ann", A_WINS, hits=16)
    assert unreached(section(study))


def test_the_export_carries_the_plan_and_analyses_follow_it(tmp_path):
    study = small_study(**PLAN, target_width=0.2)
    answer(study, "ann", A_WINS, hits=16)
    export_study(study=study, out=tmp_path / "export")
    assert run("analyze", tmp_path / "export", "--out", tmp_path / "report.json") == 0
    again = json.loads((tmp_path / "report.json").read_text())
    here = report_of(study).as_json()
    assert again["plan"] == here["plan"]
    assert here["plan"]["main_criteria"] == ["preference"]
    assert here["plan"]["target_width"] == 0.2
    assert again["source"]["rows_sha256"] == here["source"]["rows_sha256"]
    here["criteria"]["preference"].pop("stopping")
    assert again["criteria"] == here["criteria"]
    copy = import_study(path=tmp_path / "export").study
    assert (copy.estimands, copy.target_width) == (PLAN["estimands"], 0.2)


def test_main_criteria_come_first_and_those_without_ratings_are_named():
    study = small_study()
    Criterion.objects.create(
        study=study, name="style", question="?", scale="preference:tie", position=1
    )
    Study.objects.filter(pk=study.pk).update(main_criteria="style")
    answer(study, "ann", A_WINS, hits=2)
    report = report_of(Study.objects.get(pk=study.pk))
    assert report.criteria_order == ("style", "preference")
    Study.objects.filter(pk=study.pk).update(main_criteria="grammar")
    assert "grammar" in report_of(Study.objects.get(pk=study.pk)).problems


def test_a_study_without_a_plan_has_none():
    study = small_study()
    answer(study, "ann", A_WINS, hits=2)
    assert report_of(study).plan is None
    assert "exploratory" in texts(study)


def test_the_report_lists_what_departed_from_the_plan():
    study = small_study(**PLAN)
    answer(study, "ann", A_WINS, hits=6)
    before = texts(study)
    assert "they are unchanged" in before
    assert "closed early" not in before
    assert "were excluded" not in before
    exclude_participant(participation=study.participations.get(), reason="speed")
    answer(study, "bob", A_WINS, hits=3)
    after = texts(close_study(study=study))
    assert "closed early, after 3 of 16 planned" in after
    assert "excluded 1 time. The plan said: “Two failed checks.”" in after


def test_more_than_planned_and_accepted_late_answers_are_named():
    study = small_study(**PLAN)
    answer(study, "ann", A_WINS, hits=16)
    grow_ratings_per_hit(study=study, ratings_per_hit=2)
    answer(study, "bob", A_WINS, hits=2)
    study.refresh_from_db()
    StudyEvent.objects.create(
        study=study, verb=StudyEvent.Verb.ACCEPT_LATE, at=timezone.now(), details={}
    )
    listed = texts(study)
    assert "18 responses were collected, and 16 were planned" in listed
    assert "R was raised from 1 to 2" in listed
    assert "accepted 1 time" in listed


def test_a_design_that_is_not_what_was_frozen_is_named():
    study = small_study(**PLAN)
    answer(study, "ann", A_WINS, hits=2)
    Study.objects.filter(pk=study.pk).update(estimands="Something else.")
    assert "different now" in texts(Study.objects.get(pk=study.pk))
