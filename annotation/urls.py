"""The annotator's addresses, and the researcher's look at them."""

from django.urls import path

from annotation.views import entry, preview, rating, reading

app_name = "annotation"

urlpatterns = [
    path("s/<str:study_id>/", entry.welcome, name="welcome"),
    path("rate/<str:study_id>/", rating.rate, name="rate"),
    path("rate/<str:study_id>/<int:position>/", rating.look_back, name="rate-position"),
    path("rate/<str:study_id>/answer/", rating.answer, name="answer"),
    path("rate/<str:study_id>/guidelines/", reading.guidelines, name="guidelines"),
    path("studies/<str:study_id>/preview/", preview.preview, name="preview"),
]
