"""Further texts of instances, from a table to raters, judges, prompts and exports."""

import json
import re

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from lxml.html import fromstring

from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from annotation.services.planning import plan_hits
from machine_raters.synthetic.passages import passages_of
from recruitment.services.cloning import clone_study
from studies.data.table_import import BadTable, Choice, import_table, parse_columns
from studies.models import Instance, Study, System
from studies.systems.prompts import template_of
from tests.annotation.annotators import annotator
from tests.machine_raters.judging.test_judging import judge_for
from tests.paths import ROOT
from tests.refusals import refused
from tests.studies.factories import make_study, open_knowingly
from tiebreak.asking.prompts import prompt_of
from tiebreak.asking.samples import prompt_for
from tiebreak.errors import InvalidInput
from tiebreak.formats.rows import read_rows
from tiebreak.formats.shown_fields import field_texts, parsed_fields
from tiebreak.formats.tables import TableReading, open_table

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
FIELDS = (
    "passage | Retrieved passage | raters and judges | after\nhint | | judges\nfacts | | raters"
)
METADATA = {
    "passage": ["First.", "Second."],
    "hint": "A hint.",
    "facts": "Facts.",
    "own": "Secret.",
}
LABEL = "<img src=x onerror=alert(9)>"
ATTACK = (
    "<script>alert(1)</script></details></section><img src=x onerror=alert(2)>"
    "[click](javascript:alert(3)) ![x](https://evil.example/p.png) {{191*193}}{% load static %}"
)


def make(metadata=METADATA, fields=FIELDS, **design) -> Study:
    study = make_study(instances=2, samples=1, ratings_per_hit=1, fields=fields, **design)
    Instance.objects.update(metadata=metadata)
    plan_hits(study=study)
    return open_knowingly(study)


def told(page) -> str:
    return page.content.decode()


# The setting.


def test_a_line_has_a_name_a_label_readers_and_a_place():
    shown = [(f.name, f.label, sorted(f.readers), f.is_before) for f in parsed_fields(FIELDS)]
    assert shown == [
        ("passage", "Retrieved passage", ["judges", "raters"], False),
        ("hint", "Hint", ["judges"], True),
        ("facts", "Facts", ["raters"], True),
    ]


@pytest.mark.parametrize(
    ("setting", "code"),
    [
        ("a_b\na_b", "repeated_name"),
        ("x | X | nobody", "bad_field"),
        ("x | X | raters | judges", "bad_field"),
        (f"x | {'l' * 81}", "bad_field"),
        ("source", "reserved_name"),
        ("A", "reserved_name"),
        ("| label", "bad_field_name"),
        ("x]", "bad_field_name"),
        ("x" * 101, "bad_field_name"),
        ("x\u202ey", "unprintable_character"),
        ("x | y\u202ez", "unprintable_character"),
        ("\n".join(f"x{i}" for i in range(21)), "too_many_fields"),
    ],
)
def test_a_setting_that_cannot_be_shown_is_refused(setting, code):
    with pytest.raises(InvalidInput) as error:
        parsed_fields(setting)
    assert error.value.code == code
    with pytest.raises(ValidationError):
        Study(title="t", fields=setting).clean_fields(exclude=["dataset"])


# Raters and researchers.


def test_raters_see_their_fields_in_order_and_nothing_else_of_the_metadata():
    page = annotator(make()).here()
    source = fromstring(told(page)).xpath("//section[@class='source']")[0]
    assert [h.text_content() for h in source.xpath(".//h2")] == [
        "Facts",
        "Source text",
        "Retrieved passage",
    ]
    assert "Facts." in told(page)
    assert "First.\n\nSecond." in told(page)
    assert "A hint." not in told(page)
    assert "Secret." not in told(page)


def test_fields_without_a_source_have_the_heading_that_names_the_section():
    study = make()
    Instance.objects.update(source="")
    section = fromstring(told(annotator(study).here())).xpath("//section[@class='source']")[0]
    (heading,) = section.xpath(f".//*[@id='{section.get('aria-labelledby')}']")
    assert heading.text_content() == "Retrieved passage"


def test_an_instance_without_a_field_shows_no_heading_for_it():
    assert "Retrieved passage" not in told(annotator(make({"passage": " \n"})).here())


def test_fields_take_no_further_statement():
    counts = []
    for fields in ("", FIELDS):
        person = annotator(make(fields=fields))
        person.here()
        with CaptureQueriesContext(connection) as queries:
            person.here()
        counts.append(len(queries))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("text_format", ["plain", "markdown"])
def test_hostile_texts_are_text_wherever_raters_see_them(text_format, admin_client):
    setting = f"passage | {LABEL} | raters | after\nfacts"
    study = make({"passage": ATTACK, "facts": ATTACK}, setting, source_format=text_format)
    person = annotator(study)
    pages = [person.here()]
    person.choose()
    preview = reverse("recruitment:preview", args=[study.pk])
    pages += [admin_client.get(f"{preview}?page=unit")]
    pages += [admin_client.get(reverse("annotation:data", args=[study.pk]))]
    participant = study.participations.get().public_id
    pages += [admin_client.get(reverse("recruitment:participant", args=[study.pk, participant]))]
    for page in pages:
        assert page.status_code == 200
        assert "191*193" in told(page)
        tree = fromstring(told(page))
        assert not tree.xpath("//script[contains(., 'alert')] | //*[@onerror] | //img[@src='x']")
        assert not tree.xpath(
            "//a[starts-with(@href, 'javascript')] | //img[contains(@src, 'evil')]"
        )


def test_every_page_with_the_source_of_an_instance_has_its_fields():
    shows = re.compile(r"(instance|item)\.source(\|\w+:\d+)? \}\}|text=[\w.]+\.source")
    partial = re.compile(r"include \"(shown_fields|annotation/field)\.html\"")
    pages = {p: p.read_text() for p in (ROOT / "templates").rglob("*.html")}
    with_source = {p.name for p, text in pages.items() if shows.search(text)}
    # The page of a dataset belongs to no study, whose setting says what a field is.
    assert with_source - {"change_form.html"} == {
        p.name for p, t in pages.items() if partial.search(t)
    }


@pytest.mark.parametrize("text_format", ["plain", "markdown"])
def test_a_long_field_is_folded_and_does_not_keep_the_page_from_working(text_format):
    page = annotator(make({"passage": "word " * 200_000}, source_format=text_format)).here()
    assert page.status_code == 200
    assert len(fromstring(told(page)).xpath("//section[@class='source']//details")) == 1


# Judges and prompts.


def shown_to_judge(study: Study) -> str:
    judge = judge_for(study)
    unit = study.units.filter(instance__key="note-0").with_texts().get()
    *_, last = prompt_of(judge.questions.get(), unit, "ab")
    return last.content


def test_judges_get_their_fields_as_marked_material():
    parts = re.findall(r"\[(\w+) \w{12}\]\n(.*?)\n\[end", shown_to_judge(make()), re.S)
    assert [name for name, _ in parts] == ["hint", "source", "passage", "A", "B"]
    assert dict(parts)["passage"] == "First.\n\nSecond."


def test_prompts_of_studies_without_fields_are_as_they_were():
    shown = re.sub(r" \w{12}\]", "]", shown_to_judge(make(fields="")))
    texts = {"source": "Source text 0.", "A": "Text 0 0 0.", "B": "Text 0 1 0."}
    assert shown == "\n\n".join(f"[{name}]\n{text}\n[end]" for name, text in texts.items())


def test_prompts_of_systems_can_name_a_field():
    system = System(prompt_template="{field passage}: {source} {field none} {passage}")
    instance = Instance(source="Why? {field passage}", metadata={"passage": "{source}"})
    expected = "{source}: Why? {field passage} {field none} {passage}"
    assert prompt_for(instance, template_of(system, "")) == expected


def test_the_passage_of_the_rag_template_is_a_field():
    study = make()
    (passage,) = passages_of(study)
    assert (passage.text, passage.question) == ("First.\n\nSecond.", "Source text 0.")
    made = passage.asked("Why?")
    assert (made.source, made.metadata) == ("Why?", {"passage": "First.\n\nSecond."})


# Files.


def rows_of(path) -> list[dict]:
    return list(read_rows(path))


def test_an_exported_study_loads_back_equal(tmp_path):
    study = make()
    export_study(study=study, out=tmp_path / "a")
    again = import_study(path=tmp_path / "a").study
    assert again.fields == study.fields
    export_study(study=again, out=tmp_path / "b")
    for name in ("study.toml", "instances.jsonl"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_ratings_with_texts_and_preferences_have_the_fields(kind, tmp_path):
    study = make({"passage": "=1+1", "facts": 7})
    annotator(study).choose(0)
    export_study(
        study=study, out=tmp_path / "e", formats=(kind, "preference", "hf"), with_texts=True
    )
    cells = (tmp_path / "e" / f"ratings.{kind}").read_bytes()
    assert b"field_passage" in cells
    assert b"=1+1" in cells
    (row, *_) = map(json.loads, (tmp_path / "e" / "preference.jsonl").read_text().splitlines())
    assert (row["field_passage"], row["field_hint"], row["field_facts"]) == ("=1+1", "", "7")
    assert "field_passage" in (tmp_path / "e" / "hf" / "README.md").read_text()
    assert "field_passage" in (tmp_path / "e" / "codebook.md").read_text()


def test_a_clone_keeps_the_fields():
    assert clone_study(study=make()).study.fields == FIELDS


# Tables.

PASSAGES = ["A long passage about ships.", "A long passage about bees."]


def table(tmp_path, **columns):
    rows = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    path = tmp_path / "table.json"
    path.write_text(json.dumps(rows))
    return path


def answers(tmp_path, **more):
    texts = {f"answer_{s}": [f"The answer {i} of {s} is here." for i in range(2)] for s in "xy"}
    return table(tmp_path, question=["What are ships?", "What are bees?"], **texts, **more)


def test_a_plainly_named_column_becomes_a_field_that_is_shown(tmp_path):
    owner = User.objects.create_user("ada", is_staff=True)
    study = import_table(path=answers(tmp_path, passage=PASSAGES), owner=owner, title="t").study
    assert study.fields == "passage"
    stored = study.dataset.instances.order_by("pk").values_list("source", "metadata")
    assert list(stored) == [
        ("What are ships?", {"passage": PASSAGES[0]}),
        ("What are bees?", {"passage": PASSAGES[1]}),
    ]


def test_any_column_is_a_field_by_choice(tmp_path):
    text = "source=question,text:x=answer_x,text:y=answer_y,field:hint=plan, b"
    columns = parse_columns(text)
    assert columns["field:hint"] == "plan, b"
    owner = User.objects.create_user("ada", is_staff=True)
    path = answers(tmp_path, **{"plan, b": PASSAGES})
    choice = Choice(columns=columns, is_complete=True)
    study = import_table(path=path, owner=owner, title="t", choice=choice).study
    texts = field_texts(study.fields, study.dataset.instances.first().metadata, "judges")
    assert [(one.label, one.text) for one in texts] == [("Hint", PASSAGES[0])]


def test_the_command_reads_fields(tmp_path):
    User.objects.create_user("ada", is_staff=True)
    path = answers(tmp_path, notes=PASSAGES)
    columns = "source=question,text:x=answer_x,text:y=answer_y,field:remarks=notes"
    call_command("import_table", path, owner="ada", title="t", columns=columns)
    assert Study.objects.get().fields == "remarks"


@pytest.mark.parametrize(
    ("role", "code"),
    [
        ("field:", "bad_field_name"),
        ("field:source", "reserved_name"),
        ("field:a|b", "bad_field_name"),
    ],
)
def test_a_field_needs_a_name(role, code, tmp_path):
    with open_table(answers(tmp_path)) as opened, refused(code):
        TableReading(opened, columns={role: "question"})


def test_rows_of_an_instance_must_agree_on_its_field_which_is_not_guessed_else(tmp_path):
    columns = {
        "id": ["i", "i", "j", "j"],
        "model": ["x", "y", "x", "y"],
        "output": [f"The answer number {i} is here." for i in range(4)],
        "question": ["What are ships?"] * 2 + ["What are bees?"] * 2,
        "passage": [f"Passage {i} about ships." for i in range(4)],
    }
    path = table(tmp_path, **columns)
    owner = User.objects.create_user("ada", is_staff=True)
    with open_table(path) as opened:
        plan = TableReading(opened).plan
    assert (plan.columns["source"], plan.fields) == ("question", {})
    agreeing = table(tmp_path, **columns | {"passage": [p for p in PASSAGES for _ in "xy"]})
    with open_table(agreeing) as opened:
        assert TableReading(opened).plan.fields == {"passage": "passage"}
    table(tmp_path, **columns)
    chosen = {"instance": "id", "system": "model", "text": "output", "field:passage": "passage"}
    with pytest.raises(BadTable) as refusal:
        import_table(path=path, owner=owner, title="t", choice=Choice("long", chosen))
    assert {problem.code for problem in refusal.value.summary.problems} == {"duplicate_id"}


@pytest.mark.parametrize("text", ["nul \0 byte", "lone \ud800 surrogate", [["a list"]]])
def test_what_cannot_be_stored_or_read_is_refused_by_row(text, tmp_path):
    owner = User.objects.create_user("ada", is_staff=True)
    path = answers(tmp_path, passage=[text, PASSAGES[1]])
    columns = parse_columns("source=question,text:x=answer_x,text:y=answer_y,field:p=passage")
    choice = Choice(columns=columns, is_complete=True)
    with refused("bad_table"):
        import_table(path=path, owner=owner, title="t", choice=choice)
    assert not Study.objects.exists()
