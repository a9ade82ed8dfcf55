"""Which samples are compared, so that neither system's texts are longer on average."""

import random
from math import log

import pytest

from annotation.balancing import LengthBalance
from annotation.services.planning import plan_hits
from studies.design.protocols import fill_in, protocol_named
from studies.models import Generation, Study
from tests.studies.factories import make_study

pytestmark = pytest.mark.django_db


def test_the_sum_of_log_ratios_stays_near_zero_for_each_pair():
    rng = random.Random(4)
    balance = LengthBalance()
    for _ in range(200):
        for pair, longer in (((1, 2), 1.3), ((1, 3), 0.8)):
            lengths = {
                k: (int(longer * rng.lognormvariate(5, 0.6)), int(rng.lognormvariate(5, 0.6)))
                for k in range(5)
            }
            assert len(balance.choose(pair, lengths, 1)) == 1
    assert max(abs(total) for total in balance.sums.values()) < 1


def test_as_many_samples_as_asked_or_as_there_are():
    lengths = {0: (10, 10), 2: (10, 300), 5: (300, 10)}
    assert LengthBalance().choose((1, 2), lengths, 1) == [0]
    assert LengthBalance().choose((1, 2), lengths, 9) == [0, 2, 5]
    assert LengthBalance().choose((1, 2), {}, 2) == []


def ratios(study: Study) -> list[float]:
    plan_hits(study=study)
    units = study.units.select_related("text_a__generation", "text_b__generation")
    return [log(len(u.text_a.generation.text) / len(u.text_b.generation.text)) for u in units]


def wordy(**design) -> Study:
    """A study whose first system writes mostly, but not always, more."""
    study = make_study(instances=30, samples=5, comparisons_per_hit=1, **design)
    rng = random.Random(1)
    for generation in Generation.objects.select_related("system"):
        usual = 140 if generation.system.name == "system-0" else 100
        generation.text = "x" * int(usual * rng.lognormvariate(0, 0.5))
        generation.save()
    return study


def test_a_plan_with_balanced_lengths_has_no_longer_system():
    at_random = ratios(wordy())
    assert sum(at_random) / len(at_random) > 0.15
    balanced = ratios(wordy(sample_choice="balanced"))
    assert abs(sum(balanced) / len(balanced)) < 0.05
    assert len(balanced) == len(at_random)


def test_the_same_plan_comes_again():
    study = wordy(sample_choice="balanced")
    plan_hits(study=study)
    first = list(study.units.values_list("key", flat=True).order_by("key"))
    plan_hits(study=study)
    assert list(study.units.values_list("key", flat=True).order_by("key")) == first


def test_the_template_of_href_compares_balanced_samples_with_a_baseline():
    study = fill_in(study=Study.objects.create(title="x"), protocol=protocol_named("href"))
    assert (study.pairing, study.sample_choice) == ("baseline", "balanced")
