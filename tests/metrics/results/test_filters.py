"""Results, figures and report of a part of the ratings."""

import csv
import io
import json
import pickle
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from urllib.parse import parse_qsl, urlencode

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.core.cache import caches
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import QuerySet
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from lxml.html import fromstring

from annotation.counts import count_ratings
from annotation.filters import EVERYTHING, NO_FAILED_CHECK, Filter, ratings_in
from annotation.imports.study_import import import_study
from annotation.models import Participation, Rater, Rating
from annotation.participant_evidence import Sign
from metrics.messages import EMPTY_PART, OF_A_PART, OUTCOME_HIDDEN
from metrics.models import ReportSnapshot
from metrics.results import question_pages, services
from metrics.results.filters import CLASSES, NAMES, OF_ITEMS
from metrics.results.question_pages import PAGES, Shown
from metrics.results.selectors import source_of, stored_report
from metrics.results.services import MAX_PARTS, ensure_fresh, refresh_report, without_outcome
from metrics.tasks import refresh_report_task
from studies.models import Study
from tests.tiebreak.formats.bundles import make_bundle, write_lines
from tiebreak.reading.charts.chart import key_in
from tiebreak.reading.findings import stratum_name
from tiebreak.report.build import build_report, report_from

pytestmark = pytest.mark.django_db
# More than the ten that an interval needs.
INSTANCES = 24
NUMBER = re.compile(r"\d\.\d\d")


BUILT = partial(report_from, replicates=200)


@pytest.fixture(scope="module")
def stored(module_db, tmp_path_factory) -> str:
    """In the category "new", everybody prefers the system "new" on nearly all instances."""
    bundle = make_bundle(tmp_path_factory.mktemp("filters") / "b")
    instances = [{"id": f"i{i}", "category": "new" if i % 2 else "mixed"} for i in range(INSTANCES)]
    write_lines(bundle / "instances.jsonl", instances)
    rows = [
        {
            "unit": f"i{i}/{k}",
            "instance": f"i{i}",
            "rater": f"r{r}",
            "label": 1 if i % 2 and (i + k) % 11 else (i + k + r) % 3 - 1,
            "system_a": "old",
            "system_b": "new",
            "sample_index": k,
            "duration_ms": 1000 * (1 + r),
            "separability": i / INSTANCES,
            "side_a": "left" if (i + k + r) % 2 else "right",
            "created_at": f"2026-03-{1 + i % 2:02d}T12:00:00Z",
        }
        for i in range(INSTANCES)
        for k in range(2)
        for r in range(3)
    ]
    machine = [{**row, "rater": "judge", "kind": "machine"} for row in rows if row["rater"] == "r0"]
    write_lines(bundle / "ratings.jsonl", rows + machine)
    study = import_study(path=bundle).study
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(services, "report_from", BUILT)
        refresh_report(study=study)
    return study.pk


@pytest.fixture
def study(db, stored, monkeypatch) -> Study:
    monkeypatch.setattr(services, "report_from", BUILT)
    return Study.objects.get(pk=stored)


@pytest.fixture
def client(study) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("ruth"))
    return client


def results(study: Study, slug: str = PAGES[0].slug) -> str:
    return reverse("metrics:results-tab", args=[study.pk, slug])


def text_of(page) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.content.decode()))


@pytest.mark.thorough
@pytest.mark.parametrize("slug", [tab.slug for tab in PAGES])
def test_each_page_of_a_part_has_its_numbers_and_says_so(client, study, slug):
    address = results(study, slug)
    page = client.get(address, {"category": "new"})
    assert page.context["report"].source.part == {"category": "new"}
    assert page.context["report"].source.n_used == INSTANCES * 4
    text = text_of(page)
    assert OF_A_PART in text
    assert (
        "Only category new. This part has 24 items, 72 ratings of 3 annotators, and 24 ratings of machine raters."
        in text
    )
    whole = client.get(address)
    assert whole.context["report"].source.part is None
    assert OF_A_PART not in text_of(whole)


# Figures whose headings say only what they show.
WITHOUT_FINDINGS = {
    "How often machine raters prefer the text shown first, by prompt and criterion",
    "Bradley–Terry strengths",
    "Differences of two systems",
    "Elo ratings, plain and weighted by separability",
    "Speed by task",
    "Win-or-tie rates and win rates",
    "Win rates by annotators and by each machine rater alone",
    "Width of the interval by number of ratings",
    "Win rates of each system against each other",
    "Win rates of pairs and those that one order implies",
    "Preference strength by separability",
    "Planned repeats",
    "Answers of annotators by the most frequent answer of the others",
    "Annotators in the model of Dawid and Skene",
}


@pytest.mark.thorough
def test_a_part_states_no_finding_on_any_figure(client, study):
    for address in (results(study, tab.slug) for tab in PAGES):
        whole = {f.name: f for f in client.get(address).context["figures"] or ()}
        part = {f.name: f for f in client.get(address, {"category": "new"}).context["figures"]}
        for name, figure in part.items():
            if not figure.is_of_ratings:
                assert figure == whole[name]
                continue
            title = figure.finding.removesuffix(": category new")
            assert title != figure.finding
            stated = whole[name].finding
            is_neutral = title in WITHOUT_FINDINGS or "judge" in title or "Agreement of " in title
            assert (title == stated) == is_neutral, (title, stated)
            assert stated == title or stated not in figure.chart.file()
            if figure.chart:
                assert figure.finding in figure.chart.file()
    findings = client.get(results(study, "systems")).context["figures"][0]
    assert findings.finding.startswith("new wins more often than it loses: win rate ")


def test_a_class_of_items_leads_to_the_part_that_the_form_would_choose(client, study):
    """Links of the raters' strata, of the machines' kinds of items and of the pairs of systems."""
    found = {}
    for slug in ("raters", "machines", "coefficients"):
        page = fromstring(client.get(results(study, slug)).text)
        links = page.xpath("//a[@title='only these items']")
        found |= {link.get("href"): link.text_content() for link in links}
    asked = [dict(parse_qsl(address.removeprefix("?"))) for address in found]
    about = stored_report(refresh_report(study=study)).criteria["preference"]
    here = {(s.stratifier, s.stratum): s.n_units for s in about.strata}
    assert {"criterion": "preference", "category": "new"} in asked
    assert not any("pair" in query for query in asked)  # all items are of the one pair
    assert any("separability" in query for query in asked)
    assert any("stratum" in query for query in asked)
    for query in asked:
        (name,) = query.keys() - {"criterion"}
        kind = CLASSES[name]
        part = stored_report(refresh_report(study=study, chosen=Filter(**{name: query[name]})))
        assert part.criteria["preference"].n_units == here[kind, query[name]]
        shown = client.get(results(study, "raters"), query)
        words = stratum_name(kind, query[name])
        words = f"{NAMES[name]} {words}".strip()
        assert [chip.words for chip in shown.context["chips"]] == [words]
        again = fromstring(shown.text).xpath("//*[contains(@class, 'chart')]//a/@href")
        assert all(urlencode({name: query[name]}) in address for address in again)


@pytest.mark.parametrize("slug", [tab.slug for tab in PAGES])
def test_wherever_a_table_names_a_class_of_items_it_leads_to_them(client, study, slug):
    """A class that has all items, or none, is named without a link."""
    about = stored_report(refresh_report(study=study)).criteria["preference"]
    named = {stratum_name(s.stratifier, s.stratum): s for s in about.strata}
    names = {name: s for name, s in named.items() if s.stratifier in OF_ITEMS}
    del names["new"]  # which is also a system, and a scope
    page = fromstring(client.get(results(study, slug)).text)
    for cell in page.xpath("//table//th | //table//td"):
        stratum = names.get(re.sub(r" \(\d+%\)$", "", cell.text_content().strip()))
        if stratum is not None:
            is_part = 0 < stratum.n_units < about.n_units
            assert bool(cell.xpath("./a[@title='only these items']")) == is_part, (
                cell.text_content()
            )


@pytest.mark.parametrize("query", [{"category": "mixed"}, {"separability": "0"}])
def test_a_part_has_the_ranges_of_separability_of_the_whole(study, query):
    def bands(chosen=EVERYTHING) -> dict[str, int]:
        about = stored_report(refresh_report(study=study, chosen=chosen)).criteria["preference"]
        assert [one.low for one in about.rating_sets.by_separability] == lows
        return {s.stratum: s.n_units for s in about.strata if s.stratifier == "separability"}

    whole = stored_report(refresh_report(study=study)).criteria["preference"]
    lows = [one.low for one in whole.rating_sets.by_separability]
    first = next(iter(bands()))
    chosen = Filter(**(query if "category" in query else {"separability": first}))
    assert [*bands(chosen)] == [*bands()]
    in_part = [n for name, n in bands(chosen).items() if "category" in query or name != first]
    assert all(in_part) if "category" in query else not any(in_part)


def test_names_of_classes_keep_their_class_in_the_cache(study):
    name = pickle.loads(pickle.dumps(stratum_name("category", "new").noted("50%")))
    assert (name, key_in(name)) == ("new (50%)", ("category", "new"))


def test_gold_checks_beside_a_part_are_said_to_be_of_the_whole_study(client, study):
    for query, is_said in (({}, False), ({"category": "new"}, True)):
        page = client.get(results(study, "by-rater"), query)
        assert ("data-of-whole" in page.text) == is_said


@pytest.fixture
def no_kept_annotators() -> Iterator[None]:
    """What pages keep of annotators is neither of another test nor left to one."""
    caches["annotators"].clear()
    yield
    caches["annotators"].clear()


@pytest.mark.usefixtures("no_kept_annotators")
def test_what_is_of_the_whole_study_is_said_wherever_a_part_has_it(client, study, monkeypatch):
    sign = Sign("agreement", 0.58, 40, 0.81, is_unusual=True)
    raters = [
        Participation.objects.create(study=study, rater=rater).pk
        for rater in Rater.objects.filter(kind="human")
    ]
    flagged = {key: [sign] for key in raters}
    monkeypatch.setattr(question_pages, "worth_a_look", lambda people: flagged)
    for query, n in (({}, 0), ({"category": "new"}, len(raters))):
        page = fromstring(client.get(results(study, "by-rater"), query).text)
        assert len(page.xpath("//*[@data-unusual]")) == len(raters)
        assert len(page.xpath("//*[@data-unusual]/*[@data-of-whole]")) == n


def test_a_part_counts_its_simulated_ratings_as_the_whole_study_does(client, study):
    """Of the annotators of the part, one is a bot."""
    rater = Rater.objects.filter(kind="human").first()
    QuerySet(Rating).filter(rater=rater).update(simulated=True)
    for chosen in (EVERYTHING, Filter(category="new")):
        refresh_report(study=study, chosen=chosen)
        page = client.get(results(study), chosen.values)
        counts = count_ratings(ratings_in(study, chosen)).rows
        assert 0 < counts.simulated < counts.people
        assert f"{counts.simulated} simulated" in page.text


def test_data_and_report_says_what_a_filter_applies_to_and_its_ratings_are_of_the_part(
    client, study
):
    chosen = {"category": "new"}
    page = client.get(reverse("metrics:data-and-report", args=[study.pk]), chosen)
    shown = fromstring(page.text)
    assert shown.xpath("//*[@data-of-part]")
    assert shown.xpath("//p[@class='chips']/a")
    for name in ("ratings-csv", "report"):
        (_link, *_) = shown.xpath(
            f"//a[@href='{reverse(f'metrics:{name}', args=[study.pk])}?category=new']"
        )
    file = client.get(reverse("metrics:ratings-csv", args=[study.pk]), chosen)
    rows = list(csv.DictReader(io.StringIO(file.getvalue().decode("utf-8-sig"))))
    assert len(rows) == ratings_in(study, Filter(**chosen)).in_statistics().count()
    assert {row["category"] for row in rows} == {"new"}
    refused = client.get(reverse("metrics:ratings-csv", args=[study.pk]), {"category": "none"})
    assert refused.status_code == 400
    whole = client.get(reverse("metrics:data-and-report", args=[study.pk]))
    assert not fromstring(whole.text).xpath("//*[@data-of-part]")


def test_numbers_of_a_part_keep_their_intervals(client, study):
    part = stored_report(refresh_report(study=study, chosen=Filter(category="new")))
    source = source_of(study, Filter(category="new"))
    expected = build_report(source.table, scales=source.scales, order=source.order, replicates=200)
    rate = part.criteria["preference"].systems.win_rate["new"]
    other = expected.criteria["preference"].systems.win_rate["new"]
    assert (rate.value, rate.low, rate.high) == (other.value, other.low, other.high)
    assert rate.low > 0.5


def test_a_part_that_is_too_small_says_why_and_shows_no_zeros(client, study):
    client.get(results(study))
    chosen = {"category": "new", "stratum": "PA<0.6"}
    page = client.get(results(study, "systems"), chosen)
    (rates,) = (f for f in page.context["figures"] if f.name == "win-rates")
    assert all(row[rates.columns.index("low")] is None for row in rates.rows)
    assert {row[rates.columns.index("reason")] for row in rates.rows} == {rates.sentence} != {""}


def test_a_part_without_ratings_is_named_as_empty(client, study):
    page = client.get(results(study, "bias"), {"since": "2030-01-01"})
    assert page.status_code == 200
    assert EMPTY_PART in text_of(page)
    assert not NUMBER.search(fromstring(page.text).get_element_by_id("statistics").text_content())


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ({"category": "old"}, "“old” is not a category"),
        ({"metadata": "year:1"}, "“year:1” is not a value"),
        ({"pair": "new vs old"}, "“new vs old” is not a pair"),
        ({"stratum": "PA>2"}, "“PA>2” is not a stratum"),
        ({"separability": "0.1"}, "“0.1” is not a range"),
        ({"raters": "channel:mars"}, "“channel:mars” is not a group"),
        ({"version": "99"}, "“99” is not a version"),
        ({"version": "one"}, "“one” is not a version"),
        ({"since": "yesterday"}, "Write the day"),
        ({"until": "2026-02-30"}, "Write the day"),
        ({"since": "2026-03-02", "until": "2026-03-01"}, "The first day is after"),
    ],
)
def test_a_wrong_value_is_refused_with_a_sentence_everywhere(client, study, query, problem):
    files = [
        reverse("metrics:report", args=[study.pk]),
        reverse("metrics:figure", args=[study.pk, "preference", "agreement", "csv"]),
    ]
    for address in (results(study), results(study, "items"), *files):
        page = client.get(address, query)
        assert page.status_code == 400
        assert problem in page.content.decode().replace("&gt;", ">")
        assert "n-used" not in page.content.decode()
        # It would show all ratings beside the filter that it refused.
        assert reverse("metrics:numbers", args=[study.pk]) not in page.content.decode()
    polled = client.get(reverse("metrics:numbers", args=[study.pk]), query)
    assert polled.status_code == 286
    assert ReportSnapshot.objects.count() == 1


def test_links_and_polls_keep_the_part(client, study):
    page = client.get(results(study, "systems"), {"category": "new", "criterion": "preference"})
    html = page.content.decode()
    for tab in PAGES:
        if tab.part_of:
            continue
        assert f"{results(study, tab.slug)}?criterion=preference&amp;category=new" in html
    assert f"{reverse('metrics:numbers', args=[study.pk])}?category=new" in html
    assert "win-rates.svg?category=new" in html
    assert f"{reverse('metrics:report', args=[study.pk])}?category=new" in html
    html = client.get(results(study, "items"), {"category": "new"}).content.decode()
    assert '<input type="hidden" name="category" value="new">' in html
    assert "criterion=preference&amp;category=new&amp;search=&amp;page_number=2" in html


def test_each_chip_removes_its_filter(client, study):
    query = {"criterion": "preference", "category": "new", "until": "2026-03-09"}
    chips = client.get(results(study), query).context["chips"]
    assert [(chip.words, chip.without) for chip in chips] == [
        ("category new", "criterion=preference&until=2026-03-09"),
        ("until 2026-03-09", "criterion=preference&category=new"),
    ]


def test_a_sent_form_leads_to_an_address_without_empty_values(client, study):
    page = client.get(results(study), {"criterion": "preference", "category": "new", "pair": ""})
    assert page.status_code == 302
    assert page["Location"] == f"{results(study)}?criterion=preference&category=new"


def test_items_and_raters_follow_the_filter(client, study):
    units = client.get(results(study, "items"), {"category": "mixed"}).context["page"]
    assert units.paginator.count == INSTANCES
    assert {int(item.unit[1:].partition("/")[0]) % 2 for item in units} == {0}
    search = {"category": "mixed", "search": "i1"}  # i1 and i10 to i19
    matches = client.get(results(study, "items"), search).context["page"]
    assert {item.unit.partition("/")[0] for item in matches} == {"i10", "i12", "i14", "i16", "i18"}
    figure, *_ = client.get(results(study, "by-rater"), {"category": "mixed"}).context["figures"]
    column = figure.columns.index("ratings")
    assert {row[column] for row in figure.rows} <= {INSTANCES}


def test_files_of_a_figure_are_of_the_part(client, study):
    def file(kind: str, **query: str) -> bytes:
        path = reverse("metrics:figure", args=[study.pk, "preference", "win-rates", kind])
        return client.get(path, query).content

    rows = [*csv.DictReader(io.StringIO(file("csv", category="new").decode("utf-8-sig")))]
    assert {row["part"] for row in rows} == {"category new"}
    assert {row["n"] for row in rows} == {"24"}
    assert "part" not in file("csv").decode().splitlines()[0]
    assert b"Win rates: category new" in file("svg", category="new")
    assert b"wins more often" not in file("svg", category="new")
    for kind in ("pdf", "png"):
        assert file(kind, category="new") != file(kind)


def test_the_report_for_programs_names_its_part(client, study):
    address = reverse("metrics:report", args=[study.pk])
    part = client.get(address, {"category": "new", "until": "2026-03-09"}).json()
    assert part["source"]["part"] == {"category": "new", "until": "2026-03-09"}
    assert "part" not in client.get(address).json()["source"]


def test_a_part_is_built_once_and_again_when_ratings_change(client, study, monkeypatch):
    requests = []
    monkeypatch.setattr(services, "enqueue", lambda *arguments: requests.append(arguments))
    chosen = Filter(category="new")
    address = results(study, "raters")
    assert "The statistics are being computed" in text_of(client.get(address, {"category": "new"}))
    client.get(address, {"category": "new"})
    task = ("metrics.tasks.refresh_report_task", study.pk, chosen.digest)
    assert requests == [task]
    refresh_report_task(study.pk, chosen.digest)
    page = client.get(address, {"category": "new"})
    assert page.context["report"].source.n_used == INSTANCES * 4
    assert requests == [task]
    study.criteria.update(scale="preference:5")
    client.get(address, {"category": "new"})
    assert requests[1:] == [("metrics.tasks.refresh_report_task", study.pk), task]


def test_a_page_that_does_not_follow_ratings_still_waits_for_its_report(client, study, monkeypatch):
    monkeypatch.setattr(services, "enqueue", lambda *_: None)
    html = client.get(results(study, "items"), {"category": "new"}).content.decode()
    poll = f"{reverse('metrics:numbers', args=[study.pk])}?category=new"
    assert html.count(f'hx-get="{poll}"') == 1
    refresh_report(study=study, chosen=Filter(category="new"))
    html = client.get(results(study, "items"), {"category": "new"}).content.decode()
    assert "hx-get" not in html


def test_a_filter_that_is_asked_before_the_first_report_waits_for_it(client, study, monkeypatch):
    ReportSnapshot.objects.all().delete()
    monkeypatch.setattr(services, "enqueue", lambda *_: None)
    page = client.get(results(study), {"category": "new"})
    assert page.status_code == 200
    assert "The statistics are being computed" in text_of(page)
    refresh_report(study=study)
    refresh_report(study=study, chosen=Filter(category="new"))
    polled = client.get(reverse("metrics:numbers", args=[study.pk]), {"category": "new"})
    assert OF_A_PART in text_of(polled)


def test_only_the_newest_parts_are_kept(study):
    for day in range(1, MAX_PARTS + 6):
        ensure_fresh(study=study, chosen=Filter(version=day))
    kept = ReportSnapshot.objects.exclude(digest="").order_by("pk").values_list("part", flat=True)
    assert [part["version"] for part in kept] == [str(day) for day in range(6, MAX_PARTS + 6)]
    assert ReportSnapshot.objects.filter(digest="").count() == 1


def test_a_part_that_was_forgotten_is_not_built(study):
    made = ReportSnapshot.objects.get().made_at
    refresh_report_task(study.pk, Filter(category="new").digest)
    assert ReportSnapshot.objects.get().made_at == made


def test_the_settled_count_belongs_to_the_whole_study(study, monkeypatch):
    refresh_report(study=study, chosen=Filter(category="new"))
    monkeypatch.setattr(services, "UNSETTLED", 5)
    monkeypatch.setattr(services, "STRIDE", 8)
    before = services.watermark(study)
    whole, part = (
        ReportSnapshot.objects.get(digest=d) for d in ("", Filter(category="new").digest)
    )
    assert whole.settled_rows
    assert not part.settled_rows
    assert services.watermark(study) == before == part.watermark


def test_people_chosen_by_their_checks_have_no_outcome(study):
    report = stored_report(refresh_report(study=study))
    section = without_outcome(report).criteria["preference"]
    stored = json.dumps(without_outcome(report).as_json())
    named = replace(report.criteria["preference"], main_machine="m", simple_raters=("m",))
    kept = without_outcome(replace(report, criteria={"preference": named})).criteria["preference"]
    assert (kept.main_machine, kept.simple_raters) == ("m", ("m",))
    assert kept.problems == section.problems
    assert (section.systems, section.rating_sets, section.votes) == (None, None, {})
    assert section.problems["systems"] == OUTCOME_HIDDEN
    assert not any(rater.votes or rater.confusion for rater in section.raters.values())
    for word in ("win_rate", "preference_strength", "elo", "bradley_terry", "prior"):
        assert word not in stored
    assert section.all_units.human_human.krippendorff_alpha.is_defined
    for tab in PAGES:
        shown = Shown(study, "preference", section, EVERYTHING, {}, {}, AnonymousUser())
        for figure in tab.figures(shown):
            if figure.name in ("win-rates", "set-shares", "perception", "confusion", "dawid-skene"):
                assert figure.sentence == OUTCOME_HIDDEN


def test_the_outcome_is_hidden_when_checks_choose(study, monkeypatch):
    monkeypatch.setattr("annotation.filters.check_records", lambda _: {})
    report = stored_report(refresh_report(study=study, chosen=Filter(raters=NO_FAILED_CHECK)))
    assert report.criteria["preference"].systems is None


def test_a_part_costs_one_more_statement(client, study):
    def statements(**query: str) -> int:
        client.get(results(study, "systems"), query)
        with CaptureQueriesContext(connection) as queries:
            client.get(results(study, "systems"), query)
        return len(queries)

    assert statements(category="new") <= statements() + 1 <= 12


def test_hostile_names_stay_text(client, study):
    nasty = '"><script>alert(1)</script>'
    study.units.first().instance.dataset.instances.filter(key="i0").update(category=nasty)
    refresh_report(study=study)
    page = client.get(results(study, "systems"), {"category": nasty})
    assert page.context["part"].name == f"category {nasty}"
    assert "<script>alert" not in page.content.decode()
    assert client.get(results(study, "systems"), {"since": nasty}).status_code == 400


def test_the_command_writes_the_report_of_a_part(study, tmp_path):
    out = tmp_path / "report.json"
    options = {"out": out, "replicates": 0}
    call_command("analyze", study.pk, filter="category=new&until=2026-03-09", **options)
    report = json.loads(out.read_text())
    assert report["source"]["part"] == {"category": "new", "until": "2026-03-09"}
    assert report["source"]["n_used"] == INSTANCES * 4
    study.units.create(key="gold", role="gold")  # so that there is a filter by gold checks
    wrong = ("category=old", "kategorie=new", f"raters={NO_FAILED_CHECK}")
    for query in wrong:
        with pytest.raises(CommandError):
            call_command("analyze", study.pk, filter=query, **options)
    ratings = tmp_path / "b" / "ratings.jsonl"
    with pytest.raises(CommandError):
        call_command("analyze", str(ratings), filter="category=new", **options)
