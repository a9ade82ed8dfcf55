"""Machine raters by kind of item beside people and the noise ceiling, and the marks of simple rules."""

import re

import pytest

from tests.metrics.studies import preferences, report_of
from tiebreak.reading.charts.svg import kinds_of
from tiebreak.reading.figures.machines.stand_in import (
    BEST_POSSIBLE,
    MAX_KINDS,
    equal_labels,
    kinds_of_item,
    stand_in_figure,
)
from tiebreak.reading.figures.of_report import figures_of
from tiebreak.reading.findings import BANDS
from tiebreak.report.model.report import CriterionSection
from tiebreak.stats import noise_ceiling

RULE = "a rule"
LABELS = [[1, 1, 0], [1, -1, 1], [-1, -1, -1], [0, 1, 1]] * 12
# Of the figures in which a mark stands for a rater, those that these ratings suffice for.
ONE_MARK_A_RATER = {
    "equal-labels",
    "machines",
    "bias",
    "machine-win-rates",
    "consistency",
    "preference-strength",
}
ON_REQUEST = {"win-rates-by-stratum-1", "machine-replacement"}


def rows(**more) -> list[dict]:
    people = preferences(LABELS, side_a=("left", "right"), **more)
    rule = [row | {"rater": RULE, "kind": "machine", "label": 1} for row in people[::3]]
    return [*people, *rule]


def section_of(made: list[dict], **more) -> CriterionSection:
    (section,) = report_of(made, replicates=200, **more).criteria.values()
    return section


def ceiling_row(page: str) -> list[tuple[str, str]]:
    """Return the values and intervals of the row of the best possible machine."""
    (row,) = (row for row in re.findall("<tr>.*?</tr>", page) if f">{BEST_POSSIBLE}<" in row)
    return re.findall("class='value'>([^<]*)</span> <span class='note'>([^<]*)<", row)


@pytest.fixture(scope="module")
def section() -> CriterionSection:
    return section_of(rows(category=("news", "dialogue", "news")), simple_raters=[RULE, "unknown"])


def test_equal_labels_of_annotators_are_those_of_the_noise_ceiling(section):
    """Randolph's κ is the share of equal pairs on another scale, so both say the same."""
    found = section.noise_ceiling[RULE].annotators
    again = equal_labels(section.all_units.human_human, len(section.labels))
    ends = (again.value, again.low, again.high, again.scope.raters)
    assert ends[0] == pytest.approx(found.value)
    assert ends[1:3] == pytest.approx((found.low, found.high))
    assert ends[3] == found.scope.raters == "these"


def test_the_table_has_every_rater_and_its_heads_the_ceiling_in_every_kind_of_item(section):
    figure = stand_in_figure(section, {"annotators": "paid"})
    strata = kinds_of_item(section)
    assert [one.stratum for one in strata] == ["all", "dialogue", "news"]
    at = figure.columns.index("value")
    values = {row[:2]: row[at] for row in figure.rows}
    assert len(values) == 3 * len(strata)
    for name, stratum in zip(("dialogue", "news"), strata[1:], strict=True):
        machine = stratum.machines[RULE].single_human_machine.percentage_agreement
        people = equal_labels(stratum.human_human, len(section.labels))
        assert values[RULE, name] == machine.value
        assert values["annotators", name] == people.value
        most = noise_ceiling(people, labels=len(section.labels))
        assert values[BEST_POSSIBLE, name] == most.value > people.value
    page, file = figure.chart.page(), figure.chart.file()
    for row in figure.rows:
        assert f"{row[at]:.2f}" in page
        assert f"{row[at]:.2f}" in file
    of_ceiling = [row for row in figure.rows if row[0] == BEST_POSSIBLE]
    assert page.count("<td data-label") == len(figure.rows)
    low, high = at + 1, at + 2
    assert ceiling_row(page) == [
        (f"{row[at]:.2f}", f"{row[low]:.2f} to {row[high]:.2f}") for row in of_ceiling
    ]
    # The key comes first, and what the columns are is their corner.
    kind = figure.chart.corner
    assert kind
    assert page.index("dashed: best possible machine") < page.index(f"<td class='note'>{kind}</td>")
    assert kind[1:] in figure.reading
    assert all("paid" in drawing and "simple" in drawing for drawing in (page, file))


def test_a_row_tells_the_ceiling_also_without_an_interval():
    few = section_of([row for row in rows() if int(row["instance"][1:]) < 3])
    (found,) = few.noise_ceiling.values()
    assert not found.ceiling.has_interval
    told = ceiling_row(stand_in_figure(few).chart.page())
    assert told == [(f"{found.ceiling.value:.2f}", "")]


def test_a_band_has_its_place_as_head_and_its_ends_in_the_numbers():
    figure = stand_in_figure(section_of(rows(separability=(0.1, 0.4, 0.6, 0.9))))
    heads = re.findall(r"<span class='name'>([^<]*)</span>", figure.chart.page())[:5]
    assert heads == ["All items", *BANDS]
    kinds = dict.fromkeys(row[1] for row in figure.rows)
    assert [kind.partition(" (")[0] for kind in kinds] == ["All items", *BANDS]
    assert all(" to " in kind for kind in [*kinds][1:])


def test_a_classification_with_more_kinds_than_fit_shows_the_largest():
    many = section_of(rows(category=tuple("aabbccddeef")))
    kinds = kinds_of_item(many)[1:]
    assert len(kinds) == MAX_KINDS
    left_out = [s for s in many.strata if s.stratifier == "category" and s not in kinds]
    assert max(s.n_units for s in left_out) <= min(s.n_units for s in kinds)


def test_a_kind_of_item_may_be_linked_where_it_has_an_address(section):
    chart = stand_in_figure(section).chart
    linked = chart.linked({("category", "news"): "?category=news", ("category", "x"): "?x"})
    assert re.findall('<a href="([^"]*)"[^>]*>([^<]*)</a>', linked.page()) == [
        ("?category=news", "news")
    ]
    assert linked.file() == chart.file()


def test_simple_rules_are_hollow_wherever_a_mark_stands_for_a_rater(section):
    kinds = kinds_of(["judge", RULE], [RULE])
    assert (kinds[RULE].endswith("-open"), kinds["judge"].endswith("-open")) == (True, False)
    assert section.simple_raters == (RULE,)
    asked = {"sections": ["win_rates_by_stratum", "machine_replacement"]}
    made = [
        row
        | {
            "system_b": other,
            "unit": f"{row['unit']}/{other}/{n}",
            "separability": int(row["instance"][1:]) / 48,
        }
        for other in "bc"
        for n in range(2)
        for row in rows()
    ]
    drawn = {
        figure.name: figure.chart.file()
        for figure in figures_of(section_of(made, simple_raters=[RULE], **asked))
    }
    assert drawn.keys() >= ONE_MARK_A_RATER | ON_REQUEST
    for name in ONE_MARK_A_RATER | ON_REQUEST:
        assert 'class="machine-open"' in drawn[name], name
        assert 'class="machine"' not in drawn[name], name
    unknown = {figure.name: figure.chart.file() for figure in figures_of(section_of(made, **asked))}
    assert all('class="machine"' in unknown[name] for name in ONE_MARK_A_RATER | ON_REQUEST)


def test_the_report_keeps_which_raters_are_simple(section):
    report = report_of(rows(), replicates=0, simple_raters=[RULE])
    again = type(report).from_json(report.as_json())
    assert again.criteria["preference"].simple_raters == (RULE,)
    assert (
        "simple_raters" not in report_of(rows(), replicates=0).as_json()["criteria"]["preference"]
    )
