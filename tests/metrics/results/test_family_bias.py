"""Families of models are declared by researchers, proposed by names and never decided, and reach the results."""

import json

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from annotation.models import Rater
from machine_raters.models import Baseline
from metrics.results.sections import refresh_section
from metrics.results.services import refresh_report, watermark
from studies.design.family_rows import models_of
from studies.models import Study, StudyEvent, System
from tests.annotation.exports.test_study_export import rated
from tests.api.clients import at, problem_of, program
from tests.architecture.test_roles import member
from tests.pages import send_step
from tiebreak import analyze
from tiebreak.cli import main
from tiebreak.reading.figures.machines.family_bias import family_bias_figures
from tiebreak.report.families import parsed_families
from tiebreak.report.model.machines import FamilyPreference
from tiebreak.stats import undefined

pytestmark = pytest.mark.django_db
NAME = "family_bias"
STEP = "/studies/{}/design/analysis-plan/"


@pytest.fixture
def study(tmp_path) -> Study:
    """Return a paused study that two annotators and a judge rated."""
    rated(tmp_path / "b")
    return import_study(path=tmp_path / "b").study


def systems_of(study: Study) -> list[str]:
    return [system.name for system in study.ordered_systems()]


def rows_on(client, study: Study) -> dict[str, tuple[str, str]]:
    """Return the family and the proposal of each name on the page."""
    field = client.get(STEP.format(study.pk)).context["adminform"].form["families"]
    widget = field.field.widget
    return {name: (family, proposed) for name, family, proposed in widget.rows_of(field.value())}


def test_a_proposal_is_shown_and_not_used_until_it_is_entered(study):
    first, second = systems_of(study)
    System.objects.filter(name=first).update(language_model="gpt-4o-mini")
    client = member(study, "owner")
    rows = rows_on(client, study)
    assert rows[first] == ("", "GPT")
    assert (rows[second], rows["judge"]) == (("", ""), ("", ""))
    assert "proposed: GPT" in client.get(STEP.format(study.pk)).content.decode()
    study.refresh_from_db()
    assert study.families == ""
    typed = {f"families-{n}-name": name for n, name in enumerate(rows)}
    families = dict(zip(rows, ("GPT", "Llama", "GPT"), strict=True))
    typed |= {f"families-{n}-family": families[name] for n, name in enumerate(rows)}
    send_step(client, STEP.format(study.pk), **typed)
    study.refresh_from_db()
    assert parsed_families(study.families) == families
    assert rows_on(client, study)[second] == ("Llama", "")
    [event] = study.events.filter(verb=StudyEvent.Verb.ANALYSIS)
    assert (event.by.username, event.details["from"]) == ("owner", "")


def test_a_simple_rater_is_asked_for_no_family_and_a_reason_is_said_once(study):
    rule = Rater.objects.filter(ratings__unit__study=study, pseudonym="judge").distinct().get()
    assert "judge" in rows_on(member(study, "owner"), study)
    criterion = study.criteria.get()
    Baseline.objects.create(
        study=study, kind="baseline", name="judge", rater=rule, criterion=criterion, method="longer"
    )
    asked = models_of(study, {"judge", "gpt"})
    assert "gpt" in asked
    assert "judge" not in asked
    missing = undefined("No family of this machine rater is declared.")
    undeclared = FamilyPreference(
        machine=missing, humans=missing, difference=missing, family="", own=(), others=(), n_units=0,
        n_without_family=0,
    )  # fmt: skip
    section = dict.fromkeys(("gpt", "llama", "rule"), undeclared)
    [figure] = family_bias_figures(section, simple=["rule"])
    assert figure.sentence == f"gpt, llama: {missing.reason}"


def test_the_interface_declares_them_and_refuses_what_is_mistyped(study):
    member(study, "owner")
    client = program(User.objects.get(username="owner"))

    def patch(families):
        body = json.dumps({"families": families})
        return client.patch(at("study-detail", study.pk), body, "application/json")

    refused = patch("judge")
    assert problem_of(refused)[0] == 400
    assert "bad_family" in refused.content.decode()
    assert patch("judge | GPT").json()["study"]["design"]["families"] == "judge | GPT"


def test_the_page_and_an_export_have_the_number(study, tmp_path):
    first, second = systems_of(study)
    state = watermark(study)
    study.families = f"{first} | GPT\n{second} | Llama\njudge | GPT"
    study.save()
    assert watermark(study) != state
    refresh_report(study=study)
    refresh_section(study=study, name=NAME)
    client = member(study, "owner")
    page = client.get(reverse("metrics:section", args=[study.pk, "preference", NAME]))
    assert "judge (GPT)" in page.content.decode()
    csv = reverse("metrics:figure", args=[study.pk, "preference", "family-bias", "csv"])
    table = (
        b"".join(client.get(csv)).decode()
        if client.get(csv).streaming
        else client.get(csv).content.decode()
    )
    assert f"judge,GPT,{first},{second}" in table
    stored = (
        study.report_snapshots.get(digest="").sections.get(name=NAME).content["preference"]["part"]
    )
    export_study(study=study, out=tmp_path / "export")
    again = analyze(tmp_path / "export", sections=[NAME]).criteria["preference"].family_bias
    assert again["judge"].difference.as_json() == stored["judge"]["difference"]
    assert import_study(path=tmp_path / "export").study.families == study.families
    assert not main(
        ["analyze", f"{tmp_path}/export", f"--section={NAME}", f"--html={tmp_path}/r.html"]
    )
    assert "Preference of machine raters" in (tmp_path / "r.html").read_text()
