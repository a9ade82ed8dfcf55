from django.db import models


class Round(models.Model):
    """When a periodic task was last started by any worker."""

    name = models.CharField(max_length=50, primary_key=True)
    begun_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
