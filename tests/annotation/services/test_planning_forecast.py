"""The forecast of a plan equals the plan that is made."""

import pytest
from hypothesis import HealthCheck, given, settings as hypothesis_settings, strategies as st
from hypothesis.extra.django import TestCase

from annotation.counts import study_counts
from annotation.services.planning import forecast_plan, plan_hits
from studies.instance_selection.drawing import draw_instances, proposed_instances
from studies.instance_selection.scoring import score_separability
from studies.models import Criterion, Generation, InstanceSelection, Study
from tests.studies.factories import make_study
from tiebreak.errors import DomainError

DESIGNS = st.fixed_dictionaries(
    {
        "instances": st.integers(2, 6),
        "systems": st.integers(2, 3),
        "samples": st.integers(2, 4),
        "comparisons_per_hit": st.integers(1, 6),
        "ratings_per_hit": st.integers(1, 4),
        "further_share": st.sampled_from([0.0, 0.15, 0.5, 1.0]),
        "further_ratings": st.integers(1, 3),
        "bundling": st.sampled_from(["instance", "mixed"]),
        "unit_kind": st.sampled_from(["comparison", "comparison", "generation"]),
        "repeats_per_hit": st.integers(0, 3),
        "repeat_distance": st.just(1),
    }
)


class TestForecast(TestCase):
    @pytest.mark.thorough
    @hypothesis_settings(
        max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    @given(design=DESIGNS, criteria=st.integers(1, 2), draws=st.integers(0, 6), gaps=st.data())
    def test_a_forecast_is_what_the_plan_makes(self, design, criteria, draws, gaps):
        study = make_study(**design)
        for n in range(1, criteria):
            Criterion.objects.create(study=study, name=f"c{n}", question="?", scale="ordinal:1..5")
        # Some texts are missing, so that some HITs have fewer units.
        texts = list(Generation.objects.values_list("pk", flat=True))
        missing = gaps.draw(st.sets(st.sampled_from(texts), max_size=len(texts) // 3))
        score_separability(study=study)
        Generation.objects.filter(pk__in=missing).delete()
        selected = []
        if draws:
            n = min(draws, design["instances"])
            chosen = InstanceSelection(
                study=study, design="uniform", instances=n, seed=draws, weights="floored"
            )
            selected = proposed_instances(study, chosen)
        try:
            forecast = forecast_plan(study=study, selected=selected)
        except DomainError:
            if draws:
                draw_instances(study=study, design=chosen)
            with pytest.raises(DomainError):
                plan_hits(study=study)
            return
        if draws:
            draw_instances(study=study, design=chosen)
        assert plan_hits(study=study) == forecast
        counts = study_counts(Study.objects.get(pk=study.pk))
        for name in ("instances", "hits", "units", "repeats", "places"):
            assert getattr(counts, name) == getattr(forecast, name), name
        assert (counts.expected, counts.expected_repeats) == (
            forecast.ratings,
            forecast.repeat_ratings,
        )
        assert sum(pair.units for pair in forecast.pairs) == forecast.units
        assert sum(pair.ratings for pair in forecast.pairs) == forecast.ratings


@pytest.mark.django_db
def test_more_comparisons_than_generations_are_not_promised():
    study = make_study(instances=6, samples=3, comparisons_per_hit=5, ratings_per_hit=6)
    assert forecast_plan(study=study, selected=[]).ratings == 6 * 3 * 6


@pytest.mark.django_db
def test_planned_repeats_are_said_apart_from_what_the_statistics_get():
    study = make_study(instances=2, comparisons_per_hit=4, ratings_per_hit=3, repeats_per_hit=2)
    forecast = forecast_plan(study=study, selected=[])
    assert (forecast.ratings, forecast.repeats, forecast.repeat_ratings) == (24, 4, 12)
