"""A number has one interval: a kind of item has that of a report on its ratings alone."""

import random
from math import isnan

import pytest

from tests.metrics.studies import report_of
from tiebreak.reading.figures.machines.stand_in import equal_labels
from tiebreak.stats import Estimate

OF_KIND = {"category": "category", "systems": "system_b"}


def rows(items_per_instance: int, items: int = 240) -> list[dict]:
    rng = random.Random(3)
    made = []
    for item in range(items):
        about = {
            "unit": f"u{item:03d}",
            "instance": f"i{item // items_per_instance}",
            "criterion": "preference",
            "category": ("news", "dialogue", "law")[item % 7 % 3],
            "system_a": "A",
            "system_b": "BC"[item % 5 > 2],
        }
        labels = [-1, 0, 1, rng.choice([-1, 1])]
        raters = rng.sample(range(8), 3)
        made += [about | {"rater": f"r{r}", "label": rng.choice(labels)} for r in raters]
        judge = {"rater": "judge", "kind": "machine", "label": rng.choice(labels)}
        made.append(about | judge)
    return made


def digits(one: Estimate) -> tuple:
    ends = [(inner.low, inner.high) for inner in one.narrower]
    numbers = [one.value, one.low, one.high, *(x for pair in ends for x in pair)]
    return tuple(None if isnan(x) else round(x, 12) for x in numbers)


def every(stratum) -> dict[str, tuple]:
    judge = stratum.machines["judge"]
    groups = (stratum.human_human, judge.human_machine, judge.single_human_machine, judge.delta)
    return {
        f"{number} {name}": digits(one)
        for number, group in enumerate(groups)
        for name, one in group.estimates().items()
    }


@pytest.mark.parametrize("items_per_instance", [1, 2])
@pytest.mark.parametrize("stratifier", sorted(OF_KIND))
def test_a_kind_of_item_has_the_numbers_of_a_report_on_it_alone(items_per_instance, stratifier):
    made = rows(items_per_instance)
    whole = report_of(made, replicates=300).criteria["preference"]
    kinds = [one for one in whole.strata if one.stratifier == stratifier and one.n_units]
    assert len(kinds) > 1
    for kind in kinds:
        column, value = OF_KIND[stratifier], kind.stratum.removeprefix("A vs ")
        alone = report_of([row for row in made if row[column] == value], replicates=300)
        assert every(kind) == every(alone.criteria["preference"].all_units)


@pytest.mark.parametrize("items", [60, 240])
def test_the_share_of_equal_labels_has_one_interval(items):
    """Randolph's κ is that share on another scale, and the noise ceiling rests on it."""
    section = report_of(rows(1, items), replicates=300).criteria["preference"]
    found, judge = section.noise_ceiling["judge"], section.all_units.machines["judge"]
    share = equal_labels(section.all_units.human_human, len(section.labels))
    assert digits(share) == digits(found.annotators)
    assert digits(judge.single_human_machine.percentage_agreement) == digits(found.agreement)
