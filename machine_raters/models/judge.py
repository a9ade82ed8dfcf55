from decimal import Decimal

from django.db import models

from annotation.models.rating import Rating
from jobs.clock import Moment
from machine_raters.models.example_set import ExampleSet
from machine_raters.models.machine_rater import MAX_SEED, MachineRater
from studies.models import Criterion, Unit
from studies.models.bounds import MAX_COUNT, between
from studies.models.choices import OpenChoiceField
from studies.models.dataset import MAX_TEMPERATURE, MAX_TOKENS
from tiebreak.asking.requests import ALWAYS
from tiebreak.scales import Scale

MAX_RUNS, MAX_EXAMPLES = 20, 20
# Per million tokens, in the study's currency.
MAX_PRICE = Decimal(1_000_000)


def _price(name: str, help_text: str = "") -> "models.DecimalField[Decimal | None, Decimal | None]":
    return models.DecimalField(
        name,
        max_digits=12,
        decimal_places=6,
        null=True,
        blank=True,
        validators=between(Decimal(0), MAX_PRICE),
        help_text=help_text,
    )


class Judge(MachineRater):
    """A language model that rates a study's units as a machine rater, by one criterion or several.

    Another prompt or model is another judge.
    """

    class Schedule(models.TextChoices):
        ALL = "all", "all: every pair in both orders"
        SYMMETRIC = "symmetric", "symmetric: pairs drawn at random, both orders of each"
        NO_REPEAT = "no-repeat", "no repeat: pairs drawn at random, one order of each at random"
        RANDOM = "random", "random: pairs with an order drawn at random"

    class AnsweredBy(models.TextChoices):
        TEXT = "text", "written answers, whose last line is read"
        PROBABILITY = "probability", "the model's probability of each answer"

    class Constraint(models.TextChoices):
        NONE = "none", "no: the model writes freely, and may think first"
        WHERE_POSSIBLE = "where_possible", "where the server can; elsewhere the model writes freely"
        ALWAYS = ALWAYS, "always: stop if the server cannot"

    server = models.CharField("model server", max_length=50)
    language_model = models.CharField(
        max_length=200,
        blank=True,
        help_text="The model's name on the model server. Leave empty only if the model runs in a worker.",
    )
    # The name of a published prompt; what was sent are the instructions.
    preset = OpenChoiceField(
        "start from a published prompt",
        blank=True,
        default="",
        db_default="",
        help_text="Fills in the instructions and what else the publication says about asking, which you"
        " can then edit. The wording is Tiebreak's own, after the paper. The choice is kept and exported.",
    )
    instructions = models.TextField(
        help_text="{guidelines}, {question} and {answers} are replaced with what annotators see: the"
        " study's guidelines, the criterion's question and its answers."
    )
    answered_by = models.CharField(
        "answers",
        max_length=20,
        choices=AnsweredBy.choices,
        default=AnsweredBy.TEXT,
        help_text="Probabilities need a server that returns them. Temperature and length do not matter"
        " then, and each item and order is asked about once.",
    )
    constraint = models.CharField(
        "constrain written answers",
        max_length=20,
        choices=Constraint.choices,
        default=Constraint.NONE,
        help_text="A constrained answer is one of the allowed answers and nothing else: the server"
        " lets the model write no other. The model cannot then think first.",
    )
    asks_together = models.BooleanField(
        "ask all criteria in one question",
        default=False,
        db_default=False,
        help_text="One prompt has the questions of all criteria, and one answer has a line for each, so"
        " an item costs one request. Otherwise each criterion is asked about on its own, as published:"
        " the answer to one then cannot influence the others.",
    )
    writes_steps = models.BooleanField(
        "let the model write evaluation steps first",
        default=False,
        help_text="Before its first question the model writes the steps that it will follow, from the"
        " guidelines and the question. They are kept, and are in every prompt.",
    )
    with_reference = models.BooleanField(
        "show the reference",
        default=False,
        help_text="The model also reads the item's reference text, if it has one.",
    )
    reference_field = models.CharField(
        "column with the reference",
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text="Another column of the items, whose text is the reference that the model reads, such as"
        " one that a model wrote. Leave empty for the item's own reference.",
    )
    examples = models.PositiveSmallIntegerField(
        "training items as examples",
        default=0,
        validators=between(0, MAX_EXAMPLES),
        help_text="This many of the study's training items are shown first, with their answers.",
    )
    example_set = models.ForeignKey(
        ExampleSet,
        on_delete=models.RESTRICT,
        null=True,
        blank=True,
        related_name="judges",
        verbose_name="set of examples",
        help_text="A named set of training items, instead of a number of them.",
    )
    with_reasons = models.BooleanField(
        "show annotators' reasons",
        default=False,
        db_default=False,
        help_text="After an example's answer the model also reads the reason that an annotator gave for"
        " the same answer before this judge was created, if there is one. The model server then receives annotators' own words.",
    )
    comparisons = OpenChoiceField(
        "comparisons",
        choices=Schedule.choices,
        default=Schedule.ALL,
        help_text="A comparison is a pair of texts with one of them shown first. Both orders measure"
        " a preference for the first text, which then cancels out.",
    )
    budget = models.PositiveIntegerField(
        "budget in comparisons",
        null=True,
        blank=True,
        validators=between(1, MAX_COUNT),
        help_text="This many are drawn, using the seed. Leave empty for as many as there are.",
    )
    runs = models.PositiveSmallIntegerField(
        "answers to each comparison",
        default=1,
        validators=between(1, MAX_RUNS),
    )
    temperature = models.FloatField(default=0, validators=between(0, MAX_TEMPERATURE))
    max_tokens = models.PositiveIntegerField(
        "maximum length of an answer in tokens",
        default=512,
        validators=between(1, MAX_TOKENS),
    )
    seed = models.PositiveIntegerField(default=0, validators=between(0, MAX_SEED))
    prompt_price = _price(
        "price of a million tokens of prompts",
        "In the study's currency; 0 if the model costs nothing. Without prices the cost is unknown.",
    )
    answer_price = _price("price of a million tokens of answers")

    @property
    def is_by_probability(self) -> bool:
        return self.answered_by == self.AnsweredBy.PROBABILITY

    @property
    def is_constrained(self) -> bool:
        return self.constraint != self.Constraint.NONE


class JudgeCriterion(models.Model):
    """A criterion by which a judge rates, with what else the judge reads for it."""

    judge = models.ForeignKey(Judge, on_delete=models.CASCADE, related_name="questions")
    criterion = models.ForeignKey(Criterion, on_delete=models.CASCADE, related_name="+")
    # The evaluation steps that the model wrote, and what it was asked; empty until it was.
    steps = models.TextField(blank=True)
    steps_prompt = models.TextField(blank=True)
    # SHA-256 of the examples as the judge reads them; empty if it reads none.
    examples_sha256 = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["judge", "criterion"], name="judge_criterion_once")
        ]

    def __str__(self) -> str:
        return f"{self.judge}: {self.criterion}"

    @property
    def together(self) -> "list[JudgeCriterion]":
        """The criteria that a prompt about this one asks about, in their order; mostly itself alone."""
        return list(self.judge.questions.all()) if self.judge.asks_together else [self]

    @property
    def scale(self) -> Scale:
        return self.criterion.parsed_scale


# The fields that say which model on which server gave an answer.
SERVED_BY = ("language_model", "revision", "server_version", "device", "is_batch_invariant")


class ServedAnswer(models.Model):
    """What is known of the model and the server that gave an answer."""

    # The model's name as the server gave it with the answer.
    language_model = models.CharField(max_length=200)
    # What else the server reported about the model; empty if nothing.
    revision = models.CharField(max_length=200, blank=True)
    # What ran the model and on which accelerators, as it told or as was declared; empty if unknown.
    server_version = models.CharField(max_length=100, blank=True, default="", db_default="")
    device = models.CharField(max_length=200, blank=True, default="", db_default="")
    # Whether other requests computed with it could not change the answer; None if unknown.
    is_batch_invariant = models.BooleanField(null=True)
    finish_reason = models.CharField(max_length=50, blank=True)

    class Meta:
        abstract = True


class Verdict(ServedAnswer):
    """How a judge's rating was made. The answer itself is the rating's `raw`."""

    judge = models.ForeignKey(Judge, on_delete=models.CASCADE, related_name="verdicts")
    rating = models.OneToOneField(Rating, on_delete=models.PROTECT, related_name="verdict")
    # SHA-256 of the prompt as it was sent.
    prompt_sha256 = models.CharField(max_length=64)
    # Probabilities need none.
    seed = models.BigIntegerField(null=True)
    # None where the server did not tell.
    prompt_tokens = models.PositiveIntegerField(null=True)
    tokens = models.PositiveIntegerField(null=True)
    # Whether the server constrained the answer to the allowed ones.
    is_constrained = models.BooleanField(default=False)
    # The length of the whole answer, of which the rating has at most the beginning.
    characters = models.PositiveIntegerField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.judge_id}: {self.rating_id}"


class SecondAnswer(ServedAnswer):
    """What a judge answered when the prompt of a verdict was sent once more. It is never a rating."""

    verdict = models.ForeignKey(Verdict, on_delete=models.CASCADE, related_name="second_answers")
    # How often the judge had been asked again by then, from 1.
    test = models.PositiveIntegerField(validators=between(1, MAX_COUNT))
    label = models.CharField(max_length=200, null=True)  # noqa: DJ001  null means none
    nonresponse = models.CharField(max_length=20, blank=True)
    raw = models.TextField()
    created_at = models.DateTimeField(db_default=Moment(), editable=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["verdict", "test"], name="second_answer_once_per_test")
        ]

    def __str__(self) -> str:
        return f"{self.verdict_id}: {self.test}"


class JudgeFailure(models.Model):
    """A question that a judge has not answered, and why. It is deleted once it is answered."""

    judge = models.ForeignKey(Judge, on_delete=models.CASCADE, related_name="failures")
    criterion = models.ForeignKey(Criterion, on_delete=models.CASCADE, related_name="+")
    unit = models.ForeignKey(Unit, on_delete=models.CASCADE, related_name="+")
    order = models.CharField(max_length=10, blank=True)
    run = models.CharField(max_length=20)
    # The code and the sentence of the gateway's error.
    code = models.CharField(max_length=30)
    message = models.TextField()
    failed_at = models.DateTimeField(db_default=Moment(), editable=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["judge", "criterion", "unit", "order", "run"],
                name="judge_failure_once_per_question",
            )
        ]

    def __str__(self) -> str:
        return f"{self.judge_id}: {self.code}"
