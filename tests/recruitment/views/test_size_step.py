"""The steps Size & pay and Recruit."""

import re
from decimal import Decimal
from typing import Any

import lxml.html
import pytest
from django.urls import reverse

from recruitment.launch.analysis_plan import FIELD_OF
from recruitment.models import Channel
from recruitment.pay import Collection
from studies.design.protocols import create_from_protocol, protocols
from studies.models import Screening, Study
from tests.pages import codes_on, send, send_step
from tests.studies.design.test_step_pages import page_of
from tests.studies.factories import make_open_study

pytestmark = pytest.mark.django_db


def costs(client: Any, study: Study, **typed: object) -> Any:
    return client.get(page_of("recruitment:cost-part", study), typed).context


def test_costs_follow_what_is_typed_and_nothing_is_stored(client, study):
    Channel.objects.create(study=study, provider="panel", settings={"fee_percent": "25"})
    Study.objects.update(guidelines="", consent="")
    typed = {"ratings_per_hit": 5, "hits_per_annotator": 2, "minutes_per_hit": 6, "reward": "2.00"}
    shown = costs(client, study, **typed, promised_hourly_rate="12")
    cost = shown["cost"]
    assert (shown["hits"], cost.responses, cost.people) == (4, 20, 10)
    assert (cost.cost.amount, cost.cost.fees, cost.total) == (20, 5, 25)
    assert (cost.hourly_rate, cost.other_than_promised[0]) == (Decimal(10), "under_promise")
    study.refresh_from_db()
    assert (study.ratings_per_hit, study.reward) == (3, None)


def test_tasks_responses_and_people_are_shown_before_there_is_a_reward(client, study):
    page = client.get(page_of("recruitment:cost-part", study), {"promised_hourly_rate": "9"})
    html = lxml.html.fromstring(page.content)
    assert html.xpath("//@data-responses") == ["12"]
    assert not html.xpath("//@data-people")
    (no_maximum,) = html.xpath("//*[@data-no-maximum]")
    assert "all 4 tasks" in no_maximum.text_content()
    assert "reward" not in no_maximum.text_content()
    # Pay is promised, so that the reward is what is not known.
    assert "no pay" not in page.text
    page = client.get(page_of("recruitment:cost-part", study), {"reward": "2.00"})
    (no_maximum,) = lxml.html.fromstring(page.content).xpath("//*[@data-no-maximum]")
    assert "one reward" in no_maximum.text_content()
    page = client.get(page_of("recruitment:cost-part", study), {"hits_per_annotator": 2})
    html = lxml.html.fromstring(page.content)
    assert html.xpath("//@data-people") == ["6"]
    assert not html.xpath("//@data-no-maximum")


def test_the_minutes_of_each_part_and_the_lowest_hourly_pay_are_shown(client, study):
    Study.objects.update(guidelines="word " * 400, consent="")
    typed = {"hits_per_annotator": 3, "minutes_per_hit": 6, "reward": "6.00", "ratings_per_hit": 2}
    page = client.get(page_of("recruitment:cost-part", study), typed)
    html = lxml.html.fromstring(page.content)
    assert html.xpath("//@data-minutes") == ["consent and guidelines", "tasks"]
    assert page.context["cost"].asked.parts == {"consent and guidelines": 2, "tasks": 18}
    # Of eight responses, two are left: 4.00 for 2 minutes of reading and 12 of work.
    assert html.xpath("//@data-lowest") == ["1", "2"]
    # The parts stand beside their sum; who does fewer tasks is told where one asks.
    assert not html.xpath("//*[@data-minutes][ancestor::details]")
    assert not html.xpath("//*[@data-lowest][not(ancestor::details)]")
    lowest = [(one.rate, one.is_for_the_last) for one in page.context["cost"].lowest]
    assert lowest == [(Decimal(15), False), (Decimal("17.14"), True)]
    assert not html.xpath("//dt[.='Lowest hourly pay']")  # nothing is promised


def test_where_the_last_person_earns_less_than_promised_the_panel_offers_the_tasks_that_keep_it(
    client, study
):
    Study.objects.update(guidelines="word " * 400, consent="")
    typed = {"hits_per_annotator": 3, "minutes_per_hit": 6, "ratings_per_hit": 2}
    typed |= {"reward": "6.00", "promised_hourly_rate": "18"}
    shown = costs(client, study, **typed)
    assert [code for code, _ in shown["cost"].against_the_promise] == ["last_is_under_promise"]
    assert shown["offer"] == ("reward", Decimal("4.20"), 2)  # 14 minutes
    send_step(client, page_of("recruitment:size", study), **typed, _use=shown["use"])
    study.refresh_from_db()
    assert (study.hits_per_annotator, study.reward) == (2, Decimal("4.20"))
    kept = costs(client, study)
    assert kept["cost"].against_the_promise == []
    assert kept["offer"] is None


def test_a_refused_form_keeps_the_costs_of_what_is_typed_and_opens_only_what_is_wrong(
    client, study
):
    address = page_of("recruitment:size", study)
    paid = {"hits_per_annotator": 2, "minutes_per_hit": 6, "reward": "2.00", "budget": "9.00"}
    for wrong, n_open in (({"ratings_per_hit": ""}, 0), ({"lease_minutes": "-1"}, 1)):
        page = send_step(client, address, **paid, **wrong)
        assert [set(wrong)] == [{*page.context["adminform"].form.errors}]
        cost = page.context["cost"]
        assert (cost.total, cost.budget, cost.missing) == (12, 9, ())
        html = lxml.html.fromstring(page.content)
        assert len(html.xpath("//details[contains(@class, 'part')][@open]")) == n_open
        (problem,) = html.xpath("//*[@data-code='over_budget']")
        assert problem.getnext().get("class") == "sums"  # it is said first
        assert html.find_class("budget-bar over")
    study.refresh_from_db()
    assert study.reward is None


@pytest.mark.parametrize(
    ("field", "typed", "code"),
    [
        ("main_criteria", "preference; fluency", "unknown_main_criterion"),
        ("known_order", "system-0; nobody", "unknown_system_in_order"),
        ("stopping_rule", "width", "no_target_width"),
    ],
)
def test_a_plan_that_cannot_be_followed_is_refused_where_it_was_typed(
    client, study, field, typed, code
):
    page = send_step(client, page_of("recruitment:analysis-plan", study), **{field: typed})
    errors = page.context["adminform"].form.errors.as_data()
    assert {name: found.code for name, (found,) in errors.items()} == {FIELD_OF[code]: code}
    assert getattr(Study.objects.get(), field) == getattr(study, field)


def test_what_is_missing_for_the_cost_is_named(client, study):
    cost = costs(client, study)["cost"]
    assert (cost.total, cost.hourly_rate, cost.people, len(cost.missing)) == (0, None, None, 3)
    assert cost.total == cost.maximum.total
    assert costs(client, study, reward="a lot")["cost"].total == 0
    assert costs(client, study, reward="2")["cost"].total is None


TRIPLE = {"minutes_per_hit": "6", "promised_hourly_rate": "12.00", "reward": "2.40"}


@pytest.mark.parametrize("missing", TRIPLE)
@pytest.mark.parametrize("provider", ["panel", "prolific"])
def test_two_of_minutes_hourly_pay_and_reward_propose_the_third(client, study, missing, provider):
    """Two tasks of 6 minutes are 0.2 hours; the reward is for both however a channel pays."""
    Channel.objects.create(study=study, provider=provider)
    Study.objects.update(guidelines="", consent="")
    given = {name: value for name, value in TRIPLE.items() if name != missing}
    offer = costs(client, study, hits_per_annotator=2, **given, **{missing: ""})["offer"]
    assert (offer.field, offer.value) == (missing, Decimal(TRIPLE[missing]))
    address = page_of("recruitment:size", study)
    send_step(client, address, hits_per_annotator=2, **given)
    html = lxml.html.fromstring(client.get(address).content)
    (button,) = html.xpath("//form[@id='study_form']//button[@name='_use']")
    send_step(client, address, _use=button.get("value"))
    study.refresh_from_db()
    assert Decimal(str(getattr(study, missing))) == Decimal(TRIPLE[missing])
    assert button.get("formaction") == f"{address}#id_{missing}"  # where it is typed
    shown = client.get(address)
    assert shown.context["offer"] is None
    assert not codes_on(shown) & {"under_promise", "over_promise"}


@pytest.mark.parametrize("hits_per_annotator", [2, 3, 7])
@pytest.mark.parametrize("provider", ["panel", "prolific"])
def test_a_proposed_reward_or_time_keeps_the_promise(client, study, hits_per_annotator, provider):
    """Also with screening, guidelines, fewer tasks in the plan than a person may do, and odd cents."""
    Channel.objects.create(study=study, provider=provider)
    Screening.objects.create(study=study, training_units=3, check_rate=0.3)
    Study.objects.update(guidelines="word " * 900, hits_per_annotator=hits_per_annotator)
    for given in ({"minutes_per_hit": "3.7"}, {"reward": "7.77"}):
        promised = {**given, "promised_hourly_rate": "13.37"}
        proposal = costs(client, study, **promised)["offer"]
        assert proposal.maximum is None
        cost = costs(client, study, **promised, **{proposal.field: proposal.value})["cost"]
        assert cost.other_than_promised is None
        assert cost.hourly_rate < Decimal("13.37") * Decimal("1.03")


def test_a_proposal_fills_in_nothing_but_pay_time_and_tasks(client, study):
    use = "reward=2.00&hits_per_annotator=4&ratings_per_hit=9"
    send_step(client, page_of("recruitment:size", study), _use=use)
    study.refresh_from_db()
    assert (study.reward, study.hits_per_annotator) == (Decimal(2), 4)
    assert study.ratings_per_hit == 3


def test_a_reward_needs_a_maximum_of_tasks_so_that_no_single_task_earns_it(client, study):
    address = page_of("recruitment:size", study)
    page = send_step(client, address, reward="2.00", hits_per_annotator="")
    assert codes_of(page, "hits_per_annotator") == ["reward_without_maximum"]
    assert Study.objects.get().reward is None
    send_step(client, address, reward="2.00", hits_per_annotator="4")
    assert Study.objects.get().reward == Decimal(2)


def codes_of(page: Any, name: str) -> list[str]:
    return [error.code for error in page.context["adminform"].form.errors.as_data()[name]]


def test_the_warning_of_pay_stands_at_the_reward_and_follows_what_is_typed(client, study):
    Study.objects.update(guidelines="", consent="", hits_per_annotator=2, minutes_per_hit=6)
    Study.objects.update(reward=Decimal("2.00"), promised_hourly_rate=Decimal(12))
    html = lxml.html.fromstring(client.get(page_of("recruitment:size", study)).content)
    (code,) = html.xpath("//*[@data-code='under_promise']/@data-code")
    assert html.xpath(f"//div[.//input[@name='reward']]//*[@data-code='{code}']")
    part = client.get(page_of("recruitment:cost-part", study), {"reward": "2.40"})
    (warnings,) = lxml.html.fromstring(f"<div>{part.text}</div>").xpath("//*[@hx-swap-oob]")
    assert warnings.get("id") == "pay-warnings"
    assert not warnings.xpath(".//*[@data-code]")


def test_the_currency_is_chosen_and_that_of_the_last_study_is_preset(client, study, ruth):
    Study.objects.update(currency="CHF")
    new = create_from_protocol(protocol=protocols()[0], owner=ruth)
    assert new.currency == "CHF"
    client.post(reverse("admin:studies_study_add"), {"title": "By hand", "unit_kind": "comparison"})
    assert Study.objects.get(title="By hand").currency == "CHF"
    html = lxml.html.fromstring(client.get(page_of("recruitment:size", new)).content)
    codes = html.xpath("//select[@name='currency']//option/@value")
    assert {"EUR", "GBP", "CHF", "JPY"} <= set(codes)
    assert html.xpath("//select[@name='currency']//option[@selected]/@value") == ["CHF"]


def test_nothing_is_proposed_without_two_values_and_the_tasks_per_person(client, study):
    assert costs(client, study, **TRIPLE)["offer"] is None
    for name, value in TRIPLE.items():
        assert costs(client, study, hits_per_annotator=2, **{name: value})["offer"] is None
    given = {"minutes_per_hit": "6", "promised_hourly_rate": "12"}
    shown = costs(client, study, **given)
    assert (shown["offer"], shown["cost"].missing[0]) == (None, "the maximum tasks per annotator")
    long = {"promised_hourly_rate": "12", "reward": "0.01", "hits_per_annotator": 2}
    Study.objects.update(guidelines="word " * 9000)
    assert costs(client, study, **long)["offer"] is None


def test_without_a_dataset_the_number_of_tasks_is_unknown(client, ruth, study):
    Study.objects.update(dataset=None)
    assert costs(client, study)["why_unknown"]


def test_a_person_does_no_task_twice():
    assert Collection(hits=1, places=5, tasks=10).people == 5


def test_size_is_saved_with_the_growth_of_r(client, ruth):
    study = make_open_study(instances=2, member=ruth, ratings_per_hit=2)
    page = client.get(page_of("recruitment:size", study))
    form = page.context["adminform"].form
    values = {name: form[name].value() for name in form.fields}
    sent = {name: "" if value is None else value for name, value in values.items()}
    answer = send(client, page_of("recruitment:size", study), sent | {"ratings_per_hit": 3})
    assert answer.status_code == 302
    assert study.places.count() == 6


# Recruit.


def test_a_channel_names_everything_that_it_lacks(client, study):
    html = client.get(page_of("recruitment:channels", study)).content.decode()
    prolific = html[html.index('id="channel-prolific"') :]
    needs = set(re.findall(r'data-need="(\w+)"', prolific))
    assert {"no_reward", "no_minutes", "no_limit", "no_token", "address_not_public"} <= needs
    assert page_of("recruitment:size", study) in prolific


def test_the_number_of_people_that_the_plan_needs_is_suggested(client, ruth):
    study = make_open_study(instances=4, member=ruth, hits_per_annotator=2)
    Channel.objects.create(study=study, provider="prolific")
    context = client.get(page_of("recruitment:channels", study)).context
    assert context["people_needed"] == 6  # 4 tasks, R = 3, 2 each
    Study.objects.update(hits_per_annotator=None)
    assert client.get(page_of("recruitment:channels", study)).context["people_needed"] is None


def test_other_channels_are_folded_away(client, study):
    Channel.objects.create(study=study, provider="panel")
    html = client.get(page_of("recruitment:channels", study)).content.decode()
    assert html.index('id="channel-panel"') < html.index("other-channel")
    assert html.count('class="wide other-channel"') == 4


# Launch.
