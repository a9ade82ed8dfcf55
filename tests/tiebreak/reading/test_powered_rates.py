"""The page of systems says what machine raters add, and how many ratings it is worth."""

import numpy as np
import pytest
from django.urls import reverse

from annotation.imports.study_import import import_study
from metrics.results.services import refresh_report
from tests.metrics.studies import preferences, report_of
from tests.metrics.test_scope import judged_study
from tests.tiebreak.formats.bundles import make_bundle, ratings, write_lines
from tiebreak.reading.powered_rates import powered_rates
from tiebreak.stats import stacked_win_rate


def judged(*, rated=60, others=140, accuracies=(0.8, 0.0)):
    """Return ratings by one annotator of some units, and by machines of all; some machines guess."""
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], rated + others)
    rows = preferences([[label] for label in truth[:rated].tolist()])
    for number, accuracy in enumerate(accuracies):
        copies = rng.random(rated + others) < accuracy
        labels = np.where(copies, truth, rng.choice([-1, 1], rated + others)).tolist()
        rows += preferences([[label] for label in labels], rater=f"judge{number}", kind="machine")
    return rows


def section_of(rows, **options):
    return report_of(rows, replicates=0, **options).criteria["preference"]


def counts_of(rows, rater, units=200):
    counts = np.zeros((units, 3), dtype=int)
    for row in rows:
        if row["rater"] == rater:
            counts[int(row["unit"][1:]), row["label"] + 1] += 1
    return counts


def test_the_stack_of_a_report_is_that_of_the_library():
    rows = judged()
    annotator = rows[0]["rater"]
    powered = section_of(rows).systems.powered["a"]
    machines = [counts_of(rows, name) for name in ("judge0", "judge1")]
    names = [f"i{number}" for number in range(200)]
    stack = stacked_win_rate(counts_of(rows, annotator), machines, clusters=names)
    assert powered.stack.value == pytest.approx(stack.estimate.value)
    assert powered.stack.standard_error == pytest.approx(stack.estimate.standard_error)
    assert powered.human.value == pytest.approx(stack.classical.value)
    assert powered.effective_stack == pytest.approx(60 * stack.gain)
    assert powered.weights == pytest.approx(
        dict(zip(("judge0", "judge1"), stack.weights, strict=True))
    )


def test_the_best_machine_is_the_one_with_the_shortest_interval():
    section = section_of(judged(accuracies=(0.0, 0.8, 0.3)), sections=["prediction_powered"])
    powered, rates = section.systems.powered["a"], section.systems.prediction_powered
    assert powered.best_machine == "judge1"
    assert powered.best == rates["judge1"]["a"]
    assert powered.effective_best > 1.5 * powered.ratings == 90


def test_a_machine_that_guesses_hardly_costs_anything():
    powered = section_of(judged(accuracies=(0.0,))).systems.powered["a"]
    assert powered.effective_stack > 0.9 * powered.ratings


def test_a_row_says_what_the_ratings_are_worth():
    shown = powered_rates(section_of(judged()))
    assert [row.name for row in shown.rows] == sorted(
        ("a", "b"),
        key=lambda name: -float(next(r for r in shown.rows if r.name == name).human.text),
    )
    (row, other) = shown.rows
    powered = section_of(judged()).systems.powered[row.name]
    assert str(round(powered.effective_stack)) in row.stack_worth
    assert (row.ratings, row.best_machine) == (60, "judge0")
    assert row.weights.startswith("judge0 0.")
    assert "other annotators" in shown.scope
    assert row.stack_worth == other.stack_worth


def test_without_an_interval_nothing_is_said_to_be_worth_ratings():
    (row, _) = powered_rates(section_of(judged(rated=5, others=10))).rows
    assert (row.best_machine, row.best_worth, row.stack_worth) == ("", "", "")
    assert row.stack.reason


def test_no_machine_no_rows():
    assert powered_rates(section_of(preferences([[1, 1]] * 12))) is None
    everything = [*preferences([[1]] * 12), *preferences([[1]] * 12, rater="j", kind="machine")]
    assert powered_rates(section_of(everything)) is None


@pytest.mark.thorough
def test_after_a_draw_the_stack_speaks_of_the_dataset():
    rows = judged_study()
    rng = np.random.default_rng(1)
    judge = [row for row in rows if row["rater"] == "judge"]
    guesses = [row | {"rater": "guess", "label": int(rng.choice([-1, 1]))} for row in judge]
    systems = section_of([*rows, *guesses]).systems
    powered = systems.powered["first"]
    assert (powered.stack.scope.instances, powered.stack.scope.raters) == ("dataset", "new")
    assert powered.human == systems.win_rate["first"]
    assert powered.effective_stack > 0.9 * powered.ratings
    assert powered.weights["guess"] < 0.2
    alone = section_of(rows).systems
    single = alone.prediction_powered["judge"]["first"]
    assert alone.powered["first"].stack.value == pytest.approx(single.value)


def test_after_a_draw_a_stack_without_the_dataset_has_a_reason():
    powered = section_of(judged_study(of_all=False)).systems.powered["first"]
    assert not powered.stack.is_defined
    assert powered.stack.reason
    assert np.isnan(powered.effective_stack)


@pytest.mark.django_db
def test_the_page_shows_the_table(tmp_path, admin_client):
    bundle = make_bundle(tmp_path / "b", with_ratings=True)
    rows = list(ratings())
    machine = [row | {"rater": "judge", "kind": "machine"} for row in rows if row["rater"] == "r0"]
    units = sorted({row["unit"] for row in rows})
    people = [row for row in rows if row["unit"] != units[0]]
    write_lines(bundle / "ratings.jsonl", people + machine)
    study = import_study(path=bundle).study
    refresh_report(study=study)
    answer = admin_client.get(reverse("metrics:results-tab", args=[study.pk, "with-machines"]))
    assert "<caption>Win rates with machine raters</caption>" in answer.content.decode()
