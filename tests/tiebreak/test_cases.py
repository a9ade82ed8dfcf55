"""Small files in layouts of other people: each gives the values that are known, or is refused."""

import json
from pathlib import Path

import pytest

from tests.paths import ROOT
from tiebreak.cli import main
from tiebreak.formats.tables import TableReading, open_table

CASES = ROOT / "tests" / "cases"
HEAD = "strata.0.human_human."
# What `analyze` must report of a file's only criterion. Without values the file may be refused instead.
ANALYZED = {
    "binary01.csv": {
        "labels": ["0", "1"],
        f"{HEAD}krippendorff_alpha.value": 0.53125,
        f"{HEAD}randolph_kappa.value": 0.5,
        f"{HEAD}fleiss_kappa.value": 0.5,
    },
    "binary12.csv": {
        "labels": ["1", "2"],
        f"{HEAD}krippendorff_alpha.value": 0.5,
        f"{HEAD}randolph_kappa.value": 0.5,
        f"{HEAD}fleiss_kappa.value": 0.466667,
    },
    "missing_none.csv": {"n_ratings": 7, f"{HEAD}krippendorff_alpha.value": 1.0},
    "missing_empty.csv": {"n_ratings": 7, f"{HEAD}krippendorff_alpha.value": 1.0},
    "trailing_space.csv": {"labels": ["Yes", "no"], f"{HEAD}krippendorff_alpha.value": 0.533333},
    "ordered_words.csv": {"labels": ["high", "low", "medium"], "level": "nominal"},
}
REFUSED = {
    "big_integers.csv",
    "header_words.csv",
    "semicolon_decimal_comma.csv",
    "wide_raters.csv",
}
# What `convert` must make: ratings that count, and how many prefer the left text, none, the right one.
CONVERTED = {
    "labelstudio_choices.json": ("labelstudio", 12, {-1: 4, 0: 4, 1: 4}),
    "mturk_batch.csv": ("mturk", 11, {-1: 4, 0: 4, 1: 3}),
}
# What a table has: layout, columns, instances and generations; or the codes of its problems.
TABLES = {
    "fastchat_answers.jsonl": (
        "long",
        {"text": "text", "system": "model_id", "instance": "question_id"},
        6,
        12,
    ),
    "mturk_answers_are_no_texts.csv": {"doubtful_text"},
    "qualtrics.csv": {"doubtful_text"},
}


def found(section: dict, path: str) -> object:
    for key in path.split("."):
        section = section[int(key) if key.isdigit() else key]
    return section


@pytest.mark.parametrize("name", sorted(file.name for file in CASES.iterdir()))
def test_a_file_is_read_as_what_it_is_or_refused(name, tmp_path, capsys):
    path, out = CASES / name, tmp_path / "out.json"
    if name in CONVERTED:
        reader, counted, votes = CONVERTED[name]
        assert main(["convert", reader, str(path), "--out", str(tmp_path / "r.jsonl")]) == 0
        rows = map(json.loads, (tmp_path / "r.jsonl").read_text().splitlines())
        labels = [row["label"] for row in rows if not row.get("excluded")]
        assert len(labels) == counted
        assert {label: labels.count(label) for label in (-1, 0, 1)} == votes
    elif name in TABLES:
        assert of_table(path) == TABLES[name]
    else:
        status = main(["analyze", str(path), "--out", str(out), "--replicates", "0", "--core"])
        assert (status, out.exists()) == ((1, False) if name in REFUSED else (0, True))
        if name not in REFUSED:
            (section,) = json.loads(out.read_text())["criteria"].values()
            for part, value in ANALYZED[name].items():
                assert found(section, part) == pytest.approx(value, abs=5e-5), part
            assert section["scale"] in capsys.readouterr().out


def of_table(path: Path) -> object:
    with open_table(path) as table:
        reading = TableReading(table)
        for _ in reading.rows():
            pass
        summary = reading.summary()
    if summary.problems:
        return {problem.code for problem in summary.problems}
    return (
        summary.plan.layout,
        dict(summary.plan.columns),
        summary.instances,
        summary.generations,
    )
