"""The bands of separability of pictures come from the column that they name."""

import numpy as np

from tests.metrics.studies import preferences, report_of
from tiebreak.formats.export_columns import RATINGS
from tiebreak.reading.figures.machines.stand_in import SEPARABILITY
from tiebreak.reading.figures.raters.agreement import AGREEMENT_READING

RAW = "separability_raw"


def test_bands_can_be_made_again_from_the_column_that_pictures_name():
    labels = [[1, 1, 0], [1, -1, 1], [-1, -1, -1], [0, 1, 1]] * 12
    rows = [
        row | {RAW: (n // 3) ** 2 / 2000 - 0.1, "separability": 1 - (n // 3) / 200}
        for n, row in enumerate(preferences(labels))
    ]
    (about,) = report_of(rows).criteria.values()
    shown = [one.n_units for one in about.strata if one.stratifier == "separability"]
    for column, is_named in ((RAW, True), ("separability", False)):
        counts, _ = np.histogram([row[column] for row in rows[::3]], bins=len(shown))
        assert (counts.tolist() == shown) == is_named
    assert RAW in SEPARABILITY
    assert RAW in AGREEMENT_READING
    assert RATINGS[RAW] != RATINGS["separability"]
