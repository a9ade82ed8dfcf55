"""The step Quality."""

import re
from typing import Any

import lxml.html
import pytest

from annotation.services.reference_units import ROLES, degrade_copies
from recruitment.services.launch_checks import launch_checks
from studies.models import ComprehensionQuestion, Generation, Screening, Study, Unit
from tests.pages import codes_on, levels_on, numbers_in, send, send_step
from tests.recruitment.views.conftest import LONG
from tests.studies.design.test_step_pages import page_of, rows
from tests.studies.factories import make_open_study, make_study

pytestmark = pytest.mark.django_db


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


def test_before_items_are_made_the_page_says_how_many_instances_they_use(client, ruth):
    def uses() -> set[str]:
        page = lxml.html.fromstring(client.get(page_of("recruitment:quality", study)).content)
        (said,) = page.xpath("//*[@data-uses][following-sibling::p/button[@value='missing']]")
        return numbers_in(said.text_content())

    study = make_study(instances=12, member=ruth)
    assert uses() == {"12"}  # each that is asked for takes one
    Screening.objects.create(study=study, training_units=1, qualification_units=2)
    assert uses() == {"3", "12"}
    made = {"role": "training", "known_labels": {"preference": "1"}}
    Unit.objects.create(study=study, instance=study.dataset.instances.first(), key="a", **made)
    assert uses() == {"2", "12"}
    Screening.objects.update(qualification_units=4)  # more than a quarter in all, so all are rated
    assert uses() == {"12"}


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


def test_a_copy_says_how_hard_its_change_is_to_see_and_careful_changes_come_first(client, study):
    degrade_copies(study=study, role=Unit.Role.GOLD, n=1, perturbation="words/deletion/major")
    degrade_copies(study=study, role=Unit.Role.TRAINING, n=1, perturbation="words/deletion/minor")
    page = lxml.html.fromstring(client.get(page_of("recruitment:quality", study)).content)
    said = {
        one.get("id"): one.xpath("string(.//*[@data-change])").partition(":")[0]
        for one in page.xpath("//article")
    }
    assert said == {"gold-0": "Seen at a glance", "training-0": "Takes careful reading"}
    groups = page.xpath("//select[@name='make-perturbation']/optgroup/@label")
    assert (groups[0], groups[-1]) == ("Takes careful reading", "Seen at a glance")
    (link,) = page.xpath("//a[starts-with(@href, '#gold-') or starts-with(@href, '#training-')]")
    assert link.get("href") == f"#{page.xpath('//article/@id')[0]}"
