from decimal import Decimal

from django.db import models

from annotation.models.rater import Rater
from studies.models import Study
from studies.models.bounds import between

MAX_RATING_COST = Decimal(100_000)
COST_DIGITS = 8  # of a rating, after the point
MAX_COST_DIGITS = 14


class StatedCost(models.Model):
    """What a rating of a machine cost that rated elsewhere, as a researcher says.

    What ratings cost that were made here follows from prices and tokens.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="stated_costs")
    rater = models.OneToOneField(Rater, on_delete=models.CASCADE, related_name="stated_cost")
    # In the study's currency.
    amount = models.DecimalField(
        max_digits=MAX_COST_DIGITS,
        decimal_places=COST_DIGITS,
        validators=between(Decimal(0), MAX_RATING_COST),
    )

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.rater}: {self.amount}"
