"""The screening design: the steps before an annotator's first HIT, and gold checks."""

from math import ceil

from django.core.exceptions import ValidationError
from django.db import models

from studies.models.bounds import MAX_POSITION, MAX_VALID_DAYS, between
from studies.models.study import Study

# From so many items on, one slip does not fail a test.
SLIP_FROM = 4


def default_pass_mark(items: int) -> int:
    """Return nine in ten of the items of a test, rounded up, and of four or more never all."""
    return max(1, min(ceil(0.9 * items), items - (items >= SLIP_FROM)))


class Screening(models.Model):
    """The steps before an annotator's first HIT, and the gold checks mixed into HITs.

    A step with zero units is left out. The units of a step are the study's reference units with the
    role of that name.
    """

    class CheckAction(models.TextChoices):
        RECORD = "record", "only record the results"
        WARN = "warn", "ask the annotator to read more carefully"
        STOP = "stop", "give no more work, but count completed tasks"
        EXCLUDE = "exclude", "give no more work and exclude all ratings"

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="screening")
    comprehension_tries = models.PositiveSmallIntegerField(
        "attempts at the comprehension questions",
        default=2,
        validators=between(2, 100),
        help_text="Crowdsourcing platforms require at least two attempts.",
    )
    training_units = models.PositiveSmallIntegerField(
        "training items",
        default=0,
        validators=between(0, 1000),
        help_text="The expected answer is shown after each training item.",
    )
    qualification_units = models.PositiveSmallIntegerField(
        "items in the qualification test", default=0, validators=between(0, 1000)
    )
    pass_mark = models.PositiveSmallIntegerField(
        "pass mark (items)",
        default=9,
        validators=between(1, 1000),
        help_text="An item is correct if all its criteria with an expected label are answered"
        " correctly.",
    )
    qualification_tries = models.PositiveSmallIntegerField(
        "attempts at the test", default=1, validators=between(1, 100)
    )
    shows_answers = models.BooleanField(
        "show the expected answers after a failed test",
        default=False,
        help_text="More attempts use other items as long as there are any.",
    )
    valid_days = models.PositiveIntegerField(
        "validity of a passed test (days)",
        null=True,
        blank=True,
        validators=between(1, MAX_VALID_DAYS),
        help_text="Leave empty for unlimited validity.",
    )
    accepts_from = models.ForeignKey(
        Study,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name="also accept the test of",
        help_text="Annotators who passed the test of the chosen study skip the test of this one.",
    )
    check_rate = models.FloatField(
        "share of tasks with a gold check",
        default=0,
        validators=between(0, 1),
        help_text="A number from 0 to 1. A gold check is an item with an expected answer that is"
        " mixed into a task without notice. No annotator sees the same check twice.",
    )
    checks_failed = models.PositiveSmallIntegerField(
        "failed checks before the action",
        default=2,
        validators=between(1, 1000),
        help_text="Crowdsourcing platforms allow a rejection after one failed check in studies"
        " that take less than five minutes, and after two in longer studies.",
    )
    check_action = models.CharField(
        "action", max_length=10, choices=CheckAction.choices, default=CheckAction.RECORD
    )

    def __str__(self) -> str:
        return f"screening of {self.study}"

    def clean(self) -> None:
        """Fill in a pass mark that is left out."""
        self.pass_mark = self.pass_mark or default_pass_mark(self.qualification_units)
        if self.qualification_units and self.pass_mark > self.qualification_units:
            sentence = (
                "The pass mark is higher than the number of items in the test, which is"
                f" {self.qualification_units}. Lower the pass mark, or add items to the test."
            )
            error = ValidationError(sentence, code="pass_mark_unreachable")
            raise ValidationError({"pass_mark": error})


class ComprehensionQuestion(models.Model):
    """A multiple-choice question about the guidelines, asked before the training and the test."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="comprehension")
    position = models.PositiveSmallIntegerField(default=0, validators=between(0, MAX_POSITION))
    text = models.CharField(max_length=500)
    choices = models.TextField(help_text="Enter one choice per line.")
    answer = models.PositiveSmallIntegerField(
        "correct choice",
        default=1,
        validators=between(1, 1000),
        help_text="The number of the correct choice, counted from 1.",
    )
    explanation = models.TextField(
        blank=True, help_text="The explanation is shown after a wrong answer."
    )

    class Meta:
        ordering = ["position", "id"]

    def __str__(self) -> str:
        return self.text

    @property
    def options(self) -> list[str]:
        return [line.strip() for line in self.choices.splitlines() if line.strip()]

    def clean(self) -> None:
        if len(self.options) < 2:
            error = ValidationError(
                "Enter at least two choices, one per line.", code="too_few_choices"
            )
            raise ValidationError({"choices": error})
        if self.answer > len(self.options):
            n = len(self.options)
            sentence = f"There are only {n} choices. Enter a number from 1 to {n}."
            raise ValidationError({"answer": ValidationError(sentence, code="no_such_choice")})
