from django.db import models

from machine_raters.models.machine_rater import MAX_SEED, MachineRater
from studies.models import Criterion, Unit
from studies.models.bounds import between
from studies.models.choices import OpenChoiceField


class Baseline(MachineRater):
    """A machine rater that prefers one of two texts by a simple rule, without a language model."""

    class Method(models.TextChoices):
        LONGER = "longer", "the longer text, in characters"
        SHORTER = "shorter", "the shorter text, in characters"
        FIRST = "first", "the text that is shown first"
        RANDOM = "random", "one of the two at random"
        # Similarities to the reference have their names in the library.
        ROUGE_1 = "rouge1", "the text closer to the reference by ROUGE-1"
        BLEU = "bleu", "the text closer to the reference by BLEU"
        BERTSCORE = "bertscore", "the text closer to the reference by BERTScore"
        SENTENCE_COSINE = (
            "sentence_cosine",
            "the text closer to the reference by sentence embedding",
        )
        PERPLEXITY = "perplexity", "the text of the system to which the reference is more probable"
        PERPLEXITY_PER_TOKEN = (
            "perplexity_per_token",
            "the text of the system to which the reference is more probable per token",
        )
        REWARD = "reward", "the text to which a reward model gives the higher score"

    criterion = models.ForeignKey(Criterion, on_delete=models.CASCADE, related_name="+")
    method = OpenChoiceField("prefers", choices=Method.choices)
    server = models.CharField(
        "model server",
        max_length=50,
        blank=True,
        help_text="Only for a reward model, which vLLM serves.",
    )
    language_model = models.CharField(
        "reward model",
        max_length=200,
        blank=True,
        help_text="Its name on the model server.",
    )
    seed = models.PositiveIntegerField(
        default=0,
        validators=between(0, MAX_SEED),
        help_text="Only random preferences depend on it.",
    )


class Abstention(models.Model):
    """An item that a baseline leaves without a rating, because its rule prefers neither text."""

    class Reason(models.TextChoices):
        NO_REFERENCE = "no_reference", "no reference to compare with"
        EQUAL_SCORES = "equal_scores", "equal scores, on a scale without a tie"

    baseline = models.ForeignKey(Baseline, on_delete=models.CASCADE, related_name="abstentions")
    unit = models.ForeignKey(Unit, on_delete=models.CASCADE, related_name="+")
    reason = models.CharField(max_length=20, choices=Reason.choices)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["baseline", "unit"], name="abstention_once")]

    def __str__(self) -> str:
        return f"{self.baseline_id}: {self.unit_id}"
