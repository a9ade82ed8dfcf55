"""Machine raters by stratum in report documents."""

from dataclasses import replace

import pytest

from tests.metrics.studies import report_of
from tests.tiebreak.reading.findings.situations import sequence, watched
from tests.tiebreak.report.sections.machines.test_crossed_strata import SCALE, rows
from tiebreak.reading.document.content import DataTable, Paragraph
from tiebreak.reading.document.results import machine_strata, result_sections
from tiebreak.reading.messages import NO_FINDING_YET
from tiebreak.reading.stratum_findings import delta_finding
from tiebreak.report.model.report import CriterionSection


@pytest.fixture(scope="module")
def report():
    every = rows()
    # If all items of a stratum were alike, no resampling would tell how much others differ.
    for row in [row for row in every if row["rater"] == "judge"][::7]:
        row["label"] = -row["label"] or 1
    second = [row | {"rater": "other"} for row in every if row["rater"] == "judge"]
    return report_of([*every, *second], replicates=100, scales=SCALE)


@pytest.fixture(scope="module")
def about(report) -> CriterionSection:
    return report.criteria["preference"]


def tables(about) -> list[DataTable]:
    return [block for block in machine_strata(about) if isinstance(block, DataTable)]


def texts(about) -> list[str]:
    return [block.text for block in machine_strata(about) if isinstance(block, Paragraph)]


def test_each_machine_rater_has_a_table_of_strata_with_their_items(about):
    judge, other = tables(about)
    assert judge.caption.startswith("judge")
    assert other.caption.startswith("other")
    assert {row[0]: row[1] for row in judge.rows} == {
        "all items": "60",
        "all give the same label": "40",
        "60% to under 80% give the majority label": "20",
        "one label": "40",
        "2 different labels": "20",
        "separability unknown": "60",
        "a vs b": "30",
        "a vs c": "30",
    }


def test_values_have_their_intervals_and_a_note(about):
    (row,) = (row for row in tables(about)[0].rows if row[0] == "a vs b")
    pair = next(stratum for stratum in about.strata if stratum.stratum == "a vs b")
    judge = pair.machines["judge"]
    estimates = (
        pair.human_human.krippendorff_alpha,
        judge.single_human_machine.krippendorff_alpha,
        judge.delta.krippendorff_alpha,
    )
    for cell, one in zip(row[2:], estimates, strict=True):
        assert one.has_interval
        assert cell.startswith(
            f"{one.value:.2f} ({one.low:.2f} to {one.high:.2f}) [".replace("-", "−")
        )


def test_what_is_undefined_is_called_so_and_has_its_reason(about):
    table = tables(about)[0]
    (row,) = (row for row in table.rows if row[0] == "all give the same label")
    clear = next(stratum for stratum in about.strata if stratum.stratum == "PA=1")
    word, mark = row[2].split()
    assert word == "undefined"
    assert f"{mark.strip('[]')}: {clear.human_human.krippendorff_alpha.reason}" in table.note


def test_strata_without_any_interval_are_counted(about):
    def without(estimate):
        return replace(estimate, low=float("nan"), high=float("nan"), reason="few")

    pair = next(stratum for stratum in about.strata if stratum.stratum == "a vs b")
    judge = pair.machines["judge"]
    alpha = without(pair.human_human.krippendorff_alpha)
    bare = replace(
        judge,
        single_human_machine=replace(judge.single_human_machine, krippendorff_alpha=alpha),
        delta=replace(judge.delta, krippendorff_alpha=alpha),
    )
    changed = replace(
        pair,
        human_human=replace(pair.human_human, krippendorff_alpha=alpha),
        machines=pair.machines | {"judge": bare},
    )
    strata = tuple(changed if stratum is pair else stratum for stratum in about.strata)
    few = replace(about, strata=strata)
    assert "a vs b" not in {row[0] for row in tables(few)[0].rows}
    assert [text for text in texts(few) if text.startswith("1 ") and "judge" in text]


def test_what_may_be_concluded_stands_below_each_table(about):
    assert texts(about) == [delta_finding(about, name) for name in ("judge", "other")]


def test_a_running_study_has_the_tables_and_no_finding(about):
    running = watched(about, sequence(0.6, 0.8))
    assert tables(running) == tables(about)
    assert texts(running) == [NO_FINDING_YET] * 2


def test_the_document_has_the_tables(report, about):
    (section,) = result_sections(report)
    assert [block for block in section.blocks if block in tables(about)] == tables(about)


def test_a_criterion_without_machine_raters_has_none():
    (about,) = report_of(rows(judged=False), scales=SCALE).criteria.values()
    assert list(machine_strata(about)) == []
