from django.apps import AppConfig


class MachineRatersConfig(AppConfig):
    name = "machine_raters"
