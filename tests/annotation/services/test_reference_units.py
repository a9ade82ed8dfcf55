"""The number of reference units that the screening needs before annotators may enter."""

import re
from collections import Counter

import pytest
from django.contrib.auth.models import User
from django.db.models import Count

from annotation.services.planning import (
    ensure_plan,
    forecast_plan,
    hits_to_collect,
    plan_hits,
)
from annotation.services.reference_units import (
    ReferencePair,
    add_reference_units,
    degrade_copies,
    remove_reference_unit,
    shown_before_rated,
)
from annotation.services.screening import (
    Shortfall,
    reference_units_needed,
    screening_problems,
)
from studies.design.steps import study_frame
from studies.models import Generation, Instance, Screening, Study, Unit
from tests.pages import numbers_in
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_study

pytestmark = pytest.mark.django_db

PROSE = "The committee met on Tuesday to discuss the budget. It agreed to spend more on roads."


def draft(*, gold: int = 0, test: int = 0, training: int = 0, **screening) -> Study:
    """Return a planned draft with these numbers of reference units."""
    study = make_study(instances=14, comparisons_per_hit=1)
    Generation.objects.update(text=PROSE)
    plan_hits(study=study)
    for role, n in (("gold", gold), ("training", training), ("qualification", test)):
        if n:
            degrade_copies(study=study, role=Unit.Role(role), n=n)
    Screening.objects.create(study=study, **screening)
    return study


def test_it_works():
    study = draft(test=5, qualification_units=10, training_units=2)
    assert screening_problems(study).shortfalls == [
        Shortfall(Unit.Role.TRAINING, needed=2, present=0),
        Shortfall(Unit.Role.QUALIFICATION, needed=10, present=5),
    ]


def test_a_screening_that_has_its_units_lacks_none():
    study = draft(test=10, training=2, gold=1, qualification_units=10, training_units=2)
    Screening.objects.update(check_rate=0.1)
    assert screening_problems(study).shortfalls == []
    Screening.objects.all().delete()
    assert screening_problems(study).shortfalls == []


def test_gold_checks_need_as_many_units_as_have_to_be_failed():
    study = draft(gold=1, check_rate=0.2, check_action="stop", checks_failed=2)
    assert screening_problems(study).shortfalls == [Shortfall(Unit.Role.GOLD, needed=2, present=1)]
    Screening.objects.update(check_action="record")
    assert screening_problems(study).shortfalls == []


def test_units_whose_known_labels_no_criterion_has_do_not_count():
    study = draft(test=3, qualification_units=3)
    study.criteria.update(name="quality")
    assert screening_problems(study).shortfalls == [
        Shortfall(Unit.Role.QUALIFICATION, needed=3, present=0)
    ]


def test_units_whose_known_label_is_not_on_the_scale_do_not_count():
    study = draft(test=3, qualification_units=3)
    study.criteria.update(scale="ordinal:1..5")
    assert screening_problems(study).shortfalls[0].present == 0


def test_a_pass_mark_above_the_units_of_a_try_cannot_be_reached():
    study = draft(test=5, qualification_units=3, pass_mark=4)
    assert screening_problems(study).is_pass_mark_too_high
    Screening.objects.update(pass_mark=3)
    assert not screening_problems(study).is_pass_mark_too_high


def test_the_checks_that_one_annotator_meets_follow_from_the_rate_and_the_limit():
    study = draft(gold=2, check_rate=0.5)
    assert reference_units_needed(study)[Unit.Role.GOLD] == 7
    Study.objects.update(hits_per_annotator=4)
    assert reference_units_needed(Study.objects.get())[Unit.Role.GOLD] == 2


def of_own_texts(study: Study, role: Unit.Role, n: int) -> None:
    """Add reference units of the texts that the systems themselves wrote."""
    instances = study.dataset.instances.order_by("pk")[:n]
    size = 2 if study.unit_kind == "comparison" else 1
    pairs = []
    for number, instance in enumerate(instances):
        order = "-system" if number % 2 else "system"
        texts = instance.generations.filter(sample_index=0).order_by(order)
        pairs.append(ReferencePair(*[*texts[:size], None][:2], {"preference": "1"}))
    add_reference_units(study=study, role=role, pairs=pairs)


def texts_shown(study: Study, **of: str) -> Counter[tuple[int, ...]]:
    units = study.units.filter(**of).with_texts()
    return Counter(tuple(sorted(text.generation_id for text in unit.text_list)) for unit in units)


@pytest.mark.parametrize("role", [Unit.Role.GOLD, Unit.Role.TRAINING, Unit.Role.QUALIFICATION])
@pytest.mark.parametrize(
    ("design", "scale"),
    [
        ({"comparisons_per_hit": 2}, "preference"),
        ({"bundling": "mixed", "comparisons_per_hit": 2}, "preference"),
        ({"sample_choice": "balanced", "comparisons_per_hit": 2}, "preference"),
        ({"pairing": "random", "comparisons_per_hit": 1}, "preference"),
        ({"unit_kind": "generation"}, "ordinal:1..5"),
    ],
)
def test_nobody_rates_the_texts_of_a_reference_item_and_all_else_r_times(role, design, scale):
    study = make_study(instances=6, samples=2, scale=scale, ratings_per_hit=3, **design)
    plan_hits(study=study)
    before = texts_shown(study, role="main")
    of_own_texts(study, role, 3)
    apart = texts_shown(study, role=role)
    assert ensure_plan(study=study) is not None or not apart & before  # else it is outdated
    main = texts_shown(study, role="main")
    assert not apart & main
    assert set(main.values()) == {1}
    assert set(study.places.values("hit").annotate(n=Count("pk")).values_list("n", flat=True)) == {
        3
    }
    if study.unit_kind == "generation" or design == {"comparisons_per_hit": 2}:
        assert main == before - apart
    assert forecast_plan(study=study, selected=[]).units == main.total()
    # Where the reference item goes, its texts are rated again.
    for key in study.units.filter(role=role).values_list("key", flat=True):
        remove_reference_unit(study=study, key=key)
    plan_hits(study=study)
    assert texts_shown(study, role="main") == before


def test_what_is_rated_in_an_open_study_becomes_no_reference_item():
    study = make_open_study(instances=3, samples=2, comparisons_per_hit=1)
    (a, b), *_ = texts_shown(study, role="main")
    first, second = Generation.objects.get(pk=a), Generation.objects.get(pk=b)
    for pair in ((first, second), (second, first)):
        with refused("item_is_rated"):
            pairs = [ReferencePair(*pair, {"preference": "1"})]
            add_reference_units(study=study, role=Unit.Role.GOLD, pairs=pairs)
    other = {"instance": first.instance, "sample_index": 1 - first.sample_index}
    pair = ReferencePair(
        *Generation.objects.filter(**other).order_by("system"), {"preference": "1"}
    )
    add_reference_units(study=study, role=Unit.Role.GOLD, pairs=[pair])
    assert study.units.get(role="gold").instance == first.instance


def drawn_for_rating(study: Study, n: int) -> set[int]:
    """Draw the first instances for the study's pair."""
    a, b = study.ordered_systems()
    instances = list(study.dataset.instances.order_by("pk")[:n])
    for instance in instances:
        study.selected.create(
            instance=instance,
            system_a=a,
            system_b=b,
            phase="uniform",
            inclusion_probability=0.5,
            conditional_inclusion_probability=0.5,
        )
    return {instance.pk for instance in instances}


@pytest.mark.parametrize("is_planned", [False, True])
def test_training_and_the_test_show_texts_that_nobody_rates_where_there_are_any(is_planned):
    study = make_study(instances=12)
    Generation.objects.update(text=PROSE)
    rated = drawn_for_rating(study, 6)
    if is_planned:
        ensure_plan(study=study)
    for role in (Unit.Role.TRAINING, Unit.Role.QUALIFICATION):
        degrade_copies(study=study, role=role, n=3)
    assert not rated & set(study.units.exclude(role="main").values_list("instance", flat=True))
    assert not shown_before_rated(study)
    degrade_copies(study=study, role=Unit.Role.QUALIFICATION, n=2)
    assert sum(shown_before_rated(study).values()) == 2


def test_the_test_does_not_show_a_source_that_is_rated_too_while_there_are_others():
    study = make_study(instances=12)
    Generation.objects.update(text=PROSE)
    instances = list(Instance.objects.order_by("pk"))
    for n, instance in enumerate(instances):
        Instance.objects.filter(pk=instance.pk).update(source=f"Question {n if n < 5 else 5}?")
    degrade_copies(study=study, role=Unit.Role.QUALIFICATION, n=5)
    shown = set(study.units.filter(role="qualification").values_list("instance", flat=True))
    assert shown == {instance.pk for instance in instances[:5]}
    degrade_copies(study=study, role=Unit.Role.QUALIFICATION, n=1)


def test_where_everything_is_rated_it_is_said_how_many_are_shown_before():
    study = make_study(instances=4)
    Generation.objects.update(text=PROSE)
    degrade_copies(study=study, role=Unit.Role.GOLD, n=1)
    assert not shown_before_rated(study)
    degrade_copies(study=study, role=Unit.Role.TRAINING, n=2)
    assert sum(shown_before_rated(study).values()) == 2


NAMES = ("Ash", "Birch", "Cedar", "Elm", "Fir", "Hazel", "Maple", "Oak")
# The same is told of each instance, and only a number differs.
ALIKE = "To handle {0}, please come to us. Bring two documents. The fee is {1} euros. It takes {2}."


def test_no_copy_has_a_sentence_that_might_be_true_where_it_stands():
    study = make_study(instances=8)
    for n, text in enumerate(Generation.objects.order_by("instance", "pk")):
        name = NAMES[text.instance_id % 8]
        text.text = ALIKE.format(name, n, ("a week", "a day")[text.instance_id % 2])
        text.save(update_fields=["text"])
    degrade_copies(study=study, role=Unit.Role.QUALIFICATION, n=4)
    for unit in study.units.filter(role="qualification"):
        original, copy = (text.text for text in unit.generations)
        assert len(copy) < len(original)
        assert not {*re.findall(r"\w+", copy)} - {*re.findall(r"\w+", original)}


def test_a_copy_that_nobody_chose_how_to_make_has_sentences_of_another_text_in_place_of_its_own():
    study = make_study(instances=8)
    for text in Generation.objects.order_by("pk"):
        name = NAMES[text.instance_id % 8]
        text.text = f"{name} is first. It is old. Nobody is at {name}. It ends with {name}."
        text.save(update_fields=["text"])
    degrade_copies(study=study, role=Unit.Role.GOLD, n=4)
    for unit in study.units.filter(role="gold"):
        original, copy = (re.findall(r"[^.]+\.", one.text) for one in unit.generations)
        foreign = [new for old, new in zip(original, copy, strict=True) if old != new]
        # "It is old." is said of all, so in the place of another sentence it tells nothing.
        assert len(foreign) == 2
        assert all(any(name in one for name in NAMES) for one in foreign)


def test_copies_take_their_sentences_from_different_texts():
    study = make_study(instances=12, samples=1)
    for n, text in enumerate(Generation.objects.order_by("instance", "pk")):
        name = f"Item {text.instance_id}"
        word = NAMES[text.instance_id % 8] * (1 + text.instance_id % 12 // 8)
        text.text = f"{name} is {n * 'very '}{word}. It is new. It has {word}. {name} ends {word}."
        text.save(update_fields=["text"])
    degrade_copies(study=study, role=Unit.Role.GOLD, n=6)
    named = {
        (unit.instance_id, int(key))
        for unit in study.units.with_texts()
        for text in unit.generations
        for key in re.findall(r"Item (\d+)", text.text)
    }
    assert len({key for instance, key in named if key != instance}) >= 4


POEM = "# {0}\n\nThe *day* begins at {0}. It ends late. Nobody minds.\n\n- one {0}\n- two\n- three"
CODE = "def day(date):\n    # Weekends are off, {0}.\n    if date == {0}:\n        return 'off'\n    return 'on'\n"
SHORT = "Good evening, ladies and gentlemen,\nand welcome to item {0}!"


@pytest.mark.parametrize("shape", [POEM, CODE, SHORT])
@pytest.mark.parametrize("way", ["", "words/disorder/major"])
def test_a_copy_keeps_the_lines_of_its_text_and_most_of_its_words(shape, way):
    study = make_study(instances=8)
    for text in Generation.objects.order_by("pk"):
        text.text = shape.format(text.pk)
        text.save(update_fields=["text"])
    degrade_copies(study=study, role=Unit.Role.GOLD, n=6, perturbation=way)
    for unit in study.units.with_texts():
        original, copy = (text.text for text in unit.generations)
        begins = [re.match(r"[ \t]*(?:#+ |- )?", line)[0] for line in original.splitlines()]
        lines = copy.splitlines()
        assert copy != original
        assert len(lines) == len(begins)
        assert all(line.startswith(begin) for line, begin in zip(lines, begins, strict=True))
        words, left = (Counter(re.findall(r"\w+", text)) for text in (original, copy))
        assert (words & left).total() >= 0.55 * words.total()
        assert len(copy) <= 2.5 * len(original)


@pytest.mark.parametrize(("instances", "items", "set_aside"), [(12, 3, 3), (12, 4, 0), (8, 2, 2)])
def test_nobody_rates_the_instances_of_the_test_unless_these_are_many(instances, items, set_aside):
    study = make_study(instances=instances)
    Generation.objects.update(text=PROSE)
    plan_hits(study=study)
    degrade_copies(study=study, role=Unit.Role.QUALIFICATION, n=items)
    assert sum(shown_before_rated(study).values()) == items - set_aside
    assert hits_to_collect(study) == instances - set_aside
    assert (ensure_plan(study=study) is not None) == bool(set_aside)
    in_test, rated = (instances_of(study, role) for role in ("qualification", "main"))
    assert len(in_test - rated) == set_aside
    assert len(rated) == instances - set_aside
    steps = study_frame(study, User.objects.create_superuser("ada")).steps
    (shown,) = (one for one in steps if one.step.slug == "generate-select")
    assert numbers_in(shown.status.sentence) == ({str(set_aside)} if set_aside else set())


def instances_of(study: Study, role: str) -> set[int]:
    return set(study.units.filter(role=role).values_list("instance", flat=True))


def test_a_copy_that_takes_reading_is_as_long_and_takes_from_another_text_each_time():
    study = make_study(instances=9, comparisons_per_hit=1)
    topics = [
        "parks",
        "roads",
        "trains",
        "schools",
        "bridges",
        "markets",
        "gardens",
        "museums",
        "harbours",
    ]
    for topic, instance in zip(topics, study.dataset.instances.order_by("pk"), strict=True):
        text = f"We wrote about {topic}. Pay for {topic} there. All know {topic} here. Go to {topic} now."
        instance.generations.update(text=text)
    degrade_copies(study=study, role=Unit.Role.QUALIFICATION, n=4)
    donors = []
    for unit in study.units.filter(role="qualification"):
        original, copy = (text.text for text in unit.generations)
        assert abs(len(original) - len(copy)) <= 12
        assert len(copy.split(". ")) == len(original.split(". "))
        (own,) = (topic for topic in topics if original.count(topic) == 4)
        donors += {topic for topic in topics if topic in copy} - {own}
    assert len(donors) == len(set(donors)) == 4
