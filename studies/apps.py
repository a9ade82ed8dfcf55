from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class StudiesConfig(AppConfig):
    name = "studies"

    def ready(self) -> None:
        """Load the steps and pages that every app adds to the frame of a study."""
        autodiscover_modules("study_steps")
