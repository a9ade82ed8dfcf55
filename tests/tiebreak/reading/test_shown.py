import json
import re
from dataclasses import replace
from functools import partial
from math import isnan, nan
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from lxml.html import fromstring

from annotation.imports.study_import import import_study
from metrics.models import ReportSnapshot
from metrics.results.question_pages import PAGES
from metrics.results.selectors import source_of, stored_report
from metrics.results.services import ensure_fresh, refresh_report
from recruitment.simulation.raters import Bot, simulate_raters
from studies.models import Membership, Study
from tests.metrics.licensing.studies import judged_study
from tests.metrics.studies import preferences, report_of
from tests.pages import codes_on
from tests.studies.factories import make_open_study
from tests.tiebreak.formats.bundles import make_bundle
from tiebreak.digits import in_digits, percent
from tiebreak.reading.figures.files import CONTENT_TYPES
from tiebreak.reading.figures.raters.bias import preferred_shares
from tiebreak.reading.figures.systems.systems import machine_win_rates_figure
from tiebreak.reading.findings import STRATA, best_first, stratum_name
from tiebreak.reading.shown import (
    BY_MACHINE,
    BY_STRENGTH,
    RULE,
    head_to_head,
    machine_biases,
    rater_measures,
    section_of,
)
from tiebreak.report import REPORT_VERSION, build_report
from tiebreak.stats import Estimate, RankSet
from tiebreak.stats.raters.strata import AGREEMENT_STRATA

pytestmark = pytest.mark.django_db


@pytest.fixture
def member(client) -> User:
    user = User.objects.create_user("member", password="p", is_staff=True)
    client.force_login(user)
    return user


@pytest.fixture
def study(tmp_path, member):
    study = import_study(path=make_bundle(tmp_path / "b", with_ratings=True)).study
    Membership.objects.create(study=study, user=member)
    return study


def pages(study) -> list[str]:
    return [
        reverse("metrics:dashboard", args=[study.pk]),
        reverse("metrics:numbers", args=[study.pk]),
        reverse("metrics:report", args=[study.pk]),
        reverse("metrics:results", args=[study.pk]),
        *(reverse("metrics:results-tab", args=[study.pk, tab.slug]) for tab in PAGES),
        *(
            reverse("metrics:figure", args=[study.pk, "preference", "perception", kind])
            for kind in CONTENT_TYPES
        ),
    ]


def test_it_works(client, study):
    page = client.get(reverse("metrics:results-tab", args=[study.pk, "raters"]))
    assert page.status_code == 200
    text = page.content.decode()
    for words in (
        "Krippendorff",
        "old",
        "new",
        "</span> ratings in the statistics",
        "seed 0",
    ):
        assert words in text
    assert "style=" not in text
    assert "simulated" not in text.lower()


def test_coefficients_of_agreement_stand_in_their_table_and_not_above_it_too(client, study):
    address = partial(reverse, "metrics:results-tab")
    above, table = (
        fromstring(client.get(address(args=[study.pk, slug])).text)
        for slug in ("raters", "coefficients")
    )
    columns = section_of("", stored_report(study.report_snapshots.get()).criteria["preference"])
    headings = table.xpath("//th[@scope='col']/text()")
    assert set(columns.agreement_columns) <= set(headings)
    leading = above.xpath("//dl[contains(@class, 'leading')]//dt/text()")
    assert leading
    assert not set(leading) & set(headings)


def test_a_measure_says_what_it_is_computed_from():
    rows = preferences([[1, -1, 1], [1, 1, 0]] * 12, side_a=("left", "right"))
    about = report_of(rows).criteria["preference"]
    measures = {row.name: row for row in rater_measures(about)}
    shares = preferred_shares(about.bias)
    biases = [measures.pop(name) for name in shares if name in measures]
    (position,) = biases
    assert position.numbers[0].text == percent(about.bias.position.value + 0.5)
    assert {row.cases for row in biases} == {"preferences"}
    assert max(row.n for row in biases) > about.n_units
    assert {row.cases for row in measures.values()} <= {"rating sets"}


def test_pairs_of_systems_are_on_the_page_with_their_counts_and_not_folded(client, study):
    about = stored_report(refresh_report(study=study)).criteria["preference"]
    ((name, counts),) = about.systems.counts.items()
    (pair,) = head_to_head(about)
    first, second = best_first(about.systems)
    assert pair.systems == (first, second)
    by_name = dict(zip(counts.systems, (counts.first, counts.second), strict=True))
    assert pair.preferred == (by_name[first], by_name[second])
    assert (pair.ties, pair.bad) == (counts.ties, counts.bad)
    rate = about.systems.pairs[name].value
    assert pair.rate.text == in_digits(rate if name.startswith(first) else 1 - rate)
    page = fromstring(client.get(reverse("metrics:results-tab", args=[study.pk, "systems"])).text)
    (row,) = page.xpath("//*[@aria-labelledby='head-to-head-heading']/ul/li")
    assert not row.xpath("ancestor::details")
    (left, ties, right), (rate, *_) = (
        [one.text_content().split() for one in line]
        for line in row.xpath("*[contains(@class, 'counted')]")
    )
    # Each end of the bar has its system and its count.
    assert (left, right) == ([first, str(pair.preferred[0])], [str(pair.preferred[1]), second])
    assert rate[0] == pair.rate.text
    assert ties[0] == str(pair.ties)


def test_a_part_has_a_heading_and_the_foot_one_line_behind_which_the_rest_is(client, study):
    refresh_report(study=study)
    page = fromstring(client.get(reverse("metrics:results-tab", args=[study.pk, "by-rater"])).text)
    assert page.xpath("//main//h1/text()") == ["Rater by rater"]
    (foot,) = page.xpath("//main//section[contains(@class, 'meta')]")
    line = foot.xpath("string(span[@class='n-used'])").split()
    (counted,) = foot.xpath("details//*[@class='counted']/text()")
    assert line[0] == counted
    assert foot.xpath("details//a[contains(@href, 'report')]")


def test_the_foot_says_how_many_ratings_are_of_people(client, tmp_path):
    study = judged_study(tmp_path)
    refresh_report(study=study)
    client.force_login(User.objects.create_superuser("root"))
    page = client.get(reverse("metrics:results-tab", args=[study.pk, "machines"]))
    said = fromstring(page.text).xpath("string(//span[@class='n-used'])").partition("(")[0]
    counted, rows = page.context["counted"], page.context["counted"].rows
    assert rows.people
    assert [int(one.replace(",", "")) for one in re.findall(r"\d[\d,]*(?= )", said)][:4] == [
        *(rows.counted, rows.people),
        *(counted.annotators, rows.machines),
    ]


def test_ranks_and_strengths_are_drawn_beside_their_numbers():
    about = report_of(preferences([[1, -1, 1], [1, 1, 0]] * 12)).criteria["preference"]
    rows = {row.name: row.numbers for row in section_of("preference", about).ranking.rows}
    ranks = [numbers for name, numbers in rows.items() if name.startswith("Rank set")]
    assert ranks
    drawn = [*ranks[0], *rows["Bradley–Terry strength"]]
    assert all(one.glyph for one in drawn if one.interval or one in ranks[0])


def test_the_table_of_systems_repeats_neither_a_row_nor_what_is_drawn():
    people = preferences([[1, -1, 1], [1, 1, 0]] * 12)
    judge = [row | {"rater": "judge", "kind": "machine"} for row in people[::3]]
    about = report_of([*people, *judge]).criteria["preference"]
    table = section_of("preference", about).ranking
    ranks, names = about.systems.bradley_terry_rank, [row.name for row in table.rows]
    assert BY_MACHINE.format(machine="judge") not in names
    assert machine_win_rates_figure(about).rows
    assert "Items" not in names
    same = {name: RankSet(int(one.low), int(one.high)) for name, one in ranks.items()}
    for sets, is_shown in ((same, False), (dict.fromkeys(ranks, RankSet(1, 9)), True)):
        systems = replace(about.systems, rank_sets=sets)
        shown = section_of("preference", replace(about, systems=systems)).ranking.rows
        assert (BY_STRENGTH in [row.name for row in shown]) is is_shown


@pytest.mark.parametrize(("items", "is_ranked"), [(3, False), (12, True)])
def test_no_system_has_a_rank_without_an_interval(items, is_ranked):
    """With an interval, the ranks are in the sets of ranks or a row of their own."""
    about = report_of(preferences([[1, 1, 0]] * items)).criteria["preference"]
    table = section_of("preference", about).ranking
    assert any(row.name.startswith("Rank") for row in table.rows) == is_ranked
    (note,) = [one for one in table.notes if one.startswith(BY_STRENGTH)]
    assert ("at least 10" in note) != is_ranked


@pytest.mark.parametrize(("label", "first"), [(-1, "a"), (1, "b")])
def test_the_system_that_ranks_first_is_the_first_of_its_pair(label, first):
    about = report_of(preferences([[label, label, -label]] * 12)).criteria["preference"]
    (pair,) = head_to_head(about)
    assert (pair.systems[0], pair.preferred) == (first, (24, 12))
    assert pair.rate.text == in_digits(2 / 3)


def test_biases_of_machine_raters_stand_with_the_machine_raters_and_not_with_people():
    people = preferences([[1, -1, 1], [1, 1, 0]] * 12, side_a=("left", "right"))
    judge = [row | {"rater": "judge", "kind": "machine"} for row in people[::3]]
    about = report_of([*people, *judge]).criteria["preference"]
    (row,) = machine_biases(about)
    bias = about.bias.machines["judge"]
    assert [n.text for n in row.numbers] == [
        in_digits(one.value) if one.is_defined else "–" for one in (bias.position, bias.length)
    ]
    assert not [measure for measure in rater_measures(about) if "judge" in measure.name]


@pytest.mark.parametrize(
    ("name", "value", "has_interval"),
    [
        ("longer", 1 - 1e-16, False),
        ("longer", 0.9, True),
        ("judge", 1.0, True),
        ("longer", nan, False),
    ],
)
def test_a_rule_that_always_does_what_is_measured_has_no_interval(name, value, has_interval):
    bias = Estimate(value, 0.87, 1.0, 60, reason="Undefined here." if isnan(value) else None)
    of_name = SimpleNamespace(position=bias, length=bias)
    about = SimpleNamespace(
        bias=SimpleNamespace(machines={name: of_name}), simple_raters=("longer",)
    )
    (row,) = machine_biases(about)
    assert {bool(one.interval) for one in row.numbers} == {has_interval}
    assert {RULE in one.reason for one in row.numbers} == {not (has_interval or isnan(value))}


def test_the_foot_of_a_page_says_only_what_all_its_intervals_share(client, study):
    report = stored_report(refresh_report(study=study))
    for page in PAGES:
        shown = client.get(reverse("metrics:results-tab", args=[study.pk, page.slug])).text
        foot = fromstring(shown).xpath("string(//*[contains(@class, 'meta')])")
        assert f"seed {report.seed}" in foot
        assert str(report.replicates) not in foot


def test_a_non_member_gets_no_page_of_a_study(client, study):
    non_member = User.objects.create_user("non-member", is_staff=True)
    refresh_report(study=study)
    client.force_login(non_member)
    assert {client.get(page).status_code for page in pages(study)} == {404}


def test_anonymous_visitors_are_sent_to_log_in(client, study):
    client.logout()
    assert {client.get(page).status_code for page in pages(study)} <= {302, 403}


def test_a_polling_part_of_a_logged_out_page_triggers_a_reload(client, study):
    client.logout()
    for name in ("numbers", "generate-select-jobs", "generate-select-results"):
        answer = client.get(
            reverse(f"metrics:{name}", args=[study.pk]), headers={"HX-Request": "true"}
        )
        assert (answer.status_code, answer["HX-Refresh"], answer.content) == (204, "true", b"")


def test_the_report_is_what_the_export_gives(client, study):
    client.get(pages(study)[0])
    shown = json.loads(client.get(reverse("metrics:report", args=[study.pk])).content)
    source = source_of(study)
    report = build_report(source.table, scales=source.scales, source=source.origin)
    assert shown["criteria"] == json.loads(json.dumps(report.as_json()["criteria"]))
    assert client.get(reverse("api:study-report", args=[study.pk])).json() == shown


def test_a_report_in_another_version_of_the_format_is_not_shown(client, study):
    refresh_report(study=study)
    ReportSnapshot.objects.update(report={"report_version": REPORT_VERSION - 1})
    assert client.get(pages(study)[3]).context["report"] is None
    assert client.get(reverse("metrics:report", args=[study.pk])).status_code == 404


def polling_fields(html: str) -> dict[str, str]:
    """Return the hidden fields that a page sends when it polls."""
    return dict(re.findall(r'<input type="hidden" name="(shown|statistics)" value="(.*?)"', html))


def test_an_unchanged_page_is_not_sent_again(client, study):
    client.get(pages(study)[0])
    shown = polling_fields(client.get(pages(study)[0]).content.decode())
    numbers = reverse("metrics:numbers", args=[study.pk])
    assert client.get(numbers, shown).status_code == 286
    Study.objects.update(status="paused")  # annotators who hold a place may finish it
    again = client.get(numbers, shown)
    assert again.status_code == 200
    assert client.get(
        numbers, polling_fields(again.content.decode()) | shown | {"shown": "x"}
    ).content
    assert client.get(numbers, shown | polling_fields(again.content.decode())).status_code == 204


def test_new_ratings_request_one_new_report(study, monkeypatch):
    requests = []
    monkeypatch.setattr(
        "metrics.tasks.refresh_report_task.apply_async", lambda args, queue: requests.append(*args)
    )
    for _ in range(3):
        ensure_fresh(study=study)
    assert requests == [study.pk]
    refresh_report(study=study)
    ensure_fresh(study=study)
    assert requests == [study.pk]


def test_without_a_broker_the_page_shows_the_problem(client, study, monkeypatch):
    from kombu.exceptions import OperationalError

    def refuse(**_: object) -> None:
        raise OperationalError("no broker")

    monkeypatch.setattr("metrics.tasks.refresh_report_task.apply_async", refuse)
    page = client.get(pages(study)[0])
    assert page.status_code == 200
    assert codes_on(page) == {"no_broker"}


def test_an_empty_study_shows_what_to_do(client, member):
    study = make_open_study(instances=1)
    Membership.objects.create(study=study, user=member)
    page = client.get(pages(study)[3])
    assert not page.context["criterion"]
    assert "data-empty" in page.content.decode()
    assert "hx-trigger" in page.content.decode()


@pytest.mark.thorough
def test_simulated_ratings_are_marked_on_every_page_that_shows_them(client, member):
    study = make_open_study(instances=4)
    Membership.objects.create(study=study, user=member)
    assert simulate_raters(study=study, bots=[Bot("a"), Bot("b")]) == 40
    tabs = [reverse("metrics:results-tab", args=[study.pk, tab.slug]) for tab in PAGES]
    for page in (pages(study)[0], *tabs):
        assert "simulated" in client.get(page).content.decode().lower(), page
    assert ReportSnapshot.objects.get().report["simulated"]


def test_a_figure_can_be_downloaded(client, study):
    refresh_report(study=study)
    figure = client.get(
        reverse("metrics:figure", args=[study.pk, "preference", "perception", "svg"])
    )
    assert figure["Content-Type"] == "image/svg+xml"
    assert "attachment" in figure["Content-Disposition"]
    text = figure.content.decode()
    assert text.startswith("<svg")
    assert "<title>" in text
    assert "style" not in text
    absent = reverse("metrics:figure", args=[study.pk, "preference", "consistency", "svg"])
    assert client.get(absent).status_code == 404


def test_the_page_takes_few_queries(client, study, django_assert_max_num_queries):
    client.get(pages(study)[3])
    with django_assert_max_num_queries(18):
        client.get(pages(study)[3])


@pytest.mark.parametrize(
    ("stratifier", "name", "words"),
    [
        ("all", "all", "all items"),
        ("agreement", "PA=1", "all give the same label"),
        ("agreement", "0.6<=PA<0.8", "60% to under 80% give the majority label"),
        ("agreement", "undefined", "fewer than two ratings"),
        ("unique_labels", "1", "one label"),
        ("unique_labels", "3", "3 different labels"),
        ("category", "PA=1", "PA=1"),
        ("category", "undefined", "no category"),
        ("separability", "0.0000<=separability<0.2500", "separability 0.00 to 0.25"),
        ("separability", "-0.7500<=separability<=1.0000", "separability −0.75 to 1.00"),
        ("separability", "0.1010<=separability<0.1020", "separability 0.1010 to 0.1020"),
        ("separability", "0.5000<=separability<=0.5000", "separability 0.50, all alike"),
        ("systems", "old vs new", "old vs new"),
    ],
)
def test_a_stratum_has_a_name_for_people(stratifier, name, words):
    assert stratum_name(stratifier, name) == words


def test_every_agreement_stratum_has_a_name_for_people():
    assert {name for of, name in STRATA if of == "agreement"} == set(AGREEMENT_STRATA)


def test_the_page_shows_names_for_people_and_the_report_names_for_programs(client, study):
    html = client.get(
        reverse("metrics:results-tab", args=[study.pk, "coefficients"])
    ).content.decode()
    html = html.split('id="numbers"')[1].split('class="filter"')[
        0
    ]  # addresses name strata as the report does
    assert STRATA["agreement", "PA=1"] in html
    assert "PA=1" not in html
    assert "&lt;=" not in html
    assert '"PA=1"' in client.get(reverse("metrics:report", args=[study.pk])).content.decode()


def test_a_reason_that_cells_of_a_table_share_stands_once_below_it():
    (about,) = report_of(preferences([[1, 1, 1], [1, -1, 1]] * 5)).criteria.values()
    for table in section_of("preference", about).tables:
        reasons = [n.reason for row in table.rows for n in row.numbers if n.text not in ("", "–")]
        long = [reason for reason in reasons if len(reason) > 3]
        assert len(long) == len({*long})
        assert all(reason in table.note for reason in reasons if reason.startswith("("))
    assert any("(a)" in table.note for table in section_of("preference", about).tables)
