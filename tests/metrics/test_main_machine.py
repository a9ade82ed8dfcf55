"""The machine rater that leads is the one that was chosen, and else the one with most answers."""

import json

import pytest
from django.contrib.auth.models import User

from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from metrics.exports.document.study_facts import deviation_table
from metrics.results.selectors import stored_report
from metrics.results.services import refresh_report, watermark
from studies.models import Membership, Study, StudyEvent
from tests.annotation.exports.test_study_export import VOTES, rated
from tests.pages import send
from tests.studies.test_admin import form_of
from tiebreak.cli import main
from tiebreak.reading.leading_numbers import leading_numbers
from tiebreak.reading.messages import CHOSEN_AS_MAIN, MOST_ANSWERS, NOT_RATED_BY_MAIN
from tiebreak.report.model import CriterionSection

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(tmp_path) -> Study:
    """Return a study with a judge that rated all items, and one that rated two."""
    rated(tmp_path / "b")
    path = tmp_path / "b" / "ratings.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    few = [
        r | {"rater": "few"} for r in rows if r["rater"] == "judge" and r["unit"] in [*VOTES][:2]
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, *few]))
    return import_study(path=tmp_path / "b").study


def section(study: Study) -> CriterionSection:
    return stored_report(refresh_report(study=study)).criteria["preference"]


@pytest.mark.parametrize(
    ("chosen", "leads", "said"),
    [
        ("", "judge", MOST_ANSWERS.format(n=2)),
        ("few", "few", CHOSEN_AS_MAIN.format(n=2)),
        ("gone", "judge", MOST_ANSWERS.format(n=2) + NOT_RATED_BY_MAIN.format(chosen="gone")),
    ],
)
def test_the_number_says_how_its_machine_rater_was_chosen(study, chosen, leads, said, tmp_path):
    study.main_machine = chosen
    study.save()
    about = section(study)
    number = leading_numbers(about)[2]
    assert about.machines_main_first[0] == leads
    assert leads in number.sentence
    assert number.sentence.endswith(said)
    # An export's study.toml names it, too.
    export_study(study=study, out=tmp_path / "export")
    out = tmp_path / "report.json"
    assert main(["analyze", str(tmp_path / "export"), "--out", str(out), "--replicates", "0"]) == 0
    again = json.loads(out.read_text())["criteria"]["preference"]
    assert again.get("main_machine") == about.main_machine
    assert import_study(path=tmp_path / "export").study.main_machine == chosen


def test_choosing_it_after_opening_is_logged_and_a_deviation(client, study):
    user = User.objects.create_user("ada", is_staff=True)
    Membership.objects.create(study=study, user=user)
    client.force_login(user)
    path = f"/admin/studies/study/{study.pk}/change/"
    field = client.get(path).context["adminform"].form.fields["main_machine"]
    assert [name for name, _ in field.widget.choices] == ["", "few", "judge"]
    before = watermark(study)
    for name in ("few", "few", ""):
        study.refresh_from_db()
        send(client, path, form_of(study, main_machine=name))
    events = study.events.filter(verb=StudyEvent.Verb.MAIN_MACHINE).order_by("pk")
    assert [(event.by, event.details["from"]) for event in events] == [(user, ""), (user, "few")]
    assert len(deviation_table(study).rows) == 2
    study.refresh_from_db()
    assert watermark(study) == before
    Study.objects.filter(pk=study.pk).update(main_machine="few")
    assert watermark(study) != before
