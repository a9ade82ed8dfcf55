"""Check the guidelines, the criteria and the reference units that screening needs."""

from collections import Counter
from collections.abc import Iterator

from django.utils.text import get_text_list

from annotation.gold_checks import expected_side
from annotation.services.reference_units import ROLES, shown_before_rated
from annotation.services.screening import (
    gold_checks_met,
    reference_units_needed,
    role_counts,
    screening_of,
    screening_problems,
)
from recruitment.launch.check import (
    QUALITY,
    TASK,
    LaunchCheck,
    error,
    warning,
)
from studies.instance_selection.set_aside import LEAST_RATED
from studies.models import Screening, Study, Unit
from tiebreak.digits import counted, in_digits, percent


def guidelines(study: Study) -> Iterator[LaunchCheck]:
    if study.guidelines.strip():
        return
    if study.comprehension.exists():
        yield error(
            "no_guidelines",
            "Annotators are asked questions about the guidelines, but the guidelines are empty."
            " Write the guidelines, or delete the questions.",
            TASK,
        )
    else:
        yield warning(
            "no_guidelines",
            "There are no guidelines: annotators see the question without an explanation. Write"
            " what they should look for.",
            TASK,
        )


def consent(study: Study) -> Iterator[LaunchCheck]:
    """Annotators are told to ask the researchers to erase what is stored, so these need a name."""
    if not study.consent.strip():
        yield warning(
            "no_consent",
            "There is no consent text: annotators do not learn who you are or how to reach you. In"
            " “consent”, name yourself, your institution and an address.",
            TASK,
        )


def consent_beside_guidelines(study: Study) -> Iterator[LaunchCheck]:
    """While a draft has no guidelines either, nobody has begun to write what annotators read."""
    if study.guidelines.strip():
        yield from consent(study)


def criteria(study: Study) -> Iterator[LaunchCheck]:
    if not study.criteria.exists():
        yield error("no_criteria", "The study asks annotators nothing. Add a criterion.", TASK)


def reference_units(study: Study) -> Iterator[LaunchCheck]:
    """Without them, annotators who consented would face a test nobody can take or pass."""
    problems = screening_problems(study)
    for lack in problems.shortfalls:
        needed = reference_units_needed(study)[lack.role]
        yield error(
            f"no_{lack.role.value}_units",
            f"Screening needs {counted(needed, 'reference item')} for {ROLES[lack.role]}, but"
            f" the study has {lack.present or 'none'}. Make more, or lower the number in the"
            " screening settings.",
            QUALITY,
        )
    if problems.is_pass_mark_too_high:
        yield error(
            "pass_mark_unreachable",
            "The pass mark is higher than the number of items in the test. Lower the pass mark, or"
            " add items to the test.",
            QUALITY,
        )


def nobody_rates_what_the_test_told(study: Study) -> Iterator[LaunchCheck]:
    """Whoever has learned which text of an instance is right does not judge it afresh."""
    # Once the study is open, nothing can be done about it.
    before = shown_before_rated(study) if study.opened_at is None else {}
    if not before:
        return
    listed = get_text_list(
        [f"{counted(n, 'item')} of {ROLES[role]}" for role, n in before.items()], "and"
    )
    way_out = (
        "Remove these items and make them anew: then they are of instances that were not drawn."
        if study.selected.exists()
        else f"At most one instance in {LEAST_RATED} is set aside for this: remove items and lower"
        " their numbers, or add instances on Data."
    )
    yield warning(
        "shown_before_rated",
        f"The same people rate the instances of {listed} afterwards, and know one text of each as the"
        f" right answer. {way_out}",
        QUALITY,
    )


def gold_checks_for_all(study: Study) -> Iterator[LaunchCheck]:
    gold = next(count for count in role_counts(study) if count.role == Unit.Role.GOLD)
    lacking = {lack.role for lack in screening_problems(study).shortfalls}
    if gold.is_short and gold.role not in lacking:
        yield warning(
            "few_gold_units",
            f"An annotator who does as many tasks as allowed needs about"
            f" {counted(gold.needed, 'gold check')}, but the study has {gold.present}. Nobody sees the same"
            " one twice, so later tasks would have none. Make more items for gold checks, or lower"
            " their share.",
            QUALITY,
        )


def gold_action_can_happen(study: Study) -> Iterator[LaunchCheck]:
    """An action that waits for more failures than somebody meets checks is never taken."""
    screening = screening_of(study)
    if screening is None or screening.check_action == Screening.CheckAction.RECORD:
        return
    met, failed = gold_checks_met(study, screening), screening.checks_failed
    if 0 < met < failed:
        yield warning(
            "gold_action_too_late",
            f"Somebody who does as many tasks as allowed meets about"
            f" {in_digits(met)} gold checks, but the action waits for {failed} failed"
            " ones. Raise the share of gold checks or the tasks per annotator, or lower the number"
            " of failures.",
            QUALITY,
        )


def gold_checks_look_like_other_items(study: Study) -> Iterator[LaunchCheck]:
    """In a task about one instance, a check about another instance shows what it is."""
    screening, hits = screening_of(study), study.hits.main()
    if not screening or not screening.check_rate or not study.shares_instance:
        return
    gold = study.units.filter(role=Unit.Role.GOLD)
    present, total = hits.filter(instance__in=gold.values("instance")).count(), hits.count()
    if gold.exists() and present < screening.check_rate * total:
        yield warning(
            "gold_checks_stand_out",
            f"Only {present} of {counted(total, 'task')} have a gold check for their instance. To reach"
            f" their share of {percent(screening.check_rate)}, some checks will be about another"
            " instance than the rest of their task, and annotators can tell. Add gold checks for more"
            " instances, lower their share, or mix instances in a task.",
            QUALITY,
        )


# Roles whose answers decide who takes part and whose ratings count.
_DECIDING = (Unit.Role.GOLD, Unit.Role.QUALIFICATION)


def expected_answers_favour_nobody(study: Study) -> Iterator[LaunchCheck]:
    """Anyone who honestly prefers the other system fails more often; fewer such ratings remain."""
    names = {system.pk: system.name for system in study.ordered_systems()}
    criteria = list(study.criteria.all())
    for role in _DECIDING:
        units = study.units.filter(role=role)
        compared = units.filter(text_a__system__in=names, text_b__system__in=names)
        lead: Counter[int] = Counter()
        n = 0
        columns = ("text_a__system", "text_b__system", "known_labels")
        for a, b, labels in compared.values_list(*columns):
            side = expected_side(labels, criteria)
            lead.update({a: -side, b: side})
            n += side != 0
        favoured = [names[system] for system, ahead in lead.items() if ahead > 1 and 2 * ahead >= n]
        if favoured:
            yield warning(
                f"{role.value}_favours_a_system",
                f"{' and '.join(favoured)} should win most items for {ROLES[role]}. Annotators who"
                " honestly prefer another system fail more often, which shifts the results. Add"
                " items in which the others should win, or make items from changed copies.",
                QUALITY,
            )
