from django.db import models


class Round(models.Model):
    """A periodic task, with the time at which any worker last started it."""

    name = models.CharField(max_length=50, primary_key=True)
    begun_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
