from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class AnnotationConfig(AppConfig):
    name = "annotation"

    def ready(self) -> None:
        """Load the files that every app adds to the export of a study."""
        autodiscover_modules("export_files")
