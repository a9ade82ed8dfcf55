"""Tasks of the analytics queue. They take ids and are idempotent."""

from celery import shared_task

from metrics.services import refresh_report
from studies.models import Study


@shared_task  # type: ignore[untyped-decorator]
def refresh_report_task(study_id: str) -> None:
    study = Study.objects.filter(pk=study_id).first()
    if study is not None:
        refresh_report(study=study)
