from django.db import models

from annotation.models.rater import Rater
from annotation.models.rating import Rating
from studies.models import Criterion, Study
from studies.models.bounds import MAX_COUNT, between
from studies.models.dataset import MAX_TEMPERATURE, MAX_TOKENS, validate_name
from tiebreak.identifiers import new_public_id

MAX_RUNS, MAX_EXAMPLES, MAX_SEED = 20, 20, 2**31 - 1


class Judge(models.Model):
    """A language model that rates a study's units as a machine rater.

    A judge never changes once it exists, so that all its ratings were made in the same way. Another
    prompt or model is another judge.
    """

    class Orders(models.TextChoices):
        BOTH = "both", "both orders of each pair"
        RANDOM = "random", "one order of each pair, at random"

    class AnsweredBy(models.TextChoices):
        TEXT = "text", "written answers, whose last line is read"
        PROBABILITY = "probability", "the model's probability of each answer"

    public_id = models.CharField(max_length=22, unique=True, default=new_public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="judges")
    # The machine rater whose ratings are this judge's.
    rater = models.OneToOneField(
        Rater, on_delete=models.PROTECT, related_name="judge", editable=False
    )
    name = models.CharField(
        max_length=200,
        validators=[validate_name],
        help_text="Its name as a rater, in exports and results.",
    )
    criterion = models.ForeignKey(Criterion, on_delete=models.CASCADE, related_name="judges")
    server = models.CharField("model server", max_length=50)
    language_model = models.CharField(
        max_length=200,
        blank=True,
        help_text="The model's name on the model server. Leave empty if the server has one model.",
    )
    instructions = models.TextField(
        help_text="{guidelines}, {question} and {answers} are replaced by what people read: the"
        " study's guidelines, the criterion's question and its answers."
    )
    answered_by = models.CharField(
        "answers",
        max_length=20,
        choices=AnsweredBy.choices,
        default=AnsweredBy.TEXT,
        help_text="Probabilities need a server that tells them. Temperature and length do not matter"
        " then, and each item and order is asked about once.",
    )
    writes_steps = models.BooleanField(
        "let the model write evaluation steps first",
        default=False,
        help_text="Before its first question the model writes the steps that it will follow, from the"
        " guidelines and the question. They are kept, and stand in every prompt.",
    )
    # What the model wrote, and what it was asked; empty until it was.
    steps = models.TextField(blank=True, editable=False)
    steps_prompt = models.TextField(blank=True, editable=False)
    with_reference = models.BooleanField(
        "show the reference",
        default=False,
        help_text="The model also reads the item's reference text, if it has one.",
    )
    examples = models.PositiveSmallIntegerField(
        "training items as examples",
        default=0,
        validators=between(0, MAX_EXAMPLES),
        help_text="So many of the study's training items are shown first, with their answers.",
    )
    orders = models.CharField(max_length=10, choices=Orders.choices, default=Orders.BOTH)
    units = models.PositiveIntegerField(
        "maximum number of items",
        null=True,
        blank=True,
        validators=between(1, MAX_COUNT),
        help_text="A random sample of this size is rated. Leave empty for all.",
    )
    runs = models.PositiveSmallIntegerField(
        "answers to each item and order",
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
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="judge_name_once_per_study")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_by_probability(self) -> bool:
        return self.answered_by == self.AnsweredBy.PROBABILITY


class Verdict(models.Model):
    """How a judge's rating was made. The answer itself is the rating's `raw`."""

    judge = models.ForeignKey(Judge, on_delete=models.CASCADE, related_name="verdicts")
    rating = models.OneToOneField(Rating, on_delete=models.PROTECT, related_name="verdict")
    # The model's name as the server gave it with the answer.
    language_model = models.CharField(max_length=200)
    # SHA-256 of the prompt as it was sent.
    prompt_sha256 = models.CharField(max_length=64)
    # Probabilities need none.
    seed = models.BigIntegerField(null=True)
    tokens = models.PositiveIntegerField(null=True)
    finish_reason = models.CharField(max_length=50, blank=True)
    # The length of the whole answer, of which the rating has at most the beginning.
    characters = models.PositiveIntegerField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.judge_id}: {self.rating_id}"
