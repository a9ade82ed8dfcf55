import json
import zipfile
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from annotation.counts import progress_of
from annotation.exports.study_export import FORMATS, export_study
from annotation.imports.study_import import import_study
from annotation.models import Assignment, Place, Rating
from annotation.services.participations import mark_guidelines_read
from annotation.services.planning import plan_hits
from annotation.services.ratings import Answer
from metrics.results.selectors import source_of
from recruitment.services.entry import Entrant, give_consent
from studies.instance_selection.scoring import score_separability
from studies.models import Dataset, SeparabilityScore, Study
from studies.models.settings import SETTINGS
from tests.annotation.answers import submit_rating
from tests.annotation.places import take_place
from tests.annotation.tallies import recount, stored_tallies
from tests.paths import GOLDEN
from tests.refusals import places_of, refused
from tests.studies.factories import make_open_study, make_study
from tests.tiebreak.formats.built import columns_built
from tests.tiebreak.formats.bundles import FLAWS, make_bundle, ratings, write_lines
from tiebreak.cli import main
from tiebreak.formats import FormatError
from tiebreak.report import build_report, read_source

pytestmark = pytest.mark.django_db


def rows_everywhere() -> dict[str, int]:
    return {
        model.__name__: model.objects.count()
        for app in ("studies", "annotation", "machine_raters", "recruitment")
        for model in apps.get_app_config(app).get_models()
    }


def report_of(source) -> dict:
    report = build_report(source.table, scales=source.scales, source=source.origin, replicates=100)
    return report.as_json()


def test_it_works(tmp_path):
    imported = import_study(path=make_bundle(tmp_path / "b"))
    assert imported.study.status == "draft"
    assert (imported.instances, imported.generations, imported.ratings) == (3, 12, 0)
    assert plan_hits(study=imported.study).hits == 3


def test_a_bundle_with_ratings_becomes_a_closed_study(tmp_path):
    study = import_study(path=make_bundle(tmp_path / "b", with_ratings=True)).study
    assert study.status == "closed"
    assert Rating.objects.counted().count() == 12
    assert study.hits.count() == 3
    assert Place.objects.filter(completed_at__isnull=False).count() == 6
    assert study.units.filter(text_a__generation__isnull=True).count() == 0
    assert stored_tallies(study=study) == recount(study=study)


def test_an_import_builds_as_many_columns_for_many_ratings_as_for_few(tmp_path, monkeypatch):
    """Otherwise the time of an import would grow with the square of the number of ratings."""
    few, many = (make_bundle(tmp_path / name, with_ratings=True) for name in ("few", "many"))
    rows = [{**row, "unit": f"{row['unit']}-{i}"} for i in range(3) for row in ratings()]
    write_lines(many / "ratings.jsonl", rows)
    built = columns_built(monkeypatch)
    import_study(path=few)
    with_few = len(built)
    built.clear()
    import_study(path=many)
    assert Rating.objects.count() == len(rows) * 4 // 3
    assert len(built) == with_few > 0


@pytest.mark.parametrize("flaw", FLAWS)
def test_an_invalid_bundle_leaves_the_database_unchanged(flaw, tmp_path):
    damage, place = FLAWS[flaw]
    folder = make_bundle(tmp_path / "b", with_ratings=True)
    damage(folder)
    before = rows_everywhere()
    with pytest.raises(FormatError) as refusal:
        import_study(path=folder)
    assert places_of(refusal.value)[0] == place
    assert rows_everywhere() == before


def test_the_command_says_line_and_reason(tmp_path):
    folder = make_bundle(tmp_path / "b")
    FLAWS["broken line"][0](folder)
    with pytest.raises(CommandError, match=r"generations\.jsonl.*\b13\b") as refusal:
        call_command("import_study", str(folder))
    assert places_of(refusal.value) == [("generations.jsonl", 13, "not_json")]


def test_the_same_content_is_one_dataset(tmp_path):
    folder = make_bundle(tmp_path / "b")
    first, second = import_study(path=folder).study, import_study(path=folder).study
    assert first.dataset == second.dataset
    assert Dataset.objects.count() == 1


@pytest.mark.parametrize(
    "formats", [("jsonl",), ("csv",), ("parquet",), ("jsonl", "csv", "parquet")]
)
def test_an_export_analyses_to_the_same_digits(formats, tmp_path):
    study = import_study(path=make_bundle(tmp_path / "b", with_ratings=True)).study
    score_separability(study=study)
    assert export_study(study=study, out=tmp_path / "out", formats=formats).counts.rows == 12
    ours, theirs = report_of(source_of(study)), report_of(read_source(tmp_path / "out"))
    assert theirs["criteria"] == ours["criteria"]
    assert theirs["source"]["rows_sha256"] == ours["source"]["rows_sha256"]
    assert (tmp_path / "out" / "codebook.md").read_text().startswith("# Notes")


def test_an_export_is_imported_again(tmp_path):
    study = import_study(path=make_bundle(tmp_path / "b", with_ratings=True)).study
    export_study(study=study, out=tmp_path / "out")
    again = import_study(path=tmp_path / "out").study
    assert report_of(source_of(again))["criteria"] == report_of(source_of(study))["criteria"]


def test_probabilities_without_a_phase_weigh_instances_through_every_door(tmp_path):
    """A file, its import, and the export of that have the win rate of the dataset."""
    path, out = make_bundle(tmp_path / "b", with_ratings=True), tmp_path / "out"
    rows = [
        row | {"inclusion_probability": 0.25 + 0.75 * (row["unit"] < "i2")} for row in ratings()
    ]
    write_lines(path / "ratings.jsonl", rows)
    study = import_study(path=path).study
    export_study(study=study, out=out, formats=("jsonl", "csv"))
    reports = [report_of(source) for source in (source_of(study), read_source(path))]
    for number, file in enumerate((path, out, out / "ratings.csv")):
        written = tmp_path / f"{number}.json"
        assert main(["analyze", str(file), "--out", str(written), "--replicates", "0"]) == 0
        reports.append(json.loads(written.read_text()))
    wins = [(1 - row["label"]) / 2 for row in rows]
    expected = np.average(wins, weights=[1 / row["inclusion_probability"] for row in rows])
    assert abs(expected - np.mean(wins)) > 0.05
    for report in reports:
        rate = report["criteria"]["preference"]["systems"]["win_rate"]["old"]
        assert rate["value"] == pytest.approx(expected)


def test_an_export_contains_no_external_ids(tmp_path):
    """Nor does it contain an address, a completion code or a researcher's name."""
    ruth = User.objects.create_user("ruth-the-researcher", email="ruth@example.org")
    study = make_open_study(instances=1, comparisons_per_hit=2, member=ruth)
    channel = study.channels.create(provider="panel", external_id="platform-study-7")
    ann = give_consent(
        study=study,
        entrant=Entrant(
            provider="panel",
            external_id="WORKER-A1B2C3",
            submission_id="SUBMISSION-D4E5F6",
            channel=channel,
            address="f00dfeedf00dfeedf00dfeedf00dfeed",
            return_params={"person": "ann@example.org"},
        ),
    )
    mark_guidelines_read(participation=ann)
    assignment = take_place(participation=ann)
    for hit_unit in assignment.hit.hit_units.all():
        submit_rating(
            assignment=assignment,
            hit_unit=hit_unit,
            criterion=study.criteria.get(),
            answer=Answer("1", client_key=f"client-key-{hit_unit.pk}"),
        )
    ann.refresh_from_db()
    out = tmp_path / "out"
    assert export_study(study=study, out=out, formats=FORMATS).counts.rows == 2
    secrets = {
        *("WORKER-A1B2C3", "SUBMISSION-D4E5F6", "platform-study-7", "ann@example.org"),
        *("client-key-", "ruth-the-researcher", "ruth@example.org"),
        *(ann.address, ann.submission.completion_code, ann.order_seed, study.seed),
    }
    written = {str(path.relative_to(out)): content_of(path) for path in files_in(out)}
    assert {"preference.jsonl", "hf/README.md", "hf/croissant.json"} <= set(written)
    assert {"ratings.jsonl", "ratings.csv", "ratings.parquet", "codebook.md"} <= set(written)
    for name, content in written.items():
        assert {secret for secret in secrets if secret in content} == set(), name
    for name in ("ratings.jsonl", "ratings.csv", "ratings.parquet"):
        assert written[name].count(ann.rater.pseudonym) >= 2


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def content_of(path: Path) -> str:
    """Return the content of a file as text, also of a Parquet file or a workbook."""
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as book:
            return "".join(book.read(name).decode() for name in book.namelist())
    if path.suffix == ".parquet":
        return str(pyarrow.parquet.read_table(path).to_pylist())
    return path.read_text(encoding="utf-8")


def test_an_export_overwrites_nothing(tmp_path):
    study = make_open_study(instances=1)
    with refused("out_exists"):
        export_study(study=study, out=make_bundle(tmp_path / "b"))
    with refused("unknown_format"):
        export_study(study=study, out=tmp_path / "out", formats=["xml"])


def test_instances_are_resampled_where_units_share_one(tmp_path):
    """The win rate has a much wider interval by instance, because five units share an instance."""
    path = next((GOLDEN / "separability").glob("mistral*.csv"))
    call_command("convert", "mturk", str(path), "--out", str(tmp_path / "b"), verbosity=0)
    source = read_source(tmp_path / "b")
    by_instance = build_report(source.table, replicates=4000).criteria["preference"]
    columns = {**source.table.columns, "instance": source.table.columns["unit"]}
    table = replace(source.table, columns=columns)
    by_unit = build_report(table, replicates=4000).criteria["preference"]
    assert (by_instance.resampling, by_unit.resampling) == ("instance", "unit")
    width = {
        section.resampling: rate.narrower[0].high - rate.narrower[0].low
        for section in (by_instance, by_unit)
        for rate in [section.systems.win_rate["mistral-7b"]]
    }
    assert 1.4 < width["instance"] / width["unit"] < 2.2


def test_scores_are_made_once_and_reach_the_units(tmp_path):
    study = import_study(path=make_bundle(tmp_path / "b", with_ratings=True)).study
    assert score_separability(study=study) == 3
    assert score_separability(study=study) == 0
    assert SeparabilityScore.objects.count() == 3
    assert study.units.filter(separability_raw__isnull=True).count() == 0
    assert score_separability(study=study, similarity_name="bleu") == 3


def test_a_planned_study_freezes_separability(tmp_path):
    study = import_study(path=make_bundle(tmp_path / "b")).study
    score_separability(study=study)
    plan_hits(study=study)
    unit = study.units.first()
    assert unit.separability_raw is not None
    assert unit.similarity == "rouge1"


def test_machines_keep_their_runs_and_orders_and_take_no_place(tmp_path):
    folder = make_bundle(tmp_path / "b")
    rows = [
        {
            "unit": "i0/0",
            "rater": "judge",
            "kind": "machine",
            "run": run,
            "order": order,
            "instance": "i0",
            "system_a": "old",
            "system_b": "new",
            "sample_index": 0,
            "label": 1,
        }
        for run in ("1", "2")
        for order in ("ab", "ba")
    ]
    rows.append({**rows[0], "run": "3", "label": None, "raw": "no idea"})
    (folder / "ratings.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    study = import_study(path=folder).study
    assert Assignment.objects.count() == 5
    assert Place.objects.count() == progress_of(study).places == 0
    machine = Rating.objects.first().rater
    assert (
        stored_tallies(study=study)[study.units.get().pk, study.criteria.get().pk, machine.pk, ""]
        == 1
    )
    assert Study.objects.get().status == "closed"


def test_every_setting_leaves_with_the_study_and_comes_back(tmp_path):
    study = make_study(
        instances=1,
        ratings_per_hit=4,
        reward=Decimal("1.25"),
        currency="EUR",
        annotators_per_address=None,
        hits_per_day=7,
        lease_minutes=12.5,
        bundling="mixed",
        promised_hourly_rate=Decimal("11.40"),
        comments=False,
    )
    export_study(study=study, out=tmp_path / "out")
    back = import_study(path=tmp_path / "out").study
    for name in SETTINGS:
        assert getattr(back, name) == getattr(study, name), name
    assert back.annotators_per_address is None
