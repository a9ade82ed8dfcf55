"""What an export has so that `tiebreak verify` can compare it with the study's log and draw."""

from collections.abc import Iterator

from studies.models import InstanceSelection, Study, StudyEvent, Unit
from tiebreak.formats.evidence import chained, texts_digest
from tiebreak.formats.rows import Row

_Verb = StudyEvent.Verb
# What decides which ratings count. Entries about people's pay and identities are in no file.
LOGGED = (
    *(_Verb.OPEN, _Verb.PAUSE, _Verb.CLOSE, _Verb.REOPEN),
    *(_Verb.EXCLUDE, _Verb.REINSTATE, _Verb.SET_ASIDE, _Verb.PUT_BACK),
    *(_Verb.ACCEPT_LATE, _Verb.DECLINE_LATE, _Verb.DRAW, _Verb.TAKE_ALL),
    *(_Verb.EXCLUDE_MACHINE, _Verb.REINSTATE_MACHINE),
)
LOG_COLUMNS = ("number", "at", "verb", "details", "sha256")
_DRAW = ("design", "instances", "control_share", "weights", "floor", "seed")
SELECTION_COLUMNS = (*_DRAW, "similarity", "drawn_at")


def log_rows(study: Study) -> Iterator[Row]:
    """Yield the log's entries about ratings, oldest first, without the names of researchers."""
    events = study.events.filter(verb__in=LOGGED).order_by("pk")
    return chained(
        {"number": n, "at": one.at.isoformat(), "verb": one.verb, "details": one.details}
        for n, one in enumerate(events, start=1)
    )


def selection_rows(study: Study) -> Iterator[Row]:
    """Yield the parameters of the draw, if instances were drawn here."""
    for draw in InstanceSelection.objects.filter(study=study):
        if draw.drawn_at is not None:
            drawn = {name: getattr(draw, name) for name in _DRAW}
            yield {**drawn, "similarity": study.similarity, "drawn_at": draw.drawn_at.isoformat()}


def planned_texts_digest(study: Study) -> str:
    """Return the digest of what the planned items show, which the log records when a study opens."""
    units = study.units.filter(role=Unit.Role.MAIN).order_by()
    of_instance = ("instance__source", "instance__messages")
    texts = (f"text_{side}__generation__text" for side in "ab")
    return texts_digest(units.values_list("key", *of_instance, *texts).iterator(1000))
