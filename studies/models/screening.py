"""The screening design: what stands between an annotator and their first HIT, and gold checks."""

from django.core.exceptions import ValidationError
from django.db import models

from studies.models.bounds import MAX_POSITION, MAX_VALID_DAYS, between
from studies.models.study import Study


class Screening(models.Model):
    """What stands between an annotator and their first HIT, and the checks mixed in later.

    Zero units switch a part off. The units come from the study's own of that role.
    """

    class CheckAction(models.TextChoices):
        RECORD = "record", "only keep the record"
        WARN = "warn", "tell the annotator to read more carefully"
        STOP = "stop", "give out no more work; what was done counts"
        EXCLUDE = "exclude", "give out no more work, and replace what was done"

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="screening")
    comprehension_tries = models.PositiveSmallIntegerField(
        default=2,
        validators=between(2, 100),
        help_text="Crowd platforms ask for two at least.",
    )
    training_units = models.PositiveSmallIntegerField(
        default=0,
        validators=between(0, 1000),
        help_text="Practised with the right answer shown after each.",
    )
    qualification_units = models.PositiveSmallIntegerField(
        "units of the test", default=0, validators=between(0, 1000)
    )
    pass_mark = models.PositiveSmallIntegerField(
        "pass mark, in units",
        default=9,
        validators=between(1, 1000),
        help_text="A unit is right when the answers to all its known criteria are.",
    )
    qualification_tries = models.PositiveSmallIntegerField(
        "tries", default=1, validators=between(1, 100)
    )
    shows_answers = models.BooleanField(
        "show what was right after the test",
        default=False,
        help_text="With tries left, later tries draw other units as long as there are any.",
    )
    valid_days = models.PositiveIntegerField(
        "a passed test is valid for days",
        null=True,
        blank=True,
        validators=between(1, MAX_VALID_DAYS),
        help_text="Empty: for ever.",
    )
    accepts_from = models.ForeignKey(
        Study,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name="accept who passed the test of",
    )
    check_rate = models.FloatField(
        "share of HITs that carry a check",
        default=0,
        validators=between(0, 1),
        help_text="A unit with a known answer, silently mixed in; nobody meets one twice.",
    )
    checks_failed = models.PositiveSmallIntegerField(
        "act after so many failed checks",
        default=2,
        validators=between(1, 1000),
        help_text="Crowd platforms allow a rejection for one under five minutes, else for two.",
    )
    check_action = models.CharField(
        "then", max_length=10, choices=CheckAction.choices, default=CheckAction.RECORD
    )

    def __str__(self) -> str:
        return f"screening of {self.study}"

    def clean(self) -> None:
        if self.qualification_units and self.pass_mark > self.qualification_units:
            sentence = "The pass mark is more than the units of the test."
            error = ValidationError(sentence, code="pass_mark_unreachable")
            raise ValidationError({"pass_mark": error})


class ComprehensionQuestion(models.Model):
    """Asked about the guidelines before anything else, with choices to tick."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="comprehension")
    position = models.PositiveSmallIntegerField(default=0, validators=between(0, MAX_POSITION))
    text = models.CharField(max_length=500)
    choices = models.TextField(help_text="One a line.")
    answer = models.PositiveSmallIntegerField(
        "right choice", default=1, validators=between(1, 1000), help_text="1 is the first."
    )
    explanation = models.TextField(blank=True, help_text="Shown when the answer was wrong.")

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
                "Give two choices at least, one a line.", code="too_few_choices"
            )
            raise ValidationError({"choices": error})
        if self.answer > len(self.options):
            sentence = f"There are only {len(self.options)} choices."
            raise ValidationError({"answer": ValidationError(sentence, code="no_such_choice")})
