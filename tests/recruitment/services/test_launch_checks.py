from decimal import ROUND_UP, Decimal

import pytest
from django.db.models import F
from django.urls import reverse
from django.utils import timezone

from annotation.services.planning import ensure_plan, plan_hits, remove_plan
from annotation.services.reference_units import degrade_copies
from recruitment.costs import forecast, proposal_for
from recruitment.launch.channels import somebody_can_enter
from recruitment.models import encrypted
from recruitment.services import launch_checks as services
from recruitment.services.launch_checks import LaunchRefused, launch_checks
from recruitment.services.lifecycle import open_study, pause_study
from studies.design.steps import missing_steps
from studies.instance_selection.scoring import score_separability
from studies.models import (
    Criterion,
    Generation,
    Instance,
    InstanceSelection,
    Screening,
    Study,
    StudySystem,
    Unit,
)
from tests.pages import numbers_in
from tests.studies.factories import make_open_study, make_study

pytestmark = pytest.mark.django_db


def make_planned(**design) -> Study:
    study = make_study(**{"instances": 3, **design})
    plan_hits(study=study)
    return study


def errors(study: Study) -> set[str]:
    return {check.code for check in launch_checks(study) if check.is_error}


def warnings(study: Study) -> set[str]:
    return {check.code for check in launch_checks(study) if not check.is_error}


def refusal(study: Study, **confirmed) -> LaunchRefused:
    with pytest.raises(LaunchRefused) as refused:
        open_study(study=study, **confirmed)
    study.refresh_from_db()
    assert study.status in {"draft", "paused"}
    return refused.value


def prolific(study: Study, **state):
    return study.channels.create(
        provider="prolific", secret=encrypted("t"), external_id="60ab", **state
    )


def test_a_sound_study_has_nothing_in_its_way():
    study = make_planned()
    assert launch_checks(study) == []
    assert open_study(study=study).status == "open"


@pytest.mark.parametrize(
    ("screening", "code"),
    [
        ({"qualification_units": 3, "pass_mark": 2}, "no_qualification_units"),
        ({"training_units": 1}, "no_training_units"),
        ({"check_rate": 0.5}, "no_gold_units"),
    ],
)
def test_a_screening_without_its_units_does_not_open(screening, code):
    study = make_planned()
    Screening.objects.create(study=study, **screening)
    assert refusal(study).code == code
    assert errors(study) == {code}


def test_a_study_without_hits_does_not_open():
    assert refusal(make_study(instances=3)).code == "not_planned"


def test_annotators_learn_whom_they_agree_with():
    study = make_planned(consent=" ")
    assert warnings(study) == {"no_consent"}
    Study.objects.update(consent="We are the University of N.")
    assert launch_checks(Study.objects.get()) == []


def lengthen_texts() -> None:
    """So that copies can be degraded."""
    for generation in Generation.objects.all():
        generation.text = f"{generation.text} {' '.join(f'word{i}' for i in range(20))}"
        generation.save()


def test_fewer_gold_units_than_an_annotator_would_meet_is_a_warning():
    study = make_planned(instances=6)
    lengthen_texts()
    degrade_copies(study=study, role=Unit.Role.GOLD, n=2)
    Screening.objects.create(study=study, check_rate=1)
    assert "few_gold_units" in warnings(study)
    degrade_copies(study=study, role=Unit.Role.GOLD, n=4)
    assert "few_gold_units" not in warnings(study)


@pytest.mark.parametrize(
    ("rate", "action", "is_late"),
    [(0.2, "stop", True), (0.2, "record", False), (0.5, "stop", False), (0, "stop", False)],
)
def test_an_action_that_waits_for_more_failures_than_people_meet_checks(rate, action, is_late):
    study = make_planned(instances=6)
    Screening.objects.create(study=study, check_rate=rate, check_action=action, checks_failed=2)
    Study.objects.update(hits_per_annotator=4)
    assert ("gold_action_too_late" in warnings(Study.objects.get())) == is_late


def test_gold_checks_on_other_instances_than_their_tasks_are_a_warning():
    study = make_planned(instances=6)
    lengthen_texts()
    degrade_copies(study=study, role=Unit.Role.GOLD, n=2)
    screening = Screening.objects.create(study=study, check_rate=0.5)
    assert "gold_checks_stand_out" in warnings(study)
    Screening.objects.update(check_rate=0.3)
    assert "gold_checks_stand_out" not in warnings(study)
    screening.save()
    Study.objects.update(comparisons_per_hit=1)
    assert "gold_checks_stand_out" not in warnings(Study.objects.get())


def test_a_test_that_nobody_can_pass_does_not_open():
    study = make_planned(instances=6)
    lengthen_texts()
    degrade_copies(study=study, role=Unit.Role.QUALIFICATION, n=2)
    Screening.objects.create(study=study, qualification_units=2, pass_mark=9)
    assert refusal(study).code == "pass_mark_unreachable"


def test_a_study_without_guidelines_warns_and_with_questions_about_them_is_refused():
    study = make_planned(guidelines=" ")
    assert warnings(study) == {"no_guidelines"}
    study.comprehension.create(text="What counts?", choices="a\nb")
    assert errors(study) == {"no_guidelines"}


def test_a_study_that_asks_nothing_does_not_open():
    study = make_planned()
    Criterion.objects.all().delete()
    assert refusal(study).code == "no_criteria"


@pytest.mark.parametrize(
    ("samples", "code", "numbers"),
    [(5, "too_few_generations", {"1", "3"}), (3, "n_without_effect", {"5", "3"})],
)
def test_fewer_generations_than_n_are_counted_before_and_after_planning(samples, code, numbers):
    study = make_study(instances=3, samples=samples)
    Generation.objects.filter(sample_index=2, instance__key="note-0").delete()
    study = Study.objects.get(pk=study.pk)
    study.comparisons_per_hit = 5
    study.save()
    sentences = {check.code: check.sentence for check in launch_checks(study)}
    assert numbers <= numbers_in(sentences[code])
    plan_hits(study=study)
    assert code in warnings(study)


def test_the_advice_on_an_n_without_effect_changes_no_task():
    study = make_planned(samples=2, comparisons_per_hit=5)
    assert warnings(study) == {"n_without_effect"}
    for advice in ({"comparisons_per_hit": 2}, {"bundling": "mixed"}):
        Study.objects.update(bundling="instance", comparisons_per_hit=5)
        Study.objects.update(**advice)
        advised = Study.objects.get()
        assert not {"n_without_effect", "too_few_generations"} & warnings(advised)
        assert (ensure_plan(study=advised) is None) == ("comparisons_per_hit" in advice)


def test_instances_without_texts_of_both_systems_are_said_to_be_left_out():
    study = make_study(instances=3)
    Generation.objects.filter(instance__key="note-0", system__name="system-1").delete()
    plan_hits(study=study)
    assert {"1", "3"} <= numbers_in(launch_checks(study)[0].sentence)
    assert warnings(study) == {"instances_left_out"}
    # Only texts of one system are missing, so no instance can be half of another.
    split = "instances of their own"
    assert split not in launch_checks(study)[0].advice
    remove_plan(study)
    Generation.objects.filter(instance__key="note-1", system__name="system-0").delete()
    plan_hits(study=study)
    assert split in launch_checks(study)[0].advice


@pytest.mark.parametrize("told_apart_by", ["instance", "sample_index"])
def test_a_study_in_which_nothing_compares_is_refused_and_no_step_of_its_data_is_done(
    told_apart_by,
):
    study = make_study(instances=4)
    first, second = study.ordered_systems()
    if told_apart_by == "instance":
        for n, instance in enumerate(study.dataset.instances.order_by("pk")):
            instance.generations.filter(system=(first, second)[n % 2]).delete()
    else:
        second.generations.update(sample_index=F("sample_index") + 100)
    assert errors(study) == {"nothing_to_plan"}
    assert "instances_left_out" not in warnings(study)
    assert refusal(study).code == "nothing_to_plan"
    left = {shown.step.slug for shown in missing_steps(study)}
    assert {"data", "generate-select"} <= left
    Study.objects.update(unit_kind="generation")
    study.refresh_from_db()
    assert "nothing_to_plan" not in errors(study)
    left = {shown.step.slug for shown in missing_steps(study)}
    assert not {"data", "generate-select"} & left


@pytest.mark.parametrize(
    "change",
    [
        {"ratings_per_hit": 4},
        {"comparisons_per_hit": 3},
        {"repeats_per_hit": 1},
        {"bundling": "mixed"},
    ],
)
def test_a_plan_of_another_design_does_not_open(change):
    study = make_planned()
    Study.objects.filter(pk=study.pk).update(**change)
    study.refresh_from_db()
    assert "plan_outdated" in errors(study)
    plan_hits(study=study)
    assert "plan_outdated" not in errors(study)


def test_a_plan_of_other_systems_does_not_open():
    study = make_planned(systems=3)
    StudySystem.objects.filter(study=study).last().delete()
    assert errors(study) == {"plan_outdated"}


def test_a_budget_that_cannot_fill_r_warns_with_the_places_that_stay_empty():
    study = make_planned(most_answers=4)
    assert warnings(study) == {"budget_too_small"}
    assert "5" in numbers_in(launch_checks(study)[0].sentence)


def test_fewer_people_than_r_takes_warn():
    study = make_planned(ratings_per_hit=3)
    channel = study.channels.create(provider="invitation", settings={"people": "ada\nbea"})
    assert warnings(study) == {"too_few_people"}
    channel.settings = {"people": "ada\nbea\ncyn"}
    channel.save()
    assert warnings(study) == set()
    Study.objects.filter(pk=study.pk).update(hits_per_annotator=1)
    study.refresh_from_db()
    assert "9" in numbers_in(launch_checks(study)[0].sentence)


def test_a_maximum_of_people_that_cannot_give_all_responses_warns():
    study = make_planned(ratings_per_hit=3, hits_per_annotator=1, reward=Decimal(1))
    needed = study.places_of(study.hits.main().count())
    channel = study.channels.create(provider="open-link", settings={"most_people": needed - 1})
    assert "too_few_admitted" in warnings(study)
    sentence = next(one.sentence for one in launch_checks(study) if one.code == "too_few_admitted")
    assert {str(needed - 1), str(needed)} <= numbers_in(sentence)
    channel.settings = {"most_people": needed}
    channel.save()
    assert "too_few_admitted" not in warnings(study)


@pytest.mark.parametrize(
    ("reward", "code"),
    [("0.99", {"under_promise"}), ("1", set()), ("3", set()), ("3.01", {"over_promise"})],
)
def test_pay_below_the_promise_or_far_beyond_it_warns(reward, code):
    study = make_planned(hits_per_annotator=1, minutes_per_hit=4, promised_hourly_rate=15)
    study.channels.create(provider="open-link")
    Study.objects.filter(pk=study.pk).update(reward=Decimal(reward), consent="", guidelines="")
    study.refresh_from_db()
    unread = {"pay_not_claimable", "no_consent", "no_guidelines"}
    assert warnings(study) - unread == code


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ({"hits_per_day": 5, "hits_per_annotator": 2}, "limits_contradict"),
        ({"most_answers_per_day": 50, "most_answers": 9}, "limits_contradict"),
        ({"entries_per_address_per_hour": 20, "annotators_per_address": 5}, "limits_contradict"),
        ({"minutes_per_hit": 50, "lease_minutes": 5}, "lease_too_short"),
        ({"comparisons_per_hit": 2, "repeats_per_hit": 1, "repeat_distance": 2}, None),
    ],
)
def test_limits_that_contradict_each_other_are_found(limits, code):
    codes = {check.code for check in launch_checks(make_planned(**limits))}
    assert codes == ({code} if code else set())


def test_repeats_that_short_hits_cannot_hold_warn():
    study = make_planned(samples=2, repeats_per_hit=1, repeat_distance=4)
    assert warnings(study) == {"repeats_do_not_fit", "n_without_effect"}


def test_a_prolific_study_needs_reward_minutes_and_a_limit(settings):
    settings.TIEBREAK_PUBLIC_URL = "https://rate.example.org"
    study = make_planned()
    channel = prolific(study)
    assert errors(study) == {"prolific_no_reward", "prolific_no_minutes", "prolific_no_limit"}
    assert refusal(study).code == "launch_blocked"
    Study.objects.filter(pk=study.pk).update(
        reward=Decimal(1), minutes_per_hit=2, hits_per_annotator=1
    )
    study.refresh_from_db()
    assert errors(study) == set()
    channel.closed_at = timezone.now()
    channel.save()
    Study.objects.filter(pk=study.pk).update(reward=None)
    study.refresh_from_db()
    assert errors(study) == set()  # a way that is closed asks for nothing


def test_dummy_texts_are_never_shown_to_people():
    study = make_planned()
    Generation.objects.filter(system__name="system-0").update(is_dummy=True)
    assert refusal(study).code == "dummy_texts"


def test_a_field_that_no_instance_has_is_named():
    study = make_planned()
    study.fields = "passage\nhint"
    Instance.objects.filter(key="note-0").update(metadata={"hint": "A hint."})
    (check,) = (check for check in launch_checks(study) if check.code == "absent_fields")
    assert "passage" in check.sentence
    assert "hint" not in check.sentence


def test_units_with_the_same_text_twice_are_counted():
    study = make_planned()
    Generation.objects.filter(instance__key="note-0").update(text="The same.")
    assert warnings(study) == {"identical_texts"}
    assert {"5", "15"} <= numbers_in(launch_checks(study)[0].sentence)


def test_units_without_a_text_do_not_open():
    study = make_planned()
    study.units.first().texts.filter(position=1).update(generation=None)
    assert "missing_texts" in errors(study)
    Generation.objects.filter(instance__key="note-1", sample_index=0).update(text="")
    assert "empty_texts" in warnings(study)


def test_scores_are_missed_where_some_are_there_or_the_draw_needs_them():
    study = make_planned()
    score_separability(study=study)
    assert launch_checks(study) == []
    study.units.filter(instance__key="note-0").update(separability_raw=None)
    assert warnings(study) == {"scores_missing"}
    InstanceSelection.objects.create(study=study, instances=3)
    a, b = study.ordered_systems()
    for instance in study.dataset.instances.all():
        study.selected.create(
            instance=instance, system_a=a, system_b=b, phase="all", inclusion_probability=1
        )
    assert errors(study) == {"draw_not_scored"}


def test_a_similarity_that_cannot_be_scored_here_warns(monkeypatch):
    study = make_planned(similarity="bertscore")
    advice = "Install the encoder."
    monkeypatch.setattr("recruitment.launch.plan.what_is_missing", lambda name: advice)
    assert warnings(study) == {"encoder_missing"}
    assert advice in launch_checks(study)[0].sentence


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("address", "is_public"),
    [
        ("", False),
        ("http://rate.example.org", False),
        ("https://localhost:8000", False),
        ("https://10.0.0.7", False),
        ("https://127.0.0.1", False),
        ("https://[::1]", False),
        ("https://server", False),
        ("https://lab.local", False),
        ("https://rate.example.org", True),
        ("https://8.8.8.8", True),
    ],
)
def test_a_platform_needs_an_address_that_is_public(settings, address, is_public):
    settings.TIEBREAK_PUBLIC_URL = address
    study = make_planned(reward=Decimal(1), minutes_per_hit=2, hits_per_annotator=1)
    assert "address_not_public" not in errors(study) | warnings(study)  # nobody is sent
    prolific(study)
    assert errors(study) == (set() if is_public else {"address_not_public"})


def test_in_production_an_address_that_is_not_public_warns_without_a_platform(settings):
    settings.PRODUCTION, settings.TIEBREAK_PUBLIC_URL = True, "https://10.0.0.7"
    assert warnings(make_planned()) == {"address_not_public"}


def test_a_way_that_is_not_ready_leaves_the_open_link_open_and_says_so():
    study = make_planned()
    study.channels.create(provider="invitation")
    assert warnings(study) == {"open_to_all"}
    study.channels.all().delete()
    study.channels.create(provider="open-link", closed_at=timezone.now())
    assert warnings(study) == {"no_open_channel"}


def test_a_draft_on_a_platform_waits_until_the_study_is_open(settings):
    settings.TIEBREAK_PUBLIC_URL = "https://rate.example.org"
    study = make_planned(reward=Decimal(1), minutes_per_hit=2, hits_per_annotator=1)
    channel = prolific(study, external_status="UNPUBLISHED")
    assert launch_checks(study) == []
    study = open_study(study=study)
    assert [check.code for check in somebody_can_enter(study)] == ["not_published"]
    channel.closed_at = timezone.now()
    channel.save()
    assert [check.code for check in somebody_can_enter(study)] == ["no_open_channel"]


def test_a_warning_is_confirmed_by_its_code_and_a_new_one_is_not():
    study = make_planned(guidelines="")
    refused = refusal(study)
    assert refused.code == "unconfirmed_warnings"
    seen = {check.code for check in refused.checks}
    Generation.objects.filter(instance__key="note-0").update(text="The same.")
    late = refusal(study, confirmed_warnings=seen)
    assert {check.code for check in late.checks} == {"identical_texts"}
    assert open_study(study=study, confirmed_warnings=seen | {"identical_texts"}).status == "open"
    assert set(study.events.get().details["confirmed_warnings"]) == seen | {"identical_texts"}


def test_confirming_does_not_help_against_an_error():
    study = make_planned(guidelines="")
    Generation.objects.update(is_dummy=True)
    assert refusal(study, confirmed_warnings={"no_guidelines", "dummy_texts"}).code == "dummy_texts"


def test_after_a_pause_only_what_annotators_stumble_over_stands_in_the_way():
    study = make_open_study(instances=3, guidelines="")
    pause_study(study=study)
    Generation.objects.filter(instance__key="note-0").update(text="The same.", is_dummy=True)
    assert open_study(study=study).status == "open"
    pause_study(study=study)
    Screening.objects.create(study=study, check_rate=1)
    assert refusal(study).code == "no_gold_units"


@pytest.mark.parametrize(("most", "times"), [(3, 1), (2, 0)])
def test_a_page_plans_a_draft_on_trial_if_it_has_few_items(monkeypatch, most, times):
    study, planned = make_study(instances=3, comparisons_per_hit=1), []
    plan = services.ensure_plan
    monkeypatch.setattr(services, "ensure_plan", lambda study: planned.append(plan(study=study)))
    monkeypatch.setattr(services, "MOST_ITEMS", most)
    assert "not_planned" in {check.code for check in services.shown_checks(study)}
    assert len(planned) == times
    assert not study.hits.exists()


@pytest.mark.parametrize(("words", "is_told"), [(400, False), (2000, True)])
def test_far_less_pay_for_one_task_than_is_promised_for_all_is_told_and_no_warning(
    words, is_told, admin_client
):
    study = make_planned(instances=4, ratings_per_hit=1, hits_per_annotator=4)
    hour = Decimal(12)
    Study.objects.update(guidelines="word " * words, minutes_per_hit=1, promised_hourly_rate=hour)
    study.refresh_from_db()
    study.reward = proposal_for(study, hits=4).value
    study.save()
    told = forecast(study, hits=4).of_who_stops
    assert bool(told) == is_told
    assert told not in {check.finding for check in launch_checks(study)}
    assert not warnings(study) & {"under_promise", "last_is_under_promise"}
    page = admin_client.get(reverse("recruitment:size", args=[study.pk])).text
    assert ("data-stops" in page) == is_told


@pytest.mark.parametrize(
    ("tasks", "code"), [(3, {"last_is_under_promise"}), (4, set()), (5, set()), (2, set())]
)
def test_tasks_that_are_left_for_the_last_person_are_paid_as_promised_too(tasks, code):
    """Of 4 responses, somebody does the fourth alone, after reading for as long as the others."""
    study = make_planned(instances=4, ratings_per_hit=1, hits_per_annotator=tasks)
    hour = Decimal(12)
    Study.objects.update(guidelines="word " * 400, minutes_per_hit=1, promised_hourly_rate=hour)
    study.refresh_from_db()
    read = round((400 + len(study.consent.split())) / 200, 1)
    study.reward = hour * Decimal(read + min(tasks, 4)) / 60 * tasks / min(tasks, 4)
    study.save()
    assert {one for one in warnings(study) if "promise" in one} == code
    cost = forecast(study, hits=4)
    minutes = {part: round(n, 9) for part, n in cost.asked.parts.items()}
    assert minutes == {"consent and guidelines": read, "tasks": min(tasks, 4)}
    lowest = {one.tasks: one.rate for one in cost.lowest}
    share = (study.reward / tasks).quantize(Decimal("0.01"), ROUND_UP)
    hours = Decimal(read + 1) / 60
    assert lowest[1] == (share / hours).quantize(Decimal("0.01"))
