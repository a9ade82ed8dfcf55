"""A report says what each machine rater is: a language model, a rule, a jury, or an upload."""

import json

import pytest

from machine_raters.juries.verdicts import possible_members
from machine_raters.services.machine_raters import create_machine_rater, start_machine_rater
from machine_raters.uploads.ratings import add_machine_ratings
from metrics.exports.document.machine_raters import TITLE, UNNAMED, UPLOADED, machine_sections
from studies.models import Criterion
from tests.annotation.exports.test_study_export import rated
from tests.machine_raters.judging.scripted import add_training_item, model
from tests.machine_raters.judging.test_judging import judge_for
from tests.metrics.exports.document.test_report_document import WRITTEN, document_of
from tests.studies.factories import make_open_study
from tiebreak.reading.document.content import DataTable, DocumentSection, ReportDocument, Verbatim
from tiebreak.reading.document.html import as_html
from tiebreak.reading.document.pdf import as_pdf

pytestmark = pytest.mark.django_db
__all__ = ["model"]


@pytest.fixture
def study(settings):
    settings.TIEBREAK_MODEL_SERVERS = {"here": {"provider": "http", "base_url": "http://secret"}}
    return make_open_study(instances=2, comparisons_per_hit=2, ratings_per_hit=1)


def section_of(study) -> DocumentSection:
    (section,) = machine_sections(study)
    return section


def kinds(study) -> dict[str, tuple[str, str]]:
    return {row[0]: row[2:] for row in section_of(study).blocks[0].rows}


def asked(study) -> dict[str, str]:
    (table,) = [block for block in section_of(study).blocks[1:] if isinstance(block, DataTable)]
    return dict(table.rows)


def rule(study, name: str, method: str):
    criterion = study.criteria.get()
    return create_machine_rater(
        kind="baseline", study=study, name=name, criterion=criterion, method=method, seed=7
    )


def upload(study, path) -> None:
    row = {"unit": study.units.first().key, "rater": "theirs", "kind": "machine", "label": 1}
    path.write_text(json.dumps(row | {"order": "ab"}) + "\n")
    add_machine_ratings(study=study, path=path)


def test_a_judge_of_several_criteria_is_described_once(study):
    Criterion.objects.create(study=study, name="fluency", question="?", scale="preference")
    judge = judge_for(study)
    judge.questions.update(steps="Read first.")
    blocks = section_of(study).blocks
    (table,) = [block for block in blocks[1:] if isinstance(block, DataTable)]
    assert dict(table.rows)["Criteria"].startswith("preference, fluency")
    assert [len(block.rows) for block in blocks[:1]] == [2]
    verbatim = [block for block in blocks if isinstance(block, Verbatim)]
    assert len(verbatim) == 3  # the instructions, and the steps for each criterion


def test_each_machine_rater_has_its_kind(study, tmp_path):
    judge_for(study)
    rule(study, "long", "longer")
    rule(study, "chance", "random")
    upload(study, tmp_path / "ratings.jsonl")
    names = ("long", "chance")
    create_machine_rater(
        kind="jury",
        study=study,
        name="both",
        criterion=study.criteria.get(),
        members=list(possible_members(study).filter(pseudonym__in=names)),
        rule="vote",
    )
    assert kinds(study) == {
        "gpt": ("judge", "language model tiny"),
        "long": ("simple rater", "prefers the longer text, in characters"),
        "chance": ("simple rater", "prefers one of the two at random (seed 7)"),
        "both": ("jury", "one vote for each member; members: chance, long"),
        "theirs": ("uploaded", UPLOADED),
    }


def test_an_excluded_one_is_listed_with_the_reason(study):
    baseline = rule(study, "long", "longer")
    baseline.excluded, baseline.excluded_reason = True, "the wrong criterion"
    baseline.save()
    assert kinds(study)["long"][1].endswith("Excluded: the wrong criterion")


def test_without_machine_raters_there_is_no_section(study):
    assert machine_sections(study) == []


def test_a_judge_has_its_model_and_settings(study, model):
    model(lambda request: "I think.\nB")
    add_training_item(study, "1")
    judge = judge_for(study, temperature=0.5, examples=1, comparisons="random", budget=3)
    assert asked(study)["Name and revision that the server gave"] == "no answer yet"
    start_machine_rater(machine=judge)
    rows = asked(study)
    assert rows["Language model"] == "tiny"
    named = rows["Name and revision that the server gave"]
    assert named.startswith("tiny-1, no revision: 3 answers, of which 0 could not be read, from ")
    assert rows["Temperature"] == "0.5"
    assert rows["Comparisons and orders"] == (
        "random: pairs with an order drawn at random; budget: 3"
    )
    assert rows["Examples before each question"] == (
        f"1 training item (SHA-256 {judge.questions.get().examples_sha256})"
    )


def test_a_judge_by_probabilities_has_no_temperature(study):
    judge = judge_for(study, answered_by="probability")
    judge.language_model = ""
    judge.save()
    rows = asked(study)
    assert rows["Answers"] == "the model's probability of each answer"
    assert "Temperature" not in rows
    assert rows["Language model"] == UNNAMED


def test_instructions_and_steps_are_listed_and_the_server_is_not(study):
    judge = judge_for(study, instructions="Judge {question} by <b>{answers}</b>.")
    judge.questions.update(steps="1. Read both.")
    section = section_of(study)
    listed = [block for block in section.blocks if isinstance(block, Verbatim)]
    assert [block.text for block in listed] == [judge.instructions, "1. Read both."]
    document = ReportDocument("t", "s", "d", WRITTEN, (section,), "")
    page = as_html(document)
    assert "Judge {question} by &lt;b&gt;{answers}&lt;/b&gt;." in page
    assert listed[0].title in page
    assert "secret" not in page
    assert "here" not in {cell for table in document.tables for row in table.rows for cell in row}
    assert as_pdf(document).startswith(b"%PDF-")


def test_the_document_has_the_machine_raters_of_an_import(tmp_path):
    document = document_of(rated(tmp_path / "b"))
    (section,) = (one for one in document.sections if one.title == TITLE)
    assert {row[2:] for row in section.blocks[0].rows} == {("uploaded", UPLOADED)}
