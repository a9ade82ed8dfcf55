"""The board of systems: the part of the instances that is hidden from it, and its public page."""

import random
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from jobs.clock import database_now
from metrics.messages import (
    BOARD_NOT_COMPUTED,
    HIDDEN_PART_FIXED,
    NO_BOARD_TO_HIDE,
    NO_SUCH_SHARE,
    PUBLISHED_WHILE_OPEN,
)
from metrics.models import MAX_PERCENT, MAX_SEED, MIN_PERCENT, Board, SectionSnapshot
from studies.freshness import note_change
from studies.models import Study, StudyEvent
from studies.services import record_event
from tiebreak.errors import DomainError
from tiebreak.report.sections.systems.hidden_part import HiddenDraw

Verb = StudyEvent.Verb


def board_for(study: Study) -> Board:
    """Return what was decided about a study's board; a new one, not stored yet, if nothing was."""
    return Board.objects.filter(study=study).first() or Board(study=study)


def hidden_draw(study: Study) -> HiddenDraw | None:
    """Return how instances are hidden from the study's board, or None if none are."""
    board = board_for(study)
    if board.hidden_percent is None:
        return None
    fixed = board.fixed_at.isoformat() if board.fixed_at else ""
    return HiddenDraw(board.hidden_percent / 100, board.hidden_seed, fixed)


def compares_systems(study: Study) -> bool:
    """Whether a criterion is a preference, so that the study has a board."""
    return any(one.parsed_scale.kind == "preference" for one in study.criteria.all())


@transaction.atomic
def hide_part(
    *, study: Study, percent: int, seed: int | None = None, by: User | None = None
) -> Board:
    """Hide annotators' ratings of a share of the instances from the board, once and for all.

    The seed is drawn if none is given. Raises `DomainError` if a part is hidden already, or the study has no
    comparisons. Locks the study.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    if not MIN_PERCENT <= percent <= MAX_PERCENT:
        raise DomainError(
            "no_such_share", NO_SUCH_SHARE.format(low=MIN_PERCENT, high=MAX_PERCENT), status=400
        )
    if not compares_systems(study):
        raise DomainError("no_board", NO_BOARD_TO_HIDE)
    board = board_for(study)
    if board.hidden_percent is not None:
        raise DomainError("hidden_part_fixed", HIDDEN_PART_FIXED)
    board.hidden_percent = percent
    board.hidden_seed = random.SystemRandom().randrange(MAX_SEED) if seed is None else seed
    board.fixed_at = database_now()
    board.save()
    note_change(study.pk)
    details = {"percent": percent, "seed": board.hidden_seed}
    record_event(study=study, verb=Verb.HIDE_PART, by=by, details=details)
    return board


@transaction.atomic
def publish_board(*, study: Study, by: User | None = None) -> Board:
    """Let everybody read the study's board at its address; nothing happens if they can already.

    Raises `DomainError` unless the study is closed, because annotators would learn which system leads,
    and unless a board was computed, because visitors start no computation. Locks the study.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.status != Study.Status.CLOSED:
        raise DomainError("study_not_closed", PUBLISHED_WHILE_OPEN)
    if stored_board(study) is None:
        raise DomainError("board_not_computed", BOARD_NOT_COMPUTED)
    return _published(study, database_now(), Verb.PUBLISH_BOARD, by)


@transaction.atomic
def withdraw_board(*, study: Study, by: User | None = None) -> Board:
    """Close the public page again; its address stays the study's. Locks the study."""
    study = Study.objects.select_for_update().get(pk=study.pk)
    return _published(study, None, Verb.WITHDRAW_BOARD, by)


def _published(study: Study, at: datetime | None, verb: StudyEvent.Verb, by: User | None) -> Board:
    board = board_for(study)
    if (board.published_at is None) != (at is None):
        board.published_at = at
        board.save()
        record_event(study=study, verb=verb, by=by, details={"address": board.public_id})
    return board


def stored_board(study: Study) -> SectionSnapshot | None:
    """Return the newest stored board of all ratings, or None if it was never computed."""
    stored = SectionSnapshot.objects.filter(
        report__study=study, report__digest="", name="leaderboard", content__isnull=False
    )
    return stored.select_related("report__study").first()


def published_board(public_id: str) -> Board | None:
    """Return the board with this address if everybody may read it now."""
    published = Board.objects.filter(published_at__isnull=False, study__status=Study.Status.CLOSED)
    return published.select_related("study").filter(public_id=public_id).first()
