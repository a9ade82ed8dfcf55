from django.urls import path

import studies.converters  # noqa: F401  registers public_id and name
from metrics import generate_select, views

app_name = "metrics"

urlpatterns = [
    path("studies/<public_id:public_id>/", views.dashboard, name="dashboard"),
    path(
        "studies/<public_id:public_id>/generate-and-select/",
        generate_select.generate_select,
        name="generate-select",
    ),
    path(
        "studies/<public_id:public_id>/generate-and-select/part/jobs/",
        generate_select.jobs,
        name="generate-select-jobs",
    ),
    path(
        "studies/<public_id:public_id>/generate-and-select/part/results/",
        generate_select.results,
        name="generate-select-results",
    ),
    path(
        "studies/<public_id:public_id>/generate-and-select/part/preview/",
        generate_select.selection_preview,
        name="selection-preview",
    ),
    path(
        "studies/<public_id:public_id>/generate-and-select/<slug:action>/",
        generate_select.act,
        name="selection-action",
    ),
    path("studies/<public_id:public_id>/numbers/", views.numbers, name="numbers"),
    path("studies/<public_id:public_id>/report.json", views.report, name="report"),
    path(
        "studies/<public_id:public_id>/figures/<name:criterion>/<slug:name>.svg",
        views.figure,
        name="figure",
    ),
    path("api/studies/<public_id:public_id>/report", views.report_api, name="report-api"),
]
