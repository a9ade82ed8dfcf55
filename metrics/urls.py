from django.urls import include, path

import studies.converters  # noqa: F401  registers public_id and name
from metrics import home, job_views, removing
from metrics.collecting import contested, views as collecting
from metrics.exports import views as export_views
from metrics.licensing import views as licence_views
from metrics.planning import generate_select, planner
from metrics.planning.expert_weights import expert_survey_page, expert_weights_page
from metrics.planning.scores_study import scores_page
from metrics.results import board_pages, section_views, views
from metrics.results.stratum_coefficients import coefficients_by_stratum

app_name = "metrics"

study_pages = [
    path("", collecting.collect, name="dashboard"),
    path("collecting/numbers/", collecting.numbers, name="collecting-numbers"),
    path("contested/", contested.contested_items, name="contested"),
    path("remove/", removing.remove_study, name="remove-study"),
    path("attention/", collecting.attention, name="attention"),
    path("generate-and-select/", generate_select.generate_select, name="generate-select"),
    path("generate-and-select/part/jobs/", generate_select.jobs, name="generate-select-jobs"),
    path(
        "generate-and-select/part/results/",
        generate_select.results,
        name="generate-select-results",
    ),
    path(
        "generate-and-select/part/preview/",
        generate_select.selection_preview,
        name="selection-preview",
    ),
    path("generate-and-select/<slug:action>/", generate_select.act, name="selection-action"),
    path("jobs/", job_views.study_jobs, name="jobs"),
    path("jobs/list/", job_views.study_jobs_part, name="jobs-part"),
    path("data-and-report/", export_views.data_and_report, name="data-and-report"),
    path("data-and-report/exports/", export_views.exports_part, name="exports-part"),
    path("data-and-report/export/", export_views.export, name="export"),
    path("data-and-report/report/", export_views.report_files, name="report-files"),
    path(
        "data-and-report/report/<public_id:job_id>/",
        export_views.report_state,
        name="report-state",
    ),
    path("exports/<public_id:job_id>.zip", export_views.download_export, name="download-export"),
    path("exports/<public_id:job_id>.pdf", export_views.report_pdf, name="report-pdf"),
    path("ratings.csv", export_views.ratings_csv, name="ratings-csv"),
    *(
        path(
            f"jobs/<public_id:job_id>/{action}/",
            job_views.change,
            {"action": action},
            f"{action}-job",
        )
        for action in job_views.CHANGES
    ),
    path("design/plan/", planner.planner, name="planner"),
    path("design/plan/use/", planner.apply_plan, name="apply-plan"),
    path("results/", views.results, name="results"),
    path("results/<slug:slug>/", views.results, name="results-tab"),
    path("sections/<name:criterion>/<slug:name>/", section_views.section, name="section"),
    path("coefficients/<name:criterion>/", coefficients_by_stratum, name="coefficients-by-stratum"),
    path("expert-weights/", expert_weights_page, name="expert-weights"),
    path("board/", board_pages.board_page, name="board"),
    path("board/join/", board_pages.join, name="join-system"),
    path("board/publish/", board_pages.publish, name="publish-board"),
    path("board/withdraw/", board_pages.withdraw, name="withdraw-board"),
    path("scores-study/", scores_page, name="scores"),
    path("expert-survey/", expert_survey_page, name="expert-survey"),
    path("licences/", licence_views.licences, name="licences"),
    path("licences/<public_id:licence_id>/revoke/", licence_views.revoke, name="revoke-licence"),
    path("licences/<public_id:licence_id>/follow-up/", licence_views.follow_up, name="follow-up"),
    path("numbers/", views.numbers, name="numbers"),
    path("report.json", views.report, name="report"),
    path("figures/<name:criterion>/<slug:name>.<slug:kind>", views.figure, name="figure"),
]
urlpatterns = [
    path("boards/<public_id:board_id>/", board_pages.public_board, name="public-board"),
    path("demo/", home.try_demo, name="try-demo"),
    path("jobs/", job_views.server_jobs, name="server-jobs"),
    path("studies/<public_id:public_id>/", include(study_pages)),
]
