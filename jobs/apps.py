from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class JobsConfig(AppConfig):
    name = "jobs"

    def ready(self) -> None:
        """Load every app's tasks, so that a web process can send them by name, and job kinds."""
        autodiscover_modules("tasks", "job_kinds")
