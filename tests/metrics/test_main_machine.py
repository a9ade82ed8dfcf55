"""The machine rater that leads was chosen, or else has most answers, and the number says which."""

import json

import pytest
from django.contrib.auth.models import User

from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from metrics.exports.document.study_facts import deviation_table
from metrics.results.selectors import stored_report
from metrics.results.services import refresh_report, watermark
from studies.models import Study, StudyEvent
from tests.annotation.exports.test_study_export import rated
from tests.architecture.test_roles import member
from tests.pages import send_step
from tiebreak.cli import main
from tiebreak.reading.leading_numbers import leading_numbers
from tiebreak.reading.messages import CHOSEN_AS_MAIN, MOST_ANSWERS, NOT_RATED_BY_MAIN

pytestmark = pytest.mark.django_db
MOST = MOST_ANSWERS.format(n=2)


@pytest.fixture
def study(tmp_path) -> Study:
    """Return a study of which the judge rated all items, and another machine rater two."""
    rated(tmp_path / "b")
    path = tmp_path / "b" / "ratings.jsonl"
    lines = path.read_text().splitlines()
    few = [line.replace('"judge"', '"few"') for line in lines if '"judge"' in line][:2]
    path.write_text("\n".join([*lines, *few]))
    return import_study(path=tmp_path / "b").study


@pytest.mark.parametrize(
    ("chosen", "leads", "said"),
    [
        ("", "judge", MOST),
        ("few", "few", CHOSEN_AS_MAIN.format(n=2)),
        ("gone", "judge", MOST + NOT_RATED_BY_MAIN.format(chosen="gone")),
    ],
)
def test_the_number_says_how_its_machine_rater_was_chosen(study, chosen, leads, said, tmp_path):
    study.main_machine = chosen
    study.save()
    about = stored_report(refresh_report(study=study)).criteria["preference"]
    sentence = leading_numbers(about)[3].sentence
    assert about.machines_main_first[0] == leads
    assert leads in sentence
    assert f"one annotator{said};" in sentence
    export_study(study=study, out=tmp_path / "export")
    assert not main(["analyze", f"{tmp_path}/export", f"--out={tmp_path}/r.json"])
    again = json.loads((tmp_path / "r.json").read_text())["criteria"]["preference"]
    assert again.get("main_machine", "") == chosen
    assert import_study(path=tmp_path / "export").study.main_machine == chosen


def test_choosing_it_after_opening_is_logged_and_a_deviation(study):
    client, path = member(study, "owner"), f"/studies/{study.pk}/design/analysis-plan/"
    field = client.get(path).context["adminform"].form.fields["main_machine"]
    assert [name for name, _ in field.widget.choices] == ["", "few", "judge"]
    states = [watermark(study)]
    for name in ("few", "few", ""):
        study.refresh_from_db()
        send_step(client, path, main_machine=name)
        states.append(watermark(study))
    assert states[0] == states[3] != states[1] == states[2]
    events = study.events.filter(verb=StudyEvent.Verb.MAIN_MACHINE).order_by("pk")
    owner = User.objects.get(username="owner")
    assert [(event.by, event.details["from"]) for event in events] == [(owner, ""), (owner, "few")]
    assert len(deviation_table(study).rows) == 2
