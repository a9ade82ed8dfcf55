from django.db import models

from annotation.models.rater import Rater
from jobs.clock import Moment
from machine_raters.models.exclusion import Excludable
from machine_raters.models.judge import MAX_SEED
from studies.models import Criterion, Study, Unit
from studies.models.bounds import between
from studies.models.choices import OpenChoiceField
from studies.models.dataset import validate_name
from tiebreak.identifiers import new_public_id


class Baseline(Excludable):
    """A machine rater that prefers one of two texts by a simple rule, without a language model.

    Like a judge, it never changes once it exists.
    """

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

    public_id = models.CharField(max_length=22, unique=True, default=new_public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="baselines")
    # The machine rater whose ratings are this baseline's.
    rater = models.OneToOneField(
        Rater, on_delete=models.PROTECT, related_name="baseline", editable=False
    )
    name = models.CharField(
        max_length=200,
        validators=[validate_name],
        help_text="Its name as a rater, in exports and results.",
    )
    criterion = models.ForeignKey(Criterion, on_delete=models.CASCADE, related_name="baselines")
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
    created_at = models.DateTimeField(db_default=Moment(), editable=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="baseline_name_once_per_study")
        ]

    def __str__(self) -> str:
        return self.name


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
