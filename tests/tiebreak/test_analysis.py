"""`tiebreak.analyze`: any table gives the numbers of the command, and a notebook shows them."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import tiebreak
from tests.refusals import refused, refused_file
from tiebreak.cli import main
from tiebreak.formats import RatingTable
from tiebreak.formats.frames import rows_of_frame
from tiebreak.reading import notebook
from tiebreak.report import Report

NAMES = ("old <b>&", "new")
ROWS = [
    {
        "unit": f"u{unit}",
        "rater": f"r{rater}",
        "label": (-1, 0, 1)[(unit * rater + unit // 2) % 3],
        "instance": f"n{unit // 2}",
        "system_a": NAMES[0],
        "system_b": NAMES[1],
        "separability": None if unit == 0 else unit / 10,
    }
    for unit in range(12)
    for rater in range(3)
]


class Polars:
    """What a frame of polars answers when it is asked for its rows."""

    def iter_rows(self, *, named: bool):
        assert named
        return iter(ROWS)


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("ratings") / "ratings.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ROWS[0])
        writer.writeheader()
        writer.writerows(ROWS)
    return path


@pytest.fixture(scope="module")
def report(path) -> Report:
    return tiebreak.analyze(path, replicates=50)


FRAMES = {
    "rows": lambda: ROWS,
    "iterator": lambda: iter(ROWS),
    "columns": lambda: {name: [row[name] for row in ROWS] for name in ROWS[0]},
    "pandas": lambda: pd.DataFrame(ROWS),
    "nullable": lambda: pd.DataFrame(ROWS).convert_dtypes(),
    "index": lambda: pd.DataFrame(ROWS).set_index("unit"),
    "arrow": lambda: pa.Table.from_pylist(ROWS),
    "polars": Polars,
    "table": lambda: RatingTable.from_rows(ROWS),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_gives_the_numbers_of_the_command(kind, path, tmp_path, capsys):
    out = tmp_path / "report.json"
    assert main(["analyze", str(path), "--replicates", "50", "--out", str(out)]) == 0
    by_command = json.loads(out.read_text())
    by_call = tiebreak.analyze(FRAMES[kind](), replicates=50).as_json()
    for part in ("criteria", "criteria_order", "problems", "seed", "replicates", "simulated"):
        assert by_call[part] == by_command[part]
    assert by_call["source"]["n_used"] == 36


def test_what_is_declared_is_used(path):
    scales = {"preference": "preference:5"}
    report = tiebreak.analyze(path, scales=scales, replicates=0, seed=3)
    about = report.criteria["preference"]
    assert (about.scale, about.scale_inferred, report.seed) == ("preference:5", False, 3)
    assert tiebreak.analyze(path, replicates=0, core=True).criteria["preference"].bias is None


def test_missing_values_are_none_and_whole_numbers_are_whole():
    frame = pd.DataFrame(
        {
            "a": [1.0, float("nan")],
            "b": [pd.NaT, pd.Timestamp("2026-03-01")],
            "c": pd.Series([pd.NA, True], dtype="boolean"),
            3: [0.5, 2.0**60],
        }
    )
    assert list(rows_of_frame(frame)) == [
        {"a": 1, "b": None, "c": None, "3": 0.5},
        {"a": None, "b": "2026-03-01T00:00:00", "c": True, "3": 2.0**60},
    ]


def test_an_index_is_a_column_unless_it_counts_rows():
    frame = pd.DataFrame({"a": [1, 2, 3]})
    assert next(rows_of_frame(frame[frame.a > 1])) == {"a": 2}
    assert next(rows_of_frame(frame.set_index(pd.Index(["x", "y", "z"])))) == {"index": "x", "a": 1}
    both = pd.MultiIndex.from_tuples([(1, 2)], names=["i", "j"])
    assert list(rows_of_frame(pd.DataFrame({"a": [1]}, index=both))) == [{"i": 1, "j": 2, "a": 1}]


@pytest.mark.parametrize("data", [3, None, b"rows", ["a row"], [("u", "r", 1)], pd.Series([1])])
def test_what_is_no_table_is_refused(data):
    with refused("no_table"):
        tiebreak.analyze(data)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame([[1, 2]], columns=["1", 1]),
        pa.table([[1], [2]], names=["a", "a"]),
    ],
)
def test_two_columns_of_one_name_are_refused(frame):
    with refused("bad_header"):
        list(rows_of_frame(frame))


def test_other_refusals_have_their_codes(path, tmp_path):
    with refused("unknown_criterion"):
        tiebreak.analyze(path, scales={"fluency": "ordinal:1..5"}, replicates=0)
    nothing = tmp_path / "nothing"
    with refused_file((str(nothing), None, "no_such_source")):
        tiebreak.analyze(str(nothing))


def test_a_notebook_shows_numbers_findings_and_figures(report):
    markup = report._repr_html_()
    alpha = report.criteria["preference"].all_units.human_human.krippendorff_alpha
    assert f"{alpha.value:.2f}".lstrip("-") in markup
    assert markup.count("<svg") >= 3
    assert "12 items, 3 annotators, 36 ratings" in markup
    assert "old &lt;b&gt;&amp;" in markup
    assert "<b>" not in markup
    assert len(markup.encode()) < 300_000


def test_a_notebook_loads_nothing_and_styles_only_the_report(report):
    markup = report._repr_html_()
    assert not re.search(r"<(script|link|img|iframe)|\s(on\w+|src|href)=|url\(|@import", markup)
    rules = re.findall(r"^(.*?) \{", notebook.STYLE.read_text(), re.M)
    selectors = [one for rule in rules for one in rule.split(", ")]
    assert all(selector.startswith(".tiebreak-report") for selector in selectors)


def test_figures_beyond_the_limit_are_left_out_and_named(report, monkeypatch):
    whole = report._repr_html_()
    monkeypatch.setattr(notebook, "MAX_CHARACTERS", len(whole) // 2)
    cut = report._repr_html_()
    assert 0 < cut.count("<svg") < whole.count("<svg")
    assert (notebook.LEFT_OUT in cut, notebook.LEFT_OUT in whole) == (True, False)


def test_bots_are_named():
    bots = tiebreak.analyze([{**row, "simulated": True} for row in ROWS], replicates=0)
    assert notebook.SIMULATED in bots._repr_html_()


def test_the_top_level_loads_a_module_when_it_is_asked_for():
    program = (
        "import sys, tiebreak; assert 'numpy' not in sys.modules; tiebreak.analyze; tiebreak.no"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert run.stderr.rstrip().endswith("module 'tiebreak' has no attribute 'no'")
