"""Every coefficient of a machine rater by stratum, as the report has it."""

from dataclasses import fields

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.imports.study_import import import_study
from metrics.results import stratum_coefficients
from metrics.results.services import refresh_report
from metrics.results.stratum_coefficients import COEFFICIENTS, GROUPS, by_stratum
from studies.models import Membership
from tests.tiebreak.formats.bundles import make_bundle, ratings, write_lines
from tests.tiebreak.report.sections.machines.test_crossed_strata import SCALE, rows
from tests.tiebreak.report.test_sections import of
from tiebreak.digits import in_digits
from tiebreak.reading.figures.raters.agreement import STRATIFIERS
from tiebreak.reading.messages import NO_UNITS
from tiebreak.reading.shown import NAMES
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.strata import MachineAgreement
from tiebreak.stats import HumanMachine


@pytest.fixture(scope="module")
def about() -> CriterionSection:
    return of(rows(), scales=SCALE)


def numbers(about, coefficient):
    """Return the numbers of a coefficient by stratifier, stratum and column."""
    shown = by_stratum(about, "judge", coefficient)
    return {
        (table.title, row.name, column): number
        for table in shown.tables
        for row in table.rows
        for column, number in zip(shown.columns, row.numbers, strict=True)
    }


def test_every_coefficient_of_the_report_is_offered():
    assert {field.name for field in fields(HumanMachine)} == {*NAMES} < {*COEFFICIENTS}
    assert {field.name for field in fields(MachineAgreement)} < {*GROUPS}


@pytest.mark.parametrize(
    ("coefficient", "columns"),
    [
        ("krippendorff_alpha", 6),
        ("percentage_agreement", 6),
        ("randolph_kappa", 6),
        ("fleiss_kappa", 6),
        ("leave_one_out", 6),
        ("cohen_kappa", 3),
        ("binned_js", 3),
        ("spearman", 3),
        ("kendall", 3),
        ("macro_f1", 1),
    ],
)
def test_each_coefficient_has_what_it_compares(about, coefficient, columns):
    shown = by_stratum(about, "judge", coefficient)
    assert len(shown.columns) == columns
    assert {len(row.numbers) for table in shown.tables for row in table.rows} == {columns}
    assert [t.title for t in shown.tables] == [
        STRATIFIERS[name]
        for name in ("all", "agreement", "unique_labels", "separability", "systems")
    ]


def test_values_and_intervals_are_those_of_the_report(about):
    pair = next(s for s in about.strata if s.stratum == "a vs b")
    share = pair.machines["judge"].human_machine.percentage_agreement
    shown = numbers(about, "percentage_agreement")[
        STRATIFIERS["systems"], "a vs b", "Majority label"
    ]
    assert shown.text == in_digits(share.value) == "0.67"
    assert shown.interval == f"{in_digits(share.low)} to {in_digits(share.high)}"
    assert shown.glyph == ""


def test_strata_have_their_number_of_items(about):
    (systems,) = (t for t in by_stratum(about, "judge", "kendall").tables if "pair" in t.title)
    assert [(row.name, row.n, row.share) for row in systems.rows] == [
        ("a vs b", 30, "50%"),
        ("a vs c", 30, "50%"),
    ]


def test_what_is_undefined_has_its_reason_and_no_value(about):
    shown = numbers(about, "krippendorff_alpha")
    alone = shown[STRATIFIERS["all"], "all items", "Machine with itself"]
    report = about.all_units.machines["judge"].machine_machine.krippendorff_alpha
    assert alone.text == "–"
    assert report.reason
    assert report.reason in alone.reason
    empty = [one for one in shown.values() if one.reason == NO_UNITS]
    assert empty
    assert {one.text for one in empty} == {"–"}


def test_strata_by_agreement_are_said_to_describe(about):
    tables = by_stratum(about, "judge", "spearman").tables
    assert [bool(table.note) for table in tables] == [False, True, True, False, False]


def test_the_largest_of_many_strata_are_shown_and_the_others_counted(about, monkeypatch):
    monkeypatch.setattr(stratum_coefficients, "MAX_STRATA", 1)
    (table,) = (t for t in by_stratum(about, "judge", "spearman").tables if "pair" in t.title)
    assert [row.name for row in table.rows] == ["a vs b"]
    assert "1" in table.note


@pytest.fixture
def study(tmp_path):
    bundle = make_bundle(tmp_path / "b", with_ratings=True)
    every = list(ratings())
    judged = [
        row | {"rater": "j & <k>", "kind": "machine"} for row in every if row["rater"] == "r0"
    ]
    write_lines(bundle / "ratings.jsonl", every + judged)
    study = import_study(path=bundle).study
    refresh_report(study=study)
    return study


def address(study, criterion="preference", **query):
    return reverse(
        "metrics:coefficients-by-stratum", args=[study.pk, criterion], query=query or None
    )


@pytest.mark.django_db
def test_the_page_of_machine_raters_leads_to_them(study, admin_client):
    text = admin_client.get(reverse("metrics:results-tab", args=[study.pk, "each-machine"])).content
    assert f"{address(study)}?machine=j%20%26%20%3Ck%3E".encode() in text


@pytest.mark.sampled(2)
@pytest.mark.django_db
@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_a_coefficient_is_a_page_or_a_part_of_one(study, admin_client, coefficient):
    asked = address(study, machine="j & <k>", coefficient=coefficient)
    whole, part = admin_client.get(asked), admin_client.get(asked, headers={"HX-Request": "true"})
    for answer in (whole, part):
        assert answer.context["shown"].coefficient == coefficient
        assert b"j &amp; &lt;k&gt; by stratum" in answer.content
    assert (b"</html>" in whole.content, b"</html>" in part.content) == (True, False)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "query", [{"machine": "r0"}, {"coefficient": "accuracy"}, {"criterion": "other"}]
)
def test_what_the_report_does_not_have_is_not_found(study, admin_client, query):
    assert admin_client.get(address(study, **query)).status_code == 404


@pytest.mark.django_db
def test_an_unknown_part_is_refused(study, admin_client):
    assert admin_client.get(address(study, stratum="no such")).status_code == 400


@pytest.mark.django_db
def test_strangers_find_nothing_and_few_statements_are_needed(
    study, client, django_assert_max_num_queries
):
    user = User.objects.create_user("vera", is_staff=True)
    client.force_login(user)
    assert client.get(address(study)).status_code == 404
    Membership.objects.create(study=study, user=user, role="viewer")
    with django_assert_max_num_queries(12):
        assert client.get(address(study)).status_code == 200
