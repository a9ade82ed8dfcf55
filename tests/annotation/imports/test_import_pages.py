"""A new study from an uploaded file: the page of the file and the page of its columns."""

import csv
import io
import re
import shutil

import openpyxl
import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils.html import escape

from annotation.imports.kept_uploads import KeptUpload
from annotation.imports.sample_files import SAMPLE_FILES
from annotation.views.imports import title_of
from recruitment.services.launch_checks import launch_checks
from studies.models import Dataset, Generation, Instance, Study
from tests.pages import codes_on, levels_on, numbers_in, page_of
from tests.tiebreak.formats.readers.files import FOLDERS
from tests.tiebreak.formats.tables.cases import CASES, delimited

pytestmark = pytest.mark.django_db


UPLOAD = "annotation:new-study"


TABLE = CASES["mockup.csv"].content


FLAWED = TABLE + b"cnn-99,A source,,A text of vicuna,news,3\r\n"


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.TIEBREAK_UPLOAD_FOLDER = str(tmp_path / "uploads")
    return tmp_path / "uploads"


def upload(client, content=TABLE, name="pilot_outputs.csv", begin="texts"):
    """Upload a file, and return the address of the page of its columns."""
    address = f"{reverse(UPLOAD)}?begin={begin}"
    answer = client.post(address, {"file": SimpleUploadedFile(name, content)})
    assert answer.status_code == 302, codes_on(answer)
    return answer["Location"]


def form_of(page, **changes):
    """What a browser sends of the page of the columns."""
    rows = page.context["rows"]
    data = {
        "layout": page.context["layout"],
        "shown_layout": page.context["layout"],
        "title": page.context["title"],
        "column": [row.name for row in rows],
    }
    for number, row in enumerate(rows):
        data |= {f"role-{number}": row.role, f"system-{number}": row.system}
    return data | changes


def test_fields_are_proposed_named_and_stored(client, ruth):
    rows = [
        {
            "question": f"What are ships, part {n}?",
            **{f"answer_{s}": f"The answer {n} of {s} is here." for s in "xy"},
            "context": f"Some words on ships, part {n}.",
            "plan": f"Go to {n}.",
        }
        for n in range(3)
    ]
    address = upload(client, delimited(rows))
    rows = client.get(address).context["rows"]
    assert {(r.name, r.system) for r in rows if r.role == "field:"} == {("context", "context")}
    number = [r.name for r in rows].index("plan")
    same = {f"role-{number}": "field:", f"system-{number}": "context"}
    assert codes_on(create(client, address, **same)) == {"repeated_role"}
    created = create(client, address, **same | {f"system-{number}": "the plan"})
    assert created.status_code == 302, codes_on(created)
    study = Study.objects.get()
    assert study.fields == "context\nthe plan"
    assert study.dataset.instances.first().metadata["the plan"] == "Go to 0."


def test_the_way_back_from_a_new_study_leads_to_it(client, ruth, folder):
    address = upload(client)
    created = create(client, address)["Location"]
    assert client.post(address)["Location"] == created
    again = client.get(address, follow=True)
    assert again.redirect_chain == [(created, 302)]
    assert "already_imported" in codes_on(again)
    gone = upload(client)
    shutil.rmtree(folder)
    assert client.get(gone)["Location"] == reverse(UPLOAD)


@pytest.mark.parametrize("start", ["texts", "prompts", "ratings"])
@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ("A text of part {} is here.", "one_text"),
        ("text {}", "no_text"),
        ("{}", "no_text"),
    ],
)
def test_a_table_without_certain_ratings_leads_to_what_was_asked_for(
    cell, code, start, client, ruth
):
    table = "id,a\n" + "".join(f"{n},{cell.format(n)}\n" for n in range(3))
    page = client.get(upload(client, table.encode(), "one.csv", start))
    expected = {
        "texts": ("columns", {code}),
        # What was begun with prompts is read as prompts, also a single column of texts.
        "prompts": ("columns", set() if code == "one_text" else {"no_source"}),
        "ratings": ("ratings", {"no_rater"}),
    }
    assert (page_of(page), codes_on(page)) == expected[start]


def create(client, address, **changes):
    page = client.get(address)
    return client.post(address, form_of(page, do="create", **changes))


def test_markdown_is_recognised_and_a_template_fills_the_draft_in(client, ruth):
    rows = [
        {"prompt": f"Explain {n}.", "a": f"**Yes**, and {n} more.", "b": f"Perhaps {n} of them."}
        for n in range(4)
    ]
    page = client.get(address := upload(client, delimited(rows)))
    protocol = page.context["templates"][0]
    assert codes_on(create(client, address, template="absent")) == {"no_such_template"}
    assert not Study.objects.exists()
    assert create(client, address, template=protocol.slug).status_code == 302
    study = Study.objects.get()
    assert (study.guidelines, study.title) == (protocol.guidelines, page.context["title"])
    assert (study.generation_format, study.source_format) == ("markdown", "plain")
    assert study.source_label == "Prompt"
    page = client.get(reverse("studies:data", args=[study.pk]))
    assert "data-formats" in page.content.decode()
    assert {"4", "8"} <= numbers_in(page.context["formats"])
    codes = lambda: {check.code for check in launch_checks(study)}  # noqa: E731
    assert "raw_markdown" not in codes()
    study.generation_format = "plain"
    assert "raw_markdown" in codes()
    Generation.objects.update(text="Perhaps * some, 2 # of them.")
    assert "raw_markdown" not in codes()


def test_another_sheet_of_a_workbook_can_be_chosen(client, ruth, tmp_path):
    book = openpyxl.Workbook()
    for row in (["Notes"], ["Exported in October"]):
        book.active.append(row)
    texts = book.create_sheet("Texts")
    for row in (["prompt"], ["What is a river?"], ["Why is the sky blue?"]):
        texts.append(row)
    book.save(tmp_path / "t.xlsx")
    address = upload(client, (tmp_path / "t.xlsx").read_bytes(), "t.xlsx")
    page = client.get(address)
    assert (page.context["summary"].sheet, page.context["is_prompts"]) == ("Sheet", False)
    chosen = form_of(page, do="check", sheet="Texts", shown_sheet="Sheet")
    page = client.post(address, chosen)
    assert (page.context["layout"], page.context["is_prompts"]) == ("prompts", True)
    form = form_of(page, do="create", sheet="Texts", shown_sheet="Texts")
    assert client.post(address, form).status_code == 302
    assert Study.objects.get().dataset.instances.count() == 2
    assert not Generation.objects.exists()


def test_problems_that_are_equal_are_one_line_of_the_page_and_all_of_the_download(client, ruth):
    address = upload(client, FLAWED + FLAWED.splitlines()[-1] + b"\r\n")
    page = client.get(address)
    (problem,) = page.context["problems"]
    assert (problem.row, problem.column, page.context["summary"].n_problems) == (
        14,
        "bart_summary",
        2,
    )
    rows = client.post(f"{address}problems.csv", form_of(page)).content.decode()
    assert len(rows.splitlines()) == 3


def test_it_works(client, ruth):
    address = upload(client)
    page = client.get(address)
    assert page_of(page) == "columns"
    assert page.context["summary"].instances == 12
    answer = create(client, address, title="Two summarisers")
    study = Study.objects.get()
    assert answer["Location"] == reverse("studies:data", args=[study.pk])
    assert (study.title, study.memberships.get().user) == ("Two summarisers", ruth)
    assert Generation.objects.count() == 24
    assert levels_on(client.get(answer["Location"])) == ["success", "warning"]  # columns left out


def test_several_logs_are_one_study_of_their_systems(client, ruth):
    logs = [
        SimpleUploadedFile(path.name, path.read_bytes())
        for path in sorted(FOLDERS["inspect"].iterdir())
    ]
    page = client.post(reverse(UPLOAD), {"file": logs}, follow=True)
    assert [system.name for system in Study.objects.get().systems.order_by("name")] == [
        "mock/alpha",
        "mock/beta",
    ]
    assert Generation.objects.count() == 8
    assert "2 samples are in both logs" in page.content.decode()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("sample", SAMPLE_FILES, ids=lambda sample: sample.name)
def test_every_sample_file_is_imported_without_a_correction(sample, client, ruth):
    content = client.get(reverse("annotation:sample-file", args=[sample.name])).content
    address = upload(client, content, sample.name)
    if sample.name != "bundle.zip":
        page = client.get(address)
        assert not page.context["problems"]
        roles = {row.role for row in page.context["rows"]}
        assert "instance" in roles
        assert "source" in roles
        address = create(client, address)["Location"]
    assert page_of(client.get(address)) == "data"
    study = Study.objects.get()
    is_bundle = sample.name == "bundle.zip"
    assert study.study_systems.count() == (3 if is_bundle else 2)
    assert study.dataset.instances.count() == (60 if is_bundle else 6)


def test_there_are_no_other_samples(client, ruth):
    assert client.get(reverse("annotation:sample-file", args=["evil.csv"])).status_code == 404


def test_roles_and_names_are_corrected_by_hand(client, ruth):
    address = upload(client)
    page = client.get(address)
    names = [row.name for row in page.context["rows"]]
    bart, topic = names.index("bart_summary"), names.index("topic")
    changes = {f"system-{bart}": "BART", f"role-{topic}": ""}
    again = client.post(address, form_of(page, do="check", **changes))
    assert again.context["summary"].systems == ("BART", "vicuna_summary")
    create_again = client.post(address, form_of(page, do="create", **changes))
    assert create_again.status_code == 302
    assert Study.objects.get().ordered_systems()[0].name == "BART"
    assert not Instance.objects.exclude(category="").exists()


def test_checking_stores_nothing(client, ruth):
    address = upload(client)
    client.post(address, form_of(client.get(address), do="check"))
    assert not Dataset.objects.exists()


def test_another_layout_is_guessed_anew(client, ruth):
    address = upload(client, CASES["long.csv"].content)
    page = client.post(address, form_of(client.get(address), layout="wide"))
    assert page.context["layout"] == "wide"
    assert page.context["summary"].systems == ("output",)


def test_a_role_that_two_columns_have_is_refused_and_nothing_typed_is_lost(client, ruth):
    address = upload(client)
    page = client.get(address)
    changes = {"role-2": "source", "title": "My own title", "do": "create"}
    again = client.post(address, form_of(page, **changes))
    assert "repeated_role" in codes_on(again)
    assert again.context["rows"][2].role == "source"
    assert again.context["title"] == "My own title"
    assert not Study.objects.exists()


def test_bad_rows_are_listed_downloaded_and_left_out(client, ruth):
    address = upload(client, FLAWED)
    page = client.get(address)
    assert "empty_text" in codes_on(page)
    refusal = client.post(address, form_of(page, do="create"))
    assert refusal.status_code == 400
    assert {"bad_table", "empty_text"} <= codes_on(refusal)
    assert not Study.objects.exists()
    download = client.post(f"{address}problems.csv", form_of(page))
    rows = list(csv.reader(io.StringIO(download.content.decode())))
    assert rows[1][:2] == ["14", "bart_summary"]
    assert client.post(address, form_of(page, do="leave_out")).status_code == 302
    assert Instance.objects.count() == 12


def test_the_rows_that_are_left_out_are_named_before_and_after_the_import(client, ruth):
    address = upload(client, FLAWED)
    page = client.get(address)
    assert "1 row (row 14: " in page.content.decode()
    after = client.post(address, form_of(page, do="leave_out"), follow=True)
    (warning,) = [m.message for m in after.context["messages"] if m.level_tag == "warning"]
    assert "1 row (row 14: " in warning
    lines = warning.split("\n")
    assert len(lines) > 1
    assert "<br>".join(map(escape, lines)) in after.content.decode()


def test_a_sheet_without_texts_is_named_above_its_columns(client, ruth, tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["Export"])
    book.create_sheet("Other").append(["Nothing"])
    book.save(tmp_path / "t.xlsx")
    page = client.get(upload(client, (tmp_path / "t.xlsx").read_bytes(), "t.xlsx"))
    assert not page.context["summary"].is_usable
    assert page.content.decode().count("“Sheet”") == 1


def test_a_problem_that_begins_like_a_formula_is_downloaded_as_text(client, ruth):
    address = upload(client, b"id,=gpt,llama\n1,,Some text here.\n2,Some text.,Other text.\n")
    page = client.get(address)
    download = client.post(f"{address}problems.csv", form_of(page))
    assert all(
        not cell.startswith("=")
        for row in csv.reader(io.StringIO(download.content.decode()))
        for cell in row
    )


def test_a_file_that_is_no_table_is_told_on_the_page(client, ruth):
    page = client.post(reverse(UPLOAD), {"file": SimpleUploadedFile("t.pdf", b"%PDF-1.7")})
    assert page.context["form"].has_error("file", code="unknown_format")


def test_the_same_table_twice_asks(client, ruth):
    create(client, upload(client))
    address = upload(client)
    page = client.get(address)
    question = client.post(address, form_of(page, do="create", title="Second"))
    assert "known_dataset" in codes_on(question)
    assert Study.objects.count() == 1
    assert client.post(address, form_of(page, do="create", use_known="on")).status_code == 302
    assert (Study.objects.count(), Dataset.objects.count()) == (2, 1)


def csv_of(**columns):
    rows = [",".join(columns), *(",".join(cells) for cells in zip(*columns.values(), strict=True))]
    return "\n".join(rows).encode()


SENTENCES = [f"A sentence of six words {n}" for n in range(4)]


@pytest.mark.parametrize(("others", "codes"), [({}, {"one_system"}), ({"gpt5": SENTENCES}, set())])
def test_one_system_is_said_at_the_button_with_the_columns_that_look_like_texts(
    client, ruth, others, codes
):
    remarks = [f"Seen by somebody on day {n}" for n in range(4)]
    table = csv_of(prompt=SENTENCES, gpt4=SENTENCES[::-1], **others, remarks=remarks)
    page = client.get(upload(client, table))
    assert codes_on(page) == codes
    assert page.context["other_texts"] == ["remarks"]
    assert page.content.decode().count('class="primary"') == (0 if codes else 1)


def primary_of(page):
    """What the page's main buttons do."""
    return re.findall(r'name="do" value="(\w+)" class="primary"', page.content.decode())


def test_a_guess_that_is_not_sure_is_confirmed_by_one_button(client, ruth):
    steps = [f"Heat {k} g of butter slowly and add the milk little by little." for k in range(6)]
    file = csv_of(recipe=steps, spring=[*steps[1:], "Stir."], autumn=["Serve it.", *steps[:5]])
    address = upload(client, file)
    page = client.get(address)
    assert codes_on(page) == {"unclear_columns"}
    assert (page.context["summary"].instances, page.context["summary"].compared) == (6, 6)
    assert primary_of(page) == ["create"]
    client.post(address, form_of(page, do="create"))
    assert Study.objects.get().dataset.instances.count() == 6


def test_the_button_says_how_many_rows_it_leaves_out(client, ruth):
    address = upload(client, csv_of(prompt=SENTENCES, gpt4=SENTENCES, gpt5=[*SENTENCES[:3], ""]))
    page = client.get(address)
    assert 'name="do" value="leave_out"' in page.content.decode()
    assert "Leave out 1 row and create the study" in page.content.decode()
    refused = client.post(address, form_of(page, do="create"))
    assert re.search(r'aria-labelledby="problems-heading" [^>]*autofocus', refused.content.decode())
    client.post(address, form_of(page, do="leave_out"))
    assert Study.objects.get().dataset.instances.count() == 3


def test_an_error_of_a_program_is_left_out_by_a_tick_beside_what_the_page_says_of_it(client, ruth):
    texts = {
        s: [f"The answer {n} of {s} is a sentence of some length." for n in range(12)]
        for s in "xyz"
    }
    texts["z"][4], texts["y"][7] = "ERROR: timeout", ""
    prompts = [f"What is part {n} of a ship?" for n in range(12)]
    address = upload(client, csv_of(prompt=prompts, **{f"answer_{s}": texts[s] for s in "xyz"}))
    page = client.get(address)
    assert "Leave out 1 text and create the study" in page.content.decode()
    assert "Leave out the text that is an error" in page.content.decode()
    ticked = client.post(address, form_of(page, do="check", leave_out_errors="on"))
    assert re.search(r'id="leave-out-errors" checked', ticked.content.decode())
    assert "Leave out 2 texts and create the study" in ticked.content.decode()
    assert ticked.context["summary"].generations == 34
    assert "error_text" in codes_on(ticked)
    client.post(address, form_of(ticked, do="leave_out", leave_out_errors="on"))
    kept = Generation.objects.filter(instance__source=prompts[4])
    assert {text.system.name for text in kept} == {"answer_x", "answer_y"}
    assert Generation.objects.count() == 34


@pytest.mark.parametrize("begin", ["columns", "ratings"])
def test_an_emptied_title_is_refused_at_its_field(client, ruth, begin):
    table = csv_of(prompt=SENTENCES, gpt4=SENTENCES, gpt5=SENTENCES[::-1], winner=["gpt4"] * 4)
    address = upload(client, table, name="our_stories (1).csv")
    token = address.partition("/new/")[2].split("/")[0]
    address = reverse(f"annotation:import-{begin}", args=[token])
    page = client.get(address)
    assert page.context["title"] == "Our stories"
    sent = {"do": "create", "title": " "}
    page = client.post(address, form_of(page, **sent) if begin == "columns" else sent)
    assert page.status_code == 400
    assert re.search(r'name="title" value=" "[^>]*autofocus', page.content.decode())
    assert not Study.objects.exists()


def test_a_draft_without_texts_gets_those_of_a_file(client, ruth):
    client.post(reverse("admin:studies_study_add"), {"title": "Pilot", "unit_kind": "comparison"})
    study = Study.objects.get()
    start = f"{reverse(UPLOAD)}?study={study.pk}"
    assert start in client.get(reverse("studies:data", args=[study.pk])).content.decode()
    table = csv_of(prompt=SENTENCES, gpt4=SENTENCES, gpt5=SENTENCES[::-1])
    addresses = [
        client.post(start, {"file": SimpleUploadedFile("t.csv", content)})["Location"]
        for content in (table, table + b"\nOne more,a text,a text")
    ]
    for address, codes in zip(addresses, (set(), {"has_texts"}), strict=True):
        answer = client.post(address, form_of(client.get(address), do="create"), follow=True)
        assert codes_on(answer) & {"has_texts"} == codes
    study = Study.objects.get()
    assert (study.title, study.systems.count(), study.dataset.instances.count()) == ("Pilot", 2, 4)
    client.force_login(User.objects.create_user("eve", is_staff=True))
    assert client.get(start).status_code == 404


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("Summaries_city_final_v3.csv", "Summaries city"),
        ("replies (2).xlsx", "Replies"),
        ("recipes FINAL (copy).xlsx", "Recipes"),
        ("notes.jsonl.gz", "Notes"),
        ("v2.csv", "V2"),
    ],
)
def test_the_proposed_title_lacks_what_tells_versions_of_a_file_apart(name, title):
    assert title_of(KeptUpload("id", name, "token")) == title


BLOCKS = [
    (f"q{k}" if name == "oak" else "", f"Tell me what tree {k} is." if name == "oak" else "", name)
    for k in range(5)
    for name in ("oak", "elm")
]


def blocks_file():
    keys, prompts, names = zip(*BLOCKS, strict=True)
    texts = [f"The {name} is tree number {n} of this wood." for n, name in enumerate(names)]
    return csv_of(id=keys, prompt=prompts, model=names, response=texts)


def test_empty_cells_that_repeat_the_value_above_are_filled_by_one_button(client, ruth):
    address = upload(client, blocks_file())
    page = client.get(address)
    assert (codes_on(page), primary_of(page)) == ({"empty_below"}, ["fill_down"])
    assert client.post(address, form_of(page, do="create")).status_code == 400
    said = {"do": "fill_down", "empty_below": ["id", "prompt"]}
    filled = client.post(address, form_of(page, **said))
    assert (codes_on(filled), primary_of(filled)) == (set(), ["create"])
    client.post(address, form_of(filled, do="create", fill_down=["id", "prompt"]))
    instances = Study.objects.get().dataset.instances.order_by("key")
    assert [one.key for one in instances] == [f"q{k}" for k in range(5)]
    assert all(one.source and one.generations.count() == 2 for one in instances)


def test_texts_that_nothing_compares_are_no_normal_import(client, ruth):
    prompts = [f"Tell me what tree {k} is." for k in range(8)]
    names = ["oak", "elm"] * 4
    address = upload(client, csv_of(prompt=prompts, model=names, response=SENTENCES * 2))
    page = client.get(address)
    assert "nothing_to_compare" in codes_on(page)
    assert primary_of(page) == []
    assert page.context["summary"].compared == 0


def test_items_that_stand_once_for_their_ratings_are_filled_by_one_button(client, ruth):
    people = ["ruth", "bo", "cy"] * 8
    items = [f"i{n // 3}" if n % 3 == 0 else "" for n in range(24)]
    scores = [str((n * 7) % 5 + 1) for n in range(24)]
    address = upload(client, csv_of(item=items, rater=people, score=scores), begin="ratings")
    page = client.get(address)
    assert (codes_on(page), primary_of(page)) == ({"empty_below"}, ["fill_down"])
    filled = client.post(address, {"do": "fill_down", "empty_below": ["item"]})
    assert (codes_on(filled), primary_of(filled)) == (set(), ["create"])
    assert 'name="fill_down" value="item"' in filled.content.decode()
    client.post(address, {"do": "create", "title": "Teas", "fill_down": ["item"]})
    assert Study.objects.get().units.count() == 8
