"""Agreement with a machine by pair of systems, crossed with agreement among annotators."""

from itertools import product

import pytest

from tests.tiebreak.report.test_sections import of
from tiebreak.report.model.strata import CrossedSection, StratumSection
from tiebreak.report.sections.machines import crossed_strata as crossed
from tiebreak.report.sections.machines.crossed_strata import NO_MACHINE, NO_PAIRS

PAIRS = (("a", "b"), ("a", "c"))


def rows(pairs=PAIRS, *, judged: bool = True) -> list[dict]:
    """Return units on which three annotators agree, or one in three of them does not.

    The judge agrees with a clear answer on the first pair only, and says −1 elsewhere.
    """
    every = []
    for k, (a, b) in product(range(30), pairs):
        unit = {"unit": f"i{k}{a}{b}", "instance": f"i{k}", "system_a": a, "system_b": b}
        labels = (1, 1, 1) if k % 3 else (1, 1, -1)
        every += [unit | {"rater": f"r{n}", "label": label} for n, label in enumerate(labels)]
        label = 1 if (a, b) == ("a", "b") and k % 3 else -1
        every += [unit | {"rater": "judge", "kind": "machine", "label": label}] * judged
    return [row | {"criterion": "preference"} for row in every]


def section_of(every: list[dict]) -> CrossedSection:
    return of(every, sections=["pairs_by_agreement"], scales=SCALE).pairs_by_agreement


SCALE = {"preference": "preference"}


@pytest.fixture(scope="module")
def section() -> CrossedSection:
    return section_of(rows())


def named(section: CrossedSection) -> dict[str, StratumSection]:
    return {stratum.stratum: stratum for stratum in section.strata}


def test_each_pair_has_the_classes_of_agreement_that_its_units_are_in(section):
    assert list(named(section)) == [
        *("a vs b: PA=1", "a vs b: 0.6<=PA<0.8", "a vs c: PA=1", "a vs c: 0.6<=PA<0.8"),
    ]
    assert [stratum.n_units for stratum in section.strata] == [20, 10, 20, 10]
    assert section.pairs["a vs c: PA=1"] == "a vs c"


def test_a_machine_is_compared_within_one_pair_and_class(section):
    shares = {
        name: stratum.machines["judge"].human_machine.percentage_agreement.value
        for name, stratum in named(section).items()
    }
    assert list(shares.values()) == [1, 0, 0, 0]
    clear = named(section)["a vs c: PA=1"].machines["judge"]
    assert clear.random_baseline.percentage_agreement.value == pytest.approx(0.5)
    divided = named(section)["a vs b: 0.6<=PA<0.8"].machines["judge"]
    assert divided.single_human_machine.percentage_agreement.value == pytest.approx(1 / 3)


def test_intervals_hold_for_these_annotators(section):
    for stratum in section.strata:
        assert stratum.human_human.krippendorff_alpha.scope.raters == "these"
        for machine in stratum.machines.values():
            assert machine.human_machine.percentage_agreement.scope.raters == "these"


def test_a_crossed_class_has_the_values_of_its_rows_alone(section):
    """Units of other pairs with the same answers do not enter."""
    every = [row for row in rows() if row["system_b"] == "c" and int(row["instance"][1:]) % 3]
    alone = of(every, scales=SCALE).all_units.machines["judge"]
    crossed_class = named(section)["a vs c: PA=1"].machines["judge"]
    for name, estimate in alone.human_machine.estimates().items():
        value = getattr(crossed_class.human_machine, name).value
        assert value == pytest.approx(estimate.value, nan_ok=True)


def test_of_many_pairs_those_with_the_most_units_are_kept(monkeypatch):
    monkeypatch.setattr(crossed, "MAX_PAIRS", 1)
    every = rows(((*PAIRS[0],), ("a", "c")))
    fewer = [row for row in every if row["system_b"] == "b" or row["instance"] != "i0"]
    section = section_of(fewer)
    assert {*section.pairs.values()} == {"a vs b"}
    assert section.pairs_left_out == 1


@pytest.mark.parametrize(
    ("every", "reason"), [(rows(judged=False), NO_MACHINE), (rows(PAIRS[:1]), NO_PAIRS)]
)
def test_without_machines_or_pairs_there_is_a_reason(every, reason):
    about = of(every, sections=["pairs_by_agreement"], scales=SCALE)
    assert about.pairs_by_agreement is None
    assert about.problems["pairs_by_agreement"] == reason
