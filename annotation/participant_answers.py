"""One participant's answers as they were given, corrections and flagged answers included."""

from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.db.models import Exists, OuterRef

from annotation.models import Participation, Rater, Rating
from annotation.models.rating import EXCLUDING_FLAGS
from annotation.participant_evidence import is_first, is_translated
from annotation.services.screening import is_right
from annotation.views.unit_presentation import Choice, Turn, choice_as_shown, turns_of
from studies.models import Unit, texts_of

PER_PAGE = 25


@dataclass(frozen=True)
class GivenAnswer:
    """One answer with the texts in the order in which they were shown, the first text on the left.

    `is_right` is None unless the correct answer is known.
    """

    rating: Rating
    choice: Choice | None
    texts: tuple[tuple[str, str], ...]
    turns: tuple[Turn, ...]
    flags: tuple[str, ...]
    is_right: bool | None

    @property
    def seconds(self) -> float | None:
        duration = self.rating.duration_ms
        return None if duration is None else duration / 1000


def answers_page(
    participation: Participation, number: str | None, *, alone: bool = False
) -> "Page[Rating]":
    """Return one page of a participation's answers, in the order in which they were given.

    With ``alone``, return those about items that others rated, too, and nobody like this one.
    """
    rows = Rating.objects.filter(assignment__participation=participation).order_by("pk")
    if alone:
        same = {"unit": OuterRef("unit"), "criterion": OuterRef("criterion")}
        others = Rating.objects.in_statistics().filter(rater__kind=Rater.Kind.HUMAN, **same)
        others = others.exclude(rater=participation.rater_id).order_by()
        current = rows.filter(superseded=False, nonresponse="", unit__role=Unit.Role.MAIN)
        agreeing = others.filter(label=OuterRef("label"))
        rows = current.filter(Exists(others), ~Exists(agreeing))
    shown = rows.select_related("criterion", "assignment__hit", "unit__instance")
    shown = shown.prefetch_related(texts_of("unit__texts"))
    return Paginator(shown, PER_PAGE).get_page(number)


def given_answer(row: Rating) -> GivenAnswer:
    is_known = row.criterion.name in row.unit.known_labels
    translated = ("translated",) if is_translated(row) else ()
    return GivenAnswer(
        rating=row,
        choice=None
        if row.label is None
        else choice_as_shown(row.label, row.criterion, a_first=is_first(row)),
        texts=shown_texts(row.unit, a_first=is_first(row)),
        turns=turns_of(row.unit.instance),
        flags=(*(flag for flag in EXCLUDING_FLAGS if getattr(row, flag)), *translated),
        is_right=is_right(row) if is_known and not row.nonresponse else None,
    )


def shown_texts(unit: Unit, *, a_first: bool) -> tuple[tuple[str, str], ...]:
    """Return the systems' names with the texts as shown; degraded copies have no system."""
    texts = unit.text_list if a_first else unit.text_list[::-1]
    return tuple(
        (text.system.name if text.system else "", text.generation.text)
        for text in texts
        if text.generation
    )
