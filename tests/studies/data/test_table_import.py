"""A plain table becomes a dataset and a draft study on it, or nothing at all."""

import json
from collections import Counter

import openpyxl
import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.services.planning import ensure_plan, plan_hits
from recruitment.services.launch_checks import launch_checks
from studies.access import datasets_of
from studies.data.table_import import BadTable, Choice, import_table, parse_columns
from studies.models import Dataset, Generation, Instance, Study, System
from tests.refusals import code_of, refused
from tests.tiebreak.formats.tables.cases import CASES, delimited

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada():
    return User.objects.create_user("ada", is_staff=True)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "summaries.csv"
    path.write_bytes(CASES["mockup.csv"].content)
    return path


@pytest.fixture
def flawed(table):
    table.write_bytes(table.read_bytes() + b"cnn-99,A source,,A text of vicuna,news,3\r\n")
    return table


def stored() -> list[int]:
    return [model.objects.count() for model in (Study, Dataset, System, Instance, Generation)]


def test_a_table_becomes_a_draft(table, ada):
    study = import_table(path=table, owner=ada, title="Two summarisers").study
    assert (study.title, study.status) == ("Two summarisers", "draft")
    assert [system.name for system in study.ordered_systems()] == ["bart_summary", "vicuna_summary"]
    assert study.memberships.get().user == ada
    assert study.criteria.get().parsed_scale.spec == "preference:tie"
    assert study.comparisons_per_hit == 1  # one text per system and instance
    assert stored() == [1, 1, 2, 12, 24]
    first = study.dataset.instances.get(key="cnn-040")
    assert first.source
    assert first.category in {"local news", "education"}
    assert first.generations.count() == 2


def test_texts_of_long_tables_keep_their_samples(tmp_path, ada):
    path = tmp_path / "t.csv"
    path.write_bytes(CASES["samples.csv"].content)
    study = import_table(path=path, owner=ada, title="Samples").study
    assert study.comparisons_per_hit == 3
    indices = study.dataset.instances.first().generations.values_list("sample_index", flat=True)
    assert sorted(indices) == [0, 0, 1, 1, 2, 2]


def test_many_rows_are_stored_batch_by_batch(tmp_path, ada, monkeypatch):
    monkeypatch.setattr("studies.data.table_import.BATCH", 5)
    rows = [{"item": i, "model": m, "output": f"Text {i} of {m}"} for m in "pq" for i in range(17)]
    path = tmp_path / "t.csv"
    path.write_bytes(delimited(rows))
    study = import_table(path=path, owner=ada, title="Many").study
    assert stored() == [1, 1, 2, 17, 34]
    texts = Generation.objects.filter(instance__dataset=study.dataset, instance__key="16")
    assert set(texts.values_list("system__name", "text")) == {
        ("p", "Text 16 of p"),
        ("q", "Text 16 of q"),
    }


def test_a_bad_row_refuses_the_table_and_nothing_is_stored(flawed, ada):
    with refused("bad_table") as refusal:
        import_table(path=flawed, owner=ada, title="Flawed")
    (problem,) = refusal.value.summary.problems
    assert (problem.row, problem.column, problem.code) == (14, "bart_summary", "empty_text")
    assert stored() == [0] * 5


def test_bad_rows_are_left_out_on_request(flawed, ada):
    imported = import_table(path=flawed, owner=ada, title="Flawed", bad_rows="leave_out")
    assert imported.summary.n_problems == 1
    assert stored() == [1, 1, 2, 12, 24]


def test_a_table_of_which_nothing_is_left_is_refused_even_so(tmp_path, ada):
    path = tmp_path / "t.csv"
    path.write_text("id,gpt,llama\n")
    with refused("bad_table"):
        import_table(path=path, owner=ada, title="Empty", bad_rows="leave_out")
    assert stored() == [0] * 5


def test_a_failure_while_storing_leaves_nothing(table, ada):
    def fail(_):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        import_table(path=table, owner=ada, title="Two", then=fail)
    assert stored() == [0] * 5


@pytest.mark.parametrize("title", ["", " ", "x" * 201, "two\nlines"])
def test_a_title_that_no_study_can_have_is_refused(title, table, ada):
    with refused("bad_title"):
        import_table(path=table, owner=ada, title=title)


def test_the_same_table_uses_the_dataset_that_is_there_or_is_refused(table, ada):
    first = import_table(path=table, owner=ada, title="First")
    second = import_table(path=table, owner=ada, title="Second")
    assert (first.dataset_was_known, second.dataset_was_known) == (False, True)
    assert first.study.dataset == second.study.dataset
    with refused("known_dataset"):
        import_table(path=table, owner=ada, title="Third", known_dataset="refuse")
    assert Study.objects.count() == 2


def test_anothers_dataset_is_never_shared(table, ada):
    import_table(path=table, owner=ada, title="First")
    bob = User.objects.create_user("bob", is_staff=True)
    second = import_table(path=table, owner=bob, title="Second", known_dataset="refuse")
    assert not second.dataset_was_known
    assert list(datasets_of(bob)) == [second.study.dataset]


def test_columns_are_written_as_roles():
    assert parse_columns("source=article,text:new better=a,b,instance=id") == {
        "source": "article",
        "text:new better": "a,b",
        "instance": "id",
    }
    with refused("bad_columns"):
        parse_columns("source")


# The command.


def test_the_command_says_what_it_imported(table, ada, capsys):
    call_command("import_table", str(table), "--owner", "ada", "--title", "Two", "--json")
    answer = json.loads(capsys.readouterr().out)
    assert answer["study"] == Study.objects.get().pk
    assert (answer["layout"], answer["instances"], answer["generations"]) == ("wide", 12, 24)


def test_a_dry_run_stores_nothing(flawed, ada, capsys):
    call_command(
        "import_table", str(flawed), "--owner", "ada", "--title", "T", "--dry-run", "--json"
    )
    answer = json.loads(capsys.readouterr().out)
    assert answer["layout"] == "wide"
    assert answer["columns"]["text:bart_summary"] == "bart_summary"
    assert answer["systems"] == ["bart_summary", "vicuna_summary"]
    (problem,) = answer["problems"]
    assert (problem["row"], problem["column"]) == (14, "bart_summary")
    assert problem["reason"]
    assert stored() == [0] * 5


def test_the_command_takes_a_layout_and_columns(tmp_path, ada, capsys):
    path = tmp_path / "t.csv"
    path.write_text("k,p,q\n1,Some text here.,Some other text.\n")
    call_command(
        *("import_table", str(path), "--owner", "ada", "--title", "T", "--dry-run", "--json"),
        *("--layout", "wide", "--columns", "instance=k,text:old=p,text:new=q"),
    )
    assert json.loads(capsys.readouterr().out)["systems"] == ["old", "new"]


def test_the_command_leaves_columns_out_and_reads_the_sheet_that_is_named(book, ada, capsys):
    command = ("import_table", str(book), "--owner", "ada", "--title", "T", "--json")
    call_command(*command, "--sheet", "Second", "--leave-out", "gpt", "--leave-out", "t5")
    answer = json.loads(capsys.readouterr().out)
    assert (answer["sheet"], answer["systems"]) == ("Second", ["bart"])
    assert answer["sheets"] == ["First", "Second"]


@pytest.fixture
def book(tmp_path):
    book = openpyxl.Workbook()
    for sheet, extra in ((book.active, []), (book.create_sheet("Second"), ["gpt", "t5"])):
        sheet.append(["id", "bart", *extra])
        for i in range(3):
            sheet.append([i, f"A text {i}.", *(f"Text {i} of {name}" for name in extra)])
    book.worksheets[0].title = "First"
    book.save(tmp_path / "t.xlsx")
    return tmp_path / "t.xlsx"


def test_the_command_fails_with_the_problems_and_can_leave_them_out(flawed, ada, capsys):
    command = ["import_table", str(flawed), "--owner", "ada", "--title", "T"]
    with pytest.raises(CommandError) as refusal:
        call_command(*command, "--json")
    assert isinstance(refusal.value.__cause__, BadTable)
    assert len(json.loads(capsys.readouterr().out)["problems"]) == 1
    assert not Study.objects.exists()
    call_command(*command, "--leave-out-bad-rows")
    assert Study.objects.exists()


def test_the_command_leaves_errors_of_programs_out_with_the_option_alone(tmp_path, ada, capsys):
    rows = [
        f"Prompt {n},Answer {n} is of no small length by x at all.,Answer {n} is one of the other system at some length."
        for n in range(12)
    ]
    rows[3] = (
        "Prompt 3,Answer 3 is of no small length by x at all.,Traceback (most recent call last): oh"
    )
    (tmp_path / "t.csv").write_text("\n".join(["prompt,x_answer,y_answer", *rows]))
    command = ["import_table", str(tmp_path / "t.csv"), "--owner", "ada", "--title", "T", "--json"]
    call_command(*command, "--dry-run")
    assert json.loads(capsys.readouterr().out)["generations"] == 24
    call_command(*command, "--leave-out-errors")
    told = json.loads(capsys.readouterr().out)
    assert (told["instances"], told["n_problems"]) == (11, 1)


@pytest.mark.parametrize(
    ("option", "code"),
    [
        ("--columns=source", "bad_columns"),
        ("--columns=by=k", "unknown_role"),
        ("--leave-out=k", "unknown_column"),
        ("--sheet=k", "bad_table"),
    ],
)
def test_the_command_refuses_columns_that_do_not_exist(option, code, table, ada):
    with pytest.raises(CommandError) as refusal:
        call_command("import_table", str(table), "--owner", "ada", "--title", "T", option)
    assert code_of(refusal.value) == code


def test_the_command_limits_the_rows(table, ada):
    command = ["import_table", str(table), "--owner", "ada", "--title", "T", "--max-rows"]
    with pytest.raises(CommandError) as refusal:
        call_command(*command, "11")
    assert [p.code for p in refusal.value.__cause__.summary.problems] == ["too_many_rows"]
    call_command(*command, "12")
    with pytest.raises(CommandError):
        call_command(*command, "0")


def test_a_file_that_is_not_there_or_no_table_is_named(tmp_path, ada):
    (tmp_path / "t.pdf").write_bytes(b"%PDF-1.7")
    for name in ("none.csv", "t.pdf"):
        with pytest.raises(CommandError, match=name if name == "none.csv" else "CSV"):
            call_command("import_table", str(tmp_path / name), "--owner", "ada", "--title", "T")
    with pytest.raises(CommandError, match="bob"):
        call_command("import_table", str(tmp_path), "--owner", "bob", "--title", "T")


def test_a_choice_that_is_complete_is_not_completed(table, ada):
    columns = {"text:one": "bart_summary", "text:two": "vicuna_summary"}
    choice = Choice("wide", columns, is_complete=True)
    study = import_table(path=table, owner=ada, title="T", choice=choice).study
    assert not study.dataset.instances.exclude(source="").exists()


# Prompts alone.


@pytest.fixture
def prompts(tmp_path, ada):
    path = tmp_path / "prompts.csv"
    rows = [{"id": i, "prompt": f"Describe thing {i} to a child in a few words."} for i in range(4)]
    path.write_bytes(delimited([*rows, rows[0]]))
    return import_table(path=path, owner=ada, title="Prompts")


def test_prompts_become_a_draft_without_systems(prompts):
    summary = prompts.summary
    assert (summary.plan.layout, summary.instances, summary.rows) == ("prompts", 4, 5)
    assert summary.left_out == {"repeated_rows": 1}
    assert stored() == [1, 1, 0, 4, 0]
    assert prompts.study.dataset.instances.filter(source__contains="thing 3").exists()


def test_the_pages_of_a_draft_of_prompts_open_and_say_what_is_missing(prompts, ada, client):
    client.force_login(ada)
    steps = ("studies:data", "studies:task", "metrics:generate-select", "metrics:planner")
    for page in (*steps, "metrics:dashboard", "annotation:data"):
        answer = client.get(reverse(page, args=[prompts.study.pk]))
        assert answer.status_code == 200, page
    with refused("incomplete_design"):
        plan_hits(study=prompts.study)
    assert "incomplete_design" in {check.code for check in launch_checks(prompts.study)}


def test_a_row_without_one_text_is_compared_by_its_others(tmp_path, ada):
    rows = [
        {
            "prompt": f"Where is parcel {i}?",
            "gpt": f"It is in {i}.",
            "t5": f"At {i}, I think.",
            "llama": f"In {i}.",
        }
        for i in range(6)
    ]
    rows[2]["llama"] = ""
    path = tmp_path / "t.csv"
    path.write_bytes(delimited(rows))
    with refused("bad_table"):
        import_table(path=path, owner=ada, title="Parcels")
    study = import_table(path=path, owner=ada, title="Parcels", bad_rows="leave_out").study
    ensure_plan(study=study)
    items = Counter(study.units.values_list("instance__key", flat=True))
    assert items == {str(i): 1 if i == 3 else 3 for i in range(1, 7)}
    assert not {check.code for check in launch_checks(study) if check.is_error}
