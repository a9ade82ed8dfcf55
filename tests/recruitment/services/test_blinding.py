"""What gives a system away before a study opens: names, phrases, formats and lengths."""

import re

import pytest
from django.db.models import TextField, Value
from django.db.models.functions import Cast, Concat
from django.urls import reverse

from annotation.services.planning import plan_hits
from recruitment.launch.blinding import blinding
from recruitment.services.launch_checks import launch_checks
from recruitment.services.lifecycle import open_study
from studies.models import Generation, Instance, Study
from tests.pages import numbers_in
from tests.studies.factories import make_study

pytestmark = pytest.mark.django_db
KEYS = re.compile(r"note-\d+")


def study_with(first: str, second: str = "The vote was postponed.", **design) -> Study:
    study = make_study(instances=4, samples=3, **design)
    for system, text in zip(study.ordered_systems(), (first, second), strict=True):
        Generation.objects.filter(system=system).update(text=text)
    return study


def warnings_of(study: Study) -> dict[str, str]:
    return {check.code: check.sentence for check in blinding(study)}


def test_texts_that_give_nothing_away_are_not_warned_of():
    assert warnings_of(study_with("The vote was delayed.")) == {}


@pytest.mark.parametrize(
    "text",
    [
        "I am ChatGPT, and the vote was late.",
        "Claude says that it was delayed.",
        "It was delayed (OpenAI).",
        "By system-1: it was delayed.",
    ],
)
def test_names_of_systems_models_and_vendors(text):
    sentence = warnings_of(study_with(text))["texts_name_systems"]
    assert numbers_in(sentence) >= {"12"}
    assert "note-0, note-1, note-2" in sentence


@pytest.mark.parametrize("text", ["A llamas' farm.", "gemination", "subsystem-10 failed"])
def test_parts_of_words_are_no_names(text):
    assert "texts_name_systems" not in warnings_of(study_with(text))


def test_a_name_in_the_source_text_gives_nothing_away():
    study = study_with("Claude painted the harbour.")
    assert "texts_name_systems" in warnings_of(study)
    Instance.objects.filter(key="note-0").update(source="Who is Claude Monet?")
    Instance.objects.filter(key="note-1").update(
        messages=[{"role": "user", "content": "Who is Claude Monet?"}]
    )
    assert numbers_in(warnings_of(study)["texts_name_systems"]) >= {"6"}
    Instance.objects.update(source="Who is Claude Monet?")
    assert "texts_name_systems" not in warnings_of(study)


def test_the_names_of_the_systems_language_models():
    study = study_with("This was written by tinyneural.")
    assert warnings_of(study) == {}
    study.dataset.systems.update(language_model="TinyNeural")
    assert "texts_name_systems" in warnings_of(study)


@pytest.mark.parametrize(
    "text",
    [
        "As an AI, I cannot vote.",
        "I'm a large language model.",
        "As a language model I have no opinion.",
        "I was trained by a company.",
        "Since my knowledge cutoff, things may have changed.",
    ],
)
def test_texts_that_say_that_they_are_an_ai(text):
    sentence = warnings_of(study_with(text))["texts_say_ai"]
    assert numbers_in(sentence) >= {"12"}
    assert "note-0" in sentence


@pytest.mark.parametrize("text", ["He trained by the river.", "She said: as a model of an AI lab."])
def test_ordinary_sentences_do_not(text):
    assert "texts_say_ai" not in warnings_of(study_with(text))


@pytest.mark.parametrize(
    "text",
    [
        "# Vote\nIt was late.",
        "The **vote** was late.",
        "- a vote\n- a delay",
        "1. a vote\n2. a delay",
        "|vote|delay|",
        "```\nvote\n```",
        "so \\boxed{4} votes",
        "The vote\nwas late.",
        "Sure, the vote was late.",
        "The vote was late \U0001f600.",
    ],
)
def test_formats_of_one_system_only(text):
    study = study_with(text)
    sentence = warnings_of(study)["telltale_format"]
    assert "system-0: 12 of 12" in sentence
    assert "system-1: 0 of 12" in sentence
    Generation.objects.update(text=text)
    assert "telltale_format" not in warnings_of(study)


def test_a_gap_between_the_lengths_of_texts():
    study = study_with("x" * 100, "y" * 40)
    assert numbers_in(warnings_of(study)["length_gap"]) >= {"2.50", "100", "40"}
    Generation.objects.filter(text="y" * 40).update(text="y" * 70)
    assert "length_gap" not in warnings_of(study)


def test_a_few_texts_say_nothing_about_a_system():
    study = make_study(instances=1, samples=9)
    Generation.objects.filter(system__name="system-0").update(text="# Vote\n" + "x" * 500)
    assert warnings_of(study) == {}


def test_dummy_texts_and_other_systems_are_not_read():
    study = study_with("As an AI, I cannot vote.")
    assert "texts_say_ai" in warnings_of(study)
    Generation.objects.update(is_dummy=True)
    assert warnings_of(study) == {}
    Generation.objects.update(is_dummy=False)
    study.study_systems.filter(system__name="system-0").delete()
    assert warnings_of(study) == {}


def test_the_launch_checks_warn_of_it():
    checks = {check.code: check for check in launch_checks(study_with("As an AI, I abstain."))}
    assert not checks["texts_say_ai"].is_error


@pytest.mark.thorough
def test_ten_thousand_texts_are_checked_with_four_statements(django_assert_max_num_queries):
    study = make_study(instances=50, samples=100)
    text = "The committee met on Tuesday to discuss the budget and the roads. " * 30
    Generation.objects.update(text=Concat(Cast("pk", TextField()), Value(f" {text}")))
    assert Generation.objects.count() == 10_000
    with django_assert_max_num_queries(4):
        assert warnings_of(study) == {}


def test_texts_that_are_no_outputs_are_one_warning_that_leads_to_their_items(
    client, django_user_model
):
    study = make_study(instances=12, samples=1)
    text = Concat(Value("The committee met on Tuesday to discuss road "), Cast("pk", TextField()))
    Generation.objects.update(text=text)
    assert "odd_texts" not in warnings_of(study)
    for key, odd in (("note-3", "ERROR: rate limit"), ("note-8", "[content filter]")):
        Generation.objects.filter(instance__key=key, system__name="system-1").update(text=odd)
    found = [check for check in blinding(study) if check.code == "odd_texts"]
    assert len(found) == 1
    assert {"2", "note-3", "note-8"} <= numbers_in(found[0].sentence) | {
        *KEYS.findall(found[0].sentence)
    }
    client.force_login(django_user_model.objects.create_superuser("ida"))
    launch = client.get(reverse("recruitment:launch", args=[study.pk])).content.decode()
    address = f"{reverse('annotation:data', args=[study.pk])}?{found[0].items}"
    assert address in launch
    page = client.get(address)
    assert [item.key for item, _ in page.context["rows"]] == ["note-3", "note-8"]


def test_a_system_whose_texts_are_cut_off_is_warned_of():
    study = make_study(instances=12, samples=1)
    road = Value("The committee met on Tuesday to discuss road ", TextField())
    cut = Concat(road, Cast("pk", TextField()))
    Generation.objects.update(text=Concat(cut, Value(".", TextField())))
    assert "telltale_texts" not in warnings_of(study)
    Generation.objects.filter(system__name="system-1").update(text=cut)
    assert {"12", "0"} <= numbers_in(warnings_of(study)["telltale_texts"])
    assert "cut off" in warnings_of(study)["telltale_texts"]
    whole = Concat(Value("Here is a summary. ", TextField()), cut, Value(".", TextField()))
    Generation.objects.filter(system__name="system-1").update(text=whole)
    assert "cut off" not in warnings_of(study)["telltale_texts"]


def test_what_is_final_is_told_without_advice(client, django_user_model):
    study = study_with("As an AI, I abstain.")
    plan_hits(study=study)
    open_study(study=study, confirmed_warnings={check.code for check in launch_checks(study)})
    advice = {check.code: check.advice for check in blinding(study)}["texts_say_ai"]
    assert advice
    client.force_login(django_user_model.objects.create_superuser("ida"))
    page = client.get(reverse("recruitment:launch", args=[study.pk])).content.decode()
    assert "texts_say_ai" in page
    assert advice not in page
