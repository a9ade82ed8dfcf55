"""Settles items on which annotators disagree."""

from collections.abc import Iterator

from django.contrib.auth.models import User
from django.db import transaction

from annotation.models import Settlement
from annotation.models.settlement import MAX_WHY
from jobs.clock import database_now
from studies.models import Study, Unit
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats.rows import Row
from tiebreak.scales import Scale

NO_SUCH_ITEM = (
    "This study has no such item, or no such question. Open the page of contested items again."
)
WITHOUT_REASON = (
    f"Say in 1 to {MAX_WHY} characters why the item is settled so, or why it cannot be."
)
COLUMNS = ("unit", "criterion", "label", "reason", "settled_at", "replaced_at")


@transaction.atomic
def settle_item(
    *, study: Study, unit: str, criterion: str, label: str, reason: str, by: User | None
) -> Settlement:
    """Keep a researcher's label of an item, which replaces an earlier one and changes no rating.

    An empty ``label`` says that the item cannot be settled. Raises `DomainError` if the study has no
    such item or question, without a reason, and if the label is not on the scale. Locks the item.
    """
    about = study.criteria.filter(name=criterion).first()
    items = study.units.select_for_update(no_key=True, of=("self",))
    item = items.filter(key=unit, role=Unit.Role.MAIN).first()
    if about is None or item is None:
        raise DomainError("no_such_item", NO_SUCH_ITEM, status=404)
    reason = reason.replace("\r\n", "\n").replace("\0", "").strip()
    if not 0 < len(reason) <= MAX_WHY:
        raise DomainError("no_reason", WITHOUT_REASON, status=400)
    canonical = _canonical(about.scale, label)
    now, kept = database_now(), Settlement.objects.filter(unit=item, criterion=about)
    kept.filter(replaced_at=None).update(replaced_at=now)
    return Settlement.objects.create(
        unit=item, criterion=about, label=canonical, reason=reason, created_at=now, by=by
    )


def _canonical(scale: str, label: str) -> str:
    try:
        return str(Scale.parse(scale).parse_label(label)) if label else ""
    except InvalidInput as refused:
        raise DomainError(refused.code, str(refused), status=400) from refused


def settlements(study: Study) -> Iterator[Row]:
    """Yield a row for each decision, also those that were replaced; an export does not say whose."""
    rows = Settlement.objects.filter(unit__study=study).select_related("unit", "criterion")
    for one in rows.iterator():
        yield {
            "unit": one.unit.key,
            "criterion": one.criterion.name,
            "label": one.label or None,
            "reason": one.reason,
            "settled_at": one.created_at.isoformat(),
            "replaced_at": one.replaced_at.isoformat() if one.replaced_at else None,
        }
