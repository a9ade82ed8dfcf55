"""The pages of a study's design."""

from django.urls import path

import studies.converters  # noqa: F401  registers public_id
from studies import protocol_pages

app_name = "studies"
STUDY = "studies/<public_id:study_id>/"

urlpatterns = [
    path("new-study/from-template/", protocol_pages.new_from_template, name="from-template"),
    path(f"{STUDY}template/", protocol_pages.use_template, name="use-template"),
]
