"""The periodic round that deletes files that nobody needs."""

from celery import shared_task

from annotation.exports.export_jobs import remove_expired_exports
from annotation.imports.kept_uploads import remove_expired_uploads


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def remove_expired_files_task() -> None:
    remove_expired_uploads()
    remove_expired_exports()
