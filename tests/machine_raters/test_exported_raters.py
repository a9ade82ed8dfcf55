"""An export says how each machine rater of the study was made, and an import says that it left the file out."""

import json

import pytest

from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from annotation.models import Rater
from machine_raters.services.machine_raters import create_machine_rater, start_machine_rater
from metrics.results.selectors import simple_raters_of
from tests.machine_raters.judging.scripted import model
from tests.machine_raters.judging.test_judging import judge_for
from tests.studies.factories import make_open_study
from tiebreak.formats.evidence import simple_raters_in
from tiebreak.gateway import Sample, Sampled

pytestmark = pytest.mark.django_db
__all__ = ["model"]


@pytest.fixture
def study():
    return make_open_study(instances=2, comparisons_per_hit=1, ratings_per_hit=1)


def rows_of(study, folder) -> dict[str, dict]:
    export_study(study=study, out=folder)
    lines = (folder / "machine_raters.jsonl").read_text().splitlines()
    return {row["rater"]: row for row in map(json.loads, lines)}


def test_each_machine_rater_is_described(study, model, tmp_path):
    versions = iter(["tiny-1", "tiny-1", "tiny-1", "tiny-2"])

    def reply(request):
        text = "A" if request.id.endswith("ab:1") else "?"
        return Sampled(request.id, (Sample(text, "stop", request.seed, 5),), next(versions))

    model(reply)
    start_machine_rater(
        machine=judge_for(study, instructions="{question} {answers}", max_tokens=64)
    )
    criterion = study.criteria.get()
    create_machine_rater(
        kind="baseline", study=study, name="length", criterion=criterion, method="longer"
    )
    members = Rater.objects.filter(kind="machine")
    create_machine_rater(
        kind="jury", study=study, name="both", criterion=criterion, members=members
    )
    rows = rows_of(study, tmp_path / "export")
    assert {name: row["kind"] for name, row in rows.items()} == {
        "gpt": "judge",
        "length": "simple rater",
        "both": "jury",
    }
    assert simple_raters_in(tmp_path / "export") == simple_raters_of(study) == ("length",)
    settings = rows["gpt"]["settings"]
    assert (settings["instructions"], settings["max_tokens"]) == ("{question} {answers}", 64)
    assert "server" not in settings
    counts = ("model", "answers", "unreadable", "tokens", "prompts")
    answers = [tuple(answer[name] for name in counts) for answer in rows["gpt"]["answers"]]
    assert [answer[:2] for answer in answers] == [("tiny-1", 3), ("tiny-2", 1)]
    assert [sum(column) for column in list(zip(*answers, strict=True))[1:]] == [4, 2, 20, 4]
    assert rows["length"]["settings"] == {"method": "longer", "seed": 0}
    assert rows["both"]["settings"] == {"rule": "vote", "members": ["gpt", "length"]}
    assert {row["criterion"] for row in rows.values()} == {"preference"}
    imported = import_study(path=tmp_path / "export")
    assert imported.ratings == study.units.count() * 4
    # A server does not take over raters that were made elsewhere, and says so.
    assert "machine_raters.jsonl" in str(imported.not_stored)


def test_without_machine_raters_there_is_no_such_file(study, tmp_path):
    export_study(study=study, out=tmp_path / "export")
    assert not (tmp_path / "export" / "machine_raters.jsonl").exists()
