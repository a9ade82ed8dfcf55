"""Ratings that somebody has become a closed study: the page, its corrections, and what is refused."""

import gzip
import io
import re

import openpyxl
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.models import Rating
from jobs.models import Job
from metrics.results.selectors import source_of
from studies.models import Generation, Study
from tests.annotation.imports.test_import_pages import UPLOAD, folder, upload
from tests.pages import codes_on, levels_on, page_of
from tests.paths import ROOT
from tests.tiebreak.formats.readers.files import MADE_UP
from tests.tiebreak.formats.tables.cases import CASES
from tiebreak.formats.layouts import read_existing
from tiebreak.formats.readers import recognised
from tiebreak.report import build_report

__all__ = ["folder"]
pytestmark = pytest.mark.django_db
FILES = ROOT / "tests" / "cases"
WITHOUT_RATINGS = {"prolific", "inspect", "lm-eval", "messages"}
PLATFORM_FILES = sorted(
    str(path.relative_to(MADE_UP))
    for path in MADE_UP.rglob("*.*")
    if path.is_file() and recognised(path) not in {"", *WITHOUT_RATINGS}
)
MATRIX = b"Units,Rater1,Rater2,Rater3\n1,1,1,\n2,2,2,3\n3,3,3,3\n4,5,5,4\n"
LONG = b"item_id,annotator,rating\n" + b"".join(
    b"%d,%s,%d\n" % (item, rater, 1 + (item + len(rater)) % 5)
    for item in range(6)
    for rater in (b"ann", b"bo", b"carl")
)


def ratings_page(address):
    """The page of ratings of an upload, whatever page it leads to."""
    token = address.split("/studies/new/")[1].split("/")[0]
    return reverse("annotation:import-ratings", args=[token])


def form_of(page, **changes):
    """What a browser sends of the page of ratings."""
    context = page.context
    data = {
        "title": context["title"],
        "shown_sheet": context["reading"].sheet,
        "sheet": context["reading"].sheet,
        "shown_reader": context["reader"],
        "reader": context["reader"],
        "column": [row.name for row in context["rows"]],
        "of_criterion": [scale.name for scale in context["scales"]],
    }
    for number, row in enumerate(context["rows"]):
        data |= {f"role-{number}": row.role, f"rater-{number}": row.rater}
        data[f"criterion-{number}"] = row.criterion
    return data | {f"scale-{n}": s.chosen for n, s in enumerate(context["scales"])} | changes


def create(client, address, **changes):
    return client.post(address, form_of(client.get(address), do="create", **changes))


def numbers_in(seen):
    """Return the numbers of the sentence that says what was read."""
    return re.findall(r"\d+", seen.sentence)


def test_a_matrix_becomes_a_closed_study(client, ruth):
    address = upload(client, MATRIX, "my_matrix.csv")
    page = client.get(address)
    assert page_of(page) == "ratings"
    seen = page.context["seen"]
    assert numbers_in(seen) == ["4", "3", "11", "1", "1", "5"]
    assert seen.first[0] == ["1", "Rater1", "preference", "1"]
    assert not Study.objects.exists()
    answer = create(client, address)
    study = Study.objects.get()
    assert answer["Location"] == reverse("metrics:results", args=[study.pk])
    assert (study.status, study.title) == ("closed", "My matrix")
    assert Rating.objects.filter(assignment__hit__study=study).count() == 11
    assert levels_on(client.get(answer["Location"]))[0] == "success"


def test_a_long_table_with_other_names_is_corrected(client, ruth):
    other = LONG.replace(b"annotator", b"who").replace(b"rating", b"given")
    address = upload(client, other, begin="ratings")
    page = client.get(address)
    assert codes_on(page) == {"no_rater"}
    assert [row.name for row in page.context["rows"]] == ["item_id", "who", "given"]
    corrected = client.post(address, form_of(page, **{"role-1": "rater", "role-2": "label"}))
    assert not codes_on(corrected)
    assert corrected.context["seen"].roles == {"rater": "who", "label": "given", "unit": "item_id"}
    answer = client.post(address, form_of(corrected, do="create"))
    assert answer.status_code == 302
    assert Rating.objects.count() == 18


def test_labels_of_raters_and_criteria_are_chosen_and_what_is_typed_is_kept(client, ruth):
    address = upload(client, MATRIX, "m.csv")
    roles = {
        "role-1": "label",
        "criterion-1": "fluency",
        "rater-1": "Ann: 1",
        "role-2": "leave_out",
    }
    roles |= {"role-3": "label", "criterion-3": "fluency", "rater-3": "Bo"}
    page = client.post(address, form_of(client.get(address), **roles))
    assert numbers_in(page.context["seen"])[:3] == ["4", "2", "7"]
    rows = [(row.role, row.rater, row.criterion) for row in page.context["rows"]]
    assert rows[1] == ("label", "Ann: 1", "fluency")
    assert rows[2][0] == "leave_out"
    clash = client.post(address, form_of(page, do="create", **{"rater-3": "Ann: 1"}))
    assert (clash.status_code, codes_on(clash)) == (400, {"repeated_role"})
    assert not Study.objects.exists()


def test_a_scale_is_chosen_and_a_wrong_one_is_refused(client, ruth):
    address = upload(client, MATRIX, "m.csv")
    page = client.get(address)
    for scale, code in (("ordinal:1..3", None), ("sideways:1", "unknown_scale")):
        refusal = client.post(address, form_of(page, do="create", **{"scale-0": scale}))
        assert refusal.status_code == 400
        assert refusal.context["scales"][0].chosen == scale
        assert code is None or code in codes_on(refusal)
    assert not Study.objects.exists()
    assert create(client, address, **{"scale-0": "interval:1..5"}).status_code == 302
    assert Study.objects.get().criteria.get().scale == "interval:1..5"


def test_a_platforms_file_is_known_and_can_be_read_as_a_table(client, ruth):
    batch = (FILES / "mturk_batch.csv").read_bytes()
    address = upload(client, batch, "batch.csv")
    address = address.replace("/kind/", "/ratings/")
    page = client.get(address)
    assert page.context["seen"].known == "mturk"
    assert numbers_in(page.context["seen"])[:2] == ["12", "1"]
    as_table = client.post(address, form_of(page, reader="table"))
    assert as_table.context["seen"].reader != "mturk"
    assert create(client, address).status_code == 302
    assert Rating.objects.filter(assignment__hit__study=Study.objects.get()).count() == 12


def test_a_platforms_file_that_is_no_table_is_read(client, ruth):
    content = (FILES / "labelstudio_choices.json").read_bytes()
    assert create(client, ratings_page(upload(client, content, "ls.json"))).status_code == 302
    assert Rating.objects.count() == 12


def test_a_table_that_has_texts_and_ratings_asks(client, ruth):
    page = client.get(upload(client, CASES["dialogue.csv"].content, "dialogue.csv"))
    assert page_of(page) == "kind"
    assert page.context["is_rather_ratings"]
    short = client.get(upload(client, CASES["short_answers.csv"].content, "short.csv"))
    assert (page_of(short), short.context["is_rather_ratings"]) == ("kind", False)


def test_a_sheet_is_chosen(client, ruth):
    book = openpyxl.Workbook()
    for row in ([f"note {n}"] for n in range(3)):
        book.active.append(row)
    for row in (line.split(",") for line in MATRIX.decode().split()):
        book.create_sheet("scores") if "scores" not in book.sheetnames else None
        book["scores"].append([int(cell) if cell.isdigit() else cell or None for cell in row])
    out = io.BytesIO()
    book.save(out)
    address = ratings_page(upload(client, out.getvalue(), "book.xlsx"))
    page = client.post(address, form_of(client.get(address), sheet="scores"))
    assert numbers_in(page.context["seen"])[:2] == ["4", "3"]
    assert client.post(address, form_of(page, do="create")).status_code == 302


def test_the_same_ratings_twice_ask(client, ruth):
    create(client, upload(client, MATRIX, "m.csv"))
    address = upload(client, MATRIX, "m.csv")
    assert "known_dataset" in codes_on(create(client, address))
    assert create(client, address, use_known="on").status_code == 302


def test_many_ratings_are_imported_by_a_worker_and_all_of_them(client, ruth, settings):
    settings.TIEBREAK_IMPORT_AT_ONCE_BYTES = 2000
    rows = b"".join(b"%d,%d,%d,%d\n" % (n, n % 5, n % 4, n % 3) for n in range(3000))
    address = upload(client, b"item,ann1,ann2,ann3\n" + rows)
    page = client.get(address)
    assert not page.context["reading"].is_whole
    assert 0 < int(page.context["seen"].sentence.split()[0]) < 3000
    client.post(address, form_of(page, do="create"))
    job = Job.objects.get()
    assert job.status == "done", job.problem
    assert "3,000 items × 3 raters" in job.result["remarks"][0]
    assert Rating.objects.count() == 9000


BAD = {
    "a bomb.csv.gz": gzip.compress(bytes(60_000_000)),
    "a long row.csv": b"item,ann1,ann2\n1," + b"x" * 50_000_000 + b",2\n",
    "many columns.csv": b",".join(b"ann%d" % n for n in range(1_000_000)) + b"\n1,2\n",
    "zeros.csv": b"item,ann1,ann2\n" + b"1,\0,\0\n" * 3,
    "zeros.json": b'[{"item": "\\u0000", "annotator": "\\u0000", "rating": 1}]',
    "half.parquet": b"PAR1" + bytes(40) + b"PAR1",
    "deep.json": b"[" * 100_000,
    "counts.csv": b"item,yes,no\n1,3,0\n2,0,3\n3,2,1\n4,0,3\n",
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_by_name_and_nothing_is_stored(name, client, ruth, settings):
    settings.TIEBREAK_MAX_UNPACKED_BYTES = 20_000_000
    answer = client.post(reverse(UPLOAD), {"file": SimpleUploadedFile(name, BAD[name])})
    if answer.status_code == 302:
        address = ratings_page(answer["Location"])
        page = client.get(address)
        answer = client.post(address, form_of(page, do="create"))
    form = answer.context.get("form")
    of_form = form.errors.as_data().get("file", ()) if form else ()
    codes = codes_on(answer) | {error.code for error in of_form}
    assert codes
    assert not codes & {"reader_crashed", "refused_by_database"}
    assert not Study.objects.exists()
    assert not Rating.objects.exists()


def test_a_rating_with_the_character_nul_stores_nothing(client, ruth):
    """A database refuses it, so that a reader must."""
    rows = b'{"item": "a\\u0000", "annotator": "x", "rating": 1}\n' * 2
    answer = client.post(reverse(UPLOAD), {"file": SimpleUploadedFile("z.jsonl", rows)})
    if answer.status_code == 302:
        answer = create(client, ratings_page(answer["Location"]))
    assert codes_on(answer)
    assert not Study.objects.exists()


def test_the_command_imports_ratings_and_says_first_what_it_read(tmp_path, capsys):
    path = tmp_path / "m.csv"
    path.write_bytes(MATRIX)
    call_command("import_study", path, "--title", "By hand", "--scale", "preference=interval")
    study = Study.objects.get()
    assert (study.title, study.status) == ("By hand", Study.Status.CLOSED)
    assert study.criteria.get().scale == "interval"
    first = capsys.readouterr().out.partition("\n")[0]
    assert re.findall(r"\d+", first)[:3] == ["4", "3", "11"]


def test_the_command_stores_nothing_of_a_file_in_which_nobody_rated(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("item,fluency\na,1\na,2\n")
    with pytest.raises(CommandError):
        call_command("import_study", path)
    assert not Study.objects.exists()


def test_the_texts_and_systems_of_a_platforms_file_are_imported_with_its_ratings():
    call_command("import_study", FILES / "mturk_batch.csv")
    study = Study.objects.get()
    texts = Generation.objects.filter(instance__dataset=study.dataset)
    assert (study.dataset.instances.count(), texts.count()) == (4, 8)
    assert study.unit_kind == Study.UnitKind.COMPARISON


@pytest.mark.parametrize("name", PLATFORM_FILES)
def test_each_platforms_file_becomes_a_closed_study_with_a_report(name):
    read = read_existing(MADE_UP / name)
    call_command("import_study", MADE_UP / name)
    study = Study.objects.get()
    assert study.status == Study.Status.CLOSED
    assert Rating.objects.filter(assignment__hit__study=study).count() == len(read.table)
    report = build_report(source_of(study).table, scales=dict(read.scales), replicates=0, core=True)
    assert set(report.criteria) == set(read.table["criterion"])
