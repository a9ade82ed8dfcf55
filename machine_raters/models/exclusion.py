from django.db import models

MAX_REASON = 200


class Excludable(models.Model):
    """Something that machines made, and that may be left out of the results for a stated reason."""

    excluded = models.BooleanField(default=False, editable=False)
    # As long as that of a rating, which repeats it.
    excluded_reason = models.CharField(max_length=MAX_REASON, blank=True, editable=False)

    class Meta:
        abstract = True
