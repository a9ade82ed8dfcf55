from django.urls import include, path, re_path

import studies.converters  # noqa: F401  registers public_id
from api import pages, webhook_pages
from api.views import jobs, participants, ratings, schema, tables
from api.views import studies as studies_views

app_name = "api"

STUDY = "studies/<public_id:study_id>/"
JOB = f"{STUDY}jobs/<public_id:job_id>/"
PARTICIPANT = f"{STUDY}participants/<public_id:participation_id>/"
endpoints = [
    path("schema/", schema.Schema.as_view(), name="schema"),
    path("studies/", studies_views.Studies.as_view(), name="studies"),
    path("studies/from-table/", tables.Tables.as_view(), name="tables"),
    path(STUDY, studies_views.StudyView.as_view(), name="study"),
    path(f"{STUDY}plan/", studies_views.PlanStudy.as_view(), name="plan"),
    path(f"{STUDY}selection/", studies_views.SelectInstances.as_view(), name="selection"),
    path(f"{STUDY}open/", studies_views.OpenStudy.as_view(), name="open"),
    path(f"{STUDY}pause/", studies_views.PauseStudy.as_view(), name="pause"),
    path(f"{STUDY}close/", studies_views.CloseStudy.as_view(), name="close"),
    path(f"{STUDY}reopen/", studies_views.ReopenStudy.as_view(), name="reopen"),
    path(f"{STUDY}progress/", studies_views.StudyProgress.as_view(), name="progress"),
    path(f"{STUDY}report/", studies_views.Report.as_view(), name="report"),
    path(f"{STUDY}separability/", ratings.Scores.as_view(), name="separability"),
    path(f"{STUDY}ratings/", ratings.Ratings.as_view(), name="ratings"),
    path(f"{STUDY}machine-ratings/", ratings.MachineRatings.as_view(), name="machine-ratings"),
    path(f"{STUDY}participants/", participants.Participants.as_view(), name="participants"),
    path(f"{STUDY}participants/pay/", participants.PayMany.as_view(), name="pay-many"),
    path(PARTICIPANT, participants.ParticipantView.as_view(), name="participant"),
    path(f"{PARTICIPANT}pay/", participants.PayOne.as_view(), name="pay-participant"),
    path(f"{PARTICIPANT}bonus/", participants.PayBonus.as_view(), name="pay-bonus"),
    path(f"{PARTICIPANT}reject/", participants.Reject.as_view(), name="reject"),
    path(f"{PARTICIPANT}exclude/", participants.Exclude.as_view(), name="exclude"),
    path(f"{PARTICIPANT}reinstate/", participants.Reinstate.as_view(), name="reinstate"),
    path(f"{PARTICIPANT}release/", participants.Release.as_view(), name="release"),
    path(
        f"{PARTICIPANT}request-return/",
        participants.RequestReturn.as_view(),
        name="request-return",
    ),
    path(f"{PARTICIPANT}settle/", participants.Settle.as_view(), name="settle"),
    path(f"{STUDY}jobs/", jobs.Jobs.as_view(), name="jobs"),
    path(f"{STUDY}jobs/sampling/", jobs.StartSampling.as_view(), name="start-sampling"),
    path(f"{STUDY}jobs/scoring/", jobs.StartScoring.as_view(), name="start-scoring"),
    path(f"{STUDY}jobs/export/", jobs.StartExport.as_view(), name="start-export"),
    path(f"{STUDY}jobs/dry-run/", jobs.StartDryRun.as_view(), name="start-dry-run"),
    path(JOB, jobs.JobView.as_view(), name="job"),
    path(f"{JOB}pause/", jobs.PauseJob.as_view(), name="pause-job"),
    path(f"{JOB}resume/", jobs.ResumeJob.as_view(), name="resume-job"),
    path(f"{JOB}stop/", jobs.StopJob.as_view(), name="stop-job"),
    path(f"{JOB}export.zip", jobs.DownloadExport.as_view(), name="download-export"),
    # Without an end, so that it matches a line break in a path as well.
    re_path(r"^", schema.NothingHere.as_view(), name="nothing"),
]

urlpatterns = [
    path("account/tokens/", pages.tokens, name="tokens"),
    path("account/tokens/<public_id:token_id>/revoke/", pages.revoke, name="revoke-token"),
    path(f"{STUDY}webhooks/", webhook_pages.webhooks, name="webhooks"),
    path(
        f"{STUDY}webhooks/<public_id:webhook_id>/delete/",
        webhook_pages.delete,
        name="delete-webhook",
    ),
    path(
        f"{STUDY}webhooks/deliveries/<public_id:delivery_id>/send-again/",
        webhook_pages.resend,
        name="resend",
    ),
    path("api/v1/", include(endpoints)),
]
