from django.urls import path

import studies.converters  # noqa: F401  registers public_id and name
from metrics import choosing, views

app_name = "metrics"

urlpatterns = [
    path("studies/<public_id:public_id>/", views.dashboard, name="dashboard"),
    path("studies/<public_id:public_id>/choosing/", choosing.choosing, name="choosing"),
    path("studies/<public_id:public_id>/choosing/part/jobs/", choosing.jobs, name="choosing-jobs"),
    path(
        "studies/<public_id:public_id>/choosing/part/results/",
        choosing.results,
        name="choosing-results",
    ),
    path(
        "studies/<public_id:public_id>/choosing/part/draw/",
        choosing.prospect,
        name="choosing-draw",
    ),
    path("studies/<public_id:public_id>/choosing/<slug:verb>/", choosing.choose, name="choose"),
    path("studies/<public_id:public_id>/numbers/", views.numbers, name="numbers"),
    path("studies/<public_id:public_id>/report.json", views.report, name="report"),
    path(
        "studies/<public_id:public_id>/figures/<name:criterion>/<slug:name>.svg",
        views.figure,
        name="figure",
    ),
    path("api/studies/<public_id:public_id>/report", views.report_api, name="report-api"),
]
