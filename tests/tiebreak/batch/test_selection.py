"""`tiebreak select`: the rows that the server's service draws for the same scores and seed."""

import json
from pathlib import Path

import pytest

from annotation.exports.tables import separability_rows
from annotation.imports.study_import import import_study
from studies.instance_selection.drawing import draw_instances
from studies.instance_selection.scoring import score_separability
from studies.models import InstanceSelection
from tests.tiebreak.batch.test_separability import rows_of, texts
from tests.tiebreak.formats.bundles import make_bundle, write_lines
from tiebreak.cli import main
from tiebreak.formats import write_rows
from tiebreak.formats.export_columns import SEPARABILITY


def select(*arguments: object) -> int:
    return main(["select", *map(str, arguments)])


def scores(path: Path, instances: int, **changes: object) -> Path:
    rows = [
        {
            "instance": f"i{k}",
            "system_a": "old",
            "system_b": "new",
            "similarity": "rouge1",
            "self_alignment_a": k / instances,
            "self_alignment_b": 0.0,
            "cross_alignment": 0.0,
            "separability_raw": k / instances,
            **changes,
        }
        for k in range(instances)
    ]
    write_lines(path, rows)
    return path


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    path = make_bundle(tmp_path / "bundle")
    study = (path / "study.toml").read_text()
    (path / "study.toml").write_text(study.replace('"old", "new"', '"x", "y", "z"'))
    write_lines(path / "instances.jsonl", [{"id": f"i{i}"} for i in range(30)])
    rows = texts(30, ("x", "y", "z"))
    # An instance that lacks a system, and one that has too few texts for a δ.
    rows = [row for row in rows if (row["instance"], row["system"]) != ("i3", "y")]
    one = [row for row in rows if row["instance"] != "i5" or row["sample_index"] == 0]
    write_lines(path / "generations.jsonl", one)
    return path


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("design", "options"),
    [
        ({"design": "proportional"}, ()),
        ({"design": "proportional", "weights": "floored", "floor": 0.3}, ("--floor", 0.3)),
        ({"design": "strata", "control_share": 0.5, "seed": 4}, ("--control", 0.5, "--seed", 4)),
        ({"design": "top"}, ()),
        ({"design": "uniform", "seed": 9}, ("--seed", 9)),
    ],
)
def test_the_rows_are_the_servers(bundle, tmp_path, design, options):
    study = import_study(path=bundle).study
    score_separability(study=study, similarity_name=study.similarity)
    draw_instances(study=study, design=InstanceSelection(instances=8, **design))
    served = [
        {
            "instance": row.instance.key,
            "system_a": row.system_a.name,
            "system_b": row.system_b.name,
            "phase": row.phase,
            "inclusion_probability": row.inclusion_probability,
            "conditional_inclusion_probability": row.conditional_inclusion_probability,
        }
        for row in study.selected.select_related("instance", "system_a", "system_b").order_by("pk")
    ]
    arguments = ("--n", 8, "--design", design["design"], *options)
    if "weights" in design:
        arguments = (*arguments, "--weights", design["weights"])
    write_rows(tmp_path / "export.jsonl", separability_rows(study), tuple(SEPARABILITY))
    own = ("--similarity", study.similarity, "--out", str(tmp_path / "scores.csv"))
    assert main(["separability", str(bundle), *own]) == 0
    for source in ("export.jsonl", "scores.csv"):
        out = tmp_path / f"{source}.out.jsonl"
        assert select(tmp_path / source, *arguments, "--out", out) == 0
        drawn = [{name: row.get(name) for name in served[0]} for row in rows_of(out)]
        assert drawn == served
        assert len(drawn) == 24


def test_what_can_only_describe_the_drawn_is_said(tmp_path, capsys):
    path = scores(tmp_path / "scores.jsonl", 20)
    out = tmp_path / "out.jsonl"
    options = ("--n", 5, "--design", "top", "--control", 0, "--json")
    assert select(path, *options, "--out", out) == 0
    said = capsys.readouterr()
    assert said.err.startswith("old – new: ")
    assert json.loads(said.out)["drawn"] == {"old – new": 5}
    assert {row["instance"] for row in rows_of(out)} == {f"i{k}" for k in range(15, 20)}


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({}, ("--n", 21)),
        ({}, ("--n", 0)),
        ({}, ("--n", 5, "--control", 1.5)),
        ({}, ("--n", 5, "--similarity", "bleu")),
        ({}, ("--n", 5, "--weights", "floored", "--floor", 0)),
        ({"self_alignment_a": 0.0}, ("--n", 5)),
        ({"separability_raw": "much"}, ("--n", 5)),
        ({"instance": "i1"}, ("--n", 5)),
        ({"system_a": None}, ("--n", 5)),
    ],
)
def test_what_cannot_be_drawn_writes_nothing(tmp_path, capsys, changes, options):
    path = scores(tmp_path / "scores.jsonl", 20, **changes)
    assert select(path, *options, "--out", tmp_path / "out.jsonl") == 1
    assert capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["scores.jsonl"]


def test_one_of_several_similarities_is_chosen(tmp_path, capsys):
    path = scores(tmp_path / "scores.jsonl", 20)
    bleu = scores(tmp_path / "bleu.jsonl", 20, similarity="bleu").read_text()
    path.write_text(path.read_text() + bleu)
    out = tmp_path / "out.jsonl"
    assert select(path, "--n", 5, "--out", out) == 1
    assert "rouge1, bleu" in capsys.readouterr().err
    assert select(path, "--n", 5, "--similarity", "bleu", "--out", out) == 0
    assert {row["similarity"] for row in rows_of(out)} == {"bleu"}
