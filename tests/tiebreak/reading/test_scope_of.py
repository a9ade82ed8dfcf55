"""What limits the numbers of a question: each question says it of its own numbers."""

import random
from dataclasses import replace

from tests.metrics.studies import checked, report_of
from tests.tiebreak.reading.figures.test_differences import TWO, of
from tiebreak.reading.leading_numbers import scope_of
from tiebreak.reading.messages import REST_OF_THESE_RATERS
from tiebreak.reading.shown import section_of
from tiebreak.stats import RankSet

RNG = random.Random(5)


def with_machine():
    rows = [dict(row) for row in TWO]
    units = {row["unit"]: row for row in rows}
    rows += [
        row | {"rater": "judge", "kind": "machine"} | {"label": RNG.choice([-1, 1])}
        for row in units.values()
    ]
    (section,) = checked(report_of(rows)).criteria.values()
    return section


def test_agreement_with_a_machine_does_not_apply_to_other_raters():
    section = with_machine()
    assert "annotators like these" in scope_of(section, "systems")
    assert "annotators like these" not in scope_of(section, "machines")
    assert scope_of(section).endswith(REST_OF_THESE_RATERS)
    assert REST_OF_THESE_RATERS not in scope_of(section, "systems")


def test_ranks_have_no_decimals():
    section = of(TWO)
    # Sets that are not the same as the ranks by strength, which would then not be shown.
    sets = dict.fromkeys(section.systems.rank_sets, RankSet(1, len(section.systems.win_rate) + 1))
    section = replace(section, systems=replace(section.systems, rank_sets=sets))
    ranking = section_of("preference", section).ranking
    (ranks,) = [row for row in ranking.rows if row.name == "Rank by Bradley–Terry strength"]
    assert all("." not in f"{one.text} {one.interval}" for one in ranks.numbers)
