"""Saves what annotators say about an item or the study, and marks it as dealt with."""

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from annotation.messages import COMMENT_READ, COMMENT_TOO_LONG, COMMENTS_OFF
from annotation.models import Assignment, Comment, HITUnit, Participation
from annotation.models.comment import MAX_COMMENT
from annotation.selectors import is_a_first
from jobs.clock import database_now
from studies.models import Study
from tiebreak.errors import DomainError
from tiebreak.identifiers import new_public_id

COMMENT_CHANGED = (
    "The comment was not marked, because the annotator has changed or removed it since this page was"
    " loaded. Please read it again."
)


@transaction.atomic
def save_comment(
    *, participation: Participation, text: str, item: tuple[Assignment, HITUnit] | None = None
) -> Comment | None:
    """Save the comment on an item or, without one, on the study; it replaces the earlier text.

    Another text is open again, even if a researcher had dealt with the earlier one. An empty text
    removes a comment that is still open. Returns the comment, if there is one now. Raises
    `DomainError` if the study takes no comments, the text is too long, or a comment that is done is
    to be removed. Locks the comment only.
    """
    # Forms send line breaks as two characters, which browsers count as one.
    text = text.replace("\r\n", "\n").replace("\0", "").strip()
    if not participation.study.comments:
        raise DomainError("comments_off", COMMENTS_OFF)
    if len(text) > MAX_COMMENT:
        message = COMMENT_TOO_LONG.format(len(text), MAX_COMMENT)
        raise DomainError("comment_too_long", message, status=400)
    place: dict[str, Any] = {"participation_id": participation.pk, "assignment_id": None}
    sent: dict[str, Any] = {"text": text, "created_at": database_now()}
    if item is not None:
        assignment, unit = item
        # A resumed task belongs to a later participation of the same person.
        sent["participation_id"] = participation.pk
        place = {"assignment_id": assignment.pk, "unit_id": unit.unit_id, "repeat": unit.repeat}
        sent["side_a"] = "left" if is_a_first(assignment, unit) else "right"
    own = Comment.objects.select_for_update().filter(**place)
    if not text:
        own.filter(done_at=None).delete()
        if own.exists():
            raise DomainError("comment_read", COMMENT_READ)
        return None
    comment, _ = own.get_or_create(**place, defaults=sent)
    if comment.text != text:
        own.update(**sent, public_id=new_public_id(), done_at=None, done_by=None)
        comment.refresh_from_db()
    return comment


def mark_done(*, study: Study, public_id: str, by: User, is_done: bool = True) -> None:
    """Mark a comment as dealt with, or as open again. Raises `DomainError` if it has changed."""
    rows = Comment.objects.filter(participation__study=study, public_id=public_id)
    done_at, done_by = (database_now(), by) if is_done else (None, None)
    if not rows.update(done_at=done_at, done_by=done_by):
        raise DomainError("comment_changed", COMMENT_CHANGED)
