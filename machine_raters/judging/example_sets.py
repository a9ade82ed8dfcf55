"""Examples that a judge reads before each question: named sets, or the first training items."""

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, QuerySet

from annotation.models import Rater, Rating
from machine_raters.messages import (
    EXAMPLE_SET_IN_USE,
    EXAMPLES_CHANGED,
    EXAMPLES_NAME_TAKEN,
    EXAMPLES_NOT_TRAINING,
    EXAMPLES_REPEATED,
    EXAMPLES_TWICE,
    EXAMPLES_WITHOUT_LABEL,
    NO_SUCH_EXAMPLE_SET,
)
from machine_raters.models import ExampleSet, Judge, JudgeCriterion
from studies.models import Criterion, Study, StudyEvent, Unit
from studies.services import record_event
from tiebreak.asking.prompts import Example, examples_sha256
from tiebreak.errors import DomainError


def example_sets_of(study: Study) -> QuerySet[ExampleSet]:
    """Return the study's sets of examples, with how many judges use each."""
    return study.example_sets.annotate(used=Count("judges"))


def example_set_named(study: Study, public_id: str) -> ExampleSet:
    """Return a set of the study. Raises `DomainError` if there is none with this id."""
    example_set = example_sets_of(study).filter(public_id=public_id).first()
    if example_set is None:
        raise DomainError("no_such_example_set", NO_SUCH_EXAMPLE_SET, status=404)
    return example_set


@transaction.atomic
def add_example_set(
    *, study: Study, name: str, items: Sequence[str], by: User | None = None
) -> ExampleSet:
    """Name a set of training items, in this order. Raises `DomainError` for any other item."""
    training = set(_training(study).filter(key__in=items).values_list("key", flat=True))
    if strange := [key for key in items if key not in training]:
        sentence = EXAMPLES_NOT_TRAINING.format(item=strange[0])
        raise DomainError("not_a_training_item", sentence, status=400)
    if len(set(items)) < len(items):
        raise DomainError("repeated_item", EXAMPLES_REPEATED, status=400)
    if study.example_sets.filter(name=name).exists():
        raise DomainError("name_taken", EXAMPLES_NAME_TAKEN.format(name=name))
    example_set = ExampleSet(study=study, name=name, items=list(items))
    example_set.full_clean(validate_constraints=False)
    example_set.save()
    details = {"examples": name, "items": list(items)}
    record_event(study=study, verb=StudyEvent.Verb.ADD_EXAMPLES, by=by, details=details)
    return example_set


@transaction.atomic
def delete_example_set(*, example_set: ExampleSet, by: User | None = None) -> None:
    """Delete a set that no judge uses."""
    example_set = ExampleSet.objects.select_for_update().get(pk=example_set.pk)
    if example_set.judges.exists():
        raise DomainError("example_set_in_use", EXAMPLE_SET_IN_USE)
    details = {"examples": example_set.name}
    study = example_set.study
    record_event(study=study, verb=StudyEvent.Verb.DELETE_EXAMPLES, by=by, details=details)
    example_set.delete()


def examples_of(question: JudgeCriterion) -> list[Example]:
    """Return the training items that come before every question, in their order."""
    asked = [one.criterion for one in question.together]
    reasons = _reasons(question.judge, asked) if question.judge.with_reasons else {}

    def reason(unit: Unit) -> str:
        given = (reasons.get((unit.pk, c.pk, str(unit.known_labels[c.name])), "") for c in asked)
        return "\n".join(filter(None, given))

    return [Example(unit, reason(unit)) for unit in _items_of(question)]


def _reasons(judge: Judge, criteria: Sequence[Criterion]) -> dict[tuple[int, int, str | None], str]:
    """Return the first reason that a person gave for each label of each training item and criterion.

    Later reasons do not change what a judge reads.
    """
    ratings = Rating.objects.filter(
        unit__in=_training(judge.study).values("pk"),
        criterion__in=criteria,
        rater__kind=Rater.Kind.HUMAN,
        simulated=False,
        excluded=False,
        created_at__lte=judge.created_at,
    )
    rows = ratings.exclude(reason="").order_by("-pk")
    given = rows.values_list("unit", "criterion", "label", "reason")
    return {(unit, criterion, label): reason for unit, criterion, label, reason in given}


def _items_of(question: JudgeCriterion) -> list[Unit]:
    judge, labels = question.judge, [one.criterion.name for one in question.together]
    training = _training(judge.study).filter(known_labels__has_keys=labels)
    if judge.example_set is None:
        return list(training.order_by("pk")[: judge.examples])
    by_key = {unit.key: unit for unit in training.filter(key__in=judge.example_set.items)}
    return [by_key[key] for key in judge.example_set.items if key in by_key]


def fix_examples(question: JudgeCriterion) -> None:
    """Note the hash of a new judge's examples. Raises `DomainError` if they cannot be used."""
    chosen = question.judge.example_set
    if chosen is not None and question.judge.examples:
        raise DomainError("examples_twice", EXAMPLES_TWICE, status=400)
    examples = examples_of(question)
    if chosen is not None and len(examples) < len(chosen.items):
        known = {example.unit.key for example in examples}
        item = next(key for key in chosen.items if key not in known)
        sentence = EXAMPLES_WITHOUT_LABEL.format(item=item, criterion=question.criterion)
        raise DomainError("example_without_label", sentence, status=400)
    question.examples_sha256 = examples_sha256(question, examples)
    question.save(update_fields=["examples_sha256"])


def check_examples(question: JudgeCriterion) -> None:
    """Raise `DomainError` if the examples are no longer those with which the judge was created."""
    if examples_sha256(question, examples_of(question)) != question.examples_sha256:
        raise DomainError("examples_changed", EXAMPLES_CHANGED)


def _training(study: Study) -> QuerySet[Unit]:
    training = study.units.filter(role=Unit.Role.TRAINING)
    return training.with_texts()
