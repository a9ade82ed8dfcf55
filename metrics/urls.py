from django.urls import path

import studies.converters  # noqa: F401  registers public_id and name
from metrics import home, job_views
from metrics.exports import views as export_views
from metrics.licensing import views as licence_views
from metrics.planning import generate_select, planner
from metrics.planning.expert_weights import expert_survey_page, expert_weights_page
from metrics.planning.scores_study import scores_page
from metrics.results import section_views, views
from metrics.results.stratum_coefficients import coefficients_by_stratum

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
    path("studies/<public_id:public_id>/jobs/", job_views.study_jobs, name="jobs"),
    path("studies/<public_id:public_id>/jobs/list/", job_views.study_jobs_part, name="jobs-part"),
    path(
        "studies/<public_id:public_id>/data-and-report/",
        export_views.data_and_report,
        name="data-and-report",
    ),
    path(
        "studies/<public_id:public_id>/data-and-report/exports/",
        export_views.exports_part,
        name="exports-part",
    ),
    path(
        "studies/<public_id:public_id>/data-and-report/export/",
        export_views.export,
        name="export",
    ),
    path(
        "studies/<public_id:public_id>/data-and-report/report/",
        export_views.report_files,
        name="report-files",
    ),
    path(
        "studies/<public_id:public_id>/data-and-report/report/<public_id:job_id>/",
        export_views.report_state,
        name="report-state",
    ),
    path(
        "studies/<public_id:public_id>/exports/<public_id:job_id>.zip",
        export_views.download_export,
        name="download-export",
    ),
    path(
        "studies/<public_id:public_id>/exports/<public_id:job_id>.pdf",
        export_views.report_pdf,
        name="report-pdf",
    ),
    path(
        "studies/<public_id:public_id>/ratings.csv",
        export_views.ratings_csv,
        name="ratings-csv",
    ),
    path(
        "studies/<public_id:public_id>/jobs/<public_id:job_id>/pause/",
        job_views.pause,
        name="pause-job",
    ),
    path(
        "studies/<public_id:public_id>/jobs/<public_id:job_id>/resume/",
        job_views.resume,
        name="resume-job",
    ),
    path(
        "studies/<public_id:public_id>/jobs/<public_id:job_id>/stop/",
        job_views.stop,
        name="stop-job",
    ),
    path("studies/<public_id:public_id>/design/plan/", planner.planner, name="planner"),
    path("studies/<public_id:public_id>/design/plan/use/", planner.apply_plan, name="apply-plan"),
    path("demo/", home.try_demo, name="try-demo"),
    path("jobs/", job_views.server_jobs, name="server-jobs"),
    path("studies/<public_id:public_id>/results/", views.results, name="results"),
    path("studies/<public_id:public_id>/results/<slug:slug>/", views.results, name="results-tab"),
    path(
        "studies/<public_id:public_id>/sections/<name:criterion>/<slug:name>/",
        section_views.section,
        name="section",
    ),
    path(
        "studies/<public_id:public_id>/coefficients/<name:criterion>/",
        coefficients_by_stratum,
        name="coefficients-by-stratum",
    ),
    path(
        "studies/<public_id:public_id>/expert-weights/", expert_weights_page, name="expert-weights"
    ),
    path("studies/<public_id:public_id>/scores-study/", scores_page, name="scores"),
    path("studies/<public_id:public_id>/expert-survey/", expert_survey_page, name="expert-survey"),
    path("studies/<public_id:public_id>/licences/", licence_views.licences, name="licences"),
    path(
        "studies/<public_id:public_id>/licences/<public_id:licence_id>/revoke/",
        licence_views.revoke,
        name="revoke-licence",
    ),
    path(
        "studies/<public_id:public_id>/licences/<public_id:licence_id>/follow-up/",
        licence_views.follow_up,
        name="follow-up",
    ),
    path("studies/<public_id:public_id>/attention/", views.attention, name="attention"),
    path("studies/<public_id:public_id>/numbers/", views.numbers, name="numbers"),
    path("studies/<public_id:public_id>/report.json", views.report, name="report"),
    path(
        "studies/<public_id:public_id>/figures/<name:criterion>/<slug:name>.<slug:kind>",
        views.figure,
        name="figure",
    ),
]
