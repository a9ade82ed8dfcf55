from django.db import models

from jobs.clock import Moment
from machine_raters.models.judge import MAX_EXAMPLES, Judge
from machine_raters.models.machine_rater import MAX_SEED, MachineRater
from studies.models import Criterion, Instance
from studies.models.bounds import between
from studies.models.choices import OpenChoiceField
from studies.models.dataset import MAX_TEMPERATURE, MAX_TOKENS

MAX_PASSAGES = 500


class SyntheticSet(MachineRater):
    """Questions and answers that a language model made from a study's passages, to test judges.

    Nothing of it is a unit, so no plan, HIT, page of annotators or result of people can contain it.
    """

    class Retriever(models.TextChoices):
        # The names are the library's names of its similarities.
        ROUGE_1 = "rouge1", "shared words (ROUGE-1)"
        SENTENCE_COSINE = "sentence_cosine", "sentence embedding"

    server = models.CharField("model server", max_length=50)
    language_model = models.CharField(
        max_length=200,
        blank=True,
        help_text="The model that writes. Leave empty only if it runs in a worker. A judge that is the"
        " same model may find its own texts easier than others' texts.",
    )
    passages = models.PositiveIntegerField(
        "maximum number of passages",
        default=100,
        validators=between(2, MAX_PASSAGES),
        help_text="A random sample of this size is used, if the study has more.",
    )
    examples = models.PositiveSmallIntegerField(
        "questions of the study as examples",
        default=3,
        validators=between(0, MAX_EXAMPLES),
        help_text="This many of the study's questions are shown to the model with their passages.",
    )
    retriever = OpenChoiceField(
        "retrieval of the round trip",
        choices=Retriever.choices,
        default=Retriever.ROUGE_1,
        help_text="A question is kept only if its own passage is more similar to it than all others.",
    )
    temperature = models.FloatField(default=0.7, validators=between(0, MAX_TEMPERATURE))
    max_tokens = models.PositiveIntegerField(
        "maximum length of a text in tokens", default=256, validators=between(1, MAX_TOKENS)
    )
    seed = models.PositiveIntegerField(default=0, validators=between(0, MAX_SEED))


class SyntheticText(models.Model):
    """A text that a model wrote about a passage, with how it was made. Kept even if not used."""

    class Kind(models.TextChoices):
        QUESTION = "question"
        ANSWER = "answer"
        CONTRADICTION = "contradiction"
        EVASION = "evasion"

    class Dropped(models.TextChoices):
        EMPTY = "empty", "the model wrote nothing"
        CUT_OFF = "cut-off", "the text was cut off"
        COPIED = "copied", "it is a question of the study itself"
        SAME = "same", "it is the same as the correct answer"
        NOT_RETRIEVED = "not-retrieved", "its own passage was not retrieved first"

    synthetic_set = models.ForeignKey(SyntheticSet, on_delete=models.CASCADE, related_name="texts")
    kind = models.CharField(max_length=20, choices=Kind.choices)
    # The instance whose passage the text was made from.
    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="+")
    # The question that the text answers; null for questions.
    question = models.ForeignKey(
        "self", null=True, on_delete=models.CASCADE, related_name="replies"
    )
    text = models.TextField(blank=True)
    # Why the text is not used; "" if it is.
    dropped = models.CharField(max_length=20, choices=Dropped.choices, blank=True)
    # The rank of the own passage when passages are retrieved by the question; null until tried.
    rank = models.PositiveIntegerField(null=True)
    # The model's name as the server gave it with the text.
    language_model = models.CharField(max_length=200)
    # SHA-256 of the prompt as it was sent.
    prompt_sha256 = models.CharField(max_length=64)
    seed = models.BigIntegerField()
    tokens = models.PositiveIntegerField(null=True)
    finish_reason = models.CharField(max_length=50, blank=True)
    created_at = models.DateTimeField(db_default=Moment(), editable=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["synthetic_set", "instance", "kind"], name="synthetic_text_once"
            )
        ]

    def __str__(self) -> str:
        return f"synthetic {self.kind} from {self.instance_id}"


class SyntheticItem(models.Model):
    """A question, a passage and an answer, and the labels that follow from how they were put together.

    A comparison has two answers: A, which is the correct one, and another.
    """

    class Kind(models.TextChoices):
        POSITIVE = "positive", "positive: its own passage, and an answer from it"
        OTHER_PASSAGE = "other-passage", "weak negative: another question's passage"
        OTHER_ANSWER = "other-answer", "weak negative: another question's answer"
        CONTRADICTION = "contradiction", "strong negative: an answer that contradicts the passage"
        EVASION = "evasion", "strong negative: an answer to something else"
        BESIDE_OTHER = "beside-other", "weak comparison: the other answer is another question's"
        BESIDE_CONTRADICTION = (
            "beside-contradiction",
            "strong comparison: the other answer contradicts the passage",
        )
        BESIDE_EVASION = (
            "beside-evasion",
            "strong comparison: the other answer is to something else",
        )

    synthetic_set = models.ForeignKey(SyntheticSet, on_delete=models.CASCADE, related_name="items")
    kind = models.CharField(max_length=20, choices=Kind.choices)
    question = models.ForeignKey(SyntheticText, on_delete=models.CASCADE, related_name="items")
    # The instance whose passage is shown.
    passage = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="+")
    answer = models.ForeignKey(SyntheticText, on_delete=models.CASCADE, related_name="+")
    # The second text of a comparison; null for items with one answer.
    other_answer = models.ForeignKey(
        SyntheticText, null=True, on_delete=models.CASCADE, related_name="+"
    )
    # The label that follows, by the criterion's name; criteria of which nothing follows have none.
    labels = models.JSONField(default=dict)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["question", "kind"], name="synthetic_item_once")
        ]

    def __str__(self) -> str:
        return f"synthetic {self.kind} {self.pk}"


class SyntheticVerdict(models.Model):
    """A judge's answer about a synthetic item, apart from all ratings of the study's items."""

    judge = models.ForeignKey(Judge, on_delete=models.CASCADE, related_name="synthetic_verdicts")
    criterion = models.ForeignKey(Criterion, on_delete=models.CASCADE, related_name="+")
    item = models.ForeignKey(SyntheticItem, on_delete=models.CASCADE, related_name="verdicts")
    # Which answer of a comparison was shown first, "ab" or "ba"; "" for items with one answer.
    order = models.CharField(max_length=2, blank=True)
    # Null if the answer names no label.
    label = models.CharField(max_length=200, null=True)  # noqa: DJ001  null means unparsed
    raw = models.TextField(blank=True)
    language_model = models.CharField(max_length=200)
    prompt_sha256 = models.CharField(max_length=64)
    seed = models.BigIntegerField(null=True)
    tokens = models.PositiveIntegerField(null=True)
    created_at = models.DateTimeField(db_default=Moment(), editable=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["judge", "criterion", "item", "order"], name="synthetic_verdict_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.judge_id} on synthetic item {self.item_id}"
