"""`convert` and `analyze` reproduce the published studies to the four decimals of golden.csv."""

import html
import json
import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from django.core.management import call_command

from annotation.imports.study_import import import_study
from metrics.results.services import refresh_report
from tests.paths import GOLDEN, shared_path
from tests.tiebreak.stats.published import golden
from tiebreak.digits import in_digits
from tiebreak.formats import RatingTable
from tiebreak.formats.readers import convert
from tiebreak.report import build_report

SEPARABILITY = {
    "SEP-mistral-7b_vicuna-7b_samsum": "mistral-7b_vicuna-7b_samsum_pref_data.csv",
    "SEP-vicuna-7b_gpt-3.5-turbo-instruct_cnn_dm": (
        "vicuna-7b_gpt-3.5-turbo-instruct_cnn_dm_pref_data.csv"
    ),
}


@cache
def analyze(reader: str, *files: Path, out: str = "ratings.jsonl") -> dict:
    with TemporaryDirectory() as folder:
        ratings, report = Path(folder) / out, Path(folder) / "report.json"
        call_command("convert", reader, *map(str, files), "--out", str(ratings), verbosity=0)
        options = ("--out", str(report), "--replicates", "0")
        call_command("analyze", str(ratings), *options, verbosity=0)
        return json.loads(report.read_text())


def stratum(section: dict, stratifier: str, name: str) -> dict:
    return next(
        entry
        for entry in section["strata"]
        if (entry["stratifier"], entry["stratum"]) == (stratifier, name)
    )


def check(value: float, dataset: str, statistic: str, name: str) -> None:
    assert f"{value:.4f}" == f"{float(golden()[dataset, statistic, name]):.4f}"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dataset", SEPARABILITY)
@pytest.mark.parametrize("out", ["ratings.jsonl", "ratings.csv", "ratings.parquet", "bundle"])
def test_the_separability_configurations(dataset, out):
    path = GOLDEN / "separability" / SEPARABILITY[dataset]
    section = analyze("mturk", path, out=out)["criteria"]["preference"]
    everything = stratum(section, "all", "all")["human_human"]
    check(
        everything["krippendorff_alpha"]["value"],
        dataset,
        "kalpha_nominal per pair",
        "250 pairs x3 raters",
    )
    check(everything["leave_one_out"]["value"], dataset, "LOO_expected_HH", "250 pairs x3 raters")
    sets = section["rating_sets"]
    assert sets["n"] == 150
    check(sets["consistency"]["value"], dataset, "mean_consistency", "150 sets")
    check(sets["zero"]["value"], dataset, "rating_sets inconsistent (c=0)", "150 sets")
    check(sets["perfect"]["value"], dataset, "rating_sets perfectly consistent (c=1)", "150 sets")
    check(
        sets["preference_strength"]["value"], dataset, "mean preference strength (Eq.7)", "150 sets"
    )
    ties = round(sets["all_ties"]["value"] * sets["n"])
    assert ties == int(golden()[dataset, "all-tie rating sets", "150 sets"])
    votes = "/".join(str(section["votes"][label]) for label in ("-1", "0", "1"))
    assert votes == golden()[dataset, "votes A/tie/B", "750 votes"]
    rates = section["systems"]["win_rate"]
    a, tie, b = (int(n) for n in votes.split("/"))
    expected = sorted([(a + tie / 2) / 750, (b + tie / 2) / 750])
    assert sorted(rate["value"] for rate in rates.values()) == pytest.approx(expected)


@pytest.mark.sampled(1)
@pytest.mark.django_db
@pytest.mark.parametrize("dataset", SEPARABILITY)
def test_separability_foretells_consistency_in_the_interface(dataset, tmp_path, admin_client):
    path = GOLDEN / "separability" / SEPARABILITY[dataset]
    call_command("convert", "mturk", str(path), "--out", str(tmp_path / "bundle"), verbosity=0)
    study = import_study(path=tmp_path / "bundle").study
    call_command("score_separability", study.pk, "--similarity", "rouge1", verbosity=0)
    statistic = "spearman(raw rouge1 sep, mean consistency)"
    (trend,) = (
        section["rating_sets"]["spearman_separability"]
        for section in refresh_report(study=study).report["criteria"].values()
    )
    check(trend["value"], dataset, statistic, "50 items")
    page = admin_client.get(f"/studies/{study.pk}/results/consistency/").content.decode()
    published = in_digits(float(golden()[dataset, statistic, "50 items"]))
    assert re.search(rf"\b{published}\b", html.unescape(page))


def test_the_two_zeros_add_up():
    path = GOLDEN / "separability" / SEPARABILITY["SEP-mistral-7b_vicuna-7b_samsum"]
    sets = analyze("mturk", path)["criteria"]["preference"]["rating_sets"]
    assert round(sets["contradictory"]["value"], 4) == 0.4533
    assert round(sets["all_ties"]["value"], 4) == 0.0267


def test_pandalm_humans():
    section = analyze("pandalm", GOLDEN / "pandalm")["criteria"]["preference"]
    dataset = "PandaLM-test"
    names = {
        "krippendorff_alpha": "kalpha_nominal_HH",
        "percentage_agreement": "pct_agreement_HH",
        "randolph_kappa": "randolph_HH",
        "fleiss_kappa": "fleiss_HH",
        "leave_one_out": "LOO_expected_HH",
    }
    everything = stratum(section, "all", "all")
    for ours, theirs in names.items():
        check(everything["human_human"][ours]["value"], dataset, theirs, "All")
    for ours, theirs in {"PA=1": "PA=1", "0.6<=PA<0.8": "0.60<=PA<1", "PA<0.6": "PA<0.60"}.items():
        entry = stratum(section, "agreement", ours)
        check(entry["n_units"], dataset, "n_items", theirs)
        alpha = entry["human_human"]["krippendorff_alpha"]["value"]
        if golden()[dataset, "kalpha_nominal_HH", theirs]:
            check(alpha, dataset, "kalpha_nominal_HH", theirs)
        else:
            assert alpha is None
    assert section["n_unparsed"] == 25


def test_pandalms_machine_raters():
    section = analyze("pandalm", GOLDEN / "pandalm")["criteria"]["preference"]
    judge, dataset = "judge pandalm-7b ", "PandaLM-test"
    everything = stratum(section, "all", "all")["machines"]["pandalm-7b"]["human_machine"]
    check(everything["krippendorff_alpha"]["value"], dataset, "kalpha_HwMw", judge + "All")
    check(everything["leave_one_out"]["value"], dataset, "LOO_expected_HM", judge + "All")
    check(everything["binned_js"]["value"], dataset, "binned_JS_distance_base_e", judge + "All")
    for ours, theirs in {"PA=1": "PA=1", "0.6<=PA<0.8": "0.60<=PA<1"}.items():
        entry = stratum(section, "agreement", ours)["machines"]["pandalm-7b"]["human_machine"]
        check(entry["krippendorff_alpha"]["value"], dataset, "kalpha_HwMw", judge + theirs)
        check(entry["percentage_agreement"]["value"], dataset, "pct_agreement_HwMw", judge + theirs)


@pytest.mark.parametrize("criterion", ["coherence", "relevance"])
def test_summeval_experts(criterion):
    path = GOLDEN / "summeval" / "experts_coherence_relevance.jsonl"
    section = analyze("summeval", path)["criteria"][criterion]
    dataset = f"SummEval-expert-{criterion}"
    everything = stratum(section, "all", "all")["human_human"]
    check(everything["krippendorff_alpha"]["value"], dataset, "kalpha_ordinal_HH", "All")
    for ours, theirs in {"PA=1": "PA=1", "0.6<=PA<0.8": "0.60<=PA<1", "PA<0.6": "PA<0.60"}.items():
        entry = stratum(section, "agreement", ours)
        check(entry["n_units"], dataset, "n_items", theirs)
        alpha = entry["human_human"]["krippendorff_alpha"]["value"]
        check(alpha, dataset, "kalpha_ordinal_HH", theirs)
    for number in (1, 2, 3):
        entry = stratum(section, "unique_labels", str(number))
        alpha = entry["human_human"]["krippendorff_alpha"]["value"]
        check(alpha, dataset, "kalpha_ordinal_HH", f"unique={number} (n={entry['n_units']})")


def test_llmbars_evaluators():
    """Agreement with the gold label in both orders, and how often both orders agree."""
    path = shared_path("data", "llmbar", "verdicts.csv")
    section = analyze("llmbar", path)["criteria"]["preference"]
    judges = stratum(section, "category", "Natural")["machines"]
    assert set(judges) == {"ChatGPT", "GPT-4"}
    for name, judge in judges.items():
        where = f"Natural {name}"
        accuracy = judge["single_human_machine"]["percentage_agreement"]["value"]
        same = judge["between_orders"]["leave_one_out"]["value"]
        check(accuracy, "LLMBar", "accuracy_avg_both_orders", where)
        check(same, "LLMBar", "position_consistency", where)
        # Of two verdicts that differ, one is correct.
        check(accuracy - (1 - same) / 2, "LLMBar", "accuracy_both_correct", where)
        position = section["bias"]["machines"][name]["position"]["value"]
        check(0.5 + position, "LLMBar", "first_position_rate", where)


def test_llmbars_evaluators_in_one_order():
    path = shared_path("data", "llmbar", "verdicts.csv")
    rows = [row for row in convert("llmbar", [path]).ratings if row.get("order") != "ba"]
    report = build_report(RatingTable.from_rows(rows), replicates=0).criteria["preference"]
    (natural,) = (one for one in report.strata if one.stratum == "Natural")
    for name, judge in natural.machines.items():
        kappa = judge.human_machine.cohen_kappa.value
        check(kappa, "LLMBar", "cohen_kappa_noswap_true", f"Natural {name}")


STRATA_OF_MTBENCH = {"all": "All", "PA=1": "PA=1", "0.6<=PA<0.8": "0.60<=PA<0.80"}
OF_PEOPLE = {"krippendorff_alpha": "kalpha_HH", "percentage_agreement": "pct_agreement_HH"}
OF_MACHINE = {
    "krippendorff_alpha": "kalpha_HwMw",
    "percentage_agreement": "pct_agree_HwMw",
    "randolph_kappa": "randolph_HwMw k=3",
    "binned_js": "binned_JS dist ln",
}


def mtbench_files() -> list[Path]:
    return sorted(shared_path("data", "mtbench").glob("*.csv"))


def mtbench_votes(pair: str) -> list[dict]:
    """Return the votes on two systems' answers that have three people and GPT-4."""
    of_unit: dict[str, list[dict]] = defaultdict(list)
    for row in convert("mtbench", mtbench_files()).ratings:
        if f"{row['system_a']}/{row['system_b']}" == pair:
            of_unit[row["unit"]].append(row)
    kinds = {unit: Counter(row["kind"] for row in rows) for unit, rows in of_unit.items()}
    kept = [unit for unit, n in kinds.items() if n["human"] >= 3 and n["machine"]]
    return [row for unit in kept for row in of_unit[unit]]


@pytest.mark.parametrize(
    "pair", ["alpaca-13b/gpt-3.5-turbo", "claude-v1/gpt-3.5-turbo", "gpt-3.5-turbo/gpt-4"]
)
def test_mt_benchs_people_and_gpt_4(pair):
    """Where people are split, the golden rows take the first majority, and ours takes all of them."""
    table = RatingTable.from_rows(mtbench_votes(pair))
    report = build_report(table, replicates=0).criteria["preference"]
    dataset, checked = f"MT-Bench {pair}", 0
    for one in report.strata:
        if one.stratifier not in {"all", "agreement"} or one.stratum not in STRATA_OF_MTBENCH:
            continue
        name = STRATA_OF_MTBENCH[one.stratum]
        assert one.n_units == int(golden()[dataset, "n_items", name])
        measured = {theirs: getattr(one.human_human, ours) for ours, theirs in OF_PEOPLE.items()}
        if not (pair == "gpt-3.5-turbo/gpt-4" and name == "All"):  # three items have no majority
            machine = one.machines["gpt-4"].human_machine
            measured |= {theirs: getattr(machine, ours) for ours, theirs in OF_MACHINE.items()}
        for statistic, estimate in measured.items():
            if not estimate.is_defined:  # all labels are the same, where the rows have 1
                assert (name, golden()[dataset, statistic, name]) == ("PA=1", "1.0000")
                continue
            check(estimate.value, dataset, statistic, name)
            checked += 1
    assert checked >= 14
