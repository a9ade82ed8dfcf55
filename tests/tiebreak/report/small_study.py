"""A small study that has every part of a report. As a program, writes its report as a golden file."""

import json
import random

from tests.paths import GOLDEN
from tiebreak.formats import RatingTable
from tiebreak.report import Report, build_report
from tiebreak.report.registry import on_request

REPORT = GOLDEN / "report.json"


def small_study() -> list[dict]:
    """Return ratings of a drawn sample of instances by three people and a machine.

    A second criterion has ratings of people only, and the scale of a third one is unknown.
    """
    rng = random.Random(7)
    rows = []
    for number in range(24):
        unit = f"u{number}"
        rows += _preferences(rng, number, unit)
        rows += [
            {"unit": unit, "criterion": "fluency", "rater": rater, "label": rng.randint(1, 5)}
            for rater in ("r0", "r1")
        ]
    unparsed = {"rater": "judge", "kind": "machine", "label": None, "raw": "?"}
    return [*rows, {"unit": "u0", "criterion": "style", **unparsed}]


def _preferences(rng: random.Random, number: int, unit: str) -> list[dict]:
    about = {
        "unit": unit,
        "instance": f"i{number // 2 if number < 4 else number}",
        "system_a": "old",
        "system_b": "new",
        "separability_raw": 0.25,
        "side_a": rng.choice(["left", "right"]),
        "chars_a": rng.randint(5, 9),
        "chars_b": 7,
        "phase": "control" if number % 2 else "design",
        "inclusion_probability": 0.5,
    }
    answer = {"label": rng.choice([-1, 1])} if number else {"label": None, "raw": "?"}
    if number:
        answer["probabilities"] = {
            str(side): 0.75 if side == answer["label"] else 0.25 for side in (-1, 1)
        }
    return [
        *(about | {"rater": f"r{r}", "label": rng.choice([-1, 0, 1, 1])} for r in range(3)),
        about | {"rater": "judge", "kind": "machine"} | answer,
    ]


def small_report() -> Report:
    return build_report(RatingTable.from_rows(small_study()), replicates=50, sections=on_request())


if __name__ == "__main__":
    REPORT.write_text(json.dumps(small_report().as_json(), indent=0, allow_nan=False) + "\n")
