"""The pages show the published studies' golden values, and the figures' files have their digits."""

import csv
import io
from dataclasses import replace
from functools import partial
from typing import Any

import lxml.html
import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.imports.study_import import import_study
from metrics.results import services
from metrics.results.services import refresh_report
from studies.instance_selection.scoring import score_separability
from studies.models import Study
from tests.metrics.test_golden_report import SEPARABILITY, mtbench_files, mtbench_votes
from tests.paths import GOLDEN, shared_path
from tests.tiebreak.formats.readers.test_alttest import golden as alternative_annotators
from tests.tiebreak.stats.published import golden
from tiebreak.formats import InstanceRow
from tiebreak.formats.readers import Converted, convert
from tiebreak.reading.shown import NAMES_WITH_MACHINE
from tiebreak.report.build import report_from

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]

EQUAL_SHARE = NAMES_WITH_MACHINE["percentage_agreement"]
PANDALM, JUDGE = "PandaLM-test", "pandalm-7b"
STRATA = {
    "PA=1": "all give the same label",
    "0.60<=PA<1": "60% to under 80% give the majority label",
    "PA<0.60": "under 60% give the majority label",
}
COEFFICIENTS = {
    "krippendorff_alpha": "kalpha_nominal_HH",
    "percentage_agreement": "pct_agreement_HH",
    "randolph_kappa": "randolph_HH",
    "fleiss_kappa": "fleiss_HH",
    "leave_one_out": "LOO_expected_HH",
}


class Pages:
    """The pages of one study and its figures' files, as a researcher gets them."""

    def __init__(self, client: Client, study: Study, criterion: str = "preference") -> None:
        self.client, self.study, self.criterion = client, study, criterion

    def results(self, slug: str, **query: str) -> Any:
        return self._page(reverse("metrics:results-tab", args=[self.study.pk, slug]), **query)

    def _page(self, address: str, **query: str) -> Any:
        answer = self.client.get(address, {"criterion": self.criterion} | query)
        assert answer.status_code == 200
        return lxml.html.fromstring(answer.content.decode())

    def data(self, figure: str) -> list[dict[str, str]]:
        address = reverse("metrics:figure", args=[self.study.pk, self.criterion, figure, "csv"])
        answer = self.client.get(address)
        assert answer.status_code == 200, figure
        return list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))


@pytest.fixture
def pages(tmp_path, admin_client, monkeypatch):
    """Import a published study; its values need no long bootstrap."""
    monkeypatch.setattr(services, "report_from", partial(report_from, replicates=20))

    def imported(reader: str, *parts: str, score: str = "") -> Pages:
        path, bundle = GOLDEN.joinpath(*parts), tmp_path / "bundle"
        call_command("convert", reader, str(path), "--out", str(bundle), verbosity=0)
        study = import_study(path=bundle).study
        if score:
            Study.objects.filter(pk=study.pk).update(similarity=score)
            study.refresh_from_db()
            score_separability(study=study)
        refresh_report(study=study)
        return Pages(admin_client, study)

    return imported


def shown(page: Any, row: str, column: int = 0, table: str = "") -> str:
    """Return a value of a table by its row, and the position among the row's values."""
    within = f"//table[caption='{table}']" if table else "//table"
    (values,) = (
        line.xpath(".//td[@class='number']")
        for line in page.xpath(f"{within}//tr")
        if line.xpath("string(th)").strip() == row
    )
    return values[column].xpath("string(span[@class='value'])")


def value(dataset: str, statistic: str, stratum: str) -> float:
    return float(golden()[dataset, statistic, stratum])


def check(text: str, expected: float, decimals: int = 2) -> None:
    """Compare what is shown with a golden value, which has four digits itself."""
    text = text.replace("−", "-")
    assert float(text) == pytest.approx(expected, abs=0.5 * 10**-decimals + 0.5e-4)
    assert len(text.partition(".")[2]) == decimals


def digits(text: str) -> str:
    return f"{float(text):.4f}"


def row_of(rows: list[dict[str, str]], **cells: str) -> dict[str, str]:
    (row,) = (row for row in rows if cells.items() <= row.items())
    return row


@pytest.mark.parametrize("dataset", SEPARABILITY)
def test_the_separability_configurations(dataset, pages):
    study = pages("mturk", "separability", SEPARABILITY[dataset], score="rouge1")
    of_pairs, of_sets = "250 pairs x3 raters", "150 sets"
    alpha = value(dataset, "kalpha_nominal per pair", of_pairs)
    consistency = value(dataset, "mean_consistency", of_sets)
    zero = value(dataset, "rating_sets inconsistent (c=0)", of_sets)
    perfect = value(dataset, "rating_sets perfectly consistent (c=1)", of_sets)
    strength = value(dataset, "mean preference strength (Eq.7)", of_sets)
    a, tie, b = (int(n) for n in golden()[dataset, "votes A/tie/B", "750 votes"].split("/"))
    best = max(a + tie / 2, b + tie / 2) / (a + tie + b)

    agreement = study.results("coefficients")
    check(shown(agreement, "all items"), alpha)
    check(shown(agreement, "all items", 4), value(dataset, "LOO_expected_HH", of_pairs))
    sets = study.results("consistency")
    check(shown(sets, "Mixed, or ties only (consistency 0)"), zero)
    check(shown(sets, "Perfectly consistent (consistency 1)"), perfect)
    check(shown(sets, "Preference strength (negative: first system, positive: second)"), strength)

    rates = study.data("win-rates")
    assert digits(rates[0]["value"]) == f"{best:.4f}"
    assert digits(row_of(study.data("agreement"), stratum="All items")["value"]) == f"{alpha:.4f}"
    overall = row_of(study.data("consistency"), separability="all sets")
    assert digits(overall["value"]) == f"{consistency:.4f}"
    shares = study.data("set-shares")
    for end, expected in (("0", zero), ("1", perfect)):
        row = row_of(shares, separability="all sets", series=f"annotators, consistency {end}")
        assert digits(row["value"]) == f"{expected:.4f}"
    overall = row_of(study.data("preference-strength"), separability="all sets")
    assert digits(overall["value"]) == f"{strength:.4f}"


@pytest.mark.parametrize("dataset", SEPARABILITY)
def test_the_distribution_of_separability(dataset, pages):
    study = pages("mturk", "separability", SEPARABILITY[dataset], score="rouge1")
    low, high = golden()[dataset, "rouge1_separability_raw_min/max", "25 pairs"].split("/")
    mean = row_of(study.data("separability"), statistic="mean")
    assert digits(mean["value"]) == golden()[dataset, "rouge1_separability_raw_mean", "25 pairs"]
    assert (digits(mean["from"]), digits(mean["to"])) == (low, high)
    page = study.results("separability")
    table = page.xpath("//section[contains(@class, 'figure')]//tbody/tr")
    (cells,) = (row.xpath("td/text()") for row in table if row.xpath("string(td[3])") == "mean")
    check(cells[-1], float(mean["value"]))


def test_pandalm_humans(pages):
    study = pages("pandalm", "pandalm")
    page = study.results("coefficients")
    for column, statistic in enumerate(COEFFICIENTS.values()):
        check(shown(page, "all items", column), value(PANDALM, statistic, "All"))
    for stratum, name in STRATA.items():
        n, alpha = (golden()[PANDALM, s, stratum] for s in ("n_items", "kalpha_nominal_HH"))
        units = page.xpath(f"//tr[th[normalize-space()='{name}']]/td[1]/text()")
        assert units == [f"{float(n):.0f}"]
        if alpha:
            check(shown(page, name), float(alpha))


def test_pandalms_machine_rater(pages):
    study = pages("pandalm", "pandalm")
    page, rows = study.results("each-machine", machine=JUDGE), study.data("machine-2")
    assert JUDGE in "".join(page.xpath("//h2/text() | //summary/text()"))
    names = {
        "Krippendorff's α": "kalpha_HwMw",
        "Leave-one-out agreement": "LOO_expected_HM",
        "Binned JS distance": "binned_JS_distance_base_e",
    }
    (details,) = page.xpath(f"//details[summary[contains(., 'coefficients of {JUDGE}')]]")
    table = lxml.html.fromstring(lxml.html.tostring(details))
    listed = table.xpath("//th[@scope='row']/text()")
    for name, statistic in names.items():
        assert name in listed, listed
        check(shown(table, name), value(PANDALM, statistic, f"judge {JUDGE} All"))
    alpha = golden()[PANDALM, "kalpha_HwMw", f"judge {JUDGE} All"]
    row = row_of(rows, stratum="All items", series="majority and machine")
    assert digits(row["value"]) == alpha


def test_summeval_experts(pages):
    path = ("summeval", "experts_coherence_relevance.jsonl")
    study = pages("summeval", *path)
    for criterion in ("coherence", "relevance"):
        study.criterion = criterion
        check_agreement(study, f"SummEval-expert-{criterion}")


def check_agreement(study: Pages, dataset: str) -> None:
    alpha = golden()[dataset, "kalpha_ordinal_HH", "All"]
    page, rows = study.results("coefficients"), study.data("agreement")
    assert digits(row_of(rows, stratum="All items")["value"]) == alpha
    for stratum, name in STRATA.items():
        expected = golden()[dataset, "kalpha_ordinal_HH", stratum]
        check(shown(page, name), float(expected))


@pytest.mark.parametrize("judge", ["ChatGPT", "GPT-4"])
def test_llmbars_evaluators(judge, pages):
    """All of these verdicts are on the subset Natural, each in both orders."""
    study = pages("llmbar", str(shared_path("data", "llmbar", "verdicts.csv")))
    page = study.results("each-machine", machine=judge)
    (details,) = page.xpath(f"//details[summary[contains(., 'coefficients of {judge}')]]")
    table = lxml.html.fromstring(lxml.html.tostring(details))
    accuracy = value("LLMBar", "accuracy_avg_both_orders", f"Natural {judge}")
    check(shown(table, EQUAL_SHARE), accuracy)


def test_mt_benchs_people_and_gpt_4(tmp_path, admin_client, monkeypatch):
    monkeypatch.setattr(services, "report_from", partial(report_from, replicates=20))
    pair = "alpaca-13b/gpt-3.5-turbo"
    rows = mtbench_votes(pair)
    spec = replace(convert("mtbench", mtbench_files()).spec, systems=tuple(pair.split("/")))
    instances = [InstanceRow(name) for name in dict.fromkeys(row["instance"] for row in rows)]
    Converted(spec, instances, [], rows).write(tmp_path / "bundle")
    study = import_study(path=tmp_path / "bundle").study
    refresh_report(study=study)
    row = row_of(
        Pages(admin_client, study).data("machine-1"),
        stratum="All items",
        series="majority and machine",
    )
    assert digits(row["value"]) == golden()[f"MT-Bench {pair}", "kalpha_HwMw", "All"]


def test_the_alternative_annotator_test(pages):
    study = pages("alttest", str(shared_path("data", "alttest")))
    study.criterion = "wax"
    page = study.results("machines")
    rows = alternative_annotators()["wax", "0.1"]
    assert len(rows) == 6
    for row in rows:
        (matched,) = page.xpath(
            f"//*[@aria-labelledby='stand-in-heading']//tr[th='{row['machine']}']"
            "/td[@data-label='Matches']"
        )
        n, _, of, *_ = matched.text_content().split()
        assert int(n) / int(of) == pytest.approx(float(row["winning_rate"]), abs=0.005)
