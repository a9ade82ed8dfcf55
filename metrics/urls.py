from django.urls import path

from metrics import views

app_name = "metrics"

urlpatterns = [
    path("studies/<str:public_id>/", views.dashboard, name="dashboard"),
    path("studies/<str:public_id>/numbers/", views.numbers, name="numbers"),
    path("studies/<str:public_id>/report.json", views.report, name="report"),
    path(
        "studies/<str:public_id>/figures/<slug:criterion>/<slug:name>.svg",
        views.figure,
        name="figure",
    ),
    path("api/studies/<str:public_id>/report", views.report_api, name="report-api"),
]
