"""Tasks of the analytics queue. They take ids and are idempotent."""

from celery import shared_task

from annotation.filters import Filter
from jobs.deletion import until_deleted
from jobs.queue import enqueue
from metrics.licensing.by_kind import refresh_with_report
from metrics.licensing.services import check_licences, studies_with_licences
from metrics.models import ReportSnapshot
from metrics.results.sections import refresh_section
from metrics.results.services import refresh_report
from studies.models import Study


@shared_task  # type: ignore[untyped-decorator]
def refresh_report_task(study_id: str, digest: str = "") -> None:
    """Build the report of a study, or of the part with this digest if it is still wanted."""
    study = Study.objects.filter(pk=study_id).first()
    part = ReportSnapshot.objects.filter(study=study_id, digest=digest).values_list("part").first()
    if study is not None and (part or not digest):
        with until_deleted(Study.objects.filter(pk=study_id)):
            chosen = Filter.of_values(part[0] if part else {})
            report = refresh_report(study=study, chosen=chosen)
            if not chosen:
                refresh_with_report(study=study, report=report)


@shared_task  # type: ignore[untyped-decorator]
def refresh_section_task(study_id: str, name: str, digest: str = "") -> None:
    """Compute a section of a study's report, or of the report of the part with this digest."""
    part = ReportSnapshot.objects.filter(study=study_id, digest=digest).values_list("part").first()
    if part is not None:
        with until_deleted(Study.objects.filter(pk=study_id)):
            study = Study.objects.get(pk=study_id)
            refresh_section(study=study, name=name, chosen=Filter.of_values(part[0]))


@shared_task  # type: ignore[untyped-decorator]
def check_licences_task() -> None:
    """Queue the check of every study that has a licence so that none waits for another's."""
    for study in studies_with_licences():
        enqueue("metrics.tasks.check_study_licences_task", study.pk)


@shared_task  # type: ignore[untyped-decorator]
def check_study_licences_task(study_id: str) -> None:
    """Compare new labels with licensed machine raters' labels."""
    study = Study.objects.filter(pk=study_id).first()
    if study is not None:
        with until_deleted(Study.objects.filter(pk=study_id)):
            check_licences(study=study)
