"""The report's classes: their JSON keeps its keys and digits, and can be read again."""

import json
import math
import random
from collections.abc import Iterator

import pytest

from tests.metrics.studies import drawn_study, odd_study, words
from tests.paths import GOLDEN
from tests.tiebreak.report.small_study import REPORT, small_report, small_study
from tiebreak.formats import RatingTable
from tiebreak.formats.readers import convert
from tiebreak.report import build_report
from tiebreak.report.model.report import Report

PUBLISHED = {
    "pandalm": "pandalm",
    "mturk": "separability/mistral-7b_vicuna-7b_samsum_pref_data.csv",
    "summeval": "summeval/experts_coherence_relevance.jsonl",
}


def leaves(part: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield the values of a JSON document with their paths, in its order; {} and [] are values."""
    if isinstance(part, dict | list) and part:
        items = part.items() if isinstance(part, dict) else enumerate(part)
        for name, inner in items:
            yield from leaves(inner, f"{path}/{name}")
    else:
        yield path, part


def test_a_small_study_has_the_golden_report():
    golden = dict(leaves(json.loads(REPORT.read_text(encoding="utf-8"))))
    report = dict(leaves(small_report().as_json()))
    kept = {path: value for path, value in report.items() if path in golden}  # more may be added
    assert list(kept) == list(golden)
    assert list(kept.values()) == [
        pytest.approx(value, abs=1e-12) if isinstance(value, float) else value
        for value in golden.values()
    ]


def test_a_report_of_before_something_was_added_can_be_read():
    golden = json.loads(REPORT.read_text(encoding="utf-8"))
    again = dict(leaves(Report.from_json(golden).as_json()))
    assert {path: again[path] for path, _ in leaves(golden)} == dict(leaves(golden))


def test_the_golden_report_has_every_part():
    section = small_report().criteria["preference"]
    assert all([section.rating_sets, section.systems, section.selection, section.bias])
    assert section.all_units.machines["judge"]


def check_round_trip(rows: list[dict], **options) -> None:
    report = build_report(RatingTable.from_rows(rows), replicates=20, **options)
    written = json.dumps(report.as_json(), allow_nan=False)
    again = Report.from_json(json.loads(written))
    assert json.dumps(again.as_json(), allow_nan=False) == written
    assert words(again) == words(report)


@pytest.mark.thorough
@pytest.mark.parametrize("reader", PUBLISHED)
def test_published_studies_survive_storing(reader):
    check_round_trip(convert(reader, [GOLDEN / PUBLISHED[reader]]).ratings)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(20))
def test_odd_studies_survive_storing(seed):
    rows, scales = odd_study(random.Random(seed))
    check_round_trip(rows, scales=scales)


def test_drawn_studies_survive_storing():
    check_round_trip(drawn_study("uniform", seed=1, control_share=0.2))


def test_a_share_without_ratings_is_nan_again():
    """The machine rated no unit that has this majority label."""
    rows = [row for row in small_study() if row["rater"] != "judge"]
    judged = {"unit": "other", "rater": "judge", "kind": "machine", "label": 1}
    report = build_report(RatingTable.from_rows([*rows, judged]), replicates=0)
    again = Report.from_json(report.as_json())
    for perception in (report, again):
        share = perception.criteria["preference"].perception[0].machines["judge"]["1"]
        assert math.isnan(share)
    assert words(again) == words(report)


def test_a_database_may_change_the_order_of_keys():
    report = build_report(RatingTable.from_rows(small_study()), replicates=0)
    shuffled = json.loads(json.dumps(report.as_json(), sort_keys=True))
    again = Report.from_json(shuffled)
    assert tuple(again.criteria) == report.criteria_order
    assert again.as_json() == report.as_json()
