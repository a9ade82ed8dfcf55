"""The box in which annotators leave a comment, on the pages of items and at the end."""

from dataclasses import dataclass

from django.http import HttpRequest

from annotation.forms import AnswerForm
from annotation.models import Assignment, HITUnit, Participation
from annotation.models.comment import MAX_COMMENT
from annotation.services.comments import save_comment
from annotation.views.participation_cookie import is_htmx
from tiebreak.errors import DomainError


class CommentForm(AnswerForm):
    """The unit that a comment belongs to, named as in the form of its answer."""

    client_key = layout = duration_ms = None  # type: ignore[assignment]


@dataclass(frozen=True)
class CommentBox:
    """What the box says: the stored text or, if it was refused, the one that was typed."""

    text: str
    was_sent: bool = False
    refusal: DomainError | None = None
    max_length: int = MAX_COMMENT


def sent_comment(
    request: HttpRequest,
    participation: Participation,
    item: tuple[Assignment, HITUnit] | None = None,
) -> CommentBox:
    """Save the comment that a page sent. With htmx, which leaves the box alone, refusals are raised."""
    text = request.POST.get("comment", "")
    try:
        comment = save_comment(participation=participation, text=text, item=item)
    except DomainError as refusal:
        if is_htmx(request):
            raise
        return CommentBox(text, was_sent=True, refusal=refusal)
    return CommentBox(comment.text if comment else "", was_sent=True)
