"""Ratings of machines are added to a study: all or nothing, once, and no human's."""

import csv
import json
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from django.db import IntegrityError

from annotation.exports.ratings import rating_rows
from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from annotation.models import Assignment, Place, Rater, Rating, Tally
from machine_raters.uploads.ratings import AddedRatings, add_machine_ratings
from metrics.results.services import watermark
from studies.models import Study, Unit
from tests.annotation.annotators import annotator
from tests.annotation.tallies import recount, stored_tallies
from tests.refusals import refused, refused_file
from tests.studies.factories import make_open_study, make_participation, make_study
from tests.tiebreak.formats.built import columns_built

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_open_study(instances=2, comparisons_per_hit=2, ratings_per_hit=1)


@pytest.fixture
def add(study, tmp_path):
    """Add rows, given as a list or as changes of one good row, from a file."""

    def added(*rows: dict, suffix: str = "jsonl") -> AddedRatings:
        path = tmp_path / f"ratings.{suffix}"
        if suffix == "csv":
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
        else:
            path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        return add_machine_ratings(study=study, path=path)

    return added


def units(study: Study) -> Sequence[Unit]:
    return study.units.filter(role="main").order_by("pk")


def row(unit: Unit, **more) -> dict:
    return {"unit": unit.key, "rater": "judge", "kind": "machine", "label": 1, **more}


def rows(study: Study, **more) -> list[dict]:
    return [row(unit, **more) for unit in units(study)]


def test_many_ratings_build_as_many_columns_as_few(study, add, monkeypatch):
    built = columns_built(monkeypatch)
    add(*rows(study))
    with_few = len(built)
    built.clear()
    add(*(row for run in ("1", "2", "3") for row in rows(study, run=run)))
    assert len(built) == with_few > 0


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_the_rows_of_the_file_are_in_the_export(study, add, suffix):
    before = watermark(study)
    asked = rows(study, run="1", order="ab", raw="I prefer B.", duration_ms=12)
    assert add(*asked, suffix=suffix) == AddedRatings(4, 0)
    stored = list(rating_rows(study))
    assert len(stored) == 4
    for given, row in zip(asked, stored, strict=True):
        assert given.items() <= row.items()
    assert watermark(study) != before


def test_a_machine_takes_no_place_and_its_tallies_are_its_own(study, add):
    ann = annotator(study)
    ann.choose()
    places = list(Place.objects.order_by("pk").values())
    add(*rows(study))
    assert list(Place.objects.order_by("pk").values()) == places
    assert stored_tallies(study=study) == recount(study=study)
    assert Tally.objects.filter(rater__isnull=False).count() == 4
    ann.choose()  # and people go on
    assert stored_tallies(study=study) == recount(study=study)


def test_an_upload_may_be_repeated_and_continued(study, add):
    asked = rows(study)
    assert add(*asked[:1]) == AddedRatings(1, 0)
    assert add(*asked) == AddedRatings(3, 1)
    assert add(*asked) == AddedRatings(0, 4)
    assert Rating.objects.count() == 4
    assert Rater.objects.filter(kind="machine").count() == 1


def test_runs_orders_and_raters_are_told_apart(study, add):
    one = units(study)[0]
    passes = [row(one), row(one, run="2"), row(one, order="ba"), row(one, rater="other")]
    assert add(*passes) == AddedRatings(4, 0)
    assert add(*passes, row(one, run="3")) == AddedRatings(1, 4)
    assert stored_tallies(study=study) == recount(study=study)
    judge = Assignment.objects.filter(rater__pseudonym="judge")
    assert sorted(judge.values_list("position", flat=True)) == [1, 2, 3, 4]


def test_an_answer_that_could_not_be_parsed_is_stored_with_its_text(study, add):
    unparsed = row(units(study)[0], label=None, raw="Neither, I think?")
    assert add(unparsed) == AddedRatings(1, 0)
    assert add(unparsed) == AddedRatings(0, 1)
    assert stored_tallies(study=study) == recount(study=study)
    with refused_file(("ratings.jsonl", 1, "rating_differs")):
        add(unparsed | {"raw": "Both."})
    with refused_file(("ratings.jsonl", 1, "rating_differs")):
        add(unparsed | {"nonresponse": "cannot_say"})


def test_a_nonresponse_is_stored_and_not_tallied(study, add):
    asked = [row(unit, label=None, nonresponse="cannot_say") for unit in units(study)[:2]]
    assert (add(asked[0]), add(*asked)) == (AddedRatings(1, 0), AddedRatings(1, 1))
    assert set(Rating.objects.values_list("label", "nonresponse")) == {(None, "cannot_say")}
    assert not stored_tallies(study=study)


def test_the_time_is_that_of_the_file(study, add):
    add(row(units(study)[0], created_at="2026-03-01T14:05:09Z"))
    assert Rating.objects.get().created_at == datetime(2026, 3, 1, 14, 5, 9, tzinfo=UTC)


BAD = {
    "a human": ({"kind": "human", "rater": "ann"}, "human_rating"),
    "no kind, which means a human": ({"kind": "", "rater": "ann"}, "human_rating"),
    "an unknown unit": ({"unit": "nowhere"}, "unknown_unit"),
    "an unplanned repeat": ({"role": "repeat"}, "unknown_unit"),
    "a reference unit": ({"role": "gold"}, "not_a_main_unit"),
    "an unknown criterion": ({"criterion": "humour"}, "unknown_criterion"),
    "a label off the scale": ({"label": 7}, "label_not_on_scale"),
    "another instance": ({"instance": "elsewhere"}, "contradicts_unit"),
    "systems swapped": ({"system_a": "system-1"}, "contradicts_unit"),
    "a flag": ({"excluded": True}, "flagged_rating"),
    "a reason without a flag": ({"excluded_reason": "bad"}, "flagged_rating"),
    "a bad number": ({"duration_ms": -1}, "not_a_whole_number"),
    "a run that its column cannot hold": ({"run": "x" * 101}, "max_length"),
    "a position that its column cannot hold": ({"position": 2**40}, "max_value"),
    "a rater's name that is too long": ({"rater": "x" * 300}, "id_too_long"),
}


@pytest.mark.parametrize("name", BAD)
def test_one_bad_row_keeps_all_rows_out(study, add, name):
    change, code = BAD[name]
    good, bad = units(study)[:2]
    with refused_file(("ratings.jsonl", 2, code)):
        add(row(good), row(bad) | change)
    assert not Rating.objects.exists()
    assert not Assignment.objects.exists()
    assert not Rater.objects.exists()


def test_another_answer_to_the_same_question_is_refused(study, add):
    first = units(study)[0]
    add(row(first))
    with refused_file(("ratings.jsonl", 1, "rating_differs")):
        add(row(first, label=-1))
    assert Rating.objects.get().label == "1"


def test_the_name_of_an_annotator_is_not_a_machines(study, add):
    person = make_participation(study).rater
    with refused_file(("ratings.jsonl", 1, "rater_is_human")):
        add(row(units(study)[0], rater=person.pseudonym))


def test_the_name_of_an_imported_annotator_is_not_a_machines(study, tmp_path):
    annotator(study).choose()
    export_study(study=study, out=tmp_path / "out")
    copy = import_study(path=tmp_path / "out").study
    name = Rating.objects.filter(unit__study=copy).get().rater.pseudonym
    path = tmp_path / "ratings.jsonl"
    path.write_text(json.dumps(row(units(copy)[0], rater=name)))
    with refused_file(("ratings.jsonl", 1, "rater_is_human")):
        add_machine_ratings(study=copy, path=path)


def test_a_machine_that_came_with_the_import_goes_on_under_its_name(study, add, tmp_path):
    asked = rows(study)
    add(*asked[:1])
    export_study(study=study, out=tmp_path / "out")
    copy = import_study(path=tmp_path / "out").study
    path = tmp_path / "more.jsonl"
    more = [row(units(copy)[0]), row(units(copy)[0], run="2")]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in more))
    assert add_machine_ratings(study=copy, path=path) == AddedRatings(1, 1)
    assert Rater.objects.filter(provider=f"import:{copy.pk}").count() == 1


def test_an_error_of_the_database_leaves_nothing_behind(study, add, monkeypatch):
    def refuse(_: object) -> None:
        raise IntegrityError("made up")

    monkeypatch.setattr("machine_raters.uploads.ratings.create_tallies", refuse)
    with refused_file(("ratings.jsonl", None, "refused_by_database")):
        add(*rows(study))
    assert not Rating.objects.exists()
    assert not Rater.objects.filter(kind="machine").exists()


def test_a_draft_is_refused(tmp_path):
    path = tmp_path / "ratings.jsonl"
    path.write_text('{"unit": "u", "rater": "judge", "kind": "machine", "label": 1}')
    with refused("study_is_draft"):
        add_machine_ratings(study=make_study(instances=1), path=path)


def test_planned_repeats_are_rated_as_repeats(add, study, tmp_path):
    repeated = make_open_study(instances=1, comparisons_per_hit=5, repeats_per_hit=1)
    planned = repeated.hits.main().get().hit_units.get(repeat=1).unit
    path = tmp_path / "ratings.jsonl"
    path.write_text(json.dumps(row(planned, role="repeat")))
    assert add_machine_ratings(study=repeated, path=path).added == 1
    assert [row["role"] for row in rating_rows(repeated)] == ["repeat"]
    assert not stored_tallies(study=repeated)


def test_more_ratings_cost_few_more_statements(study, add, django_assert_max_num_queries):
    many = [row(unit, run=str(run)) for unit in units(study) for run in range(50)]
    with django_assert_max_num_queries(30):
        assert add(*many).added == 200


SHARES = {"-1": 0.25, "0": 0.0, "1": 0.75}


def test_probabilities_survive_an_upload_an_export_and_an_import(study, add, tmp_path):
    add(*rows(study, probabilities={"-1.0": 0.25, "0": 0.0, "1": 0.75}))
    assert [rating.probabilities for rating in Rating.objects.all()] == [SHARES] * 4
    export_study(study=study, out=tmp_path / "out", formats=("jsonl", "csv", "parquet"))
    again = import_study(path=tmp_path / "out").study
    stored = Rating.objects.filter(unit__study=again)
    assert [rating.probabilities for rating in stored] == [SHARES] * 4
    path = tmp_path / "out" / "ratings.jsonl"
    path.write_text(path.read_text().replace('\\"-1\\": 0.25', '\\"5\\": 0.25'))
    with refused_file(*(("ratings.jsonl", line, "label_not_on_scale") for line in range(1, 5))):
        import_study(path=tmp_path / "out")


def test_other_probabilities_are_another_answer(study, add):
    add(*rows(study, probabilities=SHARES))
    assert add(*rows(study)) == AddedRatings(0, 4)  # a file without them does not contradict
    with refused_file(("ratings.jsonl", 1, "rating_differs")):
        add(rows(study, probabilities={"-1": 0.5, "1": 0.5})[0])


def test_probabilities_of_other_labels_are_refused(study, add):
    with refused_file(("ratings.jsonl", 1, "label_not_on_scale")):
        add(rows(study, probabilities={"5": 1.0})[0])
    assert not Rating.objects.exists()
