"""The constants of Elo ratings are settings that every door has, and the results say which were used."""

import json

import pytest
from django.contrib.auth.models import User

from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from metrics.exports.document.study_facts import deviation_table
from metrics.results.sections import refresh_section, stored_section
from metrics.results.services import refresh_report, watermark
from studies.models import Study, StudyEvent
from tests.annotation.exports.test_study_export import rated
from tests.api.clients import at, program
from tests.architecture.test_roles import member
from tests.pages import send_step
from tests.refusals import refused
from tiebreak import analyze
from tiebreak.cli import main
from tiebreak.reading.figures.of_section import figures_of_section
from tiebreak.report.analysis_plan import ELO_SETTINGS
from tiebreak.stats import EloConstants, elo, generator_for

pytestmark = pytest.mark.django_db
OTHER = EloConstants(step=16, alpha=3, beta=2, threshold=0.1)
SETTINGS = {name: getattr(OTHER, of) for name, of in ELO_SETTINGS.items()}


@pytest.fixture
def study(tmp_path) -> Study:
    """Return a study that was rated, and is paused."""
    rated(tmp_path / "b")
    return import_study(path=tmp_path / "b").study


def elo_of(study: Study):
    refresh_report(study=study)
    return stored_section(refresh_section(study=study, name="elo"), "preference").part


def by_page(study: Study) -> None:
    send_step(member(study, "owner"), f"/studies/{study.pk}/design/analysis-plan/", **SETTINGS)


def by_interface(study: Study) -> None:
    member(study, "owner")
    client = program(User.objects.get(username="owner"))
    found = client.patch(at("study-detail", study.pk), SETTINGS, "application/json")
    assert found.status_code == 200, found.json()


@pytest.mark.parametrize("change", [by_page, by_interface])
def test_a_change_moves_the_numbers_and_is_said_beside_them(study, change, tmp_path):
    before, state = elo_of(study), watermark(study)
    assert before.elo_constants == EloConstants()
    change(study)
    study.refresh_from_db()
    assert watermark(study) != state
    after = elo_of(study)
    assert after.elo_constants == OTHER
    assert {n: e.value for n, e in after.elo.items()} != {n: e.value for n, e in before.elo.items()}
    [figure] = figures_of_section("elo", after)
    assert "K = 16, α = 3, β = 2, T = 0.1 (published with SEP-Elo: K = 4," in figure.reading
    assert {row[-4:] for row in figure.rows} == {(16, 3, 2, 0.1)}
    assert figure.columns[-4:] == ("step", "alpha", "beta", "threshold")
    events = study.events.filter(verb=StudyEvent.Verb.ANALYSIS)
    assert {(event.details["from"], event.details["to"]) for event in events} == {
        (4, 16), (2, 3), (6, 2), (0.4, 0.1),
    }  # fmt: skip
    assert len(deviation_table(study).rows) == 4
    export_study(study=study, out=tmp_path / "export")
    report = analyze(tmp_path / "export", sections=["elo"], replicates=0)
    assert report.criteria["preference"].systems.elo_constants == OTHER


def test_the_command_has_the_same_constants(study, tmp_path, capsys):
    export_study(study=study, out=tmp_path / "export")
    arguments = ("analyze", f"{tmp_path}/export", "--section=elo", "--replicates=0")
    files = (f"--out={tmp_path}/r.json", f"--html={tmp_path}/r.html")
    assert not main([*arguments, "--elo-step=16", "--elo-beta=2", *files])
    assert "Constants: K = 16, α = 2, β = 2, T = 0.4" in (tmp_path / "r.html").read_text()
    systems = json.loads((tmp_path / "r.json").read_text())["criteria"]["preference"]["systems"]
    assert systems["elo_constants"] == {"step": 16, "alpha": 2, "beta": 2, "threshold": 0.4}
    assert main([*arguments, "--elo-beta=-1"]) == 1
    assert "beta must be between 0 and 100" in capsys.readouterr().err


def test_the_first_game_moves_both_systems_by_half_of_what_the_equation_says():
    def first_game(**constants):
        made = elo(
            [[1, 0, 0]], system_a=["x"], system_b=["y"], rng=generator_for(0), separability=[0.1],
            **constants,
        )  # fmt: skip
        return made.systems["x"].value

    assert first_game() == pytest.approx(1000 + 4 * 2 / (1 + 2.718281828 ** (6 * 0.3)) / 2)
    assert first_game(**vars(OTHER)) == 1000 + 16 * 3 / 2 / 2  # δ is the threshold T


def test_a_constant_that_is_no_constant_is_refused():
    for wrong in ({"step": 0}, {"alpha": float("nan")}, {"threshold": 1.5}):
        with refused("out_of_range"):
            EloConstants(**wrong)
