"""All pages and files show the same counts, in a study with ratings of every kind."""

import json
import re
from io import StringIO

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from annotation.counts import (
    RatingCounts,
    count_plan,
    progress_of,
    rating_counts,
    study_counts,
)
from annotation.exports import study_export
from annotation.models import HIT, Assignment, Participation, Rater, Rating
from annotation.services.planning import grow_ratings_per_hit, plan_hits
from annotation.services.ratings import Answer
from annotation.services.reference_units import ReferencePair, add_reference_units
from metrics.results.selectors import source_of
from metrics.results.services import refresh_report
from recruitment.ledger import ledger
from recruitment.services.lifecycle import open_study
from studies.models import Criterion, Generation, Study, Unit
from tests.annotation.answers import submit_unit
from tests.annotation.places import hit_units_of, take_place
from tests.studies.factories import make_participation, make_study
from tiebreak.formats import read_ratings
from tiebreak.report import build_report

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases, pytest.mark.thorough]
ROLES = {"training": Unit.Role.TRAINING, "test": Unit.Role.QUALIFICATION, "gold": Unit.Role.GOLD}
# Flags and number of rows of each kind, in addition to the ordinary ratings of two annotators.
EXTRA = {
    "training": ({}, 3),
    "test": ({}, 4),
    "gold": ({}, 5),
    "repeats": ({"repeat": 1}, 2),
    "superseded": ({"superseded": True}, 6),
    "excluded": ({"excluded": True, "surplus": True}, 7),
    "late": ({"late": True, "superseded": True, "excluded": True}, 8),
    "partial": ({"partial": True}, 9),
    "surplus": ({"surplus": True}, 10),
    "simulated": ({"simulated": True}, 2),
}


@pytest.fixture(scope="module")
def stored(module_db: None) -> str:
    """A study with two criteria, planned repeats and rows of every kind."""
    study = make_study(instances=6, comparisons_per_hit=3, ratings_per_hit=2, repeats_per_hit=1)
    Criterion.objects.create(study=study, name="fluency", question="?", scale="preference:tie")
    for role in ROLES.values():
        texts = Generation.objects.order_by("system", "pk")
        pair = ReferencePair(texts.first(), texts.last(), {"preference": "-1"})
        add_reference_units(study=study, role=role, pairs=[pair])
    plan_hits(study=study)
    study = open_study(study=study)
    for name in ("ann", "bob"):
        assignment = take_place(participation=make_participation(study, name))
        for number, hit_unit in enumerate(hit_units_of(assignment)):
            answers = {c: Answer("1", f"{name}-{number}") for c in study.criteria.all()}
            submit_unit(assignment=assignment, hit_unit=hit_unit, answers=answers)
    for kind, (flags, n) in EXTRA.items():
        for number in range(n):
            add_row(study, f"{kind}-{number}", ROLES.get(kind, Unit.Role.MAIN), **flags)
    for number in range(5):
        machine = {"label": None, "raw": "?"} if number == 0 else {"simulated": number == 1}
        add_row(study, f"judge-{number}", kind="machine", **machine)
    return study.pk


@pytest.fixture
def study(db: None, stored: str) -> Study:
    return Study.objects.get(pk=stored)


def add_row(study, name, role=Unit.Role.MAIN, *, kind="human", label="1", **fields) -> None:
    source = {"participation": make_participation(study, name)} if kind == "human" else {"run": "1"}
    person = source.get("participation")
    rater = person.rater if person else Rater.objects.create(kind=kind, external_id=name)
    hit = study.hits.main().first()
    if role in {Unit.Role.TRAINING, Unit.Role.QUALIFICATION}:
        hit = HIT.objects.get(study=study, kind=role)
        source["run"] = f"{role}:1"
    Rating.objects.create(
        assignment=Assignment.objects.create(hit=hit, rater=rater, status="abandoned", **source),
        rater=rater,
        unit=study.units.filter(role=role).first(),
        criterion=study.criteria.first(),
        study_version=study.versions.first(),
        client_key=name,
        created_at=timezone.now(),
        label=label,
        **fields,
    )


# Two annotators rate three units on two criteria. Programs add two rows, and machines five rows.
PEOPLE, MACHINES = 2 * 3 * 2 + 2, 5
COUNTED = PEOPLE + MACHINES


def test_each_row_is_of_one_kind(study):
    counts = study_counts(study)
    rows = counts.rows
    assert rows == RatingCounts(
        rows=Rating.objects.count(),
        counted=COUNTED,
        people=PEOPLE,
        machines=MACHINES,
        unparsed=1,
        invented=1,
        simulated=2,
        repeats=2 * 1 * 2 + 2,
        **{kind: n for kind, (_, n) in EXTRA.items() if kind not in {"repeats", "simulated"}},
    )
    others = rows.repeats + rows.training + rows.test + rows.gold + rows.flagged
    assert rows.rows == rows.counted + others
    assert rating_counts(Rating.objects.filter(unit__study=study)) == rows
    assert (counts.instances, counts.hits, counts.units, counts.repeats) == (5, 5, 15, 5)
    assert (counts.places, counts.completed) == (10, 2)
    assert (counts.expected, counts.expected_repeats) == (15 * 2 * 2, 5 * 2 * 2)
    assert counts.annotators == 4


def test_the_report_uses_the_ratings_that_are_counted(study):
    source = source_of(study)
    report = build_report(source.table, scales=source.scales, replicates=10)
    assert report.source.n_rows == study_counts(study).rows.rows
    assert report.source.n_used == COUNTED
    numbers = ("n_ratings", "n_machine_ratings", "n_unparsed")
    used = [getattr(section, name) for section in report.criteria.values() for name in numbers]
    assert sum(used) == COUNTED


def test_all_pages_show_the_same_count(client, django_user_model, study):
    client.force_login(django_user_model.objects.create_superuser("ruth"))
    refresh_report(study=study)
    # Of the machines' ratings, one is simulated, and the others are computed.
    machines = rf"\b{MACHINES}\b.*?\b1\b.*?\b{MACHINES - 1}\b"
    counted = re.compile(rf"\b{COUNTED}\b.*?\b{PEOPLE}\b.*?\b4\b.*?{machines}")
    pages = {
        reverse("metrics:dashboard", args=[study.pk]): counted,
        reverse("metrics:collecting-numbers", args=[study.pk]): counted,
        reverse("metrics:results", args=[study.pk]): counted,
    }
    left_out = study_counts(study).rows.left_out
    assert sum(n for _, n in left_out) == Rating.objects.count() - COUNTED
    for page, numbers in pages.items():
        html = client.get(page).content.decode()
        assert numbers.search(html), page
        # What is left out, and why, in the same words everywhere.
        listed = re.search(r"<details data-left-out>.*?</details>", html, re.S)
        assert [f"<li>{words}: {n}</li>" for words, n in left_out] == re.findall(
            r"<li>.*?</li>", listed[0]
        )
    shown = client.get(reverse("metrics:dashboard", args=[study.pk]))
    assert shown.context["snapshot"].report["source"]["n_used"] == COUNTED
    progress = shown.context["progress"]
    assert (progress.simulated, progress.ratings, progress.expected) == (2, COUNTED, 60)


def test_the_participants_page_adds_up(study):
    study_ledger = ledger(study)
    assert sum(row.ratings for row in study_ledger.rows) == PEOPLE
    assert (len(study_ledger.rows_on("surplus")), len(study_ledger.rows_on("late"))) == (10, 8)
    assert len(study_ledger.rows) == Participation.objects.count()


def test_the_export_its_codebook_and_its_message_agree(study, tmp_path):
    out = StringIO()
    formats = "jsonl,csv,parquet"
    call_command(
        "export_study", study.pk, out=tmp_path / "out", format=formats, json=True, stdout=out
    )
    rows = study_counts(study).rows
    printed = json.loads(out.getvalue())
    assert (printed["ratings"], printed["in_statistics"]) == (rows.rows, COUNTED)
    for suffix in formats.split(","):
        table = read_ratings(tmp_path / f"out/ratings.{suffix}")
        assert (len(table), int(table.is_counted.sum())) == (rows.rows, COUNTED)
    book = (tmp_path / "out/codebook.md").read_text()
    assert re.search(rf"\b{rows.rows}\b.*\b{COUNTED}\b", book)
    listed = [int(n) for n in re.findall(r"^\| (\d+) \| ", book.partition("## Criteria")[0], re.M)]
    assert listed[0] == COUNTED
    assert sum(listed[:-1]) == listed[-1] == rows.rows


def test_an_imported_export_has_the_same_counts(study, tmp_path):
    call_command("export_study", study.pk, out=tmp_path / "out", stdout=StringIO())
    out = StringIO()
    call_command("import_study", tmp_path / "out", json=True, stdout=out)
    printed = json.loads(out.getvalue())
    copy = Study.objects.get(pk=printed["study"])
    assert study_counts(copy).rows == study_counts(study).rows
    assert (printed["ratings"], printed["in_statistics"]) == (Rating.objects.count() // 2, COUNTED)


def test_ratings_submitted_during_an_export_are_in_none_of_its_files(study, tmp_path, monkeypatch):
    write = study_export.write_batches

    def and_somebody_rates(path, batches, columns):
        n = write(path, batches, columns)
        add_row(study, f"meanwhile-{path.suffix}")
        return n

    monkeypatch.setattr(study_export, "write_batches", and_somebody_rates)
    formats = ["jsonl", "csv"]
    counts = study_export.export_study(study=study, out=tmp_path / "out", formats=formats).counts
    assert counts.counted == COUNTED
    for name in ("ratings.jsonl", "ratings.csv"):
        assert len(read_ratings(tmp_path / "out" / name)) == counts.rows
    book = (tmp_path / "out/codebook.md").read_text()
    assert re.search(rf"\b{counts.rows}\b.*\b{COUNTED}\b", book)
    assert study_counts(study).rows.counted == COUNTED + 2


@pytest.mark.parametrize("change", ["planned anew", "more ratings"])
def test_counts_of_a_plan_are_not_used_once_it_has_changed(change):
    study = make_study(instances=3, ratings_per_hit=2)
    plan_hits(study=study)
    other = make_study(instances=3, ratings_per_hit=2)
    plan = count_plan(study, progress_of(study))
    plan_hits(study=other)  # elsewhere
    assert plan.is_of(progress_of(study))
    if change == "planned anew":
        plan_hits(study=study)
    else:
        grow_ratings_per_hit(study=study, ratings_per_hit=3)
    assert not plan.is_of(progress_of(study))
