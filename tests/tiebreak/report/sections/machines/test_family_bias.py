"""Machine raters' preference for their own family in a report, in figures and by the command."""

import csv
import json

import pytest

from tests.metrics.studies import preferences
from tests.refusals import refused
from tests.tiebreak.formats.bundles import write_lines
from tests.tiebreak.report.test_sections import of
from tiebreak.cli import main
from tiebreak.formats import RatingTable
from tiebreak.reading.figures.of_section import figures_of_section
from tiebreak.report.build import build_section
from tiebreak.report.families import parsed_families, proposed_family
from tiebreak.report.sections.machines.family_bias import NO_FAMILIES, NO_FAMILY, NO_PAIR
from tiebreak.stats.machines.family_bias import NO_PEOPLE

NAME = "family_bias"
FAMILIES = {"a": "GPT", "b": "Llama", "judge": "GPT"}


def judged(label=lambda row, n: -1) -> list[dict]:
    """Return 24 instances of which annotators prefer a in half; the judge rates them in both orders."""
    rows = preferences([[-1, -1], [1, 1], [-1, 1], [0, 0]] * 6)
    ours = [row for row in rows if row["rater"] == "r0"]
    judge = [
        row | {"rater": "judge", "kind": "machine", "order": order, "label": label(row, n)}
        for n, row in enumerate(ours)
        for order in ("AB", "BA")
    ]
    return [*rows, *judge]


def section_of(rows: list[dict], families=FAMILIES) -> dict:
    found = of(rows, sections=[NAME], families=families)
    assert found.family_bias is not None, found.problems
    return found.family_bias


def test_the_judges_win_rate_minus_peoples_on_the_same_items():
    one = section_of(judged())["judge"]
    assert (one.machine.value, one.humans.value, one.difference.value) == (1, 0.5, 0.5)
    assert (one.family, one.own, one.others, one.n_units) == ("GPT", ("a",), ("b",), 24)
    assert one.difference.low > 0
    other = section_of(judged(), FAMILIES | {"judge": "Llama"})["judge"]
    assert (other.machine.value, other.difference.value) == (0, -0.5)
    tied = section_of(judged(lambda row, n: 0 if n % 2 else -1))["judge"]
    assert tied.machine.value == 0.75


def test_only_items_that_both_rated_count_and_the_side_of_the_family_does_not():
    rows = judged()
    swapped = [
        row | {"system_a": "b", "system_b": "a", "label": -row["label"]}
        if int(row["instance"][1:]) % 2 else row
        for row in rows
    ]  # fmt: skip
    assert section_of(swapped)["judge"].difference.value == 0.5
    unrated = [
        row for row in rows if row["rater"] == "judge" or row["instance"] != rows[0]["instance"]
    ]
    found = section_of(unrated)["judge"]
    assert (found.n_units, found.humans.n) == (23, 23)
    assert found.machine.value == 1
    judge_alone = [row for row in rows if row["rater"] == "judge"]
    people = [
        row | {"unit": f"{row['unit']}x", "instance": "x"} for row in rows if row["rater"] == "r0"
    ]
    assert section_of([*judge_alone, *people])["judge"].difference.reason == NO_PEOPLE


@pytest.mark.parametrize(
    ("families", "reason", "left_out"),
    [
        ({"a": "GPT", "b": "Llama"}, NO_FAMILY, 0),
        ({"a": "GPT", "judge": "GPT"}, NO_PAIR.format(family="GPT"), 24),
        (FAMILIES | {"b": "GPT"}, NO_PAIR.format(family="GPT"), 0),
        (FAMILIES | {"judge": "Claude"}, NO_PAIR.format(family="Claude"), 0),
    ],
)
def test_what_is_not_declared_or_not_compared_is_undefined_with_a_reason(
    families, reason, left_out
):
    one = section_of(judged(), families)["judge"]
    assert not one.difference.is_defined
    assert one.difference.reason == one.machine.reason == reason
    assert one.n_without_family == left_out
    [figure] = figures_of_section(NAME, {"judge": one})
    assert not figure.chart
    assert reason in figure.sentence
    assert (f" {left_out}." in figure.sentence) == bool(left_out)


def test_without_families_the_section_says_where_they_are_declared():
    assert section_of(judged(), {})["judge"].difference.reason == NO_FAMILIES
    alone = build_section(RatingTable.from_rows(judged()), NAME, families=FAMILIES)
    same = section_of(judged())["judge"].difference.as_json()
    assert alone.criteria["preference"]["judge"].difference.as_json() == same


def test_the_command_and_its_files_have_it(tmp_path):
    path = tmp_path / "ratings.jsonl"
    write_lines(path, judged())
    given = [f"--family={name}={family}" for name, family in FAMILIES.items()]
    files = (f"--out={tmp_path}/r.json", f"--html={tmp_path}/r.html", f"--figures={tmp_path}/f")
    assert not main(["analyze", str(path), f"--section={NAME}", *given, *files])
    report = json.loads((tmp_path / "r.json").read_text())
    found = report["criteria"]["preference"][NAME]["judge"]
    assert (found["difference"]["value"], found["family"]) == (0.5, "GPT")
    assert (
        "Preference of machine raters for texts of their own" in (tmp_path / "r.html").read_text()
    )
    [table] = (tmp_path / "f").rglob("*family-bias*.csv")
    rows = list(csv.DictReader(table.read_text(encoding="utf-8-sig").splitlines()))
    assert {(row["machine"], row["family"], row["items"]) for row in rows} == {
        ("judge", "GPT", "24")
    }
    assert [float(row["value"]) for row in rows] == [1, 0.5, 0.5]


@pytest.mark.parametrize(
    ("setting", "code"),
    [("gpt-4o", "bad_family"), ("| GPT", "bad_family"), ("a|X\na|Y", "repeated_name")],
)
def test_a_mistyped_setting_is_refused(setting, code):
    with refused(code):
        parsed_families(setting)


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("gpt-4o-2024-08-06", "GPT"),
        ("openai/o3-mini", "GPT"),
        ("meta-llama/Meta-Llama-3-8B", "Llama"),
        ("Qwen2.5-7B-Instruct", "Qwen"),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", ""),  # of two families: a person decides
        ("google/gemma-2-9b", "Gemma"),
        ("microsoft/phi-4", "Phi"),
        ("philosopher", ""),
        ("system-1", ""),
    ],
)
def test_a_name_proposes_a_family_or_none(model, family):
    assert proposed_family(model) == family
