"""The annotator's addresses, and the researcher's look at them."""

from django.urls import path

import studies.converters  # noqa: F401  registers public_id
from annotation.views import ending, entry, preview, rating, reading

app_name = "annotation"

urlpatterns = [
    path("s/<public_id:study_id>/", entry.welcome, name="welcome"),
    path("rate/<public_id:study_id>/", rating.rate, name="rate"),
    path("rate/<public_id:study_id>/<int:position>/", rating.look_back, name="rate-position"),
    path("rate/<public_id:study_id>/answer/", rating.answer, name="answer"),
    path("rate/<public_id:study_id>/again/", ending.look_again, name="look-again"),
    path("rate/<public_id:study_id>/guidelines/", reading.guidelines, name="guidelines"),
    path("studies/<public_id:study_id>/preview/", preview.preview, name="preview"),
]
