"""URLs of the annotator's pages after entry, and of the researcher's pages about data."""

from django.urls import path

import studies.converters  # noqa: F401  registers public_id
from annotation.views import data, guidelines, import_ratings, imports, rating, screening_steps

app_name = "annotation"

urlpatterns = [
    path("rate/<public_id:study_id>/", rating.rate, name="rate"),
    path("rate/<public_id:study_id>/<int:position>/", rating.look_back, name="rate-position"),
    path("rate/<public_id:study_id>/task/<public_id:task>/", rating.look_back, name="rate-task"),
    path(
        "rate/<public_id:study_id>/task/<public_id:task>/<int:position>/",
        rating.look_back,
        name="rate-task-position",
    ),
    path("rate/<public_id:study_id>/answer/", rating.answer, name="answer"),
    path("rate/<public_id:study_id>/comment/", rating.comment, name="comment"),
    path("rate/<public_id:study_id>/guidelines/", guidelines.guidelines, name="guidelines"),
    path(
        "rate/<public_id:study_id>/questions/", screening_steps.comprehension, name="comprehension"
    ),
    path("rate/<public_id:study_id>/try-again/", screening_steps.try_again, name="try-again"),
    path("studies/new/", imports.new_study, name="new-study"),
    path("studies/new/samples/<str:name>", imports.sample, name="sample-file"),
    path("studies/new/<str:upload>/", imports.columns, name="import-columns"),
    path("studies/new/<str:upload>/kind/", import_ratings.kind, name="import-kind"),
    path("studies/new/<str:upload>/ratings/", import_ratings.ratings, name="import-ratings"),
    path("studies/new/<str:upload>/problems.csv", imports.column_problems, name="column-problems"),
    path("imports/<public_id:job_id>/", imports.import_page, name="import"),
    path("imports/<public_id:job_id>/state/", imports.import_part, name="import-state"),
    path("imports/<public_id:job_id>/repeat/", imports.repeat, name="repeat-import"),
    path("imports/<public_id:job_id>/stop/", imports.stop, name="stop-import"),
    path(
        "imports/<public_id:job_id>/problems.csv", imports.import_problems, name="import-problems"
    ),
    path("studies/<public_id:study_id>/data/", data.data, name="data"),
    path("studies/<public_id:study_id>/data/remove/", data.remove, name="remove-item"),
    path(
        "studies/<public_id:study_id>/systems/remove/", data.remove_a_system, name="remove-system"
    ),
    path("studies/<public_id:study_id>/data/aside/", data.set_aside, name="set-aside"),
]
