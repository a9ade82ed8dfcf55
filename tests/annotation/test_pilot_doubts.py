"""A draw by machine raters' doubt: what a pilot must have, and what the drawn study's report gets."""

import json
from io import StringIO

import numpy as np
import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command

from annotation.exports.ratings import rating_rows
from annotation.exports.study_export import export_study
from annotation.filters import Filter
from annotation.imports.study_import import import_study
from annotation.pilot_doubts import frames_for, pilot_machine_rows
from annotation.selectors import is_a_first
from annotation.services.planning import draw_and_plan
from annotation.services.ratings import Answer
from metrics.results.selectors import rating_table, source_of
from studies.models import Criterion, Generation, InstanceSelection, UnitText
from tests.annotation.answers import submit_unit
from tests.annotation.pilots import N, by_doubt, draft_of, import_pilot, pilot_rows
from tests.annotation.places import hit_units_of, take_place
from tests.refusals import refused, refused_file
from tests.studies.factories import make_participation, make_study, open_knowingly
from tiebreak.formats import RatingTable
from tiebreak.formats.ratings import canonical_digest
from tiebreak.report import build_report
from tiebreak.report.source import read_source
from tiebreak.stats import active_design

pytestmark = pytest.mark.django_db


@pytest.fixture
def pilot(tmp_path):
    return lambda **facts: import_pilot(tmp_path, **facts)


def shares(rows, rater):
    known = {row["instance"]: (1 - row["label"]) / 2 for row in rows if row["rater"] == rater}
    return np.array([known.get(f"i{i}", np.nan) for i in range(N)])


def test_it_works(pilot):
    made = pilot()
    draft = draft_of(made)
    drawn, plan = draw_and_plan(study=draft, design=by_doubt(made))
    assert (drawn, plan.units) == (40, 40)
    rows = draft.selected.all()
    assert sum(row.phase == "control" for row in rows) == 10
    judge = {row["instance"]: row["label"] for row in pilot_rows() if row["rater"] == "judge"}
    probabilities = {row.instance.key: row.inclusion_probability for row in rows}
    doubted = [p for key, p in probabilities.items() if judge[key] == 0]
    sure = [p for key, p in probabilities.items() if judge[key] != 0]
    assert min(probabilities.values()) > 0.9 * 40 / N
    assert min(doubted) > 1.05 * 40 / N > max(sure)
    unit = draft.units.get(key=f"{rows[0].instance.key}#0.1.0")
    assert unit.inclusion_probability == pytest.approx(rows[0].inclusion_probability)


def test_densities_and_gain_are_those_of_the_library(pilot):
    made, rows = pilot(rated=90), pilot_rows(rated=90)
    (frame,) = frames_for(draft_of(made), by_doubt(made)).values()
    people = np.mean([shares(rows, "r0"), shares(rows, "r1")], axis=0)
    names = [f"i{i}" for i in range(N)]
    design = active_design(
        people, shares(rows, "judge")[:, None], clusters=names, control_share=0.25
    )
    keys = {i.pk: i.key for i in made.dataset.instances.all()}
    assert [keys[pk] for pk in frame.instances] == design.instances.tolist()
    assert frame.densities == pytest.approx(design.densities)
    for number in (design.gain.value, design.gain.low, design.gain.high):
        assert f"{number:.2f}" in frame.note
    assert "90 instances" in frame.note


def test_the_order_of_systems_changes_nothing(pilot):
    made = pilot()
    draft = draft_of(made)
    (before,) = frames_for(draft, by_doubt(made)).values()
    for row in draft.study_systems.all():
        type(row).objects.filter(pk=row.pk).update(position=row.position + 10 * (row.position == 0))
    ((pair, after),) = frames_for(draft, by_doubt(made)).items()
    assert pair == tuple(system.pk for system in draft.ordered_systems())
    assert after.densities == pytest.approx(before.densities)


def refusal_of(pilot, facts, naming):
    made = pilot(**facts)
    code = naming[0]
    with refused(code, naming=naming[1]):
        draw_and_plan(study=draft_of(made), design=by_doubt(made))
    assert not InstanceSelection.objects.exists()


def test_a_judge_that_guesses_shows_no_gain(pilot):
    refusal_of(
        pilot, {"guesses": True}, ("gain_not_shown", "lower bound of the gain must exceed 1")
    )


def test_the_refusal_states_the_measured_numbers(pilot):
    made = pilot(rated=12, seed=4)
    with refused("gain_not_shown") as refusal:
        frames_for(draft_of(made), by_doubt(made))
    rows = pilot_rows(rated=12, seed=4)
    people = np.mean([shares(rows, "r0"), shares(rows, "r1")], axis=0)
    gain = active_design(
        people,
        shares(rows, "judge")[:, None],
        clusters=[f"i{i}" for i in range(N)],
        control_share=0.25,
    ).gain
    assert gain.low < 1 < gain.value
    numbers = f"({gain.low:.2f} to {gain.high:.2f}, from the {gain.n} instances"
    assert f" {gain.value:.2f} times " in refusal.value.message
    assert numbers in refusal.value.message


def test_every_instance_needs_a_machine_rating(pilot):
    refusal_of(pilot, {"judged": 100}, ("machine_ratings_missing", "100 of the 120 instances"))


def test_a_pilot_without_machines_is_refused(pilot):
    refusal_of(pilot, {"judged": 0}, ("machine_ratings_missing", "0 of the 120 instances"))


def test_a_pilot_without_human_ratings_is_refused(pilot):
    refusal_of(pilot, {"rated": 0}, ("no_pilot_labels", "no annotator compared"))


def test_a_pilot_must_be_another_study_of_the_same_dataset(pilot):
    made = pilot()
    draft = draft_of(made)
    for wrong in (None, draft):
        with refused("no_pilot"):
            frames_for(draft, by_doubt(wrong))
    with refused("pilot_of_other_dataset"):
        frames_for(make_study(), by_doubt(made))
    Criterion.objects.filter(study=made).update(scale="ordinal:1..5")
    with refused("no_pilot_preference"):
        frames_for(draft, by_doubt(made))


def test_instances_without_texts_of_both_systems_are_not_drawn(pilot):
    made = pilot(judged=119)
    draft = draft_of(made)
    of_instance = UnitText.objects.filter(unit__study=made, unit__instance__key="i119")
    of_instance.filter(position=1).update(generation=None)
    Generation.objects.filter(instance__key="i119", system__name="new").delete()
    (frame,) = frames_for(draft, by_doubt(made)).values()
    assert len(frame.instances) == 119


def test_an_opened_study_is_refused_first(pilot):
    made = pilot()
    with refused("not_a_draft"):
        draw_and_plan(study=made, design=by_doubt(None))


def test_more_instances_than_there_are(pilot):
    made = pilot()
    with refused("too_many", naming="that machine raters rated is 120"):
        draw_and_plan(study=draft_of(made), design=by_doubt(made, instances=121))


class TestCommand:
    def run(self, study, *options):
        out = StringIO()
        call_command("draw_instances", study.pk, "--instances=40", "--json", *options, stdout=out)
        return json.loads(out.getvalue())

    def test_it_draws_what_the_page_draws(self, pilot):
        made = pilot()
        draft, other = draft_of(made), draft_of(made)
        options = "--design=doubt", f"--pilot={made.pk}", "--seed=3", "--control-share=0.25"
        assert self.run(draft, *options)["drawn"] == 40
        draw_and_plan(study=other, design=by_doubt(made, seed=3))
        columns = ("instance", "phase", "inclusion_probability")
        drawn, expected = (set(one.selected.values_list(*columns)) for one in (draft, other))
        assert drawn == expected

    def test_its_refusals_are_those_of_the_page(self, pilot):
        made = pilot(guesses=True)
        draft = draft_of(made)
        with refused("gain_not_shown", CommandError):
            self.run(draft, "--design=doubt", f"--pilot={made.pk}")
        with refused("not_scored", CommandError):
            self.run(draft)
        for wrong in ("--control-share=2", "--pilot=nosuchstudy"):
            with pytest.raises(CommandError):
                self.run(draft, wrong)
        assert not draft.selected.exists()


class TestReportOfTheDrawnStudy:
    def rated_draft(self, made):
        """Return a study drawn by doubt of which all units have human ratings."""
        draft = draft_of(made)
        draw_and_plan(study=draft, design=by_doubt(made))
        return draft

    def test_the_pilots_machines_rated_the_whole_dataset(self, pilot):
        made = pilot()
        draft = self.rated_draft(made)
        rows = {row["instance"]: row for row in pilot_machine_rows(draft)}
        assert len(rows) == N
        selected = {row.instance.key: row for row in draft.selected.all()}
        for key, row in rows.items():
            drawn = selected.get(key)
            assert row["phase"] == (drawn.phase if drawn else "")
            assert row["inclusion_probability"] == (drawn and drawn.inclusion_probability)
            assert (row["kind"], row["rater"]) == ("machine", "judge")

    def test_other_texts_and_other_scales_are_left_out(self, pilot):
        made = pilot()
        draft = self.rated_draft(made)
        unit = draft.units.first()
        draft.units.filter(pk=unit.pk).update(key="another")
        assert len(list(pilot_machine_rows(draft))) == N - 1
        texts = UnitText.objects.filter(unit__study=draft)
        for position, text in enumerate((unit.text_b, unit.text_a)):
            texts.filter(position=position).update(system=text.system_id)
        assert len(list(pilot_machine_rows(draft))) == N - 40
        Criterion.objects.filter(study=draft).update(scale="preference")
        assert list(pilot_machine_rows(draft)) == []

    def test_other_designs_take_nothing_from_a_pilot(self, pilot):
        made = pilot()
        draft = self.rated_draft(made)
        InstanceSelection.objects.update(design="uniform")
        assert list(pilot_machine_rows(draft)) == []

    def test_the_report_is_prediction_powered(self, pilot):
        made = pilot()
        draft = self.rated_draft(made)
        rate_all(draft)
        report = build_report(rating_table(draft), replicates=0)
        powered = report.criteria["preference"].systems.powered["new"]
        assert powered.stack.scope.instances == "dataset"
        assert powered.effective_stack > powered.ratings
        part = rating_table(draft, Filter(category="none"))
        assert len(part) == 0

    def test_ratings_and_those_of_a_pilot_are_read_as_columns(self, pilot, monkeypatch):
        draft = self.rated_draft(pilot())
        rate_all(draft)
        rows = [*rating_rows(draft), *pilot_machine_rows(draft)]
        assert {row["kind"] for row in rows} == {"human", "machine"}
        expected = canonical_digest(RatingTable.from_rows(rows))
        monkeypatch.setattr(RatingTable, "from_rows", None)
        assert canonical_digest(rating_table(draft)) == expected


def rate_all(draft):
    """Open a drawn study, and let one annotator rate all of it as the pilot's first one did."""
    draft = open_knowingly(draft)
    labels = {row["unit"]: row["label"] for row in pilot_rows() if row["rater"] == "r0"}
    person = make_participation(draft)
    for _ in range(40):
        assignment = take_place(participation=person)
        for unit in hit_units_of(assignment):
            label = labels[unit.unit.key]
            shown = str(label if is_a_first(assignment, unit) else -label)
            answers = {c: Answer(shown, f"{unit.pk}") for c in draft.criteria.all()}
            submit_unit(assignment=assignment, hit_unit=unit, answers=answers)


class TestExportOfTheDrawnStudy:
    @pytest.fixture
    def drawn(self, pilot):
        made = pilot()
        draft = draft_of(made)
        draw_and_plan(study=draft, design=by_doubt(made))
        rate_all(draft)
        return draft

    @pytest.mark.sampled(1)
    @pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
    def test_its_report_is_that_of_the_study(self, drawn, form, tmp_path):
        export_study(study=drawn, out=tmp_path / "export", formats=[form])
        exported, stored = read_source(tmp_path / "export"), source_of(drawn)
        reports = [
            build_report(source.table, scales=source.scales, plan=source.plan, replicates=0)
            for source in (exported, stored)
        ]
        assert reports[0].as_json() == reports[1].as_json()
        powered = reports[0].criteria["preference"].systems.powered["new"]
        assert powered.stack.scope.instances == "dataset"

    def test_datasets_for_others_have_it_too(self, drawn, tmp_path):
        export_study(study=drawn, out=tmp_path / "export", formats=["hf"])
        data = tmp_path / "export" / "hf" / "data"
        assert pq.read_metadata(data / "pilot_ratings.parquet").num_rows == N

    def test_its_import_leaves_the_pilots_ratings_out_and_says_so(self, drawn, tmp_path):
        export_study(study=drawn, out=tmp_path / "export")
        imported = import_study(path=tmp_path / "export")
        assert imported.ratings == 40
        assert "pilot_ratings.jsonl" in str(imported.not_stored)

    @pytest.mark.thorough
    def test_without_a_pilot_there_is_no_such_file(self, pilot, tmp_path):
        export_study(study=pilot(), out=tmp_path / "export", formats=["jsonl", "hf"])
        assert not list((tmp_path / "export").rglob("pilot_ratings*"))

    @pytest.mark.sampled(1)
    @pytest.mark.parametrize(
        ("facts", "code"),
        [
            ({"kind": "human", "rater": "r9"}, "not_a_machine"),
            ({"rater": "late"}, "rater_of_study"),
            ({"criterion": "other"}, "unknown_criterion"),
        ],
    )
    def test_a_wrong_row_is_named(self, drawn, facts, code, tmp_path):
        folder = tmp_path / "export"
        export_study(study=drawn, out=folder)
        path, ratings = folder / "pilot_ratings.jsonl", folder / "ratings.jsonl"
        first, *others = path.read_text().splitlines()
        path.write_text("\n".join([first, json.dumps(json.loads(others[0]) | facts)]))
        row = json.loads(ratings.read_text().splitlines()[0]) | {"kind": "machine", "rater": "late"}
        ratings.write_text(ratings.read_text() + json.dumps(row))
        with refused_file(("pilot_ratings.jsonl", 2, code)):
            read_source(folder)
