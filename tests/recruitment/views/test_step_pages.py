"""The steps Quality, Size & pay, Recruit and Launch."""

import re
from decimal import Decimal
from typing import Any

import lxml.html
import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.services.reference_units import ROLES, degrade_copies
from recruitment.admission import OPEN_LINK
from recruitment.launch.analysis_plan import FIELD_OF
from recruitment.models import Channel
from recruitment.pay import Collection
from recruitment.services.launch_checks import launch_checks
from recruitment.views.launch import LOCAL, ONE_LINE
from studies.design.protocols import create_from_protocol, protocols
from studies.models import ComprehensionQuestion, Generation, Screening, Study, Unit
from studies.models.settings import FrozenSettings, fields_of
from tests.confirming import post_confirmed
from tests.pages import codes_on, levels_on, numbers_in, send, send_step
from tests.studies.design.test_step_pages import page_of, rows
from tests.studies.factories import make_open_study, make_study

pytestmark = pytest.mark.django_db
LONG = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen."


@pytest.fixture
def ruth(client) -> User:
    user = User.objects.create_user("ruth", is_staff=True)
    client.force_login(user)
    return user


@pytest.fixture
def study(ruth: User) -> Study:
    study = make_study(instances=4, member=ruth)
    Generation.objects.update(text=LONG)
    return study


def quality_of(**values: object) -> dict[str, object]:
    """Return the fields of the step Quality as its page would send them, with nothing typed."""
    screening = {
        "comprehension_tries": 2,
        "training_units": 0,
        "qualification_units": 0,
        "pass_mark": "",
        "qualification_tries": 1,
        "check_rate": 0.0,
        "checks_failed": 2,
        "check_action": "record",
    }
    fields = rows("screening", screening) | rows("comprehension")
    return fields | {"make-role": "training", "make-n": 2} | values


def press(client: Any, study: Study, **values: object) -> Any:
    return send(client, page_of("recruitment:quality", study), quality_of(**values), follow=True)


# Of a study with so few instances, none is set aside for training.
SMALL = {"shown_before_rated"}


def test_an_unchanged_form_sets_up_no_screening(client, study):
    assert set(levels_on(press(client, study))) == {"success"}
    assert not hasattr(Study.objects.get(), "screening")


@pytest.mark.parametrize("name", ["recruitment:quality", "recruitment:analysis-plan"])
def test_an_optional_step_is_skipped_until_something_is_asked_for(client, study, name):
    def goes_on() -> str:
        page = lxml.html.fromstring(client.get(page_of(name, study)).content)
        return page.xpath("//button[@name='_next']")[0].text

    skip = goes_on()
    went = send_step(client, page_of(name, study), _next="skip")
    assert levels_on(client.get(went.url)) == []  # nothing was saved
    Study.objects.update(estimands="The win rate.")
    ComprehensionQuestion.objects.create(study=study, text="Which?", choices="a\nb")
    assert goes_on() != skip


def test_units_are_made_together_with_what_is_typed(client, study):
    page = press(client, study, _make="1", **{"screening-0-training_units": 2})
    assert set(levels_on(page)) == {"success"}
    assert study.units.filter(role="training").count() == 2
    assert Study.objects.get().screening.training_units == 2
    counts = {row.title: (row.present, row.needed) for row in page.context["role_counts"]}
    assert counts["training"] == (2, 2)


def help_of_test(client: Any, study: Study) -> set[str]:
    """The numbers beside the number of items in the test, which the page says once."""
    page = lxml.html.fromstring(client.get(page_of("recruitment:quality", study)).content)
    (said,) = page.xpath(
        "//*[contains(@class, 'helptext')][contains(., 'remain to be rated')][not(ancestor::template)]"
    )
    assert said.get("id") == "id_screening-0-qualification_units_helptext"
    return numbers_in(said.text_content())


def test_beside_the_items_of_the_test_stands_how_many_instances_remain(client, ruth):
    study = make_study(instances=12, member=ruth)
    assert help_of_test(client, study) == {"12"}
    screening = Screening.objects.create(study=study, training_units=1, qualification_units=2)
    assert help_of_test(client, study) == {"9", "12"}
    # One has a text of its own, and takes no instance.
    Unit.objects.create(study=study, key="training-0", role="training", known_labels={"p": "1"})
    assert help_of_test(client, study) == {"10", "12"}
    screening.qualification_units = 4  # more than a quarter in all, so all are rated
    screening.save()
    assert help_of_test(client, study) == {"12"}


def test_a_unit_is_removed_and_the_next_one_has_a_new_key(client, study):
    press(client, study, _make="1")
    press(client, study, _remove="training-0")
    assert list(study.units.values_list("key", flat=True)) == ["training-1"]
    assert study.hits.get(kind="training").hit_units.count() == 1
    press(client, study, _make="1", **{"make-n": 1})
    assert set(study.units.values_list("key", flat=True)) == {"training-1", "training-2"}
    assert codes_on(press(client, study, _remove="training-0")) == {"no_such_unit", *SMALL}


def test_an_expected_label_is_changed(client, study):
    press(client, study, _make="1")
    sent = {"units": ["training-0", "training-1"]}
    sent |= {"unit-training-0-c0": "1", "unit-training-1-c0": "-1"}
    press(client, study, **sent)
    labels = dict(study.units.values_list("key", "known_labels"))
    assert labels == {"training-0": {"preference": "1"}, "training-1": {"preference": "-1"}}
    page = press(client, study, **{**sent, "unit-training-0-c0": ""})
    assert codes_on(page) == {"labels_missing", *SMALL}
    labels = dict(study.units.values_list("key", "known_labels"))
    assert labels["training-0"] == {"preference": "1"}


def test_of_an_opened_study_no_unit_is_removed_or_changed(client, ruth):
    study = make_open_study(instances=4, member=ruth)
    Unit.objects.create(study=study, key="gold-0", role="gold", known_labels={"preference": "1"})
    assert codes_on(press(client, study, _remove="gold-0")) == {"not_a_draft"}
    changed = {"units": "gold-0", "unit-gold-0-c0": "-1"}  # the page has no such fields
    assert codes_on(press(client, study, **changed)) == {"changed_meanwhile"}
    assert study.units.get(key="gold-0").known_labels == {"preference": "1"}
    html = client.get(page_of("recruitment:quality", study)).content.decode()
    assert 'name="_remove"' not in html
    assert 'name="screening-0-training_units"' not in html


def test_too_many_units_are_refused_and_the_screening_is_kept(client, study):
    page = press(client, study, _make="1", **{"make-n": 50, "screening-0-training_units": 1})
    assert codes_on(page) == {"too_few_texts"}
    assert Study.objects.get().screening.training_units == 1


def test_a_refusal_names_how_many_more_are_wanted_and_for_what(client, study):
    """Of 30 that were typed 2 are there, so nobody asked for 28."""
    press(client, study, _make="1", **{"make-role": "qualification", "make-n": 2})
    page = press(client, study, _make="missing", **{"screening-0-qualification_units": 30})
    (refusal,) = [str(one) for one in page.context["messages"] if one.level_tag == "error"]
    assert numbers_in(refusal) == {"28", "2"}  # wanted, and possible of 4 instances
    assert ROLES[Unit.Role.QUALIFICATION] in refusal


def test_a_wrong_screening_makes_no_units(client, study):
    wrong = {"screening-0-qualification_units": 3, "screening-0-pass_mark": 4}
    page = press(client, study, _make="1", **wrong)
    assert page.status_code == 200
    assert not study.units.exists()
    assert re.search(r'name="screening-0-qualification_units" value="3"', page.content.decode())


def test_what_the_screening_lacks_is_made_at_once(client, study):
    sizes = {"training_units": 1, "qualification_units": 2, "check_rate": 0.25}
    typed = {f"screening-0-{name}": value for name, value in sizes.items()}
    page = press(client, study, _make="missing", **typed)
    made = {row.role: (row.present, row.needed) for row in page.context["role_counts"]}
    assert made == {"training": (1, 1), "qualification": (2, 2), "gold": (1, 1)}
    (said,) = [str(one) for one in page.context["messages"] if " made" in str(one)]
    assert numbers_in(said) == {"4", "1", "2"}


def test_no_more_gold_checks_are_made_than_the_tasks_need_that_the_test_leaves(client, ruth):
    study = make_study(instances=40, member=ruth)
    Generation.objects.update(text=LONG)
    before = client.get(page_of("recruitment:quality", study)).content.decode()
    assert "40 of 40 instances" in before  # of which each item of the test takes one
    typed = {"screening-0-qualification_units": 8, "screening-0-check_rate": 0.25}
    counts = press(client, study, _make="missing", **typed).context["role_counts"]
    assert {row.role: row.present - row.needed for row in counts} == dict.fromkeys(ROLES, 0)


def test_quality_and_the_launch_checks_count_gold_checks_alike(client, study):
    """Each annotator may meet more checks than have to be failed, and nobody meets one twice."""
    press(client, study, **{"screening-0-check_rate": 0.75})
    degrade_copies(study=study, role=Unit.Role.GOLD, n=1)
    page = client.get(page_of("recruitment:quality", study))
    (gold,) = [row for row in page.context["role_counts"] if row.role == "gold"]
    assert (gold.present, gold.needed) == (1, 3)
    assert "few_gold_units" in {check.code for check in launch_checks(study)}
    stored = {"screening-0-id": Study.objects.get().screening.pk, "screening-INITIAL_FORMS": 1}
    press(client, study, _make="missing", **stored, **{"screening-0-check_rate": 0.75})
    assert study.units.filter(role="gold").count() == gold.needed
    assert "few_gold_units" not in {check.code for check in launch_checks(study)}


def test_quality_says_how_many_checks_one_person_meets(client, study):
    Study.objects.filter(pk=study.pk).update(hits_per_annotator=2)
    for rate in (0.5, 0.25):
        Screening.objects.update_or_create(study=study, defaults={"check_rate": rate})
        page = client.get(page_of("recruitment:quality", study))
        assert page.context["checks_met"] == rate * 2
        assert f'data-met="{rate * 2:g}"' in page.text


def test_where_the_size_changes_the_page_says_how_many_gold_checks_it_needs(client, study):
    def told(**typed: int) -> tuple[list[str], bool]:
        html = client.get(page_of("recruitment:cost-part", study), typed).text
        return re.findall(r'data-gold-needed="(\d+)"', html), 'data-code="few_gold_units"' in html

    assert told(hits_per_annotator=2) == ([], False)
    assert 'data-tasks="4"' in client.get(page_of("recruitment:quality", study)).text
    Screening.objects.create(study=study, check_rate=1)
    degrade_copies(study=study, role=Unit.Role.GOLD, n=2)
    assert told(hits_per_annotator=2) == (["2"], False)
    assert told(hits_per_annotator=4) == (["4"], True)


def test_a_study_does_not_offer_its_own_test_as_that_of_another(client, study, ruth):
    other = make_study(member=ruth)
    page = client.get(page_of("recruitment:quality", study))
    field = page.context["inline_admin_formsets"][0].formset.forms[0].fields["accepts_from"]
    assert list(field.queryset) == [other]


def test_gold_checks_that_nobody_can_meet_are_counted_where_the_maximum_came_after_them(
    client, study
):
    press(client, study, **{"screening-0-check_rate": 0.75})
    degrade_copies(study=study, role=Unit.Role.GOLD, n=3)
    Study.objects.update(hits_per_annotator=2)
    assert 'data-unmet="1"' in client.get(page_of("recruitment:quality", study)).text
    rows = client.get(page_of("recruitment:launch", study)).context["rows"]
    assert "gold_units_unmet" in {row.code for row in rows}
    Study.objects.update(hits_per_annotator=None)
    assert "data-unmet" not in client.get(page_of("recruitment:quality", study)).text


@pytest.mark.parametrize("items", [1, 3, 4, 10, 11])
def test_a_pass_mark_that_is_left_out_follows_the_items_of_the_test(client, study, items):
    field = "screening-0-pass_mark"
    html = lxml.html.fromstring(client.get(page_of("recruitment:quality", study)).content)
    assert not html.xpath(f"string(//*[@name='{field}']/@value)")
    press(client, study, **{"screening-0-qualification_units": items})
    stored = Study.objects.get().screening
    assert stored.pass_mark == {1: 1, 3: 3, 4: 3, 10: 9, 11: 10}[items]
    # It is said where it is empty, and still follows the items.
    (shown,) = lxml.html.fromstring(
        client.get(page_of("recruitment:quality", study)).content
    ).xpath(f"//*[@name='{field}']")
    assert shown.get("value") is None
    assert numbers_in(shown.get("placeholder")) == {str(stored.pass_mark), str(items)}
    again = {"screening-0-id": stored.pk, "screening-INITIAL_FORMS": 1, field: items + 1}
    page = press(client, study, **{"screening-0-qualification_units": items, **again})
    assert page.status_code == 200
    errors = page.context["inline_admin_formsets"][0].formset.errors[0].as_data()
    assert [error.code for error in errors["pass_mark"]] == ["pass_mark_unreachable"]
    focused = lxml.html.fromstring(page.content).xpath("//*[@autofocus]/@name")
    assert focused == [field]


def test_expected_answers_are_in_words_with_the_names_of_their_systems(client, ruth):
    study = make_study(instances=2, samples=1, member=ruth)
    by_hand(client, study)
    by_hand(client, study, c0="1")
    html = lxml.html.fromstring(client.get(page_of("recruitment:quality", study)).content)
    names = [system.name for system in study.ordered_systems()]
    assert html.xpath("//*[@class='reference-unit']//h4/text()") == names * 2
    chosen = html.xpath("//*[@class='reference-unit']//option[@selected]/text()")
    assert all(
        words.startswith(name) and words != name for name, words in zip(names, chosen, strict=True)
    )
    Study.objects.update(status="open", opened_at="2026-01-01T00:00Z")
    html = lxml.html.fromstring(client.get(page_of("recruitment:quality", study)).content)
    said = [one.text_content() for one in html.xpath("//*[@data-expected]")]
    assert [words in sentence for words, sentence in zip(chosen, said, strict=True)] == [True, True]


@pytest.mark.parametrize("role", ["training", "qualification", "gold"])
def test_the_role_that_was_chosen_stays(client, study, role):
    shown = by_hand(client, study, role=role)
    assert shown.context["form"].initial["role"] == role
    page = press(client, study, _make="1", **{"make-role": role, "make-n": 1})
    assert page.context["make"].initial["role"] == role
    # At first it is a role that lacks items.
    Screening.objects.create(study=study, training_units=9)
    assert client.get(page_of("recruitment:quality", study)).context["make"]["role"].value() == (
        "training"
    )


def by_hand(client: Any, study: Study, **values: object) -> Any:
    """Click answers for the item that the page by hand shows."""
    address = page_of("recruitment:reference-by-hand", study)
    page = client.get(address)
    typed = {"role": "gold", "c0": "-1", **values}
    form = page.context["form"]
    (target,) = lxml.html.fromstring(page.content).xpath("//form[@method='post'][@action]/@action")
    sent = {form.add_prefix(name): value for name, value in typed.items()}
    return client.post(f"{address}{target}", sent, follow=True)


def test_a_reference_item_is_made_by_clicking_its_right_answer(client, study):
    plain = {"name": "quality", "question": "Good?", "scale": "ordinal:1..5", "position": 1}
    study.criteria.create(**plain)
    assert set(levels_on(by_hand(client, study, c1="4"))) == {"success"}
    unit = study.units.get(role="gold")
    assert unit.known_labels == {"preference": "-1", "quality": "4"}
    assert unit.text_list[0].generation.system == study.ordered_systems()[0]
    # The next page shows another instance, whose item becomes one of the test.
    by_hand(client, study, role="qualification", explanation="B is cut off.", c0="1")
    tested = study.units.get(role="qualification")
    assert (tested.known_labels, tested.explanation) == ({"preference": "1"}, "B is cut off.")
    assert tested.instance != unit.instance
    assert study.hits.get(kind="qualification").hit_units.count() == 1
    press(client, study, _remove=unit.key)  # until it opens, it can be undone
    assert not study.units.filter(role="gold").exists()


@pytest.mark.parametrize("has_texts", [True, False])
def test_items_are_chosen_by_hand_where_there_are_any(client, study, has_texts):
    if not has_texts:
        study.study_systems.all().delete()
        Study.objects.filter(pk=study.pk).update(dataset=None)
    page = client.get(page_of("recruitment:quality", study)).text
    assert (page_of("recruitment:reference-by-hand", study) in page) is has_texts


def test_an_item_without_an_answer_or_with_an_item_already_is_refused(client, study):
    refused = by_hand(client, study, c0="")
    assert refused.status_code == 400
    (focused,) = lxml.html.fromstring(refused.content).xpath("//*[@autofocus]")
    assert focused.xpath(".//*[contains(@class, 'errorlist')]")
    assert not study.units.exists()
    by_hand(client, study)
    address = page_of("recruitment:reference-by-hand", study)
    used = study.units.get().instance.key
    assert client.get(f"{address}?instance={used}").status_code == 404
    late = client.post(f"{address}?instance={used}", {}, follow=True)
    assert codes_on(late) == {"instance_taken"}
    assert client.get(f"{address}?q=note-3").context["unit"].instance.key == "note-3"


# Size and pay.


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
    assert page.context["cost"].maximum_that_divides == 2


def test_where_the_last_person_earns_less_than_promised_the_panel_offers_the_tasks_that_keep_it(
    client, study
):
    Study.objects.update(guidelines="word " * 400, consent="")
    typed = {"hits_per_annotator": 3, "minutes_per_hit": 6, "ratings_per_hit": 2}
    typed |= {"reward": "6.00", "promised_hourly_rate": "18"}
    shown = costs(client, study, **typed)
    assert [code for code, _ in shown["cost"].against_the_promise] == ["last_is_under_promise"]
    assert shown["offer"] == ("hits_per_annotator", 2)
    kept = costs(client, study, **typed | {"hits_per_annotator": 2})
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
    (button,) = html.xpath(f"//form[@id='study_form']//button[@name='{missing}']")
    (field,) = html.xpath(f"//form[@id='study_form']//input[@name='{missing}']")
    inside = list(html.get_element_by_id("study_form").iter())
    assert inside.index(button) > inside.index(field)  # so that its value is the last one sent
    send_step(client, address, **{missing: button.get("value")})
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
        cost = costs(client, study, **promised, **dict([proposal]))["cost"]
        assert cost.other_than_promised is None
        assert cost.hourly_rate < Decimal("13.37") * Decimal("1.03")


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


def test_what_is_done_is_listed_below_what_is_left(client, study):
    html = lxml.html.fromstring(client.get(page_of("recruitment:launch", study)).content)
    states = html.xpath("//section/ul[@class='launch-checks']/li/@data-severity")
    left = states.index("done")
    assert left > 0
    assert set(states[left:]) == {"done"}
    (folded,) = html.xpath("//ul[@class='launch-checks']/li/details[ul]")
    done = folded.xpath("./ul/li")
    assert {row.get("data-severity") for row in done} == {"done"}
    titles = [row.xpath("string(.//strong)") for row in done]
    assert folded.xpath("string(summary/strong)") == ", ".join(titles)
    assert len(titles) > 1


def launch_rows(client, study) -> dict[str, lxml.html.HtmlElement]:
    page = lxml.html.fromstring(client.get(page_of("recruitment:launch", study)).content)
    return {row.get("data-code"): row for row in page.xpath("//ul[@class='launch-checks']/li")}


def test_a_check_has_one_line_whose_rest_opens_unless_it_keeps_the_study_from_opening(
    client, study
):
    Study.objects.update(reward=Decimal(2), budget=Decimal(1), guidelines="")
    context = client.get(page_of("recruitment:launch", study)).context
    shown, opened = launch_rows(client, study), 0
    for row in context["rows"]:
        folded = shown[row.code].xpath("./details/summary")
        assert row.sentence in shown[row.code].text_content()
        assert bool(folded) == (row.state != "must" and len(row.sentence) > ONE_LINE)
        opened += len(folded)
    assert opened
    assert "must" in {row.state for row in context["rows"]}


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
    assert html.count(f"http://{server}/s/") == html.count("enter through") == 1
    assert "address" not in {one.code for one in opened.context["rows"]}


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
