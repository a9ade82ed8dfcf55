"""Steps as forms of the admin: what is typed is saved, judged and recorded as in the whole form."""

import re

import lxml.html
import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.urls import reverse

from studies.data.text_formats import formats_in_words, recognised_formats
from studies.design.field_rows import FieldRows
from studies.design.scale_cards import ScaleCards
from studies.log_pages import PER_PAGE
from studies.models import Criterion, Generation, Membership, Study, StudyEvent
from studies.services import record_event
from tests.pages import codes_on, levels_on, numbers_in, send, send_step
from tests.studies.factories import make_open_study, make_study
from tiebreak.reading.words import scale_in_words

LABELS = ("source_label", "left_label", "right_label")
pytestmark = pytest.mark.django_db


@pytest.fixture
def study(ruth: User) -> Study:
    return make_study(instances=2, member=ruth)


def page_of(name: str, study: Study) -> str:
    return reverse(name, args=[study.pk])


def rows(prefix: str, *values: dict[str, object], stored: int = 0) -> dict[str, object]:
    fields = {f"{prefix}-TOTAL_FORMS": len(values), f"{prefix}-INITIAL_FORMS": stored}
    return fields | {
        f"{prefix}-{i}-{name}": value for i, row in enumerate(values) for name, value in row.items()
    }


def task_of(study: Study, **values: object) -> dict[str, object]:
    """Return the fields of the step Task as its page would send them."""
    criterion = study.criteria.get()
    row = {
        "id": criterion.pk,
        "study": study.pk,
        "name": criterion.name,
        "question": criterion.question,
        "scale_card": "preference:tie",
        "reason": criterion.reason,
        "reason_length": criterion.reason_length,
        "position": 1,
    }
    texts = (
        "source_format",
        "generation_format",
        "reference_format",
        "translation",
        "nonresponses",
        "unlabelled_tasks",
        "erasure",
        "comments",
    )
    names = ("title", "guidelines", "consent", *texts, *LABELS)
    fields = {name: getattr(study, name) for name in names}
    return fields | rows("criteria", row, stored=1) | values


def test_a_step_saves_its_fields_alone_and_records_it(client, study):
    Study.objects.update(consent="You agree.", ratings_per_hit=5)
    study.refresh_from_db()
    answer = send(client, page_of("studies:task", study), task_of(study, guidelines="Read both."))
    assert answer.status_code == 302
    study.refresh_from_db()
    assert (study.guidelines, study.consent, study.ratings_per_hit) == (
        "Read both.",
        "You agree.",
        5,
    )
    assert LogEntry.objects.get().object_id == study.pk


def test_the_parts_are_labelled_in_the_preview_before_the_step_is_saved(client, study):
    typed = task_of(study, source_label="Article", left_label="A", right_label="<B>")
    preview = client.post(
        reverse("recruitment:typed-preview", args=[study.pk]), typed | {"page": "unit"}
    )
    html = preview.content.decode()
    assert ">Article<" in html
    assert html.count(">A<") == html.count("&lt;B&gt;") == 2  # above the text, and in the answer
    assert ">Left<" not in html
    send(client, page_of("studies:task", study), typed)
    study.refresh_from_db()
    assert (study.source_label, study.left_label, study.right_label) == ("Article", "A", "<B>")


def test_save_and_continue_leads_to_the_next_step_and_save_back(client, study):
    here, values = page_of("studies:task", study), task_of(study)
    leads_to = page_of("recruitment:quality", study)
    assert send(client, here, values | {"_next": "1"})["Location"] == leads_to
    assert send(client, here, values)["Location"] == here


@pytest.mark.parametrize("stored", ["", "system-1", "gone"])
def test_the_baseline_is_chosen_from_the_systems_of_the_study(client, study, stored):
    Study.objects.filter(pk=study.pk).update(baseline_system=stored)
    page = lxml.html.fromstring(client.get(page_of("recruitment:size", study)).content)
    (choice,) = page.xpath("//select[@name='baseline_system']")
    names = [system.name for system in study.ordered_systems()]
    assert choice.value_options == ["", *names, *({stored} - {"", *names})]
    assert choice.value == stored


def test_one_button_leads_on_from_each_step(client, study):
    for name in ("studies:data", "studies:task", "recruitment:quality", "recruitment:size"):
        assert ways_on(client, page_of(name, study)) == ["_next"], name
    link = page_of("recruitment:quality", study)
    assert ways_on(client, page_of("metrics:generate-select", study)) == [link]


def ways_on(client, address):
    page = lxml.html.fromstring(client.get(address).content)
    return page.xpath("//nav//a[contains(@class, 'button')]/@href | //button/@name[. = '_next']")


def test_a_new_row_is_offered_after_saving_without_javascript(client, study):
    here = page_of("studies:task", study)
    answer = send(client, here, task_of(study, guidelines="New.", _add="criterion"))
    study.refresh_from_db()
    assert study.guidelines == "New."
    page = client.get(answer["Location"])
    assert 'name="criteria-1-name"' in page.content.decode()
    assert 'name="criteria-1-name"' not in client.get(here).content.decode()
    elsewhere = send(client, here, task_of(study, _add="https://example.org"))
    assert elsewhere["Location"] == here


def test_a_refused_step_keeps_what_was_typed_and_saves_nothing(client, study):
    values = task_of(study, guidelines="Typed long.")
    values |= {"criteria-0-scale_card": "scores", "criteria-0-scale_low": "5"}
    page = send(client, page_of("studies:task", study), values)
    html = page.content.decode()
    assert page.status_code == 200
    assert "Typed long." in html
    assert re.search(r'value="scores" checked', html)
    study.refresh_from_db()
    assert study.guidelines != "Typed long."


def test_analysts_read_a_step_and_are_offered_no_button(client, study, ruth):
    Membership.objects.update(role="analyst")
    html = client.get(page_of("studies:task", study)).content.decode()
    assert study.guidelines in html
    assert 'name="_next"' not in html
    assert send(client, page_of("studies:task", study), task_of(study)).status_code == 403


def test_of_an_opened_study_the_wording_can_be_changed_and_the_question_cannot(client, ruth):
    study = make_open_study(instances=1, member=ruth)
    here = page_of("studies:task", study)
    html = client.get(here).content.decode()
    assert "data-frozen" in html
    assert 'name="criteria-0-scale_card"' not in html
    scale = study.criteria.get().scale
    assert scale not in html
    assert re.search(r'readonly">\s*1\s*<', html)  # the position, counted from one
    assert scale_in_words(scale).lower() in html.lower()
    values = task_of(study, guidelines="Clearer.")
    values["criteria-0-question"] = "Which is worse?"
    send(client, here, values)
    study.refresh_from_db()
    assert (study.guidelines, study.criteria.get().question) == ("Clearer.", "Which do you prefer?")


def test_a_new_study_asks_for_a_title_and_goes_to_its_data(client, ruth):
    answer = client.post(
        reverse("admin:studies_study_add"), {"title": "Pilot", "unit_kind": "comparison"}
    )
    study = Study.objects.get()
    assert answer["Location"] == page_of("studies:data", study)
    assert study.criteria.get().scale == "preference:tie"
    assert study.memberships.get().role == "owner"
    client.post(reverse("admin:studies_study_add"), {"title": "Notes", "unit_kind": "generation"})
    assert Study.objects.get(title="Notes").criteria.get().scale == "ordinal:1..5"


def test_choosing_a_dataset_adds_its_systems(client, ruth, study):
    other = Study.objects.create(title="Second")
    Membership.objects.create(study=other, user=ruth)
    values = {"dataset": study.dataset_id, "unit_kind": "comparison"} | rows("study_systems")
    send(client, page_of("studies:data", other), values)
    assert [system.name for system in other.ordered_systems()] == ["system-0", "system-1"]
    html = client.get(page_of("studies:data", other)).content.decode()
    assert {"system-0", "10"} <= set(re.findall(r"<t[hd][^>]*>([^<]+)</t", html))


def test_the_systems_are_listed_once_and_their_order_is_folded(client, ruth):
    study = make_study(instances=2, systems=3, member=ruth)
    study.study_systems.get(system__name="system-2").delete()
    page = lxml.html.fromstring(client.get(page_of("studies:data", study)).content)
    assert len(page.xpath("//table[contains(@class, 'systems')]/tbody/tr")) == 3
    (left_out,) = page.xpath("//*[@data-left-out]/..")
    assert left_out.text.strip() == "system-2"
    (orders,) = page.xpath("//*[@data-prefix='study_systems']")
    (folded,) = orders.xpath("ancestor::details")
    assert folded.get("open") is None
    # What was refused there is in sight.
    fields = rows("study_systems", *[{"study": study.pk, "system": ""}], stored=0)
    fields |= {"study_systems-0-position": "x", "dataset": study.dataset_id}
    refused = send(client, page_of("studies:data", study), fields | {"unit_kind": "comparison"})
    (orders,) = lxml.html.fromstring(refused.content).xpath("//*[@data-prefix='study_systems']")
    assert orders.xpath("ancestor::details/@open")


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ({"s": "preference:7"}, "preference:7"),
        ({"s_card": "preference", "s": "ratio"}, "preference"),
        ({"s_card": "preference:5", "s_bad": "1"}, "preference:5+bad"),
        ({"s_card": "scores", "s_low": " 1", "s_high": "10"}, "ordinal:1..10"),
        ({"s_card": "labels", "s_labels": "good\n\n fair,bad "}, "nominal:good,fair,bad"),
        ({"s_card": "typed", "s": "interval:0..4"}, "interval:0..4"),
    ],
)
def test_cards_write_the_code_of_a_scale_and_read_it_again(sent, code):
    cards = ScaleCards()
    assert cards.value_from_datadict(sent, {}, "s") == code
    html = cards.render("s", code)
    card = sent.get("s_card", code)
    assert re.search(rf'value="{card}" checked', html)
    assert ('name="s_bad" value="1" checked' in html) == code.endswith("+bad")


def field_row(n: int, name: str, readers: str, label: str = "", place: str = "before") -> dict:
    row = {"name": name, "readers": readers, "label": label, "place": place}
    return {f"fields-{n}-{key}": value for key, value in row.items()}


def test_further_texts_are_chosen_in_rows_and_unchanged_ones_stay_as_written(client, study):
    texts = {"passage": "A passage.", "url": "https://x.example", "a|b": "not a name"}
    study.dataset.instances.update(metadata=texts)
    task = page_of("studies:task", study)
    names = lxml.html.fromstring(client.get(task).content).xpath("//*[contains(@name, '-name')]")
    assert [one.value for one in names if one.name.startswith("fields-")] == ["passage", "url"]
    sent = field_row(0, "passage", "judges", "The|text", "after") | field_row(1, "url", "")
    send(client, task, task_of(study, **sent, fields=""))
    study.refresh_from_db()
    assert study.fields == "passage | The text | judges | after"
    Study.objects.update(fields="url\npassage")
    shown = lxml.html.fromstring(client.get(task).content).forms[-1]
    values = {name: value for name, value in shown.form_values() if name.startswith("fields")}
    assert values["fields-0-name"] == "url"
    assert FieldRows().value_from_datadict(values, {}, "fields") == "url\npassage"


def test_a_folded_part_says_what_is_set_in_it(client, study):
    Study.objects.update(source_format="markdown", right_label="B")
    Criterion.objects.update(reason=Criterion.Reason.REQUIRED)
    html = lxml.html.fromstring(client.get(page_of("studies:task", study)).content)
    said = {
        part.text.strip(): part.find("span").text
        for part in html.xpath("//form[@id='study_form']//summary[not(ancestor::template)]")
    }
    assert said == {
        "Reasons and order": "reason: required",
        "How texts are shown": "source texts are shown as: Markdown",
        "What else annotators may say": "unchanged",
        "Labels of the parts": "label of the right text: B",
        "If a person asks to be erased": "unchanged",
    }


def test_the_preview_shows_what_is_typed_and_saves_nothing(client, study):
    values = task_of(study, guidelines="*Typed*.", title="Typed title", page="guidelines")
    values["generation_format"] = "no such format"  # is left as it is
    values["criteria-0-question"] = "Which is typed?"
    page = client.post(page_of("recruitment:typed-preview", study), values)
    html = page.content.decode()
    assert "<em>Typed</em>" in html
    assert "Which is typed?" in html
    study.refresh_from_db()
    assert (study.title, study.guidelines) != ("Typed title", "*Typed*.")
    assert "frame-ancestors 'self'" in page.headers["Content-Security-Policy"]
    assert "frame-ancestors 'self'" in page.headers["Content-Security-Policy"]


def test_the_preview_leaves_out_a_question_whose_scale_is_not_one(client, study):
    values = task_of(study, page="unit")
    assert (
        "criterion-preference"
        in client.post(page_of("recruitment:typed-preview", study), values).content.decode()
    )
    values["criteria-0-scale_card"] = "scores"
    page = client.post(page_of("recruitment:typed-preview", study), values)
    assert page.status_code == 200
    assert "criterion-preference" not in page.content.decode()


# The log.


def test_the_log_lists_edits_and_events_together(client, study, ruth):
    send(client, page_of("studies:task", study), task_of(study, guidelines="New."))
    record_event(study=study, verb=StudyEvent.Verb.PAUSE, by=ruth, details={"completed": 3})
    record_event(study=study, verb=StudyEvent.Verb.CLOSE)
    lines = client.get(page_of("studies:log", study)).context["lines"]
    assert [line.by for line in lines] == ["", "ruth", "ruth"]
    assert "3" in lines[1].details


def test_the_log_is_filtered(client, study, ruth):
    other = User.objects.create_user("olga", is_staff=True)
    record_event(study=study, verb=StudyEvent.Verb.PAUSE, by=other)
    send(client, page_of("studies:task", study), task_of(study, guidelines="New."))
    here = page_of("studies:log", study)

    def shown(query: str) -> list[str]:
        return [line.by for line in client.get(here + query).context["lines"]]

    assert shown("?who=" + str(other.pk)) == ["olga"]
    assert shown("?what=edited") == ["ruth"]
    assert shown("?what=pause") == ["olga"]
    assert shown("?until=2020-01-01") == []
    assert shown("?since=2020-01-01") == ["ruth", "olga"]
    assert client.get(here + "?since=tomorrow").status_code == 400


def test_the_log_names_nobody_who_did_nothing(client, study, ruth):
    User.objects.create_user("secretive", is_staff=True)
    assert "secretive" not in client.get(page_of("studies:log", study)).content.decode()


def test_a_long_log_has_pages_and_takes_few_statements(
    client, study, ruth, django_assert_max_num_queries
):
    for _ in range(PER_PAGE + 1):
        record_event(study=study, verb=StudyEvent.Verb.PAUSE, by=ruth)
    with django_assert_max_num_queries(12):
        page = client.get(page_of("studies:log", study) + "?what=pause")
    assert len(page.context["lines"]) == PER_PAGE
    assert "?what=pause&amp;page=2" in page.content.decode()


def test_a_study_of_others_has_no_step(client, ruth):
    study = make_study(instances=1)
    for name in ("studies:data", "studies:task", "studies:members", "studies:log"):
        assert client.get(page_of(name, study)).status_code == 404


def test_owners_add_a_member_on_the_page_of_members(client, study):
    User.objects.create_user("bea", is_staff=True)
    membership = study.memberships.get()
    first = {"id": membership.pk, "study": study.pk, "user": "ruth", "role": "owner"}
    second = {"id": "", "study": study.pk, "user": "bea", "role": "viewer"}
    typed = rows("memberships", first, second, stored=1)
    page = send(client, page_of("studies:members", study), typed, follow=True)
    assert set(levels_on(page)) == {"success"}
    assert study.memberships.get(user__username="bea").role == "viewer"
    assert codes_on(page) == set()


@pytest.mark.parametrize(
    "step", ["studies:data", "studies:task", "recruitment:size", "recruitment:analysis-plan"]
)
def test_no_list_of_choices_is_to_be_left_empty(step, client, ruth):
    study = make_study(member=ruth)
    page = lxml.html.fromstring(client.get(page_of(step, study)).content)
    for select in page.xpath("//select[@id]"):
        told = page.xpath(f"//*[@id='{select.get('id')}_helptext']")
        assert not any("Leave empty" in one.text_content() for one in told), select.get("name")


@pytest.mark.parametrize(
    ("n", "shown_as", "is_said"), [(0, "plain", False), (1, "plain", True), (20, "markdown", True)]
)
def test_the_signs_of_markdown_are_said_however_few_texts_have_them(n, shown_as, is_said, ruth):
    study = make_study(instances=20, samples=1, member=ruth)
    some = Generation.objects.filter(pk__in=Generation.objects.order_by("pk")[:n].values("pk"))
    some.update(text="He studied **engineering physics** in Delft.")
    formats = recognised_formats(study.dataset)
    assert formats["generation_format"] == shown_as
    Study.objects.update(**formats)
    study.refresh_from_db()
    assert numbers_in(formats_in_words(study)) >= ({str(n), "40"} if is_said else set())
    assert bool(formats_in_words(study)) == is_said


def test_what_belongs_in_empty_guidelines_and_consent_is_shown_and_never_stored(client, study):
    Study.objects.update(guidelines="", consent="")
    address = page_of("studies:task", study)
    page = lxml.html.fromstring(client.get(address).content)
    for name in ("guidelines", "consent"):
        (field,) = page.xpath(f"//textarea[@name='{name}']")
        assert len(field.get("placeholder").splitlines()) == 2
        assert not field.text.strip()
    send_step(client, address)
    stored = Study.objects.get()
    assert (stored.guidelines, stored.consent) == ("", "")
