"""The task as it is typed in its form, before it is saved, for the preview."""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from studies.design.field_rows import FieldRows
from studies.design.scale_cards import ScaleCards
from studies.models import Criterion, Study
from studies.rendering import RENDERERS
from tiebreak.errors import InvalidInput
from tiebreak.formats.shown_fields import parsed_fields
from tiebreak.scales import Scale

MAX_ROWS = 50


def typed_task(study: Study, data: Mapping[str, str]) -> list[Criterion]:
    """Set the typed texts on a study, which must not be saved, and return the typed criteria."""
    for name in ("title", "guidelines", "consent", "source_label", "left_label", "right_label"):
        if name in data:
            setattr(study, name, data[name])
    for name in ("source_format", "generation_format"):
        if data.get(name) in RENDERERS:
            setattr(study, name, data[name])
    with suppress(InvalidInput):
        fields = FieldRows().value_from_datadict(data, {}, "fields")
        parsed_fields(fields or "")
        study.fields = study.fields if fields is None else fields
    study.nonresponses = data.get("nonresponses", study.nonresponses)
    total = data.get("criteria-TOTAL_FORMS", "")
    if not total.isdecimal() or "criteria-0-name" not in data:
        return list(study.criteria.all())
    return list(_criteria(study, data, min(int(total), MAX_ROWS)))


def _criteria(study: Study, data: Mapping[str, str], total: int) -> Iterator[Criterion]:
    """Yield the rows that are complete enough to be shown."""
    for number in range(total):
        prefix = f"criteria-{number}"
        scale = ScaleCards().value_from_datadict(data, {}, f"{prefix}-scale")
        question = data.get(f"{prefix}-question", "")
        if question and _is_scale(scale) and f"{prefix}-DELETE" not in data:
            name = data.get(f"{prefix}-name", "")
            reason = data.get(f"{prefix}-reason", Criterion.Reason.NONE)
            yield Criterion(study=study, name=name, question=question, scale=scale, reason=reason)


def _is_scale(code: object) -> bool:
    try:
        Scale.parse(code)  # type: ignore[arg-type]
    except InvalidInput:
        return False
    return True
