"""Small files in layouts of other people: each gives the values that are known, or is refused."""

import json

import pytest

from tests.paths import ROOT
from tiebreak.cli import main
from tiebreak.formats.tables import TableReading, open_table
from tiebreak.report import build_report, read_source

CASES = ROOT / "tests" / "cases"
# How `analyze` infers the scale, and how many ratings, which α and Randolph's κ it reports.
ANALYZED = {
    "binary01.csv": ("nominal:0,1", 16, 0.53125, 0.5),
    "binary12.csv": ("nominal:1,2", 16, 0.5, 0.5),
    "missing_none.csv": ("nominal:1,2", 7, 1.0, 1.0),
    "missing_empty.csv": ("nominal:1,2", 7, 1.0, 1.0),
    "trailing_space.csv": ("nominal:Yes,no", 8, 0.533333, 0.5),
    "ordered_words.csv": ("ordinal:low,medium,high", 12, 0.763558, 0.5),
    "header_words.csv": ("ordinal:1..5", 8, 0.978395, 0.6875),
    "semicolon_decimal_comma.csv": ("interval", 8, 0.872727, -0.25),
    "wide_raters.csv": ("ordinal:1..5", 41, 0.815388, 0.772727),
}
REFUSED = ("big_integers.csv",)
# α of Krippendorff's own example by the scale that is declared.
BY_SCALE = {
    "nominal:1,2,3,4,5": 0.743421,
    "ordinal:1..5": 0.815388,
    "interval": 0.849107,
    "ratio": 0.797403,
}
# The reader, and how many ratings that count prefer the left text, none and the right one.
CONVERTED = {
    "labelstudio_choices.json": ("labelstudio", [4, 4, 4]),
    "mturk_batch.csv": ("mturk", [4, 4, 3]),
}
# The columns, instances and generations of a table, or the code for which it is refused.
TABLES = {
    "fastchat_answers.jsonl": (
        {"system": "model_id", "text": "text", "instance": "question_id"},
        6,
        12,
    ),
    "mturk_answers_are_no_texts.csv": "doubtful_text",
    "qualtrics.csv": "doubtful_text",
}


@pytest.mark.parametrize("name", sorted(file.name for file in CASES.iterdir()))
def test_a_file_is_read_as_what_it_is_or_refused(name, tmp_path, capsys):
    path, out = CASES / name, tmp_path / "out.jsonl"
    if name in CONVERTED:
        reader, votes = CONVERTED[name]
        assert main(["convert", reader, str(path), "--out", str(out)]) == 0
        rows = map(json.loads, out.read_text().splitlines())
        labels = [row["label"] for row in rows if not row.get("excluded")]
        assert [labels.count(label) for label in (-1, 0, 1)] == votes
    elif name in TABLES:
        with open_table(path) as table:
            reading = TableReading(table)
            list(reading.rows())
        read = reading.summary()
        found = (dict(read.plan.columns), read.instances, read.generations)
        assert (read.problems[0].code if read.problems else found) == TABLES[name]
    else:
        status = main(["analyze", str(path), "--out", str(out), "--replicates", "0", "--core"])
        assert (status, out.exists()) == ((1, False) if name in REFUSED else (0, True))
        if name not in REFUSED:
            section = json.loads(out.read_text())["criteria"]["preference"]
            among = section["strata"][0]["human_human"]
            values = [among[key]["value"] for key in ("krippendorff_alpha", "randolph_kappa")]
            assert section["scale"] in capsys.readouterr().out
            scale, n, *expected = ANALYZED[name]
            assert (section["scale"], section["n_ratings"]) == (scale, n)
            assert values == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize(("scale", "expected"), BY_SCALE.items())
def test_a_matrix_has_the_agreement_of_the_declared_scale(scale, expected):
    source = read_source(CASES / "wide_raters.csv")
    assert source.read.startswith(
        "12 items × 4 raters, 41 ratings, 7 missing, ordinal 1 to 5 (inferred)"
    )
    report = build_report(source.table, scales={"preference": scale}, replicates=0)
    alpha = report.criteria["preference"].strata[0].human_human.krippendorff_alpha
    assert alpha.value == pytest.approx(expected, abs=5e-7)
