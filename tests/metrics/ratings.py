"""Ratings as rows of the published format: small ones by hand, and published studies."""

import json
from functools import cache

from jsonschema import Draft202012Validator

from metrics.report import ReportSource, build_report
from studies.formats.table import RatingTable
from tests.shared_data import ROOT
from tests.stats import published

SOURCE = ReportSource("file", "0" * 64)
CONFIGURATIONS = (
    "vicuna-7b_gpt-3.5-turbo-instruct_cnn_dm",
    "mistral-7b_vicuna-7b_samsum",
)


@cache
def schema():
    return Draft202012Validator(json.loads((ROOT / "docs" / "report.schema.json").read_text()))


def report_of(rows, *, replicates=200, **options):
    """The report of some rows; every one that a test makes must be as the schema says."""
    table = RatingTable.from_rows(rows, source="ratings.jsonl")
    report = build_report(table, source=SOURCE, replicates=replicates, **options)
    schema().validate(json.loads(json.dumps(report, allow_nan=False)))
    return report


def criterion_of(rows, name="preference", **options):
    return report_of(rows, **options)["criteria"][name]


def stratum(criterion, stratifier, name):
    (found,) = (
        s for s in criterion["strata"] if (s["stratifier"], s["stratum"]) == (stratifier, name)
    )
    return found


@cache
def separability_rows(name):
    """One configuration of the SEPARABILITY study, with a made-up δ per instance."""
    columns = (column.tolist() for column in published.separability(name))
    return tuple(
        {
            "unit": f"unit-{unit:03}",
            "rater": rater,
            "label": label,
            "instance": f"instance-{instance:02}",
            "system_a": "first",
            "system_b": "second",
            "category": f"category-{instance % 3}",
            "separability": instance / 50,
        }
        for label, instance, rater, unit in zip(*columns, strict=True)
    )


def rows_of(labels, **columns):
    """A row for each rater's label of each unit: ``labels`` (units, raters), None for no rating."""
    return [
        {"unit": f"u{unit}", "rater": f"r{rater}", "label": label, **columns}
        for unit, answers in enumerate(labels)
        for rater, label in enumerate(answers)
        if label is not None
    ]


def machine_rows(labels, *, rater="judge", **columns):
    """A machine's row for each unit; None is an answer that could not be read."""
    return [
        {"unit": f"u{unit}", "rater": rater, "kind": "machine", "label": label, **columns}
        | ({"raw": "?"} if label is None else {})
        for unit, label in enumerate(labels)
    ]
