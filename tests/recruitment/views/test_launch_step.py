"""The step Launch."""

import re
from decimal import Decimal

import lxml.html
import pytest
from django.urls import reverse

from recruitment.admission import OPEN_LINK
from recruitment.models import Channel
from recruitment.services.dry_runs import dry_runs_of
from recruitment.views.launch import LOCAL
from studies.models import Generation, Screening, Study
from studies.models.settings import FrozenSettings, fields_of
from tests.annotation.annotators import annotator
from tests.confirming import post_confirmed
from tests.pages import codes_on, levels_on
from tests.studies.design.test_step_pages import page_of
from tests.studies.factories import make_open_study, make_study

pytestmark = pytest.mark.django_db
FOLDED = ("note", "done")


def test_every_check_leads_to_the_step_where_it_is_fixed(client, ruth):
    study = make_study(instances=2, member=ruth, guidelines="", most_answers=1)
    client.post(reverse("recruitment:launch-action", args=[study.pk, "plan"]))
    study.criteria.all().delete()
    page = client.get(page_of("recruitment:launch", study))
    rows = {row.code: row for row in page.context["rows"]}
    assert rows["no_criteria"].url == rows["no_guidelines"].url == page_of("studies:task", study)
    assert rows["budget_too_small"].title == "Size & pay"
    states = [row.state for row in page.context["rows"]]
    assert states == sorted(states, key=["must", "should", "note", "done"].index)
    notes = {code for code, row in rows.items() if row.state == "note"}
    assert notes == {"quality", "analysis-plan", "recruit", "address"}
    # What a check has said of a step is not said again, and nothing is done where it has.
    assert not {"task", "size"} & rows.keys()
    assert (page.context["must"], page.context["opens"]) == (1, "")
    assert 'launch/open/"' not in page.content.decode()


def test_the_button_names_the_highest_cost_and_the_price_is_that_of_the_settings(client, study):
    paid = {"reward": "6.00", "currency": "EUR", "minutes_per_hit": 2, "hits_per_annotator": 4}
    Study.objects.update(budget="60.00", guidelines="Read both.", **paid)
    Screening.objects.create(study=study, qualification_units=2)
    study.channels.create(provider=OPEN_LINK)
    page = client.get(page_of("recruitment:launch", study))
    assert "failed_test" in {row.code for row in page.context["rows"]}
    Screening.objects.all().delete()
    page = client.get(page_of("recruitment:launch", study))
    cost = page.context["cost"]
    # 4 tasks, R = 3: three people, and one more at most.
    assert (cost.total, cost.maximum.total, cost.shares) == (Decimal(18), Decimal(24), (30, 40))
    (button,) = lxml.html.fromstring(page.content).xpath(
        "//form[contains(@action, '/open/')]/button"
    )
    assert (button.get("class"), "24.00 EUR" in button.text_content()) == ("primary", True)
    (finding,) = lxml.html.fromstring(page.content).xpath("//*[@id='launch-finding']")
    assert re.findall(r"[0-9.]+", finding.text_content()) == ["18.00", "24.00"]
    assert len(lxml.html.fromstring(page.content).find_class("primary")) == 1


def test_a_dry_run_is_a_check_that_is_made_with_its_button(client, study):
    page = client.get(page_of("recruitment:launch", study))
    form = next(f for f in lxml.html.fromstring(page.content).forms if "dry-runs" in f.action)
    client.post(form.action, dict(form.form_values()))
    assert study.dry_runs.count() == 1
    after = lxml.html.fromstring(client.get(page_of("recruitment:launch", study)).content)
    (row,) = after.xpath("//*[@data-code='dry-run']")
    assert row.get("data-severity") == "done"
    counted = client.get(page_of("recruitment:launch", study)).context["should"]
    found = {"code": "unfilled_places", "sentence": "3 places stayed empty."}
    dry_runs_of(study).update(result={"conclusions": [found]})
    page = client.get(page_of("recruitment:launch", study))
    (row,) = (one for one in page.context["rows"] if one.code == "dry-run")
    assert (row.state, row.sentence) == ("should", found["sentence"])
    assert page.context["should"] == counted + 1


def test_a_draft_without_texts_says_once_what_is_missing_and_shows_no_screen(client, ruth):
    for study, has_texts in (
        (make_study(instances=0, member=ruth), False),
        (make_study(instances=2, member=ruth), True),
    ):
        study.criteria.all().delete()
        page = client.get(page_of("recruitment:launch", study))
        said = {one.step.slug: one.status.sentence for one in page.context["frame"].missing}
        (row,) = (one for one in page.context["rows"] if one.code == "no_criteria")
        assert row.sentence == said["task"]
        html = lxml.html.fromstring(page.content)
        assert "criterion" not in html.xpath("string(//*[@id='cost'])")
        assert bool(html.xpath("//iframe[@name='preview']")) == has_texts


def test_what_is_left_to_do_is_listed_above_the_notes_and_what_is_done(client, study):
    page = client.get(page_of("recruitment:launch", study))
    (listed,) = lxml.html.fromstring(page.content).xpath("//section/ul[@class='launch-checks']")
    states = listed.xpath("./li/@data-severity")
    assert states == [*(row.state for row in page.context["rows"] if row.state != "note"), *FOLDED]
    assert states[0] not in FOLDED
    for state in FOLDED:
        (folded,) = listed.xpath(f"./li[@data-severity='{state}']/details[not(@open)]")
        rows = folded.xpath("./ul/li")
        assert {row.get("data-severity") for row in rows} == {state}
        titles = [row.xpath("string(.//strong)") for row in rows]
        assert len(titles) > 1
        lead = "Done:" if state == "done" else f"{len(titles)} notes:"
        assert folded.xpath("normalize-space(summary)") == f"{lead} {', '.join(titles)}"


def launch_rows(client, study) -> dict[str, lxml.html.HtmlElement]:
    page = lxml.html.fromstring(client.get(page_of("recruitment:launch", study)).content)
    return {row.get("data-code"): row for row in page.xpath("//ul[@class='launch-checks']/li")}


def test_a_check_says_its_first_sentence_whole_and_the_rest_opens_unless_it_must_be_done(
    client, study
):
    Study.objects.update(reward=Decimal(2), budget=Decimal(1), guidelines="")
    context = client.get(page_of("recruitment:launch", study)).context
    shown, opened = launch_rows(client, study), 0
    for row in context["rows"]:
        line, rest = (
            " ".join(shown[row.code].xpath(f"string({path})").split())
            for path in ("./details/summary/span | ./span", "./details/p[not(@class)]")
        )
        assert line.endswith((".", "?")), row.code
        assert f"{line} {rest}".rstrip().endswith(row.sentence)
        assert not (rest and row.state == "must")
        opened += bool(rest)
    assert opened
    assert "must" in {row.state for row in context["rows"]}


def test_all_that_can_be_done_about_checks_is_a_link_at_the_end_of_their_lines(client, study):
    Study.objects.update(guidelines="")
    rows = launch_rows(client, study)
    ends = {code: row.xpath("./*[last()][@class='acts']") for code, row in rows.items()}
    assert all(ends[code] for code in ("no_guidelines", "not_planned", "dry-run"))
    for code, row in rows.items():
        acts = row.xpath("./*[not(self::details)]/descendant-or-self::*[self::a or self::button]")
        assert acts == [act for end in ends[code] for act in end.xpath(".//a | .//button")]
        assert {act.get("class") for act in acts if act.tag == "button"} <= {"plain"}


@pytest.mark.parametrize("is_complete", [False, True])
def test_closing_is_a_link_beside_pausing_until_all_is_completed(client, ruth, is_complete):
    study = make_open_study(instances=1, member=ruth, comparisons_per_hit=1, ratings_per_hit=1)
    if is_complete:
        annotator(study).choose()
    page = lxml.html.fromstring(client.get(page_of("recruitment:launch", study)).content)
    act = {form.action.strip("/").split("/")[-1]: form for form in page.forms}
    looks = {name: act[name].xpath(".//button/@class") for name in ("pause", "close", "clone")}
    closing = "primary" if is_complete else "plain"
    assert looks == {"pause": [], "close": [closing], "clone": ["plain"]}


@pytest.mark.parametrize(("server", "state"), [("127.0.0.1", "should"), ("study.org", "note")])
def test_the_address_is_told_once_and_is_a_check_if_nobody_else_can_reach_it(
    client, study, settings, server, state
):
    settings.ALLOWED_HOSTS = ["*"]
    Channel.objects.create(study=study, provider=OPEN_LINK)
    launch = page_of("recruitment:launch", study)
    page = client.get(launch, headers={"host": server})
    (row,) = (one for one in page.context["rows"] if one.code == "address")
    assert (row.state, LOCAL in row.sentence) == (state, state == "should")
    html = page.content.decode()
    assert html.count(f"http://{server}/s/") == html.count("enter through") == 1
    post_confirmed(client, reverse("recruitment:launch-action", args=[study.pk, "open"]))
    opened = client.get(launch, headers={"host": server})
    html = opened.content.decode()
    assert html.count(f"http://{server}/s/") == html.count('label for="entry-link">Open link<') == 1
    codes = {one.code for one in opened.context["rows"]}
    assert ("address" in codes, "local" in codes) == (False, state == "should")
    assert "enter through" not in html
    Channel.objects.create(study=study, provider="invitation", settings={"people": "ann"})
    several = client.get(launch, headers={"host": server}).content.decode()
    assert several.count("Annotators can enter through Open link, ") == 1


def test_an_opened_study_reads_as_history_with_a_clone(client, study):
    post_confirmed(client, reverse("recruitment:launch-action", args=[study.pk, "open"]))
    page = client.get(page_of("recruitment:launch", study))
    assert page.context["frozen"]
    clone = reverse("recruitment:clone", args=[study.pk])
    assert clone in {form.action for form in lxml.html.fromstring(page.content).forms}
    client.post(clone)
    assert Study.objects.filter(status="draft").count() == 1


def test_a_study_is_planned_and_opened_on_the_page_after_a_confirmation(client, study):
    act = lambda name: reverse("recruitment:launch-action", args=[study.pk, name])  # noqa: E731
    page = client.post(act("plan"), follow=True)
    assert set(levels_on(page)) == {"success"}
    assert study.hits.count() == 4
    question = client.post(act("open"))
    study.refresh_from_db()
    assert (study.status, "question" in question.context) == ("draft", True)
    page = post_confirmed(client, act("open"))
    study.refresh_from_db()
    assert study.status == "open"
    assert page.redirect_chain[-1][0] == page_of("recruitment:launch", study)
    assert page.context["link"].endswith(reverse("recruitment:welcome", args=[study.pk]))


def test_one_button_plans_and_asks_to_open(client, study):
    open_ = reverse("recruitment:launch-action", args=[study.pk, "open"])
    page = client.get(page_of("recruitment:launch", study))
    assert page.context["plans_first"]
    # Beside the price is the button that opens; planning stands in the list.
    assert "plan" not in page.context["actions"]
    (plan,) = lxml.html.fromstring(page.content).xpath("//form[contains(@action, '/plan/')]")
    assert plan.xpath("ancestor::li/@data-code") == ["not_planned"]
    # The costs are of the tasks as they would be planned.
    assert (page.context["n_planned"], page.context["hits"]) == (0, 4)
    question = client.post(open_)
    assert not study.hits.exists()  # who cancels has changed nothing
    asked = question.context["question"]
    assert not asked.problems
    assert {4, 12} <= {int(n) for n in re.findall(r"\d+", asked.sentences[0])}
    post_confirmed(client, open_)
    study.refresh_from_db()
    assert study.status == "open"


def test_a_plan_that_the_design_has_outgrown_is_made_again_once_that_is_confirmed(client, study):
    client.post(reverse("recruitment:launch-action", args=[study.pk, "plan"]))
    open_ = reverse("recruitment:launch-action", args=[study.pk, "open"])
    token = client.post(open_).context["token"]
    Study.objects.update(ratings_per_hit=5)
    again = client.post(open_, {"confirmed": token})
    assert again.context["has_changed"]
    assert not again.context["question"].problems
    study.refresh_from_db()
    assert (study.status, study.places.count()) == ("draft", 4 * 3)
    client.post(open_, {"confirmed": again.context["token"]})
    study.refresh_from_db()
    assert (study.status, study.places.count()) == ("open", 4 * 5)


def test_all_that_the_confirmation_warns_of_is_on_launch_before_and_while_it_runs(client, study):
    """Also what only a plan shows: texts that are equal, and people too few for the tasks."""
    Study.objects.update(guidelines="", most_answers=1)
    Generation.objects.filter(instance__key="note-0").update(text="The same.")
    launch, open_ = page_of("recruitment:launch", study), "recruitment:launch-action"
    shown = {row.code for row in client.get(launch).context["rows"]}
    asked = client.post(reverse(open_, args=[study.pk, "open"])).context["question"]
    assert {"identical_texts", "budget_too_small", "no_guidelines"} <= {*asked.warnings} <= shown
    assert not study.hits.exists()
    post_confirmed(client, reverse(open_, args=[study.pk, "open"]))
    assert {*asked.warnings} <= {row.code for row in client.get(launch).context["rows"]}


@pytest.mark.parametrize("lacks", ["nothing", "texts", "task", "pay", "claim", "gold checks"])
def test_what_each_open_step_says_is_left_to_do_on_launch(client, study, lacks):
    sets = {"task": {"guidelines": ""}, "pay": {"reward": "1.00"}, "texts": {"dataset": None}}
    sets["claim"] = {"reward": "1.00", "hits_per_annotator": 2}
    Study.objects.update(**{"guidelines": "Read both.", "minutes_per_hit": 2} | sets.get(lacks, {}))
    if lacks == "gold checks":
        Screening.objects.create(study=study, check_rate=0.5)
    if lacks != "claim":
        study.channels.create(provider="panel")
    context = client.get(page_of("recruitment:launch", study)).context
    frame, rows = context["frame"], context["rows"]
    said = [shown.status.sentence for shown in frame.missing if shown.step.slug != "launch"]
    left = [row.sentence for row in rows if row.state in {"must", "should"}]
    assert all(any(sentence in row for row in left) for sentence in said)
    assert (len(said) > 0) == (frame.state == "unfinished draft") == (lacks != "nothing")


def test_what_cannot_be_planned_is_refused_with_the_reason(client, ruth):
    empty = make_study(instances=2, member=ruth)
    Generation.objects.all().delete()
    answer = client.post(reverse("recruitment:launch-action", args=[empty.pk, "open"]), follow=True)
    assert "nothing_to_plan" in codes_on(answer)


def test_the_confirmation_lists_everything_that_becomes_final(client, study):
    question = client.post(reverse("recruitment:launch-action", args=[study.pk, "open"]))
    asked = question.context["question"]
    frozen = fields_of(FrozenSettings).values()
    valued = [field for field in frozen if getattr(study, field.name) not in {None, ""}]
    assert {*asked.settings} == {str(field.verbose_name) for field in valued}
    codes = {getattr(study, field.name) for field in valued if field.choices} | {study.similarity}
    assert not codes & {*asked.settings.values()}
    final = " ".join(asked.final)
    assert not [one.scale for one in study.criteria.all() if f"({one.scale})" in final]
    assert {system.name for system in study.ordered_systems()} <= set(re.findall(r"[\w-]+", final))
    html = question.content.decode()
    assert html.count("<li>") >= 4 + len(asked.sentences)
    # Warnings come first, and the settings are folded.
    assert 0 < html.index('class="warned"') < html.index(asked.sentences[0][:20])
    assert html.index("<details><summary>") < html.index('class="settings-list"')
    client.post(reverse("recruitment:launch-action", args=[study.pk, "plan"]))
    post_confirmed(client, reverse("recruitment:launch-action", args=[study.pk, "open"]))
    client.post(reverse("recruitment:launch-action", args=[study.pk, "pause"]))
    again = client.post(reverse("recruitment:launch-action", args=[study.pk, "open"]))
    assert again.context["question"].final == ()


def test_an_action_that_does_not_exist_or_fit_is_refused(client, study):
    assert (
        client.post(reverse("recruitment:launch-action", args=[study.pk, "fly"])).status_code == 404
    )
    answer = client.post(
        reverse("recruitment:launch-action", args=[study.pk, "pause"]), follow=True
    )
    assert "wrong_state" in codes_on(answer)


@pytest.mark.parametrize("is_chosen", [False, True])
def test_no_page_names_a_channel_as_chosen_before_one_is(client, study, is_chosen):
    Study.objects.update(reward=Decimal(2), hits_per_annotator=2)
    if is_chosen:
        Channel.objects.create(study=study, provider=OPEN_LINK)
    page = client.get(page_of("recruitment:channels", study))
    assert page.context["by_default"] != is_chosen
    # What is open is said once: in the sentence, or in the list.
    assert page.text.count("data-open=") == 1
    assert ("It closes" in page.text) != is_chosen
    price = client.get(page_of("recruitment:cost-part", study)).content.decode()
    assert ("People at most by" in price) == is_chosen
