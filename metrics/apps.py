from importlib import import_module

from django.apps import AppConfig


class MetricsConfig(AppConfig):
    name = "metrics"

    def ready(self) -> None:
        """Listen to the erasure of people, who are in stored reports."""
        import_module("metrics.results.services")
