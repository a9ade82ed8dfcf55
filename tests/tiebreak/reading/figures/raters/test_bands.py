"""The bands of separability of pictures come from the column that they name, and have words."""

import numpy as np
import pytest

from tests.metrics.studies import preferences, report_of
from tiebreak.formats.export_columns import RATINGS
from tiebreak.reading.document.content import DataTable
from tiebreak.reading.document.results import machine_strata
from tiebreak.reading.figures.machines.stand_in import SEPARABILITY, stand_in_figure
from tiebreak.reading.figures.raters.agreement import AGREEMENT_READING, agreement_figure
from tiebreak.reading.findings import BANDS, SAID_ABOVE, stratum_name
from tiebreak.reading.shown import section_of
from tiebreak.report.model.report import CriterionSection

RAW = "separability_raw"


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    labels = [[1, 1, 0], [1, -1, 1], [-1, -1, -1], [0, 1, 1]] * 12
    return [
        row | {RAW: (n // 3) ** 2 / 2000 - 0.1, "separability": 1 - (n // 3) / 200}
        for n, row in enumerate(preferences(labels))
    ]


@pytest.fixture(scope="module")
def about(rows) -> CriterionSection:
    rule = [row | {"rater": "a rule", "kind": "machine", "label": 1} for row in rows[::3]]
    (section,) = report_of([*rows, *rule]).criteria.values()
    return section


def bands_of(about: CriterionSection) -> list[str]:
    return [one.stratum for one in about.strata if one.stratifier == "separability"]


def test_bands_can_be_made_again_from_the_column_that_pictures_name(rows, about):
    shown = [one.n_units for one in about.strata if one.stratifier == "separability"]
    for column, is_named in ((RAW, True), ("separability", False)):
        counts, _ = np.histogram([row[column] for row in rows[::3]], bins=len(shown))
        assert (counts.tolist() == shown) == is_named
    assert RAW in SEPARABILITY
    assert RAW in AGREEMENT_READING
    assert RATINGS[RAW] != RATINGS["separability"]


def test_a_band_has_words_by_its_place_among_all_of_them(about):
    for words, band in zip(BANDS, bands_of(about), strict=True):
        name, alone = (stratum_name("separability", band, one) for one in (about.strata, ()))
        assert name == f"{words} ({alone})"
        assert name.key == alone.key == ("separability", band)
        assert name.noted("25%") == f"{words} ({alone}, 25%)"
    # Some of the bands do not say which place each has.
    *others, last = bands_of(about)
    some = [one for one in about.strata if one.stratum != others[0]]
    assert stratum_name("separability", last, some) == stratum_name("separability", last)


def test_pictures_tables_and_written_reports_have_the_same_words(about):
    agreement, machines = agreement_figure(about), stand_in_figure(about)
    strips = [one.name for one in agreement.chart.strips if one.key[0] == "separability"]
    heads = [one.name for one in machines.chart.columns if one.key[0] == "separability"]
    columns = [name.removeprefix("texts ") for name in heads]
    assert not any(SAID_ABOVE in name for name in (*strips, *columns))
    assert strips == list(BANDS)  # and no numbers beside those of the row
    tables = [[row.name for row in one.rows] for one in section_of("c", about).tables]
    (table,) = [names for names in tables if names[0].startswith(BANDS)]
    for names in (strips, columns, table, [row[0] for row in agreement.rows]):
        assert [n.split(" (")[0] for n in names if n.startswith(BANDS)] == list(BANDS)
    (written,) = [one for one in machine_strata(about) if isinstance(one, DataTable)]
    assert {row[0] for row in written.rows if SAID_ABOVE in row[0]} <= set(table)
