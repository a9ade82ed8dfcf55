"""One kind of number has one number of digits, on pages, in figures and in the written report."""

import json
import re
from collections.abc import Iterator
from html import unescape

import pytest
from lxml.html import fromstring

from benchmarks import pages_runs
from studies.models import Membership
from tests.metrics.studies import report_of, words
from tests.studies.factories import make_open_study
from tests.tiebreak.reading.figures.test_one_population import figures_of, not_drawn, ratings
from tiebreak.digits import duration, in_digits, percent
from tiebreak.reading.document.content import DataTable, Figure, Paragraph
from tiebreak.reading.document.results import result_sections
from tiebreak.reading.document.section_tables import data_table
from tiebreak.reading.figures.figure import P_FIGURES, P_VALUE, SLOPES
from tiebreak.report import Report
from tiebreak.report.registry import on_request, part_title
from tiebreak.report.sections.machines import comparison_budget
from tiebreak.report.sections.systems import rank_stability

SPOKEN = re.compile(r'(?:<title>|aria-label=")([^<"]*)')
# Names of ranges, what a method was tuned to, the usual level and effective sizes are of no such kind.
NAMES = re.compile(r"separability [−\d.]+ to [−\d.]+|(?:λ =|level|below) [\d.]+|[\d.]+ effective")
NUMBER = re.compile(r"(?<![\w.,])(−?\d+\.(\d+))(%?)(?![\w.])")
# Thousands without a comma, but years.
BARE = re.compile(r"(?<![\w.,:/-])(?!20\d\d\b)\d{4,}(?:\.\d+)?(?![\w:/-])")
P = re.compile(r"\bp (?:=|<) (\d\.\d+)")


@pytest.fixture(scope="module")
def report() -> Report:
    made = [
        row | {"duration_ms": 900 + 37 * n % 500, "hit_position": 1, "position": n % 40}
        for n, row in enumerate(ratings())
    ]
    left_out = made[0] | {"rater": "x", "excluded": True}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparison_budget, "DRAWS", 2)
        patch.setattr(rank_stability, "SPLITS", 20)
        rows = [*made, left_out, *not_drawn(made)]
        return report_of(rows, scales={"preference": "preference:tie"}, sections=on_request())


def shown(report: Report) -> Iterator[tuple[str, str]]:
    """Yield everything that people read, with where it is."""
    yield "page", re.sub("<[^>]+>", " ", words(report))
    tables_of_figures = []
    for figure in figures_of(report.criteria["preference"]):
        tables_of_figures.append(data_table(figure))
        spoken = SPOKEN.findall(unescape(str(figure.chart)))
        yield figure.name, " ".join([figure.finding, figure.sentence, *spoken])
        for cells in figure.cells:
            for column, cell in zip(figure.columns, cells, strict=True):
                yield SLOPES if P_VALUE.search(column) else figure.name, cell
    for section in result_sections(report):
        for block in section.blocks:
            if isinstance(block, Paragraph):
                yield "document", block.text
            elif isinstance(block, DataTable) and block not in tables_of_figures:
                yield block.caption, json.dumps([block.rows, block.note], ensure_ascii=False)
            elif isinstance(block, Figure):
                yield block.name, block.caption


def test_equal_numbers_of_a_kind_have_equal_digits(report):
    seen, wrong = set(), []
    for where, text in shown(report):
        assert {len(p) for p in P.findall(text)} <= {len("0.001")}
        for number, decimals, is_percent in NUMBER.findall(P.sub("", NAMES.sub("", text))):
            is_small = where in (SLOPES, part_title("planning")) or where.startswith(P_FIGURES)
            digits = 3 if is_small else 2 if abs(float(number.replace("−", ""))) < 10 else 1
            seen.add((where, digits))
            if len(decimals) != digits - 2 * bool(is_percent):
                wrong.append((where, number, text[:200]))
    assert wrong == []
    assert {digits for _, digits in seen} == {1, 2, 3}
    assert len(seen) > 20


@pytest.mark.parametrize("hundredths", range(0, 1001, 5))
def test_a_share_in_percent_has_the_hundredths_of_a_rate(hundredths):
    share = hundredths / 1000
    assert float(percent(share)[:-1]) == round(100 * float(in_digits(share)))
    assert len(duration(10 * share)) <= len("9.9")


@pytest.mark.postgresql  # as are the statements that fill a large study
@pytest.mark.thorough
@pytest.mark.django_db
def test_every_page_of_a_large_study_has_commas_between_thousands(
    client, django_user_model, monkeypatch
):
    monkeypatch.setattr(pages_runs, "HITS_PER_ANNOTATOR", 1)
    monkeypatch.setattr(pages_runs, "vacuum", lambda: None)  # which no transaction can
    study = make_open_study(instances=1_300, ratings_per_hit=1)
    pages_runs.fill(study, hits=1_300)
    pages_runs.pay(study)
    pages_runs.store_some_report(study)
    user = django_user_model.objects.create_user("researcher", is_staff=True)
    Membership.objects.create(study=study, user=user)
    client.force_login(user)
    # Settings stand as they are typed.
    shown = "//main//text()[not(ancestor::*[@class='readonly'])]"
    said = {
        name: " ".join(fromstring(client.get(address).content).xpath(shown))
        for name, address in pages_runs.addresses(study, user).items()
    }
    assert {name: bare for name, text in said.items() if (bare := BARE.findall(text))} == {}
    assert "1,300" in said["Progress"]
