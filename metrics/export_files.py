"""What this app adds to exports. `annotation` imports this module when Django starts."""

from typing import Any

from annotation.exports.files import (
    ExportFile,
    StoredReport,
    register_export_file,
    register_stored_report,
)
from metrics.licensing.exported import COLUMNS, licence_rows
from metrics.models import ReportSnapshot
from metrics.results.selectors import stored_report
from metrics.results.services import watermark
from studies.models import Study


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
