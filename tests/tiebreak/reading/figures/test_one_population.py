"""Numbers that stand in one picture share population, weights and scope, in every figure there is."""

from collections.abc import Iterator
from itertools import product
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from django.contrib.auth.models import AnonymousUser

from annotation.filters import EVERYTHING
from metrics.results.question_pages import PAGES, Shown
from tests.metrics.studies import report_of
from tiebreak.formats import RatingTable
from tiebreak.reading.figures.figure import Figure
from tiebreak.reading.figures.of_section import figures_of_section
from tiebreak.reading.shown import UNWEIGHTED, section_of
from tiebreak.report.build import build_section
from tiebreak.report.model.rankings import LeaderboardSection
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.registry import on_request
from tiebreak.report.sections.machines import comparison_budget
from tiebreak.report.sections.systems import rank_stability
from tiebreak.report.sections.systems.hidden_part import HiddenDraw

pytestmark = pytest.mark.thorough
MACHINES = {"judge": (0.9, 0.2), "longer": (0.2, 0.9)}
FAMILIES = {"judge": "f", "x": "f", "longer": "g", "z": "g"}
RARE, APART = 0.5, 0.02
OF_RATED = "describe the rated items and not the dataset"


def ratings() -> list[dict]:
    """Return two samples of each pair of three systems on 24 instances, of which every other is rare.

    Rare instances differ in everything: who wins, how far raters agree, how long texts are, and whether
    it matters which text is shown first.
    """
    rng, made = np.random.default_rng(3), []
    for i, pair, sample in product(range(24), ("xy", "xz", "yz"), range(2)):
        rare = i % 2 == 0
        better = -1 if rng.random() < (0.9 if rare else 0.3) else 1
        about = {
            "unit": f"u{i}{pair}{sample}",
            "instance": f"i{i}",
            "system_a": pair[0],
            "system_b": pair[1],
            "category": "cd"[i % 4 > 1],
            "separability": (i % 12 // 3) / 4,
            "chars_a": int(40 + 40 * rare + rng.integers(9)),
            "chars_b": int(60 + rng.integers(9)),
            "phase": "control" if i % 12 < 10 else "selected",
            "inclusion_probability": RARE if rare else 1.0,
        }
        for rater, sure in [*((f"r{r}", (0.5, 0.2)) for r in range(3)), *MACHINES.items()]:
            asked = product((0, 1), ("ab", "ba")) if rater in MACHINES else [(None, None)]
            for run, order in asked:
                side = rng.choice(["left", "right"]) if order is None else ""
                first, any_label = -1 if side == "left" else 1, int(rng.choice([-1, 0, 1]))
                unsure = first if rare and not order else any_label
                label = better if rng.random() < sure[not rare] else unsure
                answer = {"rater": rater, "label": label, "side_a": str(side)}
                if order is not None:
                    answer |= {"kind": "machine", "run": run, "order": order}
                made.append(about | answer)
    return made


def not_drawn(made: list[dict]) -> list[dict]:
    """Return what machines say of instances that nobody drew, where the second system wins always."""
    return [
        row
        | {"phase": "", "inclusion_probability": None, "label": 1}
        | {"unit": new, "instance": new}
        for row in made
        if "kind" in row
        for new in [f"{row['unit']}, not drawn"]
    ]


def undrawn(made: list[dict], *, copies: bool) -> list[dict]:
    """Return the ratings as if nothing was drawn, and each instance as often as it counts."""
    return [
        {name: row[name] for name in row if name not in ("phase", "inclusion_probability")}
        | {"unit": f"{row['unit']}.{copy}", "instance": f"{row['instance']}.{copy}"}
        for row in made
        for copy in range(round(1 / row["inclusion_probability"]) if copies else 1)
    ]


def figures_of(about: CriterionSection) -> Iterator[Figure]:
    """Yield every figure of a criterion that the pages register, but those of texts and of times."""
    shown = Shown(
        SimpleNamespace(target_width=None, currency="EUR", reward=None),
        "",
        about,
        EVERYTHING,
        {},
        {},
        AnonymousUser(),
    )
    for tab in PAGES:
        if tab.slug != "separability":  # which reads texts of the database, and no ratings
            with patch.multiple(
                Shown, notes={}, costs={}, prompts={}, settings={}
            ):  # which read the database
                yield from tab.figures(shown)
    for name, one in on_request().items():
        if (part := one.of(about)) is not None:
            yield from figures_of_section(name, part)


@pytest.fixture(scope="module")
def studies() -> list[CriterionSection]:
    """Return the drawn study, its ratings without weights, and with each instance as it counts."""
    made = ratings()
    tables = (
        made + not_drawn(made),
        undrawn(made, copies=False),
        undrawn(made, copies=True),
    )
    scales = {"preference": "preference:tie"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparison_budget, "DRAWS", 2)
        patch.setattr(rank_stability, "SPLITS", 20)
        options = {"scales": scales, "sections": on_request(), "families": FAMILIES}
        reports = [report_of(rows, **options) for rows in tables]
    return [report.criteria["preference"] for report in reports]


def values(figure: Figure) -> dict[tuple[object, ...], float]:
    """Return the estimates of a figure by what they are of, without shares in the names of strata."""
    if "value" not in figure.columns:
        return {}
    at = figure.columns.index("value")
    keys = [
        tuple(str(c).split(" (")[0] for c in row[:at] if isinstance(c, str)) for row in figure.rows
    ]
    return {key: row[at] for key, row in zip(keys, figure.rows, strict=True) if row[at] is not None}


def test_every_figure_of_a_drawn_study_has_one_weighting_and_one_scope(studies):
    """A value is weighted if it is that of instances that are there as often as they count."""
    drawn, plain, weighted = ({f.name: f for f in figures_of(about)} for about in studies)
    told = set()
    for name, figure in drawn.items():
        if name not in plain:  # of machines that rated what was not drawn
            continue
        as_they_are, as_they_count = values(plain[name]), values(weighted[name])
        kinds = {}
        for key, value in values(figure).items():
            ends = as_they_are.get(key), as_they_count.get(key)
            if None not in ends and abs(ends[0] - ends[1]) > APART:
                far = [abs(value - end) for end in ends]
                kinds.setdefault(far[0] > far[1], []).append((key, value, *ends))
        assert len(kinds) < 2, (name, kinds)
        told |= {(name, is_weighted) for is_weighted in kinds}
        if "instances" in figure.columns and "low" in figure.columns:
            rows = [dict(zip(figure.columns, row, strict=True)) for row in figure.rows]
            assert len({row["instances"] for row in rows if row["low"] is not None}) < 2, name
    for name, is_weighted in told:
        assert is_weighted != (OF_RATED in drawn[name].reading), name
    for name in ("win-rates", "win-or-tie", "machine-win-rates", "machine-1", "bias"):
        assert (name, True) in told
    assert ("elo", False) in told
    assert len(told) > 25


class InstancesAsTheyCount(HiddenDraw):
    """Hides an instance with all of its copies."""

    def hides(self, instance: str) -> bool:
        return super().hides(instance.split(".", maxsplit=1)[0])


def of_newcomer(made: list[dict]) -> list[dict]:
    """Return what a machine says of a system that joined, in a table that knows of no draw."""
    about = {"phase": "", "inclusion_probability": None, "system_b": "new"}
    rows = [row | about for row in made if row["rater"] == "judge" and row["system_b"] == "z"]
    return [row | {"unit": f"{row['unit']} new"} for row in rows]


def board_of(made: list[dict]) -> LeaderboardSection:
    table, newcomer = (RatingTable.from_rows(rows) for rows in (made, of_newcomer(made)))
    options = {"scales": {"preference": "preference:tie"}, "replicates": 20}
    hidden = InstancesAsTheyCount(0.5, 9)  # whose ρ differ by weights
    made_of = build_section(
        table, "leaderboard", hidden=hidden, joined=[("new", newcomer)], **options
    )
    return made_of.criteria["preference"]


def test_a_boards_hidden_part_and_systems_that_joined_are_weighted_as_its_other_columns():
    """Also where the study of a system that joined knows nothing of the draw."""
    made = ratings()
    drawn, plain, weighted = map(
        board_of, (made, undrawn(made, copies=False), undrawn(made, copies=True))
    )
    told = set()
    for name, board in (
        ("joined", lambda one: one.machines_only["judge"]),
        ("board", lambda one: one.machines["judge"]),
    ):
        for system, rate in board(drawn).items():
            assert rate.value == pytest.approx(board(weighted)[system].value)
            assert rate.scope.instances == "dataset"
            if abs(rate.value - board(plain)[system].value) > APART:
                told.add(name)
    for machine, one in drawn.hidden.machines.items():
        unweighted, other = (board.hidden.machines[machine] for board in (plain, weighted))
        for of in ("of_hidden", "of_public"):
            assert getattr(one, of).value == pytest.approx(getattr(other, of).value)
        if abs(one.of_hidden.value - unweighted.of_hidden.value) > APART:
            told.add("hidden")
    assert told == {"joined", "board", "hidden"}


def test_the_table_of_rankings_leaves_out_what_has_no_weights(studies):
    for about, is_drawn in zip(studies, (True, False, False), strict=True):
        measures = {row.name for row in section_of("preference", about).ranking.rows}
        assert measures.isdisjoint(UNWEIGHTED) == is_drawn
