"""The periodic rounds that delete files that nobody needs, note whose they are, and count ratings again."""

from celery import shared_task
from django.db import connection

from annotation.exports.export_jobs import remove_expired_exports
from annotation.imports.kept_uploads import remove_expired_uploads
from annotation.services.recount import recount_studies
from jobs.known_database import remember_database


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def remove_expired_files_task() -> None:
    remember_database(connection)
    remove_expired_uploads()
    remove_expired_exports()


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def recount_studies_task() -> None:
    recount_studies()
