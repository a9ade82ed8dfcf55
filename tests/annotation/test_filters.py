"""Which ratings a filter chooses, and what there is to choose from."""

import random
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from annotation.exports.ratings import rating_rows
from annotation.filter_choices import MAX_VALUES_OF_METADATA, filter_choices
from annotation.filters import EVERYTHING, NO_FAILED_CHECK, Filter, ratings_in
from annotation.imports.study_import import import_study
from annotation.models import Rating, Tally
from annotation.services.ratings import Answer
from metrics.results.selectors import source_of
from studies.models import Criterion, Instance, Study, StudyVersion
from tests.annotation.answers import submit_unit
from tests.annotation.places import hit_units_of, take_place
from tests.studies.factories import make_open_study, make_participation
from tests.tiebreak.formats.bundles import make_bundle, write_lines
from tiebreak.formats.rows import Row
from tiebreak.report import build_report
from tiebreak.report.criterion import read_criteria
from tiebreak.stats import agreement_strata

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

SCALES = {
    "preference:tie+bad": [-1, 0, 1, "bad"],
    "preference:5+bad": [-2, -1, 0, 1, 2, "bad"],
    "nominal:a,b,c": ["a", "b", "c"],
    "ordinal:1..12": [1, 2, 9, 10, 11, 12],
    "interval:1..12": [1, 2, 9, 10, 11, 12],
    "ratio": [0, 0.5, 2, 10],
}


def imported(folder: Path, rows: list[Row], *, scale: str = "preference:tie") -> Study:
    bundle = make_bundle(folder / "b")
    text = (bundle / "study.toml").read_text().replace('"preference:tie"', f'"{scale}"')
    (bundle / "study.toml").write_text(text)
    instances = [{"id": f"i{i}", "category": "odd" if i % 2 else "even"} for i in range(40)]
    write_lines(bundle / "instances.jsonl", instances)
    write_lines(bundle / "ratings.jsonl", rows)
    return import_study(path=bundle).study


def row(unit: int, rater: str, label: object = 1, **more: object) -> Row:
    about = {"unit": f"u{unit}", "instance": f"i{unit}", "rater": rater, "label": label}
    return about | {"system_a": "old", "system_b": "new"} | more


def rate_all(study: Study, name: str, labels: dict[Criterion, str]) -> None:
    """Let an annotator rate every unit of the study alike."""
    participation = make_participation(study, name)
    for _ in range(study.hits.main().count()):
        assignment = take_place(participation=participation)
        for number, hit_unit in enumerate(hit_units_of(assignment)):
            key = f"{name}-{assignment.pk}-{number}"
            answers = {criterion: Answer(label, key) for criterion, label in labels.items()}
            submit_unit(assignment=assignment, hit_unit=hit_unit, answers=answers)


def units_of(study: Study, **chosen: object) -> set[str]:
    return set(ratings_in(study, Filter(**chosen)).values_list("unit__key", flat=True))


@pytest.mark.parametrize("scale", SCALES)
def test_strata_are_those_of_the_report(tmp_path, scale):
    draw = random.Random(scale)
    rows = [
        row(unit, f"r{rater}", draw.choice(SCALES[scale][: draw.choice((1, 2, 6))]))
        for unit in range(40)
        for rater in range(draw.randint(1, 7))
    ]
    study = imported(tmp_path, rows, scale=scale)
    source = source_of(study)
    ((criterion,), _) = read_criteria(source.table, source.scales, None)
    keys = criterion.rows["unit"][criterion.first_row]
    strata = agreement_strata(criterion.humans, level=criterion.scale.level)
    rated = criterion.humans.sum(axis=1) > 0
    for stratum in strata:
        assert units_of(study, stratum=stratum.name) == {*keys[stratum.members & rated]}
    assert sum(stratum.n_units > 0 for stratum in strata) >= 3


def test_a_unit_is_in_the_stratum_of_each_criterion_by_itself():
    study = make_open_study(instances=2, comparisons_per_hit=1, ratings_per_hit=2)
    study.criteria.create(name="fluency", question="?", scale="preference:tie", position=1)
    preference, fluency = (study.criteria.get(name=n) for n in ("preference", "fluency"))
    # The second annotator of a unit sees its texts on the other sides.
    rate_all(study, "ann", {preference: "1", fluency: "1"})
    rate_all(study, "bob", {preference: "-1", fluency: "1"})
    agreed = ratings_in(study, Filter(stratum="PA=1"))
    assert {rating.criterion for rating in agreed} == {preference}
    assert agreed.count() == 4


def test_a_category_a_pair_and_metadata_choose_units(tmp_path):
    study = imported(tmp_path, [row(unit, "r") for unit in range(4)])
    for key, year in (("i0", 2020), ("i1", "2020"), ("i2", 2021), ("i3", True)):
        Instance.objects.filter(key=key).update(metadata={"the year": year})
    assert units_of(study, category="odd") == {"u1", "u3"}
    assert units_of(study, metadata="the year:2020") == {"u0", "u1"}
    assert units_of(study, metadata="the year:true") == {"u3"}
    assert units_of(study, category="odd", metadata="the year:2020") == {"u1"}
    assert units_of(study, pair="old vs new") == {"u0", "u1", "u2", "u3"}
    assert units_of(study, pair="new vs old") == set()


def test_days_are_whole_and_in_utc(tmp_path):
    moments = {0: "2026-03-01T23:59:59Z", 1: "2026-03-02T00:00:00Z", 2: "2026-03-02T23:59:59Z"}
    rows = [row(unit, "r", created_at=moment) for unit, moment in moments.items()]
    study = imported(tmp_path, [*rows, row(3, "r", created_at="2026-03-03T00:30:00+01:00")])
    second = date(2026, 3, 2)
    assert units_of(study, since=second) == {"u1", "u2", "u3"}
    assert units_of(study, until=second) == {"u0", "u1", "u2", "u3"}
    assert units_of(study, until=date(2026, 3, 1)) == {"u0"}
    assert units_of(study, since=second, until=second) == {"u1", "u2", "u3"}
    assert Rating.objects.filter(created_at__lt=datetime(2026, 3, 3, tzinfo=UTC)).count() == 4


def test_a_version_and_a_channel_choose_answers():
    study = make_open_study(instances=2, comparisons_per_hit=1, ratings_per_hit=2)
    criterion = study.criteria.get()
    rate_all(study, "ann", {criterion: "1"})
    version = StudyVersion.objects.get()
    assert ratings_in(study, Filter(version=version.number)).count() == 2
    assert not ratings_in(study, Filter(version=version.number + 1))
    assert ratings_in(study, Filter(raters="channel:test")).count() == 2
    assert not ratings_in(study, Filter(raters="channel:other"))


def test_machines_stay_on_the_units_that_the_chosen_people_rated(tmp_path):
    day = {"created_at": "2026-03-01T10:00:00Z"}
    people = [row(0, "r", **day), row(1, "r", created_at="2026-03-05T10:00:00Z")]
    machine = [row(unit, "judge", kind="machine", run="1") for unit in (0, 1, 2)]
    study = imported(tmp_path, people + machine)
    chosen = ratings_in(study, Filter(until=date(2026, 3, 2)))
    assert sorted(chosen.values_list("unit__key", "rater__kind")) == [
        ("u0", "human"),
        ("u0", "machine"),
    ]
    assert ratings_in(study, Filter(category="even")).count() == 3


def test_rows_of_a_part_are_those_of_the_export(tmp_path):
    study = imported(tmp_path, [row(unit, f"r{n}") for unit in range(6) for n in range(2)])
    chosen = ratings_in(study, Filter(category="odd"))
    rows = [*rating_rows(study, chosen)]
    assert rows == [row for row in rating_rows(study) if row["category"] == "odd"]
    assert len(rows) == 6


def test_another_study_is_never_in_a_part(tmp_path):
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    imported(tmp_path / "first", [row(0, "r")])
    study = imported(tmp_path / "second", [row(1, "r")])
    parts = (
        EVERYTHING,
        Filter(category="odd"),
        Filter(pair="old vs new"),
        Filter(stratum="undefined"),
    )
    for chosen in parts:
        assert [r.unit.key for r in ratings_in(study, chosen)] == ["u1"]


def test_equal_filters_have_one_address():
    chosen = Filter(category="a & b", since=date(2026, 3, 1), version=2)
    again = Filter.of_values({"version": "2", "since": "2026-03-01", "category": "a & b"})
    assert chosen == again
    assert again.address == "category=a+%26+b&since=2026-03-01&version=2"
    assert chosen.digest == again.digest != Filter(category="a & b").digest
    assert (EVERYTHING.address, EVERYTHING.digest, bool(EVERYTHING)) == ("", "", False)


def test_choices_are_the_values_that_occur(tmp_path):
    study = imported(tmp_path, [row(unit, "r") for unit in range(30)])
    for number, instance in enumerate(Instance.objects.order_by("pk")):
        metadata = {
            "year": 2020 + number % 2,
            "is_long": number % 2 == 0,
            "title": f"title {number}",
            "language": "en",
            "a:b": number % 2,
            "tags": ["x"],
            "note": "",
        }
        Instance.objects.filter(pk=instance.pk).update(metadata=metadata)
    choices = filter_choices(study)
    assert choices["category"] == ["even", "odd"]
    assert choices["metadata"] == ["is_long:false", "is_long:true", "year:2020", "year:2021"]
    assert choices["pair"] == ["old vs new"]
    assert choices["stratum"] == ["undefined"]  # each item has one rating
    assert choices["raters"] == []
    assert MAX_VALUES_OF_METADATA < 30


@pytest.mark.parametrize("column", ["separability", "separability_raw"])
def test_a_range_of_separability_has_the_items_that_the_report_counts(tmp_path, column):
    rng = random.Random(3)
    rows = [
        row(unit, f"r{n}", **{column: delta})
        for unit in range(40)
        for delta in [rng.uniform(-0.2, 0.7)]
        for n in range(2)
    ]
    study = imported(tmp_path, rows)
    ranges = filter_choices(study)["separability"]
    source = source_of(study)
    report = build_report(source.table, scales=source.scales, order=source.order, replicates=0)
    (about,) = report.criteria.values()
    strata = {s.stratum: s.n_units for s in about.strata if s.stratifier == "separability"}
    assert ranges == [name for name, n in strata.items() if n]
    for name in ranges:
        chosen = ratings_in(study, Filter(separability=name))
        assert chosen.values("unit").distinct().count() == strata[name]


def test_every_choice_chooses_something(tmp_path):
    study = imported(tmp_path, [row(unit, f"r{n}") for unit in range(8) for n in range(2)])
    Rating.objects.filter(unit__instance__category="odd").update(excluded=True)
    Tally.objects.filter(unit__instance__category="odd").delete()
    choices = filter_choices(study)
    assert choices["category"] == ["even"]
    assert choices["stratum"] == ["PA=1"]
    for name, values in choices.items():
        for value in values:
            chosen = Filter.of_values({name: value})
            assert ratings_in(study, chosen).in_statistics(), value


def test_people_who_failed_a_check_can_be_left_out():
    study = make_open_study(instances=2, comparisons_per_hit=1, ratings_per_hit=2)
    assert filter_choices(study)["raters"] == []
    criterion = study.criteria.get()
    rate_all(study, "ann", {criterion: "1"})
    rate_all(study, "bob", {criterion: "1"})  # on the other sides, so another label
    first = Rating.objects.filter(rater__external_id="ann").first()
    gold = study.units.create(
        key="gold", role="gold", known_labels={criterion.name: int(first.label)}
    )
    for rating in Rating.objects.filter(unit=first.unit):
        rating.pk, rating.unit, rating.client_key = None, gold, f"gold-{rating.client_key}"
        rating._state.adding = True
        rating.save()
    assert filter_choices(study)["raters"] == ["channel:test", NO_FAILED_CHECK]
    chosen = ratings_in(study, Filter(raters=NO_FAILED_CHECK))
    assert set(chosen.values_list("rater__external_id", flat=True)) == {"ann"}
