"""What annotators say about an item or about the whole study."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models.rater import Assignment, Participation
from studies.models import Unit
from studies.models.bounds import between
from tiebreak.identifiers import new_public_id

MAX_COMMENT = 2000


class Comment(models.Model):
    """An annotator's comment on one item as it was shown or, without an assignment, on the study."""

    # New with every text, so that nobody marks a text as done that they have not seen.
    public_id = models.CharField(max_length=22, unique=True, default=new_public_id, editable=False)
    participation = models.ForeignKey(
        Participation, on_delete=models.PROTECT, related_name="comments"
    )
    assignment = models.ForeignKey(
        Assignment, null=True, on_delete=models.PROTECT, related_name="comments"
    )
    unit = models.ForeignKey(Unit, null=True, on_delete=models.PROTECT, related_name="comments")
    repeat = models.PositiveSmallIntegerField(default=0, validators=between(0, 100))
    # The side of system A, as in ratings; empty for a comment on the study.
    side_a = models.CharField(max_length=10, blank=True)
    text = models.TextField(max_length=MAX_COMMENT)
    # When this text was sent.
    created_at = models.DateTimeField()
    # When a researcher dealt with the comment.
    done_at = models.DateTimeField(null=True)
    done_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["assignment", "unit", "repeat"],
                condition=Q(assignment__isnull=False),
                name="comment_once_per_item",
            ),
            models.UniqueConstraint(
                fields=["participation"],
                condition=Q(assignment__isnull=True),
                name="comment_once_per_study",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.participation_id} on {self.unit_id}"
