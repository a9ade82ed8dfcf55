"""Small random studies, and the estimates and page texts of their reports."""

import json
import random
from collections.abc import Iterator
from dataclasses import asdict, is_dataclass, replace
from functools import cache

import jsonschema
import numpy as np

from tiebreak.formats import RatingTable
from tiebreak.reading.shown import Section, section_of
from tiebreak.report import Report, build_report
from tiebreak.report.schema import report_schema
from tiebreak.stats import Estimate, logistic_weights, select

SCALES = {
    "preference": [-1, 1],
    "preference:tie": [-1, 0, 1],
    "preference:tie+bad": [-1, 0, 1, "bad"],
    "preference:5+bad": [-2, -1, 0, 1, 2, "bad"],
    "nominal:a,b": ["a", "b"],
    "ordinal:1..5": [1, 2, 3, 4, 5],
    "interval:1..5": [1, 2, 3, 4, 5],
    "ratio": [0, 0.5, 2],
}


@cache
def validator() -> jsonschema.Draft202012Validator:
    schema = report_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def report_of(rows: list[dict], **options) -> Report:
    return build_report(RatingTable.from_rows(rows), **{"replicates": 20, **options})


def checked(report: Report) -> Report:
    """Return a report that is valid JSON, follows the schema and can be shown."""
    written = report.as_json()
    json.dumps(written, allow_nan=False)
    validator().validate(written)
    assert sections(report) or not report.criteria
    return report


def sections(report: Report) -> list[Section]:
    return [section_of(name, report.criteria[name]) for name in report.criteria_order]


def estimates(part: object, path: str = "") -> Iterator[tuple[str, Estimate]]:
    """Yield every estimate of a report with its path."""
    if isinstance(part, Estimate):
        yield path, part
    elif isinstance(part, tuple):
        for index, inner in enumerate(part):
            yield from estimates(inner, f"{path}[{index}]")
    elif isinstance(part, dict) or is_dataclass(part):
        for name, inner in (part if isinstance(part, dict) else vars(part)).items():
            yield from estimates(inner, f"{path}/{name}")


def words(report: Report) -> str:
    """Return everything that the dashboard shows of a report, as JSON."""
    shown = [replace(section, about=section.about.resampling) for section in sections(report)]
    return json.dumps([asdict(section) for section in shown], default=str, ensure_ascii=False)


def preferences(labels: list[list[object]], **more) -> list[dict]:
    """Return ratings of instances with one unit each, given a list of labels per instance.

    Instances take turns with the values of a tuple in ``more``.
    """
    return [
        {
            "unit": f"u{i}",
            "instance": f"i{i}",
            "rater": f"r{r}",
            "label": label,
            "system_a": "a",
            "system_b": "b",
            **{k: v[i % len(v)] if isinstance(v, tuple) else v for k, v in more.items()},
        }
        for i, instance_labels in enumerate(labels)
        for r, label in enumerate(instance_labels)
    ]


def drawn_study(design: str, *, seed: int, n: int = 100, control_share: float = 0.0) -> list[dict]:
    """Return ratings of drawn instances; the first system wins 45% of all, 65% of the top ones."""
    rng = np.random.default_rng(seed)
    delta = rng.permutation(1000) / 1000
    drawn = select(
        delta,
        n,
        design=design,
        weights=logistic_weights(delta),
        control_share=control_share,
        rng=rng,
    )
    wins = np.where(delta > 0.9, 0.65, 0.45 - 0.2 / 9)
    return [
        {
            "unit": f"u{i}",
            "instance": f"i{i}",
            "rater": f"r{r}",
            "label": -1 if rng.random() < wins[i] else 1,
            "system_a": "first",
            "system_b": "second",
            "phase": str(drawn.phase[i]),
            "inclusion_probability": float(drawn.inclusion[i]),
            "separability_raw": float(delta[i]),
        }
        for i in np.flatnonzero(drawn.selected)
        for r in range(3)
    ]


def odd_study(rng: random.Random) -> tuple[list[dict], dict[str, str]]:
    """Return a few ratings in any form that a file may have, and their declared scales."""
    scale = rng.choice(list(SCALES))
    labels = _labels(rng, SCALES[scale])
    raters = rng.choice([0, 1, 1, 2, 4])
    machines = rng.choice([0, 0, 1, 2]) if raters else 1
    systems = rng.choice([[], ["x", "y"], ["x", "y"], ["x", "y", "z"]])
    drawn = rng.choice(["", "all", "drawn", "drawn", "without a control"])
    has_bad_instance = "bad" in SCALES[scale] and rng.random() < 0.6
    unparsed = rng.choice([0, 0.3, 1])
    rows = []
    for instance in range(rng.choice([1, 1, 2, 3, 12])):
        about = _drawn(rng, drawn) | {"separability_raw": rng.choice(["", 0.3, rng.random()])}
        for unit in range(rng.choice([1, 1, 2])):
            a, b = sorted(rng.sample(systems, 2)) if systems else ("", "")
            about |= {"unit": f"u{instance}-{unit}", "instance": f"i{instance}", "criterion": "c"}
            about |= {"system_a": a, "system_b": b}
            choices = ["bad"] if has_bad_instance and instance == 0 else labels
            rows += [
                about | {"rater": f"r{r}", "label": rng.choice(choices), "side_a": "left"}
                for r in range(raters)
                if rng.random() < 0.9
            ]
            for m in range(machines):
                answer = {"label": rng.choice(labels)}
                if rng.random() < unparsed:
                    answer = {"label": None, "raw": "?"}
                rows.append(about | {"rater": f"m{m}", "kind": "machine"} | answer)
    return rows, rng.choice([{}, {"c": scale}])


def _labels(rng: random.Random, labels: list[object]) -> list[object]:
    kind = rng.choice(["any", "any", "one", "bad"])
    if kind == "any" or (kind == "bad" and "bad" not in labels):
        return labels
    return ["bad"] if kind == "bad" else [rng.choice(labels)]


def _drawn(rng: random.Random, drawn: str) -> dict[str, object]:
    if drawn in {"", "all"}:
        return {"phase": drawn}
    phase = "design" if drawn == "without a control" else rng.choice(["control", "design"])
    return {"phase": phase, "inclusion_probability": rng.choice([0.2, 0.5, 1.0])}
