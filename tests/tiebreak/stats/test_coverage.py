"""95% intervals contain the true value in 93% to 97% of simulated studies."""

import pytest

from tests.tiebreak.stats.coverage import Design, coverage

STUDIES = 1500
JENSEN_SHANNON = "binned_js"


@pytest.mark.slow
@pytest.mark.parametrize("design", [Design(200), Design(1000), Design(200, 5)], ids=str)
def test_intervals_cover(design):
    shares = coverage(design, studies=STUDIES)
    few = design.instances * design.units < 1000
    asserted = {name: s for name, s in shares.items() if not (few and JENSEN_SHANNON in name)}
    missed = {name: share for name, share in asserted.items() if not 0.93 <= share <= 0.97}
    assert len(asserted) > 20
    assert not missed
