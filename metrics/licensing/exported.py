"""The licences of a study for its export, including those that have ended."""

from collections.abc import Iterator

from metrics.licensing.services import licences_of
from metrics.models import Licence
from studies.models import Study
from tiebreak.formats.rows import Row

COLUMNS = (
    *("rater", "criterion", "category", "annotators", "state", "granted_at", "valid_until"),
    *("evidence", "drift", "follow_ups", "ended_at", "reason"),
)


def licence_rows(study: Study) -> Iterator[Row]:
    """Yield a row for each licence, the oldest first. An export does not say who granted it."""
    for licence in licences_of(study).order_by("pk"):
        yield {
            "rater": licence.rater.pseudonym,
            "criterion": licence.criterion.name,
            "category": licence.category,
            "annotators": licence.annotators,
            "state": licence.state,
            "granted_at": licence.granted_at.isoformat(),
            "valid_until": licence.valid_until.isoformat(),
            "evidence": licence.evidence,
            "drift": _drift(licence),
            "follow_ups": [one.study_id for one in licence.follow_ups.all()] or None,
            "ended_at": licence.ended_at.isoformat() if licence.ended_at else None,
            "reason": licence.reason,
        }


def _drift(licence: Licence) -> Row | None:
    """Return what the newest test of drift compared, without the state of this server's ratings."""
    return (
        {name: licence.checked[name] for name in ("labels", "agreement", "at")}
        if licence.checked
        else None
    )
