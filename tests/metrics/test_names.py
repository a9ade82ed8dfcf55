"""Every name that an import accepts works on every page, in every file and in every address."""

import json
from functools import partial
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.urls import reverse

from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from annotation.services.planning import plan_hits
from metrics.models import ReportSnapshot
from metrics.results.question_pages import PAGES
from recruitment.simulation.raters import Bot, simulate_raters
from studies.instance_selection.scoring import score_separability
from studies.models import Criterion, Dataset, Study, System
from tests.studies.factories import make_study, open_knowingly
from tests.tiebreak.formats.bundles import write_lines
from tiebreak.formats import FormatError
from tiebreak.report import read_source
from tiebreak.report.build import report_from

pytestmark = pytest.mark.django_db

# With what a name may be for HTML, a path, an address, a template, a spreadsheet and JSON.
NAMES = [
    "<script>alert('1')</script> & {{7*7}} {% load x %}",
    "=a/b\\c?d=e#f;%2F%00%",
    "🙂 جودة النص",
    "é" * 200,
    "..",
    "null",
]
MORE_NAMES = [
    "overall quality",
    "a/b\\c",
    "\"quoted\" & 'more'",
    "🙂 👩\u200d🔬",
    "جودة النص",
    "12345",
    "0",
    ".hidden",
    "%2F%00%",
    "?a=b#c&d;e",
    "a:b|c,d`e`",
    "{{7*7}} {% load x %}",
    "=1+1",
    "-",
    "~20",
    "__init__",
    "index.html",
    "constructor",
]
# Names of the two criteria, systems and categories of one study.
PAIRS = [
    *((name, f"{name[:190]} too") for name in NAMES),
    *(
        pytest.param(*pair, marks=pytest.mark.slow)
        for pair in zip(MORE_NAMES[::2], MORE_NAMES[1::2], strict=True)
    ),
]
REFUSED = [
    "a\nb",
    "a\r",
    "\u2028",
    "a\u2029b",
    "\u202eevil",
    "a\x00",
    "a\x7f",
    " a",
    "a ",
    "",
    "é" * 201,
]


@pytest.fixture
def owner(client, monkeypatch) -> User:
    quick = partial(report_from, replicates=10)
    monkeypatch.setattr("metrics.results.services.report_from", quick)
    user = User.objects.create_user("ada", password="x", is_staff=True)
    client.force_login(user)
    return user


def _quoted(value) -> str:
    """Return a JSON string that is also TOML."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def bundle(folder, name: str, other: str = "", *, with_ratings: bool = True):
    """Return a bundle in which everything that has a name has one of these names."""
    folder.mkdir(parents=True)
    other = other or f"{name[:190]} too"
    criteria = "".join(
        f"[[criteria]]\nname = {_quoted(criterion)}\nscale = {_quoted(scale)}\nquestion = 'Which?'\n"
        for criterion, scale in ((name, "preference:5"), (other, "ordinal:1..5"))
    )
    design = f"title = {_quoted(name)}\nratings_per_hit = 2\ncomparisons_per_hit = 2\n"
    design += f"systems = {_quoted([name, other])}\n{criteria}"
    (folder / "study.toml").write_text(design, encoding="utf-8")
    ids = [name, *(f"{name[:190]} {i}" for i in range(5))]
    write_lines(
        folder / "instances.jsonl",
        [{"id": i, "category": (name, other)[n % 2]} for n, i in enumerate(ids)],
    )
    texts = [
        {"instance": i, "system": system, "sample_index": k, "text": f"{system} says {k}, {i}"}
        for i in ids
        for system in (name, other)
        for k in range(2)
    ]
    write_lines(folder / "generations.jsonl", texts)
    if with_ratings:
        write_lines(folder / "ratings.jsonl", list(rating_lines(name, other, ids)))
    return folder


def rating_lines(name: str, other: str, ids: list[str]):
    raters = [(name, "human"), (other, "human"), (f"{name[:190]} judge", "machine")]
    for n, instance in enumerate(ids):
        for k in range(2):
            for r, (rater, kind) in enumerate(raters):
                for criterion in (name, other):
                    points = (n + k + r) % 5
                    yield {
                        "unit": f"{name[:190]} {n}/{k}",
                        "rater": rater,
                        "kind": kind,
                        "order": "ab" if kind == "machine" else None,
                        "criterion": criterion,
                        "label": points - 2 if criterion == name else points + 1,
                        "instance": instance,
                        "category": (name, other)[n % 2],
                        "system_a": name,
                        "system_b": other,
                        "sample_index": k,
                        "side_a": "left" if kind == "human" else None,
                        "phase": "control" if n % 2 else "design",
                        "inclusion_probability": 0.5,
                    }


def assert_every_page_answers(client, study: Study) -> None:
    client.get(reverse("metrics:dashboard", args=[study.pk]))
    snapshot = ReportSnapshot.objects.get(study=study)
    criteria = list(snapshot.report["criteria"])
    for address in addresses(study, criteria):
        answer = client.get(address)
        assert answer.status_code == 200, address
        assert "\n" not in answer.get("Content-Disposition", "")
        if "json" not in answer["Content-Type"]:
            assert b"<script>alert" not in answer.content


def addresses(study: Study, criteria: list[str]) -> list[str]:
    names = ("dashboard", "results", "numbers", "report", "generate-select")
    parts = ("generate-select-jobs", "generate-select-results")
    pages = [reverse(f"metrics:{name}", args=[study.pk]) for name in (*names, *parts)]
    pages += [reverse(f"recruitment:{name}", args=[study.pk]) for name in ("channels", "ledger")]
    pages += [
        reverse("recruitment:preview", args=[study.pk]) + f"?page={p}" for p in ("welcome", "unit")
    ]
    pages += [reverse("metrics:figure", args=[study.pk, c, "perception", "svg"]) for c in criteria]
    pages += [
        reverse("metrics:results-tab", args=[study.pk, tab.slug])
        + "?"
        + urlencode({"criterion": c})
        for tab in PAGES
        for c in criteria
    ]
    pages += [
        reverse("admin:studies_study_changelist"),
        reverse("admin:studies_study_changelist") + "?q=a",
        *(
            reverse(name, args=[study.pk])
            for name in ("studies:task", "studies:log", "recruitment:size", "recruitment:quality")
        ),
        reverse("admin:studies_dataset_changelist"),
        reverse("admin:studies_dataset_change", args=[study.dataset_id]),
    ]
    return pages


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "other"), PAIRS)
def test_every_page_and_file_has_room_for_any_name(name, other, client, owner, tmp_path):
    study = import_study(path=bundle(tmp_path / "b", name, other), owner=owner).study
    assert study.title == name
    score_separability(study=study)
    assert_every_page_answers(client, study)
    figure = reverse("metrics:figure", args=[study.pk, name, "consistency", "svg"])
    assert client.get(figure).status_code == 200
    for file_format in ("jsonl", "csv", "parquet"):
        out = tmp_path / file_format
        export_study(study=study, out=out, formats=[file_format])
        table = read_source(out).table
        assert {name, other} < set(table["rater"])
        assert set(table["criterion"]) == {name, other}
    report = tmp_path / "report.json"
    call_command("analyze", str(tmp_path / "csv"), "--out", str(report), "--replicates", "10")
    assert list(json.loads(report.read_text())["criteria"])
    assert import_study(path=tmp_path / "jsonl", owner=owner).dataset_was_known


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "other"), zip(NAMES[::2], NAMES[1::2], strict=True))
def test_annotators_rate_criteria_of_any_name(name, other, client, owner, tmp_path):
    path = bundle(tmp_path / "b", name, other, with_ratings=False)
    study = import_study(path=path, owner=owner).study
    plan_hits(study=study)
    study = open_knowingly(study)
    simulate_raters(study=study, bots=[Bot("one", hits=1)], seed=0)
    for criterion in (name, other):
        assert study.units.filter(ratings__criterion__name=criterion).exists()
    assert_every_page_answers(client, study)
    client.post(reverse("recruitment:clone", args=[study.pk]))
    assert Study.objects.filter(title__endswith=" (copy)").exists()


@pytest.mark.parametrize("name", REFUSED)
def test_a_name_that_cannot_be_shown_is_refused_where_it_enters(name, tmp_path):
    with pytest.raises(FormatError) as refusal:
        import_study(path=bundle(tmp_path / "b", name))
    files = {problem.file for problem in refusal.value.problems}
    assert {"study.toml", "instances.jsonl"} <= files


@pytest.mark.parametrize("name", [*NAMES, *MORE_NAMES])
def test_forms_take_the_names_that_files_may_have(name):
    dataset = Dataset(name=name)
    study = make_study(instances=1)
    for stored in (
        Criterion(study=study, name=name, question="Which?"),
        System(dataset=study.dataset, name=name),
        Study(title=name),
        dataset,
    ):
        stored.full_clean()


def test_a_figures_address_names_no_other(client, owner, tmp_path):
    study = import_study(path=bundle(tmp_path / "b", "a/b"), owner=owner).study
    client.get(reverse("metrics:dashboard", args=[study.pk]))
    assert reverse("metrics:figure", args=[study.pk, "a/b", "x", "svg"]).endswith(
        "/figures/a~2Fb/x.svg"
    )
    for odd in ("~FF", "~", "a~2", "none"):
        address = f"/studies/{study.pk}/figures/{odd}/perception.svg"
        assert client.get(address).status_code == 404
