"""Tasks of the analytics queue. They take ids and are idempotent."""

from celery import shared_task

from annotation.filters import Filter
from metrics.models import ReportSnapshot
from metrics.services import refresh_report
from studies.models import Study


@shared_task  # type: ignore[untyped-decorator]
def refresh_report_task(study_id: str, digest: str = "") -> None:
    """Build the report of a study, or of the part with this digest if it is still wanted."""
    study = Study.objects.filter(pk=study_id).first()
    part = ReportSnapshot.objects.filter(study=study_id, digest=digest).values_list("part").first()
    if study is not None and (part or not digest):
        refresh_report(study=study, chosen=Filter.of_values(part[0] if part else {}))
