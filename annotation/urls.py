"""URLs of the annotator's pages after entry."""

from django.urls import path

import studies.converters  # noqa: F401  registers public_id
from annotation.views import rating, reading, steps

app_name = "annotation"

urlpatterns = [
    path("rate/<public_id:study_id>/", rating.rate, name="rate"),
    path("rate/<public_id:study_id>/<int:position>/", rating.look_back, name="rate-position"),
    path("rate/<public_id:study_id>/answer/", rating.answer, name="answer"),
    path("rate/<public_id:study_id>/guidelines/", reading.guidelines, name="guidelines"),
    path("rate/<public_id:study_id>/questions/", steps.comprehension, name="comprehension"),
    path("rate/<public_id:study_id>/try-again/", steps.try_again, name="try-again"),
]
