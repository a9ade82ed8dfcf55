"""What this app adds to exports, and how licences stand there. `annotation` imports this at start."""

from collections.abc import Iterator
from typing import Any

from annotation.exports.files import (
    ExportFile,
    StoredReport,
    register_export_file,
    register_stored_report,
)
from metrics.licensing.services import licences_of
from metrics.models import ReportSnapshot
from metrics.results.selectors import stored_report
from metrics.results.services import watermark
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
            "drift": {name: licence.checked[name] for name in ("labels", "agreement", "at")}
            if licence.checked
            else None,
            "follow_ups": [one.study_id for one in licence.follow_ups.all()] or None,
            "ended_at": licence.ended_at.isoformat() if licence.ended_at else None,
            "reason": licence.reason,
        }


def _state(study: Study) -> str:
    stored = ReportSnapshot.objects.filter(study=study, digest="", report__isnull=False)
    state = watermark(study)
    return state if stored.filter(watermark=state).exists() else ""


def _content(study: Study) -> dict[str, Any]:
    report = stored_report(ReportSnapshot.objects.get(study=study, digest=""))
    assert report is not None  # its state names this form of reports
    return report.as_json()


register_export_file(ExportFile("licences.jsonl", COLUMNS, licence_rows))
register_stored_report(StoredReport(_state, _content))
